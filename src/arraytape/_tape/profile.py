"""The profile of a tape with ``profile=True``: where each record is made, and its times both ways."""

from __future__ import annotations

import time
from threading import get_ident
from typing import NamedTuple

from .._record.plan import Record, plan_of, results_of
from .._util.locks import reentrant_lock
from .buffers import Buffers
from .record_places import Place, Places


class Line(NamedTuple):
    """The entry of one record, which outlives it: bytes, and seconds of the forward op."""

    op: str
    place: Place
    size: int
    forward: float


class Profile:
    """An observer that notes the line of each record, and the seconds since the record before.

    lines : by the id of the first result.  backward : the seconds of the rules, by the same id.
    began : when the tape's block was entered.  since : by thread, when the last record was noted.
    """

    def __init__(self) -> None:
        self.places = Places()
        self.noting = reentrant_lock()  # several threads may record on one tape
        self.restart()

    def restart(self) -> None:
        self.places.by_id.clear()
        self.lines: dict[int, Line] = {}
        self.backward: dict[int, float] = {}
        self.buffers = Buffers()
        self.resume()

    def resume(self) -> None:
        """Count time from here on, where the tape's block is entered."""
        self.began = time.perf_counter()
        self.since: dict[int, float] = {}

    def __call__(self, record: Record) -> None:
        thread = get_ident()
        took = time.perf_counter() - self.since.get(thread, self.began)
        self.places(record)
        with self.noting:
            size = self.buffers.count([record])
        value_id = results_of(record)[0]
        place = self.places.place_of_record(record)
        self.lines[value_id] = Line(plan_of(record).name, place, size, took)
        self.since[thread] = time.perf_counter()

    def went_back(self, record: Record, seconds: float) -> None:
        value_id = results_of(record)[0]
        self.backward[value_id] = self.backward.get(value_id, 0.0) + seconds
