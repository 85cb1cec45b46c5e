"""Differentiate the splines of scipy.interpolate with respect to values, coefficients and places.

``places`` are the points at which a spline is evaluated.  SciPy's Python code, which computes most
coefficients, runs on Arrays unchanged.  SciPy's compiled code cannot: a function here calls it with
NumPy data, and returns its value with the derivatives of a formula (``with_slope``).
"""

from __future__ import annotations

import copy
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.interpolate
from scipy.interpolate import _dierckx, _ppoly

import arraytape

from .._array.array import Array
from .._storage.batched.batched_data import ACTIVE as HIDDEN_AXES
from .._util.array_types import Namespace, RawArray
from .._util.errors import TapeWarning, short_repr, stacklevel, user_line
from ._borders import compute_into
from ._context import has_array
from ._facades import ScipyFloat, asarray, no_rule
from ._hooks import original_of
from ._ops import library_op
from ._plain import ArrayInput, NumpyData, Shape, plain_data
from ._slopes import with_slope
from ._statements import facade_of, hooks, keeps_arrays, original, prepares, replaces, stands_in
from ._wanted import is_wanted

Function = Callable[..., Any]

for module in ("_bsplines", "_cubic", "_interpolate", "_polyint", "_rgi"):
    keeps_arrays(f"scipy.interpolate.{module}")
replaces("scipy.interpolate._cubic", "np_compat", facade_of("scipy"))


# From SciPy 1.18 on, objects of the public classes hold a private one that computes on NumPy data.
DELEGATES = hasattr(scipy.interpolate._bsplines, "_BSpline")


@hooks("scipy.interpolate._interpolate", "_PPolyBase._ensure_c_contiguous")
@hooks("scipy.interpolate._bsplines", f"{'_' * DELEGATES}BSpline._ensure_c_contiguous")
def _ensure_c_contiguous(self: Any) -> None:
    """Do nothing, in place of SciPy's method, which copies coefficients to C order for compiled code."""


@hooks("scipy._lib._util", "_asarray_validated")
def _asarray_validated(
    a: ArrayInput, check_finite: bool = True, sparse_ok: bool = False, objects_ok: bool = False,
    mask_ok: bool = False, as_inexact: bool = False,
) -> Any:  # fmt: skip
    """Validate ``a`` as SciPy does, but return it as an Array."""
    x: Any = np.asarray_chkfinite(a) if check_finite and not has_array((a,)) else asarray(a)
    if check_finite and not bool(arraytape.all(arraytape.isfinite(x))):
        raise ValueError("array must not contain infs or NaNs")
    return arraytape.astype(x, np.float64) if as_inexact and x.dtype.kind not in "fc" else x


def keeps_results(module: str, kind: str) -> None:
    """Make a spline return an Array at an Array of points, also if its coefficients are NumPy data.

    module, kind : the spline's class.  SciPy computes in the namespace of the coefficients.  So SciPy's
    ``__call__`` is run on a copy of the spline that has arraytape as its namespace.
    """

    @hooks(module, f"{kind}.__call__")
    def __call__(self: Any, *args: Any, **keywords: Any) -> Any:
        twin = copy.copy(self)
        if DELEGATES:
            twin._xp, twin._xp_internal = arraytape, facade_of("scipy")
        else:
            twin._asarray = arraytape.asarray
        return original_of(type(self).__call__)(twin, *args, **keywords)


for kind in ("PPoly", "BPoly") if DELEGATES else ("_PPolyBase",):
    keeps_results("scipy.interpolate._interpolate", kind)
keeps_results("scipy.interpolate._bsplines", "BSpline")


def as_constant(x: ArrayInput) -> Any:
    return arraytape.stop_gradient(x) if isinstance(x, Array) else x


# --- piecewise polynomials ---------------------------------------------------------------------------
def polynomial_forward(
    c: Array, x: Array, places: Array, nu: int = 0, extrapolate: bool = True
) -> Any:
    found = np.empty((len(places), c.shape[2]), c.dtype)
    given = [np.array(part, order="C") for part in (c, x, places)]  # SciPy needs writable memory
    _ppoly.evaluate(*given, nu, extrapolate, found)
    return found


polynomial_value = library_op(
    "scipy.interpolate.PPoly", polynomial_forward, word="nondifferentiable"
)


def interval(x: ArrayInput, places: ArrayInput) -> Any:
    """Return for each of ``places`` the index of the interval of x in which it lies.

    Interval i begins at x[i] and ends at x[i + 1].

    x is sorted.  Places below the first or above the last element of x belong to the first or last
    interval.
    """
    x, places = asarray(as_constant(x)), asarray(as_constant(places))
    if bool(x[-1] < x[0]):
        x, places = -x, -places
    found = arraytape.searchsorted(x, places, side="right") - 1
    return arraytape.clip(found, 0, x.shape[0] - 2)


def piecewise_polynomial(c: Array, x: Array, places: Array, nu: int) -> Any:
    """Evaluate the derivative of order nu of piecewise polynomials on Arrays, by Horner's scheme.

    c : coefficients, shaped (degree + 1, intervals, polynomials), the highest power first.
    x : the limits of the intervals.  places : the points of evaluation.
    """
    at = interval(x, places)
    step = (places - x[at])[:, None]
    degree = c.shape[0] - 1
    found = 0.0 * (c[0][at] * step)
    for i in range(degree - nu + 1):
        factor = float(np.prod(np.arange(degree - i - nu + 1, degree - i + 1)))
        found = found * step + factor * c[i][at]
    return found


def evaluate(
    c: ArrayInput, x: ArrayInput, places: ArrayInput, nu: int, extrapolate: bool,
    out: Array | NumpyData,
) -> None:  # fmt: skip
    c, x, places = asarray(c), asarray(x), asarray(places)
    value = polynomial_value(c, x, places, nu, extrapolate)
    compute_into(out, lambda dtype: with_slope(value, piecewise_polynomial(c, x, places, nu)))


def continuity_forward(c: Array, x: Array, order: int = 0) -> Any:
    found = np.array(c, order="C")
    _ppoly.fix_continuity(found, np.array(x), order)
    return found


continuity_value = library_op(
    "scipy.interpolate.PPoly.antiderivative", continuity_forward, word="nondifferentiable"
)


def make_continuous(c: Array, x: Array, order: int) -> Any:
    """Change coefficients of piecewise polynomials: make derivatives up to ``order`` continuous.

    c : coefficients, shaped (degree + 1, intervals, polynomials); those of the degrees 0 to ``order``
    change.  x : the limits of the intervals.  The formula is that of SciPy's compiled
    ``fix_continuity``.
    """
    rows = [c[i] for i in range(c.shape[0])]
    step = (x[1:] - x[:-1])[:, None]
    for d in range(order, -1, -1):
        row, jump = len(rows) - 1 - d, 0.0 * c[0]
        for i in range(row):  # jump: the sum of terms of degree > d at an interval's end
            degree = len(rows) - 1 - i
            jump = jump + float(math.comb(degree, d)) * rows[i] * step ** (degree - d)
        first = rows[row][:1]
        later = first + arraytape.cumulative_sum(jump, axis=0)[:-1]
        rows[row] = arraytape.concat([first, later])
    return arraytape.stack(rows)


def fix_continuity(c: Array | NumpyData, x: ArrayInput, order: int) -> None:
    given, x = asarray(c), asarray(x)
    value = continuity_value(given, x, order)
    compute_into(c, lambda dtype: with_slope(value, make_continuous(given, x, order)))


def integral_forward(
    c: Array, x: Array, start: Array, stop: Array, extrapolate: bool = True
) -> Any:
    found = np.empty(c.shape[2], c.dtype)
    given = [np.array(part, order="C") for part in (c, x)]
    _ppoly.integrate(*given, float(start), float(stop), extrapolate, found)
    return found


integral_value = library_op(
    "scipy.interpolate.PPoly.integrate", integral_forward, word="nondifferentiable"
)


def integrate(
    c: ArrayInput, x: ArrayInput, start: ArrayInput, stop: ArrayInput, extrapolate: bool,
    out: Array | NumpyData,
) -> None:  # fmt: skip
    c, x, start, stop = (asarray(part) for part in (c, x, start, stop))
    value = integral_value(c, x, start, stop, extrapolate)
    rows = [c[i] / float(c.shape[0] - i) for i in range(c.shape[0])]
    whole = make_continuous(arraytape.stack([*rows, 0.0 * c[0]]), x, 0)
    ends = [
        piecewise_polynomial(whole, x, arraytape.reshape(at, (1,)), 0)[0] for at in (start, stop)
    ]
    compute_into(out, lambda dtype: with_slope(value, ends[1] - ends[0]))


stands_in(
    "scipy.interpolate._interpolate", "_ppoly",
    evaluate=evaluate, fix_continuity=fix_continuity, integrate=integrate,
)  # fmt: skip


# --- B-splines ---------------------------------------------------------------------------------------
def spline_forward(
    t: Array, c: Array, places: Array, k: int = 3, nu: int = 0, extrapolate: bool = True
) -> Any:
    return _dierckx.evaluate_spline(
        np.array(t), np.ascontiguousarray(c), k, np.array(places), nu, extrapolate
    )


spline_value = library_op("scipy.interpolate.BSpline", spline_forward, word="nondifferentiable")


def spline(t: Array, c: Array, k: int, places: Array, nu: int) -> Any:
    """Evaluate the derivative of order nu of a sum of B-splines on Arrays, by de Boor's recursion.

    t : the knots.  c : the coefficients.  k : the degree.  places : the points of evaluation.
    Each derivative is a sum of B-splines of a lower degree, whose coefficients are differences of c.

    Where knots coincide, SciPy leaves the quotient 0 / 0 out of the sum, and so does this function.  A
    place that is NaN counts as a constant, because the caller may replace the value there.
    """
    for _ in range(nu):
        if not k:
            return 0.0 * places[:, None] * c[:1]
        count = t.shape[0] - k - 1
        widths = t[k + 1 : k + count] - t[1:count]
        apart = as_constant(widths) > 0
        steps = arraytape.where(apart, 1.0 / arraytape.where(apart, widths, 1.0), 0.0)
        c = k * steps[:, None] * (c[1:count] - c[: count - 1])
        t, k = t[1:-1], k - 1
    count = t.shape[0] - k - 1
    last = t[k : count + 1]
    at = k + arraytape.clip(
        arraytape.searchsorted(
            asarray(as_constant(last)), asarray(as_constant(places)), side="right"
        ) - 1,
        0, count - k - 1,
    )  # fmt: skip
    parts = [c[at - k + j] for j in range(k + 1)]
    places = arraytape.where(arraytape.isnan(places), 0.0, places)
    if (
        k and is_wanted([t]) and not HIDDEN_AXES.get()
        and bool(arraytape.any(as_constant(t[at + 1] - t[at]) <= 0))
    ):  # fmt: skip
        warn_of_coinciding_knots()
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, width = t[at + j - k], t[at + j + 1 - r] - t[at + j - k]
            apart = as_constant(width) > 0
            share = ((places - low) / arraytape.where(apart, width, 1.0))[:, None]
            part = (1.0 - share) * parts[j - 1] + share * parts[j]
            parts[j] = arraytape.where(apart[:, None], part, 0.0)
    return parts[k]


def warn_of_coinciding_knots() -> None:
    warnings.warn(
        "take knots that do not coincide, such as knots='uniform' or fewer n_knots of "
        "SplineTransformer: the spline jumps when they separate, so that it has no derivative with "
        f"respect to them. The gradient moves them together [at {user_line()}]",
        TapeWarning,
        stacklevel=stacklevel(),
    )


def evaluate_spline(
    t: ArrayInput, c: ArrayInput, k: int, places: ArrayInput, nu: int, extrapolate: bool
) -> Any:
    t, c, places = asarray(t), asarray(c), asarray(places)
    value = spline_value(t, c, places, k, nu, extrapolate)
    return with_slope(value, spline(t, c, k, places, nu))


stands_in("scipy.interpolate._bsplines", "_dierckx", evaluate_spline=evaluate_spline)


# --- coefficients that are linear in the values ------------------------------------------------------
def coefficients_forward(
    data: Array, function: str = "", places: np.ndarray[Any, Any] | None = None,
    options: tuple[tuple[str, Any], ...] = (),
) -> Any:  # fmt: skip
    return getattr(scipy.interpolate, function)(places, data, **dict(options)).c


def coefficients_adjoint(
    g: RawArray, function: str, places: NumpyData, options: tuple[tuple[str, Any], ...], shape: Shape,
    xp: Namespace,
) -> Any:  # fmt: skip
    lines: Any = np.eye(shape[0])
    whole = coefficients_forward(lines, function, places, options)
    line = xp.asarray(whole, dtype=xp.real(g).dtype, device=g.device)
    line = xp.astype(line, g.dtype, copy=False)
    return xp.tensordot(line, g, axes=((0,), (0,)))


coefficients = library_op(
    "scipy.interpolate.make_interp_spline", coefficients_forward, coefficients_adjoint, word="linear",
)  # fmt: skip


def linear_in_values(name: str) -> None:
    """Make a SciPy function that fits a B-spline to values y at places x run on Arrays.

    name : the function.  The coefficients are linear in y.  Arrays as x or options raise TypeError.
    """

    @hooks("scipy.interpolate._bsplines", name)
    def make_spline(x: ArrayInput, y: ArrayInput, *args: Any, axis: int = 0, **options: Any) -> Any:
        function = getattr(scipy.interpolate, name)
        options |= dict(zip(POSITIONAL[name], args, strict=False))
        axis = options.pop("axis", axis)
        if has_array((x, options)):
            raise no_rule(f"scipy.interpolate.{name}", "its places or options as Arrays")
        if not isinstance(options.get("bc_type"), str | None):
            raise no_rule(f"scipy.interpolate.{name}", f"bc_type={short_repr(options['bc_type'])}")
        if name == "make_smoothing_spline" and options.get("lam") is None:
            raise no_rule(
                f"scipy.interpolate.{name}", "lam=None (the values choose lam; pass a number)"
            )
        y = arraytape.moveaxis(asarray(y), axis, 0)
        example = original_of(function)(x, np.zeros(y.shape[:1]), **options)
        found = coefficients(y, name, np.asarray(x), tuple(options.items()))
        return scipy.interpolate.BSpline.construct_fast(
            example.t, found, example.k, example.extrapolate, axis
        )


POSITIONAL = {
    "make_interp_spline": ("k", "t", "bc_type", "axis", "check_finite"),
    "make_lsq_spline": ("t", "k", "w", "axis", "check_finite"),
    "make_smoothing_spline": ("w", "lam"),
}
for name in POSITIONAL:
    linear_in_values(name)


# --- polynomials through points ---------------------------------------------------------------------
@hooks("scipy.interpolate._polyint", "BarycentricInterpolator._evaluate")
def polynomial_at(model: Any, x: ArrayInput) -> Any:
    """Evaluate the polynomial of a BarycentricInterpolator, with its derivatives at nodes, too.

    SciPy's formula is 0 / 0 at a node, where its code writes the node's value over the result.  There
    Lagrange's formula has the derivatives.
    """
    x, nodes, values = asarray(x), asarray(model.xi), asarray(model.yi)
    found = original("scipy.interpolate._polyint", "BarycentricInterpolator._evaluate")(model, x)
    (hit,) = np.nonzero(np.any(plain_data(x)[:, None] == plain_data(nodes), axis=1))
    if hit.size and x.size:
        itself = asarray(np.eye(nodes.size, dtype=bool))
        gaps = arraytape.where(itself, 1.0, nodes[:, None] - nodes)
        shares = arraytape.where(itself, 1.0, (x[hit][:, None, None] - nodes) / gaps)
        formula = arraytape.prod(shares, axis=2) @ values
        found = asarray(found, copy=True)
        found[hit] = with_slope(arraytape.stop_gradient(found[hit]), formula)
    return found


# --- interpolation on a grid -------------------------------------------------------------------------
def grid_formula(values: Array, places: Array, grid: Sequence[NumpyData], method: str) -> Any:
    """Compute the values of a RegularGridInterpolator at ``places`` by recorded ops, for derivatives.

    values : the data at the points of the grid.  grid : the coordinates of these points along each axis.
    method : "linear" or "nearest".
    """
    at, shares = [], []
    for d, line in enumerate(grid):
        index = interval(line, places[..., d])
        low, high = asarray(line)[index], asarray(line)[index + 1]
        share = (places[..., d] - low) / (high - low)
        if method == "nearest":
            share = arraytape.astype(as_constant(share) > 0.5, places.dtype)
        at.append(index)
        shares.append(share)
    found: Any = 0.0
    extra = (None,) * (values.ndim - len(grid))
    for corner in itertools.product((0, 1), repeat=len(grid)):
        weight: Any = 1.0
        for far, share in zip(corner, shares, strict=True):
            weight = weight * (share if far else 1.0 - share)
        key = tuple(index + far for index, far in zip(at, corner, strict=True))
        found = found + weight[(..., *extra)] * values[key]
    return found


grid_value = library_op(
    "scipy.interpolate.RegularGridInterpolator",
    lambda data, places, grid=(), method="linear", bounds_error=True, fill_value=None: (
        scipy.interpolate.RegularGridInterpolator(
            grid, data.copy(), method, bounds_error, fill_value
        )(places)
    ),
    word="nondifferentiable",
)


@hooks("scipy.interpolate._rgi", "RegularGridInterpolator.__call__")
def grid_call(
    self: Any, xi: ArrayInput, method: str | None = None, *, nu: Sequence[int] | None = None
) -> Any:
    method = self.method if method is None else method
    if method not in ("linear", "nearest") or nu is not None or has_array(self._grid):
        raise no_rule(
            "scipy.interpolate.RegularGridInterpolator",
            f"method={short_repr(method)}, nu={short_repr(nu)}",
        )
    if isinstance(xi, tuple):
        xi = arraytape.stack(arraytape.broadcast_arrays(*[asarray(x) for x in xi]), axis=-1)
    values, places = asarray(self._values), asarray(xi)
    if values.dtype.kind not in "fc":
        values = arraytape.astype(values, np.float64)
    grid = tuple(np.asarray(line) for line in self._grid)
    value = grid_value(values, places, grid, method, self.bounds_error, self.fill_value)
    formula = arraytape.reshape(grid_formula(values, places, grid, method), value.shape)
    if not self.bounds_error and self.fill_value is not None:
        ends = zip(grid, range(len(grid)), strict=True)
        inside = [(places[..., d] >= line[0]) & (places[..., d] <= line[-1]) for line, d in ends]
        within = arraytape.reshape(np.logical_and.reduce(inside), inside[0].shape)
        extra = (None,) * (values.ndim - len(grid))
        formula = arraytape.where(within[(..., *extra)], formula, 0.0)
    return with_slope(value, formula)


@hooks("scipy.interpolate._rgi", "interpn")
def interpn(
    points: ArrayInput, values: ArrayInput, xi: ArrayInput, method: str = "linear",
    bounds_error: bool = True, fill_value: complex | None = np.nan,
) -> Any:  # fmt: skip
    if method not in ("linear", "nearest"):
        raise no_rule("scipy.interpolate.interpn", f"method={short_repr(method)}")
    return scipy.interpolate.RegularGridInterpolator(
        points, values, method, bounds_error, fill_value
    )(xi)


@hooks("scipy.interpolate._ndgriddata", "griddata", refuses=True)
def griddata(
    points: ArrayInput, values: ArrayInput, xi: ArrayInput, *args: Any, **options: Any
) -> Any:
    raise no_rule("scipy.interpolate.griddata")


# --- radial basis functions ---------------------------------------------------------------------------
RADIAL = "scipy.interpolate._rbfinterp"
replaces(RADIAL, "float", ScipyFloat)  # epsilon


@prepares(RADIAL, "RBFInterpolator.__init__")
def points_as_arrays(arguments: dict[str, Any]) -> None:
    """Convert points and values to Arrays, because SciPy computes in their namespace."""
    for name in ("y", "d"):
        arguments[name] = asarray(arguments[name])


@hooks(RADIAL, "RBFInterpolator.__call__")
def evaluate_radial(self: Any, x: ArrayInput) -> Any:
    """Evaluate an interpolant at Arrays, also if it was made from NumPy data."""
    if self._xp is not arraytape:
        if self.neighbors is not None:
            raise no_rule("scipy.interpolate.RBFInterpolator", "neighbors=")
        self = copy.copy(self)
        for name in ("y", "d", "smoothing", "_shift", "_scale", "_coeffs"):
            setattr(self, name, asarray(getattr(self, name)))
        self._xp = arraytape
    return original(RADIAL, "RBFInterpolator.__call__")(self, asarray(x))
