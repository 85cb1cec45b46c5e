"""The records of views and writes, and how cotangents and tangents pass through them.

    VIEW  (plan, view, root, shape of root, path)
    PUT   (plan, new, old, value, path, key, shape and dtype of value, lost, shape and dtype of root)
    ADD   (plan, new, old, value, path, sign, shape and dtype of value, shape and dtype of root)

``new`` and ``old`` are the ids of the root's values after and before the write, ``value`` is that of
what was written.  ``lost`` is None or, for a key that names elements twice, the mask of the writes
that were overwritten at once.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy import ndarray

from .._record.plan import Record, Structural
from .._storage.batched.data import Batched
from .._storage.batched.indexing import is_mask
from .paths import GETITEM, Cotangents, Path, add_through, unwalked, walk, write_through


class Tangents(Protocol):
    """What forward mode offers to the records of aliasing."""

    def tangent(self, tid: int, /) -> Any: ...
    def part(self, tangent: Any, path: Path, /) -> Any: ...
    def write(self, record: Record, /) -> None: ...


def pull_view(at: Cotangents, record: Record) -> None:
    """VIEW: the cotangent of a view adds to its region of the root's."""
    _, vtid, root, shape, path = record
    g = at.take(vtid)
    if g is None or root not in at.followed:
        return
    if GETITEM not in [kind for kind, _ in path]:
        at.lend(root, unwalked(g, path, shape, at))
        return
    if type(g) is ndarray and len(path) == 1:  # of a single index: no buffer to take and to give
        buffer = at.in_hand(root)
        if buffer is not None:
            part = buffer[path[0][1]]
            part += g
            return
    buffer = at.gathered(root)
    if buffer is None:
        buffer = at.xp.zeros(shape, dtype=g.dtype, device=g.device)
    if type(g) is not ndarray:
        buffer = at.widened(buffer, g)
        if not at.in_place(buffer):
            at.give(root, add_through(buffer, path, g, at))
            return
    at.give(root, add_through(buffer, path, g, at))


def pull_put(at: Cotangents, record: Record) -> None:
    """PUT: the written region's cotangent goes to the value, what is left to the old root."""
    _, new, old, vtid, path, key, shape, dtype, lost, _, _ = record
    buffer = at.take_owned(new)
    if buffer is None:
        return
    if type(buffer) is ndarray and not path:
        part = buffer[key]
        if type(part) is ndarray and part.base is buffer:  # the region itself: no index by arrays
            if vtid in at.followed:
                region = part.copy()
                fits = region.shape == shape and region.dtype is dtype
                at.add(vtid, region if fits else at.fit(region, shape, dtype))
            if old in at.followed:
                part[...] = 0.0
                at.give(old, buffer)
            return
    if vtid in at.followed:
        part = walk(buffer, path, at.xp)
        # One value for all that a batched mask names: the sum over them follows from its shape.
        part = at.xp.where(key, part, 0.0) if type(key) is Batched and is_mask(key) else part[key]
        region = at.xp.asarray(part, copy=True)
        if lost is not None:
            region = at.xp.where(lost, 0.0, region)
        at.add(vtid, at.fit(region, shape, dtype))
    if old in at.followed:
        at.give(old, write_through(buffer, path, key, 0, at))


def pull_add(at: Cotangents, record: Record) -> None:
    """ADD: the cotangent passes on to the old root as it is, its region to what was added there."""
    _, new, old, vtid, path, sign, shape, dtype, _, _ = record
    if not path:  # a sum as any other
        g = at.take(new)
        if g is None:
            return
        if vtid in at.followed:
            part = at.negated(g) if sign < 0 else g
            if part.shape != shape or part.dtype is not dtype:
                part = at.fit(part, shape, dtype)
            (at.lend if part is g else at.add)(vtid, part)
        if old in at.followed:
            at.lend(old, g)
        return
    buffer = at.take_owned(new)
    if buffer is None:
        return
    if vtid in at.followed:
        part = walk(buffer, path, at.xp)
        part = part.copy() if type(part) is ndarray else at.xp.asarray(part, copy=True)
        if sign < 0:
            part = at.negated(part)
        if part.shape != shape or part.dtype is not dtype:
            part = at.fit(part, shape, dtype)
        at.add(vtid, part)
    if old in at.followed:
        at.give(old, buffer)


def push_view(at: Tangents, record: Record) -> list[Any]:
    """VIEW: the tangent of a view is its part of the root's."""
    _, _, root, _, path = record
    whole = at.tangent(root)
    return [None if whole is None else at.part(whole, path)]


def push_write(at: Tangents, record: Record) -> list[Any]:
    """PUT and ADD: the root's tangent changes where it was written to."""
    at.write(record)
    return [None]


VIEW = Structural("view", pull_view, push_view)
PUT = Structural("setitem", pull_put, push_write, inputs=slice(2, 4))
ADD = Structural("in-place add", pull_add, push_write, inputs=slice(2, 4))
