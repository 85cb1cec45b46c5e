"""NumPy's functions that the standard has not, made of recorded ops: what ``np.atleast_1d(x)`` runs.

Third-party code calls them on whatever arrays it is given.  ``numpy_protocols`` finds them here, by
NumPy's own function; their parameters are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import Array, beside
from .._errors import user_line
from . import data_type_functions as dtypes
from . import elementwise_functions as elementwise
from . import searching_functions as searching
from . import statistical_functions as statistics
from . import utility_functions as utilities
from .array_methods import METHODS, method_transpose
from .creation_functions import asarray, copied, zeros_like
from .linear_algebra_functions import matmul, tensordot
from .manipulation_functions import concat, flip, reshape, stack

COUNTERPARTS: dict[Any, Callable[..., Any]] = {
    function: METHODS[function.__name__]
    for function in (
        np.cumprod, np.cumsum, np.diagonal, np.squeeze, np.swapaxes, np.take, np.trace,
    )
}  # fmt: skip


def counterpart(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter what runs for a function of NumPy's."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        COUNTERPARTS[function] = ours
        return ours

    return enter


def together(*values: Any) -> list[Array]:
    """The values as Arrays where the first Array among them lies."""
    device = next((x.device for x in values if isinstance(x, Array)), None)
    return [asarray(x, device=device) for x in values]


def only(name: str, parameter: str, value: Any, known: Any) -> None:
    """TypeError for a parameter's value that has no recorded counterpart."""
    if value != known:
        raise TypeError(
            f"np.{name} of Arrays has no {parameter}={value!r}, only {known!r} [at {user_line()}]"
        )


def by_parts(function: Callable[[Array], Array], x: Array) -> Array:
    """A real function of the real and the imaginary part."""
    if x.dtype.kind != "c":
        return function(x)
    return function(elementwise.real(x)) + 1j * function(elementwise.imag(x))


# --- shapes ---------------------------------------------------------------------------------------
def one_or_all(function: Callable[[Array], Array], arrays: Sequence[Any]) -> Any:
    """The function of one array, or of each of several as a tuple."""
    found = tuple(function(asarray(x)) for x in arrays)
    return found[0] if len(found) == 1 else found


@counterpart(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return one_or_all(lambda x: x if x.ndim else reshape(x, (1,)), arys)


@counterpart(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return one_or_all(lambda x: x if x.ndim > 1 else reshape(x, (1, x.size)), arys)


@counterpart(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    def deep(x: Array) -> Array:
        if x.ndim > 2:
            return x
        return reshape(x, (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))

    return one_or_all(deep, arys)


@counterpart(np.ravel)
def ravel(a: Array, order: str = "C") -> Array:
    only("ravel", "order", order, "C")
    return reshape(a, (-1,))


@counterpart(np.transpose)
def transpose(a: Array, axes: Any = None) -> Array:
    return method_transpose(a, *(() if axes is None else (axes,)))


@counterpart(np.copy)
def copy(a: Array, order: str = "K", subok: bool = False) -> Array:
    return copied(a)


def joined(
    arrays: Sequence[Any], axis: int, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    only("concatenate", "casting", casting, "same_kind")
    whole = concat([asarray(x) for x in arrays], axis=axis)
    return whole if dtype is None else dtypes.astype(whole, dtype, copy=False)


def listed(found: Any) -> list[Array]:
    return list(found) if isinstance(found, tuple) else [found]


@counterpart(np.hstack)
def hstack(tup: Sequence[Any], **options: Any) -> Array:
    parts = listed(atleast_1d(*tup))
    return joined(parts, 0 if parts[0].ndim == 1 else 1, **options)


@counterpart(np.vstack)
def vstack(tup: Sequence[Any], **options: Any) -> Array:
    return joined(listed(atleast_2d(*tup)), 0, **options)


@counterpart(np.dstack)
def dstack(tup: Sequence[Any]) -> Array:
    return joined(listed(atleast_3d(*tup)), 2)


@counterpart(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Array:
    parts = [asarray(x) for x in tup]
    return joined([x if x.ndim > 1 else reshape(x, (x.size, 1)) for x in parts], 1)


# --- comparisons ----------------------------------------------------------------------------------
@counterpart(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Array:
    a, b = together(a, b)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        near = abs(a - b) <= atol + rtol * abs(b)
    same = (near & elementwise.isfinite(b)) | (a == b)
    return same | (elementwise.isnan(a) & elementwise.isnan(b)) if equal_nan else same


@counterpart(np.allclose)
def allclose(a: Any, b: Any, *options: Any, **named: Any) -> bool:
    return bool(utilities.all(isclose(a, b, *options, **named)))


@counterpart(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a1, a2 = together(a1, a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    return bool(
        utilities.all(same | (elementwise.isnan(a1) & elementwise.isnan(a2)) if equal_nan else same)
    )


# --- products and sums ----------------------------------------------------------------------------
@counterpart(np.dot)
def dot(a: Any, b: Any) -> Array:
    a, b = together(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    if a.ndim < 3 and b.ndim < 3:
        return matmul(a, b)
    return tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else -1,)))


@counterpart(np.outer)
def outer(a: Any, b: Any) -> Array:
    a, b = together(a, b)
    return reshape(a, (-1, 1)) * reshape(b, (-1,))


@counterpart(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    a, v = (reshape(x, (1,)) if not x.ndim else x for x in together(a, v))
    if a.ndim > 1 or v.ndim > 1 or not a.size or not v.size:
        raise ValueError(f"convolve: needs two sequences that are not empty [at {user_line()}]")
    a, v = (v, a) if v.size > a.size else (a, v)
    n, m = a.size, v.size
    starts = {"full": (0, n + m - 1), "same": ((m - 1) // 2, (m - 1) // 2 + n), "valid": (m - 1, n)}
    if mode not in starts:
        raise ValueError(f"convolve: mode must be one of {[*starts]}, got {mode!r}")
    edge = zeros_like(v[1:])
    # Row k holds what the reversed v meets at place k.
    windows = np.arange(*starts[mode])[:, None] + np.arange(m)
    return matmul(concat([edge, a, edge])[beside(a, windows)], flip(v))


@counterpart(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    a, v = together(a, v)
    if v.size > a.size:
        return elementwise.conj(flip(correlate(v, a, mode)))
    return convolve(a, elementwise.conj(flip(v)), mode)


@counterpart(np.polyval)
def polyval(p: Any, x: Any) -> Array:
    p, x = together(p, x)
    y = zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y


@counterpart(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    x, xp, fp = together(x, xp, fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ValueError(f"interp: needs xp and fp of one dimension and length [at {user_line()}]")
    last = xp.size - 1
    left, right = fp[0] if left is None else left, fp[last] if right is None else right
    if last:
        at = elementwise.clip(searching.searchsorted(xp, x, side="right") - 1, 0, last - 1)
        x0, y0 = xp[at], fp[at]
        y = (fp[at + 1] - y0) / (xp[at + 1] - x0) * (x - x0) + y0
    else:
        y = x * 0.0 + fp[0]
    y = searching.where(x == xp[last], fp[last], y)
    return searching.where(x < xp[0], left, searching.where(x > xp[last], right, y))


@counterpart(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    (x,) = together(x)
    single = isinstance(condlist, bool) or getattr(condlist, "ndim", -1) == x.ndim
    conditions = [asarray(c) for c in ([condlist] if single else condlist)]
    if len(funclist) == len(conditions) + 1:
        taken = conditions[0]
        for condition in conditions[1:]:
            taken = taken | condition
        conditions.append(~taken)
    if len(funclist) != len(conditions):
        raise ValueError(
            f"piecewise: {len(funclist)} functions for {len(conditions)} conditions [at {user_line()}]"
        )
    y = zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        y[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return y


@counterpart(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Array:
    rows = [atleast_2d(x) for x in ((m,) if y is None else (m, y))]
    rows = [x if rowvar or x.shape[0] == 1 else transpose(x) for x in rows]
    x = joined(rows, 0)
    x = x - statistics.mean(x, axis=1, keepdims=True)
    freedom = x.shape[1] - (int(not bias) if ddof is None else ddof)
    products = matmul(x, transpose(elementwise.conj(x) if x.dtype.kind == "c" else x))
    products = products * float(np.true_divide(1, freedom))
    return reshape(products, ()) if products.size == 1 else products


@counterpart(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Array:
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    of_each = stack([c[i, i] for i in range(c.shape[0])])
    deviation = elementwise.sqrt(elementwise.real(of_each))
    c = c / deviation[:, None] / deviation
    return by_parts(lambda part: elementwise.clip(part, -1.0, 1.0), c)


@counterpart(np.angle)
def angle(z: Array, deg: bool = False) -> Array:
    turned = elementwise.atan2(elementwise.imag(z), elementwise.real(z))
    return turned * (180.0 / np.pi) if deg else turned


@counterpart(np.nan_to_num)
def nan_to_num(
    x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    only("nan_to_num", "copy", copy, True)
    if x.dtype.kind not in "fc":
        return copied(x)
    limits = dtypes.finfo(x.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf

    def finite(part: Array) -> Array:
        part = searching.where(elementwise.isnan(part), nan, part)
        part = searching.where(part == np.inf, high, part)
        return searching.where(part == -np.inf, low, part)

    return by_parts(finite, x)
