"""Nested structures: lists, tuples, named tuples and dicts of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def leaves(structure: Any) -> list[Any]:
    """The leaves of a nesting of lists, tuples and dicts, in order; None counts as a leaf."""
    return list(_walk(structure))


def pack(structure: Any, flat: list[Any]) -> Any:
    """The nesting of ``structure`` with the leaves of ``flat`` in their places."""
    return _fill(structure, iter(flat))


def _walk(structure: Any) -> Iterator[Any]:
    if isinstance(structure, Mapping):
        for value in structure.values():
            yield from _walk(value)
    elif isinstance(structure, list | tuple):
        for value in structure:
            yield from _walk(value)
    else:
        yield structure


def _fill(structure: Any, flat: Iterator[Any]) -> Any:
    if isinstance(structure, Mapping):
        filled = {key: _fill(value, flat) for key, value in structure.items()}
        return filled if type(structure) is dict else type(structure)(filled)  # type: ignore[call-arg]
    if isinstance(structure, list | tuple):
        values = [_fill(value, flat) for value in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*values)
        return values if type(structure) is list else type(structure)(values)
    return next(flat)
