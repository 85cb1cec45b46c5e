"""What compiled ops call off the hot path: operands that are not Arrays, sequences, several results.

An operand has three parts: its handle (the Array, or CONSTANT or GENERIC), its value id (tid; 0 for what
is not followed) and its data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import KEPT, PINNED, SCALAR, Array, asarray_like, namespace, wrap
from .._record.stack import new_tid
from .._storage.dispatch import NUMBERS, number
from .._storage.storage import KNOWN, MAKING, STORAGES, admitted, storage_for
from .._util.array_types import RawArray
from .._util.errors import describe, failure, see, user_line

if TYPE_CHECKING:
    import numpy.typing as npt


CONSTANT = wrap(None, 0, KEPT)  # the handle of what is no Array: nothing to mark, nothing to copy
GENERIC = wrap(
    None, 0, KEPT
)  # the handle of NumPy's scalars and of lists: data that joins any storage
SCALARS = (bool, int, float, complex)

USUAL = frozenset((*SCALARS, *np.sctypeDict.values()))  # types of operands that are no arrays
LISTS = frozenset((list, tuple, range))

CACHED: dict[float, list[Any]] = {}  # Python scalar -> [0-d float64 data], read-only
MOST = 1024  # cached scalars


def cached_scalar(value: float) -> Any:
    """Return a Python scalar as 0-d float64 data, remembered for the next time (but 0.0 equals -0.0)."""
    data = np.asarray(value, np.float64)
    if value and len(CACHED) < MOST:
        data.flags.writeable = False
        CACHED[value] = [data]
    return data


def coerce(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """Handle, value id and data of an argument that is not an Array: a scalar or a raw array."""
    if type(value) in SCALARS:
        return CONSTANT, 0, value
    if type(value) in STORAGES:
        value = taken_data(name, argument, value)
        making = MAKING.get()
        if making is not None:  # records are to keep what a trace knows it by
            value = making.adopted(value)
        return wrap(value, 0, PINNED), 0, value
    if isinstance(value, np.generic):
        return GENERIC, 0, taken_data(name, argument, np.asarray(value))
    if isinstance(value, bool | int | float | complex):
        return CONSTANT, 0, value
    if isinstance(value, Array):
        return value, value._sync() if value._tid < 0 else value._tid, value._data
    if storage_for(type(value)) is not None:
        value = taken_data(name, argument, value)
        return wrap(value, 0, PINNED), 0, value
    raise no_array(name, argument, type(value))


def no_array(name: str, argument: str, kind: type) -> TypeError:
    """Return the error for an argument of another library, which an op does not take."""
    got = f"{name}: {argument} must be an Array, got {kind.__module__}.{kind.__qualname__}"
    if is_of_dask(kind):
        return TypeError(
            f"{got} [at {user_line()}], which is not computed; sum a function over its partitions with "
            f"arraytape.distributed, or compute() it {see('dask-collection')}"
        )
    return TypeError(f"{got} [at {user_line()}]; convert it with asarray")


def is_of_dask(kind: type) -> bool:
    """Return True if these are Dask's collections, which would be computed and loaded as a whole."""
    return kind.__module__.partition(".")[0] == "dask"


def coerce_or_none(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """``coerce`` for an operand that may be left out: None stays None."""
    return (CONSTANT, 0, None) if value is None else coerce(name, argument, value)


def taken_data(name: str, argument: str, data: RawArray) -> Any:
    """Raw data as an op takes it; TypeError for a dtype that no Array can have."""
    if data.dtype in KNOWN:
        return data
    try:
        return admitted(data)
    except TypeError as error:
        raise TypeError(f"{name}: {argument}: {error}") from error


def check_dtype(name: str, dtype: npt.DTypeLike) -> None:
    """Raise TypeError for what is no dtype that an Array can have."""
    try:
        known = np.dtype(dtype) in KNOWN
    except Exception as error:
        raise failure(f"{name}(dtype: {describe(dtype)})", error) from error
    if not known:
        raise TypeError(
            f"{name}: no Array can have dtype {np.dtype(dtype)} [at {user_line()}]; give one of numbers "
            "or booleans, in the machine's byte order"
        )


def an_array(name: str, argument: str, value: Any) -> Array:
    """Return an argument as an Array: itself, or a copy of a raw array; TypeError for anything else."""
    if isinstance(value, Array):
        return value
    if not isinstance(value, np.ndarray | np.generic) and storage_for(type(value)) is None:
        if is_of_dask(type(value)):
            raise no_array(name, argument, type(value))
        raise TypeError(
            f"{name}: {argument} must be an Array, got {describe(value)} [at {user_line()}]; convert "
            "it with asarray"
        )
    made: Array = namespace().asarray(value)
    return made


DEEPEST = 64  # axes of an array of NumPy's: what is nested deeper becomes none


def first_array(nested: Any, depth: int = 0) -> Array | None:
    """Return the first Array in a nested sequence, if there is one."""
    for part in nested:
        found = part if isinstance(part, Array) else None
        if isinstance(part, list | tuple) and depth < DEEPEST:
            found = first_array(part, depth + 1)
        if found is not None:
            return found
    return None


def from_list(name: str, value: Any) -> Array | np.ndarray[Any, Any] | None:
    """Convert a nested list as NumPy's operators do: of Arrays one recorded Array, of numbers host data.

    None for what is no list, or holds something else; TypeError for Dask's collections.
    """
    if not isinstance(value, list | tuple | range) or has_own_operators(type(value)):
        if is_of_dask(type(value)):  # its own operators would make a constant of the Array
            raise no_array(name, "an operand", type(value))
        return None
    if first_array(value) is not None:
        made: Array = namespace().asarray(value)
        return made
    try:
        data = np.asarray(value)
    except ValueError as error:  # lists of unequal lengths
        raise failure(f"{name}: {describe(value)} as an Array", error) from error
    return data if data.dtype in KNOWN else None


def list_beside(name: str, x: Array, value: Any) -> Any:
    """Nested lists as an Array where x lies; anything else as it is."""
    made = from_list(name, value)
    if made is None:
        return value
    return made if isinstance(made, Array) else asarray_like(x, made)


def coerce_list(name: str, argument: str, value: Any) -> tuple[Array, int, Any] | None:
    """Handle, value id and data of nested lists as an operand; None for what an operator does not take.

    Numbers come as host data that joins any storage.
    """
    made = from_list(name, value)
    if made is None or isinstance(made, Array):
        return None if made is None else coerce(name, argument, made)
    return GENERIC, 0, made


def accepted(value: Any) -> bool:
    """Return True if an operator takes ``value`` as it is; of a list it makes an Array."""
    kind = type(value)
    if kind in STORAGES or kind in USUAL:
        return True
    ours = isinstance(value, bool | int | float | complex | np.generic | Array)
    return (ours or storage_for(kind) is not None) and not has_own_operators(kind)


def has_own_operators(kind: type) -> bool:
    """Return True if values of a type answer operators beside an Array, as NumPy's arrays let them.

    They have an ``__array_ufunc__`` of their own, or None in its place, or without one a higher
    ``__array_priority__`` than NumPy's arrays.
    """
    if kind in LISTS or kind in STORAGES or issubclass(kind, Array):
        return False
    ufuncs = getattr(kind, "__array_ufunc__", kind)
    if ufuncs is kind:
        return bool(getattr(kind, "__array_priority__", 0.0) > 0.0)
    return ufuncs is not np.ndarray.__array_ufunc__


def coerce_all(
    name: str, argument: str, values: Any
) -> tuple[list[Array], tuple[int, ...], list[Any]]:
    """Handles, value ids and data of a sequence of arrays."""
    if isinstance(values, Array) or not isinstance(values, list | tuple):
        raise TypeError(
            f"{name}: {argument} must be a list or tuple of Arrays, got "
            f"{type(values).__name__} [at {user_line()}]"
        )
    if not values:
        raise ValueError(
            f"{name}: {argument} is empty: needs at least one array [at {user_line()}]"
        )
    parts = [
        (value, value._sync() if value._tid < 0 else value._tid, value._data)
        if type(value) is Array else coerce_part(name, f"{argument}[{i}]", value)
        for i, value in enumerate(values)
    ]  # fmt: skip
    handles, tids, data = zip(*parts, strict=True)
    return list(handles), tids, list(data)


def coerce_part(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """``coerce`` for one of a sequence of arrays: a number is an array of shape (), as in NumPy."""
    handle, tid, data = coerce(name, argument, value)
    if type(data) in NUMBERS:
        return GENERIC, 0, number_data(name, argument, data)
    return handle, tid, data


def promote(
    name: str, names: Sequence[str], handles: Sequence[Array], data: Sequence[Any]
) -> tuple[Any, ...]:
    """The type of data that an op runs on, and the data: NumPy scalars are brought to that storage.

    TypeError naming each argument's device when two storages meet.
    """
    arrays = [i for i, d in enumerate(data) if type(d) in STORAGES]
    if not arrays and all(type(d) in NUMBERS for d in data):
        data, arrays = [number_data(name, names[0], data[0]), *data[1:]], [0]
    if not arrays:
        raise TypeError(f"{name}: no argument is an Array [at {user_line()}]; convert with asarray")
    # NumPy scalars have no say about the storage, unless there is nothing else.
    deciding = [i for i in arrays if handles[i] is not GENERIC] or arrays
    check_devices(name, names, {i: data[i] for i in deciding})
    home = max((data[i] for i in deciding), key=lambda d: STORAGES[type(d)].mixed)
    kind, storage = type(home), STORAGES[type(home)]
    device = storage.device(home)
    return kind, *(
        storage.asarray(d, d.dtype, device, None)
        if handle is GENERIC and type(d) is not kind
        else (d if type(d) is kind or type(d) not in STORAGES else storage.adopted(d))
        for handle, d in zip(handles, data, strict=True)
    )


def number_data(name: str, argument: str, value: Any) -> Any:
    """Return a Python number as 0-d data; TypeError for an integer of more than 64 bits."""
    try:
        return number(value)
    except TypeError as error:
        raise TypeError(f"{name}: {argument}: {error}") from error


def check_devices(name: str, names: Sequence[str], data: dict[int, Any]) -> None:
    """Raise TypeError when arguments (by position) lie in different storages."""
    homes = {i: STORAGES[type(d)].beneath(d) for i, d in data.items()}
    if len(set(homes.values())) <= 1:
        return
    one_sequence = len(names) == 1  # such as the arrays of concat
    where = "; ".join(
        f"{f'{names[0]}[{i}]' if one_sequence else names[i]} is "
        f"{describe(data[i])} ({home.name}, {STORAGES[type(data[i])].device(data[i])})"
        for i, home in homes.items()
    )
    raise TypeError(
        f"{name}: the arguments sit on different devices [at {user_line()}]: {where}. Move one "
        "of them with to_device or asarray(..., device=...)"
    )


def shape_of(value: Any) -> Any:
    """Return the shape of each of a list of data."""
    return [v.shape for v in value]


def dtype_of(value: Any) -> Any:
    """Return the dtype of each of a list of data."""
    return [v.dtype for v in value]


def assign_ids(arrays: list[Array]) -> tuple[int, ...]:
    """Give each of an op's several results a value id of its own."""
    for array in arrays:
        array._tid = new_tid()
    return tuple([array._tid for array in arrays])


def wrap_all(results: Any) -> tuple[Any, list[Array]]:
    """Return an op's several raw results as Arrays, in the tuple type in which they came."""
    arrays = [
        wrap(r, 0, 0 if type(r) is np.ndarray or r.shape else SCALAR)
        if type(r) in STORAGES
        else wrap(np.asarray(r), 0, SCALAR)
        for r in results
    ]
    answer = type(results)(*arrays) if hasattr(results, "_fields") else tuple(arrays)
    return answer, arrays


def saving(function: Any, storage: Any, *values: Any) -> Any:
    """Compute the values that an op saves beside its inputs, on their device."""
    with storage.at(*values):
        return function(*values)
