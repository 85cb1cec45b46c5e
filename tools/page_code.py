"""The code blocks of Markdown pages, and checks of the output that their comments show.

    python tools/page_code.py docs/tutorials/from_torch_jax_autograd.md

runs the blocks of other libraries, if these are installed, and compares their output.  Such blocks are
marked ``py`` and begin with an import of the library.  Blocks marked ``python`` use arraytape; tests run
them.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import re
import sys
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(python|py)\n(.*?)^```", flags=re.S | re.M)
LIBRARY = re.compile(r"(?:import|from) (\w+)")


def blocks_of(page: Path, mark: str = "python") -> list[str]:
    """Return the code blocks of a page that have this mark."""
    return blocks_in(page.read_text(encoding="utf-8"), mark)


def blocks_in(text: str, mark: str = "python") -> list[str]:
    """Return the code blocks of a text that have this mark."""
    return [code for name, code in BLOCK.findall(text) if name == mark]


def shown_in(block: str) -> list[str]:
    """Return the output that a block shows: comments behind its calls of print, or in lines below."""
    lines = block.splitlines()
    calls = [
        node
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    calls.sort(key=lambda call: call.lineno)
    ends = [
        lines[(call.end_lineno or 1) - 1].encode()[call.end_col_offset :].decode() for call in calls
    ]
    shown: list[str] = []
    for call, end in zip(calls, ends, strict=True):
        if end.startswith("  # "):
            shown.append(end.removeprefix("  # "))
        elif not end:
            below = takewhile(lambda line: line.startswith("# "), lines[call.end_lineno or 1 :])
            shown += [line.removeprefix("# ") for line in below]
    return shown


def matches(line: str, expected: str) -> bool:
    """Return True if a line matches the expected one, in which ``...`` matches any text."""
    return bool(re.fullmatch(".*".join(map(re.escape, expected.split("..."))), line))


def difference(block: str, printed: list[str]) -> str:
    """Return a description of the first line that differs from the output that a block shows, or ""."""
    expected = shown_in(block)
    for line, shown in zip(printed, expected, strict=False):
        if not matches(line, shown):
            return f"{line!r} is not {shown!r}"
    return "" if len(printed) >= len(expected) else "it prints less than it says"


def run_others(page: Path) -> tuple[Counter[str], list[str]]:
    """Run the blocks of other libraries; return the number run by library, and the differences."""
    scopes: dict[str, dict[str, Any]] = {}
    ran: Counter[str] = Counter()
    wrong = []
    for block in blocks_of(page, "py"):
        found = LIBRARY.match(block)
        name = found[1] if found else ""
        if not name or importlib.util.find_spec(name) is None:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, f"{page.stem}, {name}", "exec"), scopes.setdefault(name, {}))
        ran[name] += 1
        if say := difference(block, out.getvalue().splitlines()):
            wrong.append(f"{page.name}, {name}: {say}\n{block}")
    return ran, wrong


def main(arguments: list[str]) -> int:
    code = 0
    for name in arguments:
        ran, wrong = run_others(Path(name))
        print(name, *(f"{library}: {count} blocks" for library, count in ran.items()), sep="; ")
        print(*wrong, sep="\n", end="\n" if wrong else "")
        code |= bool(wrong) | (not ran)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
