"""The table and the picture of docs/dev/architecture.md: the parts of the package and their imports.

A part (in this code: room) is a module or package directly in arraytape.  An edge means that a module of
one room imports a module of another.  The floor of a room is its layer in the import contract in
pyproject.toml, which import-linter checks.  grimp finds the imports.
"""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

import pages

NAMESPACE = "__init__"  # arraytape/__init__.py, the public namespace

Edges = dict[str, set[str]]


class Tree(NamedTuple):
    """The rooms of a source tree, by name: the rooms they import, and their docstrings' first lines."""

    imports: Edges
    said: dict[str, str]


def package() -> Path:
    """Return the folder of the arraytape that Python would import."""
    found = importlib.util.find_spec("arraytape")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def room_of(module: str) -> str:
    """Return the room of a module, the first part of its dotted name below ``arraytape``."""
    _, _, rest = module.partition(".")
    return rest.partition(".")[0] or NAMESPACE


def first_sentence(path: Path) -> str:
    """Return the first line of a module's docstring, without the full stop."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].rstrip(".")


@cache
def tree() -> Tree:
    """Return the Tree of the arraytape that Python would import."""
    graph = grimp.build_graph("arraytape", exclude_type_checking_imports=True, cache_dir=None)
    names = {room_of(module) for module in graph.modules}
    imports: Edges = {room: set() for room in names}
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            if room_of(module) != room_of(other):
                imports[room_of(module)].add(room_of(other))
    said = {}
    for room in names:
        folder = package() / room
        first = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        said[room] = first_sentence(first)
    return Tree(imports, said)


def contract_floors(imports: Edges) -> dict[str, int]:
    """Return each room's floor in the import contract; 1 is the lowest.

    The public namespace is in no contract; its floor is above all rooms that it imports.
    """
    settings = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["containers"] == ["arraytape"])
    floors = {
        room.strip(): number
        for number, layer in enumerate(reversed(layers), start=1)
        for room in layer.split("|")
    }
    floors[NAMESPACE] = 1 + max(floors[room] for room in imports[NAMESPACE])
    return floors


# --- the table ------------------------------------------------------------------------------------
def shown(room: str) -> str:
    return "`arraytape` itself" if room == NAMESPACE else f"`{room}`"


def table(found: Tree) -> str:
    """Return the rooms by floor, the highest first, as a Markdown table."""
    floors = contract_floors(found.imports)
    rows = []
    for room in sorted(floors, key=lambda room: (-floors[room], room)):
        below = sorted(found.imports[room], key=lambda other: (-floors[other], other))
        imports = ", ".join(map(shown, below)) or "–"  # noqa: RUF001
        rows.append([str(floors[room]), shown(room), found.said[room], imports])
    return pages.table(("layer", "part", "contents", "imports"), rows)


# --- the picture ----------------------------------------------------------------------------------
WIDTH, BAND, BOX, GAP, SIDE = 860, 62, 30, 80, 40
STYLE = """\
    text { font: 13px sans-serif; fill: #1f2328; text-anchor: middle; dominant-baseline: central }
    .floor { fill: #656d76; font-size: 11px }
    .band { fill: #656d76; fill-opacity: 0.07 }
    .room { fill: #ffffff; stroke: #57606a }
    .public { fill: #ddf4ff; stroke: #0969da }
    .edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
    .tip { fill: #8c959f }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .floor { fill: #8d96a0 }
      .room { fill: #161b22; stroke: #8d96a0 }
      .public { fill: #121d2f; stroke: #4493f8 }
      .edge { stroke: #6e7681 }
      .tip { fill: #6e7681 }
    }"""


def needed_arrows(imports: Edges) -> list[tuple[str, str]]:
    """Return the edges that do not follow from other edges by transitivity."""

    @cache
    def reach(room: str) -> frozenset[str]:
        below = imports[room] - {NAMESPACE}
        return frozenset(below).union(*map(reach, below))

    return [
        (room, other)
        for room in sorted(imports)
        for other in sorted(imports[room] - {NAMESPACE})
        if not any(other in reach(third) for third in imports[room] - {NAMESPACE, other})
    ]


def centres(floors: dict[str, int], imports: Edges) -> dict[str, tuple[float, float]]:
    """Return the centre of each room's box; on a floor, rooms are sorted by the rooms above them."""
    places: dict[str, tuple[float, float]] = {}
    top = max(floors.values())
    for floor in range(top, 0, -1):
        rooms = sorted(room for room in floors if floors[room] == floor)

        def above(room: str) -> float:
            seen = [places[other][0] for other in places if room in imports[other]]
            return sum(seen) / len(seen) if seen else 0.0

        rooms.sort(key=lambda room: (above(room), room))
        widths = [width(room) for room in rooms]
        x = SIDE + (WIDTH - SIDE - sum(widths) - GAP * (len(rooms) - 1)) / 2
        y = (top - floor + 0.5) * BAND
        for room, wide in zip(rooms, widths, strict=True):
            places[room] = x + wide / 2, y
            x += wide + GAP
    return places


def label(room: str) -> str:
    return "arraytape (xp)" if room == NAMESPACE else room


def width(room: str) -> int:
    """Return the width of a room's box."""
    return 30 + 8 * len(label(room))


def picture(found: Tree) -> str:
    """Return an SVG of the rooms on their floors, with arrows to the rooms that they import."""
    floors = contract_floors(found.imports)
    del floors["_version"]  # it has only one constant
    places, top = centres(floors, found.imports), max(floors.values())
    height = top * BAND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="The parts of arraytape in layers; imports point down">',
        f"  {pages.mark('architecture_picture')}",
        f"  <style>\n{STYLE}\n  </style>",
        '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="tip" d="M0 0 8 4 0 8Z"/></marker></defs>',
    ]
    for floor in range(1, top + 1):
        y = (top - floor) * BAND
        parts.append(
            f'  <rect class="band" x="{SIDE}" y="{y + 4}" width="{WIDTH - SIDE}" '
            f'height="{BAND - 8}" rx="4"/>'
        )
        parts.append(f'  <text class="floor" x="{SIDE / 2:g}" y="{y + BAND / 2:g}">{floor}</text>')
    for room, other in needed_arrows(found.imports):
        if room not in places or other not in places:  # such as __main__ and _version
            continue
        (x1, y1), (x2, y2) = places[room], places[other]
        y1, y2 = y1 + BOX / 2, y2 - BOX / 2 - 1
        middle = (y1 + y2) / 2
        parts.append(
            f'  <path class="edge" marker-end="url(#tip)" '
            f'd="M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"/>'
        )
    for room, (x, y) in places.items():
        kind = "room" if room.startswith("_") and room != NAMESPACE else "public"
        parts.append(
            f'  <rect class="{kind}" x="{x - width(room) / 2:g}" y="{y - BOX / 2:g}" '
            f'width="{width(room)}" height="{BOX}" rx="5"/>'
        )
        parts.append(f'  <text x="{x:g}" y="{y:g}">{label(room)}</text>')
    return "\n".join([*parts, "</svg>", ""])


# --- page and picture -----------------------------------------------------------------------------
def page(old: str) -> str:
    return pages.between(old, pages.ends_of("architecture"), table(tree()))


def picture_page(_: str) -> str:
    return picture(tree())
