"""Run the code blocks of README and of the first pages that need no optional dependency.

    build/fresh/bin/python tools/quickstart.py

The exit code is 1 if a block fails, warns or prints other output than it shows.  ``make fresh`` runs
this script with the wheel, installed with its two dependencies and nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import page_code

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/howto/install.md",
    "docs/tutorials/first_gradient.md",
)
EXTRAS = re.compile(r"\b(scipy|sklearn|matplotlib|optimizers|safetensors|dask)\b")


def blocks_of(page: str) -> list[str]:
    """Return the code blocks that need no optional package and no variable of a block that needs one."""
    chosen: list[str] = []
    known: set[str] = set()
    missing: set[str] = set()
    for block in page_code.blocks_of(ROOT / page):
        if "elementwise(" in block:  # a line from the source of the library
            continue
        nodes = [*ast.walk(ast.parse(block))]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        if EXTRAS.search(block) or missing & {node.id for node in names} - made:
            missing |= made - known
        else:
            chosen.append(block)
            known |= made
            missing -= made
    return chosen


def faults(page: str, blocks: Sequence[str]) -> Iterator[str]:
    """Run blocks; yield the differences between their output and the output that they show."""
    scope: dict[str, object] = {}
    for number, block in enumerate(blocks):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, f"{page} block {number}", "exec"), scope)
        if said := page_code.difference(block, printed.getvalue().splitlines()):
            yield f"{page} block {number}: {said}"


def main() -> int:
    warnings.simplefilter("error")
    import arraytape

    wrong: list[str] = []
    for page in PAGES:
        blocks = blocks_of(page)
        wrong += faults(page, blocks)
        print(f"{page}: {len(blocks)} blocks with arraytape {arraytape.__version__}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(wrong)} errors; {Path(arraytape.__file__).parent}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
