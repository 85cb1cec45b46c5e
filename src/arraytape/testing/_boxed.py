"""Boxed data and its namespaces, for the storages that ``testing.storages`` offers.

A box holds an array in ``inner``, and supports only the operations that arraytape requires of raw data.
So tests on boxed data find code that would not work with data of a GPU or of another library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.batched.batched_data import Batched
from .._storage.standard import Standard

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import Index, RawArray, RawOperand

# Special methods, without underscores, that would read values: boxes raise TypeError for them.
READS = ("bool", "complex", "contains", "float", "index", "int", "iter", "len", "array", "buffer")
UNARY = ("abs", "invert", "neg", "pos")
BINARY = (
    "add", "and", "eq", "floordiv", "ge", "gt", "le", "lshift", "lt", "matmul", "mod", "mul", "ne",
    "or", "pow", "rshift", "sub", "truediv", "xor",
)  # fmt: skip
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")


class Boxed:
    """An array in a box that supports only the operations that arraytape requires of raw data.

    inner : an array of the wrapped namespace, which computes.
    boxes : the namespace that creates the boxes.
    """

    __slots__ = ("__weakref__", "inner")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    boxes: Boxes

    def __init__(self, inner: RawArray) -> None:
        self.inner = inner

    @property
    def memory(self) -> np.ndarray[Any, Any]:
        """Return the values as a NumPy array, which only the code of the storage may do."""
        inner: Any = self.inner
        found: np.ndarray[Any, Any] = getattr(inner, "_array", inner)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.memory.shape)

    @property
    def ndim(self) -> int:
        return self.memory.ndim

    @property
    def size(self) -> int:
        return self.memory.size

    @property
    def dtype(self) -> Any:
        return self.memory.dtype

    @property
    def device(self) -> Any:
        return self.boxes.device_of(self.inner)

    def __dlpack__(self, **options: Any) -> Any:
        return self.memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.memory.__dlpack_device__()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.boxes.name, self.memory, str(self.device))

    def to_device(self, device: Hashable) -> Any:
        return self.boxes.from_memory(self.memory.copy(), device)

    def __getitem__(self, key: Index) -> Any:
        return self.boxes.from_memory(self.memory[self.boxes.memory_key(self, key)], self.device)

    def __setitem__(self, key: Index, value: RawOperand) -> None:
        self.write_into(self.memory, key, value)

    def write_into(self, memory: np.ndarray[Any, Any], key: Index, value: RawOperand) -> None:
        """Write ``value`` to ``memory[key]``; ``memory`` is the box's own memory or a copy.

        key : the index, whose arrays may be boxed.
        """
        if isinstance(value, Boxed) and value.device != self.device:
            raise ValueError(f"cannot write data on {value.device} into data on {self.device}")
        memory[self.boxes.memory_key(self, key)] = getattr(value, "memory", value)


class Frozen(Boxed):
    """Boxed data that cannot be written to.  ``x += y`` computes ``x + y`` as new data.

    It imitates the data of JAX.
    """

    __slots__ = ()

    def __init__(self, inner: RawArray) -> None:
        self.inner = inner
        self.memory.flags.writeable = False

    def __setitem__(self, key: Index, value: RawOperand) -> None:
        raise TypeError("frozen data cannot be written to")


def refuse_reads(name: str) -> Callable[..., Any]:
    """Return a special method, such as ``__float__``, that raises TypeError and reads no value."""

    def refuse_read(x: Boxed, *_: Any) -> Any:
        raise TypeError(f"__{name}__ reads values, which may lie on another machine")

    return refuse_read


def binary_method(name: str, method: str) -> Callable[..., Any]:
    """Return the special method of the operator ``name``, such as "add", for boxes.

    method : "" for ``x + y``, "r" for the reflected operator, "i" for ``x += y``.
    """
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))

    def apply_operator(x: Boxed, other: RawOperand | Batched) -> Any:
        if type(other) is Batched:
            return NotImplemented
        return x.boxes.box(function(x.inner, x.boxes.operand(other, x)))

    def apply_reflected(x: Boxed, other: RawOperand) -> Any:
        return x.boxes.box(function(x.boxes.operand(other, x), x.inner))

    def apply_in_place(x: Boxed, other: RawOperand | Batched) -> Any:
        if type(other) is Batched:
            return NotImplemented
        getattr(operator, f"i{name}")(x.inner, x.boxes.operand(other, x))
        return x

    return {"": apply_operator, "r": apply_reflected, "i": apply_in_place}[method]


def unary_method(name: str) -> Callable[[Boxed], Any]:
    return lambda x: x.boxes.box(getattr(operator, name)(x.inner))


for _name in READS:
    setattr(Boxed, f"__{_name}__", refuse_reads(_name))
for _name in UNARY:
    setattr(Boxed, f"__{_name}__", unary_method(_name))
for _name in BINARY:
    for _method in ("",) if _name in COMPARISONS else ("", "r", "i"):
        setattr(Boxed, f"__{_method}{_name}__", binary_method(_name, _method))
    setattr(Frozen, f"__i{_name}__", lambda x, other: NotImplemented)


class Boxes:
    """An array API namespace that calls the functions of the namespace ``within`` on boxed data.

    kind : the type of the boxes.
    root : self, or for a submodule such as linalg the namespace that holds it.
    """

    def __init__(self, within: ModuleType, kind: type[Boxed], root: Boxes | None = None) -> None:
        self.within, self.kind, self.root = within, kind, root or self
        self.name = ""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.within, name)
        if isinstance(found, ModuleType):
            value: Any = type(self)(found, self.kind, self.root)
        elif isinstance(dtype := self.dtype_within(found), np.dtype):
            value = dtype
        elif callable(found):
            value = self.wrap_function(found)
        else:
            value = found
        setattr(self, name, value)
        return value

    def wrap_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes and returns boxes; ``function`` gets the arrays in them."""

        def call_boxed(*arguments: Any, device: Hashable | None = None, **keywords: Any) -> Any:
            boxes = self.root
            keywords |= boxes.device_keywords(device)
            first = next((a for a in arguments if isinstance(a, Boxed)), None)
            arguments = tuple(
                [boxes.unbox(a) if first is None else boxes.operand(a, first) for a in arguments]
            )
            return boxes.box(
                function(*arguments, **{k: boxes.unbox(v) for k, v in keywords.items()})
            )

        return call_boxed

    def box(self, result: Any) -> Any:
        """Return a function's result with a box around each array."""
        if isinstance(result, tuple | list):
            parts = [self.box(part) for part in result]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        if isinstance(result, np.generic):
            result = np.asarray(result)
        return self.kind(result) if hasattr(result, "shape") else result

    def unbox(self, argument: Any) -> Any:
        """Return a function's argument with arrays for boxes, and the wrapped namespace's dtypes."""
        if isinstance(argument, Boxed):
            return argument.inner
        if type(argument) in (tuple, list):
            return type(argument)([self.unbox(part) for part in argument])
        if isinstance(argument, np.dtype) or (
            isinstance(argument, type) and issubclass(argument, np.generic)
        ):
            return self.dtype_for(argument)
        return argument

    def memory_key(self, x: Boxed, key: Index) -> Any:
        """Return the index ``key`` with NumPy arrays in place of boxes, to index the memory of x.

        Raise IndexError for NumPy arrays in the key, as GPU libraries do.
        """
        if type(key) is tuple:
            return tuple([self.memory_key(x, part) for part in key])
        if isinstance(key, np.ndarray | list):
            raise IndexError(f"a key of {type(key).__name__} does not lie on the data's device")
        if isinstance(key, Boxed) and key.device != x.device:
            raise ValueError(f"a key on {key.device} cannot index data on {x.device}")
        return getattr(key, "memory", key)

    def operand(self, other: RawOperand | Batched, asarray_like: Boxed) -> Any:
        """Return the operand ``other`` without its box; raise TypeError for NumPy arrays.

        asarray_like : the other operand.  A NumPy scalar becomes data on its device.
        """
        if isinstance(other, np.ndarray):
            raise TypeError("host data does not mix with data on a device")
        if isinstance(other, np.generic):
            return self.from_memory(np.asarray(other), asarray_like.device).inner
        return self.unbox(other)

    # --- methods for NumPy as the wrapped namespace; StrictBoxes overrides them -------------------
    def from_memory(self, memory: np.ndarray[Any, Any], device: Hashable) -> Boxed:
        return self.kind(np.asarray(memory))

    def device_of(self, inner: RawArray) -> Any:
        return f"{self.name}:0"

    def device_keywords(self, device: Hashable) -> dict[str, Any]:
        """Return the keyword arguments with which the wrapped namespace uses ``device``."""
        return {}

    def dtype_for(self, dtype: npt.DTypeLike) -> Any:
        """Return the wrapped namespace's dtype for a NumPy dtype."""
        return dtype

    def dtype_within(self, found: Any) -> Any:
        """Return the NumPy dtype for a dtype of the wrapped namespace; None for other objects."""
        return (
            np.dtype(found) if isinstance(found, type) and issubclass(found, np.generic) else None
        )


class StrictBoxes(Boxes):
    """Boxes around arrays of array_api_strict, which has dtypes and devices of its own."""

    def from_memory(self, memory: np.ndarray[Any, Any], device: Hashable) -> Boxed:
        array = type(self.within.asarray(0.0))
        return self.kind(array._new(np.asarray(memory), device=device))

    def device_of(self, inner: RawArray) -> Any:
        return inner.device

    def device_keywords(self, device: Hashable) -> dict[str, Any]:
        return {} if device is None else {"device": device}

    def dtype_for(self, dtype: npt.DTypeLike) -> Any:
        return getattr(self.within, np.dtype(dtype).name)

    def dtype_within(self, found: Any) -> Any:
        return getattr(found, "_np_dtype", None)


class BoxedNamespace(Standard):
    """The raw functions on ``Boxed`` data, with which arraytape's ops and their rules compute."""

    def add_at(self, x: Any, key: Index, value: Any) -> Any:
        np.add.at(x.memory, x.boxes.memory_key(x, key), getattr(value, "memory", value))
        return x


class FrozenNamespace(BoxedNamespace):
    """The raw functions on ``Frozen`` data, which cannot be written to: ``add_at`` returns new data."""

    def add_at(self, x: Any, key: Index, value: Any) -> Any:
        sums = x.memory.copy(order="K")
        np.add.at(sums, x.boxes.memory_key(x, key), getattr(value, "memory", value))
        return x.boxes.from_memory(sums, x.device)


# Pickles refer to this function by its module and name, so neither may change.
def unpickled(name: str, memory: np.ndarray[Any, Any], device: str) -> Boxed:
    """Rebuild a box from its pickled parts: the kind of boxes, such as "hostile", values and device."""
    from . import storages

    storage = getattr(storages, {"array_api_strict": "strict"}.get(name, name))()
    (found_device,) = (d for d in storage.devices() if str(d) == device)
    found: Boxed = storage.boxes.from_memory(memory, found_device)
    return found
