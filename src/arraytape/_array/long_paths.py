"""Long paths made short: a loop that takes a view of a view, ``x = x[1:]``, must not walk all steps.

Steps are joined where one can do the work of several: keys and permutations, reshapes, broadcasts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .paths import BROADCAST, GETITEM, PERMUTE, RESHAPE, Path

if TYPE_CHECKING:
    from .._util.array_types import Index

LONG = 8  # steps; a path of more is made short
Axis = tuple[int, range] | None  # an axis of the root, the places along it; None: a new one


class Box:
    """A part of data by keys and permutations alone: its places along each axis, and its order of axes.

    axes : those of the part.  fixed : the place along each axis of the data that the part lacks.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.axes: list[Axis] = [(i, range(n)) for i, n in enumerate(shape)]
        self.fixed: dict[int, int] = {}

    def narrow_to(self, key: Index) -> bool:
        """Narrow the part by a key; return False for a key that a Box cannot express."""
        found: list[Axis] = []
        fixed = dict(self.fixed)
        left = iter(self.axes)
        for part in self.written_out(key):
            if part is None:
                found.append(None)
                continue
            axis = next(left)
            places = range(1) if axis is None else axis[1]
            if not isinstance(part, slice):
                if axis is not None:
                    fixed[axis[0]] = places[int(part)]
            elif axis is not None:
                found.append((axis[0], places[part]))
            elif len(places[part]) == 1:
                found.append(None)
            else:
                return False
        self.axes, self.fixed = found, fixed
        return True

    def written_out(self, key: Index) -> list[Any]:
        """Return the parts of a key, one for each axis, and None for new axes."""
        parts = list(key) if type(key) is tuple else [key]
        named = sum(part is not None and part is not Ellipsis for part in parts)
        rest = [slice(None)] * (len(self.axes) - named)
        at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
        return [*parts[:at], *rest, *parts[at + 1 :]]

    def fold(self, shape: tuple[int, ...]) -> bool:
        """Reshape the part if that only adds or drops axes of length 1; return False if it does more."""
        long = [axis for axis in self.axes if axis is not None and len(axis[1]) != 1]
        if [len(places) for _, places in long] != [n for n in shape if n != 1]:
            return False
        self.fixed |= {axis[0]: axis[1][0] for axis in self.axes if axis and len(axis[1]) == 1}
        left = iter(long)
        self.axes = [None if n == 1 else next(left) for n in shape]
        return True

    def permute(self, order: Iterable[int]) -> None:
        self.axes = [self.axes[i] for i in order]

    def part_shape(self) -> tuple[int, ...]:
        return tuple([1 if axis is None else len(axis[1]) for axis in self.axes])

    def steps_to_part(self) -> Path:
        """Return the steps to the part: a key, a permutation and new axes, as far as needed."""
        kept = [axis for axis in self.axes if axis is not None]
        key = [self.fixed.get(i, slice(None)) for i in range(len(self.shape))]
        for i, places in kept:
            if places != range(self.shape[i]):
                key[i] = as_slice(places)
        order = tuple([sorted(kept).index(axis) for axis in kept])
        steps: list[tuple[str, Any]] = []
        if any(part != slice(None) for part in key):
            steps.append((GETITEM, (*key, ...)))
        if order != tuple(range(len(order))):
            steps.append((PERMUTE, order))
        if len(kept) < len(self.axes):
            new = [None if axis is None else slice(None) for axis in self.axes]
            steps.append((GETITEM, (*new, ...)))
        return tuple(steps)


def as_slice(places: range) -> slice:
    if not places:
        return slice(0, 0)
    return slice(places.start, places.stop if places.stop >= 0 else None, places.step)


def shortened(path: Path, shape: tuple[int, ...]) -> Path:
    """Return a path from data of this shape with steps joined where possible, at least one."""
    done: Path = ()
    box = Box(shape)
    last: tuple[str, Path, Box] = ("", done, box)  # a reshape or broadcast, and what is before it
    for i, (kind, argument) in enumerate(path):
        if kind is GETITEM:
            if not box.narrow_to(argument):
                return (*done, *box.steps_to_part(), *path[i:])
        elif kind is PERMUTE:
            box.permute(argument)
        elif kind is RESHAPE and box.fold(argument):
            pass
        elif kind is RESHAPE or kind is BROADCAST:
            if last[0] is kind and not box.steps_to_part():
                _, done, box = last
            if argument != box.part_shape():
                last = (kind, done, box)
                done, box = (*done, *box.steps_to_part(), (kind, argument)), Box(argument)
        else:  # it changes what an axis means; what follows is seldom long
            return (*done, *box.steps_to_part(), *path[i:])
    return (*done, *box.steps_to_part()) or ((GETITEM, ...),)
