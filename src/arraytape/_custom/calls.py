"""Calls of the user's own functions as records: what is kept, and how they go back.

A call becomes one record ``(plan number, result tids, input tids, call)``.  ``CUSTOM`` goes back by
the user's ``grad_fn``; ``UNFOLDING`` runs the function again and goes back through what it records.

``grad_fn`` may use what the function computed on the way.  An outer tape must know where that came
from, or the second derivative would be wrong in silence: the call keeps the function's own records
(``history``) where an outer recorder may ask, and tells them just before ``grad_fn`` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._array.array import IS_VIEW, KEPT, SCALAR, Array, wrap
from .._array.views import current, keep
from .._record.plan import Plan, Record, Structural, inputs_of, results_of
from .._record.stack import OPEN, Recorder, elsewhere, new_tid, recorders
from .._storage.storage import is_complex, storage_of
from .._tape.backward import backward
from .._tape.missing_rules import missing_rule_error
from .inside import Inside


def followers_of(tids: Sequence[int]) -> list[Recorder]:
    stack = recorders()
    if OPEN and not stack:
        elsewhere(tids)
    return [r for r in stack if any(tid in r.followed for tid in tids)]


def is_asked_once(followers: Sequence[Recorder]) -> bool:
    """Whether one one-shot tape follows, and so nobody will differentiate its gradient."""
    return len(followers) == 1 and not getattr(followers[0], "persistent", True)


# --- what goes into the record --------------------------------------------------------------------
class Layout:
    """Shape, dtype and place of a value, without the value."""

    __slots__ = ("device", "dtype", "shape", "storage")

    def __init__(self, x: Array) -> None:
        self.storage, self.device = storage_of(x._data), x.device
        self.shape, self.dtype = x.shape, x.dtype

    def zeros(self) -> Array:
        return wrap(self.storage.create("zeros", self.device, self.shape, dtype=self.dtype))

    def fits(self, x: Array) -> bool:
        return x.shape == self.shape and x.dtype == self.dtype and bool(x.device == self.device)

    def __str__(self) -> str:
        dims = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        return f"{self.dtype}({dims})" + (f" on {self.device}" if self.device != "cpu" else "")


class Call:
    """One call of a user's function: what its record keeps.

    pull : takes one cotangent Array for each result, gives one contribution (or None) for each
    input.  ``missing`` names it where it has none.
    """

    cusped = False
    missing: str | None = None

    def __init__(
        self, name: str, results: Sequence[Array], pull: Callable[..., Any] | None
    ) -> None:
        self.name, self.pull = name, pull
        self.results = [Layout(y) for y in results]
        self.history: list[tuple[Record, Plan | Structural | None]] = []
        self.mark = new_tid()  # followed by whoever was told the history

    def remember(self, inside: Inside, names: Sequence[int], outs: Sequence[int]) -> None:
        """Keep what happened inside; what f calls its results is the results by its own rule."""
        self.history = [(r, inside.noticed.get(i)) for i, r in enumerate(inside.records)]
        # Last, so that on the way back it is met first.
        self.history += [
            ((SAME.number, name, out), None) for name, out in zip(names, outs, strict=True) if name
        ]

    def tell(self) -> None:
        """Tell the recorders at hand what f computed, so that they follow what its rule uses."""
        for recorder in recorders():
            if self.mark in recorder.followed:
                continue
            for record, noticed in self.history:
                if any(tid in recorder.followed for tid in inputs_of(record)):
                    recorder.record(record)
                    recorder.followed.update((*results_of(record), self.mark))
                    if noticed is not None:
                        recorder.notice(noticed, record)

    def gradients(self, cotangents: Sequence[Array | None]) -> list[Array | None]:
        """A contribution to each input."""
        if self.pull is None:
            raise missing_rule_error(self.name)
        self.tell()
        pairs = zip(cotangents, self.results, strict=True)
        found: list[Array | None] = self.pull([y.zeros() if g is None else g for g, y in pairs])
        return found


def enter(
    call: Call, plan: Structural, outs: Sequence[int], tids: Sequence[int],
    followers: Sequence[Recorder], careful: bool,
) -> None:  # fmt: skip
    """Hand the record of a call to those who follow its inputs."""
    record = (plan.number, tuple(outs), tuple(tids), call)
    for recorder in followers:
        recorder.record(record)
        recorder.followed.update(outs)
        if careful or call.missing:
            recorder.notice(plan, record)


def needs_care(arrays: Sequence[Array]) -> bool:
    """Whether the backward pass must look out: complex data, or data in several places."""
    return (
        any(is_complex(x) for x in arrays)
        or len({(type(x._data), str(x.device)) for x in arrays}) > 1
    )


def given(y: Array, out: int) -> Array:
    """What the caller gets of a result: an Array of its own."""
    return wrap(keep(y), out, KEPT | (y._state & SCALAR))


def named(leaf: Array) -> int:
    """The name of a result's value, given one if it has none."""
    (leaf._view.root if leaf._state & IS_VIEW else leaf)._ensure_id()
    return current(leaf)[0]


# --- backward -------------------------------------------------------------------------------------
def pull_custom(at: Any, record: Record) -> None:
    """CUSTOM: by the user's rule, which works on Arrays."""
    _, outs, tids, call = record
    at.by_rule(outs, tids, call.gradients)


def pull_unfolding(at: Any, record: Record) -> None:
    """UNFOLDING: the function runs again, and its records take the place of this one."""
    _, outs, _, call = record
    passes = at.passes()
    held = [[one.take(out) for out in outs] for one in passes]
    if all(g is None for g in held[0]):
        return
    inside, names = call.unfold(record)
    followed = at.followed
    for one, cotangents in zip(passes, held, strict=True):
        one.followed = Either(followed, inside.reads)
        for g, name in zip(cotangents, names, strict=True):
            if g is not None and name:
                one.lend(name, g)
    try:
        backward(at, inside.records, inside.careful)
    finally:
        for one in passes:
            one.followed = followed


def pull_same(at: Any, record: Record) -> None:
    """SAME: another name for a value."""
    g = at.take(record[1])
    if g is not None:
        at.lend(record[2], g)


class Either:
    """What one of two collections holds."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __contains__(self, item: object) -> bool:
        return any(item in part for part in self.parts)

    def __iter__(self) -> Iterator[Any]:
        return (item for part in self.parts for item in part)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)


def push_custom(at: Any, record: Record) -> list[Array | None]:
    """CUSTOM: the transpose of the user's rule."""
    _, outs, tids, call = record
    g = [y.zeros() for y in call.results]
    found: list[Array | None] = at.by_rule(
        outs, g, lambda: zip(tids, call.gradients(g), strict=True)
    )
    return found


def push_unfolding(at: Any, record: Record) -> list[Array | None]:
    """UNFOLDING: the function runs again, and its records take the place of this one."""
    _, outs, _, call = record
    inside, names = call.unfold(record, check=False)
    found: list[Array | None] = at.rerun(outs, inside.records, names)
    return found


def push_same(at: Any, record: Record) -> list[Array | None]:
    """SAME: another name for a value."""
    return [at.tangent(record[2])]


CUSTOM = Structural("custom_gradient", pull_custom, push_custom, inputs=2, cusped=True)
UNFOLDING = Structural(
    "recompute_grad", pull_unfolding, push_unfolding, inputs=2, cusped=True, unfolds=True
)
SAME = Structural("same value", pull_same, push_same)
