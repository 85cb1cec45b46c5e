"""Searching: where, nonzero and the positions of extremes."""

from __future__ import annotations

from typing import Any, Literal

from .._array.array import Array, wrap
from .._array.paths import sum_to
from .._array.views import current
from .._define.words import composite, primitive, sample, without_derivative
from .._storage.storage import storage_of
from .._util.errors import explain, user_line


@primitive(
    None,
    lambda g, condition, shape, xp: sum_to(xp.where(condition, g, 0.0), shape, xp),
    lambda g, condition, shape, xp: sum_to(xp.where(condition, 0.0, g), shape, xp),
    per_element=True,
    selects=True,
    alone=lambda *given: where_it_holds(*given),
    samples=(
        sample("bool(3, 4)", (3, 4), (3, 4)),
        sample("bool(3, 1)", (4,), ()),
        sample("bool(3)", (3,), 0.5),
        sample("bool(3)", 0.5, (2, 3)),
    ),
)
def where(
    condition: Array, x1: Array | float | None = None, x2: Array | float | None = None, /
) -> Array:
    """x1 where condition holds, else x2.  What is not selected contributes exactly 0.

    The condition alone is asked where it holds, as ``nonzero`` is: beyond the standard.
    """


def where_it_holds(condition: Array, x1: Any, x2: Any) -> Any:
    if x1 is not None or x2 is not None:
        raise TypeError(f"where: needs both x1 and x2, or neither [at {user_line()}]")
    return nonzero(condition)


@without_derivative
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the (first) maximum."""


@without_derivative
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the (first) minimum."""


@without_derivative
def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """How many elements are not 0."""


@composite
def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The indices of the elements that are not 0, one array per axis."""
    _, data = current(x)
    try:
        found = storage_of(data).xp.nonzero(data)
    except Exception as error:
        raise explain("nonzero", error, x=x) from error
    return tuple(wrap(indices) for indices in found)


@without_derivative
def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Where to insert x2 into the sorted x1."""
