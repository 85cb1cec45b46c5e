"""Recorders that use nothing but the Recorder protocol.  mypy checks this file, too."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from arraytape import Array
from arraytape._array.exits import LEFT, LeftRecord
from arraytape._array.views import location
from arraytape._exits.messages import exit_text
from arraytape._record.plan import PLANS, Plan, Record, Structural, inputs_of, results_of
from arraytape._record.stack import BaseRecorder, Recorder, add_structural_record


def follow(recorder: Recorder, *arrays: Array) -> None:
    """Let a recorder follow the current values of Arrays; for a view, the value of its root."""
    for x in arrays:
        root, _ = location(x)
        recorder.followed.add(root._ensure_id())


class OpCounts(BaseRecorder):
    """A recorder that counts the ops on values that it follows."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def record(self, record: Record) -> None:
        self.counts[PLANS[record[0]].name] += 1


class OpTimes(BaseRecorder):
    """A recorder that adds up, by op, the seconds since the previous record of any op."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: Counter[str] = Counter()
        self.last = time.perf_counter()

    def record(self, record: Record) -> None:
        now = time.perf_counter()
        self.seconds[PLANS[record[0]].name] += now - self.last  # type: ignore[assignment]
        self.last = now


class Lineage:
    """A recorder that keeps its records; ``ops_to`` returns the ops from which a value was
    computed.

    It implements the whole protocol without a base class.
    """

    one_shot = listed = False
    frames: Collection[int] = ()

    def __init__(self) -> None:
        self.followed: set[int] = set()
        self.records: list[Record] = []
        self.record = self.records.append
        self.exits: list[str] = []
        self.notable: list[str] = []
        self.variables: list[Any] = []
        self.lost: set[int] = set()

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        if plan is LEFT:
            self.exits.append(exit_text(LeftRecord(*record)))
        else:
            self.notable.append(plan.name)

    def accessed(self, variable: Any, /) -> None:
        if not any(variable is other for other in self.variables):
            self.variables.append(variable)
            self.followed.add(variable._current_id())

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        self.lost.update(self.followed.intersection(value_ids))

    def ops_to(self, y: Array) -> list[str]:
        """Return the names of the ops from which y was computed, in the order in which they ran."""
        wanted = {y._current_id()}
        found = []
        for record in reversed(self.records):
            if not wanted.isdisjoint(results_of(record)):
                wanted.update(inputs_of(record))
                found.append(PLANS[record[0]].name)
        return found[::-1]


class Strict(OpCounts):
    """A recorder that raises an error when an attribute outside the protocol is read."""

    declared = frozenset(name for name in vars(Recorder) if not name.startswith("_"))

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name in Strict.declared or name == "counts":
            return super().__getattribute__(name)
        raise AssertionError(f"the Recorder protocol declares no {name!r}")


if TYPE_CHECKING:
    recorders: list[Recorder] = [OpCounts(), OpTimes(), Lineage(), Strict()]
    add_structural_record(BaseRecorder(), ())  # type: ignore[arg-type]  # it does not say what record does
