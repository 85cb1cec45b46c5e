"""Bytes, counts and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def format_bytes(size: int) -> str:
    """Return a number of bytes as text: ``"96 bytes"``, ``"3.1 kB"``, ``"2.0 GB"``."""
    if size < 1000:
        return count_noun(size, "byte")
    value, units = size / 1000, ["GB", "MB", "kB"]
    unit = units.pop()
    while value >= 999.95 and units:  # one decimal would round the value to 1000.0
        value, unit = value / 1000, units.pop()
    return f"{value:.1f} {unit}"


def count_noun(count: int, what: str) -> str:
    """Return a count with its noun: ``"1 record"``, ``"2 records"``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def align_table(lines: Sequence[Sequence[str]]) -> str:
    """Return a table as text, its first column aligned to the left and the others to the right.

    lines : the cells of each line.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    )
