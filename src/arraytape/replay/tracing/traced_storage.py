"""The storage of traced data: NumPy's raw functions, each of which adds its call to the trace.

While a function is traced, the context variable MAKING selects this storage for new Arrays, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._record.op_facts import hull, state_facts
from ..._storage import factors, numpy_namespace, standard
from ..._storage.decompositions import libraries
from ..._storage.numpy_storage import NUMPY, arranged, order_in_memory
from ..._storage.scattering import add_at
from ..._storage.storage import (
    HOST,
    STORAGES,
    Storage,
    admitted,
    enter,
    is_known,
    makes_a_view,
    moved_between,
    storage_at,
)
from ..._util.array_types import Index, RawArray, RawOperand
from ..program import put
from .traced import (
    ACTIVE,
    TRACED_TYPES,
    Traced,
    call_noted,
    call_unseen,
    foreign_call,
    guarded_value,
    noted_function,
    read_only_call,
    traced_value,
    traced_values,
    untraced,
)

if TYPE_CHECKING:
    import numpy.typing as npt

UPLOAD = "upload"  # the op of a copy from the host to a device


class TracedNamespace(standard.Compositions):
    """NumPy's namespace, or a submodule such as linalg, whose functions record their calls.

    The calls become the program that replays run.
    base : the namespace.
    prefix : the prefix of the names of calls, such as "linalg.".
    traced : the storage of the traced data; None for a submodule.
    """

    def __init__(self, base: Any, prefix: str = "", traced: Any = None) -> None:
        self._base, self._prefix, self._traced = base, prefix, traced

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._base, name)
        if isinstance(found, ModuleType) or name in ("linalg", "special"):
            found = TracedNamespace(found, f"{self._prefix}{name}.")
        elif callable(found) and not isinstance(found, type):
            found = noted_function(f"{self._prefix}{name}", found)
        setattr(self, name, found)
        return found

    def asarray(
        self,
        x: RawArray,
        /,
        *,
        dtype: npt.DTypeLike | None = None,
        device: Hashable = None,
        copy: bool | None = None,
    ) -> Any:
        return self._traced.asarray(x, dtype, device, copy)

    def key(self, key: Index, x: RawArray) -> Any:
        return key

    # NumPy's storage caches the factors of a matrix by the ``id()`` of its data.  A program reuses
    # memory for other data, so functions without a cache are traced: these two, and ``solve_again``.
    # The optimisation pass ``factored_once`` finds matrices that are factored twice.
    def inverse_again(self, x: RawArray, singular: RawArray, /) -> Any:
        return call_noted("inverse_again", inverse_again, x, singular)

    def cofactors(self, x: RawArray, /) -> Any:
        return call_noted("cofactors", cofactors, x)


class TracedStorage(Storage):
    """The storage of traced data: it calls NumPy's functions, and records these calls.

    base : the storage of the values themselves.
    """

    name, kind, mixed = "traced", Traced, 1
    base: Storage = NUMPY

    def __init__(self) -> None:
        self.xp: Any = TracedNamespace(numpy_namespace, traced=self)

    def function(self, name: str) -> Callable[..., Any]:
        return moved_in_trace if name == "moved" else super().function(name)

    def traced_over(self, storage: Storage) -> Storage | None:
        kind = TRACED_TYPES.get(storage.kind)
        return None if kind is None else STORAGES[kind]

    def beneath(self, data: RawArray) -> Storage:
        return self.base

    def adopted(self, data: RawArray) -> Any:
        trace = ACTIVE.get()
        if trace is None or type(data) not in TRACED_TYPES:
            return data
        if type(data) is not np.ndarray:
            return trace.traced(trace.memory(data), data)
        return trace.from_outside(data)

    def elementwise(self, functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
        function = functions[self.base.kind]
        op = getattr(functions, "op", None)
        if op is None:
            return noted_function(getattr(function, "__name__", "elementwise"), function)
        return lambda *args, **keywords: foreign_call(op.name, function, args, keywords)

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return noted_function(name, function)

    def numpys_value(
        self, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        return call_noted(f"np.{function.__name__}", read_only_call(function), *args, **keywords)

    # --- devices: traced data is on the host ------------------------------------------------------
    def devices(self) -> tuple[Any, ...]:
        return ()

    def takes(self, device: Hashable) -> bool:
        return False

    def device(self, data: RawArray) -> Any:
        return HOST

    def on(self, device: Hashable) -> Any:
        return self.base.on(device)

    def moved(self, data: RawArray, device: Hashable) -> Any:
        return self.copy(data)

    # --- new data and copies ----------------------------------------------------------------------
    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        return call_noted(name, attrgetter(name)(np), *arguments, **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        """Return ``value`` as traced data, whose calls are recorded; as an ndarray if none are recorded.

        A user's ndarray becomes a constant, which replays compare with the ndarray; with copy=False it
        is returned as it is.  Other data is copied to a constant.
        """
        if type(value) is Traced:
            if dtype is None or value.dtype == dtype:
                return value
            return call_noted("astype", numpy_namespace.astype, value, dtype)
        trace = ACTIVE.get()
        if copy is False and type(value) is np.ndarray:
            # No traced copy: the Array and the ndarray must share memory, so that both see writes.
            return admitted(np.array(value, dtype=dtype, copy=False))
        made = admitted(np.array(traced_values(value), dtype=dtype))
        if trace is None:
            return made
        if type(value) is np.ndarray:
            if not is_known(value.dtype):  # a replay cannot compare data of unknown dtypes
                trace.spoil(
                    f"it reads an ndarray of dtype {value.dtype.str}. Convert it before the call"
                )
                return trace.traced(trace.constant(made), made)
            found = trace.from_outside(value)
            if dtype is None or value.dtype == dtype:
                return found
            return call_noted("astype", numpy_namespace.astype, found, dtype)
        return trace.traced(trace.constant(made), made)

    def copy(self, data: RawArray) -> Any:
        value = traced_value(data)
        if value.flags.writeable and value.copy(order="K").strides == value.strides:
            return data  # no copy is needed, because nothing writes to traced data
        return call_noted("copied", copied, data)

    def contiguous(self, data: RawArray) -> Any:
        flags = traced_value(data).flags
        if flags.writeable and flags.c_contiguous:
            return data
        return call_noted("contiguous", contiguous, data)

    def order(self, data: RawArray) -> str:
        return self.base.order(traced_value(data))

    def laid_out(self, data: RawArray, like: Any) -> Any:
        value = traced_value(data)
        if not hasattr(like, "strides") or NUMPY.laid_out(value, traced_value(like)) is value:
            return data
        return call_noted(
            "laid_out", arranged, data, order_in_memory(traced_value(like), like.ndim)
        )

    def arranged(self, data: RawArray, like: Any, rank: int) -> Any:
        return call_noted("arranged", arranged, data, order_in_memory(traced_value(like), rank))

    def host(self, data: RawArray) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = guarded_value(data)
        return found

    def first_numbers(self, data: Any, count: int) -> np.ndarray[Any, Any]:
        return self.base.first_numbers(untraced(data), count)

    def refuse_replay(self, data: Any, why: str) -> None:
        data.trace.spoil(why)

    # --- reads, writes and checks of memory -------------------------------------------------------
    def in_place(self, data: RawArray) -> bool:
        return False

    def put(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        return call_noted("put", put, data, key, value)

    def add_at(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        # Basic indices name no element twice, so that ``x[key] = x[key] + value`` does the same.
        if makes_a_view(key):
            total = call_noted(
                "add", np.add, call_noted("getitem", numpy_namespace.getitem, data, key), value
            )
            return self.put(data, key, total)
        return call_noted("add_at", added_at, data, key, value)

    def shares(self, part: RawArray, whole: RawArray) -> bool:
        return np.may_share_memory(traced_value(part), traced_value(whole))

    def writeable(self, data: RawArray) -> bool:
        return self.base.writeable(traced_value(data))

    def key(self, key: Index, data: RawArray) -> Any:
        return key

    def unless_none(self, mask: RawArray) -> Any:
        found = NUMPY.unless_none(traced_value(mask))
        # If no element is True, the caller omits the mask.  So a replay has to check, by the guard that
        # ``guarded_value`` adds, that again no element is True.
        if found is None:
            guarded_value(call_noted("any", numpy_namespace.any, mask))
        return found if found is None else mask

    def has_nan(self, data: RawArray) -> bool:
        found = call_unseen(self.base.has_nan, traced_value(data))
        trace = ACTIVE.get()
        # A NaN needs no guard: the program then has the guarded rerun, which is right in any case.
        if trace is not None and not found:
            trace.guard("no NaN", trace.node_of(data), None)
        return bool(found)


def moved_in_trace(data: Any, /, device: Hashable) -> Any:
    """Return a copy of data on ``device``; a copy from the host to a device is recorded.

    A copy from a device to the host reads the values, so that the call is not replayed.
    """
    target = storage_at(device)
    if type(data) is Traced and target is not NUMPY and target.kind in TRACED_TYPES:
        return call_noted(UPLOAD, target.moved, data, device)
    return moved_between(data, device)


@state_facts(continuous=True, propagates_nan=True, in_order=True, range=hull)
def copied(x: np.ndarray[Any, Any]) -> Any:
    """Return a copy of x with the same order of axes in memory, without gaps between elements."""
    return x.copy(order="K")


@state_facts("add_at", continuous=True)
def added_at(x: np.ndarray[Any, Any], key: Index, value: RawArray) -> Any:
    """Return a copy of x after ``x[key] += value``; an index that occurs twice in ``key`` adds twice."""
    return add_at(x.copy(order="K"), key, value)


@state_facts(continuous=True, propagates_nan=True, in_order=True, range=hull)
def contiguous(x: np.ndarray[Any, Any]) -> Any:
    """Return a C-contiguous copy of x."""
    return x.copy()


def inverse_again(x: RawArray, singular: RawArray) -> Any:
    """Return the inverses of the matrices x, with a unit matrix for each singular one.

    Derivatives that need an inverse, such as that of ``det``, call it.
    singular : a mask with one element for each matrix.
    """
    return standard.inverse_again(x, singular, numpy_namespace)


@state_facts(continuous=True)
def through_cholesky(g: RawArray | Traced, y: RawArray) -> Any:
    """Return the cotangent of a positive definite matrix, from the cotangent g of its Cholesky factor y.

    The program calls LAPACK's routine for it.  Return None if SciPy is missing, or if y is small,
    batched or of a dtype without such a routine.  The caller then traces the general rule.
    """
    if y.shape[-1] < factors.LEAST_KNOWN or y.ndim > 2 or libraries() is None:
        return None
    if type(g) is not Traced or y.dtype.kind not in "fc":
        return None
    return call_noted("through_cholesky", factors.through_cholesky, g, y)


factors.THROUGH[Traced] = through_cholesky


def cofactors(x: RawArray) -> Any:
    """Return the matrix of cofactors, which is the derivative of the determinant of x."""
    return standard.cofactors(x, np)


TRACED = TracedStorage()
enter(TRACED)
