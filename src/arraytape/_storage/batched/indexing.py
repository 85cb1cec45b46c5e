"""Read and write ``x[key]`` of batched data, where the key indexes the visible axes.

Also ``each_one``, which calls a raw function for one example after the other if it cannot compute all
examples at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._util.array_types import Index, RawArray, RawOperand
from ..._util.attach import attach_method
from ..._util.errors import short_repr, user_line
from ..storage import BASIC, CHECKED_INDICES, STORAGES, Storage, storage_of
from .batched_data import (
    Batched,
    NoBatchedForm,
    aligned,
    axis_ids_of,
    lengths_of,
    namespace_of,
    refusal,
    union_of_axes,
)

WHOLE = slice(None)


def is_array_part(part: Any) -> bool:
    """Return True if an item of an indexing key is an array or a bool.

    Then ``x[key]`` is a copy, not a view.
    """
    return type(part) in STORAGES or type(part) is bool or type(part) is np.bool


def key_parts(key: Index, rank: int) -> list[Any]:
    """Return the items of a key as a list that mentions all ``rank`` axes.

    Full slices replace Ellipsis, and are added for axes that the key does not mention, because hidden
    axes follow after these axes.
    Raises IndexError if the key has several Ellipses or indexes more than ``rank`` axes.
    """
    parts = list(key) if type(key) is tuple else [key]
    taken = 0
    for part in parts:
        if part is not None and part is not Ellipsis:
            taken += rank_of_mask(part) if is_mask(part) else 1
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(places) > 1 or taken > rank:
        raise IndexError(f"the key {short_repr(key)} does not fit {rank} dimensions")
    at = places[0] if places else len(parts)
    return [*parts[:at], *[WHOLE] * (rank - taken), *parts[at + len(places) :]]


def is_mask(part: Any) -> bool:
    """Return True if an item of an indexing key is a bool or a boolean array, batched or not."""
    if type(part) is bool or type(part) is np.bool:
        return True
    return type(part) in STORAGES and part.dtype.kind == "b"


def rank_of_mask(part: Any) -> int:
    """Return the number of axes that a mask, an item of an indexing key, indexes: 0 for a bool."""
    return len(getattr(part, "shape", ()))


def value_shape(value: RawOperand) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def check_key(key: Index, data: Any, shape: tuple[int, ...]) -> None:
    """Raise NoBatchedForm if the key has a mask that differs between the examples of a vmap.

    Such a mask selects another number of elements in each example, so that no array can hold them all.
    In a block of ``check_indices``, indices on a device that differ between the examples are checked.
    """
    parts: tuple[Any, ...] = key if type(key) is tuple else (key,)
    for part in parts:
        if type(part) is Batched and is_mask(part):
            raise refusal("indexing with a boolean key", part)
    if CHECKED_INDICES.get() and Batched in map(type, parts):
        raw = tuple([part.data if type(part) is Batched else part for part in parts])
        storage_of(data.data if type(data) is Batched else data).check_indices(raw, shape)


def hidden_axes_last(data: RawArray, count: int) -> Any:
    """Return raw data with its first ``count`` axes, those of vmap's examples, moved to the end."""
    rank = len(data.shape)
    return namespace_of(data).permute_dims(data, (*range(count, rank), *range(count)))


def hidden_axes_first(data: RawArray, count: int) -> Any:
    """Return raw data with its last ``count`` axes, those of vmap's examples, moved to the front."""
    rank = len(data.shape)
    return namespace_of(data).permute_dims(data, (*range(rank - count, rank), *range(rank - count)))


@attach_method(Batched, "__getitem__")
def get(x: Any, key: Any) -> Any:
    """Return ``x[key]``, where x and arrays in the key may be batched: one for each vmap example.

    The result is a view if the key has no arrays.
    """
    parts = key if type(key) is tuple else (key,)
    if type(x) is Batched and BASIC.issuperset(map(type, parts)):
        return Batched(x.data[(*(WHOLE,) * len(x.axis_ids), *parts)], x.axis_ids)
    check_key(key, x, x.shape)
    if axis_ids_of(key if type(key) is tuple else (key,)):
        return gather_elements(x, key)
    if type(x) is not Batched:
        return namespace_of(x).getitem(x, key)
    if not any(
        is_array_part(part) or type(part) is list for part in parts
    ):  # such as NumPy's integers
        return Batched(x.data[(*(WHOLE,) * len(x.axis_ids), *parts)], x.axis_ids)
    count = len(x.axis_ids)
    found = hidden_axes_last(x.data, count)[tuple(key_parts(key, x.ndim))]
    return Batched(hidden_axes_first(found, count), x.axis_ids)


def gather_elements(x: Any, key: Any) -> Any:
    """Return ``x[key]`` in one call, where indices in the key differ between the examples of a vmap.

    An arange for each hidden axis of x is put before the key.  So each example of x is read at the
    indices of the same example.
    """
    parts = key_parts(key, len(x.shape))
    if any(part is None or is_mask(part) for part in parts):
        return each_one(lambda x, key: x[key], (x, key), {})
    own = x.axis_ids if type(x) is Batched else ()
    axis_ids = union_of_axes(axis_ids_of(parts), own) if own else axis_ids_of(parts)
    data = x.data if own else x
    xp = namespace_of(data)
    at = [i for i, part in enumerate(parts) if type(part) is not slice]
    rank = max(len(getattr(parts[i], "shape", ())) for i in at)
    lines = []
    for axis_id, n in zip(own, data.shape, strict=False):
        line = [1] * (len(axis_ids) + rank)
        line[axis_ids.index(axis_id)] = n
        lines.append(xp.reshape(xp.arange(n, device=data.device), tuple(line)))
    full = [part.aligned(axis_ids, rank) if type(part) is Batched else part for part in parts]
    adjacent = at[-1] - at[0] + 1 == len(at)
    before = at[0] if adjacent else 0
    found = data[(*lines, *full)]
    width = len(axis_ids) + rank
    # NumPy puts the indexed axes at the first index array, or in front if a slice separates the arrays.
    first = 0 if own or not adjacent else before
    order = list(range(len(found.shape)))
    indexed, others = order[first : first + width], order[:first] + order[first + width :]
    hidden, shown = indexed[: len(axis_ids)], indexed[len(axis_ids) :]
    order = [*hidden, *others[:before], *shown, *others[before:]]
    return Batched(xp.permute_dims(found, tuple(order)), axis_ids)


def put_batched(x: Batched, key: Index, value: RawOperand) -> Batched:
    """Do ``x[key] = value``; return x, or changed batched data if x cannot be written to in place.

    Raises NoBatchedForm if key or value differs between examples of a vmap that share one value of x.
    """
    data = written_data(x, key, value)
    return x if data is x.data else Batched(data, x.axis_ids)


@attach_method(Batched, "__setitem__")
def set_item(x: Batched, key: Index, value: RawOperand) -> None:
    """Set ``x[key] = value``, where each may differ between the examples of a vmap.

    Raise TypeError if the data of x cannot be written to in place.
    """
    if put_batched(x, key, value) is not x:
        raise TypeError(f"{storage_of(x.sample).name} data cannot be written to in place")


def written_data(x: Batched, key: Any, value: Any) -> Any:
    """Do ``x[key] = value``; return x's raw data, or a changed copy if x cannot be written to in place.

    x, key and value may differ between the examples of a vmap; x has the hidden axes of all of them.
    """
    storage = storage_of(x.data)
    if type(key) is Batched and is_mask(key) and key.ndim == x.ndim and not value_shape(value):
        # A batched mask selects other elements in each example, but where(mask, value, x) fits all.
        (mask, scalar, data), _ = aligned((key, value, x))
        return storage.put(data, ..., storage.xp.where(mask, scalar, data))
    check_key(key, x, x.shape)
    parts = key if type(key) is tuple else (key,)
    if not set(axis_ids_of((*parts, value))) <= set(x.axis_ids):
        raise NoBatchedForm("a batched value cannot be written into data that is not batched")
    data, axis_ids, count = x.data, x.axis_ids, len(x.axis_ids)
    if len(value_shape(value)) and storage.beneath(x.data).kind is np.ndarray:
        at = dict.fromkeys(axis_ids_of(parts), 0)
        trial = np.empty(
            tuple(x.shape), x.dtype
        )  # write to one example first, to raise NumPy's errors
        trial[picked(key, at)] = np.empty(value_shape(value), x.dtype)
    if axis_ids_of(parts):
        for place in itertools.product(*map(range, x.hidden)):
            at = dict(zip(axis_ids, place, strict=True))
            example = storage.put(data[(*place, ...)], picked(tuple(parts), at), picked(value, at))
            if not storage.in_place(data):
                data = storage.put(data, place, example)
        return data
    view = hidden_axes_last(data, count)
    full = tuple(key_parts(key, x.ndim))
    if type(value) is Batched:
        value = hidden_axes_last(value.aligned(axis_ids, value.ndim), count)
    elif len(getattr(value, "shape", ())):
        value = value[(..., *(None,) * count)]
    changed = storage.put(view, full, value)
    return data if storage.in_place(data) else hidden_axes_first(changed, count)


def scatter_add_batched(x: Any, shape: Any, key: Any) -> Any:
    """Return zeros of ``shape`` with x added at ``key``, where x or key differs between vmap examples.

    From the cotangent x of ``y[key]`` this makes that of y.  Elements that key selects twice add up.
    """
    parts = key if type(key) is tuple else (key,)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    check_key(key, x, shape)
    if axis_ids_of(parts):
        return each_one(
            lambda x, key: namespace_of(x).scatter_add(x, tuple(shape), key), (x, key), {}
        )
    if type(x) is not Batched:
        return namespace_of(x).scatter_add(x, tuple(shape), key)
    xp, count, axis_ids = namespace_of(x.data), len(x.axis_ids), x.axis_ids
    if not any(is_array_part(part) or type(part) is list for part in parts):
        whole = (*x.hidden, *shape)
        full = xp.zeros(whole, dtype=x.data.dtype, device=x.data.device)
        full = storage_of(full).put(full, (*(WHOLE,) * count, *parts), x.data)
        return Batched(full, axis_ids)
    names = tuple(key_parts(key, len(shape)))
    found = xp.scatter_add(hidden_axes_last(x.data, count), (*shape, *x.hidden), names)
    return Batched(hidden_axes_first(found, count), axis_ids)


def add_at_batched(x: Any, key: Any, value: Any) -> Any:
    """Do ``x[key] += value``, where each may differ between the examples of a vmap.

    Return x, or new data if x cannot hold the result.  An element that key selects twice gets both
    values.
    """
    parts = key if type(key) is tuple else (key,)
    if not set(axis_ids_of((*parts, value))) <= set(axis_ids_of((x,))) or axis_ids_of(parts):
        return x + scatter_add_batched(value, x.shape, key)
    if type(x) is not Batched:
        return storage_of(x).add_at(x, key, value)
    storage, count = storage_of(x.data), len(x.axis_ids)
    if type(value) is Batched:
        value = hidden_axes_last(value.aligned(x.axis_ids, value.ndim), count)
    else:
        value = value[(..., *(None,) * count)]
    # One call for all examples: with the hidden axes last, the key indexes the visible axes as it is.
    value = storage.xp.broadcast_to(value, (*value.shape[: len(value.shape) - count], *x.hidden))
    view = hidden_axes_last(x.data, count)
    changed = storage.add_at(view, tuple(key_parts(key, x.ndim)), value)
    return x if storage.in_place(x.data) else Batched(hidden_axes_first(changed, count), x.axis_ids)


# --- calls for one example after the other ----------------------------------------------------------
def raw_of(values: Iterable[Any]) -> Any:
    """Return the raw namespace, such as NumPy's, for the arrays in ``values``; None without arrays.

    For arrays of several storages (adapters of libraries) it is the one that accepts all their data.
    """
    storages = [*storages_of(values)]
    return max(storages, key=lambda storage: storage.mixed).xp if storages else None


def storages_of(values: Iterable[Any]) -> Iterator[Storage]:
    """Yield the storage (the adapter of NumPy or CuPy) of each raw array in ``values``.

    Arrays in nested lists and tuples count, too.  For a ``Batched``, the storage is that of the array
    which it wraps.
    """
    for value in values:
        if type(value) is Batched:
            yield storage_of(value.sample)
        elif type(value) in STORAGES:
            yield STORAGES[type(value)]
        elif type(value) is list or type(value) is tuple:
            yield from storages_of(value)


def picked(value: Any, at: dict[int, int]) -> Any:
    """Replace each ``Batched`` in ``value``, also in lists, by its raw data for one example of vmap.

    at : the example, as a dict from the id of each hidden axis to an index along the axis.
    """
    if type(value) is Batched:
        data = value.data[tuple([at[axis_id] for axis_id in value.axis_ids])]
        return data if hasattr(data, "shape") else namespace_of(value.data).asarray(data)
    if type(value) in (list, tuple):
        return type(value)([picked(part, at) for part in value])
    return value


def each_one(function: Callable[..., Any], values: Iterable[Any], keywords: dict[str, Any]) -> Any:
    """Call a function for one example of vmap after the other; return the results as batched data.

    Functions of raw data need this loop if they cannot compute all examples at once.

    values, keywords : the arguments, of which some may be Batched or lists with Batched items.
    """
    everything = (*values, *keywords.values())
    axis_ids = axis_ids_of(everything)
    if not axis_ids:
        return function(*values, **keywords)
    hidden = tuple(lengths_of(everything).values())
    found = []
    for place in itertools.product(*map(range, hidden)):
        at = dict(zip(axis_ids, place, strict=True))
        named = {name: picked(value, at) for name, value in keywords.items()}
        found.append(function(*[picked(value, at) for value in values], **named))
    if not found:
        raise NoBatchedForm(
            f"{getattr(function, '__name__', 'this')} has no result for a batch of 0 arrays"
        )

    def stack_examples(parts: Sequence[Any]) -> Any:
        if parts[0] is None:
            return None
        xp = raw_of(everything)
        arrays = [xp.asarray(part) for part in parts]
        if len({x.shape for x in arrays}) > 1:
            raise NoBatchedForm(
                "a result of another shape in each example has no batched form: call the function "
                f"outside of vmap, on one example after the other [at {user_line()}]"
            )
        whole = xp.stack(arrays)
        return Batched(xp.reshape(whole, (*hidden, *whole.shape[1:])), axis_ids)

    first = found[0]
    if isinstance(first, tuple | list):
        parts = [stack_examples(column) for column in zip(*found, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return stack_examples(found)
