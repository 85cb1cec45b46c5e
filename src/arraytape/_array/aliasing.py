"""The records of views and writes, and how cotangents and tangents pass through them.

    VIEW  (plan, view, root, shape of root, path)
    PUT   (plan, new, old, value, path, key, shape and dtype of value, lost, shape and dtype of root)
    ADD   (plan, new, old, value, path, sign, shape and dtype of value, shape and dtype of root)
    WATCH (plan, seen, watched, shape of root, path to seen, path)

``new`` and ``old`` are the ids of the root's values after and before the write, ``value`` is that of
what was written.  ``lost`` is None or, for a key that names elements twice, the mask of the writes
that were overwritten at once.  ``watched`` is the id of what was watched, at the end of ``path``, when
records of its root were there already: what follows counts for it and what came before does not.  There
is one such record for each id under which parts of the root were known: its own and those of views.

Records are plain tuples, which the cyclic garbage collector does not track: ``view_record``,
``put_record``, ``add_record`` and ``watch_record`` make them; ``ViewRecord(*record)`` and
``write_of(record)`` read them.

For each kind there is a rule (``pull_view``, ``pull_put``, ``pull_add``) and a fast path for the usual
case on NumPy's data, which leaves any other case to the rule.  The backward pass calls the fast path;
tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy import integer, ndarray, zeros

from .._record.plan import Record, Structural
from .._storage.batched.batched_data import Batched
from .._storage.batched.indexing import is_mask
from .paths import (
    GETITEM,
    PERMUTE,
    PICK,
    WHOLE,
    Cotangents,
    Path,
    add_through,
    dtype_at_root,
    inverse_permutation,
    unwalked,
    walk_path,
    write_through,
)

if TYPE_CHECKING:
    import numpy as np

    from .._util.array_types import Index, Namespace, RawArray
    from .array import Array


# --- records ------------------------------------------------------------------------------------------
class ViewRecord(NamedTuple):
    """A record of a view's value, to read by name."""

    plan: int
    view: int
    root: int
    shape: tuple[int, ...]  # the root's
    path: Path


class PutRecord(NamedTuple):
    """A record of ``x[key] = value``, to read by name."""

    plan: int
    new: int
    old: int
    value: int
    path: Path
    key: Any
    shape: tuple[int, ...]  # the value's
    dtype: Any
    lost: Any
    root_shape: tuple[int, ...]
    root_dtype: Any


class AddRecord(NamedTuple):
    """A record of ``x += value`` or ``x -= value``, to read by name."""

    plan: int
    new: int
    old: int
    value: int
    path: Path
    sign: int
    shape: tuple[int, ...]  # the value's
    dtype: Any
    root_shape: tuple[int, ...]
    root_dtype: Any


def view_record(view: int, root: int, shape: tuple[int, ...], path: Path) -> Record:
    return (VIEW.number, view, root, shape, path)


class ViewsRead:
    """The views of each root's value in a growing list of records; of the records no copies are kept.

    Each record is read once.  Views of one place along the first axis are found by that place, so that
    a loop over rows need not compare a row with all others.
    """

    def __init__(self) -> None:
        self.seen = 0  # records
        self.found: dict[tuple[int, int | None], dict[int, Path]] = {}
        self.roots: dict[int, dict[int | None, None]] = {}  # the places of each root's views

    def read_views(self, records: Sequence[Record]) -> None:
        for record in records[self.seen :]:
            if record[0] == VIEW.number and record[4]:
                _, view, root, shape, path = record
                place = place_along_first_axis(path, shape)
                self.found.setdefault((root, place), {})[view] = path
                self.roots.setdefault(root, {})[place] = None
        self.seen = len(records)

    def views_beside(self, root: int, path: Path, shape: tuple[int, ...]) -> dict[int, Path]:
        """Return recorded views of ``root`` that may overlap the part at ``path``, with their paths."""
        place = place_along_first_axis(path, shape)
        places = self.roots.get(root, {}) if place is None else (place, None)
        found: dict[int, Path] = {}
        for one in places:
            found |= self.found.get((root, one), {})
        return found


def place_along_first_axis(path: Path, shape: tuple[int, ...]) -> int | None:
    """Return the one place along the first axis of a root where a part lies; None if there are more."""
    kind, key = path[0] if path else ("", None)
    part = key[0] if type(key) is tuple and key else key
    if kind is not GETITEM or not shape or not isinstance(part, int | integer | slice):
        return None
    places = range(shape[0])
    if not isinstance(part, slice):
        return places[part]
    return places[part][0] if len(places[part]) == 1 else None


def put_record(
    *, new: int, old: int, value: int, path: Path, key: Index, shape: tuple[int, ...],
    dtype: np.dtype[Any], lost: RawArray | None, root_shape: tuple[int, ...], root_dtype: np.dtype[Any],
) -> Record:  # fmt: skip
    return (PUT.number, new, old, value, path, key, shape, dtype, lost, root_shape, root_dtype)


def add_record(
    *, new: int, old: int, value: int, path: Path, sign: int, shape: tuple[int, ...],
    dtype: np.dtype[Any], root_shape: tuple[int, ...], root_dtype: np.dtype[Any],
) -> Record:  # fmt: skip
    """Return a record of ``x += value`` or, with sign -1, ``x -= value``: see ``AddRecord``."""
    return (ADD.number, new, old, value, path, sign, shape, dtype, root_shape, root_dtype)


def watch_record(
    *, seen: int, watched: int, shape: tuple[int, ...], path_to_seen: Path, path: Path
) -> Record:
    """Return a record of a value that is watched from here on, as ``seen`` has it."""
    return (WATCH.number, seen, watched, shape, path_to_seen, path)


def write_of(record: Record) -> PutRecord | AddRecord:
    return AddRecord(*record) if record[0] == ADD.number else PutRecord(*record)


# --- the rules ----------------------------------------------------------------------------------------
def pull_view(at: Cotangents, record: Record) -> None:
    """Add the cotangent of a view to its region of the root's."""
    _, view, root, shape, path = record
    g = at.take_cotangent(view)
    if g is None or root not in at.followed:
        return
    kinds = [kind for kind, _ in path]
    if WHOLE.issuperset(kinds):  # every element of the root: no buffer is needed
        at.lend_contribution(root, unwalked(g, path, shape, at.data))
        return
    if PICK in kinds:  # from a root that may be the same for all examples
        zeros = at.data.xp.zeros(shape, dtype=dtype_at_root(path, g.dtype), device=g.device)
        whole = add_through(at.data.widen_buffer(zeros, g), path, g, at.data)
        at.add_contribution(root, at.data.fit_contribution(whole, shape, whole.dtype))
        return
    buffer = at.take_buffer(root)
    if buffer is None:
        dtype = dtype_at_root(path, g.dtype)
        buffer = at.data.xp.zeros(shape, dtype=dtype, device=g.device)
    at.give_buffer(root, add_through(at.data.widen_buffer(buffer, g), path, g, at.data))


def pull_put(at: Cotangents, record: Record) -> None:
    """Pass the written region's cotangent to the value, and the rest to the old root."""
    _, new, old, value, path, key, shape, dtype, lost, _, _ = record
    data, buffer = at.data, at.take_owned(new)
    if buffer is None:
        return
    if value in at.followed:
        region = data.xp.asarray(region_of(buffer, path, key, data.xp), copy=True)
        if lost is not None:
            region = data.xp.where(lost, 0.0, region)
        at.add_contribution(value, data.fit_contribution(region, shape, dtype))
    if old in at.followed:
        at.give_buffer(old, write_through(buffer, path, key, 0, data))


def pull_add(at: Cotangents, record: Record) -> None:
    """Pass the cotangent to the old root as it is, and its region to the added value."""
    _, new, old, value, path, sign, shape, dtype, _, _ = record
    data, buffer = at.data, at.take_owned(new)
    if buffer is None:
        return
    if value in at.followed:
        region = data.xp.asarray(walk_path(buffer, path, data.xp), copy=True)
        region = data.negated(region) if sign < 0 else region
        at.add_contribution(value, data.fit_contribution(region, shape, dtype))
    if old in at.followed:
        at.give_buffer(old, buffer)


def pull_watch(at: Cotangents, record: Record) -> None:
    """Add the contributions to ``seen`` so far to what is watched; they stay where they are."""
    _, seen, watched, shape, path_to_seen, path = record
    g = at.peek(seen)
    if g is None:
        return
    if path_to_seen:
        dtype = dtype_at_root(path_to_seen, g.dtype)
        zeros = at.data.xp.zeros(shape, dtype=dtype, device=g.device)
        g = add_through(at.data.widen_buffer(zeros, g), path_to_seen, g, at.data)
    at.add_contribution(watched, at.data.xp.asarray(walk_path(g, path, at.data.xp), copy=True))


def region_of(buffer: RawArray, path: Path, key: Any, xp: Namespace) -> Any:
    """Return ``walk_path(buffer, path)[key]``; for a batched mask in the shape of the masked part."""
    part = walk_path(buffer, path, xp)
    if type(key) is Batched and is_mask(key):
        # One value was written to all that the mask names: the sum over them follows from its shape.
        return xp.where(key, part, 0.0)
    return part[key]


# --- the fast paths -----------------------------------------------------------------------------------
def pull_view_in_place(at: Cotangents, record: Record) -> None:
    """Do the work of ``pull_view`` for a view by one index, or a transposed one."""
    _, view, root, shape, path = record
    g = at.cotangents.get(view)
    if g is None:
        return
    if type(g) is ndarray and len(path) == 1 and root in at.followed:
        kind, argument = path[0]
        if kind is GETITEM:
            buffer = at.in_hand(root)
            if buffer is None and root not in at.cotangents:
                buffer = zeros(shape, g.dtype)
                at.give_buffer(root, buffer)
            if buffer is not None:
                at.take_cotangent(view)
                part = buffer[argument]
                part += g
                return
        elif kind is PERMUTE:
            at.lend_contribution(
                root, at.take_cotangent(view).transpose(inverse_permutation(argument))
            )
            return
    pull_view(at, record)


def pull_put_in_place(at: Cotangents, record: Record) -> None:
    """Do the work of ``pull_put`` for a key that makes a view of the buffer at hand: index it once."""
    _, new, old, value, path, key, shape, dtype, _, _, _ = record
    buffer = at.take_in_hand(new)
    if buffer is None:
        pull_put(at, record)
        return
    part = (walk_path(buffer, path, at.data.xp) if path else buffer)[key]
    if type(part) is not ndarray or part.base is not buffer:
        at.give_buffer(new, buffer)
        pull_put(at, record)
        return
    if value in at.followed:
        region = part.copy()
        fits = region.shape == shape and region.dtype is dtype
        region = region if fits else at.data.fit_contribution(region, shape, dtype)
        at.add_contribution(value, region)
    if old in at.followed:
        part[...] = 0.0
        at.give_buffer(old, buffer)


def pull_add_in_place(at: Cotangents, record: Record) -> None:
    """Do the work of ``pull_add`` for a part of the buffer at hand, or for the whole root."""
    _, new, old, value, path, sign, shape, dtype, _, _ = record
    if not path:
        g = at.take_cotangent(new)
        if g is None:
            return
        if value in at.followed:
            part = at.data.negated(g) if sign < 0 else g
            if part.shape != shape or part.dtype is not dtype or type(part) is not ndarray:
                part = at.data.fit_contribution(part, shape, dtype)
            (at.lend_contribution if part is g else at.add_contribution)(value, part)
        if old in at.followed:
            at.lend_contribution(old, g)  # both share one cotangent: nothing is copied
        return
    buffer = at.take_in_hand(new)
    if buffer is None:
        pull_add(at, record)
        return
    if value in at.followed:
        part = walk_path(buffer, path, at.data.xp).copy()
        if sign < 0:
            part = at.data.negated(part)
        if part.shape != shape or part.dtype is not dtype:
            part = at.data.fit_contribution(part, shape, dtype)
        at.add_contribution(value, part)
    if old in at.followed:
        at.give_buffer(old, buffer)


# --- forward mode -------------------------------------------------------------------------------------
class Tangents(Protocol):
    """The part of forward mode that the records of views and writes use."""

    def tangent(self, tid: int, /) -> Any: ...
    def tangent_part(self, tangent: Array, path: Path, /) -> Any: ...
    def write_tangent(self, write: PutRecord | AddRecord, /) -> None: ...


def push_view(at: Tangents, record: Record) -> list[Any]:
    view = ViewRecord(*record)
    whole = at.tangent(view.root)
    return [None if whole is None else at.tangent_part(whole, view.path)]


def push_write(at: Tangents, record: Record) -> list[Any]:
    at.write_tangent(write_of(record))
    return [None]


VIEW = Structural("view", pull_view_in_place, push_view)
PUT = Structural("setitem", pull_put_in_place, push_write, inputs=slice(2, 4))
ADD = Structural("in-place add", pull_add_in_place, push_write, inputs=slice(2, 4))
WATCH = Structural("watch", pull_watch, lambda at, record: [at.tangent(record[1])])
