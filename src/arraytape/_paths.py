"""Paths: the steps from a root's data to a view of it, forward and backward.

A path is a tuple of steps ``(kind, argument)``.  The functions below work on raw data and,
when an outer recorder is active, on Arrays alike; ``xp`` is the namespace of either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from numpy import ndarray

from ._batched.data import Batched
from ._batched.indexing import is_mask
from ._op import PLANS, Plan, Structural

Path = tuple[tuple[str, Any], ...]

GETITEM, PERMUTE, RESHAPE, BROADCAST = "getitem", "permute", "reshape", "broadcast"


class Cotangents(Protocol):
    """What the backward pass offers to the records of aliasing."""

    xp: Any

    def take(self, tid: int) -> Any: ...
    def take_owned(self, tid: int) -> Any: ...
    def add(self, tid: int, contribution: Any) -> None: ...
    def give(self, tid: int, buffer: Any) -> None: ...
    def follows(self, tid: int) -> bool: ...
    def fit(self, contribution: Any, shape: tuple[int, ...], dtype: Any) -> Any: ...
    def shares(self, part: Any, whole: Any) -> bool: ...
    def widened(self, buffer: Any, g: Any) -> Any: ...


def step(data: Any, kind: str, argument: Any, xp: Any) -> Any:
    """One step along a path."""
    if kind is GETITEM:
        return data[argument]
    if kind is PERMUTE:
        return xp.permute_dims(data, argument)
    if kind is RESHAPE:
        return xp.reshape(data, argument)
    broadcast = getattr(xp, "broadcast_view", xp.broadcast_to)  # never a copy
    return broadcast(data, argument)


def walk(data: Any, path: Path, xp: Any) -> Any:
    """The part of ``data`` at the end of ``path``: a view wherever the layout allows one."""
    for kind, argument in path:
        data = step(data, kind, argument, xp)
    return data


def add_through(buffer: Any, path: Path, g: Any, at: Cotangents) -> None:
    """``walk(buffer, path) += g``, also where a step of the path has to copy."""
    if not path:
        buffer += g
        return
    kind, argument = path[0]
    part = step(buffer, kind, argument, at.xp)
    if kind is GETITEM or kind is PERMUTE or (kind is RESHAPE and at.shares(part, buffer)):
        add_through(part, path[1:], g, at)
        return
    delta = at.xp.zeros_like(part)
    add_through(delta, path[1:], g, at)
    if kind is RESHAPE:
        buffer += at.xp.reshape(delta, buffer.shape)
    else:
        buffer += at.fit(delta, buffer.shape, buffer.dtype)


def write_through(buffer: Any, path: Path, key: Any, value: Any, at: Any) -> None:
    """``walk(buffer, path)[key] = value``, also where a reshape in the path has to copy."""
    if not path:
        buffer[key] = value
        return
    kind, argument = path[0]
    part = step(buffer, kind, argument, at.xp)
    write_through(part, path[1:], key, value, at)
    if kind is RESHAPE and not at.shares(part, buffer):
        buffer[...] = at.xp.reshape(part, buffer.shape)


def pull_view(at: Cotangents, record: tuple[Any, ...]) -> None:
    """VIEW: the cotangent of a view adds to its region of the root's."""
    _, vtid, root, shape, path = record
    g = at.take(vtid)
    if g is None or not at.follows(root):
        return
    buffer = at.take_owned(root)
    if buffer is None:
        buffer = at.xp.zeros(shape, dtype=g.dtype, device=g.device)
    if type(g) is not ndarray:
        buffer = at.widened(buffer, g)
    add_through(buffer, path, g, at)
    at.give(root, buffer)


def pull_put(at: Cotangents, record: tuple[Any, ...]) -> None:
    """PUT: the written region's cotangent goes to the value, what is left to the old root.

    ``lost`` is None or, for a key that names elements twice, the mask of the writes that were
    overwritten at once.
    """
    _, new, old, vtid, path, key, shape, dtype, lost, _, _ = record
    buffer = at.take_owned(new)
    if buffer is None:
        return
    if at.follows(vtid):
        part = walk(buffer, path, at.xp)
        # One value for all that a batched mask names: the sum over them follows from its shape.
        part = at.xp.where(key, part, 0.0) if type(key) is Batched and is_mask(key) else part[key]
        region = at.xp.asarray(part, copy=True)
        if lost is not None:
            region = at.xp.where(lost, 0.0, region)
        at.add(vtid, at.fit(region, shape, dtype))
    if at.follows(old):
        write_through(buffer, path, key, 0, at)
        at.give(old, buffer)


VIEW = Structural("view", pull_view)
PUT = Structural("setitem", pull_put)


def results_of(record: tuple[Any, ...]) -> tuple[int, ...]:
    """The tids of the values that a record made."""
    return record[1] if type(record[1]) is tuple else record[1:2]


def made_of(records: Iterable[tuple[Any, ...]], tids: Iterable[int]) -> set[int]:
    """These tids and those of all that records make of them."""
    found = set(tids)
    for record in records:
        if not found.isdisjoint(inputs_of(record)):
            found.update(results_of(record))
    return found


def inputs_of(record: tuple[Any, ...]) -> tuple[int, ...]:
    """The tids of the values that went into a record; 0 for what nobody follows."""
    plan = PLANS[record[0]]
    if isinstance(plan, Plan):
        return record[2] if plan.op.variadic else record[2 : 2 + len(plan.op.inputs)]
    if type(record[2]) is tuple:
        return record[2]
    return record[2:4] if plan is PUT else record[2:3]
