"""Make views of Arrays, keep them up to date, and copy shared memory before writes.

The memory of an Array may be shared with its views, with records, and with code outside of arraytape.

Views alias as in NumPy: the value of a view is always the part at its path of the root's current value.
A read brings a view up to date (``_sync``).  If the root has other memory than before, the view's data
is derived again from the root's.  If a tape follows the root's value, the view's value gets an id of its
own.  Each write gives the root's value a new id.  So the id of a view is valid as long as the root's
value has the id ``seen``, which was noted with it.

The table shows the effect of three events on an Array, by the bit that is set in its state.  The bits
are explained in ``array.py``.  An event of a view changes the bits of its root.

    state     a record keeps x's data             write (x[k] = v, x += y)           export, or view of x
    --------  ----------------------------------  ---------------------------------  --------------------
    0         share the data; set KEPT            in place; x[k] = v sets HOT        share the data
    KEPT      share the data                      copy, clear KEPT; then in place    export: copy first
    HOT       share the data, set KEPT;           in place                           share the data
              copy the data of a smaller view
    SCALAR    share the data; set KEPT            x += y makes a new Array           view: of a copy
    PINNED    copy the data                       in place                           share the data
    EXPORTED  one copy for all records while an   in place                           share the data
              export lives; then clear the bit
              and proceed as for 0
    IS_VIEW   set KEPT on the root; copy the      copy the root's data if KEPT,      as for the root
              data of a view up to SMALL          derive the view's data, write to
                                                  it, and set HOT on the root

A view whose index differs between the examples of a vmap (``Picked``) has data of its own, which each
read derives again.  A write to such a view goes to the root.

A read changes no bit.  An export sets EXPORTED on the root; ``exports.py`` describes when the bit is
cleared.  Sharing memory with another library than NumPy sets PINNED.  When a tape begins to follow the
value of a root that is EXPORTED, the exports are revoked.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from .._record.mode_stack import MODES, notify_access
from .._record.stack import (
    AWAITED,
    OPEN,
    active,
    add_structural_record,
    new_value_id,
    notify_other_threads,
    recorders,
)
from .._storage.batched.batched_data import Batched
from .._storage.storage import storage_of
from .._util.attach import attach_method
from .._util.locks import in_one_step
from .aliasing import VIEW, view_record
from .array import (
    EXPORTED,
    FOREIGN,
    HOT,
    IS_VIEW,
    KEPT,
    MOVING,
    PINNED,
    SCALAR,
    Array,
    Picked,
    View,
    wrap,
)  # fmt: skip
from .cuts import note_cut
from .exports import Export, Exports, released, revoke
from .long_paths import LONG, shortened
from .paths import (
    BROADCAST,
    GETITEM,
    IMAG,
    MAY_COPY,
    PERMUTE,
    PICK,
    READ_ONLY,
    REAL,
    RESHAPE,
    JoinedStep,
    Path,
    inverse_permutation,
    take_step,
    walk_path,
)

if TYPE_CHECKING:
    from .._util.array_types import Index, RawArray

# A record copies a view of at most so many elements.  Sharing it would set KEPT on the root, so that the
# next write to the root would have to copy all of the root's data.
SMALL = 128
BASIC = frozenset((int, slice, type(None), type(Ellipsis)))  # types of keys that make views


def alias(x: Array, kind: str, argument: Any) -> Array | None:
    """Return a view of ``x`` as a new Array, or None if the data would have to be copied.

    kind, argument : the step from the data of x to the view's data, such as RESHAPE and (2, 3).
    """
    if MODES:
        notify_access(x)
    if type(x) is not Array:
        x = x._snapshot()
    if x._value_id < 0:
        refresh(x)  # only the data, because an id and a VIEW record are made when the view is read
    # Most views of an immutable scalar are the scalar itself, as in NumPy.
    if x._state & SCALAR:
        if kind is PERMUTE or kind is READ_ONLY or argument == ():
            return x
        if kind is REAL or kind is IMAG:
            return None
        x = writable_copy(x)
    data = x._data
    storage = storage_of(data)
    part = take_step(data, kind, argument, storage.xp)
    if kind in MAY_COPY and kind is not READ_ONLY and x.size:
        seen, whole = part, data
        if type(data) is Batched and is_picked(x):
            whole = data_in_layout(x)
            seen = take_step(whole, kind, argument, storage_of(whole).xp)
        if getattr(seen, "base", None) is not whole and not storage_of(whole).shares(seen, whole):
            return None
    if kind is PERMUTE:
        if argument and min(argument) < 0:
            argument = tuple([axis % len(data.shape) for axis in argument])
    elif kind is RESHAPE or kind is BROADCAST:
        argument = part.shape  # with the actual length in place of -1
    return make_view(x, part, ((kind, argument),), data)


def writable_copy(x: Array) -> Array:
    """Return a writable copy of x, an op's immutable 0-d result (a scalar in NumPy).

    It takes the place of x when a view of x is made, since the view could be written to.
    """
    return recorded_copy(x, storage_of(x._data).copy(x._data))


def recorded_copy(x: Array, data: RawArray) -> Array:
    """Return an Array that holds ``data``, which is a copy of the data of x, and record the copying.

    Recorders (tapes, accumulators) that follow x record the copy as a view of all elements, and follow
    it.
    """
    value_id, _ = current(x)
    followers = [recorder for recorder in recorders() if value_id in recorder.followed]
    copy = wrap(data, new_value_id() if followers else 0)
    for recorder in followers:
        add_structural_record(recorder, view_record(copy._value_id, value_id, data.shape, ()))
    if value_id and OPEN and not recorders():
        notify_other_threads((value_id,))
    if AWAITED and not followers:
        note_cut("copy", (copy,), (value_id,), (x,))
    return copy


def make_view(x: Array, part: RawArray, path: Path, data: RawArray) -> Array:
    """Return a new view of x as an Array.  If x is a view itself, the new one refers to the root of x.

    part : the data of the view.  data : the up-to-date data of x.
    path : the steps, such as indexing, from the data of x to the data of the view.
    """
    view = Array()
    view._data = part
    view._state = IS_VIEW
    view._value_id = -1
    if x._value_id >= 0:
        link = view._view = View()
        link.root, link.path, link.src = x, path, data
    else:
        above = x._view
        link = view._view = type(above)()
        link.root, link.src = above.root, above.src
        link.path = extended_path(above.root, above.path, path)
        if x._data is not data:  # another thread has updated x, so ``part`` may be out of date
            link.src = None
    link.seen = link.written_id = 0
    return view


def extended_path(root: Array, path: Path, more: Path) -> Path:
    """Return ``path + more``, or an equivalent path with fewer steps, from ``root`` to a view."""
    path += more
    if len(path) <= LONG:
        return path
    first, *rest = shortened(path, root._data.shape)
    return (JoinedStep(first), *rest)


def make_picked_view(x: Array, part: RawArray, key: Index) -> Array:
    """Return the view ``x[key]`` if an index in the key differs between the examples of a vmap.

    No strides describe such a view, so that each read copies the elements again.

    part : the data of the view.
    """
    view = make_view(x, part, ((PICK, key),), x._data)
    plain, link = view._view, Picked()
    link.root, link.path, link.seen, link.written_id = plain.root, plain.path, 0, 0
    view._view = link
    return view


def is_picked(x: Array) -> bool:
    """Return True if x is a view by an index that differs between vmap's examples.

    The data of such a view is a copy, so that a write has to change the root's data instead.
    """
    return bool(x._state & IS_VIEW) and type(x._view) is Picked


def location(x: Array) -> tuple[Array, Path]:
    """Return the root of x, the Array that owns its data, and the path from the root to x.

    If x is no view, return (x, ()).
    """
    return (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())


def refresh(x: Array) -> Any:
    """Return the up-to-date raw data of x, which is a view.

    The data is derived again if the root (the Array that owns the data) got other memory meanwhile.  A
    write gives it other memory if a record of a tape shares the present memory.
    """
    view = x._view
    if view.src is not view.root._data:
        with MOVING:
            data = view.root._data
            x._data = walk_path(data, view.path, storage_of(data).xp)
            view.src = data
    return x._data


@attach_method(Array, "_sync")
@in_one_step(MOVING)
def sync_view(x: Array) -> int:
    """Bring the data and the value id of a view up to date, and return the id.

    Tapes know the view's value by the id.  Return 0 if the value of the root (the Array that owns the
    data) has no id.  Each recorder (tape or accumulator) that follows the root's value records the read.
    """
    view = x._view
    root = view.root
    if view.src is not root._data:
        refresh(x)
    root_id = root._value_id
    if not root_id:
        return 0
    if view.seen != root_id:  # the view's id belongs to an earlier value of the root
        fresh_id = new_value_id()
        # Another thread may have set an id during the call above, hence the second test.  Threads do
        # not switch between that test and the assignment to ``seen``, which makes the id valid.
        if view.seen != root_id:
            view.written_id = fresh_id
            view.seen = root_id
    view_id = view.written_id
    thread, stack = active()
    if thread == get_ident():
        for recorder in stack:
            followed = recorder.followed
            if root_id in followed and view_id not in followed:
                # The same tuple as view_record() returns, without a function call.  Threads that share a
                # tape may record one view twice: see ``Recording.without_doubles``.
                recorder.record((VIEW.number, view_id, root_id, root._data.shape, view.path))
                followed.add(view_id)
    elif OPEN:  # this thread has no recorder: notify tapes of other threads that follow ``root``
        notify_other_threads((root_id,))
    return view_id


@attach_method(Array, "_snapshot")
def snapshot(x: Array) -> Array:
    """Return x after bringing its data and value id up to date.

    Variable overrides this method: it returns an Array of the value that the Variable has at the moment.
    """
    if x._value_id < 0:
        x._sync()
    return x


@attach_method(Array, "_current_id")
def current_id(x: Array) -> int:
    """Return the number by which tapes know the value that x holds now; 0 if none follows it.

    Variable overrides this method, so that tapes are not notified of a read of the Variable.
    """
    return current(x)[0]


@attach_method(Array, "_ensure_id")
def ensure_id(x: Array) -> int:
    """Return the number by which tapes know the value of x, which is no view.

    Assign a new number if the value has none: ``tape.watch`` needs it to follow the value.
    """
    if MODES:
        notify_access(x)
    if not x._value_id:
        with MOVING:
            if not x._value_id:
                if x._state & EXPORTED:
                    revoke(x)
                x._value_id = new_value_id()
    return x._value_id


def current(x: Array) -> tuple[int, Any]:
    """Return (value id, raw data) of an Array, both up to date; the id is 0 if no tape follows it."""
    if MODES:
        notify_access(x)
    value_id = x._value_id
    if value_id < 0:
        value_id = x._sync()
    return value_id, x._data


def peek(x: Array) -> Any:
    """Return the up-to-date raw data of an Array, also of a Variable, without notifying tapes.

    Tapes watch a Variable when it is read; a ``repr``, for example, must not count as a read.
    """
    if MODES:
        notify_access(x)
    return refresh(x) if x._state & IS_VIEW else x._data


@in_one_step(MOVING)
def keep_data(x: Array) -> Any:
    """Return the data of ``x`` that a record holds for the backward pass: x's own data, or a copy.

    Usually the data is shared, and the state bit KEPT makes the next write to x or its root copy it
    first.  A copy is returned for a small view, or if the root is HOT (often written to), to save that
    copy of the whole root; also if code outside of arraytape may write to the data.
    """
    if MODES:
        notify_access(x)
    data = x._data
    if x._state & IS_VIEW:
        root = x._view.root
        part = data.size < root._data.size
        if part and (root._state & HOT or data.size <= SMALL):
            return storage_of(data).copy(data)
        if root._state & FOREIGN:
            return keep_private(x, root)
        root._state |= KEPT
        return data
    if x._state & FOREIGN:
        return keep_private(x, x)
    x._state |= KEPT
    return data


def keep_private(x: Array, root: Array) -> Any:
    """Return a copy of the data of x for a record of a tape, because other code may write to the data.

    The state of the root, which owns the data, is EXPORTED (ndarrays show its memory) or PINNED (another
    library does).  If all ndarrays were freed meanwhile, the record may share the data of x.
    """
    data = x._data
    storage = storage_of(data)
    if root._state & PINNED:
        return storage.copy(data)
    with MOVING:
        exports = root._exports
        if exports.live:
            if x is not root:
                return storage.copy(data)
            kept = exports.kept_copy(data)
            return exports.remember_copy(storage.copy(data)) if kept is None else kept
        released(root)
        if x is not root:
            refresh(x)
        return keep_data(x)


def private_handle(x: Array) -> Array:
    """Return another Array with the value and the value id of x, without copying the data now.

    A write to one of the two Arrays does not change the other: a state bit, KEPT, makes the write copy
    the data first.  So code that runs later, such as a custom gradient, gets the value of this moment.
    """
    value_id, _ = current(x)
    return wrap(keep_data(x), value_id, KEPT | x._state & SCALAR)


def stable_handle(x: Array) -> Array:
    """Return an Array with the value of x that no code outside of arraytape can change.

    The result is ``x`` itself if no other code can write to its data, otherwise an Array with a copy.
    """
    value_id, data = current(x)
    kept = keep_data(x)
    return x if kept is data else wrap(kept, value_id, KEPT | x._state & SCALAR)


def lay_out_like(y: Array, x: Array) -> Array:
    """Give a new Array y the memory layout of x, as NumPy gives results the layout of the operand.

    The layout decides which later reshapes of y are views and which are copies.
    """
    like = peek(x)
    if type(like) is Batched and type(y._data) is not Batched and 0 not in like.hidden:
        like = like.data[(0,) * len(like.axis_ids)]  # the first example: all have the same layout
    if type(like) is type(y._data):
        y._data = storage_of(like).laid_out(y._data, like)
    return y


def order_of(x: Array) -> str:
    """Return the orders in which x is contiguous in memory: "C", "F", "CF" or ""."""
    data = data_in_layout(x)
    return storage_of(data).order(data)


def data_in_layout(x: Array) -> Any:
    """Return raw data with the strides that x would have in NumPy.  Only its layout is meaningful.

    This is the data of x, except for a view ``y[i]`` whose index differs between vmap's examples: its
    data is a contiguous copy.  So return ``y[0]``, which has the strides that ``y[i]`` has in NumPy.
    """
    data = peek(x)
    if not x._state & IS_VIEW:
        return data
    if type(x._view) is not Picked or not data.size or 0 in data.hidden:
        return data
    example = x._view.root._data
    if type(example) is Batched:
        example = example.data[(*(0,) * len(example.axis_ids), ...)]
    path = [
        (GETITEM, zero_batched_indices(key)) if kind is PICK else (kind, key)
        for kind, key in x._view.path
    ]
    return walk_path(example, tuple(path), storage_of(example).xp)


def zero_batched_indices(key: Any) -> Any:
    """Return an indexing key with 0 in place of each index that differs between vmap's examples.

    The view by this key has the same strides as a view by the index.
    """
    if type(key) is tuple:
        return tuple([zero_batched_indices(part) for part in key])
    return 0 if type(key) is Batched else key


def in_order(y: Array, order: str) -> Array:
    """Return y, the result of an op, in the memory order "C" or "F" that the user asked for.

    The result is y itself if y has this order and is no view, otherwise a recorded copy.
    """
    axes = tuple(range(y.ndim))
    return with_axes_in_memory(y, axes if order == "C" else axes[::-1])


def with_axes_in_memory(y: Array, axes: tuple[int, ...]) -> Array:
    """Return y, the result of an op, in contiguous memory whose axes have the given order.

    The result is y itself if y is so already and is no view, otherwise a recorded copy.

    axes : all axes of y, from the one with the largest stride to the one with the smallest.
    """
    data = peek(y)
    storage = storage_of(data)
    plain = axes == tuple(range(len(axes)))
    turned = data if plain else storage.xp.permute_dims(data, axes)
    if not y._state & IS_VIEW and "C" in storage.order(turned):
        return y
    copy = storage.contiguous(turned)
    return recorded_copy(
        y, copy if plain else storage.xp.permute_dims(copy, inverse_permutation(axes))
    )


def root_of(x: Array) -> Array:
    return x._view.root if x._state & IS_VIEW else x


def make_exclusive(x: Array) -> Any:
    """Prepare a write to ``x``: copy its data if a record of a tape shares the data.

    The copy becomes the data of the root, the Array whose memory x shows (x itself if x is no view).
    Return the root's data.  After the write the caller passes it to ``settle_write``, which repeats the
    write if another thread has replaced the data meanwhile.
    """
    root = x._view.root if x._state & IS_VIEW else x
    if root._state & KEPT:
        with MOVING:
            if root._state & KEPT:
                # KEPT is cleared last: as long as it is set, other threads wait for MOVING.
                copy = storage_of(root._data).copy(root._data)
                root._data = copy
                root._state &= ~KEPT
    if x is root:
        return root._data
    view = x._view
    if view.src is not root._data:
        refresh(x)
    return view.src


def settle_write(x: Array, key: Index, written: RawArray, memory: RawArray) -> None:
    """Repeat the write to ``x[key]`` if another thread replaced the memory of x during the write.

    That may happen when threads write to disjoint parts of one array.  While this thread writes to the
    old memory, a second thread records an op that keeps this memory.  A third thread then copies it
    before its own write.

    written : the data of x after the write.  memory : the result of ``make_exclusive`` before the write,
    which is the root's data that was written to.
    """
    with MOVING:
        root, path = location(x)
        if root._data is not memory:
            make_exclusive(x)
            walk_path(root._data, path, storage_of(written).xp)[key] = written[key]


def export(x: Array, firm: bool) -> np.ndarray[Any, Any]:
    """Return an ndarray that shares the memory of ``x``, as ``np.asarray(x)`` does.

    As long as the ndarray lives, records of tapes keep a copy, since NumPy code may write to the shared
    memory.  The state bit EXPORTED says so.  Read-only memory needs neither copy nor bit.

    firm : True if the ndarray remains writable when a tape begins to follow x, because the user asked
    for shared memory explicitly.
    """
    root = root_of(x)
    if not root._data.flags.writeable:
        return Export(x._data, firm).hand_out()
    with MOVING:
        if not root._state & EXPORTED:
            root._exports = Exports()
            root._state |= EXPORTED  # from now on records wait for MOVING, and keep a copy
        before = root._data
        make_exclusive(x)
        if root._data is not before:
            root._exports.remember_copy(before)
        exported = Export(x._data, firm)
        array = exported.hand_out()
        root._exports.live.add(exported)
    return array


def pin(x: Array) -> Any:
    """Return the raw data of ``x`` for another library, which shares the memory from now on (DLPack).

    NumPy's data is shared until the library frees it, and tapes do not make it read-only.  Other data
    is marked PINNED for good, because its last use by the library cannot be observed.  Then records of
    tapes keep copies of the data.
    """
    if type(x._data) is np.ndarray:
        return export(x, firm=True)
    make_exclusive(x)
    root_of(x)._state |= PINNED
    return x._data
