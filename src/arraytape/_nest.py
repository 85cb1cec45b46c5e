"""Nested structures: lists, tuples, named tuples and dicts of arrays."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FLAT = (list, tuple)


def leaves(structure: Any) -> list[Any]:
    """The leaves of a nesting of lists, tuples and dicts, in order; None counts as a leaf."""
    if type(structure) in FLAT and all_arrays(structure):
        return list(structure)
    return list(_walk(structure))


def all_arrays(structure: Iterable[Any]) -> bool:
    """Whether these are all arrays."""
    for leaf in structure:  # noqa: SIM110  (all() of a generator takes twice as long)
        if not hasattr(leaf, "dtype"):
            return False
    return True


def pack(structure: Any, found: list[Any]) -> Any:
    """The nesting of ``structure`` with the leaves of ``found`` in their places."""
    if type(structure) is list and all_arrays(structure):
        return found
    return _fill(structure, iter(found))


def leaves_like(structure: Any, other: Any, name: str) -> list[Any]:
    """The leaves of ``other`` in the order of ``structure``; dicts are paired by key.

    ValueError naming ``name`` where the nestings differ; a list may stand for a tuple.
    """
    if isinstance(structure, Mapping):
        if not isinstance(other, Mapping) or structure.keys() != other.keys():
            keys = sorted(map(str, other)) if isinstance(other, Mapping) else type(other).__name__
            raise ValueError(
                f"{name}: a dict with keys {sorted(map(str, structure))} is needed, got {keys}"
            )
        pairs = [(structure[key], other[key]) for key in structure]
    elif isinstance(structure, list | tuple):
        if not isinstance(other, list | tuple) or len(structure) != len(other):
            got = len(other) if isinstance(other, list | tuple) else type(other).__name__
            raise ValueError(f"{name}: {len(structure)} are needed, one for each target; got {got}")
        pairs = list(zip(structure, other, strict=True))
    elif isinstance(other, list | tuple | Mapping):
        kind = type(other).__name__
        raise ValueError(f"{name}: 1 is needed for one target, got a {kind} of {len(other)}")
    else:
        return [other]
    return [leaf for part, match in pairs for leaf in leaves_like(part, match, name)]


def _walk(structure: Any) -> Iterator[Any]:
    if hasattr(structure, "dtype"):
        yield structure
    elif isinstance(structure, Mapping):
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
        if type(structure) is dict:
            return filled
        same_kind: Any = copy.copy(structure)  # what its constructor takes is its own affair
        same_kind.update(filled)
        return same_kind
    if isinstance(structure, list | tuple):
        values = [_fill(value, flat) for value in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*values)
        return values if type(structure) is list else type(structure)(values)
    return next(flat)
