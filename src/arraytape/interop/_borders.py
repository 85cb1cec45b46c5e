"""Padding of the lines of an array beyond their ends, as in SciPy's filters; results for ``output=``.

A line is the sequence of elements along one axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._array.array import Array
from .._util.array_types import Namespace, RawArray
from ._facades import refuse_numpy_target
from ._plain import DTypeInput, NumpyData, Shape

# The type of ``output=``.
Output: TypeAlias = "Array | NumpyData | DTypeInput"

# scipy.ndimage's mode -> np.pad's name of the same continuation.
PADDING = {
    "constant": "constant", "grid-constant": "constant", "grid-mirror": "symmetric", "grid-wrap": "wrap",
    "mirror": "reflect", "nearest": "edge", "reflect": "symmetric", "wrap": "wrap",
}  # fmt: skip


def continued_indices(length: int, mode: str, before: int, after: int) -> Any:
    """Return for each element of a padded line its index in the original line; -1 for a constant."""
    if not length:
        return np.full(before + after, -1)
    constant = {"constant_values": -1} if PADDING[mode] == "constant" else {}
    return np.pad(np.arange(length), (before, after), mode=PADDING[mode], **constant)  # type: ignore[call-overload]


def extend_lines(
    x: RawArray, axis: int, mode: str, before: int, after: int, cval: complex, xp: Namespace
) -> Any:
    """Return x padded along an axis by ``before`` and ``after`` elements, as scipy.ndimage does.

    mode : the name of the continuation in scipy.ndimage.  cval : the constant for the constant modes.
    """
    at = continued_indices(x.shape[axis], mode, before, after)
    if PADDING[mode] == "constant" and x.dtype.kind not in "fc":
        x = xp.astype(x, xp.float64)  # SciPy pads integers with ``cval`` even if it is no integer
    if not x.shape[axis]:
        shape = resized(x.shape, axis, len(at))
        return xp.full(shape, cval if PADDING[mode] == "constant" else 0, dtype=x.dtype)
    y = x[(*(slice(None),) * axis, np.maximum(at, 0))]
    if PADDING[mode] != "constant":
        return y
    inside = xp.reshape(xp.asarray(at >= 0), (-1,) + (1,) * (len(x.shape) - axis - 1))
    if not xp.isdtype(y.dtype, "complex floating"):
        cval = np.real(cval)
    return xp.where(inside, y, xp.asarray(cval, dtype=y.dtype, device=y.device))


def fold_lines(g: RawArray, axis: int, length: int, mode: str, before: int, xp: Namespace) -> Any:
    """Return the cotangent of x in ``extend_lines``, given g, that of the padded x: sums over copies."""
    lines = (slice(None),) * axis
    if PADDING[mode] == "constant":
        return g[(*lines, slice(before, before + length))]
    if not length:
        return g[(*lines, slice(0, 0))]
    at = continued_indices(length, mode, before, g.shape[axis] - length - before)
    return xp.scatter_add(g, resized(g.shape, axis, length), (*lines, at))


def padded_after(g: RawArray, axis: int, count: int, xp: Namespace) -> Any:
    shape = resized(g.shape, axis, g.shape[axis] + count)
    return xp.scatter_add(g, shape, (*(slice(None),) * axis, slice(0, g.shape[axis])))


def window(at: Sequence[int] | NumpyData, shape: Sequence[int]) -> tuple[slice, ...]:
    """Return the slices of the part of an array that starts at ``at`` and has this shape."""
    return tuple([slice(i, i + n) for i, n in zip(at, shape, strict=True)])


def resized(shape: Sequence[int], axis: int, length: int) -> Shape:
    found = list(shape)
    found[axis] = length
    return tuple(found)


def into(output: Output, compute: Callable[[Any], Any]) -> Any:
    """Return a result in the dtype ``output``, or write it to the array ``output`` and return that."""
    if not isinstance(output, Array | np.ndarray):
        return compute(output)
    result = compute(output.dtype)
    if output.shape != result.shape:
        raise RuntimeError("output shape not correct")
    if result.dtype.kind == "c" and output.dtype.kind != "c":
        raise RuntimeError("output must have complex dtype")
    refuse_numpy_target("copyto", output, result)
    output[...] = result
    return output
