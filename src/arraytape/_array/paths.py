"""Paths: the steps from a root's data to a view of it, forward and backward.

A path is a tuple of steps ``(kind, argument)``.  The functions below work on raw data and, while an
outer recorder is active, on Arrays; ``xp`` is the namespace of that data.
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
# Steps for which raw namespaces have a function f"{kind}_view"; some storages return a copy.
DIAGONAL = "diagonal"  # of the last two axes; the argument is the offset
WINDOWS = "windows"  # along an axis, on a new last one; the argument is (negative axis, length)
REAL, IMAG = "real", "imag"  # of complex data
PICK = "pick"  # by a key with an index for each example of a vmap: always a copy, made at each read
READ_ONLY = "read_only"  # all elements, but not writeable

WHOLE = frozenset((PERMUTE, RESHAPE, BROADCAST, READ_ONLY))  # steps that keep every element
MAY_COPY = frozenset((RESHAPE, DIAGONAL, WINDOWS, REAL, IMAG, PICK, READ_ONLY))
UNWRITABLE = frozenset((BROADCAST, WINDOWS, READ_ONLY))


class Place(Protocol):
    """The object that writes to data: a storage for its raw data, or the ``data`` of a pass."""

    xp: Any

    def in_place(self, data: RawArray, /) -> bool: ...
    def put(self, data: RawArray, key: Index, value: RawOperand, /) -> Any: ...
    def shares(self, part: RawArray, whole: RawArray, /) -> bool: ...


class SummingPlace(Place, Protocol):
    """The ``data`` of a pass: it sums and casts contributions so that they fit their inputs."""

    def fit_contribution(
        self, part: RawArray, shape: tuple[int, ...], dtype: np.dtype[Any], /
    ) -> Any: ...
    def widen_buffer(self, buffer: RawArray, g: RawArray, /) -> Any: ...
    def negated(self, g: RawArray, /) -> Any: ...


class Cotangents(Protocol):
    """The part of a backward pass that the records of views and writes use."""

    followed: Collection[int]
    cotangents: dict[int, Any]

    @property
    def data(self) -> SummingPlace: ...
    def take_cotangent(self, value_id: int) -> Any: ...
    def peek(self, value_id: int) -> Any: ...
    def take_owned(self, value_id: int) -> Any: ...
    def take_buffer(self, value_id: int) -> Any: ...
    def in_hand(self, value_id: int) -> Any: ...
    def take_in_hand(self, value_id: int) -> Any: ...
    def add_contribution(self, value_id: int, contribution: RawArray) -> None: ...
    def lend_contribution(self, value_id: int, contribution: RawArray) -> None: ...
    def give_buffer(self, value_id: int, buffer: Any) -> None: ...


def take_step(data: RawArray, kind: str, argument: Any, xp: Namespace) -> Any:
    if kind is GETITEM:
        return data[argument]
    if kind is PERMUTE:
        return xp.permute_dims(data, argument)
    if kind is RESHAPE:
        return xp.reshape(data, argument)
    if kind is BROADCAST:
        broadcast = getattr(xp, "broadcast_view", xp.broadcast_to)  # never a copy
        return broadcast(data, argument)
    if kind is PICK:
        return data[argument] if hasattr(data, "_value_id") else picked(data, argument)
    of_an_array = getattr(data, "_part", None)
    if of_an_array is not None:
        return of_an_array(kind, argument)
    return getattr(xp, f"{kind}_view")(data, argument)


def walk_path(data: RawArray, path: Path, xp: Any) -> Any:
    """Return the part of ``data`` at the end of ``path``: a view wherever the layout allows one."""
    for kind, argument in path:
        data = data[argument] if kind is GETITEM else take_step(data, kind, argument, xp)
        if kind is PICK and type(data) is Batched:
            xp = storage_of(data).xp
    return data


@functools.lru_cache(1024)
def broadcast_axes(given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes along which an operand of ``shape`` was broadcast to ``given``."""
    extra = len(given) - len(shape)
    stretched = (i + extra for i, n in enumerate(shape) if n == 1 and given[i + extra] != 1)
    return (*range(extra), *stretched)


def sum_to(g: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Sum ``g`` over the axes along which an operand of ``shape`` was broadcast."""
    given = g.shape
    if given == shape:
        return g
    extra = len(given) - len(shape)
    if extra < 0:  # a write drops leading axes of length 1
        return xp.reshape(sum_to(g, shape[-extra:], xp), shape)
    axes = broadcast_axes(given, shape)
    if len(axes) == extra:
        g = xp.sum(g, axis=axes)
    elif axes:
        g = xp.sum(g, axis=axes, keepdims=True)
    return g if g.shape == shape else xp.reshape(g, shape)


def add_through(buffer: RawArray, path: Path, g: RawArray, at: SummingPlace) -> Any:
    """Return ``buffer``, or a copy, after ``walk_path(buffer, path) += g``.

    Where a step of the path had to copy, the changed copy is written back to what was copied.
    """
    trail = []
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
            buffer = whole  # the result of write_back, without its Python frame
        else:
            buffer = write_back(whole, (kind, argument), buffer, at)
    return buffer


def add_windows(whole: RawArray, argument: tuple[int, int], g: RawArray, at: Place) -> Any:
    """Return ``whole`` after the sum of all windows' parts of g was added to it."""
    axis, length = argument
    count = g.shape[axis - 1]
    for start in range(length):
        key: Any = (..., slice(start, start + count), *(slice(None),) * (-axis - 1))
        whole = at.put(whole, key, whole[key] + g[..., start])
    return whole


def write_through(buffer: RawArray, path: Path, key: Index, value: RawOperand, at: Place) -> Any:
    """Return ``buffer``, or a copy, after ``walk_path(buffer, path)[key] = value``.

    Where a step of the path had to copy, the changed copy is written back to what was copied.
    """
    trail = []
    for last in path:
        trail.append((buffer, last))
        buffer = take_step(buffer, *last, at.xp)
    buffer = at.put(buffer, key, value)
    for whole, last in reversed(trail):
        buffer = write_back(whole, last, buffer, at)
    return buffer


def write_back(buffer: Any, last: tuple[str, Any], part: RawArray, at: Place) -> Any:
    """Return ``buffer`` after a write to its ``part``, which the step ``last`` leads to."""
    kind, argument = last
    if type(buffer) is ndarray or at.in_place(buffer):
        if kind not in MAY_COPY or at.shares(part, buffer):
            return buffer  # the part is a view: the write is in the buffer already
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
        return at.put(buffer, ..., part + 1j * at.xp.imag(buffer))
    if kind is IMAG:
        return at.put(buffer, ..., at.xp.real(buffer) + 1j * part)
    return at.xp.reshape(part, buffer.shape)


def diagonal_key(part: RawArray, offset: int, xp: Namespace) -> tuple[Any, ...]:
    places = xp.arange(part.shape[-1], device=part.device)
    return (..., places - min(offset, 0), places + max(offset, 0))


def dtype_at_root(path: Path, dtype: np.dtype[Any]) -> Any:
    """Return the dtype of a root's cotangent or tangent whose part at ``path`` has ``dtype``."""
    parts = any(kind is REAL or kind is IMAG for kind, _ in path)
    return np.result_type(dtype, np.complex64) if parts else dtype


@functools.lru_cache(1024)
def inverse_permutation(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def unwalked(g: RawArray, path: Path, shape: tuple[int, ...], at: Place) -> Any:
    """Apply the transpose of a path of WHOLE steps to g; it needs no buffer of zeros."""
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
