"""Functions that flatten a nesting to its leaves, pack leaves into a nesting, and match two nestings.

A nesting is a leaf, or a container (see ``container_kinds``) whose parts are nestings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .container_kinds import KINDS, REGISTERED, Parts, is_dataclass
from .container_kinds import Nesting as Nesting
from .errors import describe, user_line

MOVED = "a nesting has other parts than a moment ago: {}"
END = object()  # what ``next`` returns when no leaf is left


# --- Flattening a nesting -----------------------------------------------------------------------
def leaves(structure: Nesting) -> list[Any]:
    """Return the leaves of a nesting, in order; None counts as a leaf.

    Raise ValueError for a nesting that holds itself.
    """
    cls = type(structure)
    if KINDS[cls] is None:
        return [structure]
    if (cls is list or cls is tuple) and _all_leaves(structure):
        return list(structure)
    found: list[Any] = []
    try:
        _collect_leaves(structure, found)
    except RecursionError:
        raise ValueError(
            f"a nesting holds itself, or is too deep: a {cls.__name__} of "
            f"{len(parts_of_nesting(structure))} [at {user_line()}]"
        ) from None
    return found


def _all_leaves(structure: Sequence[Any]) -> bool:
    for kind in set(map(type, structure)):  # noqa: SIM110  (a loop is twice as fast as all() here)
        if KINDS[kind] is not None:
            return False
    return True


def _collect_leaves(structure: Nesting, found: list[Any]) -> None:
    kind = KINDS[type(structure)]
    if kind is None:
        found.append(structure)
        return
    parts, _ = kind.flatten(structure)
    for part in parts.values() if isinstance(parts, dict) else parts:
        _collect_leaves(part, found)


def parts_of_nesting(value: Nesting) -> Any:
    """Return the parts of a container: a dict of named parts, a list or a tuple; None for a leaf."""
    kind = KINDS[type(value)]
    return None if kind is None else kind.flatten(value)[0]


def items_of(parts: Parts) -> Iterator[tuple[Any, Any]]:
    """Return an iterator of pairs (name, part); in a list or tuple, the index of a part is its name.

    parts : the parts of a container: a dict, a list or a tuple.
    """
    return iter(parts.items() if isinstance(parts, dict) else enumerate(parts))


def located(
    structure: Nesting, path: str = "", owner: Nesting = None
) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, leaf, container of the leaf) for each leaf of a nesting.

    A path is a text such as "layers.0.w", for messages and names.

    path, owner : the path of ``structure`` in a larger nesting, and the container that holds it.
    """
    parts = parts_of_nesting(structure)
    if parts is None:
        yield path, structure, owner
        return
    for name, part in items_of(parts):
        yield from located(part, f"{path}.{name}" if path else str(name), structure)


def place_in_nesting(leaf: Nesting, structure: Nesting) -> str:
    """Return " at 'path'" with the leaf's path, for messages; "" if ``structure`` is itself the leaf."""
    for path, found, owner in located(structure):
        if found is leaf and owner is not None:
            return f" at {path!r}{_static_field_advice(owner)}"
    return ""


def _static_field_advice(owner: Nesting) -> str:
    """Return advice for a message about a leaf, if ``owner``, its container, is a dataclass; else "".

    A field of a dataclass that is no array can be declared static, so that it is no leaf.
    """
    plain = type(owner) not in REGISTERED and not isinstance(owner, Mapping | list | tuple)
    if not plain or not is_dataclass(type(owner)):
        return ""
    return (
        f" (to leave out a field of {type(owner).__name__}, declare it with "
        "field(metadata={'static': True}))"
    )


# --- Packing leaves into a nesting --------------------------------------------------------------
def pack_nesting(structure: Nesting, found: list[Any]) -> Any:
    """Return a nesting like ``structure`` whose leaves are those of ``found``, in order."""
    if type(structure) is list and _all_leaves(structure):
        return found
    flat = iter(found)
    try:
        packed = _pack_leaves(structure, flat)
    except StopIteration as error:
        raise RuntimeError(MOVED.format(describe(structure))) from error
    if next(flat, END) is not END:
        raise RuntimeError(MOVED.format(describe(structure)))
    return packed


def _pack_leaves(structure: Nesting, flat: Iterator[Any]) -> Any:
    kind = KINDS[type(structure)]
    if kind is None:
        return next(flat)
    parts, rest = kind.flatten(structure)
    filled: Nesting
    if isinstance(parts, dict):
        filled = {name: _pack_leaves(part, flat) for name, part in parts.items()}
        changed = kind.always or any(filled[name] is not part for name, part in parts.items())
    else:
        filled = [_pack_leaves(part, flat) for part in parts]
        changed = kind.always or any(a is not b for a, b in zip(filled, parts, strict=True))
    return kind.unflatten(rest, filled) if changed else structure


# --- Matching two nestings of the same structure ------------------------------------------------
def leaves_like(
    structure: Nesting, other: Nesting, name: str, *, numbers: bool = False
) -> list[Any]:
    """Return the leaves of ``other``, such as seeds, in the order of the leaves of ``structure``.

    Parts with names are matched by name, so that a dict matches a dataclass; a list matches a tuple.
    Raise ValueError if the structures differ.

    name : the argument ``other``, with whose name the error's message begins.
    numbers : True if a nested list of numbers may stand in place of a leaf.
    """
    parts, matches = parts_of_nesting(structure), parts_of_nesting(other)
    if parts is None:
        if matches is None or (numbers and holds_numbers(other)):
            return [other]
        kind = type(other).__name__
        raise ValueError(
            f"{name}: 1 is needed for one target, got a {kind} of {len(matches)} [at {user_line()}]"
        )
    if isinstance(parts, dict):
        if not isinstance(matches, dict) or parts.keys() != matches.keys():
            keys = sorted(map(str, matches)) if isinstance(matches, dict) else type(other).__name__
            wanted = "dict" if isinstance(structure, Mapping) else type(structure).__name__
            raise ValueError(
                f"{name}: a {wanted} with keys {sorted(map(str, parts))} is needed, got {keys} "
                f"[at {user_line()}]"
            )
        pairs = [(part, matches[key]) for key, part in parts.items()]
    else:
        listed = matches is not None and not isinstance(matches, dict)
        if not listed or len(parts) != len(matches):
            got = len(matches) if listed else type(other).__name__
            raise ValueError(
                f"{name}: {len(parts)} are needed, one for each target; got {got} "
                f"[at {user_line()}]"
            )
        pairs = list(zip(parts, matches, strict=True))
    return [
        leaf for part, match in pairs for leaf in leaves_like(part, match, name, numbers=numbers)
    ]


def holds_numbers(value: Nesting, depth: int = 64) -> bool:
    """Return True for a number, and for a nonempty list of numbers or of such lists, or a tuple.

    A user may pass such a list in place of an array.

    depth : the largest number of nested lists.
    """
    if isinstance(value, list | tuple):
        return depth > 0 and bool(value) and all(holds_numbers(x, depth - 1) for x in value)
    return isinstance(value, int | float | complex | np.number | np.bool)


def parts_with(wanted: Iterator[bool], structure: Nesting) -> Any:
    """Return the parts of a nesting that have wanted leaves, with True in place of each wanted leaf.

    ``{"a": 1, "b": [2, 3]}`` and ``wanted`` False, False, True give ``{"b": [True]}``: for example, the
    gradients that a user's rule has to return.  The result is None if no leaf is wanted.

    wanted : an iterator that yields one bool for each leaf of ``structure``, in order.
    """
    parts = parts_of_nesting(structure)
    if parts is None:
        return True if next(wanted) else None
    found = [(name, parts_with(wanted, part)) for name, part in items_of(parts)]
    kept = [(name, part) for name, part in found if part is not None]
    if isinstance(parts, dict):
        return dict(kept) or None
    return [part for _, part in kept] or None


def in_order_of(structure: Nesting, other: Nesting, name: str) -> Any:
    """Return the nesting ``other`` with the keys of its dicts in the order of those in ``structure``.

    So the n-th leaf of ``other`` belongs to the n-th leaf of ``structure``.  Raise ValueError, with a
    message that begins with ``name``, if the keys of a dict differ, or ``structure`` has no dict there.
    """
    given, known = parts_of_nesting(other), parts_of_nesting(structure)
    if given is None:
        return other
    if isinstance(given, dict):
        kind = "dict" if isinstance(other, Mapping) else type(other).__name__
        # The parts of a dataclass ``other`` are all its fields.  ``structure`` may lack those of its
        # fields that hold no arrays.
        if kind != "dict" and isinstance(known, dict):
            given = {k: part for k, part in given.items() if k in known or _holds_an_array(part)}
        if not isinstance(known, dict) or known.keys() != given.keys():
            keys = f"are the keys {[*known]}" if isinstance(known, dict) else "is no dict"
            raise ValueError(
                f"{name}: got a {kind} with the keys {[*given]} where there {keys} "
                f"[at {user_line()}]"
            )
        return {key: in_order_of(part, given[key], name) for key, part in known.items()}
    alike = known is not None and not isinstance(known, dict) and len(known) == len(given)
    parts = known if alike else [None] * len(given)
    return [in_order_of(part, match, name) for part, match in zip(parts, given, strict=True)]


def _holds_an_array(part: Nesting) -> bool:
    return any(hasattr(leaf, "dtype") for leaf in leaves(part))
