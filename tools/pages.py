"""Write the generated pages, or check that they are up to date.

    make pages                                 # all pages that follow from the sources: a minute
    python tools/pages.py coverage special     # the pages with these names
    python tools/pages.py --check              # exit code 1 and the differences if a page is stale
    python tools/pages.py --list               # the names, and the times of measured pages
    python tools/pages.py estimators_table --only NMF    # some rows of a slow page

A page with measurements is written only when it is named, and is not checked.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GENERATED = "docs/reference/generated"


class Page(NamedTuple):
    """A generated file.

    render : "module.name" of the function that makes the new text from the present text.
    measured : the time that the page takes, if it has measurements; otherwise "".
    release : "module.name" of a function that returns the line about the installed releases of other
    libraries.  A page whose text lacks this line was made with other releases, and is not checked.
    """

    file: str
    render: str
    measured: str = ""
    release: str = ""

    @property
    def path(self) -> Path:
        return ROOT / self.file

    def text(self) -> str:
        """Return the present text of the file; "" if there is no file."""
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""

    def new_text(self, *only: str) -> str:
        """Return the text that the file should have."""
        return function_of(self.render)(self.text(), *only)

    def is_comparable(self) -> bool:
        """Return True if the text was made with the installed releases of other libraries."""
        return not self.release or function_of(self.release)() in self.text()


def function_of(path: str) -> Callable[..., str]:
    """Import and return the function at ``path``, which is a module and a name with a dot between."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


PAGES = {
    "coverage": Page(f"{GENERATED}/coverage.md", "status.coverage.page"),
    "features": Page(f"{GENERATED}/features.md", "status.features.page"),
    "public_names": Page(f"{GENERATED}/public_names.txt", "status.public_names.page"),
    "scope": Page(f"{GENERATED}/scope.md", "status.scope.page", release="status.scope.release"),
    "misuses": Page(
        f"{GENERATED}/misuses.md", "status.misuses.page", release="status.misuses.release"
    ),
    "special": Page(
        f"{GENERATED}/special.md", "status.special.page", release="status.special.release"
    ),
    "numerics": Page("docs/explanation/numerics.md", "status.numerics.page"),
    "architecture": Page("docs/dev/architecture.md", "status.rooms.page"),
    "architecture_picture": Page("docs/dev/architecture.svg", "status.rooms.picture_page"),
    "benchmarks_picture": Page("docs/howto/benchmarks.svg", "status.benchmarks.picture_page"),
    "errors": Page("docs/errors.md", "status.errors.page"),
    "special_errors": Page(
        f"{GENERATED}/special.md", "status.special.page_of_errors", "some minutes"
    ),
    "distributions": Page(
        f"{GENERATED}/distributions.md", "status.distributions.page", "some minutes"
    ),
    "estimators_table": Page(
        f"{GENERATED}/estimators_table.md", "status.estimators.page", "some minutes"
    ),
    "numerics_of_peers": Page(
        "docs/explanation/numerics.md", "status.numerics.page_of_peers", "PyTorch and JAX"
    ),
    "interop": Page("docs/howto/interop.md", "compare_with_torch.page", "PyTorch; seconds"),
    "benchmarks": Page("docs/howto/benchmarks.md", "status.benchmarks.page", "seconds"),
    "ratios": Page("README.md", "status.ratios.page", "a minute; PY_PEERS=python for PyTorch, JAX"),
    "libraries": Page(f"{GENERATED}/libraries.md", "libraries.page.page", "make libraries"),
    "graph_ridge": Page("docs/howto/graph_ridge.svg", "status.graph_ridge.page", "a second"),
}


class CannotBeWritten(Exception):
    """An error because a page, or the input for it, lacks something that the message names."""


# --- parts of pages -------------------------------------------------------------------------------
def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table without a newline at the end."""
    return "\n".join(map(row, [head, ["---"] * len(head), *rows]))


def ends_of(name: str, part: str = "") -> tuple[str, str]:
    """Return the two comments that enclose the generated text of a page, or a part of it."""
    about = f" ({part})" if part else ""
    begin = f"<!-- Written by `python tools/pages.py {name}`; do not edit.{about} -->"
    return begin, f"<!-- End of {name}{about}. -->"


def mark(name: str) -> str:
    """Return the comment at the top of a generated page."""
    return ends_of(name)[0]


def between(text: str, ends: tuple[str, str], new: str) -> str:
    """Replace the text of a page between two comments."""
    begin, end = ends
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise CannotBeWritten(f"the page lacks {begin} or {end}")
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


# --- all pages ------------------------------------------------------------------------------------
def followed() -> list[str]:
    """Return the names of the pages without measurements."""
    return [name for name, page in PAGES.items() if not page.measured]


def differences(file: str, old: str, new: str) -> list[str]:
    """Return a unified diff between the present and the new text of a file."""
    lines = old.splitlines(), new.splitlines()
    return [*difflib.unified_diff(*lines, file, f"{file}, as it should be", n=0, lineterm="")]


def stale(names: Iterable[str]) -> list[str]:
    """Return the diffs of stale pages, and the errors of pages that cannot be written."""
    lines = []
    for name in names:
        page = PAGES[name]
        if not page.is_comparable():
            print(f"{page.file} was made with other releases, and is not checked", file=sys.stderr)
            continue
        try:
            lines += differences(page.file, page.text(), page.new_text())
        except CannotBeWritten as fault:
            lines.append(f"{page.file}: {fault}")
    return lines


def write(names: Iterable[str], only: Sequence[str]) -> list[str]:
    """Write pages; return the errors."""
    faults = []
    for name in names:
        page = PAGES[name]
        try:
            text = page.new_text(*only)
        except CannotBeWritten as fault:
            faults.append(f"{page.file}: {fault}")
            continue
        faults += [f"{page.file}: {line}" for line in text.splitlines() if "WRONG" in line]
        if text != page.text():
            page.path.write_text(text, encoding="utf-8")
            print(f"{page.file} is new")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PAGES))
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="these rows alone")
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    parser.add_argument("--list", action="store_true", help="list the pages")
    options = parser.parse_args(arguments)
    if unknown := {*options.names} - {*PAGES}:
        parser.error(
            f"no page is called {', '.join(sorted(unknown))}; there are {', '.join(PAGES)}"
        )
    names = options.names or followed()
    if options.list:
        for name, page in PAGES.items():
            print(f"{name:22} {page.file:44} {page.measured}")
        return 0
    lines = stale(names) if options.check else write(names, options.only)
    print(*lines, sep="\n", end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    sys.path.insert(1, str(ROOT / "tests"))  # tables that pages and tests share
    import pages  # the modules of pages import this one by its name

    sys.exit(pages.main())
