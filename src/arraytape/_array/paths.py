"""Paths: the steps from the data of an Array x to the data of a view of x, such as ``x[1:].T``.

A path is a tuple of steps ``(kind, argument)``: here ``(("getitem", slice(1, None)), ("permute", (1,
0)))``.  ``walk_path`` applies a path to data.  ``add_through`` and ``write_through`` add to or write
into the part of data at the end of a path.  Rules apply paths to cotangents and tangents.  These are raw
data or, while an outer recorder records the derivative, Arrays.  The parameter ``xp`` is the namespace
of the data, and ``at`` is the object that can write to it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy import ndarray

from .._storage.batched.batched_data import Batched
from .._storage.batched.indexing import get as picked
from .._storage.storage import storage_of

if TYPE_CHECKING:
    from .._util.array_types import Index, Namespace, RawArray, RawOperand

Path = tuple[tuple[str, Any], ...]

GETITEM, PERMUTE, RESHAPE, BROADCAST = "getitem", "permute", "reshape", "broadcast"
# For DIAGONAL, WINDOWS, REAL, IMAG and READ_ONLY, raw namespaces have a function f"{kind}_view".  With
# some array libraries this function returns a copy.
DIAGONAL = "diagonal"  # the diagonal of the last two axes; the argument is the offset
WINDOWS = "windows"  # sliding windows, as a new last axis; the argument is (negative axis, length)
REAL, IMAG = "real", "imag"  # the real or imaginary part of complex data
PICK = "pick"  # indexing with a key that differs between vmap's examples: a copy, made at each read
READ_ONLY = "read_only"  # all elements, as read-only data

WHOLE = frozenset((PERMUTE, RESHAPE, BROADCAST, READ_ONLY))  # steps whose result has every element
# Steps whose result may be a copy.
MAY_COPY = frozenset((RESHAPE, DIAGONAL, WINDOWS, REAL, IMAG, PICK, READ_ONLY))
UNWRITABLE = frozenset((BROADCAST, WINDOWS, READ_ONLY))  # steps whose result is read-only


class JoinedStep(tuple[str, Any]):
    """The first step of a path that ``shortened`` made from other steps."""

    __slots__ = ()


def repeats_elements(path: Path) -> bool:
    """Return True if a path leads to a view that may show an element several times, all read-only."""
    return any(kind is BROADCAST or kind is WINDOWS for kind, _ in path)


class RawWriter(Protocol):
    """The type of an object that can write to raw data, such as NumPy arrays.

    It is a storage (the adapter of an array library), or the ``RawData`` of a backward pass.
    ``in_place(data)`` is True if data can be changed; otherwise ``put`` returns a changed copy.
    ``shares(part, whole)`` is True if the two share memory.
    """

    xp: Any

    def in_place(self, data: RawArray, /) -> bool: ...
    def put(self, data: RawArray, key: Index, value: RawOperand, /) -> Any: ...
    def shares(self, part: RawArray, whole: RawArray, /) -> bool: ...


class ContributionWriter(RawWriter, Protocol):
    """The type of ``RawData``, with which a backward pass writes to raw data, and sums and casts it.

    ``fit_contribution`` sums and casts a contribution (a term of a cotangent) to the shape and dtype of
    the op's input.  ``widen_buffer`` gives a buffer the dtype and the hidden axes (one for each
    enclosing vmap) that it needs for adding ``g`` to it.
    """

    def fit_contribution(
        self, part: RawArray, shape: tuple[int, ...], dtype: np.dtype[Any], /
    ) -> Any: ...
    def widen_buffer(self, buffer: RawArray, g: RawArray, /) -> Any: ...
    def negated(self, g: RawArray, /) -> Any: ...
    def take_written(self, data: RawArray, key: Any, lost: RawArray, /) -> Any: ...


class Cotangents(Protocol):
    """The methods of a backward pass that the rules of views and writes call.

    The object maps the ids of values to their cotangents, and adds contributions to these.
    """

    followed: Collection[int]
    cotangents: dict[int, Any]

    @property
    def data(self) -> ContributionWriter: ...
    def take_cotangent(self, value_id: int) -> Any: ...
    def peek(self, value_id: int) -> Any: ...
    def take_owned(self, value_id: int) -> Any: ...
    def take_buffer(self, value_id: int) -> Any: ...
    def owned_sum(self, value_id: int) -> Any: ...
    def take_owned_sum(self, value_id: int) -> Any: ...
    def add_contribution(self, value_id: int, contribution: RawArray) -> None: ...
    def lend_contribution(self, value_id: int, contribution: RawArray) -> None: ...
    def give_buffer(self, value_id: int, buffer: Any) -> None: ...


def take_step(data: RawArray, kind: str, argument: Any, xp: Namespace) -> Any:
    """Return the part of ``data`` to which one step leads: a view if the layout allows one.

    kind, argument : the step, such as "getitem" and a key, or "permute" and the order of axes.
    """
    if kind is GETITEM:
        return data[argument]
    if kind is PERMUTE:
        return xp.permute_dims(data, argument)
    if kind is RESHAPE:
        return xp.reshape(data, argument)
    if kind is BROADCAST:
        # ``broadcast_view`` of a raw namespace never copies, unlike the standard's function.
        broadcast = getattr(xp, "broadcast_view", xp.broadcast_to)
        return broadcast(data, argument)
    if kind is PICK:
        return data[argument] if hasattr(data, "_value_id") else picked(data, argument)
    of_an_array = getattr(data, "_part", None)
    if of_an_array is not None:
        return of_an_array(kind, argument)
    return getattr(xp, f"{kind}_view")(data, argument)


def walk_path(data: RawArray, path: Path, xp: Any) -> Any:
    """Return ``data`` after the steps of ``path``, such as ("getitem", key): a view where possible."""
    for kind, argument in path:
        data = data[argument] if kind is GETITEM else take_step(data, kind, argument, xp)
        if kind is PICK and type(data) is Batched:
            xp = storage_of(data).xp
    return data


@functools.lru_cache(1024)
def broadcast_axes(given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes along which broadcasting to the shape ``given`` repeated an operand.

    The operand's cotangent is summed over these axes.  shape : the operand's own shape.
    """
    extra = len(given) - len(shape)
    stretched = (i + extra for i, n in enumerate(shape) if n == 1 and given[i + extra] != 1)
    return (*range(extra), *stretched)


def sum_to(g: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return the cotangent of an operand of ``shape``, given that of the operand after broadcasting.

    g : the cotangent of the broadcast operand, which is summed over the axes that broadcasting added.
    """
    given = g.shape
    if given == shape:
        return g
    extra = len(given) - len(shape)
    if extra < 0:  # ``x[key] = value`` ignores leading axes of length 1 of the value
        return xp.reshape(sum_to(g, shape[-extra:], xp), shape)
    axes = broadcast_axes(given, shape)
    if len(axes) == extra:
        g = xp.sum(g, axis=axes)
    elif axes:
        g = xp.sum(g, axis=axes, keepdims=True)
    return g if g.shape == shape else xp.reshape(g, shape)


def add_through(buffer: RawArray, path: Path, g: RawArray, at: ContributionWriter) -> Any:
    """Add ``g`` to the part of ``buffer`` to which ``path`` leads; return the buffer or a changed copy.

    So the cotangent g of a view is added to that of the Array which owns the data.  If a step copies
    elements of the buffer, g is added to the copy, and the elements of the buffer are then set to it.
    """
    trail = []  # for each step, the data before the step
    for kind, argument in path:
        if kind is READ_ONLY:
            continue
        trail.append((buffer, kind, argument))
        buffer = take_step(buffer, kind, argument, at.xp)
        if kind is BROADCAST or kind is WINDOWS:
            buffer = at.xp.zeros_like(buffer)
    buffer += g
    for whole, kind, argument in reversed(trail):
        if kind is BROADCAST:
            whole += at.fit_contribution(buffer, whole.shape, whole.dtype)
            buffer = whole
        elif kind is WINDOWS:
            buffer = add_windows(whole, argument, buffer, at)
        elif kind is not RESHAPE and type(whole) is ndarray:
            buffer = whole  # the result of ``write_back``, without a function call
        else:
            buffer = write_back(whole, (kind, argument), buffer, at)
    return buffer


def add_windows(whole: RawArray, argument: tuple[int, int], g: RawArray, at: RawWriter) -> Any:
    """Return ``whole`` after g was added to its sliding windows; g has their shape.

    An element of ``whole`` gets the sum of g over all windows that contain the element.  So the
    cotangent of an Array gets that of its windows.

    argument : the axis of the windows, counted from the end, and their length.
    """
    axis, length = argument
    count = g.shape[axis - 1]
    for start in range(length):
        key: Any = (..., slice(start, start + count), *(slice(None),) * (-axis - 1))
        whole = at.put(whole, key, whole[key] + g[..., start])
    return whole


def write_through(
    buffer: RawArray, path: Path, key: Index, value: RawOperand, at: RawWriter
) -> Any:
    """Do ``part[key] = value`` for the part of ``buffer`` to which ``path`` leads.

    Return the buffer, or a changed copy if it cannot be written to.  If a step copies elements of the
    buffer, the copy is written to, and the elements of the buffer are then set to it.
    """
    trail = []  # for each step, the data before the step
    for last in path:
        trail.append((buffer, last))
        buffer = take_step(buffer, *last, at.xp)
    buffer = at.put(buffer, key, value)
    for whole, last in reversed(trail):
        buffer = write_back(whole, last, buffer, at)
    return buffer


def write_back(buffer: Any, last: tuple[str, Any], part: RawArray, at: RawWriter) -> Any:
    """Return ``buffer``, or a copy of it, that contains the changed ``part``.

    part : the elements to which the step ``last`` led, such as ("getitem", key), with changes since: a
    view of the buffer, or a copy.
    """
    kind, argument = last
    if type(buffer) is ndarray or at.in_place(buffer):
        if kind not in MAY_COPY or at.shares(part, buffer):
            return buffer  # the part is a view, so the buffer has changed with it
        if kind is RESHAPE:
            buffer[...] = at.xp.reshape(part, buffer.shape)
            return buffer
    if kind is GETITEM or kind is PICK:
        return at.put(buffer, argument, part)
    if kind is PERMUTE:
        return at.xp.permute_dims(part, inverse_permutation(argument))
    if kind is DIAGONAL:
        return at.put(buffer, diagonal_key(part, argument, at.xp), part)
    if kind is REAL:
        return at.put(buffer, ..., raw_complex_from_parts(part, at.xp.imag(buffer), at.xp))
    if kind is IMAG:
        return at.put(buffer, ..., raw_complex_from_parts(at.xp.real(buffer), part, at.xp))
    return at.xp.reshape(part, buffer.shape)


def raw_complex_from_parts(real: RawArray, imaginary: RawArray, xp: Namespace) -> Any:
    """Return complex raw data with these parts; ``complex_from_parts`` is the same for Arrays.

    ``real + 1j * imaginary`` would be NaN where a part is infinite, and would lose the sign of zeros.
    """
    return xp.reinterpreted(xp.stack([real, imaginary], axis=-1), "c")[..., 0]


def diagonal_key(part: RawArray, offset: int, xp: Namespace) -> tuple[Any, ...]:
    """Return the key of the diagonals of some matrices x: ``x[key]`` has the shape of ``part``."""
    places = xp.arange(part.shape[-1], device=part.device)
    return (..., places - min(offset, 0), places + max(offset, 0))


def dtype_at_root(path: Path, dtype: np.dtype[Any]) -> Any:
    """Return the dtype of an Array's cotangent, given the ``dtype`` of the cotangent of its view.

    The result is a complex dtype if ``path`` leads to the real or imaginary part.  Tangents have the
    same dtypes.
    """
    parts = any(kind is REAL or kind is IMAG for kind, _ in path)
    return np.result_type(dtype, np.complex64) if parts else dtype


@functools.lru_cache(1024)
def inverse_permutation(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def undo_path(g: RawArray, path: Path, shape: tuple[int, ...], at: RawWriter) -> Any:
    """Return the cotangent of an Array x, given the cotangent g of a view with all elements of x.

    Each step of ``path``, from x to the view, is inverted.  That is faster than adding g to a buffer of
    zeros.  shape : the shape of x.
    """
    path = tuple([last for last in path if last[0] is not READ_ONLY])
    shapes = [shape]
    for kind, argument in path:
        last = shapes[-1]
        shapes.append(tuple([last[i] for i in argument]) if kind is PERMUTE else argument)
    for (kind, argument), before in zip(reversed(path), reversed(shapes[:-1]), strict=True):
        if kind is PERMUTE:
            g = at.xp.permute_dims(g, inverse_permutation(argument))
        elif kind is RESHAPE:
            g = at.xp.reshape(g, before)
        else:
            g = sum_to(g, before, at.xp)
    return g
