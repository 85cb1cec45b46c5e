"""Utilities: all, any."""

from __future__ import annotations

from .._array import Array
from .._words import without_derivative

Axis = int | tuple[int, ...] | None


@without_derivative
def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements are true."""


@without_derivative
def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element is true."""
