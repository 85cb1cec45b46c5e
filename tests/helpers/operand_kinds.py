"""Operands of every kind and layout, and options in equivalent types."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp

KINDS = ("Array", "ndarray", "list", "Python", "NumPy", "view", "Fortran", "strided")


class Operand(NamedTuple):
    """One operand of a call.

    data : its value.  kind : the type and layout in which arraytape gets it (one of KINDS).
    smooth : True if the derivative with respect to it is tested.
    """

    data: np.ndarray
    kind: str = "Array"
    smooth: bool = False

    def made(self) -> Any:
        """Return the operand as an object of its kind."""
        return in_kind(self.data, self.kind)

    def plain(self, data: np.ndarray | None = None) -> Any:
        """Return the operand for NumPy's function, with the same layout; ``data`` replaces its value."""
        data = self.data if data is None else np.asarray(data)
        if self.kind in ("list", "Python"):
            return data.tolist()
        return data[()] if self.kind == "NumPy" else laid_out(data, self.kind)

    @property
    def is_array(self) -> bool:
        """True if ``made`` returns an Array, in any memory layout."""
        return self.kind in ("Array", "view", "Fortran", "strided")


def laid_out(data: np.ndarray, kind: str, make: Any = np.asarray) -> Any:
    """Return a copy of ``data`` in the memory layout of one of KINDS.

    make : the function that creates the array, ``np.asarray`` or ``xp.asarray``.
    """
    if kind == "view":
        return make(np.stack([data, data]))[1, ...]
    if kind == "Fortran":
        return make(np.array(data, order="F"))
    if kind == "strided" and data.ndim:
        return make(np.repeat(data, 2, axis=-1))[..., ::2]
    return make(np.array(data, order="K"))


def in_kind(data: np.ndarray, kind: str) -> Any:
    """Return ``data`` as an object of one of KINDS."""
    if kind == "ndarray":
        return np.array(data, order="K")
    if kind in ("list", "Python"):
        return data.tolist()
    return data[()] if kind == "NumPy" else laid_out(data, kind, xp.asarray)


class Fixed:
    """An option that is passed on unchanged, such as an index."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return repr(self.value)


def spelled(value: Any, rng: random.Random) -> Any:
    """Return an option, or an equivalent value of another type, such as np.int64(1) for 1."""
    if isinstance(value, Operand | str | type | np.dtype) or value is None or rng.random() < 0.4:
        return value
    if isinstance(value, bool):
        return rng.choice([np.bool_(value), int(value)])
    if isinstance(value, int):
        fitting = [np.int64, np.int8, np.intp, np.asarray]
        fitting += [np.uint8, np.uint64] if value >= 0 else []
        return rng.choice(fitting)(value)
    if isinstance(value, float):
        exact = float(np.float32(value)) == value or value != value
        return rng.choice([np.float64, np.asarray, np.float32 if exact else np.float64])(value)
    if type(value) in (list, tuple):
        return rng.choice([list, tuple])([spelled(part, rng) for part in value])
    return value
