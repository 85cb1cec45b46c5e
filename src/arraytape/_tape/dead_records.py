"""Dead-record collection: records of values that nothing refers to are freed while a tape records.

A value has an id, one int object.  Whatever may ask for the value refers to that object: Arrays and
views, records that compute on the value, other recorders, code that is about to make an Array of it.
If nothing refers to the id but the record that made the value and the set of what the tape follows, no
gradient can ask for the value, and the record is freed; its references to other ids go with it, so that
one walk from the end finds whole branches.

Only tapes that watch a large array count the bytes that they keep, since counting takes longer than
recording a small op.  Every ``YOUNG`` bytes the records since the last time are checked, and all records
once the bytes that stayed have doubled.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any
from weakref import ref

from numpy import ndarray

from .._record.plan import Record, Structural

if TYPE_CHECKING:
    from .recording import Recording

YOUNG = 2**25  # bytes that are recorded between two collections
FIRST = 64  # records after which counting bytes ends,
SMALL = 2**14  # if they kept fewer bytes than this, each


# The stand-in for a freed record: another thread may go through the list at this moment.
GONE: Record = (Structural("gone", lambda at, record: None, lambda at, record: []).number, 0, 0)


def references_to_id(ids: tuple[int, ...], place: int) -> int:
    """Return sys.getrefcount of an id in a tuple; compare the count with ALONE."""
    return getrefcount(ids[place])


ALONE = references_to_id((0, int("1" * 12)), 1)  # the count of an id to which only a tuple refers


class DeadRecordCollector:
    """The ``record`` of a recording that watches a large array.

    swept : how many records were checked.  young, old : the bytes kept since then, and before.  full :
    the bytes at which all records are checked again.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = ref(recording)  # which refers to this
        self.swept, self.seen = len(recording.records), 0
        self.young, self.old, self.full = 0, 0, YOUNG

    def collect_and_record(self, record: Record) -> None:
        """Keep a record; free dead ones each time ``YOUNG`` bytes are new."""
        recording = self.recording()
        if recording is None:  # the tape was freed with this record
            return
        recording.records.append(record)
        self.young += bytes_in(record)
        self.seen += 1
        if self.young >= YOUNG:
            self.collect_dead(recording)
        elif self.seen == FIRST and self.young + self.old < FIRST * SMALL:
            recording.record = recording.records.append

    def collect_dead(self, recording: Recording) -> None:
        if recording.shared:  # workers may be about to record
            recording.record = recording.records.append
            return
        if self.young + self.old >= self.full:
            self.swept, self.old = 0, 0
        alive = alive_from(self.swept, recording.records, recording.known)
        self.old += sum(map(bytes_in, alive))
        if not self.swept:
            self.full = max(2 * self.old, YOUNG)
        if self.swept + len(alive) < len(recording.records):
            # A new list: others may go through the old one, or know places in it.
            recording.records = [*recording.records[: self.swept], *alive]
            recording.views_read = None
        self.swept, self.young = len(recording.records), 0


def alive_from(start: int, records: list[Record], known: set[int]) -> list[Record]:
    """Return the records from a place on that a gradient may ask for; replace the others by ``GONE``."""
    for place in range(len(records) - 1, start - 1, -1):
        if is_dead(records[place], known):
            out = records[place][1]
            records[place] = GONE
            known.difference_update(out if type(out) is tuple else (out,))
    return [record for record in records[start:] if record is not GONE]


def is_dead(record: Record, known: set[int]) -> bool:
    """Return True if only the record and the set of known ids refer to the ids of its results."""
    if type(record[1]) is tuple:
        ids: tuple[int, ...] = record[1]
        return all(
            references_to_id(ids, i) == ALONE + 1 and out_is_known(ids, i, known)
            for i in range(len(ids))
        )
    return references_to_id(record, 1) == ALONE + 1 and out_is_known(record, 1, known)


def out_is_known(ids: tuple[Any, ...], place: int, known: set[int]) -> bool:
    """Return True if the id is known: then the other reference is that of the known ids."""
    return ids[place] in known


def bytes_in(record: Record) -> int:
    total = 0
    for item in record:
        if type(item) is ndarray:
            total += item.nbytes
    return total


def collecting_record(recording: Recording) -> Callable[[Record], Any]:
    """Return a function that takes the records of a recording that watches a large array."""
    return DeadRecordCollector(recording).collect_and_record
