"""The recipes of docs/howto/recipes.md: run by a test, and before the calls of a library."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import re
from typing import Any

import page_code
import pages

PAGE = pages.ROOT / "docs" / "howto" / "recipes.md"
# The modules that a section needs, where its heading is not their name.
MODULES = {
    "POT": ["ot"],
    "autoray and torchquad": ["autoray", "torchquad"],
    "numpy-financial": ["numpy_financial"],
}


@functools.cache
def blocks_by_section() -> dict[str, list[str]]:
    """Return the code blocks of each section by its heading."""
    _, *sections = re.split(r"(?m)^## ", PAGE.read_text(encoding="utf-8"))
    return {text.partition("\n")[0]: page_code.blocks_in(text) for text in sections}


def modules_of(section: str) -> list[str]:
    """Return the names of the modules that a section needs."""
    return MODULES.get(section, [section])


def installed_sections() -> list[str]:
    """Return the headings of the sections whose libraries are installed."""
    return [
        section
        for section in blocks_by_section()
        if all(importlib.util.find_spec(name) for name in modules_of(section))
    ]


@functools.cache
def set_up(section: str) -> dict[str, Any]:
    """Run the first block of a section, which registers Arrays, once; return its names."""
    scope: dict[str, Any] = {}
    exec(compile(blocks_by_section()[section][0], section, "exec"), scope)
    return scope


def difference(section: str) -> str:
    """Run a section; return the first line of output that differs from the page, or ""."""
    scope: dict[str, Any] = {}
    for block in blocks_by_section()[section]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, section, "exec"), scope)
        if say := page_code.difference(block, out.getvalue().splitlines()):
            return f"{section}: {say}"
    return ""
