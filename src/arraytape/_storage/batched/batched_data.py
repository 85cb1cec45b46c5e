"""Batched data: raw data with hidden leading axes, which represents many arrays at once.

``Batched(data, axis_ids)`` has the shape of one of these arrays: its visible axes.  Each hidden axis
has a unique id, not a depth of nesting, so that axes of different vmaps are never confused.  A Jacobian
is one backward pass with a batched cotangent, and vmap calls its function with Arrays of batched data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..._util.array_types import RawArray, RawOperand
from ..._util.blocks import Setting
from ..._util.errors import user_line
from ..storage import storage_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..._record.stack import Recorder
    from ..._util.array_types import Index

AxisIds = tuple[int, ...]
new_axis_id = itertools.count(1).__next__
# The hidden axes of all vmaps and Jacobians that are being computed now: only these may be used.
ACTIVE: ContextVar[AxisIds] = ContextVar("arraytape hidden axes", default=())


class NoBatchedForm(TypeError):
    """The error for an operation in ``vmap`` that cannot be done for all examples at once.

    Usually the shape of the result, or a branch in the code, depends on values.
    """


class Shape(tuple[int, ...]):
    """The visible shape of batched data, with the ids and lengths of its hidden axes as attributes."""

    axis_ids: AxisIds
    hidden: tuple[int, ...]


DTYPES: dict[tuple[Any, AxisIds], Any] = {}


def dtype_with_axes(dtype: np.dtype[Any], axis_ids: AxisIds) -> Any:
    """Return the dtype object of batched data: it equals ``dtype``, but is another object.

    Ops promote operands whose dtypes are not the same object (``is``).  So they also promote operands
    that differ in hidden axes, without a further check that would slow down ops outside of vmap.

    axis_ids : the ids of the hidden axes, one for each enclosing vmap.  Each tuple of ids has its own
    dtype object.
    """
    key = dtype.type, axis_ids
    found = DTYPES.get(key)
    if found is None:
        found = DTYPES[key] = np.dtype(dtype.type, copy=True)
    return found


def plain(dtype: npt.DTypeLike | None) -> Any:
    """Return NumPy's own dtype object for a dtype, which may come from ``dtype_with_axes``, or None."""
    return dtype if dtype is None else np.dtype(np.dtype(dtype).type)


class Batched:
    """Many arrays of one shape in one raw array, such as the examples of a vmap.

    The first ``len(axis_ids)`` axes of the raw array are hidden: ``shape`` and ``ndim`` do not count
    them.  Each enclosing vmap has one hidden axis, which numbers its examples.  ``axis_ids`` has the ids
    of these axes in ascending order, the order of the axes.

    *Diagonal data*, such as the seeds of a Jacobian, is stored without its zeros.  Then ``_data`` is
    None, and ``diagonal`` is (vector, start, stop) for rows start to stop of the matrix diag(vector).
    The k-th array has the vector's shape, and is 0 except for its flat element start + k.  Reading
    ``data`` makes the zeros.
    """

    __slots__ = ("__weakref__", "_data", "axis_ids", "diagonal")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's and CuPy's operators defer to this class's
    __array_priority__ = 1000

    def __init__(self, data: RawArray | None, axis_ids: AxisIds, diagonal: Any = None) -> None:
        self._data, self.axis_ids, self.diagonal = data, axis_ids, diagonal

    @property
    def data(self) -> Any:
        """Return the raw array, hidden axes first; make it from ``diagonal`` if needed."""
        if self._data is None:
            self._data = diagonal_rows(*self.diagonal)
            self.diagonal = None
        return self._data

    @property
    def sample(self) -> Any:
        """Return raw data with the storage, dtype and device of ``data``, but perhaps another shape.

        For diagonal data this does not make the zeros, as reading ``data`` would.
        """
        return self.diagonal[0] if self._data is None else self._data

    @property
    def hidden(self) -> tuple[int, ...]:
        """Return the lengths of the hidden axes, in order of their ids."""
        if self._data is None:
            return (self.diagonal[2] - self.diagonal[1],)
        return tuple(self._data.shape[: len(self.axis_ids)])

    @property
    def shape(self) -> Shape:
        data, axis_ids = self._data, self.axis_ids
        if data is None:
            shape = Shape(self.diagonal[0].shape)
            shape.hidden = self.hidden
        else:
            whole, count = data.shape, len(axis_ids)
            shape = Shape(whole[count:])
            shape.hidden = whole[:count]
        shape.axis_ids = axis_ids
        return shape

    @property
    def ndim(self) -> int:
        data = self._data
        if data is None:
            return len(self.diagonal[0].shape)
        return len(data.shape) - len(self.axis_ids)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        return dtype_with_axes(self.sample.dtype, self.axis_ids)

    @property
    def device(self) -> Any:
        return self.sample.device

    @property
    def strides(self) -> Any:
        """Return the strides of the visible axes in bytes; None if the raw data has no strides."""
        strides = getattr(self.sample, "strides", None)
        return strides if strides is None else strides[len(strides) - self.ndim :]

    def aligned(self, axis_ids: AxisIds, rank: int) -> Any:
        """Return the raw data, reshaped so that it broadcasts with data that has more axes.

        Axes that the data does not have get length 1.

        axis_ids : the ids of the result's hidden axes, which come first.  rank : the number of the
        visible axes after them.
        """
        data, count = self.data, len(self.axis_ids)
        extra = rank - len(data.shape) + count
        if not extra and axis_ids == self.axis_ids:
            return data
        sizes = dict(zip(self.axis_ids, data.shape, strict=False))
        hidden = tuple([sizes.get(axis_id, 1) for axis_id in axis_ids])
        return reshape(data, (*hidden, *(1,) * extra, *data.shape[count:]))

    if TYPE_CHECKING:  # attached by ``indexing``, ``matrix_products`` and ``batched_operators``

        def __getitem__(self, key: Index) -> Any: ...
        def __setitem__(self, key: Index, value: RawOperand) -> None: ...
        def __matmul__(self, other: RawOperand) -> Any: ...
        def __rmatmul__(self, other: RawOperand) -> Any: ...

    def __abs__(self) -> Any:
        return Batched(abs(self.data), self.axis_ids)

    def __repr__(self) -> str:
        times = " x ".join(map(str, self.hidden))
        return f"{times} times {self.sample.dtype} of shape {tuple(self.shape)}"


def reshape(data: RawArray, shape: tuple[int, ...]) -> Any:
    return (
        data.reshape(shape) if type(data) is np.ndarray else namespace_of(data).reshape(data, shape)
    )


def namespace_of(data: RawArray) -> Any:
    """Return the raw namespace of the library to which ``data`` belongs, such as NumPy's."""
    return storage_of(data).xp


def diagonal_rows(vector: RawArray, start: int, stop: int) -> Any:
    """Return the raw array of diagonal data: rows start to stop of diag(vector), each in its shape."""
    storage, count, rows = storage_of(vector), math.prod(vector.shape), stop - start
    xp = storage.xp
    flat = xp.zeros((rows * count,), dtype=vector.dtype, device=vector.device)
    if rows:
        part = xp.reshape(vector, (count,))[start:stop]
        flat = storage.put(flat, slice(start, None, count + 1), part)
    return xp.reshape(flat, (rows, *vector.shape))


def diagonal(vector: RawArray, axis_id: int, start: int, stop: int) -> Batched:
    """Return rows start to stop of diag(vector) as diagonal data, which has no zeros: see ``Batched``.

    axis_id : the id of the hidden axis, which numbers the rows.
    """
    return Batched(None, (axis_id,), (vector, start, stop))


def union_of_axes(*axis_ids: AxisIds) -> AxisIds:
    """Return all ids of several tuples of axis ids, in ascending order and each once."""
    first = axis_ids[0]
    if all(other == first for other in axis_ids):
        return first
    return tuple(sorted({axis_id for group in axis_ids for axis_id in group}))


def axis_ids_of(values: Iterable[Any]) -> AxisIds:
    """Return the ids of the hidden axes of all values, also in lists and tuples, in ascending order."""
    found: AxisIds = ()
    for value in values:
        if type(value) is Batched:
            found = (
                union_of_axes(found, value.axis_ids)
                if found and found != value.axis_ids
                else value.axis_ids
            )
        elif type(value) in (list, tuple):
            inner = axis_ids_of(value)
            found = union_of_axes(found, inner) if found and inner else found or inner
    return found


def lengths_of(values: Iterable[Any]) -> dict[int, int]:
    """Return a dict from the ids of all hidden axes of the values, ascending, to their lengths."""
    sizes: dict[int, int] = {}
    for value in values:
        if type(value) is Batched:
            sizes |= dict(zip(value.axis_ids, value.hidden, strict=True))
        elif type(value) in (list, tuple):
            sizes |= lengths_of(value)
    return dict(sorted(sizes.items()))


def aligned(values: Iterable[Any]) -> tuple[list[Any], AxisIds]:
    """Return (raw data of the values, ids of all hidden axes), where the raw data of all broadcasts.

    The raw data of a ``Batched`` value gets all these hidden axes, of length 1 where the value lacks
    one, and as many visible axes as the value with the most.  Other values are returned as they are.
    """
    axis_ids, rank = axis_ids_of(values), 0
    for value in values:
        shape = getattr(value, "shape", ())
        if len(shape) > rank:
            rank = len(shape)
    return [v.aligned(axis_ids, rank) if type(v) is Batched else v for v in values], axis_ids


def elementwise(function: Callable[..., Any], *values: Any) -> Any:
    """Return ``function(*values)`` for an elementwise function and values of which some are Batched.

    The function is called once, on raw arrays that hold the examples of all enclosing vmaps.
    """
    if len(values) == 2:  # a plain operand of no greater rank broadcasts as it is
        a, b = values
        if type(a) is not Batched:
            if len(getattr(a, "shape", ())) <= b.ndim:
                return Batched(function(a, b.data), b.axis_ids)
        elif type(b) is not Batched and len(getattr(b, "shape", ())) <= a.ndim:
            return Batched(function(a.data, b), a.axis_ids)
    operands, axis_ids = aligned(values)
    return Batched(function(*operands), axis_ids)


# --- hidden axes ------------------------------------------------------------------------------------
def open_hidden_axis(axis_id: int) -> Setting[AxisIds]:
    """Return a context manager in whose block data with the hidden axis ``axis_id`` may be used.

    ``vmap`` numbers its examples along this axis, and runs its function in such a block.  Later,
    ``check_open`` raises an error for data that the function has left somewhere, as in a global list.
    """
    return Setting(ACTIVE, (*ACTIVE.get(), axis_id))


# Id of a hidden axis -> weak references to the recorders that were active when its vmap began.
AROUND: ContextVar[Mapping[int, Sequence[ref[Recorder]]]] = ContextVar(
    "arraytape recorders around", default=MappingProxyType({})
)


def recorders_around(axis_id: int) -> Setting[Mapping[int, Sequence[ref[Recorder]]]]:
    """Return a context manager in whose block ``AROUND[axis_id]`` has the recorders from before a vmap.

    So ``recorders_within`` can tell these tapes and accumulators from those that begin in the vmap.

    axis_id : the id of the vmap's hidden axis, which numbers its examples.
    """
    from ..._record.stack import recorders  # imported late, as only tapes need it

    return Setting(AROUND, {**AROUND.get(), axis_id: [ref(one) for one in recorders()]})


def recorders_within(axis_id: int) -> list[Recorder]:
    """Return the active recorders (tapes, accumulators) that began to record inside of a vmap.

    Their cotangents keep the vmap's hidden axis, since each example has a gradient of its own.  The
    cotangents of recorders outside of the vmap are summed over the axis.

    axis_id : the id of the hidden axis.
    """
    from ..._record.stack import recorders

    around = [reference() for reference in AROUND.get().get(axis_id, ())]
    return [one for one in recorders() if not any(one is other for other in around)]


# An id that allows all hidden axes while it is in ACTIVE: a backward pass outside of a vmap may come to
# records that were made inside.
REPLAY = 0


def check_open(axis_ids: AxisIds) -> None:
    """Raise ValueError if one of these hidden axes belongs to a vmap that has ended.

    Data with such an axis left the function that vmap called, for example through a global list.
    """
    open_axes = ACTIVE.get()
    for axis_id in axis_ids:
        if axis_id not in open_axes and REPLAY not in open_axes:
            raise ValueError(
                "this value escaped its vmap: it was made inside a function under vmap, which has "
                "ended. Return it from that function instead of keeping it"
            )


def axes_to_sum(data: Batched, shape: tuple[int, ...]) -> AxisIds:
    """Return the ids of the hidden axes over which a contribution to a gradient has to be summed.

    These are the axes of ended vmaps that the contribution has and the value has not: all examples of
    such a vmap used the same value, which gets the sum of their contributions.

    data : the contribution.  shape : the ``Shape`` of the recorded value, with its hidden axes.
    """
    own, open_axes = getattr(shape, "axis_ids", ()), ACTIVE.get()
    return tuple([n for n in data.axis_ids if n not in own and n not in open_axes])


def ended_axes(shape: Any) -> dict[int, int]:
    """Return the hidden axes of a value whose vmap has ended, as a dict from id to length.

    shape : the ``Shape`` of the value, which lists its hidden axes, or any other shape, which has none.
    """
    own, open_axes = getattr(shape, "axis_ids", ()), ACTIVE.get()
    lengths = shape.hidden if own else ()
    return {n: size for n, size in zip(own, lengths, strict=True) if n not in open_axes}


def summed(x: Batched, /, axis_ids: AxisIds) -> Any:
    """Return x summed over hidden axes (examples of vmaps); raw data if no hidden axis is left.

    axis_ids : the ids of these axes.
    """
    axes = tuple([i for i, axis_id in enumerate(x.axis_ids) if axis_id in axis_ids])
    rest = tuple([axis_id for axis_id in x.axis_ids if axis_id not in axis_ids])
    total = namespace_of(x.data).sum(x.data, axis=axes)
    return Batched(total, rest) if rest else total


def spread(x: Any, /, axis_ids: AxisIds, hidden: tuple[int, ...], copy: bool = True) -> Any:
    """Return x with further hidden axes, along which it is repeated: the same value for each example.

    x : batched data, or raw data.  axis_ids : the ids of the added axes, one for each vmap.
    hidden : the lengths of these axes.  copy : False for a view of x without a copy.
    """
    sizes = dict(zip(axis_ids, hidden, strict=True))
    if type(x) is Batched:
        sizes |= dict(zip(x.axis_ids, x.hidden, strict=True))
    whole, rank = tuple(sorted(sizes)), len(x.shape)
    view = x.aligned(whole, rank) if type(x) is Batched else x
    xp = namespace_of(view)
    shape = (*(sizes[axis_id] for axis_id in whole), *view.shape[len(view.shape) - rank :])
    if not copy:
        return Batched(xp.broadcast_view(view, shape), whole)
    return Batched(storage_of(view).arranged(xp.broadcast_view(view, shape), view, rank), whole)


def without_gaps(data: RawArray | Batched, count: int) -> Any:
    """Return ``data``, or a copy of it in which each example of a vmap is contiguous in memory.

    The examples are ``data[i]`` for tuples i of ``count`` indices.  The copy keeps the order of the axes
    in memory.  So ops have results in the same memory layout as for one contiguous example.
    """
    if type(data) is Batched:
        if data._data is None:
            return data
        whole = without_gaps(data._data, count + len(data.axis_ids))
        return data if whole is data._data else Batched(whole, data.axis_ids)
    strides = getattr(data, "strides", None)
    if strides is None:
        return data
    inner = sorted(range(count, len(strides)), key=lambda i: -abs(strides[i]))
    step, gaps = data.dtype.itemsize, False
    for i in reversed(inner):
        gaps = gaps or (data.shape[i] != 1 and strides[i] != step)
        step *= data.shape[i]
    if not (gaps and step):
        return data
    order, storage = (*range(count), *inner), storage_of(data)
    with storage.at(data):
        copy = storage.contiguous(storage.xp.permute_dims(data, order))
        return storage.xp.permute_dims(copy, tuple([order.index(i) for i in range(len(order))]))


def spread_like(data: RawArray | Batched, other: RawArray | Batched) -> Any:
    """Repeat ``data`` along the hidden axes that only ``other`` has; return data itself if none."""
    if type(other) is not Batched or set(other.axis_ids) <= set(axis_ids_of((data,))):
        return data
    return spread(data, other.axis_ids, other.hidden)


def batched(x: Any, /, axis_id: int) -> Any:
    """Return x with its first visible axis as the hidden axis ``axis_id``: the input of a vmap.

    The function under vmap then sees the shape of one example, x[i].
    """
    if type(x) is not Batched:
        return Batched(x, (axis_id,))
    axis_ids = tuple(sorted((*x.axis_ids, axis_id)))
    xp, data, count = namespace_of(x.data), x.data, len(x.axis_ids)
    return Batched(xp.moveaxis(data, count, axis_ids.index(axis_id)), axis_ids)


def unbatched(x: Any, /, axis_id: int, size: int) -> Any:
    """Return x with the hidden axis ``axis_id`` as the first visible axis: the output of a vmap.

    If x does not have the axis, x is repeated ``size`` times.
    """
    if axis_id not in axis_ids_of((x,)):
        x = spread(x, (axis_id,), (size,))
    data, at = x.data, x.axis_ids.index(axis_id)
    rest = tuple([n for n in x.axis_ids if n != axis_id])
    if not rest:
        return data
    return Batched(namespace_of(data).moveaxis(data, at, len(rest)), rest)


def holds_anywhere(mask: RawArray | Batched) -> bool:
    """Return True if any element of the mask is True, in any example if the mask is batched."""
    while type(mask) is Batched:
        mask = mask.data
    storage = storage_of(mask)
    return bool(storage.host(storage.xp.any(mask)))


def refusal(operation: str, x: Batched) -> Exception:
    """Return the error for an operation that needs one value where x has one for each example of vmap.

    An example is ``float(x)`` in a function that vmap calls.

    operation : the called function or conversion, as text for the message.
    """
    check_open(x.axis_ids)
    return NoBatchedForm(
        f"{operation} has no batched form: under vmap (or in a Jacobian) one value stands for "
        f"{math.prod(x.hidden)} of shape {tuple(x.shape)}. Use where in place of a branch, or take it "
        f"out of the function [at {user_line()}]"
    )
