"""Values that no argument, or few, may have: each made anew, by a name that a script can use."""

from __future__ import annotations

import decimal
import fractions
import types

import numpy as np

import arraytape as xp


class SpiteError(Exception):
    """What hostile objects raise: it may come out as it is."""


def spite(*args, **keywords):
    raise SpiteError("asked")


class Foreign:
    """Like another library's array, of which every protocol raises."""

    shape, dtype, ndim = (2, 3), "float64", 2
    __array_namespace__ = __dlpack__ = __dlpack_device__ = spite


class Tensor:
    """Like another library's array that computes."""

    shape, dtype, ndim, size, device = (2, 3), np.dtype("float64"), 2, 6, "cpu"

    def __add__(self, other):
        return self

    __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __add__

    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(add=spite)


class Converted:
    __array__ = spite


class Counted:
    __index__ = __int__ = __float__ = spite


class Long:
    __len__ = __iter__ = __getitem__ = spite


class Sub(np.ndarray):
    """A subclass of NumPy's arrays."""


class Text(str):
    """A text of another type."""


def cyclic():
    found = [1.0]
    found.append(found)
    return found


def in_itself():
    found = {}
    found["a"] = found
    return found


def nested(depth=5_000):
    found = 1.0
    for _ in range(depth):
        found = [found]
    return found


def numbers():
    yield 1.0
    yield 2.0


X = [[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]]

VALUES = {
    "None": lambda: None,
    "'a'": lambda: "a",
    "''": lambda: "",
    "b'a'": lambda: b"a",
    "Text('a')": lambda: Text("a"),
    "object()": object,
    "...": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "1.5": lambda: 1.5,
    "1j": lambda: 1j,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "7": lambda: 7,
    "-9": lambda: -9,
    "2**63": lambda: 2**63,
    "10**30": lambda: 10**30,
    "-(10**30)": lambda: -(10**30),
    "10**400": lambda: 10**400,
    "Decimal(1)": lambda: decimal.Decimal(1),
    "Fraction(1, 3)": lambda: fractions.Fraction(1, 3),
    "[]": list,
    "()": tuple,
    "{}": dict,
    "{'a': 1.0}": lambda: {"a": 1.0},
    "set()": set,
    "{1, 2}": lambda: {1, 2},
    "[None]": lambda: [None],
    "['a', 'b']": lambda: ["a", "b"],
    "(0, 0)": lambda: (0, 0),
    "(7, -9)": lambda: (7, -9),
    "(2**62, 4)": lambda: (2**62, 4),
    "[[1.0], [2.0, 3.0]]": lambda: [[1.0], [2.0, 3.0]],
    "[object()]": lambda: [object()],
    "[10**30]": lambda: [10**30],
    "cyclic()": cyclic,
    "in_itself()": in_itself,
    "nested()": nested,
    "numbers()": numbers,
    "range(3)": lambda: range(3),
    "slice(0, 2)": lambda: slice(0, 2),
    "slice('a')": lambda: slice("a"),
    "float": lambda: float,
    "len": lambda: len,
    "np": lambda: np,
    "spite": lambda: spite,
    "np.dtype('O')": lambda: np.dtype("O"),
    "np.dtype('M8[s]')": lambda: np.dtype("M8[s]"),
    "np.dtype('>f8')": lambda: np.dtype(">f8"),
    "np.longdouble": lambda: np.longdouble,
    "np.longdouble(1)": lambda: np.longdouble(1),
    "np.float64(1)": lambda: np.float64(1),
    "np.datetime64('2000')": lambda: np.datetime64("2000"),
    "np.str_('a')": lambda: np.str_("a"),
    "np.void(b'ab')": lambda: np.void(b"ab"),
    "np.asarray(['a', 'b'])": lambda: np.asarray(["a", "b"]),
    "np.asarray([1.0, None])": lambda: np.asarray([1.0, None]),
    "np.asarray(X, object)": lambda: np.asarray(X, object),
    "np.asarray(10**30)": lambda: np.asarray(10**30),
    "np.zeros((2, 3), 'M8[s]')": lambda: np.zeros((2, 3), "M8[s]"),
    "np.zeros((2, 3), 'm8[s]')": lambda: np.zeros((2, 3), "m8[s]"),
    "np.asarray(X, np.longdouble)": lambda: np.asarray(X, np.longdouble),
    "np.asarray(X, np.clongdouble)": lambda: np.asarray(X, np.clongdouble),
    "np.asarray(X, '>f8')": lambda: np.asarray(X, ">f8"),
    "np.asarray(X, 'f2')": lambda: np.asarray(X, "f2"),
    "np.zeros(3, 'f8,i4')": lambda: np.zeros(3, "f8,i4"),
    "np.zeros((2, 3), 'i1')": lambda: np.zeros((2, 3), "i1"),
    "np.zeros((2, 3), 'u8')": lambda: np.zeros((2, 3), "u8"),
    "np.ones((2, 3), bool)": lambda: np.ones((2, 3), bool),
    "np.ma.masked_less(X, 0.5)": lambda: np.ma.masked_less(X, 0.5),
    "np.asarray(X).view(Sub)": lambda: np.asarray(X).view(Sub),
    "np.asarray(2.0)": lambda: np.asarray(2.0),
    "np.asarray(X)": lambda: np.asarray(X),
    "xp.asarray(X)": lambda: xp.asarray(X),
    "xp.asarray(1)": lambda: xp.asarray(1),
    "xp.asarray(1.0)": lambda: xp.asarray(1.0),
    "xp.asarray([0, 1])": lambda: xp.asarray([0, 1]),
    "xp.asarray([7, -9])": lambda: xp.asarray([7, -9]),
    "xp.asarray([True, False])": lambda: xp.asarray([True, False]),
    "xp.zeros((0,))": lambda: xp.zeros((0,)),
    "xp.zeros((2, 0, 3))": lambda: xp.zeros((2, 0, 3)),
    "xp.ones((3,), dtype=xp.complex64)": lambda: xp.ones((3,), dtype=xp.complex64),
    "[xp.asarray(X), None]": lambda: [xp.asarray(X), None],
    "xp.Variable(X)": lambda: xp.Variable(X),
    "xp.GradientTape()": lambda: xp.GradientTape(),
    "Foreign()": Foreign,
    "Tensor()": Tensor,
    "Converted()": Converted,
    "Counted()": Counted,
    "Long()": Long,
}
