"""scipy.interpolate in a context of interop."""

import numpy as np
import pytest
from scipy import interpolate

import arraytape as xp
from arraytape import interop, testing
from helpers.library_checks import check

RNG = np.random.default_rng(3)
X = np.asarray([0.0, 0.4, 1.1, 1.5, 2.2, 2.9, 3.3, 4.0])
Y, Y2 = RNG.normal(size=8), RNG.normal(size=(8, 2))
PLACES = np.asarray(
    [0.23, 0.83, 1.37, 2.6, 3.71]
)  # not at a knot, where a difference steps over it
KNOTS = np.asarray([0.0, 0.0, 0.0, 0.0, 0.5, 1.2, 2.0, 4.0, 4.0, 4.0, 4.0])
C = RNG.normal(size=7)
INNER = np.asarray([0.3, 0.7, 1.9, 3.1])
GRID = (np.linspace(0, 1, 5), np.linspace(0, 2, 6))
ON_GRID = RNG.normal(size=(5, 6))
POINTS = np.asarray([[0.1, 0.3], [0.35, 1.1], [0.6, 0.7], [0.9, 1.9]])
OUTSIDE = POINTS + np.asarray([0.5, 0.0])
CUBIC = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")


@pytest.mark.parametrize("name", CUBIC)
def test_piecewise_cubics(name):
    kind = getattr(interpolate, name)
    check(lambda y, p: kind(X, y)(p), Y, PLACES, vmap=False)
    check(lambda y: kind(X, y)(PLACES), Y, vmap=False)
    check(lambda y: kind(X, y, axis=1)(PLACES, nu=1), Y2.T, vmap=False)
    check(lambda x, y: kind(x, y)(PLACES), X, Y, vmap=False)
    check(lambda p: kind(X, Y)(p), PLACES)


SPLINES = {
    "clamped": ((Y, PLACES), lambda y, p: interpolate.CubicSpline(X, y, bc_type="clamped")(p)),
    "natural": ((Y, PLACES), lambda y, p: interpolate.CubicSpline(X, y, bc_type="natural")(p)),
    "derivative": ((Y, PLACES), lambda y, p: interpolate.CubicSpline(X, y).derivative()(p)),
    "antiderivative": ((Y, PLACES), lambda y, p: interpolate.CubicSpline(X, y).antiderivative()(p)),
    "second antiderivative": (
        (Y, PLACES),
        lambda y, p: interpolate.CubicSpline(X, y).antiderivative(2)(p),
    ),
    "integral": ((Y,), lambda y: interpolate.CubicSpline(X, y).integrate(X[0], 2.5)),
    "PPoly": ((RNG.normal(size=(4, 7)), X, PLACES), lambda c, x, p: interpolate.PPoly(c, x)(p)),
    "make_interp_spline": ((Y, PLACES), lambda y, p: interpolate.make_interp_spline(X, y)(p)),
    "make_interp_spline, axis": (
        (Y2.T, PLACES),
        lambda y, p: interpolate.make_interp_spline(X, y, k=2, axis=1)(p),
    ),
    "make_interp_spline, natural": (
        (Y, PLACES),
        lambda y, p: interpolate.make_interp_spline(X, y, bc_type="natural")(p),
    ),
    "make_lsq_spline": (
        (Y, PLACES),
        lambda y, p: interpolate.make_lsq_spline(X, y, np.r_[[X[0]] * 4, [X[4]], [X[-1]] * 4])(p),
    ),
    "make_smoothing_spline": (
        (Y, PLACES),
        lambda y, p: interpolate.make_smoothing_spline(X, y, lam=0.1)(p),
    ),
    "interp1d by its knots": ((X, Y), lambda x, y: interpolate.interp1d(x, y)(PLACES)),
    "KroghInterpolator": ((Y, PLACES), lambda y, p: interpolate.KroghInterpolator(X, y)(p)),
    "grid": ((ON_GRID, POINTS), lambda v, p: interpolate.RegularGridInterpolator(GRID, v)(p)),
    "grid, values alone": (
        (ON_GRID,),
        lambda v: interpolate.RegularGridInterpolator(GRID, v)(POINTS),
    ),
    "grid, nearest": (
        (ON_GRID, POINTS),
        lambda v, p: interpolate.RegularGridInterpolator(GRID, v, method="nearest")(p),
    ),
    "grid, outside": (
        (ON_GRID, OUTSIDE),
        lambda v, p: interpolate.RegularGridInterpolator(
            GRID, v, bounds_error=False, fill_value=0.5
        )(p),
    ),
    "grid, extrapolated": (
        (ON_GRID, OUTSIDE),
        lambda v, p: interpolate.RegularGridInterpolator(
            GRID, v, bounds_error=False, fill_value=None
        )(p),
    ),
    "interpn": ((ON_GRID, POINTS), lambda v, p: interpolate.interpn(GRID, v, p)),
}


@pytest.mark.parametrize("name", SPLINES)
def test_splines_by_values_and_places(name):
    inputs, f = SPLINES[name]
    check(f, *inputs, vmap=False)


@pytest.mark.parametrize(
    "kind", ["linear", "slinear", "cubic", "quadratic", "nearest", "previous", "zero"]
)
def test_interp1d_of_each_kind(kind):
    check(lambda y, p: interpolate.interp1d(X, y, kind=kind)(p), Y, PLACES, vmap=False)


@pytest.mark.parametrize("nu", [0, 1, 2])
def test_b_splines_by_coefficients_knots_and_places(nu):
    def f(t, c, p):
        return interpolate.BSpline(t, c, 3)(p, nu=nu)

    def inner_knots(inner, c, p):
        here = xp if isinstance(c, xp.Array) else np
        ends = here.asarray(KNOTS)
        return f(here.concat([ends[:4], inner, ends[-4:]]), c, p)

    check(inner_knots, KNOTS[4:7], C, INNER, vmap=False)
    check(lambda c, p: f(KNOTS, c, p), C + 1j, INNER, vmap=False)
    check(lambda c: f(KNOTS, c, INNER), RNG.normal(size=(7, 2)), vmap=False)
    check(lambda p: f(KNOTS, C, p), INNER)


OUTSIDE_PLACES = np.asarray([-0.63, 0.6, 4.9])
PERIODIC = np.concatenate([Y[:-1], Y[:1]])


@pytest.mark.parametrize(
    "f",
    [
        lambda y, p: interpolate.CubicSpline(X, y)(p),
        lambda y, p: interpolate.PchipInterpolator(X, y)(p, nu=1),
        lambda y, p: interpolate.make_interp_spline(X, y)(p),
        lambda y, p: interpolate.make_interp_spline(X, y, k=1)(p),
        lambda y, p: interpolate.make_interp_spline(X, y)(p, nu=4),
        lambda y, p: interpolate.PPoly(y[None, 1:], X)(p),
        lambda y, p: interpolate.PPoly(y[None, 1:], X)(p, nu=1),
        lambda y, p: interpolate.PPoly(y.reshape(4, 2), -X[:3])(p),
        lambda y, p: interpolate.BSpline(np.arange(9.0) - 2, y, 0)(p),
        lambda y, p: interpolate.BSpline(np.asarray([-3.0, -2, -1, 0, 1, 1, 2, 3, 4, 5, 6]), y, 2)(
            p
        ),
    ],
)
def test_beyond_the_ends_and_at_other_degrees(f):
    check(f, Y, OUTSIDE_PLACES, vmap=False)


def test_periodic_splines():
    def f(y, p):
        y = y * np.asarray([1.0] * 7 + [0.0])
        y[-1] = y[0]
        return interpolate.CubicSpline(X, y, bc_type="periodic")(p)

    check(f, PERIODIC, OUTSIDE_PLACES, vmap=False)
    check(
        lambda c, p: interpolate.BSpline(KNOTS, c, 3, extrapolate="periodic")(p),
        C,
        OUTSIDE_PLACES,
        vmap=False,
    )


def test_a_polynomial_through_points_at_and_beside_them():
    def polynomial(t, y, p):
        return interpolate.BarycentricInterpolator(t, y)(p)

    nodes = np.asarray([0.0, 0.7, 1.5, 2.9])
    check(polynomial, nodes, np.cos(nodes), nodes[:3] * [1.0, 1.0, 1.1], vmap=False)


def test_a_derivative_is_a_spline():
    check(lambda c, p: interpolate.BSpline(KNOTS, c, 3).derivative()(p), C, INNER, vmap=False)


def test_outside_and_not_extrapolated_values_are_nan_as_scipys():
    with interop.scipy():
        y = interpolate.CubicSpline(X, xp.asarray(Y), extrapolate=False)(np.asarray([-1.0, 1.0]))
    assert np.isnan(np.asarray(y)).tolist() == [True, False]


@pytest.mark.parametrize(
    "f",
    [
        lambda y: interpolate.griddata(POINTS, y[:4], POINTS),
        lambda y: interpolate.make_interp_spline(y, Y),
        lambda y: interpolate.make_interp_spline(X, y, bc_type=([(1, 0.0)], [(1, 0.0)])),
        lambda y: interpolate.make_smoothing_spline(X, y),
        lambda y: interpolate.RegularGridInterpolator(GRID, ON_GRID * y[0], method="pchip")(POINTS),
        lambda y: interpolate.CubicSpline(X, y).roots(),
    ],
)
def test_what_has_no_rule_is_refused(f):
    with interop.scipy(), pytest.raises(TypeError, match="no derivative"):
        f(xp.asarray(Y))


PLANE = np.cos(np.arange(12.0)).reshape(6, 2) + 0.2 * np.arange(12.0).reshape(6, 2)
KERNELS = [
    "linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric",
    "inverse_quadratic", "gaussian",
]  # fmt: skip


@pytest.mark.filterwarnings("error", "ignore:(divide|invalid).*:RuntimeWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_basis_functions_have_second_derivatives_by_points_and_epsilon(kernel):
    data = np.arange(6.0) ** 1.5

    def f(points, epsilon, at):
        found = interpolate.RBFInterpolator(points, data, kernel=kernel, epsilon=epsilon)(at)
        return xp.sum(found**2)

    inputs = [PLANE, np.asarray(1.2), PLANE[:2] + 0.1]
    with interop.scipy():
        testing.check_gradients(f, inputs, order=2, rtol=1e-5, seeds=1)


@pytest.mark.parametrize("kernel", KERNELS[2:])
def test_radial_basis_functions_have_second_derivatives_at_their_points(kernel):
    """Between points the interpolant is smooth, and so it is at them."""
    d = np.arange(6.0) ** 1.5

    def f(at):
        points = xp.asarray(PLANE)
        return interpolate.RBFInterpolator(points, d, kernel=kernel, epsilon=1.2)(at[None])[0]

    with interop.scipy():
        at, near = (np.asarray(xp.hessian(f)(xp.asarray(PLANE[2] + h))) for h in (0.0, 1e-5))
    np.testing.assert_allclose(at, near, rtol=1e-2, atol=1e-2 * np.max(np.abs(near)))


@pytest.mark.filterwarnings("error")
def test_each_argument_alone_of_radial_basis_functions_may_be_an_array():
    inputs = [PLANE, np.arange(6.0) ** 1.5, np.asarray(1.2), np.asarray(0.3), PLANE[:2] + 0.1]

    def f(points, values, epsilon, smoothing, at):
        found = interpolate.RBFInterpolator(
            points, values, smoothing=smoothing, epsilon=epsilon, kernel="gaussian"
        )(at)
        return (found**2 * np.arange(1.0, 3.0)).sum()

    with interop.scipy():
        together = xp.grad(f, (0, 1, 2, 3, 4))(*inputs)
        for i, slope in enumerate(together):
            np.testing.assert_allclose(xp.grad(f, i)(*inputs), slope, rtol=1e-9, atol=1e-12)
