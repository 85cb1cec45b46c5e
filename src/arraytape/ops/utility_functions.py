"""Utilities: all, any, diff."""

from __future__ import annotations

from .._array.array import Array
from .._define.words import composite, without_derivative
from .._util.errors import user_line
from .elementwise_functions import not_equal, subtract
from .manipulation_functions import concat, normalize_axis_index

Axis = int | tuple[int, ...] | None


@without_derivative
def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements are true."""


@without_derivative
def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element is true."""


@composite
def diff(
    x: Array,
    /,
    n: int = 1,  # where NumPy has it, for code that does not name it
    axis: int = -1,
    *,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """The n-th differences along an axis, after joining ``prepend`` and ``append``."""
    at = normalize_axis_index("diff", x, axis)
    if n < 0:
        raise ValueError(f"diff: n must be at least 0, got {n} [at {user_line()}]")
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=at) if len(parts) > 1 else x
    before = (slice(None),) * at
    difference = not_equal if x.dtype.kind == "b" else subtract
    for _ in range(n):
        x = difference(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x
