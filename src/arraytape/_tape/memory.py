"""The memory that a tape keeps, by op: ``GradientTape.memory``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .._record.plan import Record, plan_of
from .._storage.storage import STORAGES
from .._util.references import ALONE, references_to_item
from .buffers import SMALL, Buffers, owner_of_memory, parts_of_record
from .recording import Recording
from .table_text import align_table, format_bytes


class Kept(NamedTuple):
    """One row of a MemoryUse: what the records of one op keep.

    name : the op.  records : the number of its records.
    kept : the bytes of the buffers that these records keep alive.
    shared : the part of ``kept`` in buffers to which something other than the tape refers, too.
    """

    name: str
    records: int
    kept: int
    shared: int


class MemoryUse:
    """A table of the memory that a tape keeps.

    Parameters
    ----------
    rows : list of Kept
        A row for each op, the largest first.
    """

    def __init__(self, rows: list[Kept]) -> None:
        self.rows = rows

    @property
    def total(self) -> Kept:
        """Return a row with the sums over all rows."""
        return Kept(
            "all",
            sum(row.records for row in self.rows),
            sum(row.kept for row in self.rows),
            sum(row.shared for row in self.rows),
        )

    def __str__(self) -> str:
        """Return the table, with aligned columns.

        Returns
        -------
        str
            A line of titles, one for each row, and one of their sum.
        """
        rows = [
            [row.name, str(row.records), format_bytes(row.kept), format_bytes(row.shared)]
            for row in (*self.rows, self.total)
        ]
        return align_table([["op", "records", "kept", "shared"], *rows])

    __repr__ = __str__


def memory_use(recording: Recording) -> MemoryUse:
    """Return the table of ``GradientTape.memory``: the bytes that a tape's records keep, by op."""
    recording.check_usable()
    records = list(recording.records)
    shared = shared_buffers(records)
    # A buffer that several records keep counts for the first of them.
    buffers, rows = Buffers(), dict[str, Kept]()
    for record in records:
        name, found = plan_of(record).name, buffers.new_in([record])
        buffers.add_sizes(found)
        _, count, kept, others = rows.get(name, Kept(name, 0, 0, 0))
        more = sum(size for buffer, size in found.items() if buffer in shared)
        rows[name] = Kept(name, count + 1, kept + sum(found.values()), others + more)
    return MemoryUse(sorted(rows.values(), key=lambda row: (-row.kept, -row.records)))


def shared_buffers(records: Iterable[Record]) -> set[int]:
    """Return the ``id()`` of each buffer to which something other than these records refers.

    The memory of such a buffer stays in use when the tape is freed.
    """
    objects, expected = arrays_in_records(records)
    found = set()
    for key in objects:
        if references_to_item(objects, key) > expected[key] + ALONE:
            found.add(id(owner_of_memory(objects[key])))
    return found


def arrays_in_records(records: Iterable[Record]) -> tuple[dict[int, Any], Counter[int]]:
    """Return the arrays that records keep alive, and the number of references to each from the tape.

    An array with more references is also used by something other than the tape.  The first result maps
    ``id(array)`` to the array; the bases of views are included.  The second maps ``id(array)`` to the
    number of references from records, and from views in the first result.
    """
    objects: dict[int, Any] = {}
    expected: Counter[int] = Counter()
    for item in kept_arrays_of(records):
        array: Any = item
        expected[id(array)] += 1
        while array is not None and id(array) not in objects:
            objects[id(array)] = array
            base = getattr(array, "base", None)
            array = base if type(base) in STORAGES else None
            if array is not None:
                expected[id(array)] += 1
    return objects, expected


def kept_arrays_of(records: Iterable[Record]) -> Iterator[Any]:
    """Yield the arrays in records, also those inside lists and other objects, once per reference."""
    for record in records:
        for item in record:
            if type(item) is not int and not isinstance(item, SMALL):
                parts = parts_of_record(item)
                yield from kept_arrays_of([tuple(parts)]) if parts is not None else (item,)
