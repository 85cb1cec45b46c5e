"""Write to Arrays: item assignment and in-place operators, with NumPy's semantics.

``x[k] = v`` is recorded as PUT, and ``x += y`` and ``x -= y`` are recorded as ADD.  Both are linear, so
that their records keep no data.  The root of x, the Array whose memory x shows, gets a new value id.
Any other ``x op= y``, such as ``x *= y``, with a followed operand computes and records ``x op y``.  Then
x gets the data and the value id of the result (``replace_value``).

A write has five steps:

    step                              x[k] = v: ``setitem``        x op= y: ``in_place``
    --------------------------------  ---------------------------  -----------------------
    coerce the value                  ``coerce``, ``fit_write``    ``coerce``, ``fit_operand``
    check that x may be written to    ``check_writeable``          ``check_writeable``
    copy memory that records share    ``make_exclusive``           ``make_exclusive``
    write to the data                 ``write_data``               ``make_update``
    record, and give x a new id       ``record_put``               ``record_add``

``setitem`` and ``in_place`` do the first four steps in their own code for NumPy data of one dtype.
Each further function call would take about 5% of the time of the write.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from threading import get_ident
from typing import Any, cast

import numpy as np

from .._array.aliasing import ADD, PUT
from .._array.array import ALIASED, EXPORTED, FOREIGN, HOT, IS_VIEW, KEPT, MOVING, SCALAR, Array
from .._array.cuts import note_cut
from .._array.exports import is_shared, revoke
from .._array.paths import GETITEM, UNWRITABLE, Path, write_through
from .._array.unfinished_writes import REFUSALS, set_value_fields, unfinished
from .._array.views import (
    current,
    extended_path,
    is_picked,
    location,
    make_exclusive,
    refresh,
    settle_write,
)
from .._define.docstrings import in_place_docstring
from .._define.operands import CONSTANT, accepted, coerce, coerce_list, list_on_device_of, promote
from .._define.raw_calls import RawFunctions, at_users_line, is_warning, warn_of_result
from .._record.mode_stack import MODES, notify_access, notify_written
from .._record.op import Op
from .._record.plan import Structural
from .._record.stack import AWAITED, OPEN, active, new_value_id, notify_other_threads, recorders
from .._storage.batched.batched_data import Batched, axis_ids_of, check_open
from .._storage.dispatch import Element
from .._storage.storage import STORAGES, is_complex, storage_of
from .._tape.hidden_axes import with_hidden_axes
from .._util.array_types import Index, RawArray, RawOperand
from .._util.attach import attach_method
from .._util.blocks import Quiet
from .._util.errors import describe, explain, user_line
from .._util.locks import in_one_step
from .._util.versions import NUMPY
from .data_type_functions import astype
from .indexing_functions import INDICES, is_basic, private_key, raw_key, with_integers
from .manipulation_functions import reshape

# A ``__warningregistry__`` that is no dict makes CPython raise TypeError in place of a warning of NumPy.
# The writes here catch the error, and issue the warning at the user's line: see ``raw_calls``.
__warningregistry__ = ()
# NumPy before 2.3 reads the integers of a key while it writes.  So ``x[x] = v`` may use elements of v as
# indices, and write outside of x's memory.
READS_KEYS_LATE = NUMPY < (2, 3)


@attach_method(Array, "__setitem__")
def setitem(x: Array, key: Index, value: Any, /) -> None:
    """Write into the array: ``x[key] = value``.  All Arrays that share the memory of x show the write.

    Parameters
    ----------
    key : object
        Integers, slices, Ellipsis, None, boolean masks and integer arrays, also mixed.
    value : Array, number or list
        The values to write, of a shape that broadcasts with that of ``x[key]``; they are cast
        to the dtype of x.  Lists may hold numbers and Arrays.

    Raises
    ------
    TypeError
        When a complex value is written into real data, or the value is no Array, number or list.
    ValueError
        When x is read-only or the shapes do not fit.
    IndexError
        When the key does not fit the shape.

    Notes
    -----
    Derivative: the gradient with respect to overwritten elements is 0.  The gradient with respect to
    the value is the part at the key of the gradient with respect to the new contents of x.  If a key
    names an element twice, only the value that is written last gets a gradient there.
    """
    if MODES:
        notify_access(x, value)
    if x._state & IS_VIEW:
        data = refresh(x)
    elif x._value_id >= 0:
        data = x._data
    else:  # x is a Variable, which NumPy's functions pass here; its own method assigns a new value
        x[key] = value
        return
    if type(data) is not np.ndarray or not data.flags.writeable:
        check_writeable(x, data)
    if type(value) is Array and value._state & IS_VIEW and is_region(value, x, key):
        return  # the last step of ``x[key] += y``, which has already updated the view in place

    # --- convert key and value to raw data in the storage of x ---
    raw, basic = raw_key(key)
    if type(value) is Array:
        written_id = value._value_id if value._value_id >= 0 else value._sync()
        handle, v = value, value._data
    else:
        try:
            handle, written_id, v = coerce("__setitem__", "value", value)
        except TypeError:
            if (operand := coerce_list("__setitem__", "value", value)) is None:
                raise
            handle, written_id, v = operand
    if not (basic and type(v) is type(data) is np.ndarray and v.dtype is data.dtype):
        data, raw, v = fit_write(x, data, raw, basic, handle, v, value)
    if type(v) is type(data) and overlap(v, data):
        v = storage_of(v).copy(v)

    # --- copy the memory if a record shares it, write, and record the write ---
    memory = make_exclusive(x)
    data = x._data
    incomplete: Array | None = x  # x while it may hold a write that is not recorded; else None
    try:
        try:
            if type(data) is np.ndarray:
                data[raw] = v
            else:
                with storage_of(data).at(data, raw, v):
                    memory = write_data(x, raw, v, memory)
        except Exception as error:
            if not is_warning(error):
                incomplete = None if isinstance(error, REFUSALS) else x
                raise explain("__setitem__", error, x=data, key=raw, value=v) from error
            # NumPy has written before it warns, so the write is to be recorded.  Then write again, so
            # that the warning names the user's line.
            record_put(x, raw, written_id, v, basic, data, memory)
            incomplete = None
            at_users_line(operator.setitem, error)(x._data, raw, v)
            return
        record_put(x, raw, written_id, v, basic, data, memory)
    except BaseException:
        unfinished(incomplete, written_id)
        raise


def is_region(value: Array, x: Array, key: Index) -> bool:
    """Return True if ``value`` is the view ``x[key]`` itself, so that assigning it changes nothing.

    Python evaluates ``x[key] += y`` as ``v = x[key]; v += y; x[key] = v``.  If v is a view of x, its
    ``+=`` has written already.
    """
    root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
    view = value._view
    if view.root is not root or is_picked(value):
        return False
    if key is Ellipsis and view.path == path:
        return True
    if not path and len(view.path) == 1 and view.path[0][1] is key and view.path[0][0] is GETITEM:
        return True
    raw, basic = raw_key(key)
    return basic and bool(view.path == extended_path(root, path, ((GETITEM, raw),)))


def fit_write(
    x: Array, data: RawArray, raw: Index, basic: bool, handle: Array, v: Any, value: Any
) -> tuple[Any, Any, Any]:
    """Return (data of x, key, value) of a write ``x[key] = value``, as raw data of one array library.

    If the key or the value differs between the examples of a vmap, add the vmap's hidden axes to x.
    Raise TypeError if x is real and the value is complex, or if the value cannot be converted.

    data : the raw data of x.  raw, v : the key and the value as raw data.  basic : True if the key has
    no arrays.  handle : the value as an Array.  value : the user's value, for the message.
    """
    into_real = v is not None and is_complex(v) and data.dtype.kind not in "cb"
    if v is None or (into_real and not selects_nothing(data, raw, v)):
        raise TypeError(
            f"__setitem__: the value {describe(value)} cannot be written into {describe(x)} "
            f"[at {user_line()}]"
        )
    if is_picked(x):
        _, data = add_hidden_axes(x, data)
    if type(v) is Batched or (not basic and axis_ids_of((raw,))):
        _, data = add_hidden_axes(x, v, raw)
    if type(data) is not np.ndarray or (type(v) is not np.ndarray and hasattr(v, "dtype")):
        if into_real:  # the key selects no elements, so that the imaginary part does not matter
            handle, v = CONSTANT, storage_of(v).xp.real(v)
        _, v, _ = promote("__setitem__", ("value", "x"), (handle, x), (v, data))
        raw = raw if basic else storage_of(data).key(raw, data)
    if READS_KEYS_LATE and not basic:
        raw = copy_shared_indices(data, raw)
    return data, raw, v


def copy_shared_indices(data: Any, key: Any) -> Any:
    """Return ``key``, in which index arrays that share memory with ``data`` are replaced by copies.

    ``x[x] = v`` would otherwise change the indices while NumPy reads them.
    """
    memory = data.data if type(data) is Batched else data
    parts = [
        part.copy() if type(part) is type(memory) is np.ndarray and overlap(part, memory) else part
        for part in (key if type(key) is tuple else (key,))
    ]
    return tuple(parts) if type(key) is tuple else parts[0]


def selects_nothing(data: RawArray, key: Any, value: Any) -> bool:
    """Return True if ``data[key]`` has no elements, so that ``x[key] = value`` allows any dtype.

    Return False without a check for batched data, and for values that are no arrays.  Raise NumPy's
    error if the key or the value does not fit the data.
    """
    parts = key if type(key) is tuple else (key,)
    if type(value) not in STORAGES or any(
        storage_of(x).many for x in (data, value, *parts) if type(x) in STORAGES
    ):
        return False
    key = tuple([storage_of(x).host(x) if type(x) in STORAGES else x for x in parts])
    try:
        trial = np.empty(data.shape)
        trial[key] = np.zeros(value.shape)
    except Exception as error:
        raise explain("__setitem__", error, x=data, key=key, value=value) from error
    return trial[key].size == 0


def write_data(x: Array, key: Any, value: RawOperand, memory: RawArray | None) -> Any:
    """Do ``x[key] = value`` on the raw data; return the raw data that the root of x has afterwards.

    The write is done in place.  If the library cannot write in place, the root gets new data.

    memory : the root's data, copied before this call if a record of a tape shared it.
    """
    data = x._data
    if type(data) is np.ndarray:
        data[key] = value
        return memory
    storage = storage_of(data)
    if storage.in_place(data) and not is_picked(x):
        data[key] = value
        return memory
    root, path = location(x)
    memory = root._data = write_through(root._data, path, key, value, storage)
    if x is not root:
        refresh(x)
    return memory


def overlap(v: RawOperand, data: Any) -> bool:
    """Return True if a write of the value ``v`` into ``data`` may change v: they may share memory."""
    if type(v) is not np.ndarray:
        return storage_of(v).shares(v, data)
    owner = data if data.base is None else data.base
    if v.base is None and type(owner) is np.ndarray and owner.base is None and owner is not v:
        return False  # each owns its memory; np.may_share_memory takes longer than this test
    return np.may_share_memory(v, data)


def add_hidden_axes(x: Array, *values: Any) -> tuple[int, Any]:
    """Add the hidden axes of ``values`` to the root of x, so that the values can be written to x.

    Values that differ between the examples of a vmap have such axes.  The root's value is repeated along
    each new axis.  Return the new value id and data of x.
    """
    check_open(axis_ids_of(values))
    root, _ = location(x)
    wide = with_hidden_axes(root, *values, copy=True)
    if wide is not root:
        if is_shared(root):
            raise ValueError(
                f"vmap: {describe(root)} shares its memory with code outside of arraytape, so it "
                f"cannot get a value for each example [at {user_line()}]; write to a copy instead"
            )
        value_id, data = current(wide)
        set_value_fields(root, data, value_id, root._state & ~KEPT)
    return current(x)


def check_writeable(x: Array, data: RawArray) -> None:
    """Raise ValueError if x is a read-only view, or shares read-only memory with other libraries.

    Memory that only arraytape uses may be read-only after a broadcast, in which elements share memory.
    Then set the state bit KEPT instead, so that the write copies the memory first.
    Callers test for writeable NumPy data themselves, and call this function for other data.

    data : the raw data of x.
    """
    if type(data) is np.ndarray:
        writeable = data.flags.writeable
    else:
        storage = storage_of(data)
        writeable = storage.writeable(data) and UNWRITABLE.isdisjoint(
            [kind for kind, _ in location(x)[1]]
        )
    if writeable:
        return
    root, path = location(x)
    if root._state & FOREIGN or not UNWRITABLE.isdisjoint([kind for kind, _ in path]):
        raise ValueError(f"{describe(x)} is read-only [at {user_line()}]; write to a copy instead")
    root._state |= KEPT


@in_one_step(MOVING)
def record_put(
    x: Array,
    key: Index,
    written_id: int,
    value: RawOperand,
    basic: bool,
    written: RawArray,
    memory: RawArray,
) -> None:
    """Record the write ``x[key] = value`` on tapes after it was done; give the root of x a new value id.

    written_id : the value id of the written value.  value : its raw data.  basic : True if the key has
    no arrays.  written, memory : the data of x and of the root at the time of the write.
    """
    if MODES:
        notify_written(x)
    root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
    state = root._state
    # Since the write, another thread may have recorded the memory (KEPT) or copied it.
    if state & KEPT or root._data is not memory:
        settle_write(x, key, written, memory)
        state = root._state
    root._state = state | HOT
    if not (root._value_id or written_id):
        return
    lost = None
    if not basic and recorders():
        with storage_of(x._data).at(x._data):
            lost = overwritten(x, key, value)
    if not basic:
        key = private_key(key)
    elif INDICES:
        key = with_integers(key)
    record_write(root, PUT, written_id, value, path, key, (lost,))


@in_one_step(MOVING)
def record_add(
    x: Array, sign: int, written_id: int, value: RawOperand, written: RawArray, memory: RawArray
) -> None:
    """Record ``x += value`` (sign 1) or ``x -= value`` (sign -1) after it was done.

    The root of x gets a new value id.

    written_id : the value id of the added value.  value : its raw data.
    written, memory : the data of x and of the root at the time of the write.
    """
    if MODES:
        notify_written(x)
    root, path = x, ()
    if x._state & IS_VIEW:
        root, path = x._view.root, x._view.path
        if root._state & KEPT or root._data is not memory:
            settle_write(x, ..., written, memory)
        root._state |= HOT
    if root._value_id or written_id:
        record_write(root, ADD, written_id, value, path, sign)


def record_write(
    root: Array,
    plan: Structural,
    written_id: int,
    value: Any,
    path: Path,
    key: Any,
    more: tuple[Any, ...] = (),
) -> None:
    """Give ``root`` a new value id after a write, and pass a record of the write to the recorders.

    Only recorders (tapes) that follow the old value or the written value get the record, and then follow
    the new value.  If there is no such recorder, the new id is 0.

    root : the Array that owns the memory.  plan : the kind of the record, PUT or ADD.
    value : the written value, as raw data or a Python scalar.
    path : the steps from the root to the view that was written to.
    key : for PUT the key of the write, for ADD the sign.  more : for PUT a tuple of the mask of the
    elements of ``value`` that did not remain in x (None if all remain).
    """
    data, new = root._data, 0
    kind = data.dtype.kind
    thread, stack = active()
    if kind != "f" and kind != "c":  # integers have no gradient
        old, root._value_id = root._value_id, 0
    elif thread == get_ident():
        while True:
            old, new = root._value_id, 0
            for recorder in stack:
                followed = recorder.followed
                if old in followed or written_id in followed:
                    new = new or new_value_id()
                    if type(value) is np.ndarray or hasattr(value, "dtype"):
                        shape, dtype = value.shape, value.dtype
                    else:  # a Python scalar
                        shape, dtype = (), None
                    fields = (path, key, shape, dtype, *more, data.shape, data.dtype)
                    record = (plan.number, new, old, written_id, *fields)
                    recorder.record(record)
                    followed.add(new)
                    if kind == "c":
                        recorder.notice(plan, record)
            # CPython with a GIL does not switch threads between this test and the assignment.  Builds
            # without a GIL hold the lock MOVING here.
            if root._value_id == old:
                root._value_id = new
                break
            # Another thread with the same tape has written to the Array meanwhile.  Record this write
            # again, as a write to the value that the other thread produced.
        # Notify the recorders of other threads, unless the only open recorder is at the bottom of this
        # thread's stack.
        if len(OPEN) != 1 or not stack or not stack[0].listed:
            notify_other_threads((old, written_id))
    else:  # ``stack`` was copied with the context of another thread: this thread records nothing
        old, root._value_id = root._value_id, 0
        if OPEN:
            notify_other_threads((old, written_id))
    if new and root._state & EXPORTED:
        revoke(root)
    if AWAITED and not new:
        note_cut(plan.name, [root], (old, written_id), ())


def overwritten(x: Array, key: Index, value: RawOperand) -> Any:
    """Return a mask of the elements of ``value`` that do not remain in x after ``x[key] = value``.

    A key with integer arrays may name an element of x several times.  Only the last element of the value
    that is written there remains, so only that element gets a gradient.  Return None if no element is
    overwritten.
    """
    parts = key if type(key) is tuple else (key,)
    if all(is_basic(part) or part.dtype.kind == "b" for part in parts):
        return None
    data = x._data
    storage = storage_of(data)
    if not storage.ordered_writes and not is_picked(x):
        lost = storage.write_last(data, key, value)
        if lost is not None:
            return lost
    xp = storage.xp
    # Number the elements of ``value``, and write these numbers into ``winners``, an array of x's shape,
    # at the same key.  Then ``lasting = winners[key]`` has, for each element of ``value``, the number of
    # the element that was written last to the same place.
    winners = xp.full(data.shape, -1, device=data.device)
    shape = winners[key].shape
    order = xp.reshape(xp.arange(math.prod(shape), device=data.device), shape)
    if getattr(value, "shape", None) == shape:  # NumPy writes in the order of the value's memory
        order = storage.laid_out(order, cast("RawArray", value))
    winners = storage.put(winners, key, order)
    lasting = winners[key]
    if not storage.ordered_writes and hasattr(value, "shape"):
        # If the library has no fixed order of writes, x may hold an element that ``winners`` does not
        # name.  Write to x again, so that all values for one element of x are equal: the winner's.
        spread = xp.reshape(xp.broadcast_to(value, shape), (-1,))
        again = xp.reshape(xp.take(spread, xp.reshape(lasting, (-1,))), shape)
        write_data(x, key, again, None)
    return storage.unless_none(lasting != order)


def in_place(op: Op, short: str) -> Callable[[Array, Any], Any]:
    """Return the method for an in-place operator, such as ``__iadd__`` for the op add and short "add".

    If a tape follows x or the operand, and the op is not add or subtract, the method records ``x op y``,
    and x takes the value of the result.  Otherwise the method computes in x's memory.

    One function, because further function calls would slow down ``x += y``.
    """
    functional = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))
    raw = matmul_in_place if op.name == "matmul" else getattr(operator, f"i{short}")
    update = make_update(op, raw, functional)
    # The op floor_divide differs from NumPy's for infinities: see ``make_update``.
    has_numpys_values = op.name != "floor_divide"
    # The sign of an ADD record; 0 if such a record cannot describe the op.
    sign = {"add": 1, "subtract": -1}.get(op.name, 0)

    def method(x: Array, other: RawOperand, /) -> Any:
        if type(other) is not Array and not accepted(other):
            given, other = other, list_on_device_of(op.name, x, other)
            if other is given:
                return NotImplemented
        if MODES:
            notify_access(x, other)
        if x._state & SCALAR:  # immutable in NumPy: Python binds the name to a new Array
            return functional(x, other)
        # ADD refers to the old value of the root, so that a view needs no value id and no VIEW record.
        rooted = sign and x._state & IS_VIEW
        value_id, data = (x._view.root._value_id, refresh(x)) if rooted else current(x)
        if type(other) is Array:
            written_id = other._value_id if other._value_id >= 0 else other._sync()
            handle, v = other, other._data
        else:
            handle, written_id, v = coerce(op.name, "x2", other)
        if type(data) is not np.ndarray or not data.flags.writeable:
            check_writeable(x, data)
        alike = type(v) is type(data) is np.ndarray and v.dtype is data.dtype
        if not (alike and v.shape == data.shape and (has_numpys_values or data.dtype.kind != "b")):
            v = fit_operand(op, x, handle, data, v)
        if type(data) is not np.ndarray or type(v) is Batched:
            check_in_numpy(op, raw, data, v)
            # The view's batched data is a copy, not the root's memory.  ``x[...] =`` writes to the root.
            if type(data) is Batched and is_picked(x):
                x[...] = functional(x, other)
                return x
            if type(v) is Batched:
                value_id, data = add_hidden_axes(x, v)
        if (value_id or written_id) and not sign:  # record the op, and replace x's value
            return replace_value(op, x, functional(x, other), v)
        memory = make_exclusive(x)  # compute in x's memory, and record an ADD
        written = x._data
        # If the operand shares x's memory, make_exclusive may have replaced its data, too.
        if type(other) is Array:
            v = refresh(other) if other._state & IS_VIEW else x._data if other is x else v
        incomplete: Array | None = x  # x while it may hold a write that is not recorded; else None
        try:
            try:
                if has_numpys_values and type(data) is np.ndarray:
                    known = type(v) is not np.ndarray or v.base is None is written.base
                    (raw if known or v is written else raw_for(raw, written, v))(written, v)
                else:
                    memory = update(x, v, memory)
            except Exception as error:
                if not is_warning(error):
                    incomplete = None if isinstance(error, REFUSALS) else x
                    raise explain(f"in-place {op.name}", error, x1=data, x2=v) from error
                # NumPy has written before it warns, so the write is to be recorded.
                record_add(x, sign, written_id, v, written, memory)
                incomplete = None
                warn_of_result(op.name, x._data, v)
                return x
            record_add(x, sign, written_id, v, written, memory)
        except BaseException:
            unfinished(incomplete, written_id)
            raise
        return x

    method.__name__ = method.__qualname__ = f"__i{short}__"
    method.__doc__ = in_place_docstring(op.name, short)
    return method


def raw_for(
    raw: Callable[[Any, Any], Any], x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]
) -> Any:
    """Return the function that computes ``x op= y`` in place: ``raw``, or one that also runs ``raw``.

    If x and y overlap, NumPy may compute in a copy of x, which an error in place of a warning discards.
    So the function then warns at the user's line, without such an error.
    x or y is a view: the caller knows that numbers, and arrays that own their memory, do not overlap x.
    """
    one, other = x if x.base is None else x.base, y if y.base is None else y.base
    owners = type(one) is type(other) is np.ndarray and one.base is None and other.base is None
    # For views of two arrays that own their memory, this is faster than ``np.may_share_memory``.
    apart = one is not other and owners
    return raw if apart or not np.may_share_memory(x, y) else at_users_line(raw, None)


def matmul_in_place(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """Compute ``x @= y``.  NumPy computes in a copy of x, which an error in place of a warning discards.

    So the product is then computed again, with a warning at the user's line.
    """
    try:
        return operator.imatmul(x, y)
    except TypeError as error:
        if not is_warning(error):
            raise
        return at_users_line(operator.imatmul, error)(x, y)


def sum_in_layout(result: Array, data: np.ndarray[Any, Any], v: np.ndarray[Any, Any]) -> None:
    """Overwrite ``result``, the product ``data @ v``, with the bits that NumPy's ``data @= v`` has.

    On some processors the memory layout of the output decides the order of summation in a matrix
    product, and so the rounding errors.
    """
    if data.size and not data.flags.c_contiguous and result._data.shape == data.shape:
        with Quiet():  # the product itself has warned
            written = copy_in_strides(data)
            written @= v
        result._data[...] = written


def copy_in_strides(data: np.ndarray[Any, Any]) -> Any:
    """Return a copy of an array with the same strides, which may be negative or leave gaps in memory.

    In-place products write into the copy, since the strides decide their rounding errors.
    """
    steps = [(n - 1) * step for n, step in zip(data.shape, data.strides, strict=True)]
    before = -sum(step for step in steps if step < 0)
    size = before + sum(step for step in steps if step > 0) + data.itemsize
    copy: Any = np.ndarray(data.shape, data.dtype, bytearray(size), before, data.strides)
    copy[...] = data
    return copy


def make_update(
    op: Op, raw: Callable[[Any, Any], Any], functional: Callable[[Any, Any], Any]
) -> Callable[[Array, Any, Any], Any]:
    """Return a function ``update(x, v, memory)`` that does ``x op= v`` on raw data of all libraries.

    ``update`` computes in place if the library can.  It returns the data that the root of x has
    afterwards; ``memory`` is the root's data from before.

    op : the op of the operator, such as add.  raw : the in-place operator for raw data, such as
    operator.iadd.  functional : the operator that returns new data, such as operator.add.
    """
    # For special values such as infinities, the operators ``//`` and ``%`` differ between the libraries.
    # The functions that ``RawFunctions`` has for these ops return the same values for all libraries.
    function = RawFunctions(op.name) if op.name in ("floor_divide", "remainder") else None

    def update(x: Array, v: RawArray, memory: RawArray) -> RawArray:
        data = x._data
        if function is not None:
            compute = function[type(data)]
        elif type(data) is np.ndarray or getattr(v, "dtype", data.dtype) == data.dtype:
            compute = raw
        else:
            compute = functional  # the standard has no in-place operators of mixed dtypes
        with storage_of(data).at(data, v):
            try:
                result = compute(data, v)
            except TypeError as error:
                if function is None or not is_warning(error):
                    raise
                # This function has not written to the data, so it may run again.
                result = at_users_line(compute, error)(data, v)
            if result is not data:  # ``compute`` returned new data: @= is in place in few libraries
                new = result.data if type(result) is Element else result
                memory = write_data(x, ..., new, memory)
        return memory

    return update


def fit_operand(op: Op, x: Array, handle: Array, data: RawArray, other: RawOperand) -> Any:
    """Return the operand y of ``x op= y``, such as ``x *= y``, as raw data of the array library of x.

    Raise ValueError or TypeError if the result's shape or dtype does not fit into x.

    data : the raw data of x.  handle, other : y as an Array, and its raw data.
    """
    if type(other) is not type(data) and hasattr(other, "dtype"):
        _, _, other = promote(op.name, ("x1", "x2"), (x, handle), (data, other))
    shape, dtype = getattr(other, "shape", ()), getattr(other, "dtype", None)
    if shape != data.shape and shape != () and op.name != "matmul":
        try:
            fits = np.broadcast_shapes(data.shape, shape) == data.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"in-place {op.name}: shape {shape} does not fit into {describe(data)}, which has "
                f"to keep its shape [at {user_line()}]"
            )
    # In NumPy, bool // bool is an int8.
    truths = op.name == "floor_divide" and data.dtype.kind == "b"
    if dtype is not data.dtype or truths:
        result = np.result_type(data.dtype, other if dtype is None else dtype, *(["int8"] * truths))
        if not np.can_cast(result, data.dtype, "same_kind"):
            raise TypeError(
                f"in-place {op.name}: a result of dtype {result} does not fit into "
                f"{describe(data)} [at {user_line()}]; write x = xp.{op.name}(x, y)"
            )
    return other


def check_in_numpy(
    op: Op, raw: Callable[[Any, Any], Any], data: RawArray, other: RawOperand
) -> None:
    """Raise NumPy's error if the operands of an in-place op do not fit; do not count vmap's hidden axes.

    Run the op on NumPy arrays of ones to find out.  If the data is not NumPy's, check nothing.

    raw : the in-place operator for raw data, such as operator.iadd.
    """
    if storage_of(data).beneath(data).kind is not np.ndarray:
        return
    one = np.ones(tuple(data.shape), data.dtype)
    try:
        if isinstance(other, int | float | complex):
            raw(one, other)
        else:
            raw(one, np.ones(tuple(other.shape), other.dtype))
    except Exception as error:
        if not is_warning(error):
            raise explain(f"in-place {op.name}", error, x1=data, x2=other) from error


def replace_value(op: Op, x: Array, result: Array, v: RawArray) -> Array:
    """Give x the value of ``result``, the recorded ``x op y``, to finish ``x op= y``; return x.

    Views of x show the new value.

    op : the operator's op, such as multiply.  v : the raw data of y.
    """
    if op.name == "matmul" and result.ndim > x.ndim:  # NumPy drops leading axes of length 1
        ones = (1,) * (result.ndim - x.ndim)
        result = reshape(result, x.shape) if result.shape == (*ones, *x.shape) else result
    if op.name == "matmul" and type(x._data) is type(v) is np.ndarray:
        sum_in_layout(result, x._data, v)
    if result.dtype != x.dtype:
        result = astype(result, x.dtype)
    value_id, new = current(result)
    if new.shape != x.shape:
        raise ValueError(
            f"in-place {op.name}: a result of shape {new.shape} cannot replace {describe(x)} "
            f"[at {user_line()}]"
        )
    if x._state & ALIASED:  # other Arrays or NumPy code share the memory: write the result into it
        memory = make_exclusive(x)
        written = x._data
        try:
            with storage_of(new).at(written, new):
                memory = write_data(x, ..., new, memory)
            record_put(x, ..., value_id, new, True, written, memory)
        except BaseException:
            unfinished(x, value_id)
            raise
    else:
        # Notify the recorders of other threads.  Without a recorder in this thread, the op has done so.
        if OPEN and recorders():
            notify_other_threads((x._value_id,))
        state = result._state & KEPT
        laid = storage_of(new).laid_out(new, x._data)  # x keeps its strides, as in NumPy
        set_value_fields(x, laid, value_id, state if laid is new else 0)
    return x
