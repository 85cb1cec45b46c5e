"""Functions that compiled ops call for operands that are no Arrays, and for several operands or results.

The usual case, a few Arrays and one result, is inline code of the compiled op.

A compiled op holds an operand in three variables: its handle (the Array, or the placeholder CONSTANT or
GENERIC), its value id (0 if no recorder follows the value) and its data.  ``name`` and ``argument`` are
the names of the op and of the operand's parameter, for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import KEPT, PINNED, SCALAR, Array, asarray_like, namespace, wrap
from .._record.stack import new_value_id
from .._storage.dispatch import NUMBERS, number
from .._storage.storage import KNOWN, MAKING, STORAGES, Storage, admitted, storage_for
from .._util.array_types import RawArray
from .._util.errors import describe, failure, see, user_line

if TYPE_CHECKING:
    import numpy.typing as npt


# The placeholder for the Array of a Python scalar.  It has no data, and its state is KEPT, so that no
# code marks or copies its data.
CONSTANT = wrap(None, 0, KEPT)
# The placeholder for NumPy's scalars and lists, whose data is converted to the type of the other
# operands' data.
GENERIC = wrap(None, 0, KEPT)
SCALARS = (bool, int, float, complex)

USUAL = frozenset((*SCALARS, *np.sctypeDict.values()))  # the types of Python and NumPy scalars
LISTS = frozenset((list, tuple, range))

CACHED: dict[float, list[Any]] = {}  # Python scalar -> [0-d float64 data], read-only
MOST = 1024  # the most cached scalars


def cached_scalar(value: float) -> Any:
    """Return a Python scalar as 0-d float64 data; cache the data unless the cache is full.

    Loops often use the same number as an operand, as in ``2.0 * x``.
    """
    data = np.asarray(value, np.float64)
    if value and len(CACHED) < MOST:  # not 0.0, since -0.0 is the same key
        data.flags.writeable = False
        CACHED[value] = [data]
    return data


def coerce(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """Return an operand whose type is not Array itself as an Array, with its value id and its data.

    The operand may be a scalar (for which the Array is the placeholder CONSTANT), a raw array, or an
    instance of a subclass of Array; anything else raises TypeError.  The value id is 0 unless a tape
    follows the value.
    """
    if type(value) in SCALARS:
        return CONSTANT, 0, value
    if type(value) in STORAGES:
        value = admitted_data(name, argument, value)
        making = MAKING.get()
        if making is not None:  # during a trace, ``adopted`` returns the data that records keep
            value = making.adopted(value)
        return wrap(value, 0, PINNED), 0, value
    if isinstance(value, np.generic):
        return GENERIC, 0, admitted_data(name, argument, np.asarray(value))
    if isinstance(value, bool | int | float | complex):
        return CONSTANT, 0, value
    if isinstance(value, Array):
        return value, value._sync() if value._value_id < 0 else value._value_id, value._data
    if storage_for(type(value)) is not None:
        value = admitted_data(name, argument, value)
        return wrap(value, 0, PINNED), 0, value
    raise no_array(name, argument, type(value))


def no_array(name: str, argument: str, kind: type) -> TypeError:
    """Return the TypeError for an argument whose type, ``kind``, ops do not accept."""
    got = f"{name}: {argument} must be an Array, got {kind.__module__}.{kind.__qualname__}"
    if is_of_dask(kind):
        return TypeError(
            f"{got} [at {user_line()}], which is not computed; sum a function over its partitions with "
            f"arraytape.distributed, or compute() it {see('dask-collection')}"
        )
    if is_of_torch(kind):
        return TypeError(
            f"{got} [at {user_line()}]; convert it with asarray(tensor), or compute in PyTorch with "
            "torch.from_dlpack(x): no gradient passes from one to the other "
            f"{see('argument-that-is-not-an-array')}"
        )
    return TypeError(f"{got} [at {user_line()}]; convert it with asarray")


def is_of_torch(kind: type) -> bool:
    """Return True for classes of PyTorch, whose operators return NotImplemented for Arrays.

    Ops refuse tensors with a message that says how to convert them.
    """
    return kind.__module__.partition(".")[0] == "torch"


def is_of_dask(kind: type) -> bool:
    """Return True for classes of Dask, whose conversion would compute the whole collection.

    Ops refuse such collections with a message that says what to do.
    """
    return kind.__module__.partition(".")[0] == "dask"


def coerce_or_none(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    return (CONSTANT, 0, None) if value is None else coerce(name, argument, value)


def admitted_data(name: str, argument: str, data: RawArray) -> Any:
    """Return ``data`` in a dtype that Arrays can have; raise TypeError if its dtype fits none."""
    if data.dtype in KNOWN:
        return data
    try:
        return admitted(data)
    except TypeError as error:
        raise TypeError(f"{name}: {argument}: {error}") from error


def check_dtype(name: str, dtype: npt.DTypeLike) -> None:
    """Raise TypeError unless ``dtype`` denotes a dtype that Arrays can have."""
    try:
        known = np.dtype(dtype) in KNOWN
    except Exception as error:
        raise failure(f"{name}(dtype: {describe(dtype)})", error) from error
    if not known:
        raise TypeError(
            f"{name}: no Array can have dtype {np.dtype(dtype)} [at {user_line()}]; give a dtype of "
            "numbers or booleans, in the machine's byte order"
        )


def an_array(name: str, argument: str, value: Any) -> Array:
    """Return an Array unchanged, and a raw array copied into an Array; else raise TypeError."""
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


DEEPEST = 64  # the most axes of a NumPy array, and so the most levels of a list


def first_array(nested: Iterable[Any], depth: int = 0) -> Array | None:
    """Return the first Array in a nested list or tuple, or None.

    depth : the number of lists around ``nested``, for a limit on lists that hold themselves.
    """
    for part in nested:
        found = part if isinstance(part, Array) else None
        if isinstance(part, list | tuple) and depth < DEEPEST:
            found = first_array(part, depth + 1)
        if found is not None:
            return found
    return None


def operand_from_list(name: str, value: Any) -> Array | np.ndarray[Any, Any] | None:
    """Convert a nested list or tuple that is an operand of an operator, as in ``x + [1.0, 2.0]``.

    Return a recorded Array if the list contains Arrays, and NumPy data if it contains only numbers.
    Return None for any other value, but raise TypeError for Dask's collections and PyTorch's tensors.
    """
    if not isinstance(value, list | tuple | range) or has_own_operators(type(value)):
        # After None the operator would return NotImplemented.  Dask would then make the Array a
        # constant, and Python would compare a tensor by identity.
        if is_of_dask(type(value)) or is_of_torch(type(value)):
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


def list_on_device_of(name: str, x: Array, value: Any) -> Any:
    """Return a nested list as an Array on the device of x, and any other value unchanged."""
    made = operand_from_list(name, value)
    if made is None:
        return value
    return made if isinstance(made, Array) else asarray_like(x, made)


def coerce_list(name: str, argument: str, value: Any) -> tuple[Array, int, Any] | None:
    """Return the Array, the value id and the data of a nested list; None for any other value.

    The value id is 0 unless a tape follows the value.
    """
    made = operand_from_list(name, value)
    if made is None:
        return None
    return coerce(name, argument, made) if isinstance(made, Array) else (GENERIC, 0, made)


def accepted(value: Any) -> bool:
    """Return True if an Array's operator accepts ``value`` as its other operand.

    Return False for types with operators of their own, so that Python calls those.
    """
    kind = type(value)
    if kind in STORAGES or kind in USUAL:
        return True
    ours = isinstance(value, bool | int | float | complex | np.generic | Array)
    return (ours or storage_for(kind) is not None) and not has_own_operators(kind)


def has_own_operators(kind: type) -> bool:
    """Return True if an operator has to return NotImplemented for values of the type ``kind``.

    Python then calls the type's reflected operator.  NumPy's operators do the same for a type whose
    ``__array_ufunc__`` is its own or None.  A type without that attribute needs an
    ``__array_priority__`` above 0, the priority of NumPy's arrays.
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
    """Return the Arrays, the value ids and the data of a list or tuple of arrays.

    A value id is 0 unless a tape follows the value.  Raise TypeError for another type and ValueError for
    an empty sequence.
    """
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
        (value, value._sync() if value._value_id < 0 else value._value_id, value._data)
        if type(value) is Array else coerce_part(name, f"{argument}[{i}]", value)
        for i, value in enumerate(values)
    ]  # fmt: skip
    handles, value_ids, data = zip(*parts, strict=True)
    return list(handles), value_ids, list(data)


def coerce_part(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """Return the Array, the value id and the data of an operand in a sequence of operands.

    The value id is 0 unless a tape follows the value.  A Python number becomes 0-d data, with the
    placeholder GENERIC as its Array.
    """
    handle, value_id, data = coerce(name, argument, value)
    if type(data) in NUMBERS:
        return GENERIC, 0, number_data(name, argument, data)
    return handle, value_id, data


def promote(
    name: str, names: Sequence[str], handles: Sequence[Array], data: Sequence[Any]
) -> tuple[Any, ...]:
    """Convert the data of operands to one type; return the type, followed by the data of each operand.

    NumPy's scalars and lists (whose handle is GENERIC) become data of the other operands' library, raw
    data becomes batched data if another operand is batched.  Raise TypeError if arrays are of two
    libraries.

    names : the parameter of each operand.  handles : each operand as an Array.
    """
    arrays = [i for i, d in enumerate(data) if type(d) in STORAGES]
    if not arrays and all(type(d) in NUMBERS for d in data):
        data, arrays = [number_data(name, names[0], data[0]), *data[1:]], [0]
    if not arrays:
        raise TypeError(f"{name}: no argument is an Array [at {user_line()}]; convert with asarray")
    # NumPy's scalars do not determine the library, unless there are no other arrays.
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


def check_one_device(name: str, device: Hashable, values: Any, fitting: str = "b") -> None:
    """Raise TypeError if an array in nested arguments of a function is not on ``device``.

    NumPy's arrays are on "cpu".  Numbers, of shape (), and NumPy's masks, as in ``x[mask]``, fit all
    devices.
    name : the function, for the message.
    fitting : the kinds of dtypes of NumPy's arrays that fit all devices.
    """
    if isinstance(values, dict | list | tuple):
        for value in values.values() if isinstance(values, dict) else values:
            check_one_device(name, device, value, fitting)
    elif isinstance(values, np.ndarray | Array) and values.ndim:
        home = values.device if isinstance(values, Array) else "cpu"
        fits = isinstance(values, np.ndarray) and values.dtype.kind in fitting
        if home != device and not fits:
            raise TypeError(
                f"{name}: move all arguments to one device, by asarray(data, device={device!r}) or "
                f"x.to_device({home!r}): {describe(values)} is on {home}, another argument is on "
                f"{device} [at {user_line()}]"
            )


def number_data(name: str, argument: str, value: complex) -> Any:
    """Return a Python number as 0-d data; raise TypeError for an integer of more than 64 bits."""
    try:
        return number(value)
    except TypeError as error:
        raise TypeError(f"{name}: {argument}: {error}") from error


def check_devices(name: str, names: Sequence[str], data: dict[int, Any]) -> None:
    """Raise TypeError if arguments are data of different libraries, such as NumPy and CuPy.

    names : the names of all parameters.  data : a dict from the position of an argument to its data.
    """
    homes = {i: STORAGES[type(d)].beneath(d) for i, d in data.items()}
    if len(set(homes.values())) <= 1:
        return
    one_sequence = len(names) == 1  # the parameter ``arrays`` of concat, for example
    called = {i: f"{names[0]}[{i}]" if one_sequence else names[i] for i in homes}
    devices = {i: STORAGES[type(data[i])].device(data[i]) for i in homes}
    target = next((device for device in devices.values() if device != "cpu"), "cpu")
    moved = next((called[i] for i in homes if devices[i] != target), called[min(homes)])
    where = "; ".join(
        f"{called[i]} is {describe(data[i])} ({home.name}, {devices[i]})"
        for i, home in homes.items()
    )
    raise TypeError(
        f"{name}: move {moved} with asarray({moved}, device={target!r}): the arguments are on different "
        f"devices [at {user_line()}]: {where}"
    )


def shape_of(data: list[RawArray]) -> Any:
    return [d.shape for d in data]


def dtype_of(data: list[RawArray]) -> Any:
    return [d.dtype for d in data]


def assign_ids(arrays: list[Array]) -> tuple[int, ...]:
    """Give each result of an op a new value id, by which tapes know the value; return the ids."""
    for array in arrays:
        array._value_id = new_value_id()
    return tuple([array._value_id for array in arrays])


def wrap_all(results: tuple[Any, ...]) -> tuple[Any, list[Array]]:
    """Wrap the raw results of an op in Arrays.

    Return the Arrays twice: in the same type of tuple (or named tuple) as the results, and in a list.
    """
    arrays = [
        wrap(r, 0, 0 if type(r) is np.ndarray or r.shape else SCALAR)
        if type(r) in STORAGES
        else wrap(np.asarray(r), 0, SCALAR)
        for r in results
    ]
    answer = type(results)(*arrays) if hasattr(results, "_fields") else tuple(arrays)
    return answer, arrays


def saving(function: Callable[..., Any], storage: Storage, *values: Any) -> Any:
    """Call a function of an op's ``saves``, which computes a value that the backward pass needs.

    The device of the arguments is the current device during the call.
    """
    with storage.at(*values):
        return function(*values)
