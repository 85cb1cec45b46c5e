"""Docstrings as reStructuredText: an indented block of code gets the directive that it needs."""

from __future__ import annotations

from typing import Any

DIRECTIVE = ".. code-block:: python"


def marked(lines: list[str]) -> list[str]:
    """The lines, with the directive before each block that follows a paragraph and an empty line.

    What is indented below a parameter or a field is no such block: it follows its line at once.
    """
    found: list[str] = []
    text = ""  # the last line that is not empty
    for line in lines:
        indented = line.startswith(" ")
        after_a_paragraph = text and not found[-1] and not text.startswith((" ", "..", ">>>"))
        if indented and after_a_paragraph and not text.endswith("::"):
            found += [DIRECTIVE, ""]
        found.append(line)
        text = line or text
    return found


def mark_code(
    _app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """For Sphinx's event autodoc-process-docstring."""
    lines[:] = marked(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", mark_code, priority=400)  # before numpydoc's, at 500
    return {"parallel_read_safe": True}
