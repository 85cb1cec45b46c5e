"""Derivatives of functions at special points, such as kinks, for the functions' reference pages.

They are read from the tables in docs/explanation/numerics.md.  Each row holds a function, a point,
arraytape's derivative there, and the derivatives of other libraries, all in backquotes.  In a row whose
function begins with "second: ", the derivatives are second derivatives, otherwise first ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .sources import DOCS

PAGE = "explanation/numerics"  # the page in docs/
SECOND = "second: "
CELL = re.compile(r" *`([^`]+)` *")


class Point(NamedTuple):
    """A function at a point, its derivative there, and the heading of its table."""

    function: str
    at: str
    derivative: str
    heading: str


def points() -> list[Point]:
    """Return all points of the page; an empty list if there is no page."""
    file = DOCS / f"{PAGE}.md"
    return points_of(file.read_text(encoding="utf-8").splitlines()) if file.exists() else []


def points_of(lines: Iterable[str]) -> list[Point]:
    found, heading = [], ""
    for line in lines:
        if line.startswith("## "):
            heading = line[3:].strip()
        cells = [CELL.fullmatch(cell) for cell in line.strip().strip("|").split(" | ")]
        if len(cells) > 2 and all(cells):
            found.append(Point(*(cell[1] for cell in cells[:3] if cell), heading))
    return found


def of(name: str, among: Iterable[Point]) -> list[Point]:
    """Return the points whose code calls a public name (``xp.linalg.svd``: arraytape.linalg.svd)."""
    called = re.compile(rf"\bxp\.{re.escape(name.partition('.')[2])}\b(?!\.)")
    return [point for point in among if called.search(point.function)]


def table(found: Iterable[Point]) -> str:
    """Return a table of points as reStructuredText, with links to their headings."""
    rows = ["", ".. rubric:: At special points", "", ".. list-table::", "   :header-rows: 1", ""]
    rows += ["   * - function", "     - at", "     - derivative", "     - see"]
    for point in found:
        code = point.function.removeprefix(SECOND)
        order = ", second derivative" if code != point.function else ""
        rows += [f"   * - ``{code}``{order}", f"     - ``{point.at}``"]
        rows += [f"     - ``{point.derivative}``", f"     - {link(point.heading)}"]
    return "\n".join([*rows, ""])


def link(heading: str) -> str:
    """Return a link to a heading of the page; the anchor follows MyST's rule."""
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return f"`{heading} <../{PAGE}.html#{anchor}>`__"
