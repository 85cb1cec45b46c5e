"""The table of a tape's records by op, by line or by Module: ``GradientTape.summary``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from .._record.plan import plan_of
from .._util.errors import short_repr, user_line
from .buffers import Buffers
from .profile import Line
from .record_places import NOWHERE
from .recording import Recording
from .table_text import align_table, format_bytes


class Row(NamedTuple):
    """One row of a Summary.

    name : the op, ``file:line``, the names of Modules, or a file.
    records : the number of records.
    kept : the bytes that they keep.
    forward, backward : the seconds of the ops and of their rules; None without a profile.
    """

    name: str
    records: int
    kept: int
    forward: float | None
    backward: float | None


class Summary:
    """A table of what a tape recorded.

    Parameters
    ----------
    by : str
        "op", "line" or "module": the table has one row for each op, source line or Module.
    rows : list of Row
        The rows, the largest first: by time if the tape has a profile, else by bytes.
    """

    def __init__(self, by: str, rows: list[Row]) -> None:
        self.by, self.rows = by, rows

    @property
    def total(self) -> Row:
        """Return a row with the sums over all rows."""
        records, kept = sum(row.records for row in self.rows), sum(row.kept for row in self.rows)
        if all(row.forward is None for row in self.rows):
            return Row("all", records, kept, None, None)
        forward = sum(row.forward or 0.0 for row in self.rows)
        return Row("all", records, kept, forward, sum(row.backward or 0.0 for row in self.rows))

    def __str__(self) -> str:
        """Return the table, with aligned columns.

        Returns
        -------
        str
            A line of titles, one for each row, and one of their sum.
        """
        timed = self.total.forward is not None
        head = [self.by, "records", "kept", *(["forward", "backward"] if timed else [])]
        lines = [head, *map(row_cells, [*self.rows, self.total])]
        return align_table([line[: len(head)] for line in lines])

    __repr__ = __str__


def row_cells(row: Row) -> list[str]:
    times = ["" if one is None else f"{1e3 * one:.3f} ms" for one in (row.forward, row.backward)]
    return [shorten_file_name(row.name), str(row.records), format_bytes(row.kept), *times]


def shorten_file_name(name: str) -> str:
    """Return a file name relative to the folder of installed packages or the working directory."""
    _, packages, rest = name.partition("site-packages" + os.sep)
    return rest if packages else name.removeprefix(os.getcwd() + os.sep)


# For each value of the parameter ``by``: a function from a Line to the name of the row that counts it.
KEYS: dict[str, Callable[[Line], str]] = {
    "op": lambda line: line.op,
    "line": lambda line: line.place.line,
    "module": lambda line: line.place.modules or line.place.file or line.place.line,
}


def summary_of(recording: Recording, by: str) -> Summary:
    if not isinstance(by, str) or by not in KEYS:
        raise ValueError(
            f"summary: by must be one of {', '.join(KEYS)}, got {short_repr(by)} [at {user_line()}]"
        )
    profile = recording.profile
    if profile is None and by != "op":
        raise RuntimeError(
            f"summary(by={short_repr(by)}) needs a tape that notes lines: GradientTape(profile=True) "
            f"[at {user_line()}]"
        )
    if profile is not None:
        return Summary(by, summary_rows(dict(profile.lines), dict(profile.backward), KEYS[by]))
    recording.check_usable()
    return Summary(by, summary_rows(lines_without_profile(recording), None, KEYS[by]))


def lines_without_profile(recording: Recording) -> dict[int, Line]:
    buffers, lines = Buffers(), {}
    for i, record in enumerate(list(recording.records)):
        lines[i] = Line(plan_of(record).name, NOWHERE, buffers.count([record]), 0.0)
    return lines


def summary_rows(
    lines: dict[int, Line], backward: dict[int, float] | None, key: Callable[[Line], str]
) -> list[Row]:
    """Return the rows of a Summary, the longest time first, and without a profile the most bytes first.

    lines : {value id: Line} for each record.  backward : {value id: seconds of the record's rules}; None
    without a profile.  key : a function that returns the name of the row to which a Line belongs.
    """
    rows: dict[str, Row] = {}
    for value_id, line in lines.items():
        name = key(line)
        before = rows.get(name, Row(name, 0, 0, None, None))
        times: tuple[float | None, float | None] = (None, None)
        if backward is not None:
            times = (
                (before.forward or 0.0) + line.forward,
                (before.backward or 0.0) + backward.get(value_id, 0.0),
            )
        rows[name] = Row(name, before.records + 1, before.kept + line.size, *times)
    return sorted(rows.values(), key=lambda row: (-total_seconds(row), -row.kept))


def total_seconds(row: Row) -> float:
    return (row.forward or 0.0) + (row.backward or 0.0)
