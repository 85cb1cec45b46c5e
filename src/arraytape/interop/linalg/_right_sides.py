"""Right-hand sides of systems: to the rules, a vector is a matrix of one column."""

from __future__ import annotations

from typing import Any

from ..._array.paths import sum_to


def as_columns(b: Any, *values: Any) -> list[Any]:
    """Values beside a right-hand side b, with a column in the place of each vector if b is one."""
    return [x[..., None] if len(b.shape) == 1 else x for x in values]


def as_given(u: Any, b: Any, xp: Any) -> Any:
    """What goes back to b from columns: a vector if it is one, summed over axes that were broadcast."""
    return sum_to(u[..., 0] if len(b.shape) == 1 else u, b.shape, xp)
