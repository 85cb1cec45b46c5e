"""Writing: item assignment and in-place operators, with NumPy's semantics.

``x[k] = v`` is recorded as the linear op PUT, ``x += y`` and ``x -= y`` as the linear op ADD.  Their
records keep no data, and the handle gets the id of its new value.  Any other ``x op= y`` is recorded as
the op itself, and the handle takes the result's data and id (``replace_value``).

A write has five steps:

    step                              x[k] = v: ``setitem``        x op= y: ``in_place``
    --------------------------------  ---------------------------  -----------------------
    coerce the value                  ``coerce``, ``fit_write``    ``coerce``, ``fit_operand``
    check that x may be written to    ``check_writeable``          ``check_writeable``
    copy memory that records share    ``make_exclusive``           ``make_exclusive``
    write to the data                 ``write_data``               ``updates``
    record, and give x a new id       ``record_put``               ``record_add``

``setitem`` and ``in_place`` themselves do the steps for the usual case, NumPy's data in one dtype,
because each call would take about as long as 5% of the write.
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
from .._array.unfinished_writes import REFUSALS, put_in_place, unfinished
from .._array.views import (
    below,
    current,
    is_picked,
    location,
    make_exclusive,
    refresh,
    settle_write,
)
from .._define.docstrings import in_place_docstring
from .._define.operands import CONSTANT, accepted, coerce, coerce_list, list_beside, promote
from .._define.raw_calls import RawFunctions, at_users_line, is_warning, warn_of_result
from .._record.mode_stack import MODES, meet, tell_written
from .._record.op import Op
from .._record.plan import Structural
from .._record.stack import AWAITED, OPEN, active, elsewhere, new_value_id, recorders
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

# A registry that is no dict makes CPython raise TypeError in place of a warning: see ``raw_calls``.
__warningregistry__ = ()
# NumPy 2.2 reads integers of a key after it has written there: x[x] = v writes beyond x's memory.
READS_KEYS_LATE = NUMPY < (2, 3)


@attach_method(Array, "__setitem__")
def setitem(x: Array, key: Index, value: Any, /) -> None:
    """Write into the array: ``x[key] = value``, seen through every alias of x.

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
        When a complex value is written into real data, or the value is none of these.
    ValueError
        When x is read-only or the shapes do not fit.
    IndexError
        When the key does not fit the shape.

    Notes
    -----
    Derivative: elements that are overwritten get the gradient 0, and the value gets the part of
    the gradient at the key.  If a key names an element twice, the last write gets its gradient.
    """
    if MODES:
        meet(x, value)
    if x._state & IS_VIEW:
        data = refresh(x)
    elif x._value_id >= 0:
        data = x._data
    else:  # NumPy's functions write into a Variable: its own method assigns a new value
        x[key] = value
        return
    if type(data) is not np.ndarray or not data.flags.writeable:
        check_writeable(x, data)
    if type(value) is Array and value._state & IS_VIEW and is_region(value, x, key):
        return  # the end of ``x[key] += y``: the view was updated in place

    # --- key and value as raw data that fits x's ---
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

    # --- write to memory that no record shares, and record the write ---
    memory = make_exclusive(x)
    data = x._data
    incomplete: Array | None = x  # None once the write was refused or recorded
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
            record_put(
                x, raw, written_id, v, basic, data, memory
            )  # NumPy has written before it warns
            incomplete = None
            at_users_line(operator.setitem, error)(x._data, raw, v)  # write again, and warn there
            return
        record_put(x, raw, written_id, v, basic, data, memory)
    except BaseException:
        unfinished(incomplete, written_id)
        raise


def is_region(value: Array, x: Array, key: Index) -> bool:
    """Return True if ``value`` is the view ``x[key]``, which ``x[key] += y`` assigns at its end."""
    root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
    view = value._view
    if view.root is not root or is_picked(value):
        return False
    if key is Ellipsis and view.path == path:
        return True
    if not path and len(view.path) == 1 and view.path[0][1] is key and view.path[0][0] is GETITEM:
        return True
    raw, basic = raw_key(key)
    return basic and bool(view.path == below(root, path, ((GETITEM, raw),)))


def fit_write(
    x: Array, data: RawArray, raw: Index, basic: bool, handle: Array, v: Any, value: Any
) -> tuple[Any, Any, Any]:
    """Return data, key and value of a write in one storage and with the same hidden axes of vmap.

    raw, v : the key and the value as raw data.  handle : the Array that ``coerce`` gave for v.
    value : what the user gave, for the message of the TypeError.
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
        if into_real:  # the key selects nothing: any real value will do
            handle, v = CONSTANT, storage_of(v).xp.real(v)
        _, v, _ = promote("__setitem__", ("value", "x"), (handle, x), (v, data))
        raw = raw if basic else storage_of(data).key(raw, data)
    if READS_KEYS_LATE and not basic:
        raw = apart_from(data, raw)
    return data, raw, v


def apart_from(data: Any, key: Any) -> Any:
    """Return a key with copies of those arrays that share memory with ``data``."""
    memory = data.data if type(data) is Batched else data
    parts = [
        part.copy() if type(part) is type(memory) is np.ndarray and overlap(part, memory) else part
        for part in (key if type(key) is tuple else (key,))
    ]
    return tuple(parts) if type(key) is tuple else parts[0]


def selects_nothing(data: RawArray, key: Any, value: Any) -> bool:
    """Return True if a key selects no elements; raise NumPy's error if key or value do not fit."""
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
    """Write ``x[key] = value`` to raw data: in place or, if the storage cannot, as new data of the root.

    memory : the result of ``make_exclusive``.  Return the memory that holds the written value.
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
    """Return True if a write into data may change v."""
    if type(v) is not np.ndarray:
        return storage_of(v).shares(v, data)
    owner = data if data.base is None else data.base
    if v.base is None and type(owner) is np.ndarray and owner.base is None and owner is not v:
        return False  # each owns its memory; NumPy's test takes longer
    return np.may_share_memory(v, data)


def add_hidden_axes(x: Array, *values: Any) -> tuple[int, Any]:
    """Broadcast the root of x to the hidden axes of vmap that ``values``, to be written to it, have.

    Return the id and the data of x.
    """
    check_open(axis_ids_of(values))
    root, _ = location(x)
    wide = with_hidden_axes(root, *values, copy=True)
    if wide is not root:
        if is_shared(root):
            raise ValueError(
                f"vmap: {describe(root)} shares its memory with foreign code, which cannot hold a value "
                f"for each example [at {user_line()}]; write to a copy instead"
            )
        value_id, data = current(wide)
        put_in_place(root, data, value_id, root._state & ~KEPT)
    return current(x)


def check_writeable(x: Array, data: RawArray) -> None:
    """Raise ValueError if x is a read-only view, or shares read-only memory with foreign code.

    Memory of our own is read-only where one element stands for several: the write copies it first.
    Writes themselves test for the usual case, writeable data of NumPy, and call this in any other.
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
    """Record ``x[key] = value``, which was written to the data, and give the root's value a new id.

    written, memory : the data of x and of its root to which the value was written.
    """
    if MODES:
        tell_written(x)
    root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
    state = root._state
    if state & KEPT or root._data is not memory:  # by another thread: a record, or a copy
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
    """Record ``x += value`` or, with sign -1, ``x -= value``: see ``record_put``."""
    if MODES:
        tell_written(x)
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
    """Give a root's new value an id: a fresh one if a recorder follows the old or written value, or 0.

    Each of these recorders gets the record of the write, and follows the new value.

    key, more : the fields of the record before and after the value's shape and dtype: see ``aliasing``.
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
                    about = (path, key, shape, dtype, *more, data.shape, data.dtype)
                    record = (plan.number, new, old, written_id, *about)
                    recorder.record(record)
                    followed.add(new)
                    if kind == "c":
                        recorder.notice(plan, record)
            if root._value_id == old:  # threads do not switch between this test and the assignment
                root._value_id = new
                break
            # Another thread of the tape has written meanwhile: record this write after that one.
        if len(OPEN) != 1 or not stack or not stack[0].listed:
            elsewhere((old, written_id))  # tell the tapes of other threads
    else:  # the context was copied into another thread, which records nothing: see ``stack``
        old, root._value_id = root._value_id, 0
        if OPEN:
            elsewhere((old, written_id))
    if new and root._state & EXPORTED:
        revoke(root)
    if AWAITED and not new:
        note_cut(plan.name, [root], (old, written_id), ())


def overwritten(x: Array, key: Index, value: RawOperand) -> Any:
    """Return the mask of the elements of a written value that a later element overwrote, or None.

    A key of integer arrays may name an element of x several times.  The last of these writes lasts, so
    only that element of the value gets a gradient.  None : every write lasts.
    """
    parts = key if type(key) is tuple else (key,)
    if all(is_basic(part) or part.dtype.kind == "b" for part in parts):
        return None
    data = x._data
    storage = storage_of(data)
    xp = storage.xp
    # Write the position of each element of the value in place of the element, and read it back.
    winners = xp.full(data.shape, -1, device=data.device)
    shape = winners[key].shape
    order = xp.reshape(xp.arange(math.prod(shape), device=data.device), shape)
    if getattr(value, "shape", None) == shape:  # NumPy writes a value in the order of its memory
        order = storage.laid_out(order, cast("RawArray", value))
    winners = storage.put(winners, key, order)
    lasting = winners[key]
    if not storage.ordered_writes and hasattr(value, "shape"):
        # There another element may have won in x than in ``winners``: write the latter everywhere.
        spread = xp.reshape(xp.broadcast_to(value, shape), (-1,))
        again = xp.reshape(xp.take(spread, xp.reshape(lasting, (-1,))), shape)
        write_data(x, key, again, None)
    return storage.unless_none(lasting != order)


def in_place(op: Op, short: str) -> Callable[[Array, Any], Any]:
    """Return the in-place operator ``__ishort__`` of an op.

    If a recorder may follow x or the operand, and no ADD record can describe the op, the op itself is
    recorded, and its result replaces x's value.  Otherwise the op computes in x's memory.

    One function, because each step would be one more call in every ``x += y``.
    """
    functional = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))
    raw = getattr(operator, f"i{short}")
    update = updates(op, raw, functional)
    # NumPy's floor_divide has other special values than the standard's: see ``updates``.
    has_numpys_values = op.name != "floor_divide"
    # The sign of an ADD record; 0 if such a record cannot describe the op.
    sign = {"add": 1, "subtract": -1}.get(op.name, 0)

    def method(x: Array, other: RawOperand, /) -> Any:
        # --- coerce the operand, and find out where x's value is ---
        if type(other) is not Array and not accepted(other):
            given, other = other, list_beside(op.name, x, other)
            if other is given:
                return NotImplemented
        if MODES:
            meet(x, other)
        if x._state & SCALAR:  # immutable in NumPy: Python binds the name to a new Array
            return functional(x, other)
        if sign and x._state & IS_VIEW:  # ADD needs no id, hence no VIEW record, of the old value
            value_id, data = x._view.root._value_id, refresh(x)
        else:
            value_id, data = current(x)
        if type(other) is Array:
            written_id = other._value_id if other._value_id >= 0 else other._sync()
            handle, v = other, other._data
        else:
            handle, written_id, v = coerce(op.name, "x2", other)
        # --- check that x may be written to, and can hold the result ---
        if type(data) is not np.ndarray or not data.flags.writeable:
            check_writeable(x, data)
        alike = type(v) is type(data) is np.ndarray and v.dtype is data.dtype
        if not (alike and v.shape == data.shape and (has_numpys_values or data.dtype.kind != "b")):
            v = fit_operand(op, x, handle, data, v)
        if type(data) is not np.ndarray or type(v) is Batched:
            check_in_numpy(op, raw, data, v)
            if type(data) is Batched and is_picked(x):
                x[...] = functional(x, other)
                return x
            if type(v) is Batched:
                value_id, data = add_hidden_axes(x, v)
        # --- a nonlinear op on a followed value: record it, and replace x's value ---
        if (value_id or written_id) and not sign:
            return replace_value(op, x, functional(x, other), v)
        # --- else compute in x's memory, and record an ADD ---
        memory = make_exclusive(x)
        written = x._data
        if type(other) is Array:  # if it shares x's memory, make_exclusive has moved its data, too
            v = refresh(other) if other._state & IS_VIEW else x._data if other is x else v
        incomplete: Array | None = x  # None once the write was refused or recorded
        try:
            try:
                if has_numpys_values and type(data) is np.ndarray:
                    raw(written, v)
                else:
                    memory = update(x, v, memory)
            except Exception as error:
                if not is_warning(error):
                    incomplete = None if isinstance(error, REFUSALS) else x
                    raise explain(f"in-place {op.name}", error, x1=data, x2=v) from error
                record_add(x, sign, written_id, v, written, memory)  # NumPy wrote before it warned
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


def sum_in_layout(result: Array, data: np.ndarray[Any, Any], v: np.ndarray[Any, Any]) -> None:
    """Give a matrix product the bits of NumPy's ``data @= v``.

    On some processors the order in which a product is summed depends on the layout of its output.
    """
    if data.size and not data.flags.c_contiguous and result._data.shape == data.shape:
        with Quiet():  # the product itself has warned
            written = copy_in_strides(data)
            written @= v
        result._data[...] = written


def copy_in_strides(data: np.ndarray[Any, Any]) -> Any:
    """Return a copy of an array with the same strides, gaps included."""
    steps = [(n - 1) * step for n, step in zip(data.shape, data.strides, strict=True)]
    before = -sum(step for step in steps if step < 0)
    size = before + sum(step for step in steps if step > 0) + data.itemsize
    copy: Any = np.ndarray(data.shape, data.dtype, bytearray(size), before, data.strides)
    copy[...] = data
    return copy


def updates(
    op: Op, raw: Callable[[Any, Any], Any], functional: Callable[[Any, Any], Any]
) -> Callable[[Array, Any, Any], Any]:
    """Return ``update(x, v, memory)``: the op on x's raw data of any storage, in place where it can.

    memory : the result of ``make_exclusive``; ``update`` returns the memory that holds the op's result.
    raw : the data's own in-place operator.  functional : the same operator, returning new data.
    """
    # Operators of storages differ in special values of these ops, their raw functions do not.
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
                result = at_users_line(compute, error)(data, v)  # a function, which has not written
            if result is not data:  # such as @=, which few libraries compute in place
                new = result.data if type(result) is Element else result
                memory = write_data(x, ..., new, memory)
        return memory

    return update


def fit_operand(op: Op, x: Array, handle: Array, data: RawArray, other: RawOperand) -> Any:
    """Return the operand in x's storage; raise an error if x cannot hold the result."""
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
    truths = op.name == "floor_divide" and data.dtype.kind == "b"  # the quotient is an int8
    if dtype is not data.dtype or truths:
        result = np.result_type(data.dtype, other if dtype is None else dtype, *(["int8"] * truths))
        if not np.can_cast(result, data.dtype, "same_kind"):
            raise TypeError(
                f"in-place {op.name}: a result of dtype {result} does not fit into "
                f"{describe(data)} [at {user_line()}]; write x = x {op.name} y, or use astype"
            )
    return other


def check_in_numpy(
    op: Op, raw: Callable[[Any, Any], Any], data: RawArray, other: RawOperand
) -> None:
    """Raise the error that NumPy raises for one example of a vmap if the operands do not fit."""
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
    """Replace the value of x by a recorded result; views of x see it.

    v : the raw data of the other operand.
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
    if x._state & ALIASED:  # others share the memory: write into it
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
        if OPEN and recorders():  # without a recorder the op itself has told tapes of other threads
            elsewhere((x._value_id,))
        state = result._state & KEPT
        laid = storage_of(new).laid_out(new, x._data)  # as in NumPy, x keeps its layout
        put_in_place(x, laid, value_id, state if laid is new else 0)
    return x
