"""Nested structures: lists, tuples, named tuples and dicts of arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

FLAT = (list, tuple)


def leaves(structure: Any) -> list[Any]:
    """The leaves of a nesting of lists, tuples and dicts, in order; None counts as a leaf.

    ValueError for one that holds itself.
    """
    if type(structure) in FLAT and all_arrays(structure):
        return list(structure)
    try:
        return list(_walk(structure))
    except RecursionError:
        raise ValueError(
            "a nesting of lists, tuples and dicts holds itself, or is too deep"
        ) from None


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


def parts_with(wanted: Callable[[Any], bool], structure: Any) -> Any:
    """A nesting without the leaves that are not wanted and what they leave empty; None: nothing."""
    if isinstance(structure, Mapping):
        named = {key: parts_with(wanted, part) for key, part in structure.items()}
        return {key: part for key, part in named.items() if part is not None} or None
    if isinstance(structure, list | tuple):
        parts = [parts_with(wanted, part) for part in structure]
        return [part for part in parts if part is not None] or None
    return structure if wanted(structure) else None


def in_order_of(structure: Any, other: Any, name: str) -> Any:
    """``other`` with its dicts in the order of those that ``structure`` has in their places.

    ValueError naming ``name`` for a dict that has no like there: nobody knows its order.
    """
    if isinstance(other, Mapping):
        if not isinstance(structure, Mapping) or structure.keys() != other.keys():
            keys = (
                f"are the keys {[*structure]}" if isinstance(structure, Mapping) else "is no dict"
            )
            raise ValueError(f"{name}: got a dict with the keys {[*other]} where there {keys}")
        return {key: in_order_of(part, other[key], name) for key, part in structure.items()}
    if not isinstance(other, list | tuple):
        return other
    alike = isinstance(structure, list | tuple) and len(structure) == len(other)
    parts = structure if alike else [None] * len(other)
    return [in_order_of(part, given, name) for part, given in zip(parts, other, strict=True)]


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
        return _like(structure, {key: _fill(value, flat) for key, value in structure.items()})
    if isinstance(structure, list | tuple):
        values = [_fill(value, flat) for value in structure]
        if type(structure) is list:
            return values
        if isinstance(structure, tuple):  # a subclass's constructor is its own affair
            return tuple.__new__(type(structure), values)
        same_kind = copy.copy(structure)
        same_kind[:] = values
        return same_kind
    return next(flat)


def _like(structure: Mapping[Any, Any], filled: dict[Any, Any]) -> Any:
    """A mapping of the same kind; a dict where it cannot be made."""
    if type(structure) is dict:
        return filled
    if isinstance(structure, MutableMapping):
        same_kind: Any = copy.copy(structure)  # what its constructor takes is its own affair
        same_kind.update(filled)
        return same_kind
    try:
        return type(structure)(filled)  # type: ignore[call-arg]
    except TypeError:
        return filled
