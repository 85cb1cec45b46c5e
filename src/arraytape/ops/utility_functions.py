"""Utility functions: all, any and diff."""

from __future__ import annotations

import numpy as np

from .._array.array import Array, asarray_like
from .._define.words import composite, without_derivative
from .._storage.dispatch import NUMBERS
from .._storage.standard import Axis
from .._util.errors import user_line
from .elementwise_functions import not_equal, subtract
from .manipulation_functions import broadcast_to, concat, normalize_axis_index


@without_derivative(takes="boolean", gives=("reduced", "bool"), signature="(AXES)->()")
def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Test whether all elements over axes (all by default) are true."""


@without_derivative(takes="boolean", gives=("reduced", "bool"), signature="(AXES)->()")
def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Test whether any element over axes (all by default) is true."""


@composite
def diff(
    x: Array,
    /,
    n: int = 1,  # positional, too, as in NumPy, but not in the standard
    axis: int = -1,
    *,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Compute the differences between neighbours along an axis, repeated n times.

    Parameters
    ----------
    x
        Array of any dtype, with at least one dimension.
    n
        The number of repetitions: n = 2 gives the differences of the differences.
    prepend
        Elements to put before x along the axis: of shape (), or of the shape of x apart from the axis.
    append
        Elements to put after x along the axis: of shape (), or of the shape of x apart from the axis.

    Returns
    -------
    Array
        Of the shape of x, with prepend and append, but n shorter along the axis.
        For boolean x, True where neighbours differ.

    Raises
    ------
    ValueError
        When n is negative, or prepend or append do not fit x.
    """
    at = normalize_axis_index("diff", x, axis)
    if n < 0:
        raise ValueError(f"diff: n must be at least 0, got {n} [at {user_line()}]")
    if not n:  # NumPy, too, ignores prepend and append here
        return x
    edge = (*x.shape[:at], 1, *x.shape[at + 1 :])  # numbers are broadcast to this shape
    given = [
        asarray_like(x, np.asarray(part)) if type(part) in NUMBERS else part
        for part in (prepend, x, append) if part is not None
    ]  # fmt: skip
    parts = [
        broadcast_to(part, edge) if getattr(part, "shape", None) == () else part for part in given
    ]
    x = concat(parts, axis=at) if len(parts) > 1 else x
    before = (slice(None),) * at
    difference = not_equal if x.dtype.kind == "b" else subtract
    for _ in range(min(n, max(x.shape[at], 1))):  # more steps would find no elements
        x = difference(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x
