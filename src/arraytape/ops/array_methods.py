"""NumPy's methods of arrays, beyond those of the standard: each is a function of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array
from .._errors import describe, user_line
from .._words import linear, sample
from . import data_type_functions as dtypes
from . import elementwise_functions as elementwise
from . import searching_functions as searching
from . import statistical_functions as statistics
from . import utility_functions as utilities
from .creation_functions import copied
from .indexing_functions import take
from .linalg import diagonal, trace
from .manipulation_functions import (
    broadcast_to,
    normal_axis,
    permute_dims,
    repeat,
    reshape,
    squeeze,
)
from .numpy_functions import dot
from .sorting_functions import argsort
from .writing import setitem

Axis = int | tuple[int, ...] | None


def reduction(name: str) -> Callable[..., Array]:
    """A reduction as a method, with the axis in NumPy's place."""
    homes = (statistics, searching, utilities)
    function = next(found for home in homes if (found := getattr(home, name, None)) is not None)

    def method(x: Array, axis: Axis = None, **options: Any) -> Array:
        return function(x, axis=axis, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{name}``."
    return method


def running(name: str) -> Callable[..., Array]:
    """A cumulative function as a method: of all elements in one dimension when there is no axis."""
    function = getattr(statistics, name)

    def method(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        return function(x, axis=axis, dtype=dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{name}``."
    return method


def method_reshape(x: Array, *shape: Any, copy: bool | None = None) -> Array:
    """See ``reshape``; the lengths may come one by one."""
    return reshape(x, shape[0] if len(shape) == 1 else shape, copy=copy)


def method_transpose(x: Array, *axes: Any) -> Array:
    """See ``permute_dims``; the axes are reversed when none are given."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, tuple(order) if order else tuple(reversed(range(x.ndim))))


def method_swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes in each other's place."""
    order = [*range(x.ndim)]
    i, j = (normal_axis("swapaxes", x, axis) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return permute_dims(x, tuple(order))


def method_squeeze(x: Array, axis: Axis = None) -> Array:
    """See ``squeeze``; all axes of length 1 when none is given."""
    return squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def method_astype(x: Array, dtype: Any, *, copy: bool = True) -> Array:
    """See ``astype``."""
    return dtypes.astype(x, dtype, copy=copy)


def method_flatten(x: Array) -> Array:
    """A copy in one dimension."""
    return copied(reshape(x, (-1,)))


def method_clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """See ``clip``."""
    return elementwise.clip(x, min, max)


def method_repeat(x: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """See ``repeat``."""
    return repeat(x, repeats, axis=axis)


def method_take(x: Array, indices: Any, axis: int | None = None) -> Array:
    """The elements at some places, of all in one dimension when there is no axis; see ``take``."""
    if isinstance(indices, Array) and indices.ndim == 1 and axis is not None:
        return take(x, indices, axis=axis)
    at = 0 if axis is None else normal_axis("take", x, axis)
    flat = reshape(x, (-1,)) if axis is None else x
    return flat[(*(slice(None),) * at, indices)]


def method_argsort(x: Array, axis: int | None = -1, *, stable: bool = True) -> Array:
    """See ``argsort``; of all elements in one dimension for axis=None."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return argsort(x, axis=axis, stable=stable)


def method_diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A copy of a diagonal, of the first two axes unless others are named."""
    return diagonal(last_two(x, axis1, axis2), offset=offset)


def method_trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The sum over a diagonal, of the first two axes unless others are named."""
    return trace(last_two(x, axis1, axis2), offset=offset)


def last_two(x: Array, axis1: int, axis2: int) -> Array:
    """x with two axes moved to the end."""
    ends = [normal_axis("diagonal", x, axis) for axis in (axis1, axis2)]
    return permute_dims(x, tuple([i for i in range(x.ndim) if i not in ends] + ends))


def method_fill(x: Array, value: Any) -> None:
    """Write one value everywhere."""
    setitem(x, ..., value)


@linear(
    transpose=lambda g, source, xp: xp.reinterpreted(g, source),
    saves={"source": lambda x: "c" if x.dtype.kind == "c" else "f"},
    selects=False,  # its rule needs a cotangent of the right kind, not counts of what is alive
    samples=(sample((3, 4), into="c"), sample((4,), into="f"), sample((0, 2), into="c")),
)
def reinterpreted(x: Array, /, into: str) -> Array:
    """Pairs of real numbers as complex ones (into "c"), or complex numbers as pairs ("f")."""


def method_view(x: Array, dtype: Any = None) -> Array:
    """Another handle on x; of a real or complex dtype of the same precision, a read-only copy.

    Real numbers are read in pairs along the last axis, as NumPy does it.
    """
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    if wanted == x.dtype:
        return x[...]
    pair = np.dtype(
        f"c{2 * x.dtype.itemsize}" if x.dtype.kind == "f" else f"f{x.dtype.itemsize // 2}"
    )
    if x.dtype.kind not in "fc" or wanted != pair or not x.ndim:
        raise TypeError(
            f"view: {describe(x)} cannot be read as {wanted} [at {user_line()}]; a real dtype only as "
            "the complex one of its precision and back: use astype to convert"
        )
    copy = reinterpreted(x, wanted.kind)
    return broadcast_to(copy, copy.shape)  # read-only: nobody writes to it and takes it for x


METHODS: dict[str, Any] = {
    **{
        name: reduction(name)
        for name in (
            "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var",
        )
    },
    "argsort": method_argsort,
    "astype": method_astype,
    "clip": method_clip,
    "conj": elementwise.conj,
    "conjugate": elementwise.conj,
    "copy": copied,
    "cumprod": running("cumulative_prod"),
    "cumsum": running("cumulative_sum"),
    "diagonal": method_diagonal,
    "dot": dot,
    "fill": method_fill,
    "flatten": method_flatten,
    "imag": property(elementwise.imag),
    "nonzero": searching.nonzero,
    "ravel": lambda x: reshape(x, (-1,)),
    "real": property(elementwise.real),
    "repeat": method_repeat,
    "reshape": method_reshape,
    "round": elementwise.round,
    "squeeze": method_squeeze,
    "swapaxes": method_swapaxes,
    "take": method_take,
    "trace": method_trace,
    "transpose": method_transpose,
    "view": method_view,
}  # fmt: skip
for name, method in METHODS.items():
    setattr(Array, name, method)
