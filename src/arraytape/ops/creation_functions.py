"""Creation functions.  Gradients flow back to Arrays among their arguments."""

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
    HOST,
    STORAGES,
    Storage,
    is_known,
    storage_at,
    storage_for,
    storage_of,
)
from .._util.attach import attach_method
from .._util.container_kinds import KINDS
from .._util.errors import describe, explain, failure, raise_documented, see, short_repr, user_line
from .data_type_functions import astype, move_if_needed, no_dtype
from .elementwise_functions import floor, positive
from .manipulation_functions import broadcast_arrays, broadcast_to, reshape, stack
from .searching_functions import where

if TYPE_CHECKING:
    from .data_type_functions import Device, DType

PYTHON = (list, tuple, float, int, complex)


@composite(creates=True)
def asarray(
    obj: Any, /, *, dtype: DType = None, device: Device = None, copy: bool | None = None
) -> Array:
    """Make an Array of host data, of another library's arrays, or of Arrays.

    Parameters
    ----------
    obj
        An Array, a raw array, a scalar or nested sequences of these; an array of another library, which
        passes through DLPack if it can; a DataFrame or Series of pandas or polars.
    copy
        True: always copy.  None: return an Array itself if dtype and device fit, and copy any other
        object, so that a later write to the object does not change a recorded value.  False: share
        memory; ValueError is raised where that is impossible.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: the present device of an Array or
        of data on a GPU, else the default device.

    Returns
    -------
    Array
        Its dtype is ``dtype`` if given, else the dtype of the data: int64, float64 or complex128 for
        Python numbers.

    Raises
    ------
    TypeError
        When obj has a dtype that is not in the standard.
    ValueError
        When nested sequences are ragged, or copy is False and a copy is needed.
    OverflowError
        When a Python integer is too great for the dtype.

    Notes
    -----
    Derivative: casts, moves and copies of Arrays are recorded, also for Arrays in a sequence.
    """
    if copy is not None and type(copy) is not bool:
        copy = copy_as_bool("asarray", copy)
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
    if home is None and not isinstance(obj, PYTHON) and (x := by_protocol(obj)) is not None:
        if isinstance(x, Array):
            device = DEFAULT[0] if device is None and x.device == HOST else device
            return recast(x, dtype, device, copy is not False)
        return asarray(x, dtype=dtype, device=device, copy=copy)
    if home is NUMPY and obj.dtype.hasobject and first_array(objects := [obj.tolist()]) is not None:
        return asarray(objects[0], dtype=dtype, device=device, copy=copy)
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


def by_protocol(obj: Any) -> Any:
    """Convert an object of an unknown library, such as a dataframe, for ``asarray``; else return None.

    A dataframe becomes an array or a list, an array with ``__dlpack__`` an Array.
    """
    if (kind := KINDS[type(obj)]) is not None and kind.as_array is not None:
        return kind.as_array(obj)
    return by_dlpack(obj)


def by_dlpack(obj: Any) -> Array | None:
    """Return an array of another library as an Array that shares its memory, through DLPack.

    Return None if the object has no method ``__dlpack__``, or its data no form in DLPack.  If the
    library refuses to share the data, raise its BufferError or RuntimeError with a message.
    """
    if not hasattr(type(obj), "__dlpack__") or isinstance(obj, np.ndarray):
        return None
    try:
        return wrap(dlpack_storage(obj).from_dlpack(obj, None), 0, PINNED)
    except (BufferError, RuntimeError) as error:  # RuntimeError for a dtype such as bfloat16
        raise failure(f"asarray({describe(obj)})", error) from error
    except (TypeError, ValueError):  # the type of the data has no form in DLPack
        return None


def copy_as_bool(name: str, copy: Any) -> bool:
    """Return the argument ``copy`` of the function ``name`` as a bool, from any object, as in NumPy."""
    try:
        return bool(copy)
    except Exception as error:
        raise_documented(error, name, copy=copy)


def recast(x: Array, dtype: DType, device: Device, copy: bool | None) -> Array:
    """Return ``asarray(x, ...)`` for an Array x: x itself, or a copy that tapes record.

    The copy may have another dtype or lie on another device.
    """
    x, came = move_if_needed(x, device)
    if came and copy is False:
        raise ValueError(
            f"asarray: {describe(x)} needs a copy on {short_repr(device)}, and copy=False "
            f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
        )
    try:
        target = x.dtype if dtype is None else np.dtype(dtype)
    except Exception as error:  # ``dtype`` is not a dtype
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
    """Return a writable copy of x, which tapes record, with the memory layout of x."""
    _, data = current(x)
    copy = wrap(storage_of(data).copy(data)) if data.dtype.kind == "b" else positive(x)
    copy._state &= ~SCALAR
    return lay_out_like(copy, x)


# The names of the positional arguments of ``create_array``, for messages.
PARAMETERS = {
    "arange": ("start", "stop", "step"),
    "empty": ("shape",),
    "eye": ("n_rows", "n_cols"),
    "full": ("shape", "fill_value"),
    "linspace": ("start", "stop", "num"),
    "ones": ("shape",),
    "zeros": ("shape",),
}


def create_array(name: str, *arguments: Any, device: Device = None, **keywords: Any) -> Array:
    """Return a new Array, made by a creation function of the array library that serves ``device``.

    name : the function, such as "zeros".  arguments, keywords : its arguments, apart from the device.
    """
    device = DEFAULT[0] if device is None else device
    storage = storage_at(device)
    try:
        data = storage.create(name, device, *arguments, **keywords)
    except Exception as error:
        given = {**dict(zip(PARAMETERS.get(name, ("n", "d")), arguments, strict=False)), **keywords}
        raise explain(name, error, **given) from error
    # An argument of an unknown type may have made NumPy return an object of that type.
    if type(data) not in STORAGES:
        raise TypeError(
            f"{name}: arguments must be numbers or Arrays, got {describe(arguments)} [at {user_line()}]"
        )
    if not is_known(data.dtype):
        raise no_dtype(name, data.dtype)
    return wrap(data)


@composite(takes="any", gives=("given", "default"), creates=True)
def zeros(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of zeros."""
    return create_array("zeros", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("given", "default"), creates=True)
def ones(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of ones."""
    return create_array("ones", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("given", "default"), creates=True)
def empty(shape: int | tuple[int, ...], *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array without setting its elements, whose values are arbitrary."""
    return create_array("empty", shape, dtype=dtype, device=device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()", linear_in=("x",))
def zeros_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of zeros in the shape of x."""
    return make_like(x, "zeros", dtype, device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()")
def ones_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array of ones in the shape of x."""
    return make_like(x, "ones", dtype, device)


@composite(takes="any", gives=("x", "like"), creates=True, signature="()->()")
def empty_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array in the shape of x without setting its elements, whose values are arbitrary."""
    return make_like(x, "empty", dtype, device)


def make_like(x: Array, name: str, dtype: DType, device: Device) -> Array:
    """Make an array with the shape of x, and with its dtype and device unless others are given.

    name : the creation function, "zeros", "ones" or "empty".
    """
    dtype = x.dtype if dtype is None else dtype
    new = create_array(name, x.shape, dtype=dtype, device=x.device if device is None else device)
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
        The first value.  If stop is None, start is the end of an interval that begins at 0.
    stop
        The end of the interval, which is not included.
    step
        The distance between values.

    Returns
    -------
    Array
        With one dimension.  Its dtype is ``dtype`` if given, else int64 if all numbers are integers,
        and float64 otherwise.

    Raises
    ------
    ZeroDivisionError
        When step is 0.
    """
    first, last = (0, start) if stop is None else (start, stop)
    return create_array("arange", first, last, step, dtype=dtype, device=device)


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
        The end of the interval: a number or an Array.  The shapes of start and stop broadcast.
    num
        The number of values.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: the device of start or stop if one
        of them is an Array, else the default device.
    endpoint
        True to include stop as the last value.

    Returns
    -------
    Array
        Of shape (num, ...), where ... is the shape to which start and stop broadcast.
        Its dtype is ``dtype`` if given, else float64, or complex128 for a complex start or stop.

    Raises
    ------
    TypeError
        When num is not an integer.
    ValueError
        When num is negative, or the shapes do not broadcast.

    Notes
    -----
    Gradients flow back to start and stop if they are Arrays.  A start or stop with axes is not part of
    the standard, but works as in NumPy.
    """
    if not (isinstance(start, Array) or isinstance(stop, Array)):
        return create_array(
            "linspace", start, stop, num, dtype=dtype, endpoint=endpoint, device=device
        )
    num = number_of_values(num)
    if device is None:
        device = (start if isinstance(start, Array) else stop).device  # type: ignore[union-attr]
    steps = create_array("arange", num, device=device, dtype=np.dtype("float64"))
    wide = np.result_type(*(getattr(x, "dtype", type(x)) for x in (start, stop)), np.float64)
    start, stop = (asarray(x, dtype=wide, device=device) for x in (start, stop))
    steps = reshape(steps, (num, *(1,) * max(start.ndim, stop.ndim)))
    values = steps * ((stop - start) / max(num - 1 if endpoint else num, 1)) + start
    if endpoint and num > 1:
        values[-1] = stop
    if dtype is None:
        return values
    whole = np.dtype(dtype).kind in "iu"  # NumPy rounds down for integers, not towards 0
    return astype(floor(values) if whole else values, dtype, copy=False)


def number_of_values(num: Any) -> int:
    """Return linspace's ``num`` as an int; raise an error unless it is a non-negative integer."""
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
        The value: a number or an Array.  Gradients flow back to an Array.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: the device of fill_value if it is
        an Array, else the default device.

    Returns
    -------
    Array
        Of the given shape.  Its dtype is ``dtype`` if given, else that of the value: int64, float64,
        complex128 or bool for Python scalars.

    Raises
    ------
    ValueError
        When a length is negative.

    Notes
    -----
    Derivative: the gradient of fill_value, if it is an Array, is the sum of the gradient of the result.
    """
    if not isinstance(fill_value, Array):
        return create_array("full", shape, fill_value, dtype=dtype, device=device)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    filled = asarray(broadcast_to(fill_value, shape), copy=True, device=device)
    return filled if dtype is None else astype(filled, dtype, copy=False)


@composite(takes="any", gives=("x", "like"), creates=True, signature="(),()->()")
def full_like(x: Array, /, fill_value: Any, *, dtype: DType = None, device: Device = None) -> Array:
    """Make an array with one value everywhere, in the shape of x.

    Parameters
    ----------
    fill_value
        The value: a number or an Array.  Gradients flow back to an Array.

    Notes
    -----
    Derivative: the gradient of fill_value, if it is an Array, is the sum of the gradient of the result.
    There is no gradient of x.
    """
    dtype, device = x.dtype if dtype is None else dtype, x.device if device is None else device
    return lay_out_like(full(x.shape, fill_value, dtype=dtype, device=device), x)


@composite
def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Make coordinate grids from 1-d arrays.

    Parameters
    ----------
    arrays
        The coordinates along each axis.
    indexing
        The order of the axes of the grids: 'ij' for the order of the arrays, 'xy' for Cartesian
        order, where the first two axes are swapped.

    Returns
    -------
    tuple of Array
        One grid for each array.  All grids have the same shape, with one axis for each array.

    Raises
    ------
    ValueError
        When indexing is another word.
    """
    return tuple([in_order(grid, "C") for grid in grids(arrays, indexing)])


def grids(arrays: Sequence[Array], indexing: str, sparse: bool = False) -> list[Array]:
    """Return meshgrid's grids, one for each of ``arrays``, as views.

    If ``sparse``, a grid has length 1 along all axes but that of its array.
    """
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
    """Make an Array from an array of another library, through DLPack.

    Parameters
    ----------
    x
        An array with the methods ``__dlpack__`` and ``__dlpack_device__``.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: the device of the data.
    copy
        True: always copy.  None or False: share memory.

    Returns
    -------
    Array
        Of the shape and dtype of x.

    Raises
    ------
    TypeError
        When x does not have these methods.
    BufferError
        When the memory of x cannot be shared.

    Notes
    -----
    Derivative: none; a value that passes through DLPack leaves the tape.
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
    """Return the storage that can share memory with x, an array with ``__dlpack_device__``.

    A storage is the adapter of an array library, here of NumPy or CuPy.  It is the one for the type of
    x, if there is one, else the first for x's kind of device.
    """
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
        The number of rows.
    n_cols
        The number of columns; None: as many as rows.

    Returns
    -------
    Array
        Of shape (n_rows, n_cols).  Its dtype is ``dtype`` if given, else float64.
    """
    dtype = np.dtype("float64") if dtype is None else dtype
    return create_array("eye", n_rows, n_cols, k=k, dtype=dtype, device=device)


def _triangle(x: Array, k: int, upper: bool) -> Array:
    """Return ``triu(x, k=k)`` if ``upper``, else ``tril(x, k=k)``."""
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
        The highest diagonal to copy: 0 for the main diagonal, k > 0 above it, k < 0 below it.

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
        The lowest diagonal to copy: 0 for the main diagonal, k > 0 above it, k < 0 below it.

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
        The device, such as 'cpu' or 'cuda:0'.
    stream : object, default: None
        Not used.

    Returns
    -------
    Array
        A copy on the device, or x itself if it is already there.

    Raises
    ------
    ValueError
        When there is no such device.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.asarray([1.0, 2.0]).to_device("cpu"))
    [1. 2.]
    """
    try:
        return move_if_needed(x, device)[0]
    except ValueError as error:
        raise explain("to_device", error, x=x, device=device) from error
