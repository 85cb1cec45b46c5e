"""Writing: item assignment and in-place operators, with NumPy's semantics.

``x[k] = v`` is recorded as the linear op PUT, which keeps no data; the handle moves on to a new
value.  ``x += y`` is the op itself, and the handle moves on to its result.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import HOT, KEPT, SCALAR, VIEW, Array
from .._batched.data import Batched, check, levels_of
from .._errors import describe, explain, user_line
from .._op import Op
from .._operands import accepted, common, foreign
from .._paths import GETITEM, PUT
from .._record import OPEN, elsewhere, new_tid, recorders, tell
from .._storage import RawFunctions, inexact, is_complex, storage_of
from .._view import current, own
from .data_type_functions import astype
from .indexing_functions import frozen, is_basic, levelled, raw_key


def setitem(x: Array, key: Any, value: Any, /) -> None:
    """``x[key] = value``, seen through every alias of x.

    key : integers, slices, Ellipsis, None, boolean masks and integer arrays, also mixed.
    Raises ValueError when x is read-only or the shapes do not fit, IndexError for a bad key.
    """
    handle, vtid, v = foreign("__setitem__", "value", value)
    _, data = current(x)
    if v is None or (is_complex(v) and not is_complex(data)):
        raise TypeError(
            f"__setitem__: the value {describe(value)} cannot be written into {describe(x)} "
            f"[at {user_line()}]"
        )
    check_writeable(x, data)
    raw, basic = raw_key(key)
    if type(v) is Batched or (not basic and levels_of((raw,))):
        widen(x, v, raw)
        _, data = current(x)
    if type(data) is not np.ndarray or (type(v) is not np.ndarray and hasattr(v, "dtype")):
        _, v, _ = common("__setitem__", ("value", "x"), (handle, x), (v, data))
        raw = raw if basic else storage_of(data).key(raw, data)
    root, path = location(x)
    if basic and is_same(handle, root, (*path, (GETITEM, raw))):
        return
    if type(v) is type(data) and overlap(v, data):
        v = storage_of(v).copy(v)
    own(x)
    try:
        if type(data) is np.ndarray:
            x._data[raw] = v
        else:
            with storage_of(data).at(data, raw, v):
                x._data[raw] = v
    except Exception as error:
        raise explain("__setitem__", error, x=data, key=raw, value=v) from error
    written(x, raw, vtid, v, basic)


def overlap(v: Any, data: Any) -> bool:
    """Whether a write into data may change v."""
    if type(v) is np.ndarray:
        return np.may_share_memory(v, data)
    return storage_of(v).shares(v, data)


def widen(x: Array, *values: Any) -> None:
    """Before a write under vmap: give the root of x the hidden axes of what is to be written."""
    check(levels_of(values))
    root, _ = location(x)
    wide = levelled(root, *values, copy=True)
    if wide is not root:
        root._tid, root._data = current(wide)
        root._state &= ~KEPT
        current(x)


def location(x: Array) -> tuple[Array, Any]:
    """The root that x aliases and the path from it to x."""
    return (x._view.root, x._view.path) if x._state & VIEW else (x, ())


def check_writeable(x: Array, data: Any) -> None:
    plain = type(data) is np.ndarray
    if not (data.flags.writeable if plain else storage_of(data).writeable(data)):
        raise ValueError(f"{describe(x)} is read-only [at {user_line()}]; write to a copy instead")


def is_same(value: Array, root: Array, path: Any) -> bool:
    """Whether ``value`` is the very part that is to be written: ``x[k] = x[k]`` changes nothing."""
    if not value._state & VIEW or value._view.root is not root:
        return False
    return bool(value._view.path == path)


def written(x: Array, key: Any, vtid: int, value: Any, basic: bool = True) -> None:
    """Name the root's new value and tell whoever follows the old one or what was written."""
    root, path = location(x)
    root._state |= HOT
    old = root._tid
    if not (old or vtid):
        return
    if not inexact(root._data):
        root._tid = 0  # integers cut the gradient
        return
    stack = recorders()
    if OPEN and not stack:
        elsewhere((old, vtid))
    followers = [r for r in stack if old in r.followed or vtid in r.followed]
    root._tid = new_tid() if followers else 0
    for recorder in followers:
        shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
        lost = None
        if not basic:
            with storage_of(x._data).at(x._data):
                lost = overwritten(x._data, key, value)
        kept = (path, key if basic else frozen(key), shape, dtype, lost)
        put = (PUT.number, root._tid, old, vtid, *kept, root._data.shape, root._data.dtype)
        tell(recorder, put)
        if is_complex(root._data):
            recorder.notice(PUT, put)


def overwritten(data: Any, key: Any, value: Any) -> Any:
    """For a key of integer arrays that may name an element twice: the writes that did not last.

    The last one wins, so only that one gets a gradient.  None when every write lasts.
    """
    parts = key if type(key) is tuple else (key,)
    if all(is_basic(part) or part.dtype.kind == "b" for part in parts):
        return None
    storage = storage_of(data)
    xp = storage.xp
    turns = xp.full(data.shape, -1, device=data.device)
    shape = turns[key].shape
    order = xp.reshape(xp.arange(math.prod(shape), device=data.device), shape)
    if getattr(value, "shape", ()) == shape:  # NumPy goes through the value in its memory's order
        order = storage.laid_out(order, value)
    turns[key] = order
    lasting = turns[key]
    if not storage.ordered_writes and hasattr(value, "shape"):
        # Which write lasts is left open there: write again, what won in ``turns`` everywhere.
        spread = xp.reshape(xp.broadcast_to(value, shape), (-1,))
        data[key] = xp.reshape(xp.take(spread, xp.reshape(lasting, (-1,))), shape)
    return storage.unless_none(lasting != order)


def in_place(op: Op, short: str) -> Callable[[Array, Any], Any]:
    """The in-place operator of an op: its result takes x's place, in x's memory where it may."""
    functional = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))
    raw = getattr(operator, f"i{short}")
    # Not the data's own operator: see _numpy and _cupy.
    function = RawFunctions(op.name) if op.name in ("floor_divide", "remainder") else None

    def method(x: Array, other: Any, /) -> Any:
        if type(other) is not Array and not accepted(other):
            return NotImplemented
        if x._state & SCALAR:  # immutable in NumPy: the name is bound to a new array
            return functional(x, other)
        tid, data = current(x)
        handle, vtid, v = foreign(op.name, "x2", other)
        if type(v) is not type(data) and hasattr(v, "dtype"):
            _, _, v = common(op.name, ("x1", "x2"), (x, handle), (data, v))
        check_fits(op, data, v)
        check_writeable(x, data)
        if type(v) is Batched:
            widen(x, v)
            tid, data = current(x)
        if tid or vtid:
            return replace(op, x, functional(x, other))
        own(x)
        if type(other) is Array:  # its data may have moved with x's
            v = current(other)[1]
        try:
            if type(data) is np.ndarray and op.name != "floor_divide":
                raw(x._data, v)
            else:
                with storage_of(data).at(data, v):
                    result = (raw if function is None else function[type(data)])(x._data, v)
                    if result is not x._data:  # such as @=, which few libraries have in place
                        x._data[...] = result
        except Exception as error:
            raise explain(f"in-place {op.name}", error, x1=data, x2=v) from error
        written(x, ..., 0, v)
        return x

    method.__name__ = method.__qualname__ = f"__i{short}__"
    method.__doc__ = f"See ``{op.name}``; shape and dtype of x stay."
    return method


def check_fits(op: Op, data: Any, other: Any) -> None:
    """Before anything changes: the result must have x's shape, and x's dtype must hold it."""
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
    if dtype is not data.dtype:
        result = np.result_type(data.dtype, other if dtype is None else dtype)
        if not np.can_cast(result, data.dtype, "same_kind"):
            raise TypeError(
                f"in-place {op.name}: a result of dtype {result} does not fit into "
                f"{describe(data)} [at {user_line()}]; write x = x {op.name} y, or use astype"
            )


def replace(op: Op, x: Array, result: Array) -> Array:
    """Put a recorded result into x's place: views of x see it, and x's old value stays kept."""
    if result.dtype != x.dtype:
        result = astype(result, x.dtype)
    tid, new = current(result)
    if new.shape != x.shape:
        raise ValueError(
            f"in-place {op.name}: a result of shape {new.shape} cannot replace {describe(x)} "
            f"[at {user_line()}]"
        )
    if x._state & ~(KEPT | HOT):  # a view, or memory that foreign code shares
        own(x)
        with storage_of(new).at(x._data, new):
            x._data[...] = new
        written(x, ..., tid, new)
    else:
        state = result._state & KEPT
        laid = storage_of(new).laid_out(new, x._data)  # an in-place result keeps its array's layout
        x._data, x._tid, x._state = laid, tid, state if laid is new else 0
    return x


setattr(Array, "__setitem__", setitem)  # noqa: B010
