"""Pages that tools write: tables in Markdown, text between marks, a page or how it is stale."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, without a line's end."""
    return "\n".join(map(row, [head, ["---"] * len(head), *rows]))


def between(page: str, begin: str, end: str, text: str) -> str:
    """A page with another text between two marks."""
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"a page lacks {begin} or {end}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def is_check(arguments: Sequence[str] | None, path: Path) -> bool:
    """Whether a tool is asked to check a page, and not to write it: its one option."""
    parser = argparse.ArgumentParser(description=f"Write {path.relative_to(ROOT)}.")
    parser.add_argument("--check", action="store_true", help="fail when it is stale")
    return bool(parser.parse_args(arguments).check)


def differences(path: Path, text: str) -> list[str]:
    """The lines in which a file differs from what it should say."""
    now = path.read_text(encoding="utf-8") if path.exists() else ""
    name = path.relative_to(ROOT).as_posix()
    return [*difflib.unified_diff(
        now.splitlines(), text.splitlines(), name, f"{name}, as it should be", n=0, lineterm=""
    )]  # fmt: skip


def finish(path: Path, text: str, check: bool) -> int:
    """Write a page; or print how it differs, if it does: the exit code."""
    if not check:
        path.write_text(text, encoding="utf-8")
        return 0
    found = differences(path, text)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return int(bool(found))
