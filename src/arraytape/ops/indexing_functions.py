"""Indexing functions: ``x[key]``, iteration, take, take_along_axis and scatter_add.

The public functions turn a key into a raw key, with raw data in place of Arrays.  A basic key, of
integers, slices, Ellipsis and None, makes a view.  For other keys the inner op ``getitem`` copies the
elements; its transpose is the op ``scattered``.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array.array import SCALAR, Array
from .._array.paths import GETITEM, PICK, walk_path
from .._array.views import BASIC, current, make_picked_view, make_view, refresh, writable_copy
from .._define.words import composite, linear, primitive, sample
from .._record.mode_stack import MODES, notify_access
from .._record.op_facts import hull
from .._record.plan import Reading
from .._storage.batched.batched_data import Batched, axis_ids_of
from .._storage.storage import STORAGES, storage_of
from .._tape.hidden_axes import with_hidden_axes
from .._util.array_types import Index, Namespace, RawArray
from .._util.attach import attach_method
from .._util.errors import describe, explain, raise_documented, user_line


@attach_method(Array, "__getitem__")
def index(x: Array, key: Index, /) -> Array:
    """Read a part of the array: ``x[key]``.

    Parameters
    ----------
    key : object
        Integers, slices, Ellipsis, None, boolean masks and integer arrays, or a tuple of these.

    Returns
    -------
    Array
        For a key of integers, slices, Ellipsis and None a view, as in NumPy, unless the result is
        one element.  Else a copy.

    Raises
    ------
    IndexError
        When the key does not fit the shape.

    Notes
    -----
    Derivative: the gradient of x is zeros to which the gradient of the result is added at the key.
    """
    if MODES:
        notify_access(x)
    if type(x) is not Array:
        x = x._snapshot()
    data = x._data if x._value_id >= 0 else refresh(x)
    raw, basic = (key, True) if type(key) in BASIC else raw_key(key)
    if basic:
        if x._state & SCALAR:
            x = writable_copy(x)
            data = x._data
        try:
            part = data[raw]
        except Exception as error:
            raise explain("__getitem__", error, x=data, key=key) from error
        if INDICES:
            raw = with_integers(raw)
        # For one element NumPy returns a scalar, and other libraries a 0-d view.  Both are copied below.
        if type(part) is type(data) and (part.shape or has_ellipsis(raw)):
            return make_view(x, part, ((GETITEM, raw),), data)
    elif axis_ids_of((raw,)):  # under vmap the examples may have different keys
        if is_batched_index(raw):
            try:
                part = walk_path(data, ((PICK, raw),), None)
            except IndexError as error:
                raise explain("__getitem__", error, x=data, key=key) from error
            if part.shape or has_ellipsis(raw):
                return make_picked_view(x, part, private_key(raw))
        x = with_hidden_axes(x, raw)
    elif type(data) is not np.ndarray:
        raw = storage_of(data).key(raw, data)
    return getitem(x, private_key(raw) if x._value_id else raw)


def has_ellipsis(key: Index) -> bool:
    """Return True if a key has an Ellipsis, with which NumPy returns one element as a view.

    key : a key without arrays.  ``x[0, ...]`` is a view of a vector x, while ``x[0]`` is a scalar.
    """
    return any(part is Ellipsis for part in (key if type(key) is tuple else (key,)))


def _getitem_vjp_key(key: Index) -> Any:
    """Return zeros of the shape of x to which g is added at the key.

    This describes the cotangent of x for the cotangent g of x[key].  The function itself returns the
    key; ``Reading`` makes the zeros and adds g.
    """
    return key


@linear(
    transpose=Reading(_getitem_vjp_key),
    samples=(
        sample((4, 3), key=(1, 2)),
        sample((4, 3), key=(np.asarray([0, 2, 0, -1]),)),
        sample((4, 3), key=(slice(None), np.asarray([2, 2]))),
        sample((3,), key=np.asarray([True, False, True])),
        sample((4, 3), key=np.zeros(4, bool)),
    ),
    origin="inner",
    signature="(...)->(...)",
    rearranges=True,
    range=hull,
)
def getitem(x: Array, /, key: Index) -> Array:
    """Copy the elements of x at ``key``, which selects one element or contains index arrays."""


@linear(
    transpose=lambda g, key, xp: g[key],
    samples=(
        sample((4, 2), shape=(4, 3), key=(slice(None), np.asarray([2, 2]))),
        sample((2,), shape=(3,), key=np.asarray([True, False, True])),
    ),
    origin="inner",
    signature="(...)->(...)",
    scalars=False,
    range=lambda n, x, *key: x.sum_of(n).with_zero(),
)
def scattered(x: Array, /, shape: tuple[int, ...], key: Index) -> Array:
    """Return zeros of ``shape`` with x added at ``key``, whose arrays are raw data like that of x."""


@composite(origin="extra", continuous=True, range=lambda n, x, *key: x.sum_of(n).with_zero())
def scatter_add(x: Array, /, shape: tuple[int, ...], key: Index) -> Array:
    """Add the elements of x to an array of zeros, at the positions that a key selects.

    Parameters
    ----------
    x
        The elements to add, of the shape of ``result[key]``.
    key
        An indexing key, as in ``result[key]``.  Elements of x at one position are summed.

    Returns
    -------
    Array
        Of the given shape and the dtype of x.

    Raises
    ------
    ValueError
        When x does not have the shape of ``result[key]``.
    IndexError
        When the key does not fit the shape.

    Notes
    -----
    The op is the transpose of indexing.  It is not part of the standard.
    """
    value_id, data = current(x)
    raw, basic = raw_key(key)
    if axis_ids_of((raw,)):
        x = with_hidden_axes(x, raw)
    else:
        result = storage_of(data).xp.zeros(shape, dtype=data.dtype, device=data.device)
        raw = raw if basic else storage_of(data).key(raw, result)
        if (part := result[raw].shape) != data.shape:
            raise ValueError(
                f"scatter_add: give x the shape {part} of result[key], got {describe(x)} "
                f"[at {user_line()}]"
            )
    return scattered(x, shape, private_key(raw) if value_id else raw)


def _take_along_axis_vjp_key(
    indices: RawArray, axis: int, shape: tuple[int, ...], xp: Namespace
) -> Any:
    """Return zeros of the shape of x to which g is added at the indices.

    This describes the cotangent of x for the cotangent g of take_along_axis(x, indices).  The function
    itself returns the key of the elements; ``Reading`` makes the zeros and adds g.
    """
    key, at = [], axis % len(shape)
    # Every axis but one gets the indices 0, ..., n - 1.  An axis of x of length 1 that was broadcast
    # gets only the index 0, so that all its reads add to one element.
    for i, n in enumerate(shape):
        line = [1] * len(shape)
        line[i] = n
        at_each = xp.arange(n, device=indices.device)
        key.append(indices if i == at else xp.reshape(at_each, tuple(line)))
    return tuple(key)


def _take_vjp_key(indices: RawArray, axis: int | None, shape: tuple[int, ...]) -> Any:
    """Return zeros of the shape of x to which g is added at the indices.

    This describes the cotangent of x for the cotangent g of take(x, indices).  The function itself
    returns the key of the elements; ``Reading`` makes the zeros and adds g.
    """
    return (*(slice(None),) * ((axis or 0) % len(shape)), indices)


@primitive(
    Reading(_take_vjp_key),
    None,
    selects=True,
    linear_in=("x",),
    samples=(
        sample((4, 3), np.asarray([0, 2, 0]), axis=0),
        sample((4, 3), np.asarray([-1, 1]), axis=1),
        sample((3,), np.asarray([2, 2])),
    ),
    signature="(AXIS),(m)->(m)",
    continuous=True,
    rearranges=True,
)
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Select elements along an axis, by integer indices.

    Parameters
    ----------
    indices
        Indices along the axis, with one dimension; negative indices count from the end, and indices
        may be repeated.
    axis
        The axis; a negative number counts from the end.  None: the only axis of a 1-d array.

    Returns
    -------
    Array
        The selected elements, of x's dtype.  Its shape is x's shape with ``len(indices)`` as the length
        of the axis.

    Raises
    ------
    TypeError
        When the indices are not integers.
    ValueError
        When axis is None and x does not have one dimension.
    IndexError
        When an index is out of range.
    """


@primitive(
    Reading(_take_along_axis_vjp_key),
    None,
    selects=True,
    linear_in=("x",),
    samples=(
        sample((4, 3), np.asarray([[0, 2, 0], [1, 1, -1]]), axis=0),
        sample((2, 3), np.asarray([[0], [2]])),
    ),
    continuous=True,
    signature="(AXIS),(AXIS)->(AXIS)",
    rearranges=True,
)
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Select elements along an axis, by an array of indices with as many dimensions as x.

    Parameters
    ----------
    indices
        Indices along the axis; negative indices count from the end.  The other axes broadcast with
        those of x.

    Returns
    -------
    Array
        Of the dtype of x, and of the length of indices along the axis; the other axes are those of x
        and indices, broadcast.

    Raises
    ------
    ValueError
        When indices has another number of dimensions than x.
    IndexError
        When an index is out of range or not an integer.
    """


def is_basic(part: Any) -> bool:
    """Return True if an item of a key is basic: an integer, a slice, Ellipsis or None.

    With basic items only, ``x[key]`` is a view.
    """
    return type(part) in BASIC or (isinstance(part, int | np.integer) and type(part) is not bool)


def is_batched_index(key: Index) -> bool:
    """Return True if ``x[key]`` is a view in each example of a vmap.

    Then each item of the key is an integer, slice, Ellipsis or None, or has one integer per example.

    key : a key whose arrays are raw data.
    """
    return all(
        is_basic(part) or (type(part) is Batched and not part.shape and part.dtype.kind in "iu")
        for part in (key if type(key) is tuple else (key,))
    )


# Not empty once an Array was converted to an index.  Until then keys are not searched for slices that
# contain Arrays, which saves time.
INDICES: list[None] = []
ENDS = frozenset((int, type(None)))  # the usual, immutable types of start, stop and step


def with_integers(key: Index) -> Any:
    """Return a key with ints in place of 0-d Arrays in its slices, as in ``x[i:j]``.

    A later write to such an Array must not change the key, which a tape's record or a view may keep.

    key : a key of integers, slices, Ellipsis and None.
    """
    if type(key) is tuple:
        return tuple([with_integers(part) for part in key])
    if type(key) is not slice:
        return key
    ends = (key.start, key.stop, key.step)
    if ENDS.issuperset(map(type, ends)):
        return key
    try:
        return slice(*[x if x is None else operator.index(x) for x in ends])
    except Exception:
        return key  # NumPy raises the error when the key is used


def raw_key(key: Index) -> tuple[Any, bool]:
    """Return (key with raw data in place of Arrays, True if the key is basic).

    A basic key has only integers, slices, Ellipsis and None, so that ``x[key]`` is a view.  A 0-d
    integer Array in NumPy's memory becomes an int, and counts as basic.
    """
    if type(key) in BASIC:
        return with_integers(key), True
    if type(key) is tuple:
        for part in key:
            if type(part) not in BASIC:
                break
        else:
            return with_integers(key) if INDICES else key, True
        parts = [raw_key(list(part) if type(part) is tuple else part) for part in key]
        return tuple([part for part, _ in parts]), all(basic for _, basic in parts)
    if isinstance(key, Array):
        _, data = current(key)
        if data.shape == () and data.dtype.kind in "iu" and is_at_hand(data):
            return int(data), True
        return data, False  # also for an integer on a device: int() would wait for the device
    if isinstance(key, bool | np.bool_):
        return np.asarray(key), False
    if isinstance(key, np.integer):  # an int, because the keys of two paths may be compared
        return int(key), True
    if isinstance(key, list | range):
        return index_array(key), False
    return key, is_basic(key)


def index_array(key: list[Any] | range) -> Any:
    """Convert a list of indices to a NumPy array; raise IndexError if that is impossible."""
    try:
        return np.asarray([raw_key(part)[0] for part in key], dtype=None if key else np.intp)
    except Exception as error:  # lists of unequal lengths, or a list that contains itself
        raise_documented(error, "an index", key)


def is_at_hand(data: RawArray) -> bool:
    """Return True if a read of one value of the raw data needs no transfer from a device.

    That is so for NumPy data, also if ``replay`` traces it.
    """
    if type(data) is np.ndarray:
        return True
    storage = storage_of(data)
    return storage.beneath(data).kind is np.ndarray and not storage.many


def private_key(key: Any) -> Any:
    """Return a key with copies of its arrays.

    A tape's record keeps the key, and a later write to an array must not change the record.
    """
    if type(key) is tuple:
        return tuple([private_key(part) for part in key])
    return STORAGES[type(key)].copy(key) if type(key) in STORAGES else key


@attach_method(Array, "__iter__")
def rows(x: Array) -> Iterator[Array]:
    """Iterate over the first axis.

    Returns
    -------
    Iterator of Array
        The views ``x[0]``, ``x[1]`` and so on.

    Raises
    ------
    TypeError
        When x has no axis.
    """
    if not x.shape:
        raise TypeError(f"iteration over a 0-d Array [at {user_line()}]")
    return (index(x, i) for i in range(x.shape[0]))
