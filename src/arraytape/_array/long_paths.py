"""Shorten the path of a view of a view of a view: the steps from the root's data to the view's.

Otherwise the nth view in a loop of ``x = x[1:]`` would have a path of n steps.  Adjacent steps are
joined: keys and permutations into one key and one permutation, two reshapes or broadcasts into one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .paths import BROADCAST, GETITEM, PERMUTE, RESHAPE, Path

if TYPE_CHECKING:
    from .._util.array_types import Index

LONG = 8  # the number of steps above which a path is shortened
# An axis of the part of an array (the data) that a view shows: a pair (axis of the data, selected
# indices along that axis), or None for a new axis of length 1.
Axis = tuple[int, range] | None


class Box:
    """The part of an array x to which steps of indexing and permuting axes lead, such as ``x[1:].T[2]``.

    It takes up the steps one by one, without data, and returns a path of three steps at most.

    shape : the shape of the array.
    axes : list of an ``Axis`` for each axis of the part, in order.
    fixed : dict from the axes that integers removed to the integers: {1: 3} for ``x[:, 3]``.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.axes: list[Axis] = [(i, range(n)) for i, n in enumerate(shape)]
        self.fixed: dict[int, int] = {}

    def narrow_to(self, key: Index) -> bool:
        """Select ``part[key]`` in place of ``part``, the part of the array that is selected now.

        Return True, or False if a Box cannot express the result; then nothing changes.
        """
        found: list[Axis] = []
        fixed = dict(self.fixed)
        left = iter(self.axes)
        for part in self.expanded_items(key):
            if part is None:
                found.append(None)
                continue
            axis = next(left)
            indices = range(1) if axis is None else axis[1]
            if not isinstance(part, slice):
                if axis is not None:
                    fixed[axis[0]] = indices[int(part)]
            elif axis is not None:
                found.append((axis[0], indices[part]))
            elif len(indices[part]) == 1:
                found.append(None)
            else:
                return False
        self.axes, self.fixed = found, fixed
        return True

    def expanded_items(self, key: Index) -> list[Any]:
        """Return the items of an indexing key, with full slices for Ellipsis and missing items."""
        parts = list(key) if type(key) is tuple else [key]
        named = sum(part is not None and part is not Ellipsis for part in parts)
        rest = [slice(None)] * (len(self.axes) - named)
        at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
        return [*parts[:at], *rest, *parts[at + 1 :]]

    def fold(self, shape: tuple[int, ...]) -> bool:
        """Reshape the selected part of the array to ``shape``, if only axes of length 1 change.

        Return True if so; otherwise change nothing and return False.
        """
        long = [axis for axis in self.axes if axis is not None and len(axis[1]) != 1]
        if [len(indices) for _, indices in long] != [n for n in shape if n != 1]:
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
        """Return the shortest path (sequence of steps such as indexing) to the selected part.

        It starts from the array and has at most three steps: a key, a permutation, and a key that adds
        axes of length 1.
        """
        kept = [axis for axis in self.axes if axis is not None]
        key = [self.fixed.get(i, slice(None)) for i in range(len(self.shape))]
        for i, indices in kept:
            if indices != range(self.shape[i]):
                key[i] = as_slice(indices)
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


def as_slice(indices: range) -> slice:
    if not indices:
        return slice(0, 0)
    # A range that counts down to index 0 has the stop -1, which would be the last index in a slice.
    return slice(indices.start, indices.stop if indices.stop >= 0 else None, indices.step)


def shortened(path: Path, shape: tuple[int, ...]) -> Path:
    """Return a path that leads to the same view as ``path`` for data of this shape, shorter if possible.

    A path is a sequence of steps, such as indexing, from an Array's data to a view's.  Without this, the
    nth view in a loop of ``x = x[1:]`` would have n steps.  The result has one step at least.
    """
    # The steps read so far are equivalent to ``done`` followed by ``box.steps_to_part()``.
    done: Path = ()
    box = Box(shape)
    # The last reshape or broadcast, as its kind and the ``done`` and ``box`` before it.  A second step
    # of the same kind replaces the last one if the steps in between change nothing.
    last: tuple[str, Path, Box] = ("", done, box)
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
        else:  # a diagonal, windows, a part of complex data: a Box cannot express them
            return (*done, *box.steps_to_part(), *path[i:])
    return (*done, *box.steps_to_part()) or ((GETITEM, ...),)
