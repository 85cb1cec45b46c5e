"""The link "Edit on GitHub" on each page, to the file of the repository that has the page's text."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

from arraytape._record.op import REGISTRY

from . import gallery, reference, sources


@cache
def declared() -> dict[int, str]:
    """Return the file of each op's statement, by the identity of its public function."""
    return {id(op.public): op.declared.rpartition(":")[0] for op in REGISTRY.values()}


@cache
def pages() -> dict[str, Path]:
    return sources.pages()


def file_of(page: str) -> str | None:
    """Return the path in the repository of a page's text, or None if programs write the page."""
    folder, _, name = page.partition("/")
    if name.startswith("generated/") or name == reference.INDEX or page == "gallery/index":
        return None
    if folder == gallery.FOLDER:
        return f"examples/{name}.py"
    if folder == reference.FOLDER and name.startswith(reference.PACKAGE):
        return source_of(name.removesuffix("-class"))
    file = pages().get(page)
    return file.relative_to(sources.ROOT).as_posix() if file else None


def source_of(name: str) -> str | None:
    """Return the path of the source file that has the docstring of a public name."""
    if name == reference.VALUES:
        return Path(reference.__file__).relative_to(sources.ROOT).as_posix()
    value = reference.found(name)
    try:
        file = declared().get(id(value)) or inspect.getsourcefile(inspect.unwrap(value)) or ""
    except TypeError:  # an object without source
        return None
    path = Path(file)
    return path.relative_to(sources.ROOT).as_posix() if sources.ROOT in path.parents else None


def link(_: Any, page: str, __: str, context: dict[str, Any], ___: Any) -> None:
    """Set the file that conf.py's template of the address needs; without it the page has no link."""
    context["source_file_name"] = file = file_of(page)
    if not file:
        context["page_source_suffix"] = ""


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
