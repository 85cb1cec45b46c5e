"""The records of views and writes, and how cotangents and tangents pass through them.

    VIEW  (plan, view, root, shape of root, path)
    PUT   (plan, new, old, value, path, key, shape and dtype of value, lost, shape and dtype of root)
    ADD   (plan, new, old, value, path, sign, shape and dtype of value, shape and dtype of root)
    WATCH (plan, seen, watched, shape of root, path to seen, path)

``new`` and ``old`` are the ids of the root's values after and before the write; ``value`` is the id of
the written value.  ``lost`` is None or, for a key that names elements twice, the mask of the elements
of ``value`` that a later element overwrote.

WATCH is recorded when an Array is watched whose root the tape follows already: gradients with respect
to ``watched``, the value at ``path``, count the ops after the record and none before it.  There is one
such record for each id that denotes a part of the root: the root's own and those of its views.

Records are plain tuples, because the cyclic garbage collector does not track these.
``ViewRecord(*record)`` and ``write_of(record)`` give them field names.

For each kind there is a rule (``pull_view``, ``pull_put``, ``pull_add``) and a fast path for the usual
case on NumPy's data, which calls the rule in any other case.  The backward pass calls the fast path;
tests compare the results of both.
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
    from .._util.array_types import Index, Namespace, RawArray
    from .array import Array


# --- records ------------------------------------------------------------------------------------------
class ViewRecord(NamedTuple):
    """The fields of a VIEW record."""

    plan: int
    view: int
    root: int
    shape: tuple[int, ...]  # the root's
    path: Path


class PutRecord(NamedTuple):
    """The fields of a PUT record: ``x[key] = value``."""

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
    """The fields of an ADD record: ``x += value`` or, with sign -1, ``x -= value``."""

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
    """An index of the recorded views of each root, updated as a list of records grows.

    Each record is read once.  Views are grouped by their position along the root's first axis, so that
    a loop over rows does not compare each row with all others.
    """

    def __init__(self) -> None:
        self.seen = 0  # number of records read so far
        self.found: dict[tuple[int, int | None], dict[int, Path]] = {}  # by root id and position
        self.roots: dict[int, dict[int | None, None]] = {}  # positions of each root's views

    def read_views(self, records: Sequence[Record]) -> None:
        for record in records[self.seen :]:
            if record[0] == VIEW.number and record[4]:
                _, view, root, shape, path = record
                position = position_along_first_axis(path, shape)
                self.found.setdefault((root, position), {})[view] = path
                self.roots.setdefault(root, {})[position] = None
        self.seen = len(records)

    def views_beside(self, root: int, path: Path, shape: tuple[int, ...]) -> dict[int, Path]:
        """Return recorded views of ``root`` that may overlap the part at ``path``, with their paths."""
        position = position_along_first_axis(path, shape)
        positions = self.roots.get(root, {}) if position is None else (position, None)
        found: dict[int, Path] = {}
        for one in positions:
            found |= self.found.get((root, one), {})
        return found


def position_along_first_axis(path: Path, shape: tuple[int, ...]) -> int | None:
    """Return the only index of a root's first axis that ``path`` selects; None if it selects several."""
    kind, key = path[0] if path else ("", None)
    part = key[0] if type(key) is tuple and key else key
    if kind is not GETITEM or not shape or not isinstance(part, int | integer | slice):
        return None
    positions = range(shape[0])
    if not isinstance(part, slice):
        return positions[part]
    return positions[part][0] if len(positions[part]) == 1 else None


def watch_record(
    *, seen: int, watched: int, shape: tuple[int, ...], path_to_seen: Path, path: Path
) -> Record:
    """Return a WATCH record: ``watched`` is the value ``seen``, counted from this record on."""
    return (WATCH.number, seen, watched, shape, path_to_seen, path)


def write_of(record: Record) -> PutRecord | AddRecord:
    return AddRecord(*record) if record[0] == ADD.number else PutRecord(*record)


# --- the rules ----------------------------------------------------------------------------------------
def pull_view(at: Cotangents, record: Record) -> None:
    """Add the cotangent of a view to its region of the root's cotangent."""
    _, view, root, shape, path = record
    g = at.take_cotangent(view)
    if g is None or root not in at.followed:
        return
    kinds = [kind for kind, _ in path]
    if WHOLE.issuperset(kinds):  # every element of the root: no buffer is needed
        at.lend_contribution(root, unwalked(g, path, shape, at.data))
        return
    if PICK in kinds:  # the root may be shared by all examples of a vmap: sum over them
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
    """Pass the whole cotangent on to the old root, and a copy of its region to the added value."""
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
    """Add the cotangent of ``seen``, as summed so far, to that of ``watched``; keep that of ``seen``."""
    _, seen, watched, shape, path_to_seen, path = record
    g = at.peek(seen)
    if g is None:
        return
    if path_to_seen:
        dtype = dtype_at_root(path_to_seen, g.dtype)
        zeros = at.data.xp.zeros(shape, dtype=dtype, device=g.device)
        g = add_through(at.data.widen_buffer(zeros, g), path_to_seen, g, at.data)
    at.add_contribution(watched, at.data.xp.asarray(walk_path(g, path, at.data.xp), copy=True))


def region_of(buffer: RawArray, path: Path, key: Index | Batched, xp: Namespace) -> Any:
    """Return ``walk_path(buffer, path)[key]``; for a batched mask, the part with 0 where it is False."""
    part = walk_path(buffer, path, xp)
    if type(key) is Batched and is_mask(key):
        # Each example's mask selects another number of elements, so the result keeps the part's shape.
        # The written value was a scalar: ``fit_contribution`` sums the result to its shape.
        return xp.where(key, part, 0.0)
    return part[key]


# --- the fast paths -----------------------------------------------------------------------------------
def pull_view_in_place(at: Cotangents, record: Record) -> None:
    """Do the work of ``pull_view`` for a path of one step: an index or a permutation."""
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
    """Do the work of ``pull_put`` where the key makes a view of the root's buffer: index it once."""
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
    """Do the work of ``pull_add`` for the whole root, or for a part of the root's buffer."""
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
            at.lend_contribution(old, g)  # value and root share one cotangent: nothing is copied
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

    def tangent(self, value_id: int, /) -> Any: ...
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
