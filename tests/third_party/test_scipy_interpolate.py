"""scipy.interpolate, as installed: radial basis functions differentiate, splines leave for C code."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import interpolate

RNG = np.random.default_rng(0)
POINTS, AT = RNG.uniform(0.0, 1.0, (9, 2)), RNG.uniform(0.2, 0.8, (3, 2))
VALUES = RNG.normal(size=9)
SCALED = ("gaussian", "inverse_multiquadric", "inverse_quadratic", "multiquadric")
KERNELS = (*SCALED, "cubic", "linear", "quintic", "thin_plate_spline")


def rbf(points, values, at, **options):
    return interpolate.RBFInterpolator(points, values, **options)(at)


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_basis_functions_differentiate(differentiates, kernel):
    """By the points, the values and the places where they are asked for."""
    options = {"kernel": kernel} | ({"epsilon": 1.3} if kernel in SCALED else {})
    differentiates(lambda *xs: rbf(*xs, **options), POINTS, VALUES, AT, rtol=1e-5)


def test_smoothed_values_of_several_kinds_differentiate(differentiates):
    values = RNG.normal(size=(9, 2))
    differentiates(lambda *xs: rbf(*xs, smoothing=0.1, degree=2), POINTS, values, AT, rtol=1e-5)


def test_complex_values_differentiate(differentiates):
    differentiates(rbf, POINTS, VALUES * (1.0 + 0.3j) + 0.5j, AT, rtol=1e-5)


def test_the_smoothing_of_each_point_differentiates(differentiates):
    def f(points, values, smoothing):
        at = array_namespace(points).asarray(AT)
        return rbf(points, values, at, smoothing=smoothing)

    differentiates(f, POINTS, VALUES, np.abs(VALUES) + 0.1, rtol=1e-5)


def test_the_shape_parameter_is_made_a_number(leaves):
    def f(points, values, epsilon):
        at = array_namespace(points).asarray(AT)
        return rbf(points, values, at, kernel="gaussian", epsilon=epsilon)

    found = leaves(
        f, POINTS, VALUES, np.asarray(1.3), at="interpolate/_rbfinterp.py", how="float", rtol=1e-7
    )
    assert found[2] is None
    assert found[0] is not None


# --- splines, which leave -------------------------------------------------------------------------
T, Y = np.linspace(0.0, 1.0, 7), RNG.normal(size=7)
X = np.asarray([0.11, 0.37, 0.93])
C = RNG.normal(size=(3, 6))
PIECES = "interpolate/_interpolate.py"
BSPLINES = "interpolate/_bsplines.py"
FITPACK = "interpolate/_fitpack_repro.py"
GRIDS = "interpolate/_rgi.py"
KNOTS = np.linspace(-0.5, 1.5, 10)


def smoothing_knots(x, y):
    *_, last = interpolate.generate_knots(x, y, s=0.01)
    return last


def gridded(values, at, **options):
    xp = array_namespace(values)
    grid = tuple(xp.asarray(np.linspace(0.0, 1.0, n)) for n in values.shape)
    return interpolate.RegularGridInterpolator(grid, values, **options)(at)


def tensor(c, at):
    knots = [array_namespace(c).asarray(np.linspace(-1.0, 2.0, n + 3)) for n in c.shape]
    return interpolate.NdBSpline(tuple(knots), c, 2)(at)


def least_squares(x, y):
    knots = array_namespace(x).asarray([0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0])
    return interpolate.make_lsq_spline(x, y, knots, k=3).c


LEAVE = {
    "Akima1DInterpolator": (
        lambda *a: interpolate.Akima1DInterpolator(*a[:2])(a[2]),
        PIECES,
        T,
        Y,
        X,
    ),
    "makima": (
        lambda *a: interpolate.Akima1DInterpolator(*a[:2], method="makima")(a[2]),
        PIECES,
        T,
        Y,
        X,
    ),
    "BPoly": (lambda c, t, x: interpolate.BPoly(c, t)(x), PIECES, C, T, X),
    "BPoly, its derivative": (lambda c, t: interpolate.BPoly(c, t).derivative().c, PIECES, C, T),
    "BSpline": (lambda t, c, x: interpolate.BSpline(t, c, 2)(x), BSPLINES, KNOTS, Y, X),
    "CubicHermiteSpline": (
        lambda t, y, d, x: interpolate.CubicHermiteSpline(t, y, d)(x),
        PIECES,
        T,
        Y,
        Y[::-1].copy(),
        X,
    ),
    # Once interop is installed in a process, its stand-in for asarray is the line in SciPy.
    "CubicSpline": (
        lambda t, y: interpolate.CubicSpline(t, y, bc_type="natural").c,
        "(?:numpy/_aliases|interpolate/_cubic).py",
        T,
        Y,
    ),
    "PchipInterpolator": (lambda *a: interpolate.PchipInterpolator(*a[:2])(a[2]), PIECES, T, Y, X),
    "PPoly": (lambda c, t, x: interpolate.PPoly(c, t)(x), PIECES, C, T, X),
    "PPoly, its integral": (lambda c, t: interpolate.PPoly(c, t).integrate(0.1, 0.8), PIECES, C, T),
    "generate_knots": (smoothing_knots, FITPACK, T, Y),
    "make_interp_spline": (
        lambda *a: interpolate.make_interp_spline(*a[:2])(a[2]),
        BSPLINES,
        T,
        Y,
        X,
    ),
    "make_lsq_spline": (least_squares, BSPLINES, T, Y),
    "make_smoothing_spline": (
        lambda t, y: interpolate.make_smoothing_spline(t, y, lam=0.1).c,
        BSPLINES,
        T,
        Y,
    ),
    "make_splprep": (lambda t, y: interpolate.make_splprep([t, y], s=0.1)[0].c, FITPACK, T, Y),
    "make_splrep": (lambda t, y: interpolate.make_splrep(t, y, s=0.1).c, FITPACK, T, Y),
    "NdBSpline": (tensor, "interpolate/_ndbspline.py", RNG.normal(size=(6, 5)), AT),
    **{
        f"RegularGridInterpolator, {method}": (
            lambda v, x, method=method: gridded(v, x, method=method),
            GRIDS,
            RNG.normal(size=(7, 5)),
            AT,
        )
        for method in ("linear", "nearest", "slinear", "cubic", "pchip")
    },
}


@pytest.mark.parametrize("name", LEAVE)
def test_a_spline_has_its_values_and_says_where_it_leaves(leaves, name):
    function, at, *inputs = LEAVE[name]
    found = leaves(function, *inputs, at=at, how="np.asarray")
    assert found is None or all(g is None for g in found)
