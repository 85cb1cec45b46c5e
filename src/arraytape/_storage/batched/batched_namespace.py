"""``BatchedNamespace``, the raw namespace of batched data, in which vmap and Jacobians compute.

Most of its functions call NumPy's or CuPy's function on the raw data, in one of the ways (the *forms*)
that ``batched_forms`` lists.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..._record.op import REGISTRY
from ..._record.op_facts import facts_of
from ..._util.array_types import Index, RawArray
from .. import numpy_namespace, standard
from ..standard import Size
from ..storage import STORAGES, storage_at, storage_of
from . import indexing as keys
from . import matrix_products
from .batched_data import (
    Batched,
    aligned,
    axis_ids_of,
    diagonal_rows,
    lengths_of,
    namespace_of,
    plain,
    refusal,
    spread,
)
from .batched_forms import (
    AXES,
    ELEMENTS,
    NEW,
    ONE_AXIS,
    ONE_BY_ONE,
    OWN,
    REFUSED,
    STACKS,
    form_by_facts,
)
from .batched_operators import on_diagonal
from .indexing import each_one, raw_of

if TYPE_CHECKING:
    import numpy.typing as npt


def function_of(name: str, values: Iterable[Any]) -> Any:
    """Return the function ``name``, such as "linalg.inv", of the library of the data in ``values``.

    The library is the one of the arrays, or of the arrays inside batched data; NumPy if there is none.
    """
    found = raw_of(values) or numpy_namespace
    for part in name.split("."):
        found = getattr(found, part)
    return found


def raw_axis(axis: Any, hidden: int, rank: int) -> Any:
    """Return the number of an axis in the raw data of batched data; a tuple for several axes.

    Raises NumPy's AxisError for an axis out of range, which could otherwise select a hidden axis.

    axis : the axis, or axes, as the user counts them.  hidden : the number of hidden axes before these.
    rank : the number of axes without the hidden ones.
    """
    if type(axis) in (tuple, list):
        places = [int(normalize_axis_index(operator.index(a), rank)) for a in axis]
        if len(set(places)) < len(places):
            raise ValueError("duplicate value in 'axis'")
        return tuple([a + hidden for a in places])
    return int(normalize_axis_index(operator.index(axis), rank)) + hidden


def rewrapped(result: Any, axis_ids: Any) -> Any:
    """Wrap raw data, or each item of a list or tuple of raw data, as ``Batched``.

    axis_ids : the ids of the leading axes of the data, which are hidden.
    """
    if isinstance(result, tuple | list):
        parts: list[Any] = [Batched(part, axis_ids) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return Batched(result, axis_ids)


def unpack_batched(x: Batched) -> tuple[Any, Any, int]:
    """Return the raw data of x, the ids of its hidden axes, and their number."""
    return x.data, x.axis_ids, len(x.axis_ids)


def default_axis(name: str) -> Any:
    """Return the default of the parameter ``axis`` of the op ``name``."""
    axis = inspect.signature(REGISTRY[name].public).parameters["axis"]  # type: ignore[arg-type]
    return None if axis.default is axis.empty else axis.default


class Extension:
    """An extension of a batched namespace: ``linalg``, ``fft`` or ``special``.

    Its attribute ``inv``, say, is the function "linalg.inv" of ``namespace``.
    """

    def __init__(self, namespace: BatchedNamespace, prefix: str) -> None:
        self.namespace, self.prefix = namespace, prefix

    def __getattr__(self, name: str) -> Any:
        return self.namespace.find(self.prefix + name)


class BatchedNamespace(standard.Compositions):
    """The raw namespace of batched data; its functions also accept data that is not batched.

    Batched data holds an array for each example of a vmap.  The namespace has the array API standard's
    functions, and those that the class ``Standard`` adds.
    """

    def __init__(self) -> None:
        self.linalg, self.fft = Extension(self, "linalg."), Extension(self, "fft.")
        self.special = Extension(self, "special.")

    def __getattr__(self, name: str) -> Any:
        found = self.find(name)
        setattr(self, name, found)  # the next access does not call __getattr__
        return found

    def form(self, name: str) -> str:
        """Return the form of a function: how the library's function is applied to batched data.

        An example is ELEMENTS: the function is called once, on aligned data of all vmap examples.
        """
        if hasattr(type(self), name.replace(".", "_")):
            return OWN
        found = form_by_facts(REGISTRY.get(name) or facts_of(name))
        return AXES if found == ONE_AXIS and default_axis(name) is not None else found

    def find(self, name: str) -> Any:
        """Return the function, dtype or constant of a dotted name, such as "linalg.inv".

        A function is new: it applies the library's function of this name to batched data.
        """
        form = self.form(name)
        if form == OWN:
            return getattr(self, name.replace(".", "_"))
        if form == ONE_BY_ONE:
            found: Any = numpy_namespace
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is not None and (isinstance(found, type) or not callable(found)):
                return found  # a dtype or a constant
        make = {
            ELEMENTS: self.of_elements, AXES: self.along_axes, ONE_AXIS: self.along_one_axis,
            STACKS: self.of_stacks, NEW: self.new, REFUSED: self.refused,
            ONE_BY_ONE: self.one_by_one,
        }  # fmt: skip
        return make[form](name)

    # --- functions by form: each method returns the function ``name`` of batched data ---------------
    def of_elements(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **keywords: Any) -> Any:
            for value in values:
                if type(value) is Batched and value._data is None:
                    found = on_diagonal(name, function_of(name, values), values)
                    if found is not None:
                        return found
            values += tuple(keywords.values())  # clip's keywords min and max, in signature order
            operands, axis_ids = aligned(values)
            result = function_of(name, values)(*operands)
            return Batched(result, axis_ids) if axis_ids else result

        return call

    def along_axes(self, name: str) -> Callable[..., Any]:
        default = default_axis(name)

        def call(x: Any, /, *others: Any, axis: Any = default, **keywords: Any) -> Any:
            if not axis_ids_of((x, *others)):
                keywords |= {} if axis is None and name != "linalg.vector_norm" else {"axis": axis}
                return function_of(name, (x,))(x, *others, **keywords)
            if type(axis) is list and name not in ("expand_dims", "flip"):
                operator.index(axis)  # type: ignore[arg-type]  # raises TypeError, as NumPy's reductions do
            if name == "expand_dims":
                rank = len(x.shape) + (len(axis) if type(axis) is tuple else 1)
            elif not x.shape and (axis is not None or name == "linalg.vector_norm"):
                return self.of_numbers(name, x, others, {"axis": axis, **keywords})
            else:
                rank = max(len(v.shape) for v in (x, *others))
            (data, *rest), axis_ids = aligned((x, *others))
            if others:  # take_along_axis does not broadcast indices over the hidden axes
                hidden = tuple(lengths_of((x, *others)).values())
                data, *rest = (spread(v, axis_ids, hidden).data for v in (x, *others))
            count = len(axis_ids)
            at = tuple(range(count, count + rank)) if axis is None else raw_axis(axis, count, rank)
            if at == () and name == "linalg.vector_norm":  # axis=(): the norm of each element
                data, at, keywords = data[..., None], -1, {**keywords, "keepdims": False}
            result = function_of(name, (x,))(data, *rest, axis=at, **keywords)
            return Batched(result, axis_ids)

        return call

    def along_one_axis(self, name: str) -> Callable[..., Any]:
        to_one = facts_of(name).cores[1] == [()]

        def call(x: Any, /, *, axis: Any = None, **keywords: Any) -> Any:
            if type(x) is not Batched:
                return function_of(name, (x,))(x, axis=axis, **keywords)
            rank = x.ndim
            if not rank or (axis is None and rank > 1 and not to_one):
                return self.of_numbers(name, x, (), {"axis": axis, **keywords})
            if axis is None:
                x, axis = self.reshape(x, (-1,)), -1
            data, axis_ids, count = unpack_batched(x)
            at = raw_axis(axis, count, x.ndim)
            result = Batched(function_of(name, (x,))(data, axis=at, **keywords), axis_ids)
            if keywords.get("keepdims") and rank != result.ndim:
                return self.reshape(result, (1,) * rank)
            return result

        return call

    def of_numbers(
        self, name: str, x: RawArray | Batched, others: Sequence[RawArray], keywords: dict[str, Any]
    ) -> Any:
        """Call the function ``name``, such as "sum", on batched data x whose examples are numbers.

        All axes of x are hidden.  So the raw data gets a new last axis of length 1, since the library's
        function would otherwise work along a hidden axis.  A first call, on zeros of one example's
        shape, raises NumPy's errors and shows the result's shape.

        others, keywords : the further arguments of the function.
        """
        function, axis_ids = function_of(name, (x,)), axis_ids_of((x, *others))
        hidden = tuple(lengths_of((x, *others)).values())
        (data, *rest), _ = aligned((x, *others))
        xp = namespace_of(data)
        one = function(*[xp.zeros(v.shape, dtype=v.dtype) for v in (x, *others)], **keywords)
        named = {**keywords, "axis": -1} | ({"keepdims": False} if "keepdims" in keywords else {})
        found = function(data[..., None], *rest, **named)
        return Batched(xp.reshape(found, (*hidden, *one.shape)), axis_ids)

    def of_stacks(self, name: str) -> Callable[..., Any]:
        rank = len(facts_of(name).cores[0][0])

        def call(x: Any, /, *others: Any, **keywords: Any) -> Any:
            function = function_of(name, (x,))
            if not axis_ids_of((x, *others, *keywords.values())):
                return function(x, *others, **keywords)
            plain = type(x) is Batched and len(x.shape) >= rank
            if not plain or axis_ids_of((*others, *keywords.values())):
                return self.one_by_one(name)(x, *others, **keywords)
            return rewrapped(function(x.data, *others, **keywords), x.axis_ids)

        return call

    def refused(self, name: str) -> Callable[..., Any]:
        def call(x: RawArray | Batched, /, *others: Any, **keywords: Any) -> Any:
            if type(x) is Batched:
                raise refusal(name, x)
            return function_of(name, (x,))(x, *others, **keywords)

        return call

    def new(self, name: str) -> Callable[..., Any]:
        def call(
            *arguments: Any,
            dtype: npt.DTypeLike | None = None,
            device: Hashable = None,
            **keywords: Any,
        ) -> Any:
            first = arguments[0]
            axis_ids = getattr(first, "axis_ids", ())
            shape = (*first.hidden, *first) if axis_ids else first
            storage = storage_at(device)
            data = storage.create(
                name, device, shape, *arguments[1:], dtype=plain(dtype), **keywords
            )
            return Batched(data, axis_ids) if axis_ids else data

        return call

    def one_by_one(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **keywords: Any) -> Any:
            function = function_of(name, (*values, *keywords.values()))
            return each_one(function, values, keywords)

        return call

    # --- functions with a form of their own ---------------------------------------------------------
    power_operator = staticmethod(operator.pow)

    def isin(
        self, x1: RawArray | Batched, x2: RawArray | Batched, /, *, invert: bool = False
    ) -> Any:
        if type(x1) is not Batched or type(x2) is Batched:
            return self.one_by_one("isin")(x1, x2, invert=invert)
        found = namespace_of(x1.data).isin(x1.data, x2, invert=invert)
        return Batched(found, x1.axis_ids)

    def searchsorted(
        self,
        x1: RawArray | Batched,
        x2: RawArray | Batched,
        /,
        *,
        side: str = "left",
        sorter: RawArray | None = None,
    ) -> Any:
        if type(x2) is not Batched or axis_ids_of((x1, sorter)):
            return self.one_by_one("searchsorted")(x1, x2, side=side, sorter=sorter)
        xp = namespace_of(x2.data)
        return Batched(xp.searchsorted(x1, x2.data, side=side, sorter=sorter), x2.axis_ids)

    def result_type(self, *values: Any) -> Any:
        given = [plain(x.dtype) if type(x) is Batched else x for x in values]
        return numpy_namespace.result_type(*given)

    def isdtype(
        self, dtype: npt.DTypeLike, kind: str | npt.DTypeLike | tuple[str | npt.DTypeLike, ...]
    ) -> bool:
        return bool(numpy_namespace.isdtype(plain(dtype), kind))

    def asarray(
        self, x: Any, /, *, dtype: Any = None, device: Hashable = None, copy: bool | None = None
    ) -> Any:
        if type(x) is Batched:
            x = x if dtype is None or dtype == x.dtype else self.astype(x, dtype)
            return self.fresh(x) if copy else x
        if type(x) in STORAGES:
            storage = storage_of(x)
            return storage.asarray(x, plain(dtype), storage.device(x), copy)
        return storage_at(device).asarray(x, plain(dtype), device, copy)

    def astype(
        self,
        x: RawArray | Batched,
        dtype: npt.DTypeLike,
        /,
        *,
        copy: bool = True,
        device: Hashable = None,
    ) -> Any:
        dtype = plain(dtype)
        return self.each(lambda d, xp: xp.astype(d, dtype, copy=copy), x, "astype")

    def cast(self, x: RawArray, /, dtype: npt.DTypeLike) -> Any:
        return self.astype(x, dtype)

    discretized = cast

    def fresh(self, x: Any, /) -> Any:
        if type(x) is Batched and x._data is None:
            return Batched(diagonal_rows(*x.diagonal), x.axis_ids)
        return self.each(lambda d, xp: xp.asarray(d, copy=True), x)

    stop_gradient = fresh

    def each(self, function: Callable[..., Any], x: Any, name: str = "") -> Any:
        """Apply ``function(data, xp)``, which keeps the shape, to the raw data of batched data x.

        name : the op that ``function`` computes.  With a name, diagonal data may stay diagonal; with ""
        its zeros are made: see ``Batched``.
        """
        if type(x) is not Batched:
            return function(x, namespace_of(x))
        xp = namespace_of(x.sample)
        found = on_diagonal(name, lambda d: function(d, xp), (x,)) if name else None
        return Batched(function(x.data, xp), x.axis_ids) if found is None else found

    def zeros_like(
        self, x: RawArray, /, *, dtype: npt.DTypeLike | None = None, device: Hashable = None
    ) -> Any:
        return self.each(lambda d, xp: xp.zeros_like(d, dtype=plain(dtype)), x, "zeros_like")

    def ones_like(
        self, x: RawArray, /, *, dtype: npt.DTypeLike | None = None, device: Hashable = None
    ) -> Any:
        return self.each(lambda d, xp: xp.ones_like(d, dtype=plain(dtype)), x)

    def reshape(self, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if type(x) is not Batched:
            return namespace_of(x).reshape(x, shape, copy=copy)
        if -1 in shape:
            known = -math.prod(shape)
            if not known:
                raise ValueError(f"cannot reshape array of size {x.size} into shape {shape}")
            shape = tuple([x.size // known if n == -1 else n for n in shape])
        whole = (*x.hidden, *shape)
        return Batched(namespace_of(x.data).reshape(x.data, whole, copy=copy), x.axis_ids)

    def reshaped(self, x: RawArray, /, shape: Size) -> Any:
        return self.reshape(x, shape, copy=True)

    def matrix_transpose(self, x: Any, /) -> Any:
        if type(x) is not Batched:
            return x.mT if type(x) is np.ndarray else namespace_of(x).matrix_transpose(x)
        if x.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return Batched(namespace_of(x.data).matrix_transpose(x.data), x.axis_ids)

    def permute_dims(self, x: Any, /, axes: Any) -> Any:
        if type(x) is not Batched:
            return namespace_of(x).permute_dims(x, axes)
        data, axis_ids, count = unpack_batched(x)
        if len(axes) != x.ndim:
            raise ValueError("axes don't match array")
        order = (*range(count), *raw_axis(tuple(axes), count, x.ndim))
        return Batched(namespace_of(data).permute_dims(data, order), axis_ids)

    def moveaxis(self, x: Any, source: Any, destination: Any, /) -> Any:
        count = len(axis_ids_of((x,)))
        data = x.data if count else x
        rank = len(x.shape)
        moved = namespace_of(data).moveaxis(
            data, raw_axis(source, count, rank), raw_axis(destination, count, rank)
        )
        return Batched(moved, x.axis_ids) if count else moved

    def broadcast_to(self, x: Any, /, shape: Any, view: bool = False) -> Any:
        xp = namespace_of(x.sample if type(x) is Batched else x)
        broadcast = xp.broadcast_view if view else xp.broadcast_to
        if type(x) is not Batched:
            return broadcast(x, tuple(shape))
        if x.ndim > len(shape):
            raise ValueError(f"cannot broadcast shape {tuple(x.shape)} to {tuple(shape)}")
        data = x.aligned(x.axis_ids, len(shape))
        return Batched(broadcast(data, (*x.hidden, *shape)), x.axis_ids)

    def broadcast_view(self, x: RawArray, /, shape: Size) -> Any:
        return self.broadcast_to(x, shape, view=True)

    def concat(self, arrays: Sequence[RawArray], /, *, axis: int | None = 0) -> Any:
        arrays = [x if hasattr(x, "shape") else np.asarray(x) for x in arrays]  # Python numbers
        if axis is None:
            arrays, axis = [self.reshape(x, (-1,)) for x in arrays], 0
        return self.joined("concat", arrays, axis)

    def stack(self, arrays: Sequence[RawArray], /, *, axis: int = 0) -> Any:
        arrays = [x if hasattr(x, "shape") else np.asarray(x) for x in arrays]
        return self.joined("stack", arrays, axis)

    def joined(self, name: str, arrays: Any, axis: int) -> Any:
        axis_ids = axis_ids_of(arrays)
        function = function_of(name, arrays)
        if not axis_ids:
            return function(arrays, axis=axis)
        hidden = tuple(lengths_of(arrays).values())
        rank = len(arrays[0].shape) + (name == "stack")
        if not rank:
            raise ValueError("zero-dimensional arrays cannot be concatenated")
        if len({len(x.shape) for x in arrays}) > 1:
            raise ValueError("all the input arrays must have same number of dimensions")
        same = [
            x if type(x) is Batched and x.axis_ids == axis_ids else spread(x, axis_ids, hidden)
            for x in arrays
        ]
        at = raw_axis(axis, len(axis_ids), rank)
        return Batched(function([x.data for x in same], axis=at), axis_ids)

    def take(self, x: Any, indices: Any, /, *, axis: Any = None) -> Any:
        standard.check_take(x, indices, axis)
        if type(x) is not Batched and type(indices) is not Batched:
            return namespace_of(x).take(x, indices, axis=axis)
        if axis is None or not x.shape:
            x, axis = self.reshape(x, (-1,)), 0
        if type(indices) is Batched:
            return self.get(x, (*(slice(None),) * raw_axis(axis, 0, len(x.shape)), indices))
        data, axis_ids, count = unpack_batched(x)
        at = raw_axis(axis, count, x.ndim)
        return Batched(namespace_of(data).take(data, indices, axis=at), axis_ids)

    def vecdot(self, x1: RawArray, x2: RawArray, /, *, axis: int = -1) -> Any:
        if axis != -1:  # move the axis to the end, because the operands may have different ranks
            x1, x2 = self.moveaxis(x1, axis, -1), self.moveaxis(x2, axis, -1)
        if x1.shape[-1:] != x2.shape[-1:] or not len(x1.shape):
            raise ValueError(
                f"vecdot: unequal lengths, shapes {tuple(x1.shape)}, {tuple(x2.shape)}"
            )
        return self.sum(self.conj(x1) * x2, axis=-1)

    def inverse_again(self, x: RawArray, singular: RawArray, /) -> Any:
        (data, where), axis_ids = aligned((x, singular))
        found = function_of("inverse_again", (x, singular))(data, where)
        return Batched(found, axis_ids) if axis_ids else found

    # --- products, systems, keys ----------------------------------------------------------------------
    matmul = staticmethod(matrix_products.matmul)
    linalg_solve = staticmethod(matrix_products.batched_solve)
    solve_again = staticmethod(matrix_products.batched_solve_again)
    get = staticmethod(keys.get)
    put = staticmethod(keys.put_batched)
    add_at = staticmethod(keys.add_at_batched)
    scatter_add = scattered = staticmethod(keys.scatter_add_batched)

    def getitem(self, x: RawArray | Batched, /, key: Index) -> Any:
        part = self.get(x, key)
        if type(x) is not Batched or not math.prod(x.hidden):
            return self.fresh(part)
        storage = storage_of(x.data)
        if storage.beneath(x.data).kind is not np.ndarray:
            return self.fresh(part)
        if axis_ids_of(key if type(key) is tuple else (key,)):
            return part
        # The results of all examples get the memory layout of NumPy's result for the first example.
        one = x.data[(0,) * len(x.axis_ids)][key]
        return Batched(storage.arranged(part.data, one, len(one.shape)), part.axis_ids)
