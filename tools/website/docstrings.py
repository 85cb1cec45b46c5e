"""Conversion of docstrings to reStructuredText.

An indented block of code gets the directive that marks it as code.  If a signature has no types, they
are copied from the docstring's parameters; some ops are made from one expression, without types.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

DIRECTIVE = ".. code-block:: python"


def marked(lines: list[str]) -> list[str]:
    """Return the lines with a directive before each indented block of code.

    Such a block follows a paragraph and an empty line.  The text of a parameter or a field is also
    indented, but follows its line at once.
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
    """Handle Sphinx's event autodoc-process-docstring: mark the code of a docstring."""
    lines[:] = marked(lines)


def typed(signature: str, docstring: str) -> tuple[str, str] | None:
    """Return a signature with the types from a docstring, and the result's type.

    None means that the signature has types already.
    """
    from numpydoc.docscrape import NumpyDocString

    if ": Any" not in signature and (":" in signature or signature == "()"):
        return None
    page = NumpyDocString(docstring)
    types = {name: p.type for p in page["Parameters"] for name in p.name.split(", ")}
    if "operands" in signature:  # the signature of a function with several results
        signature = f"({', '.join(types)}, /)"
    for name, type_ in types.items():
        short = expression(re.sub(r",? (default|optional).*", "", type_))
        short += " | None" if "optional" in type_ and "None" not in short else ""
        untyped = rf"(?<=[(, ]){re.escape(name)}(?:: Any)?(?=[,) =])"
        signature = re.sub(untyped, f"{name}: {short}", signature, count=1)
    return signature, expression(page["Returns"][0].type) if page["Returns"] else ""


def expression(words: str) -> str:
    """Return numpydoc's words for a type as a Python expression, or "Any" if that is not possible."""
    text = re.sub(r"(tuple|list) of (\w+)", r"\1[\2, ...]", words).replace("list[", "Sequence[")
    text = text.replace(" or ", " | ").replace("number", "float").strip()
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return "Any"


def type_signature(
    _app: Any, what: str, _name: str, value: Any, _options: Any, signature: Any, result: Any
) -> tuple[str, str] | None:
    """Handle Sphinx's event autodoc-process-signature: add types to a signature."""
    if what != "function" or not signature:
        return None
    found = typed(signature, inspect.getdoc(value) or "")
    return found and (found[0], found[1] if result in (None, "", "Any") else result)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-signature", type_signature)
    # numpydoc's handler has the priority 500, and has to run later.
    app.connect("autodoc-process-docstring", mark_code, priority=400)
    return {"parallel_read_safe": True}
