"""The page of other people's libraries: how their functions and their own tests fare on Arrays."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pages

from . import recipes, suites
from .facts import Library
from .trials import Row, installed, tried
from .verdicts import RIGHT, backends

PEERS = {"torch": "PyTorch", "jax": "JAX"}
HEAD = f"""# Libraries on Arrays

{pages.mark("libraries")}

This page shows how functions of other libraries compute on Arrays. `make libraries` calls the
functions on small random data and writes the page. The libraries are those that pip installs.
[Differentiate third-party code](../../howto/third_party.md) explains how libraries treat Arrays,
and [recipes](../../howto/recipes.md) have the code for libraries with a list of backends. The first
table has these columns:

- **right**: the values are NumPy's, and the gradient agrees with central differences.
- **second order**: a Hessian-vector product agrees with differences of the gradient.
- **replayed**: `xp.function` returns the values and gradients of eager calls, on new data, too.
- **PyTorch**, **JAX**: the same calls with arrays of these libraries are right, to first order.
- **own tests**: the library's tests, run on Arrays that an open tape watches.

A dash means that nothing was tried.

"""
LIBRARIES = ["library", "finds functions by", "right", "second order", "replayed", *PEERS.values()]
REASONS = ["library", "function", "on Arrays", *PEERS.values(), "reason"]


def page(_: str) -> str:
    """Try all libraries that are installed, and return the page."""
    tables = [(library, [*printed(library)]) for library in installed([])]
    tests = {name: own_tests(name) for name in suites.installed_suites([])}
    faults = [
        f"{library.name}, {row.call.name}: {row.fault()}"
        for library, found in tables
        for row in found
        if row.fault()
    ]
    faults += [f"{name}: {line}" for name, line in tests.items() if "failed" in line]
    faults += filter(None, map(recipes.difference, recipes.installed_sections()))
    wrong = "".join(f"\n- WRONG: {fault}" for fault in faults)
    return "".join([
        HEAD,
        pages.table([*LIBRARIES, "own tests", "recipe"], [
            [*summary(library, found), tests.get(library.name, "-"), link(library.recipe)]
            for library, found in tables
        ]),
        "\n\n## Functions that are not right\n\n",
        pages.table(REASONS, [
            reason(row) for _, found in tables for row in found if not row.is_right("arraytape")
        ]),
        f"\n{wrong}\n" if wrong else "\n",
    ])  # fmt: skip


def printed(library: Library) -> Iterator[Row]:
    """Yield a Row for each call of a library, and print the calls that fail."""
    print(library.name, flush=True)
    for row in tried(library, backends([*PEERS])):
        if not row.is_right("arraytape"):
            print(row.text(), flush=True)
        yield row


def own_tests(name: str) -> str:
    """Run the tests of a library, and return the numbers of those that pass and fail."""
    with tempfile.TemporaryDirectory() as folder:
        counts = suites.run(name, Path(folder) / "counts.json")
    kinds = {"passed": "passed", "failed": "failed", "xfailed": "known to fail"}
    return ", ".join(f"{counts[kind]:,} {words}" for kind, words in kinds.items() if counts[kind])


# --- rows ------------------------------------------------------------------------------------------
def summary(library: Library, rows: list[Row]) -> list[str]:
    """Return the cells of a library's table row: how many functions pass each check on each backend."""
    ours = [row.outcomes["arraytape"] for row in rows]
    peers = [
        f"{sum(row.outcomes[name].first == RIGHT for row in rows)}"
        if name in rows[0].outcomes
        else "-"
        for name in PEERS
    ]
    warned = sum(bool(outcome.needless) for outcome in ours)
    second = [outcome.second for outcome in ours if outcome.second]
    replay = [outcome.replay for outcome in ours if outcome.replay]
    return [
        f"{library.name} {version(library.name)}",
        library.dispatches,
        f"{sum(outcome.first == RIGHT for outcome in ours)} of {len(rows)}"
        + (f" ({warned} with a warning)" if warned else ""),
        f"{second.count(RIGHT)} of {len(second)}",
        f"{replay.count(RIGHT)} of {len(replay)}",
        *peers,
    ]


def reason(row: Row) -> list[str]:
    """Return the cells of a table row, for a function with a wrong result or an error on Arrays."""
    peers = [row.outcomes[name].words() if name in row.outcomes else "-" for name in PEERS]
    ours = row.outcomes["arraytape"].words()
    cells = [row.library.name, f"`{row.call.name}`", ours, *peers, row.why]
    return [cell.replace("|", "\\|") for cell in cells]


def link(section: str) -> str:
    address = section.lower().replace(" ", "-")
    return f"[{section}](../../howto/recipes.md#{address})" if section else "none needed"
