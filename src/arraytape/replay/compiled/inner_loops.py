"""The C loops of NumPy's ufuncs, which machine code calls for tanh, exp, sums and matrix products.

Other code for these functions would have other last bits.  The addresses of the loops are read from the
public struct PyUFuncObject, after other fields of the struct were compared with the ufunc's attributes.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from .machine import Unsupported


class UfuncStruct(ctypes.Structure):
    """The first fields of NumPy's struct PyUFuncObject (numpy/ufuncobject.h)."""

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
    """The C loop in which NumPy computes a ufunc, for calls from machine code.

    function : the address of the loop.
    data : the address that is passed as its last argument.
    """

    function: int
    data: int


@functools.cache
def inner_loop(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> InnerLoop:
    """Return the C loop of a ufunc for the dtypes of operands and results; raise Unsupported if none."""
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
    """Return dtypes as NumPy writes them in ``ufunc.types``, such as "dd->d"."""
    chars = "".join([dtype.char for dtype in dtypes])
    return f"{chars[: ufunc.nin]}->{chars[ufunc.nin :]}"


@functools.cache
def read_struct(ufunc: np.ufunc) -> UfuncStruct:
    """Return the struct of a ufunc; raise Unsupported if fields differ from the ufunc's attributes.

    The struct has the addresses of the ufunc's C loops.
    """
    struct = UfuncStruct.from_address(id(ufunc))
    known = (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes)
    if (struct.nin, struct.nout, struct.nargs, struct.ntypes) != known:
        raise Unsupported("NumPy's ufuncs have another layout")
    types = bytes(struct.types[: struct.ntypes * struct.nargs])
    # The struct has the numbers of dtypes, and ``ufunc.types`` has their characters.
    shown = "".join(ufunc.types).replace("->", "")
    if [np.dtype(char).num for char in shown] != [*types]:
        raise Unsupported("NumPy's ufuncs have another layout")
    return struct
