"""The records of views and writes, and the rules that pass cotangents and tangents through them.

    VIEW  (plan, view, root, shape of root, path)
    PUT   (plan, new, old, value, path, key, shape and dtype of value, lost, shape and dtype of root)
    ADD   (plan, new, old, value, path, sign, shape and dtype of value, shape and dtype of root)
    WATCH (plan, seen, watched, shape of root, path to seen, path)

``plan`` is the number of the record's type.  A VIEW record says that a view was read: ``view`` and
``root`` are the value ids of the view and of its root, and ``path`` leads from root data to view data.

PUT is a write ``x[key] = value``, and ADD is ``x += value`` or, with sign -1, ``x -= value``.  ``old``
and ``new`` are the ids of the root's values before and after the write, and ``value`` is the id of the
written value.  ``path`` leads from the root to x.  If the key names an element twice, ``lost`` is the
mask of the elements of ``value`` that a later element overwrote; otherwise it is None.

WATCH is recorded when an Array is watched whose root the tape follows already.  The Array's value gets
the new id ``watched``.  A gradient with respect to ``watched`` counts the ops after the record and none
before it.  ``seen`` is the id of the root's value or of a view of it, since each of them can be used in
later ops: there is a WATCH record for each.  ``path to seen`` leads from the root to the part with that
id, and ``path`` to the watched Array.

Records are plain tuples, because the cyclic garbage collector stops tracking tuples of numbers.
``ViewRecord(*record)`` and ``write_of(record)`` return them as named tuples.

VIEW, PUT and ADD each have a rule (``pull_view``) and a faster function for the usual case on NumPy's
data (``pull_view_in_place``).  The backward pass calls the faster function, which calls the rule in all
other cases.  Tests compare the results of both.
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
    JoinedStep,
    Path,
    add_through,
    dtype_at_root,
    inverse_permutation,
    undo_path,
    walk_path,
    write_through,
)

if TYPE_CHECKING:
    from .._util.array_types import Index, Namespace, RawArray
    from .array import Array


# --- records ------------------------------------------------------------------------------------------
class ViewRecord(NamedTuple):
    """A tape's VIEW record as a named tuple: a view such as ``x[1:]`` was read."""

    plan: int
    view: int
    root: int
    shape: tuple[int, ...]  # the shape of the viewed Array
    path: Path


class PutRecord(NamedTuple):
    """A tape's PUT record as a named tuple: the write ``x[key] = value``."""

    plan: int
    new: int
    old: int
    value: int
    path: Path
    key: Any
    shape: tuple[int, ...]  # shape and dtype of the written value
    dtype: Any
    lost: Any
    root_shape: tuple[int, ...]
    root_dtype: Any


class AddRecord(NamedTuple):
    """A tape's ADD record as a named tuple: the write ``x += value``, or ``x -= value``."""

    plan: int
    new: int
    old: int
    value: int
    path: Path
    sign: int
    shape: tuple[int, ...]  # shape and dtype of the added value
    dtype: Any
    root_shape: tuple[int, ...]
    root_dtype: Any


def view_record(view: int, root: int, shape: tuple[int, ...], path: Path) -> Record:
    return (VIEW.number, view, root, shape, path)


class ViewsRead:
    """An index of a tape's records of views, to find the recorded views that overlap a part of an Array.

    ``tape.watch(view)`` needs these views: later ops may use any of them, and so read the watched
    elements.  Views of one row (``x[i]``) are grouped by i, all other views of x by None.  So a loop
    that watches each row of x does not compare the row with all other rows.

    found : dict from pairs (value id of the root, i or None) to a dict from views' ids to their paths.
    roots : dict from the value id of a root to the groups that occur (a dict, used as an ordered set).
    """

    def __init__(self) -> None:
        self.seen = 0  # the number of records read so far
        self.found: dict[tuple[int, int | None], dict[int, Path]] = {}
        self.roots: dict[int, dict[int | None, None]] = {}

    def read_views(self, records: Sequence[Record]) -> None:
        """Add the views recorded since the last call; ``records`` is the growing list of a tape."""
        for record in records[self.seen :]:
            if record[0] == VIEW.number and record[4]:
                _, view, root, shape, path = record
                position = position_along_first_axis(path, shape)
                self.found.setdefault((root, position), {})[view] = path
                self.roots.setdefault(root, {})[position] = None
        self.seen = len(records)

    def views_overlapping(self, root: int, path: Path, shape: tuple[int, ...]) -> dict[int, Path]:
        """Return the recorded views of an Array that may overlap the part of it at ``path``.

        The result is a dict from the value ids of the views to their paths.

        root : the value id of the Array.  shape : the Array's shape.
        """
        position = position_along_first_axis(path, shape)
        positions = self.roots.get(root, {}) if position is None else (position, None)
        found: dict[int, Path] = {}
        for group in positions:
            found |= self.found.get((root, group), {})
        return found


def position_along_first_axis(path: Path, shape: tuple[int, ...]) -> int | None:
    """Return i if ``path`` leads from an Array x to a part of the row ``x[i]``, otherwise None.

    Views are grouped by i, to find quickly those that overlap a row.  The result is None, too, if the
    first step does not index the first axis with an integer or a slice.  shape : the shape of x.
    """
    kind, key = path[0] if path else ("", None)
    part = key[0] if type(key) is tuple and key else key
    if kind is not GETITEM or not shape or not isinstance(part, int | integer | slice):
        return None
    positions = range(shape[0])
    if not isinstance(part, slice):
        return positions[part]
    return positions[part][0] if len(positions[part]) == 1 else None


def views_made_from(path: Path, seen: int, records: Sequence[Record]) -> list[tuple[int, Path]]:
    """Return the recorded views that were made from a view x: pairs (value id, path from x).

    For ``x = h.T``, the list has the view ``x[0]``, and has neither ``h[0]`` nor another ``h.T[0]``.

    path : the path of x.  seen : the value id that the root of x had when the views were read.
    """
    n, last = len(path), path[-1]
    # The path of a view begins with the path of the view from which it was made, with the same steps.
    return [
        (record[1], record[4][n:])
        for record in records
        if record[0] == VIEW.number
        and record[2] == seen
        and len(record[4]) > n
        and record[4][n - 1] is last
    ]


def has_other_views(path: Path, seen: int, records: Sequence[Record], writes: bool) -> bool:
    """Return True if ``views_made_from`` may lack views that were made from a view x.

    They lie behind a path that was joined from more than LONG steps.

    path : the path of x.  seen : the value id that the root of x had when the views were read.
    writes : True to return True also if x was read after a later write to its root.
    """
    n, last = len(path), path[-1]
    for record in records:
        if record[0] != VIEW.number or not record[4]:
            continue
        other = record[4]
        is_made_from = len(other) >= n and other[n - 1] is last
        if record[2] == seen and type(other[0]) is JoinedStep and not is_made_from:
            return True
        if writes and is_made_from and record[2] > seen:
            return True
    return False


def watch_record(
    *, seen: int, watched: int, shape: tuple[int, ...], path_to_seen: Path, path: Path
) -> Record:
    return (WATCH.number, seen, watched, shape, path_to_seen, path)


def write_of(record: Record) -> PutRecord | AddRecord:
    return AddRecord(*record) if record[0] == ADD.number else PutRecord(*record)


# --- the rules of reverse mode; ``at`` is the backward pass -------------------------------------------
def pull_view(at: Cotangents, record: Record) -> None:
    """Add the cotangent of a view to that of its root, at the elements that the view shows.

    The root is the Array that owns the data.  A backward pass calls this rule for a VIEW record: the
    read of a view such as ``x[1:]``.
    """
    _, view, root, shape, path = record
    g = at.take_cotangent(view)
    if g is None or root not in at.followed:
        return
    kinds = [kind for kind, _ in path]
    if WHOLE.issuperset(kinds):  # the view has every element, so that no buffer of zeros is needed
        at.lend_contribution(root, undo_path(g, path, shape, at.data))
        return
    if (
        PICK in kinds
    ):  # the examples of a vmap may share the root, which then gets the sum over them
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
    """Pass on the cotangent of the value that an Array has after the write ``x[key] = value``.

    ``value`` gets the cotangent at the elements that were set.  The Array's old value gets the cotangent
    at all other elements, and 0 at those that were set.

    record : a PUT record, which describes the write.
    """
    _, new, old, value, path, key, shape, dtype, lost, _, _ = record
    data, buffer = at.data, at.take_owned(new)
    if buffer is None:
        return
    if value in at.followed:
        region = None
        if lost is not None and not path:
            region = data.take_written(buffer, key, lost)
        if region is not None:
            at.add_contribution(value, data.fit_contribution(region, shape, dtype))
            if old in at.followed:
                at.give_buffer(old, buffer)
            return
        region = data.xp.asarray(region_of(buffer, path, key, data.xp), copy=True)
        if lost is not None:
            region = data.xp.where(lost, 0.0, region)
        at.add_contribution(value, data.fit_contribution(region, shape, dtype))
    if old in at.followed:
        at.give_buffer(old, write_through(buffer, path, key, 0, data))


def pull_add(at: Cotangents, record: Record) -> None:
    """Pass on the cotangent of the value that an Array has after the write ``x += value``.

    The Array's old value gets this cotangent unchanged.  ``value`` gets the elements of it that x shows,
    negated for ``x -= value``.

    record : an ADD record, which describes the write.
    """
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
    """Give ``watched``, a part of x such as ``x[1:]``, its part of the cotangent of x or of a view of x.

    ``tape.watch(x[1:])`` made the record, after ops on x.  ``seen`` is the id of x or the view.  A
    backward pass reads the last record first, so the cotangent of ``seen`` by now has only terms of ops
    after the watch.  ``seen`` keeps it for earlier records.
    """
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
    """Return the cotangent of the elements that a write ``x[key] = value`` set.

    If the key is a mask that differs between the examples of a vmap, return the cotangent of all of x,
    with 0 where the mask is False.

    buffer : the cotangent of the Array that owns x's data.
    path : the steps, such as indexing, from the data of this Array to that of x.
    """
    part = walk_path(buffer, path, xp)
    if type(key) is Batched and is_mask(key):
        # The masks of a vmap's examples select different numbers of elements, so ``part[key]`` would
        # have no shape.  The written value was a scalar: ``fit_contribution`` sums this result to a
        # scalar.
        return xp.where(key, part, 0.0)
    return part[key]


# --- the same rules, faster for the usual cases of NumPy's data ----------------------------------------
def pull_view_in_place(at: Cotangents, record: Record) -> None:
    """Add the cotangent of a view to that of its root, the Array that owns the data.

    This is ``pull_view``, but faster for a view by one index or one permutation of axes.
    """
    _, view, root, shape, path = record
    g = at.cotangents.get(view)
    if g is None:
        return
    if type(g) is ndarray and len(path) == 1 and root in at.followed:
        kind, argument = path[0]
        if kind is GETITEM:
            buffer = at.owned_sum(root)
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
    """Pass on the cotangent of the value that an Array has after the write ``x[key] = value``.

    This is ``pull_put``, but faster if ``x[key]`` is a view in NumPy.  The elements of the cotangent
    that were set are copied, as the cotangent of ``value``.  Then they are set to 0 in place, which
    turns the buffer into the cotangent of the Array's old value without a copy.
    """
    _, new, old, value, path, key, shape, dtype, _, _, _ = record
    buffer = at.take_owned_sum(new)
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
    """Pass on the cotangent of the value that an Array has after the write ``x += value``.

    This is ``pull_add``, but hands the cotangent's buffer on to the old value without a copy.
    """
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
            at.lend_contribution(old, g)  # not given, since the cotangent of ``value`` may be g
        return
    buffer = at.take_owned_sum(new)
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
    """The methods of a forward pass that the rules for the tangents of views and writes call.

    The object maps the ids of values to their tangents.
    """

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
