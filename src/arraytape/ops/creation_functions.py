"""Creation functions.  Arrays that are passed in stay connected."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._array.array import PINNED, SCALAR, Array, asarray_like, wrap
from .._array.exits import leave_tapes
from .._array.views import current, in_order, lay_out_like, pin
from .._define.operands import first_array
from .._define.words import composite
from .._storage.numpy_storage import NUMPY
from .._storage.storage import (
    DEFAULT,
    STORAGES,
    Storage,
    is_known,
    storage_at,
    storage_for,
    storage_of,
)
from .._util.attach import attach_method
from .._util.errors import describe, explain, failure, raise_documented, see, short_repr, user_line
from .data_type_functions import astype, no_dtype, placed
from .elementwise_functions import floor, positive
from .manipulation_functions import broadcast_arrays, broadcast_to, reshape, stack
from .searching_functions import where

if TYPE_CHECKING:
    from .data_type_functions import Device, DType


@composite(creates=True)
def asarray(
    obj: Any, /, *, dtype: DType = None, device: Device = None, copy: bool | None = None
) -> Array:
    """Make an Array of host data, of another library's arrays, or of Arrays.

    Parameters
    ----------
    obj
        An Array, a raw array, a scalar or nested sequences of these.
    copy
        True: always copy.  None: an Array that already fits comes back itself, everything else
        is copied, so that a later write to the source cannot falsify a recorded value.  False:
        share memory, with a ValueError where that is impossible.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: an Array, or data of a GPU,
        stays where it is, and what else is given goes to the default device.

    Returns
    -------
    Array
        Its dtype is ``dtype``, else that of the data: int64, float64 or complex128 for Python
        numbers.

    Raises
    ------
    TypeError
        When obj has a dtype that is none of the standard's.
    ValueError
        When nested sequences are ragged, or copy=False and a copy is needed.
    OverflowError
        When a Python integer is too great for the dtype.

    Notes
    -----
    Derivative: through the recorded casts, moves and copies of Arrays, also inside a sequence.
    """
    if copy is not None and type(copy) is not bool:
        copy = truth("asarray", copy)
    if isinstance(obj, Array):
        return recast(obj, dtype, device, copy)
    if isinstance(obj, list | tuple) and (first := first_array(obj)) is not None:
        if copy is False:
            raise ValueError(
                f"asarray: a sequence of Arrays cannot become one without a copy, and copy=False "
                f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
            )
        parts = [asarray(part, device=first.device) for part in obj]
        return recast(stack(parts), dtype, device, None)
    home = storage_for(type(obj))
    if home is not None and home is not NUMPY:
        data = obj if copy is False else home.copy(obj)
        return recast(wrap(data, 0, PINNED if copy is False else 0), dtype, device, copy and None)
    device = DEFAULT[0] if device is None else device
    storage = storage_at(device)
    if storage is not NUMPY and copy is False and home is NUMPY:
        raise ValueError(
            f"asarray: {describe(obj)} is in the host's memory and needs a copy on "
            f"{short_repr(device)}, and "
            f"copy=False [at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
        )
    try:
        data = storage.asarray(obj, dtype, device, copy is not False)
    except Exception as error:
        what = describe(obj) + (f", dtype={describe(dtype)}" if dtype is not None else "")
        raise failure(f"asarray({what})", error) from error
    if copy is False and data.dtype != getattr(obj, "dtype", data.dtype):
        raise ValueError(
            f"asarray: {describe(obj)} needs a copy in the machine's byte order, and copy=False "
            f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
        )
    return wrap(data, 0, PINNED if copy is False else 0)


def truth(name: str, copy: Any) -> bool:
    """Return the truth value of ``copy``: NumPy takes any object that has one."""
    try:
        return bool(copy)
    except Exception as error:
        raise_documented(error, name, copy=copy)


def recast(x: Array, dtype: DType, device: Device, copy: bool | None) -> Array:
    """Return asarray of an Array: itself, a recorded copy, or a recorded cast."""
    x, came = placed(x, device)
    if came and copy is False:
        raise ValueError(
            f"asarray: {describe(x)} needs a copy on {short_repr(device)}, and copy=False "
            f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
        )
    try:
        target = x.dtype if dtype is None else np.dtype(dtype)
    except Exception as error:  # no dtype
        raise explain("asarray", error, x=x, dtype=dtype) from error
    if target != x.dtype:
        if copy is False:
            raise ValueError(
                f"asarray: {describe(x)} needs a copy to be cast to {target}, and copy=False "
                f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
            )
        return astype(x, target)
    return copied(x) if copy and not came else x


def copied(x: Array) -> Array:
    """Return a recorded copy in memory of its own, in the memory layout of x."""
    _, data = current(x)
    copy = wrap(storage_of(data).copy(data)) if data.dtype.kind == "b" else positive(x)
    copy._state &= ~SCALAR
    return lay_out_like(copy, x)


# The names of the positional arguments of ``made``, for messages.
PARAMETERS = {
    "arange": ("start", "stop", "step"),
    "empty": ("shape",),
    "eye": ("n_rows", "n_cols"),
    "full": ("shape", "fill_value"),
    "linspace": ("start", "stop", "num"),
    "ones": ("shape",),
    "zeros": ("shape",),
}


def made(name: str, *arguments: Any, device: Device = None, **keywords: Any) -> Array:
    """Return a new Array from the storage's creation function of this name."""
    device = DEFAULT[0] if device is None else device
    storage = storage_at(device)
    try:
        data = storage.create(name, device, *arguments, **keywords)
    except Exception as error:
        given = {**dict(zip(PARAMETERS.get(name, ("n", "d")), arguments, strict=False)), **keywords}
        raise explain(name, error, **given) from error
    if type(data) not in STORAGES:  # a foreign object among the arguments has made it
        raise TypeError(
            f"{name}: arguments must be numbers or Arrays, got {describe(arguments)} [at {user_line()}]"
        )
    if not is_known(data.dtype):
        raise no_dtype(name, data.dtype)
    return wrap(data)


@composite(takes="any", gives=("given", "default"), creates=True)
def zeros(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of zeros."""
    return made("zeros", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("given", "default"), creates=True)
def ones(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of ones."""
    return made("ones", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("given", "default"), creates=True)
def empty(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array whose elements are arbitrary: write before you read."""
    return made("empty", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()", linear_in=("x",))
def zeros_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of zeros in the shape of x."""
    return like(x, "zeros", dtype, device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()")
def ones_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of ones in the shape of x."""
    return like(x, "ones", dtype, device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()")
def empty_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array in the shape of x whose elements are arbitrary: write before you read."""
    return like(x, "empty", dtype, device)


def like(x: Array, name: str, dtype: DType, device: Device) -> Array:
    """Make an array with the shape of x, and its dtype and device where none is given."""
    dtype = x.dtype if dtype is None else dtype
    new = made(name, x.shape, dtype=dtype, device=x.device if device is None else device)
    return lay_out_like(new, x)


@composite(creates=True)
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType = None,
    device: Device = None,
) -> Array:
    """Make an array of evenly spaced values in a half-open interval.

    Parameters
    ----------
    start
        The first value; the end of the interval when stop is None, which then starts at 0.
    stop
        The end of the interval, which is not part of it.
    step
        The distance between values.

    Returns
    -------
    Array
        With one dimension.  Its dtype is ``dtype``, else int64 if all numbers are integers and
        float64 if not.

    Raises
    ------
    ZeroDivisionError
        When step is 0.
    """
    first, last = (0, start) if stop is None else (start, stop)
    return made("arange", first, last, step, dtype=dtype, device=device)


@composite(creates=True)
def linspace(
    start: float | Array,
    stop: float | Array,
    /,
    num: int,
    *,
    dtype: DType = None,
    device: Device = None,
    endpoint: bool = True,
) -> Array:
    """Make an array of evenly spaced values from start to stop.

    Parameters
    ----------
    start
        The first value: a number or an Array.
    stop
        The end of the interval: a number or an Array, of a shape that broadcasts with that of start.
    num
        How many values.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: where an Array among the ends lies,
        else the default device.
    endpoint
        Whether stop is the last value.

    Returns
    -------
    Array
        Of shape (num, ...), where ... is the one to which start and stop broadcast: () for numbers.
        Its dtype is ``dtype``, else float64, complex128 for complex ends.

    Raises
    ------
    TypeError
        When num is no integer.
    ValueError
        When num is negative, or the shapes do not broadcast.

    Notes
    -----
    Arrays as ends keep their gradient.  Ends with axes, as NumPy has them, are beyond the standard.
    """
    if not (isinstance(start, Array) or isinstance(stop, Array)):
        return made("linspace", start, stop, num, dtype=dtype, endpoint=endpoint, device=device)
    num = number_of_values(num)
    if device is None:
        device = (start if isinstance(start, Array) else stop).device  # type: ignore[union-attr]
    steps = made("arange", num, device=device, dtype=np.dtype("float64"))
    wide = np.result_type(*(getattr(x, "dtype", type(x)) for x in (start, stop)), np.float64)
    start, stop = (asarray(x, dtype=wide, device=device) for x in (start, stop))
    steps = reshape(steps, (num, *(1,) * max(start.ndim, stop.ndim)))
    values = steps * ((stop - start) / max(num - 1 if endpoint else num, 1)) + start
    if endpoint and num > 1:
        values[-1] = stop
    if dtype is None:
        return values
    whole = np.dtype(dtype).kind in "iu"  # as in NumPy, rounded down, not towards 0
    return astype(floor(values) if whole else values, dtype, copy=False)


def number_of_values(num: Any) -> int:
    """Return ``num`` of linspace as an int; raise an error if it is no number of values."""
    if not hasattr(num, "__index__"):
        raise TypeError(f"linspace: num must be an integer, got {describe(num)} [at {user_line()}]")
    if (count := int(num.__index__())) < 0:
        raise ValueError(f"linspace: num must not be negative, got {count} [at {user_line()}]")
    return count


@composite(creates=True)
def full(
    shape: int | tuple[int, ...], fill_value: Any, *, dtype: DType = None, device: Device = None
) -> Array:
    """Make an array with one value everywhere.

    Parameters
    ----------
    fill_value
        The value; an Array of shape () keeps its gradient.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: where an Array as value lies,
        else the default device.

    Returns
    -------
    Array
        Of the given shape.  Its dtype is ``dtype``, else that of the value: int64, float64,
        complex128 or bool for Python scalars.

    Raises
    ------
    ValueError
        When a length is negative.

    Notes
    -----
    Derivative: the sum of the gradient goes back to an Array as value.
    """
    if not isinstance(fill_value, Array):
        return made("full", shape, fill_value, dtype=dtype, device=device)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    filled = asarray(broadcast_to(fill_value, shape), copy=True, device=device)
    return filled if dtype is None else astype(filled, dtype, copy=False)


@composite(takes="any", gives=("x", "like"), creates=True, signature="(),()->()")
def full_like(x: Array, /, fill_value: Any, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array with one value everywhere, in the shape of x.

    Parameters
    ----------
    fill_value
        The value; an Array of shape () keeps its gradient.

    Notes
    -----
    Derivative: the sum of the gradient goes back to an Array as value, none to x.
    """
    dtype, device = x.dtype if dtype is None else dtype, x.device if device is None else device
    return lay_out_like(full(x.shape, fill_value, dtype=dtype, device=device), x)


@composite
def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Make coordinate grids of 1-d arrays.

    Parameters
    ----------
    arrays
        The coordinates along each axis.
    indexing
        Order of the first two axes: Cartesian ('xy': the second coordinate comes first) or that
        of the arrays ('ij').

    Returns
    -------
    tuple of Array
        As many as there are arrays, all of one shape with an axis for each.

    Raises
    ------
    ValueError
        When indexing is another word.
    """
    return tuple([in_order(grid, "C") for grid in grids(arrays, indexing)])


def grids(arrays: Sequence[Array], indexing: str, sparse: bool = False) -> list[Array]:
    """Return the views that ``meshgrid`` copies; sparse ones have length 1 along the other axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"meshgrid: indexing must be 'xy' or 'ij', got {short_repr(indexing)} [at {user_line()}]"
        )
    count = len(arrays)
    places = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else [*range(count)]
    lines = [
        reshape(x, (*(1,) * place, -1, *(1,) * (count - place - 1)))
        for x, place in zip(arrays, places, strict=True)
    ]
    return lines if sparse else [*broadcast_arrays(*lines)]


@composite(creates=True, moves=True)
def from_dlpack(x: Any, /, *, device: Device = None, copy: bool | None = None) -> Array:
    """Make an Array of another library's array, through DLPack.

    Parameters
    ----------
    x
        An array with the methods ``__dlpack__`` and ``__dlpack_device__``.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: where the data lies.
    copy
        True: always copy; None or False: share memory.

    Returns
    -------
    Array
        Of the shape and dtype of x.

    Raises
    ------
    TypeError
        When x is no such array.
    BufferError
        When its memory cannot be shared.

    Notes
    -----
    Derivative: none; data leaves the tape on its way through DLPack.
    """
    try:
        if isinstance(x, Array):
            data = leave_tapes(x, "from_dlpack()")
            x = data if copy is True else pin(x)
        data = dlpack_storage(x).from_dlpack(x, copy)
    except (TypeError, BufferError, ValueError, AttributeError) as error:
        raise failure(f"from_dlpack({describe(x)})", error) from error
    return asarray(wrap(data, 0, 0 if copy is True else PINNED), device=device)


def dlpack_storage(x: Any) -> Storage:
    """Return the storage that can share memory with another library's data, by the data's device."""
    home = STORAGES.get(type(x))
    if home is not None:
        return home
    kind = x.__dlpack_device__()[0]
    homes = [storage for storage in STORAGES.values() if kind in storage.dlpack_types]
    return homes[0] if homes else storage_at("cuda:0")


@composite(creates=True)
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType = None,
    device: Device = None,
) -> Array:
    """Make a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows
        Number of rows.
    n_cols
        Number of columns; None: as many as rows.

    Returns
    -------
    Array
        Of shape (n_rows, n_cols).  Its dtype is ``dtype``, else float64.
    """
    dtype = np.dtype("float64") if dtype is None else dtype
    return made("eye", n_rows, n_cols, k=k, dtype=dtype, device=device)


def _triangle(x: Array, k: int, upper: bool) -> Array:
    if x.ndim < 2:
        raise ValueError(
            f"{'triu' if upper else 'tril'}: needs matrices, got {describe(x)} [at {user_line()}]"
        )
    n, m = x.shape[-2:]
    rows, columns = np.arange(n)[:, None], np.arange(m)
    inside = columns - rows >= k if upper else columns - rows <= k
    return where(asarray_like(x, inside), x, zeros((), dtype=x.dtype, device=x.device))


@composite(takes="any", gives=("x", "x"), signature="(m,n)->(m,n)", continuous=True)
def tril(x: Array, /, *, k: int = 0) -> Array:
    """Copy the lower triangle of a matrix, or of each matrix of a stack; set other elements to 0.

    Parameters
    ----------
    x
        Array of any dtype, of shape (..., M, N).
    k
        The highest diagonal that stays: 0 for the main one, above it for k > 0.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    """
    return _triangle(x, k, upper=False)


@composite(takes="any", gives=("x", "x"), signature="(m,n)->(m,n)", continuous=True)
def triu(x: Array, /, *, k: int = 0) -> Array:
    """Copy the upper triangle of a matrix, or of each matrix of a stack; set other elements to 0.

    Parameters
    ----------
    x
        Array of any dtype, of shape (..., M, N).
    k
        The lowest diagonal that stays: 0 for the main one, above it for k > 0.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    """
    return _triangle(x, k, upper=True)


@attach_method(Array, "to_device")
def to_device(x: Array, device: Hashable, /, *, stream: Any = None) -> Array:
    """Move the array to another device; the move is recorded.

    Parameters
    ----------
    device : str
        Such as 'cpu' or 'cuda:0'.
    stream : object, default: None
        Not used.

    Returns
    -------
    Array
        On that device; the array itself when it is there already.

    Raises
    ------
    ValueError
        When there is no such device.
    """
    try:
        return placed(x, device)[0]
    except ValueError as error:
        raise explain("to_device", error, x=x, device=device) from error
