"""Where values leave: conversion to Python scalars, NumPy, dlpack, text and pickles.

What leaves with its value (float(x), np.asarray(x), dlpack) cuts the gradient and is remembered by
the tapes that follow it; ``bool`` and ``int`` as an index only steer the program and are silent.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from .._array import PINNED, Array, wrap
from .._errors import explain
from .._exits import leave
from .._storage import storage_of
from .._view import current


def scalar(x: Array, kind: type, data: Any) -> Any:
    """``kind(x)`` of an array with one element."""
    try:
        return kind(data)
    except Exception as error:
        raise explain(f"{kind.__name__}()", error, x=x) from error


def to_float(x: Array) -> float:
    """The value of a real 0-d array; it leaves the tape."""
    return scalar(x, float, leave(x, "float()"))


def to_complex(x: Array) -> complex:
    """The value of a 0-d array; it leaves the tape."""
    return scalar(x, complex, leave(x, "complex()"))


def to_int(x: Array) -> int:
    """The value of a 0-d array as an integer."""
    return scalar(x, int, leave(x, "int()"))


def to_bool(x: Array) -> bool:
    """The truth of an array with one element; ValueError for more."""
    return scalar(x, bool, current(x)[1])


def to_index(x: Array) -> int:
    """The value of a 0-d integer array."""
    data = current(x)[1]
    try:
        return data.__index__()
    except Exception as error:
        raise explain("index()", error, x=x) from error


def to_numpy(x: Array, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """``np.asarray(x)``: a copy, so that NumPy code cannot change a recorded value.

    copy=False shares memory, or raises ValueError where it cannot.
    """
    data = leave(x, "np.asarray()")
    host = storage_of(data).host(data)
    if copy is False:
        (x._view.root if x._tid < 0 else x)._state |= PINNED
        return np.array(host, dtype=dtype, copy=False)
    return np.array(host, dtype=dtype, copy=True)


def item(x: Array) -> Any:
    """The value of an array with one element as a Python scalar; it leaves the tape."""
    return leave(x, "item()").item()


def tolist(x: Array) -> Any:
    """The values as nested lists; they leave the tape."""
    return leave(x, "tolist()").tolist()


def dlpack(
    x: Array,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A dlpack capsule of the data; it leaves the tape and, unless copied, shares its memory."""
    data = leave(x, "dlpack")
    if copy is not True:
        (x._view.root if x._tid < 0 else x)._state |= PINNED
    return data.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(x: Array, /) -> tuple[Any, int]:
    """Device type and id in dlpack's terms."""
    return x._data.__dlpack_device__()


def representation(x: Array) -> str:
    """Values, dtype, device, and whether some tape follows the value."""
    tid, data = current(x)
    body = np.array2string(storage_of(data).host(data), separator=", ", prefix="Array(")
    return f"Array({body}, dtype={data.dtype}, device={x.device!r}{', followed' if tid else ''})"


def formatted(x: Array, spec: str) -> str:
    """``format(x, spec)`` formats the value of a 0-d array."""
    data = current(x)[1]
    return format(data[()], spec) if not data.shape else format(str(data), spec)


def text(x: Array) -> str:
    return str(current(x)[1])


def rebuild(data: Any) -> Array:
    """Unpickle: the value alone, never a tape."""
    return wrap(data)


def reduce(x: Array) -> tuple[Any, ...]:
    data = current(x)[1]
    return rebuild, (storage_of(data).copy(data),)


def copied(x: Array, memo: Any = None) -> Array:
    """``copy.copy`` and ``copy.deepcopy``: the value alone, followed by nobody."""
    data = current(x)[1]
    return wrap(storage_of(data).copy(data))


copyreg.pickle(Array, reduce)
METHODS = {
    "__array__": to_numpy,
    "__bool__": to_bool,
    "__complex__": to_complex,
    "__copy__": copied,
    "__deepcopy__": copied,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__float__": to_float,
    "__format__": formatted,
    "__index__": to_index,
    "__int__": to_int,
    "__repr__": representation,
    "__str__": text,
    "item": item,
    "tolist": tolist,
}
for name, function in METHODS.items():
    setattr(Array, name, function)
