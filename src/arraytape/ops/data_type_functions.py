"""Data types: casting, promotion, inspection."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.array import SCALAR, Array
from .._array.views import current
from .._define.words import composite, linear, sample, without_derivative
from .._storage import storage as storages
from .._storage.numpy_storage import NUMPY
from .._storage.storage import storage_at, storage_of
from .._util.errors import explain, user_line


@linear(
    transpose=lambda g, dtype: g,  # the engine casts back
    samples=(
        sample((3, 4), dtype=np.dtype("float64")),
        sample((2,), dtype=np.dtype("complex128")),
    ),
)
def cast(x: Array, /, dtype: Any) -> Array:
    """A copy of x with another dtype."""


def _back(g, source):
    # Not by xp: a rule's namespace is one storage's, and this leads out of it.
    return moved(g, source) if isinstance(g, Array) else storages.moved(g, source)


@linear(
    moves=True,
    transpose=_back,
    saves={"source": lambda x, storage: storage.device(x)},
    samples=(sample((3, 4), device="cpu"),),
)
def moved(x: Array, /, device: Any) -> Array:
    """A copy of x on another device."""


def placed(x: Array, device: Any) -> tuple[Array, bool]:
    """x on a device (None: where it is), and whether it had to be moved; ValueError for no device."""
    if type(x) is not Array:
        x = x._snapshot()
    if device is None:
        return x, False
    _, data = current(x)
    here = storage_of(data).beneath(data)
    if storage_at(device) is here and here.on(device) == here.on(x.device):
        return x, False
    return moved(x, device), True


@without_derivative
def discretized(x: Array, /, dtype: Any) -> Array:
    """A copy of x with an integer or boolean dtype."""


@composite
def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """x with another dtype; x itself when nothing changes and copy=False.

    Casting to an integer or boolean dtype cuts the gradient; a move to another device does not.
    """
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise explain("astype", error, x=x, dtype=dtype) from error
    x, came = placed(x, device)
    _, data = current(x)
    if dtype == data.dtype and (came or not copy):
        return x
    y = cast(x, dtype) if dtype.kind in "fc" else discretized(x, dtype)
    y._state |= x._state & SCALAR  # what is immutable in NumPy stays so
    return y


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind ("real floating", "integral"...), or one of several."""
    return bool(NUMPY.xp.isdtype(np.dtype(dtype), kind))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of an op on these arrays, dtypes and Python scalars."""
    return np.result_type(*(x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values cast without loss by the standard's promotion rules."""
    return bool(np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to))


def finfo(type: Any, /) -> Any:
    """Limits of a floating-point dtype: bits, eps, max, min, smallest_normal, dtype."""
    return NUMPY.xp.finfo(type.dtype if isinstance(type, Array) else type)


def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype: bits, max, min, dtype."""
    dtype = np.dtype(type.dtype if isinstance(type, Array) else type)
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: {dtype} is not an integer dtype [at {user_line()}]")
    return NUMPY.xp.iinfo(dtype)


@linear(
    transpose=lambda g, source, xp: xp.reinterpreted(g, source),
    saves={"source": lambda x: "c" if x.dtype.kind == "c" else "f"},
    selects=False,  # its rule needs a cotangent of the right kind, not counts of what is alive
    samples=(sample((3, 4), into="c"), sample((4,), into="f"), sample((0, 2), into="c")),
)
def reinterpreted(x: Array, /, into: str) -> Array:
    """Pairs of real numbers as complex ones (into "c"), or complex numbers as pairs ("f")."""
