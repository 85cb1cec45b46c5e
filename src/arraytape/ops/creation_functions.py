"""Creation functions.  Arrays that are passed in stay connected."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from .._array import PINNED, SCALAR, Array, wrap
from .._errors import explain, user_line
from .._storage import NUMPY, STORAGES, storage_of
from .._view import current
from .._words import composite
from .data_type_functions import astype
from .elementwise_functions import positive
from .manipulation_functions import broadcast_to, reshape, stack
from .searching_functions import where


@composite
def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """An Array of ``obj``: an Array (recorded), a raw array, scalars or nested sequences of these.

    An Array that already fits comes back itself unless copy=True.  Foreign data is copied unless
    copy=False, so that a later write to the source cannot falsify a recorded value; with
    copy=False the memory is shared, or ValueError where it cannot be.
    """
    if isinstance(obj, Array):
        return recast(obj, dtype, device, copy)
    if isinstance(obj, list | tuple) and holds_arrays(obj):
        if copy is False:
            raise ValueError("asarray: a sequence of Arrays cannot be made into one without a copy")
        return recast(stack([asarray(part) for part in obj]), dtype, device, None)
    storage = STORAGES.get(type(obj), NUMPY)
    try:
        data = storage.asarray(obj, dtype, device, copy is not False)
    except Exception as error:
        raise explain("asarray", error, obj=obj, dtype=dtype, copy=copy) from error
    if data.dtype.kind not in "biufc":
        raise TypeError(
            f"asarray: dtype {data.dtype} is not one of the standard's [at {user_line()}]; got "
            f"{type(obj).__name__}"
        )
    return wrap(data, 0, PINNED if copy is False else 0)


def recast(x: Array, dtype: Any, device: Any, copy: bool | None) -> Array:
    """asarray of an Array: itself, a recorded copy, or a recorded cast."""
    _, data = current(x)
    storage_of(data).check_device(device)
    if dtype is not None and np.dtype(dtype) != data.dtype:
        if copy is False:
            raise ValueError(
                f"asarray: casting {data.dtype} to {dtype} needs a copy, but copy=False"
            )
        return astype(x, dtype)
    if not copy:
        return x
    return copied(x)


def copied(x: Array) -> Array:
    """A recorded copy in memory of its own."""
    _, data = current(x)
    copy = wrap(storage_of(data).copy(data)) if data.dtype.kind == "b" else positive(x)
    copy._state &= ~SCALAR
    return copy


def holds_arrays(nested: Any) -> bool:
    """Whether an Array is anywhere in a nested sequence."""
    return any(
        isinstance(part, Array) or (isinstance(part, list | tuple) and holds_arrays(part))
        for part in nested
    )


def made(
    name: str, *arguments: Any, device: Any = None, cast: Any = None, **keywords: Any
) -> Array:
    """A new Array from NumPy's creation function of this name, cast to a dtype if one is given."""
    NUMPY.check_device(device)
    function: Callable[..., Any] = attrgetter(name)(np)
    try:
        data = function(*arguments, **keywords)
        return wrap(data if cast is None else data.astype(cast))
    except Exception as error:
        raise explain(name, error, arguments=arguments, **keywords) from error


@composite
def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros."""
    return made("zeros", shape, dtype=dtype, device=device)


@composite
def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Ones."""
    return made("ones", shape, dtype=dtype, device=device)


@composite
def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Memory as it is found: write before you read."""
    return made("empty", shape, dtype=dtype, device=device)


@composite
def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros in the shape, dtype and on the device of x."""
    return made("zeros", x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


@composite
def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Ones in the shape, dtype and on the device of x."""
    return made("ones", x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


@composite
def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Unwritten memory in the shape, dtype and on the device of x."""
    return made("empty", x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


@composite
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """Evenly spaced values in the half-open interval [start, stop)."""
    first, last = (0, start) if stop is None else (start, stop)
    return made("arange", first, last, step, dtype=dtype, device=device)


@composite
def linspace(
    start: float | Array,
    stop: float | Array,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """``num`` evenly spaced values from start to stop; 0-d Arrays as ends keep their gradient."""
    if not (isinstance(start, Array) or isinstance(stop, Array)):
        return made("linspace", start, stop, num, dtype=dtype, endpoint=endpoint, device=device)
    steps = made("arange", num, device=device, cast="float64")
    wide = np.result_type(*(getattr(x, "dtype", type(x)) for x in (start, stop)), np.float64)
    start, stop = (asarray(x, dtype=wide) for x in (start, stop))
    values = steps * ((stop - start) / max(num - 1 if endpoint else num, 1)) + start
    if endpoint and num > 1:
        values[-1] = stop
    return values if dtype is None else astype(values, dtype, copy=False)


@composite
def full(
    shape: int | tuple[int, ...],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """One value everywhere; a 0-d Array as value keeps its gradient."""
    if not isinstance(fill_value, Array):
        return made("full", shape, fill_value, dtype=dtype, device=device)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    filled = asarray(broadcast_to(fill_value, shape), copy=True, device=device)
    return filled if dtype is None else astype(filled, dtype, copy=False)


@composite
def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """One value everywhere, in the shape, dtype and on the device of x."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


@composite
def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Coordinate grids of 1-d arrays."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    count = len(arrays)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    shape = [1] * count
    for x, place in zip(arrays, places, strict=True):
        shape[place] = x.size
    grids = []
    for x, place in zip(arrays, places, strict=True):
        line = tuple(x.size if i == place else 1 for i in range(count))
        grids.append(asarray(broadcast_to(reshape(x, line), tuple(shape)), copy=True))
    return tuple(grids)


@composite
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An Array around another library's data, shared unless copy=True."""
    NUMPY.check_device(device)
    try:
        data = np.from_dlpack(x, copy=copy)
    except (TypeError, BufferError, ValueError, AttributeError) as error:
        raise explain("from_dlpack", error, x=x) from error
    return wrap(data, 0, 0 if copy is True else PINNED)


@composite
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """Ones on the k-th diagonal."""
    return made("eye", n_rows, n_cols, k=k, dtype=dtype or np.dtype("float64"), device=device)


def _triangle(x: Array, k: int, upper: bool) -> Array:
    n, m = x.shape[-2:]
    rows, columns = np.arange(n)[:, None], np.arange(m)
    inside = columns - rows >= k if upper else columns - rows <= k
    return where(asarray(inside), x, zeros_like(x))


@composite
def tril(x: Array, /, *, k: int = 0) -> Array:
    """The lower triangle of a matrix (or of each of a stack), on and below the k-th diagonal."""
    return _triangle(x, k, upper=False)


@composite
def triu(x: Array, /, *, k: int = 0) -> Array:
    """The upper triangle of a matrix (or of each of a stack), on and above the k-th diagonal."""
    return _triangle(x, k, upper=True)


def to_device(x: Array, device: Any, /, *, stream: Any = None) -> Array:
    """x on another device; x itself when it is there already.  ValueError for an unknown device."""
    return asarray(x, device=device)


setattr(Array, "to_device", to_device)  # noqa: B010
