"""Pad arrays beyond their ends as SciPy's filters do, pull cotangents back, and serve ``output=``.

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
    """Return for each element of a padded line the index of the element of which it is a copy.

    A line is the sequence of elements along one axis.  Elements that the padding sets to a constant get
    -1.

    length : the number of elements of the line.
    mode : scipy.ndimage's name of the padding.  before, after : the numbers of added elements.
    """
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
        shape = with_length(x.shape, axis, len(at))
        return xp.full(shape, cval if PADDING[mode] == "constant" else 0, dtype=x.dtype)
    y = x[(*(slice(None),) * axis, np.maximum(at, 0))]
    if PADDING[mode] != "constant":
        return y
    inside = xp.reshape(xp.asarray(at >= 0), (-1,) + (1,) * (len(x.shape) - axis - 1))
    if not xp.isdtype(y.dtype, "complex floating"):
        cval = np.real(cval)
    return xp.where(inside, y, xp.asarray(cval, dtype=y.dtype, device=y.device))


def fold_lines(g: RawArray, axis: int, length: int, mode: str, before: int, xp: Namespace) -> Any:
    """Return the cotangent of an array, given the cotangent g of the array padded along an axis.

    The cotangents of all copies of an element are added up.  length : the array's length along the axis.
    mode : scipy.ndimage's name of the padding.  before : the number of elements added before the first.
    """
    lines = (slice(None),) * axis
    if PADDING[mode] == "constant":
        return g[(*lines, slice(before, before + length))]
    if not length:
        return g[(*lines, slice(0, 0))]
    at = continued_indices(length, mode, before, g.shape[axis] - length - before)
    return xp.scatter_add(g, with_length(g.shape, axis, length), (*lines, at))


def append_zeros(g: RawArray, axis: int, count: int, xp: Namespace) -> Any:
    """Return g with ``count`` zeros appended along the axis."""
    shape = with_length(g.shape, axis, g.shape[axis] + count)
    return xp.scatter_add(g, shape, (*(slice(None),) * axis, slice(0, g.shape[axis])))


def window(at: Sequence[int] | NumpyData, shape: Sequence[int]) -> tuple[slice, ...]:
    """Return the slices of a box of an array: its first index is ``at``, and its shape is ``shape``."""
    return tuple([slice(i, i + n) for i, n in zip(at, shape, strict=True)])


def with_length(shape: Sequence[int], axis: int, length: int) -> Shape:
    """Return ``shape`` with another length of one axis."""
    found = list(shape)
    found[axis] = length
    return tuple(found)


def compute_into(output: Output, compute: Callable[[Any], Any]) -> Any:
    """Return ``compute(dtype)``; if SciPy's argument ``output=`` is an array, write the result to it.

    output : a dtype, an array for the result, or None.  compute : function of the result's dtype, or of
    None, that returns the result.
    """
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
