"""Docstrings as reStructuredText: an indented block of code gets the directive that it needs.

A signature without types, as that of an op of one line, gets those that its docstring says.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

DIRECTIVE = ".. code-block:: python"


def marked(lines: list[str]) -> list[str]:
    """Return the lines with a directive before each block that follows a paragraph and an empty line.

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
    """Mark the code of a docstring, at Sphinx's event autodoc-process-docstring."""
    lines[:] = marked(lines)


def typed(signature: str, docstring: str) -> tuple[str, str] | None:
    """Return a signature with the types of a docstring, and its result's; None where there are none."""
    from numpydoc.docscrape import NumpyDocString

    if ": Any" not in signature and (":" in signature or signature == "()"):
        return None
    page = NumpyDocString(docstring)
    types = {name: p.type for p in page["Parameters"] for name in p.name.split(", ")}
    if "operands" in signature:  # those of a function that states several results
        signature = f"({', '.join(types)}, /)"
    for name, type_ in types.items():
        short = expression(re.sub(r",? (default|optional).*", "", type_))
        short += " | None" if "optional" in type_ and "None" not in short else ""
        untyped = rf"(?<=[(, ]){re.escape(name)}(?:: Any)?(?=[,) =])"
        signature = re.sub(untyped, f"{name}: {short}", signature, count=1)
    return signature, expression(page["Returns"][0].type) if page["Returns"] else ""


def expression(words: str) -> str:
    """Return a type in numpydoc's words as an expression; Any where it is none."""
    text = re.sub(r"(tuple|list) of (\w+)", r"\1[\2, ...]", words).replace("list[", "Sequence[")
    text = text.replace(" or ", " | ").replace("number", "float").strip()
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return "Any"


def type_signature(
    _app: Any, what: str, _name: str, value: Any, _options: Any, signature: Any, result: Any
) -> tuple[str, str] | None:
    """Add types to a signature, at Sphinx's event autodoc-process-signature."""
    if what != "function" or not signature:
        return None
    found = typed(signature, inspect.getdoc(value) or "")
    return found and (found[0], found[1] if result in (None, "", "Any") else result)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-signature", type_signature)
    app.connect("autodoc-process-docstring", mark_code, priority=400)  # before numpydoc's, at 500
    return {"parallel_read_safe": True}
