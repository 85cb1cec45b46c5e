"""Views alias as in NumPy: a view's value is always ``path(current value of its root)``.

A view has no name of its own until somebody reads it: ``_sync`` cuts its data again when the root
has moved to other memory, and names its value when the root's value is followed.  Every write
renames the root, so ``seen == root._tid`` proves that the name still holds.
"""

from __future__ import annotations

from threading import Lock, get_ident
from typing import Any

import numpy as np

from .._record.stack import OPEN, active, elsewhere, new_tid, recorders, tell
from .._storage.batched.data import Batched
from .._storage.storage import storage_of
from .._util.attach import method
from .aliasing import VIEW
from .array import EXPORTED, FOREIGN, HOT, IS_VIEW, KEPT, PINNED, SCALAR, Array, View, wrap
from .exports import EXPORTING, Export, Exports, released, revoke
from .paths import GETITEM, PERMUTE, RESHAPE, Path, walk

SMALL = 128  # elements: a part this small is kept by copy, so that it does not hold up its root
NAMING = Lock()  # two threads must not both name a value; not on the op path
BASIC = frozenset((int, slice, type(None), type(Ellipsis)))  # what makes a view as a key


def alias(x: Array, kind: str, argument: Any) -> Array | None:
    """The view of ``x`` one step along, or None when that step has to copy the data."""
    if x._tid < 0:
        x = x._snapshot()
    if x._state & SCALAR:
        x = writable_copy(x)
    data = x._data
    storage = storage_of(data)
    part = walk(data, ((kind, argument),), storage.xp)
    if kind is RESHAPE and not storage.shares(part, data):
        return None
    if kind is PERMUTE:
        argument = tuple([axis % len(data.shape) for axis in argument])
    elif kind is not GETITEM:
        argument = part.shape  # without -1
    return make_view(x, part, ((kind, argument),))


def writable_copy(x: Array) -> Array:
    """A copy of an op's 0-d result, which NumPy holds immutable, that can be written to."""
    return recorded_copy(x, storage_of(x._data).copy(x._data))


def recorded_copy(x: Array, data: Any) -> Array:
    """A handle on ``data``, a copy of what x holds, under a name that those who follow x know."""
    tid, _ = current(x)
    followers = [recorder for recorder in recorders() if tid in recorder.followed]
    copy = wrap(data, new_tid() if followers else 0)
    for recorder in followers:
        tell(recorder, (VIEW.number, copy._tid, tid, data.shape, ()))
    if tid and OPEN and not recorders():
        elsewhere((tid,))
    return copy


def make_view(x: Array, part: Any, path: Path) -> Array:
    """A view Array around ``part``, which lies at ``path`` in the up-to-date data of ``x``."""
    view = Array()
    view._data = part
    view._state = IS_VIEW
    view._tid = -1
    about = view._view = View()
    about.seen = about.vtid = 0
    if x._tid < 0:
        above = x._view
        about.root, about.path, about.src = above.root, above.path + path, above.src
    else:
        about.root, about.path, about.src = x, path, x._data
    return view


def location(x: Array) -> tuple[Array, Path]:
    """The root that x aliases and the path from it to x."""
    return (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())


def refresh(x: Array) -> Any:
    """The data of a view, cut again if its root's has moved."""
    view = x._view
    data = view.root._data
    if view.src is not data:
        view.src = data
        x._data = walk(data, view.path, storage_of(data).xp)
    return x._data


@method(Array, "_sync")
def sync_view(x: Array) -> int:
    """Bring a view up to date; the tid of its value, 0 when nobody follows it."""
    view = x._view
    root = view.root
    if view.src is not root._data:
        refresh(x)
    seen = root._tid
    if not seen:
        return 0
    if view.seen != seen:
        view.seen = seen
        view.vtid = new_tid()
    vtid = view.vtid
    thread, stack = active()
    if thread == get_ident():
        for recorder in stack:
            followed = recorder.followed
            if seen in followed and vtid not in followed:
                recorder.record((VIEW.number, vtid, seen, root._data.shape, view.path))
                followed.add(vtid)
    elif OPEN:
        elsewhere((seen,))
    return vtid


@method(Array, "_snapshot")
def snapshot(x: Array) -> Array:
    """An Array, up to date, whose value only writes through its aliases change: a plain one itself."""
    if x._tid < 0:
        x._sync()
    return x


@method(Array, "_peek")
def peek(x: Array) -> int:
    """The tid of the value that it holds now, without counting as a read."""
    return current(x)[0]


@method(Array, "_name_value")
def name_of(x: Array) -> int:
    """The name of the value that an Array which is no view holds; it gets one if it has none."""
    if not x._tid:
        if x._state & EXPORTED:
            revoke(x)
        with NAMING:
            x._tid = x._tid or new_tid()
    return x._tid


def current(x: Array) -> tuple[int, Any]:
    """The tid (0: nobody follows) and the up-to-date raw data of any Array."""
    tid = x._tid
    if tid < 0:
        tid = x._sync()
    return tid, x._data


def keep(x: Array) -> Any:
    """Data of ``x`` that a record may keep: shared, or a private copy where writes are likely."""
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
    """Data of ``x`` that a record may keep, where foreign code shares the memory of its root."""
    data = x._data
    storage = storage_of(data)
    if root._state & PINNED:
        return storage.copy(data)
    with EXPORTING:
        exports = root._exports
        if exports.live:
            if x is not root:
                return storage.copy(data)
            kept = exports.kept(data)
            return exports.remember(storage.copy(data)) if kept is None else kept
        released(root)
        if x is not root:
            refresh(x)
        return keep(x)


def stable_handle(x: Array) -> Array:
    """``x``, or a handle on a copy of it where its memory may yet change: to share data with."""
    tid, data = current(x)
    kept = keep(x)
    return x if kept is data else wrap(kept, tid, KEPT | x._state & SCALAR)


def laid_out(y: Array, x: Array) -> Array:
    """A new y in the memory layout of x, as NumPy's result would be: on it depends what is a view."""
    like = refresh(x) if x._state & IS_VIEW else x._data
    if type(like) is Batched and type(y._data) is not Batched and 0 not in like.hidden:
        like = like.data[(0,) * len(like.axis_ids)]
    if type(like) is type(y._data):
        y._data = storage_of(like).laid_out(y._data, like)
    return y


def make_exclusive(x: Array) -> None:
    """Before a write: give the root of ``x`` memory that no record shares, and ``x`` its part of it."""
    root = x._view.root if x._state & IS_VIEW else x
    if root._state & KEPT:
        root._data = storage_of(root._data).copy(root._data)
        root._state &= ~KEPT
    if x is not root:
        refresh(x)


def export(x: Array, firm: bool) -> np.ndarray[Any, Any]:
    """NumPy's memory of ``x`` for foreign code; see ``exports``, also for what ``firm`` means.

    No record shares that memory, nor will as long as foreign code has it.  What is read-only for
    its owner stays so, and then nobody need be careful.
    """
    root = x._view.root if x._state & IS_VIEW else x
    if not root._data.flags.writeable:
        return Export(x._data, firm).hand_out()
    with EXPORTING:
        before = root._data
        make_exclusive(x)
        if not root._state & EXPORTED:
            root._exports = Exports()
            root._state |= EXPORTED
        if root._data is not before:
            root._exports.remember(before)
        exported = Export(x._data, firm)
        root._exports.live.add(exported)
    return exported.hand_out()


def pin(x: Array) -> Any:
    """Raw data of ``x`` to share with any foreign code: NumPy's is lent, other data pinned for good."""
    if type(x._data) is np.ndarray:
        return export(x, firm=True)
    make_exclusive(x)
    (x._view.root if x._state & IS_VIEW else x)._state |= PINNED
    return x._data
