"""The class ``Storage``, an adapter of one array library, and the registry of storages and devices.

An Array holds raw data: an array of another library, such as ``numpy.ndarray`` or ``cupy.ndarray``.  For
each type of raw data there is one ``Storage`` object, ``STORAGES[type(data)]``.  Its ``xp`` is the raw
namespace: the array API standard's functions on raw data, and the additional functions of
``standard.Standard``.  Raw data has the attributes ``shape`` and ``dtype`` (one of NumPy's dtypes) and
Python's operators.  Raw data without item assignment and in-place operators is allowed: its storage
returns False from ``in_place``, and Arrays write by ``put``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.array_types import Index, Namespace, RawArray, RawOperand
from .._util.errors import see, short_repr, user_line

if TYPE_CHECKING:
    import numpy.typing as npt


COMPLEX = "complex floating"
HOST = "cpu"
HERE: AbstractContextManager[Any] = nullcontext()
# While ``replay`` traces a function: the storage that creates new data in place of NumPy's storage, so
# that the creation enters the trace.  Otherwise None.
MAKING: ContextVar[Storage | None] = ContextVar("arraytape making", default=None)
# True in a block of ``diagnose.check_indices``: index arrays on a device are compared with the shape.
CHECKED_INDICES: ContextVar[bool] = ContextVar("arraytape checked indices", default=False)

# For each setting that changes results, such as an interop context, a function that returns its current
# state.  A traced program may be replayed only where all these states equal those of the trace.
AMBIENT: list[Callable[[], Any]] = []
# For each setting that code run later has to see as it is now, such as the rule of a
# ``custom_gradient``, a function that saves its state.  The function returns a factory of context
# managers that restore this state.
CARRIED: list[Callable[[], Callable[[], AbstractContextManager[Any]]]] = []


class Storage:
    """An adapter of one array library, such as NumPy: its functions, devices, creation and memory.

    ``kind`` is the type of the library's arrays (the raw data), and ``name`` the storage's name in
    messages.  ``xp`` is the raw namespace, whose functions compute on raw data.  Subclasses override a
    method where their library has a faster equivalent.
    """

    name: str
    kind: Any
    xp: Any
    ordered_writes = True  # x[[0, 0]] = [1, 2] sets x[0] to 2, the last value, as in NumPy
    mixed = 0  # ``xp`` also accepts data of storages whose ``mixed`` is smaller
    many = False  # True if one raw object represents many arrays (batched data of ``vmap``)
    fusing = False  # True if ``fused`` makes one kernel of a function of elementwise code
    dlpack_types: tuple[int, ...] = ()  # DLPack's device types on which this data may lie

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function of raw data that computes the op ``name``, such as "linalg.svd"."""
        if name in EVERYWHERE:
            return EVERYWHERE[name]
        found: Any = self.xp
        for part in name.split("."):
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    def beneath(self, data: RawArray) -> Storage:
        """Return the storage of the raw array inside ``data``: self, unless it is batched or traced."""
        return self

    def elementwise(self, functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
        """Return the implementation of an elementwise op for this storage's data.

        functions : a dict from types of raw data, such as numpy.ndarray, to the implementation for each.
        """
        return functions[self.kind]

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function``; for traced data, a wrapper that also notes each call in the trace.

        ``replay`` traces a step of a program, to run it again without Python's overhead.

        name : the name of ``function`` in the trace.
        """
        return function

    def fuses(self, x: Any) -> bool:
        """Return True if x may be an argument of a fused function: elementwise code in one kernel."""
        return False

    def capturable(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function``, changed so that a CUDA graph can capture its matrix products."""
        return function

    def fused(
        self, function: Callable[..., Any], summed: tuple[int, ...] = ()
    ) -> Callable[..., Any]:
        """Return ``function``, compiled to one kernel; only storages with ``fusing`` can do so.

        function : elementwise array-API code without side effects, which gives the kernel its name.
        summed : the axes over which the kernel sums the result, which are removed.
        """
        raise NotImplementedError

    def counts_ties(self, x: RawArray, axes: tuple[int, ...]) -> bool:
        """Return True if ``tie_counts`` is one kernel, and as fast as kernels for masks and for sums."""
        return False

    def tie_counts(self, x: RawArray, y: RawArray, axes: tuple[int, ...]) -> Any:
        """Return for each element of x that equals y, the extreme along axes, how many elements do so.

        The number is -1 for elements that differ from y.  NaN equals NaN.  y : broadcasts against x.
        """
        raise NotImplementedError

    def numpys_value(self, function: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """Call NumPy's ``function`` on this storage's data; return None if NumPy cannot compute on it.

        Only the storages of data that ``replay`` traces return a result.
        """

    def adopted(self, data: RawArray) -> Any:
        """Convert raw data of another storage to a form that ``self.xp`` accepts.

        If operands have several storages, the one with the greatest ``mixed`` converts the others' data.
        """
        return data

    # --- devices ----------------------------------------------------------------------------------
    def devices(self) -> tuple[Any, ...]:
        """Return the devices as users name them, the default device first."""
        raise NotImplementedError

    def device(self, data: RawArray) -> Any:
        """Return the device on which data lies, as users name it."""
        return data.device

    def on(self, device: Hashable) -> Any:
        """Return the array library's own object for ``device``; None (the default) stays None.

        device : a device as users name it, such as "cuda:0".
        """
        return device

    def takes(self, device: Hashable) -> bool:
        """Return True if ``device`` is a device of this storage."""
        return any(isinstance(device, type(one)) and device == one for one in self.devices())

    def moved(self, data: Any, device: Hashable) -> Any:
        """Return a copy of ``data`` on another device of this storage."""
        return data.to_device(self.on(device))

    def at(self, *data: Any) -> AbstractContextManager[Any]:
        """Return a context manager in whose block operators compute on the device of ``data``.

        With several GPUs, ``a + b`` would otherwise run on the current GPU.  Functions of ``xp`` choose
        the device themselves.  Raises ValueError for data on several devices.
        """
        return HERE

    # --- making -----------------------------------------------------------------------------------
    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        """Return the result of the creation function ``name``, such as "zeros", on ``device``."""
        return self.function(name)(*arguments, device=self.on(device), **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        """Return ``value`` as data of this storage; with ``copy=True`` no memory is shared.

        value : a scalar, a nested sequence, NumPy data, or data of this storage.
        """
        return self.xp.asarray(value, dtype=dtype, device=self.on(device), copy=copy)

    def from_dlpack(self, x: Any, copy: bool | None) -> Any:
        """Return another library's array as raw data, through DLPack; share memory unless ``copy``."""
        return self.xp.from_dlpack(x, copy=copy)

    def to_dlpack(self, data: Any, *, copy: bool | None, dl_device: Any, **options: Any) -> Any:
        """Return a DLPack capsule; the options are those of the standard's ``__dlpack__``."""
        return data.__dlpack__(copy=copy, dl_device=dl_device, **options)

    def copy(self, data: RawArray) -> Any:
        """Return a copy whose axes have the same order in memory as those of ``data``.

        Therefore a reshape of the copy is a view if the same reshape of the data is a view.  Data that
        cannot be written to in place is returned as it is, because no write can change it.
        """
        return self.xp.asarray(data, copy=True) if self.in_place(data) else data

    def contiguous(self, data: RawArray) -> Any:
        """Return a C-contiguous copy."""
        return self.copy(data)

    def order(self, data: RawArray) -> str:
        """Return the orders in which ``data`` is contiguous: "C", "F", "CF" for both, or "" for none."""
        return "C"

    def laid_out(self, data: RawArray, like: RawArray) -> Any:
        """Return ``data`` with the strides of ``like``, which has the same shape; a copy if needed.

        So results of ops get the memory layout that NumPy gives them.
        """
        return data

    def arranged(self, data: RawArray, like: Any, rank: int) -> Any:
        """Return a contiguous copy of ``data``, with its last ``rank`` axes in memory as in ``like``.

        This order decides which reshapes of the copy are views.
        """
        return self.copy(data)

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        """Return the data as a NumPy array, which shares memory where possible."""
        raise NotImplementedError

    def traced_over(self, storage: Storage) -> Storage | None:
        """Return the storage of traced data that wraps data of ``storage``; None if there is none.

        Traced data notes the functions that are called on it, so that ``replay`` can run them again.
        """
        return None

    def refuse_replay(self, data: RawArray, why: str) -> None:
        """Forbid ``replay`` to run the trace of ``data`` again; do nothing if data is not traced.

        why : the reason, for the message.
        """

    def constant_ones(self, shape: tuple[int, ...], dtype: npt.DTypeLike, device: Hashable) -> Any:
        """Return ones that nobody may write to, because arrays of other calls may share the memory."""
        return self.create("ones", device, shape, dtype=dtype)

    # --- memory -----------------------------------------------------------------------------------
    def in_place(self, data: RawArray) -> bool:
        """Return True if ``data[key] = value`` and ``data += value`` write to the memory of ``data``.

        If False, data has no item assignment, ``data += value`` binds the name to new data, and Arrays
        write by ``put``.
        """
        return True

    def put(self, data: Any, key: Index, value: RawOperand) -> Any:
        """Do ``data[key] = value``; return data, or a changed copy if ``in_place(data)`` is False.

        The value is cast to the dtype of ``data``.  The copy has the strides of ``data`` if the result
        of ``shares`` depends on strides.
        """
        data[key] = value
        return data

    def write_last(self, data: Any, key: Any, value: RawOperand) -> Any:
        """Do ``data[key] = value`` so that the last of several values for one element remains.

        NumPy writes in this order, but parallel threads do not.  Return a mask of the elements of
        ``value`` that others replaced, which get no gradient.  Return None, and change nothing, if the
        storage has no kernel for this.
        """

    def take_written(self, data: Any, key: Any, lost: RawArray) -> Any:
        """Return ``data[key]`` with 0 where ``lost`` is True, and set ``data[key]`` to 0, in one kernel.

        This is the backward pass of ``x[key] = value``: data is the cotangent of x, and the result that
        of the value.  lost : the mask from ``write_last``.  Return None, and change nothing, if other
        functions do this at the same cost.
        """

    def add_at(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        """Do ``data[key] += value``; return data, or a changed copy if ``in_place`` is False for it.

        An element that ``key`` selects twice gets both values, as with ``numpy.add.at``.
        """
        return self.xp.add_at(data, self.key(key, data), value)

    def shares(self, part: Any, whole: RawArray) -> bool:
        """Return True if ``part`` and ``whole`` may share memory, so that a write to one changes both.

        If data cannot be written to in place, ``part`` is a reshape of ``whole``.  Then return True if
        Arrays have to treat it as a view.
        """
        raise NotImplementedError

    def owns(self, data: RawArray) -> bool:
        """Return True if an addition to ``data`` in place, as of cotangents, changes no other array."""
        return not self.in_place(data)

    def writeable(self, data: RawArray) -> bool:
        """Return False if ``data`` is marked as read-only."""
        return True

    def key(self, key: Index, data: RawArray) -> Any:
        """Return an indexing key for ``data``, in which NumPy arrays are moved to the device of data."""
        return self.xp.key(key, data)

    def check_indices(self, key: Index, shape: tuple[int, ...]) -> None:
        """Raise IndexError if index arrays on a device are out of range for data of this shape.

        Storages whose library raises the error itself do nothing.
        """

    # --- reading values, which may cost a transfer to the host ------------------------------------
    def unless_none(self, mask: RawArray) -> Any:
        """Return None if no element of the mask is True, else the mask, so that rules can skip work.

        A mask on a GPU is returned without a check, because the check would wait for the GPU.
        """
        return mask

    def counted(self, mask: RawArray) -> int | None:
        """Return the number of True elements; None for a mask on a GPU, which would have to be read."""
        return None

    def extent(self, integers: Any) -> tuple[int, int]:
        """Return the least and the greatest of some integers; (0, -1) if there are none."""
        found = self.host(integers)
        return (int(found.min()), int(found.max())) if found.size else (0, -1)

    def first_numbers(self, data: Any, count: int) -> np.ndarray[Any, Any]:
        """Return at least the first ``count`` elements in C order, or all, as a NumPy array.

        Messages about lost gradients compare them, so that a trace of a function adds no guard.
        """
        while len(data.shape) > 1 and data.shape[0]:
            rows = math.ceil(count / max(math.prod(data.shape[1:]), 1))
            if rows > 1:
                return self.host(data[:rows])
            data = data[0, ...]
        return self.host(data[:count] if data.shape else data)

    def bincount(self, integers: Any, size: int) -> Any:
        """Count how often each of 0, ..., size - 1 occurs in ``integers``; perhaps return NumPy data."""
        return np.bincount(self.host(integers), minlength=size)

    def repeated(self, count: int, times: Any, like: Any) -> Any:
        """Return ``numpy.repeat(arange(count), times)``, as NumPy data or on the device of ``like``.

        times : the number of repetitions of each index, or an array with a number for each.
        """
        times = storage_of(times).host(times) if type(times) in STORAGES else times
        return np.repeat(np.arange(count), times)

    def uniforms(self, key: tuple[int, int], shape: tuple[int, ...], device: Hashable) -> Any:
        """Return uniform random numbers in [0, 1), those of NumPy's generator ``Philox(key=key)``.

        key : two unsigned integers of 64 bits.
        """
        numbers = np.random.Generator(np.random.Philox(key=np.asarray(key, np.uint64))).random(
            shape
        )
        return self.asarray(numbers, None, device, None)

    def count_true(
        self, mask: Any, dtype: npt.DTypeLike, axis: int | tuple[int, ...] | None
    ) -> Any:
        """Return the number of True elements along axes, which keep length 1, in the dtype ``dtype``."""
        return self.xp.sum(self.xp.astype(mask, dtype), axis=axis, keepdims=True)

    def has_nan(self, data: Any) -> bool:
        """Return True if any element of floating-point data is NaN."""
        return bool(self.host(self.xp.any(self.xp.isnan(data))))

    def any_nan(self, parts: Sequence[Any]) -> bool:
        """Return True if ``has_nan`` is True for any of the data in ``parts``."""
        return any(map(self.has_nan, parts))


STORAGES: dict[type, Storage] = {}  # by type of data
# Package or kind of device -> function that imports the library and returns its storage.
ON_DEMAND: dict[str, Callable[[], Storage]] = {}
DISCOVERED: set[str] = set()  # the names of the storages from ON_DEMAND that are in use
DEFAULT: list[Any] = [HOST]  # DEFAULT[0] is used by creation functions without device=


def enter(storage: Storage) -> None:
    """Add ``storage``, the adapter of an array library, so that Arrays accept its data and devices."""
    STORAGES[storage.kind] = storage


def discover(kind: type | None = None, device: Hashable | None = None) -> None:
    """Import an array library such as CuPy on first use, and register its storage (adapter).

    The library is the one that defines the type ``kind``, such as cupy.ndarray, or owns ``device``.  Do
    nothing if no known library does.  Raises ValueError if the library cannot be imported.
    """
    whose = (kind or type(device)).__module__.partition(".")[0]
    library = ON_DEMAND.get(whose) or (
        ON_DEMAND.get(device.partition(":")[0]) if isinstance(device, str) else None
    )
    if library is None:
        return
    try:
        storage = library()
        enter(storage)
        DISCOVERED.add(storage.name)
    except ImportError as error:
        raise ValueError(
            f"no storage for device {short_repr(device)}: {error} [at {user_line()}]"
        ) from error


def storage_for(kind: type) -> Storage | None:
    """Return the storage (library adapter) for data of type ``kind``; None if there is none."""
    if issubclass(kind, np.generic):
        return STORAGES[np.ndarray]
    if kind not in STORAGES:
        discover(kind)
    return STORAGES.get(kind)


def storage_of(data: Any) -> Storage:
    """Return the Storage (the adapter of a library such as NumPy or CuPy) for the type of ``data``.

    Raise TypeError if there is none.
    """
    found = STORAGES.get(type(data)) or storage_for(type(data))
    if found is None:
        raise TypeError(
            f"arraytape cannot hold data of type {type(data).__module__}.{type(data).__name__}; "
            f"known storages: {', '.join(names())}. Convert it with asarray first "
            f"[at {user_line()}]"
        )
    return found


def any_has_nan(parts: Iterable[Any]) -> bool:
    """Return True if any of several raw arrays holds a NaN, by one check for each storage."""
    by_storage: dict[Storage, list[Any]] = {}
    for data in parts:
        by_storage.setdefault(storage_of(data), []).append(data)
    return any(storage.any_nan(group) for storage, group in by_storage.items())


def names() -> list[str]:
    """Return the names of all registered storages, such as "numpy", for messages."""
    return sorted({storage.name for storage in STORAGES.values()})


def storage_at(device: Hashable) -> Storage:
    """Return the storage (library adapter) that has ``device``; None means the default device.

    Raises ValueError for an unknown device.
    """
    wanted = DEFAULT[0] if device is None else device
    for attempt in range(2):
        for storage in STORAGES.values():
            if storage.takes(wanted):
                return storage
        if not attempt:
            discover(device=wanted)
    raise ValueError(
        f"unknown device {short_repr(wanted)}; known: {', '.join(map(str, devices()))} [at "
        f"{user_line()}] "
        f"{see('unknown-device')}"
    )


def devices() -> tuple[Any, ...]:
    """Return the devices of all registered storages, as users name them."""
    return tuple(device for storage in STORAGES.values() for device in storage.devices())


def moved_between(data: RawArray, /, device: Hashable) -> Any:
    """Return a copy of raw data on ``device``, which may belong to another storage."""
    source, target = storage_of(data), storage_at(device)
    if source.beneath(data) is target:
        return source.moved(data, device)
    return target.asarray(source.host(data), None, device, True)


# Functions of raw data that serve the data of every storage, by the name of their op.
EVERYWHERE: dict[str, Callable[..., Any]] = {"moved": moved_between}


BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def makes_a_view(key: Index) -> bool:
    """Return True if NumPy returns a view for ``key``: only integers, slices, Ellipsis and None."""
    return all(
        type(part) in BASIC or isinstance(part, np.integer)
        for part in (key if type(key) is tuple else (key,))
    )


def is_complex(x: Any) -> bool:
    """Return True if the dtype of x (data, an Array or a scalar) is complex."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, complex) if dtype is None else dtype.kind == "c"


def conjugate(x: Any, xp: Namespace) -> Any:
    """Return the complex conjugate of x; x itself if it is real."""
    return xp.conj(x) if is_complex(x) else x


# The dtypes that an Array can have: in the machine's byte order, and of one size on all machines.
KNOWN = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))


def is_known(dtype: npt.DTypeLike) -> bool:
    """Return True if an Array can have this dtype."""
    return dtype in KNOWN


def admitted(data: Any) -> Any:
    """Return raw data in the machine's byte order, or raise TypeError if no Array can hold it.

    An Array holds data of registered storages, but no objects, text, dates or extended precision.
    """
    kind: Any = type(data)
    dtype: Any = getattr(data, "dtype", None)
    if kind in STORAGES and dtype in KNOWN:
        return data
    if kind in STORAGES and dtype.newbyteorder("=") in KNOWN:
        return data.astype(dtype.newbyteorder("="))
    what = (
        f"dtype {dtype}" if kind in STORAGES else f"data of type {kind.__module__}.{kind.__name__}"
    )
    raise TypeError(f"no Array can have {what} [at {user_line()}]; {WAYS_OUT.get(what, WAY_OUT)}")


WAY_OUT = "give numbers or booleans"
EXTENDED = (str(np.dtype(np.longdouble)), str(np.dtype(np.clongdouble)))
WAYS_OUT = {
    "dtype object": "give numbers or booleans, and integers of at most 64 bits",
    **{
        f"dtype {name}": "cast to float64 or complex128 first, by NumPy's astype"
        for name in EXTENDED
    },
}


KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # from a dtype's kind to its rank in promotion


def holds_kind(dtype: Any, other: Any) -> bool:
    """Return True if a cast from the dtype ``other`` to ``dtype`` loses no kind of number.

    True for a cast from int to float or from float to complex, False for one from float to int.
    """
    return KINDS.get(other.kind, 4) <= KINDS[dtype.kind]


def inexact(x: RawArray) -> bool:
    """Return True if values of x's dtype have gradients: real and complex floating point."""
    return x.dtype.kind in "fc"
