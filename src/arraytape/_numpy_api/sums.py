"""NumPy's functions of sums and products that the standard has not, on Arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._define.define_op import stop_gradient
from .._util.errors import user_line
from ..ops import data_type_functions as dtypes
from ..ops import elementwise_functions as elementwise
from ..ops import searching_functions as searching
from ..ops import statistical_functions as statistics
from ..ops import utility_functions as utilities
from ..ops.creation_functions import asarray, copied, zeros_like
from ..ops.linear_algebra_functions import matmul
from ..ops.manipulation_functions import concat, flip, normalize_axis_index, reshape, stack
from .arguments import array_of, as_arrays, check_only
from .shapes import at_least, joined, transpose


def by_parts(function: Callable[[Array], Array], x: Array) -> Array:
    """A real function of the real and the imaginary part."""
    if x.dtype.kind != "c":
        return function(x)
    return function(elementwise.real(x)) + 1j * function(elementwise.imag(x))


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """See ``numpy.convolve``."""
    a, v = (reshape(x, (1,)) if not x.ndim else x for x in as_arrays(a, v))
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
    return matmul(concat([edge, a, edge])[asarray_like(a, windows)], flip(v))


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """See ``numpy.correlate``."""
    a, v = as_arrays(a, v)
    if v.size > a.size:
        return elementwise.conj(flip(correlate(v, a, mode)))
    return convolve(a, elementwise.conj(flip(v)), mode)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    """See ``numpy.interp``."""
    x, xp, fp = as_arrays(x, xp, fp)
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


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """See ``numpy.piecewise``."""
    x = array_of(x)
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


def polyval(p: Any, x: Any) -> Array:
    """See ``numpy.polyval``."""
    p, x = as_arrays(p, x)
    y = zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Array:
    """See ``numpy.cov``."""
    rows = [at_least(2)(x) for x in ((m,) if y is None else (m, y))]
    rows = [x if rowvar or x.shape[0] == 1 else transpose(x) for x in rows]
    x = joined(rows, 0)
    x = x - statistics.mean(x, axis=1, keepdims=True)
    freedom = x.shape[1] - (int(not bias) if ddof is None else ddof)
    products = matmul(x, transpose(elementwise.conj(x) if x.dtype.kind == "c" else x))
    products = products * float(np.true_divide(1, freedom))
    return reshape(products, ()) if products.size == 1 else products


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Array:
    """See ``numpy.corrcoef``."""
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    of_each = stack([c[i, i] for i in range(c.shape[0])])
    deviation = elementwise.sqrt(elementwise.real(of_each))
    c = c / deviation[:, None] / deviation

    def within(part: Array) -> Array:
        # Beyond 1 lie rounding errors: what is cut off is no slope.
        cut = elementwise.clip(part, -1.0, 1.0)
        return searching.where(cut == part, part, part + stop_gradient(cut - part))

    return by_parts(within, c)


def angle(z: Array, deg: bool = False) -> Array:
    """See ``numpy.angle``."""
    turned = elementwise.atan2(elementwise.imag(z), elementwise.real(z))
    return turned * (180.0 / np.pi) if deg else turned


def nan_to_num(
    x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """See ``numpy.nan_to_num``."""
    check_only("nan_to_num", "copy", copy, True)
    if x.dtype.kind not in "fc":
        return copied(x)
    limits = dtypes.finfo(x.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf

    def finite(part: Array) -> Array:
        part = searching.where(elementwise.isnan(part), nan, part)
        part = searching.where(part == np.inf, high, part)
        return searching.where(part == -np.inf, low, part)

    return by_parts(finite, x)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2.0 * np.pi) -> Array:
    """See ``numpy.unwrap``; steps of whole periods have no slope."""
    p = array_of(p)
    at = normalize_axis_index("unwrap", p, axis)
    step = utilities.diff(p, axis=at)
    least = elementwise.remainder(step + period / 2.0, period) - period / 2.0
    least = searching.where((least == -period / 2.0) & (step > 0.0), period / 2.0, least)
    small = abs(step) < (period / 2.0 if discont is None else max(discont, period / 2.0))
    shifts = statistics.cumulative_sum(searching.where(small, 0.0, least - step), axis=at)
    before = (slice(None),) * at
    return concat([p[(*before, slice(0, 1))], p[(*before, slice(1, None))] + shifts], axis=at)


def isreal(x: Any) -> Array:
    """See ``numpy.isreal``."""
    return elementwise.imag(x) == 0.0


def iscomplex(x: Any) -> Array:
    """See ``numpy.iscomplex``."""
    return elementwise.imag(x) != 0.0


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.angle: angle,
    np.convolve: convolve,
    np.corrcoef: corrcoef,
    np.correlate: correlate,
    np.cov: cov,
    np.interp: interp,
    np.iscomplex: iscomplex,
    np.isreal: isreal,
    np.nan_to_num: nan_to_num,
    np.piecewise: piecewise,
    np.polyval: polyval,
    np.unwrap: unwrap,
}
