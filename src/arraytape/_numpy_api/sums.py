"""NumPy's convolution, interpolation and functions of complex numbers on Arrays: ``np.convolve``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import in_order
from .._util.errors import short_repr, user_line
from ..ops import elementwise_functions as elementwise
from ..ops import searching_functions as searching
from ..ops.creation_functions import zeros_like
from ..ops.linear_algebra_functions import matmul
from ..ops.manipulation_functions import concat, flip, reshape
from .numpy_arguments import ArrayLike, arrays_like_first, as_operands, cast_checked


def convolve(a: ArrayLike, v: ArrayLike, mode: str | int = "full") -> Array:
    a, v = (reshape(x, (1,)) if not x.ndim else x for x in arrays_like_first(a, v))
    if a.ndim > 1 or v.ndim > 1 or not a.size or not v.size:
        raise ValueError(f"convolve: needs two sequences that are not empty [at {user_line()}]")
    a, v = (v, a) if v.size > a.size else (a, v)
    n, m = a.size, v.size
    starts = {"valid": (m - 1, n), "same": ((m - 1) // 2, (m - 1) // 2 + n), "full": (0, n + m - 1)}
    if not isinstance(mode, str | int):
        raise TypeError(
            f"convolve: mode must be a string, got {short_repr(mode)} [at {user_line()}]"
        )
    if mode in (0, 1, 2):  # NumPy also accepts these numbers as modes
        mode = [*starts][mode]
    if mode not in starts:
        raise ValueError(
            f"convolve: mode must be one of {[*starts]}, got {short_repr(mode)} [at {user_line()}]"
        )
    edge = zeros_like(v[1:])
    # Row k holds indices into the padded a, of the elements whose weighted sum is element k of the
    # result.
    windows = np.arange(*starts[mode])[:, None] + np.arange(m)
    return matmul(concat([edge, a, edge])[asarray_like(a, windows)], flip(v))


def polymul(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Multiply polynomials as ``numpy.polymul`` does: remove leading zeros, then convolve."""
    arrays: list[Any] = arrays_like_first(a1, a2)
    parts: list[Any] = [np.trim_zeros(np.atleast_1d(x), "f") for x in arrays]
    a1, a2 = (x if x.size else asarray_like(x, np.zeros(1, x.dtype)) for x in parts)
    return convolve(a1, a2)


def correlate(a: ArrayLike, v: ArrayLike, mode: str | int = "valid") -> Array:
    a, v = arrays_like_first(a, v)
    if not a.ndim or not v.ndim:
        raise ValueError(f"np.correlate: needs two sequences, got numbers [at {user_line()}]")
    if v.size > a.size:
        return elementwise.conj(flip(correlate(v, a, mode)))
    return convolve(a, elementwise.conj(flip(v)), mode)


def interp(
    x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Array | float | None = None,
    right: Array | float | None = None,
) -> Array:  # fmt: skip
    x, xp, fp = as_operands(x, xp, fp)
    x, xp = (cast_checked("np.interp", places, np.float64, "safe") for places in (x, xp))
    fp = cast_checked(
        "np.interp", fp, np.complex128 if fp.dtype.kind == "c" else np.float64, "safe"
    )
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ValueError(f"interp: needs xp and fp of one dimension and length [at {user_line()}]")
    last = xp.size - 1
    left, right = fp[0] if left is None else left, fp[last] if right is None else right
    if last:
        at = elementwise.clip(searching.searchsorted(xp, x, side="right") - 1, 0, last - 1)
        x0, y0 = xp[at], fp[at]
        y = (fp[at + 1] - y0) / (xp[at + 1] - x0) * (x - x0) + y0
    else:  # the interpolant through one point is constant
        y = x * 0.0 + fp[0]
    y = searching.where(x == xp[last], fp[last], y)
    return in_order(searching.where(x < xp[0], left, searching.where(x > xp[last], right, y)), "C")


def angle(z: Array, deg: bool = False) -> Array:
    turned = elementwise.atan2(elementwise.imag(z), elementwise.real(z))
    return turned * (180.0 / np.pi) if deg else turned


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.angle: angle,
    np.convolve: convolve,
    np.correlate: correlate,
    np.iscomplex: lambda x: elementwise.imag(x) != 0.0,
    np.isreal: lambda x: elementwise.imag(x) == 0.0,
    np.polymul: polymul,
}
