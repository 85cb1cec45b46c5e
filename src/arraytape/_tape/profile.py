"""The profile of a tape with ``profile=True``, from which ``GradientTape.summary`` makes its table.

For each record, the profile has the source location, the bytes, and the times of the op and its rules.
"""

from __future__ import annotations

import time
from threading import get_ident
from typing import NamedTuple

from .._record.plan import Record, plan_of, results_of
from .._util.locks import reentrant_lock
from .buffers import Buffers
from .record_places import RecordPlace, RecordPlaces


class Line(NamedTuple):
    """The entry of one record in a profile; it stays in the profile when the record is freed.

    size : bytes that the record keeps, without buffers that an earlier record keeps as well.
    forward : the seconds from the preceding record to this record.
    """

    op: str
    place: RecordPlace
    size: int
    forward: float


class Profile:
    """The profile of one tape, which the tape's recorder calls with each record (an observer).

    lines : the Lines, by the value id of the record's first result.
    backward : the seconds that the record's rules took in all passes, by the same id.
    began : the time at which the tape's block was entered.
    since : dict from threads to the time of their last record.
    """

    def __init__(self) -> None:
        self.places = RecordPlaces()
        self.noting = reentrant_lock()  # several threads may record on one tape
        self.restart()

    def restart(self) -> None:
        self.places.by_id.clear()
        self.lines: dict[int, Line] = {}
        self.backward: dict[int, float] = {}
        self.buffers = Buffers()
        self.resume()

    def resume(self) -> None:
        """Restart the clock as the tape's block is entered, so that earlier time does not count."""
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
        """Add the time that a record's rules took in a backward pass.

        The stepwise backward pass, which times one record after another, calls this.
        """
        value_id = results_of(record)[0]
        self.backward[value_id] = self.backward.get(value_id, 0.0) + seconds
