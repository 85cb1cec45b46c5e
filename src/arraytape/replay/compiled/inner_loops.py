"""NumPy's own inner loops, which compute what decides bits: tanh, exp, sums, products of matrices.

Their addresses stand in the public struct PyUFuncObject.  Nothing is read from it before its
other fields have the values that NumPy gives for them.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from .machine import Unsupported


class UfuncStruct(ctypes.Structure):
    """The first fields of NumPy's PyUFuncObject (numpy/ufuncobject.h)."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    ]


class InnerLoop(NamedTuple):
    """An inner loop: the address of the function, and the address that it gets as its data."""

    function: int
    data: int


@functools.cache
def inner_loop(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> InnerLoop:
    """Return the loop for these dtypes, those of the results included, or raise Unsupported."""
    for dtype in dtypes:
        if not dtype.isnative or dtype.kind not in "biufc":
            raise Unsupported(f"no loop of {ufunc.__name__} for {dtype}")
    signature = signature_text(ufunc, dtypes)
    if signature not in ufunc.types:
        raise Unsupported(f"no loop of {ufunc.__name__} for {signature}")
    struct = read_struct(ufunc)
    at = ufunc.types.index(signature)
    function = struct.functions[at]
    if not function:
        raise Unsupported(f"NumPy has no loop of the old kind for {ufunc.__name__}")
    return InnerLoop(function, (struct.data[at] if struct.data else 0) or 0)


def signature_text(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> str:
    chars = "".join([dtype.char for dtype in dtypes])
    return f"{chars[: ufunc.nin]}->{chars[ufunc.nin :]}"


@functools.cache
def read_struct(ufunc: np.ufunc) -> UfuncStruct:
    """Return the fields of a ufunc, or raise Unsupported where they are no PyUFuncObject's."""
    struct = UfuncStruct.from_address(id(ufunc))
    known = (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes)
    if (struct.nin, struct.nout, struct.nargs, struct.ntypes) != known:
        raise Unsupported("NumPy's ufuncs have another layout")
    types = bytes(struct.types[: struct.ntypes * struct.nargs])
    # The types are numbers, which NumPy shows as characters.
    shown = "".join(ufunc.types).replace("->", "")
    if [np.dtype(char).num for char in shown] != [*types]:
        raise Unsupported("NumPy's ufuncs have another layout")
    return struct
