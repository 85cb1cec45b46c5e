"""Right-hand sides of systems: for the rules, a vector is a matrix of one column."""

from __future__ import annotations

from typing import Any

from ..._array.paths import sum_to
from ..._util.protocols import Namespace, RawArray


def as_columns(b: RawArray, *values: Any) -> list[Any]:
    """Return values with vectors as columns if the right-hand side b is a vector."""
    return [x[..., None] if len(b.shape) == 1 else x for x in values]


def as_given(u: RawArray, b: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of b from that of its columns, summed over broadcast axes."""
    return sum_to(u[..., 0] if len(b.shape) == 1 else u, b.shape, xp)
