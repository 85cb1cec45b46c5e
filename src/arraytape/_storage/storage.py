"""Storage: what an Array needs to know about one kind of data.

One ``Storage`` object serves one type of raw data (``numpy.ndarray``, ``cupy.ndarray``, ...) and is
found by ``type(data)``.  Its ``xp`` is the raw namespace: the standard's functions on raw data, and
the few more that ``standard`` names.  Raw data has the attributes ``shape`` and ``dtype`` (NumPy's)
and Python's operators.  Item assignment and in-place operators need not be among them: a storage
that says so with ``in_place`` gives ``put``, and its Arrays are written to all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
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
# The storage that makes new data of the host in place of NumPy's, while a function is traced.
MAKING: ContextVar[Storage | None] = ContextVar("arraytape making", default=None)

# What surrounds a call and changes what functions compute, such as the contexts of interop: each
# function gives its state now.  A traced program holds where all are what they were.
AMBIENT: list[Callable[[], Any]] = []
# The same for code that runs later than the call that it belongs to, such as the rule of a
# ``custom_gradient``: each function notes the state now, and gives what enters that state again.
CARRIED: list[Callable[[], Callable[[], AbstractContextManager[Any]]]] = []


class Storage:
    """The protocol of a storage, written in the standard's terms: override what is cheaper.

    ``kind`` is the type of the data, ``name`` how messages call it, ``xp`` its raw namespace.
    """

    name: str
    kind: Any
    xp: Any
    ordered_writes = True  # x[[0, 0]] = [1, 2] leaves 2, as in NumPy
    mixed = 0  # above 0 its namespace takes the data of others, too; the greatest is asked
    many = False  # whether its data stands for many arrays at once
    dlpack_types: tuple[int, ...] = ()  # dlpack's numbers for where this data may lie

    def function(self, name: str) -> Callable[..., Any]:
        """Return the raw function behind an op, by its dotted name ("exp", "linalg.svd")."""
        if name in EVERYWHERE:
            return EVERYWHERE[name]
        found: Any = self.xp
        for part in name.split("."):
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    def beneath(self, data: RawArray) -> Storage:
        """Return the storage of the data that this data is made of."""
        return self

    def elementwise(self, functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
        """Return an elementwise function for data of this kind, from those by type of data."""
        return functions[self.kind]

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function on NumPy's data that is no op, for this storage to note by a name."""
        return function

    def numpys_value(self, function: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """Return what a function of NumPy's gives on this data, or raises; None where it cannot run."""

    def adopted(self, data: RawArray) -> Any:
        """Data of another storage that meets data of this mixed one."""
        return data

    # --- devices ----------------------------------------------------------------------------------
    def devices(self) -> tuple[Any, ...]:
        """The devices as users name them, the default one first."""
        raise NotImplementedError

    def device(self, data: RawArray) -> Any:
        """Return the device on which data lies, as users name it."""
        return data.device

    def on(self, device: Hashable) -> Any:
        """Return the raw namespace's name of a device; None for the default one."""
        return device

    def takes(self, device: Hashable) -> bool:
        """Return True if this is one of the storage's devices."""
        return any(isinstance(device, type(one)) and device == one for one in self.devices())

    def moved(self, data: Any, device: Hashable) -> Any:
        """Return a copy of data on another of the storage's devices."""
        return data.to_device(self.on(device))

    def at(self, *data: Any) -> AbstractContextManager[Any]:
        """Within it, operators on raw data compute where this data lies.

        Raises ValueError for data on several devices.  The functions of ``xp`` need no such help.
        """
        return HERE

    # --- making -----------------------------------------------------------------------------------
    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        """New data from the creation function of this name."""
        return self.function(name)(*arguments, device=self.on(device), **keywords)

    def asarray(self, value: Any, dtype: Any, device: Any, copy: bool | None) -> Any:
        """``value`` (scalars, nested sequences, host data or this storage's own) as data.

        ``copy=True`` promises memory of its own.
        """
        return self.xp.asarray(value, dtype=dtype, device=self.on(device), copy=copy)

    def from_dlpack(self, x: Any, copy: bool | None) -> Any:
        """Another library's data, shared unless copy=True."""
        return self.xp.from_dlpack(x, copy=copy)

    def to_dlpack(self, data: Any, *, copy: bool | None, dl_device: Any, **options: Any) -> Any:
        """Return a dlpack capsule; copy, dl_device, max_version and stream as in the standard."""
        return data.__dlpack__(copy=copy, dl_device=dl_device, **options)

    def copy(self, data: RawArray) -> Any:
        """Return the same values in memory of their own; strides keep their order, so views stay views.

        Data that cannot be written to is its own copy.
        """
        return self.xp.asarray(data, copy=True) if self.in_place(data) else data

    def contiguous(self, data: RawArray) -> Any:
        """Return a copy in the order of C."""
        return self.copy(data)

    def order(self, data: RawArray) -> str:
        """ "C" or "F" for data without gaps in this order, "CF" for both, "" for any other."""
        return "C"

    def laid_out(self, data: RawArray, like: Any) -> Any:
        """Data in the memory layout of other data of its shape: itself where it is so already."""
        return data

    def arranged(self, data: RawArray, like: Any, rank: int) -> Any:
        """Return a copy whose last ``rank`` axes lie in memory as those of other data do, without gaps.

        On that depends which reshapes share memory, and so which writes are seen through them.
        """
        return self.copy(data)

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        """The data as a NumPy array, sharing memory where it can."""
        raise NotImplementedError

    def refuse_replay(self, data: RawArray, why: str) -> None:
        """Say why what is computed of data's values is not to be replayed; traced data listen."""

    # --- memory -----------------------------------------------------------------------------------
    def in_place(self, data: RawArray) -> bool:
        """Return True if ``data[key] = value`` and ``data += value`` write to the memory of data.

        If not, there is no item assignment, ``data += value`` binds the name to new data, and all
        writes are ``put``.
        """
        return True

    def put(self, data: Any, key: Index, value: RawOperand) -> Any:
        """Data after ``data[key] = value``, which casts the value to its dtype: itself or new data.

        New data keeps the memory layout of the old, as far as ``shares`` depends on it.
        """
        data[key] = value
        return data

    def add_at(self, data: RawArray, key: Index, value: Any) -> Any:
        """Data after ``data[key] += value``, where elements named twice add up: itself or new data."""
        return self.xp.add_at(data, self.key(key, data), value)

    def shares(self, part: Any, whole: RawArray) -> bool:
        """Return True if a write to one may be seen through the other.

        Of data without in-place writes: whether ``part``, which was reshaped from ``whole``, is to
        be a view of it.
        """
        raise NotImplementedError

    def owns(self, data: RawArray) -> bool:
        """Return True if data is memory of its own, not a view, so that a sum may be formed in it."""
        return not self.in_place(data)

    def writeable(self, data: RawArray) -> bool:
        return True

    def key(self, key: Index, data: RawArray) -> Any:
        """Return an indexing key with its host arrays moved to where ``data`` lies."""
        return self.xp.key(key, data)

    # --- looks at values: what may cost a transfer ------------------------------------------------
    def unless_none(self, mask: RawArray) -> Any:
        """A mask to keep, or None when nothing in it is set; the mask where a look is not free."""
        return mask

    def counted(self, mask: RawArray) -> int | None:
        """Return the number of elements of a mask that are set; None where reading them is not free."""
        return None

    def has_nan(self, data: Any) -> bool:
        """Return True if any element is NaN: one look at floating-point data."""
        return bool(self.host(self.xp.any(self.xp.isnan(data))))


STORAGES: dict[type, Storage] = {}  # by type of data
# Package or kind of device -> what makes its storage, importing the library it needs.
ON_DEMAND: dict[str, Callable[[], Storage]] = {}
DEFAULT: list[Any] = [HOST]  # the device of creation functions that are given none


def enter(storage: Storage) -> None:
    """Make a storage known: its data is accepted, its devices can be named."""
    STORAGES[storage.kind] = storage


def discover(kind: type | None = None, device: Hashable | None = None) -> None:
    """Enter the storage of a library whose data, or whose device, is met for the first time.

    Raises ValueError for a device of a library that cannot be imported.
    """
    whose = (kind or type(device)).__module__.partition(".")[0]
    library = ON_DEMAND.get(whose) or (
        ON_DEMAND.get(device.partition(":")[0]) if isinstance(device, str) else None
    )
    if library is None:
        return
    try:
        enter(library())
    except ImportError as error:
        raise ValueError(
            f"no storage for device {short_repr(device)}: {error} [at {user_line()}]"
        ) from error


def storage_for(kind: type) -> Storage | None:
    """Return the storage of a type of data, if there is one."""
    if issubclass(kind, np.generic):  # an element of NumPy's
        return STORAGES[np.ndarray]
    if kind not in STORAGES:
        discover(kind)
    return STORAGES.get(kind)


def storage_of(data: Any) -> Storage:
    """Return the storage for this raw data; TypeError when no storage holds its type."""
    found = STORAGES.get(type(data)) or storage_for(type(data))
    if found is None:
        raise TypeError(
            f"arraytape cannot hold data of type {type(data).__module__}.{type(data).__name__}; "
            f"known storages: {', '.join(names())}. Convert it with asarray first "
            f"[at {user_line()}]"
        )
    return found


def names() -> list[str]:
    return sorted({storage.name for storage in STORAGES.values()})


def storage_at(device: Hashable) -> Storage:
    """The storage that has this device; None is the default one.  ValueError for an unknown one."""
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
    """Return all devices of all storages that are known."""
    return tuple(device for storage in STORAGES.values() for device in storage.devices())


def moved_between(data: RawArray, /, device: Any) -> Any:
    """Return a copy of raw data on any device, from any other."""
    source, target = storage_of(data), storage_at(device)
    if source.beneath(data) is target:
        return source.moved(data, device)
    return target.asarray(source.host(data), None, device, True)


# Raw functions that are the same for every storage.
EVERYWHERE: dict[str, Callable[..., Any]] = {"moved": moved_between}


BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def makes_a_view(key: Index) -> bool:
    """Return True if a raw key is made of integers, slices, Ellipsis and None: NumPy gives a view."""
    return all(
        type(part) in BASIC or isinstance(part, np.integer)
        for part in (key if type(key) is tuple else (key,))
    )


def is_complex(x: Any) -> bool:
    """Return True if the dtype of x (data, an Array or a scalar) is complex."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, complex) if dtype is None else dtype.kind == "c"


def conjugate(x: Any, xp: Namespace) -> Any:
    """Return the complex conjugate; a real array as it is."""
    return xp.conj(x) if is_complex(x) else x


# The dtypes that an Array can have: in the machine's byte order, and of one size on all machines.
KNOWN = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))


def is_known(dtype: npt.DTypeLike) -> bool:
    """Return True if an Array can have a dtype: a number's or boolean's in the machine's byte order."""
    return dtype in KNOWN


def admitted(data: Any) -> Any:
    """Data of other libraries or of Python, as an Array can hold it: in the machine's byte order.

    Every entrance asks.  TypeError for what is no array of a known storage, and for dtypes of objects,
    text, dates and extended precision.
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


KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # of dtypes, in rising order


def holds_kind(dtype: Any, other: Any) -> bool:
    """Return True if host data of another dtype may be cast to ``dtype``: its kind is no greater."""
    return KINDS.get(other.kind, 4) <= KINDS[dtype.kind]


def inexact(x: RawArray) -> bool:
    """Return True if values of x's dtype have gradients: real and complex floating point."""
    return x.dtype.kind in "fc"
