"""A search for the pages of the guide and of the gallery whose code uses a public name."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from page_code import blocks_in

from . import gallery, sources

PACKAGE = "arraytape"
MOST = 8  # the largest number of pages for a name


class Page(NamedTuple):
    """A page of the site: its name there, its title, and its code."""

    name: str
    title: str
    code: list[str]


def pages(with_gallery: bool) -> Iterator[Page]:
    """Yield the pages that have code."""
    for name, file in sources.pages().items():
        text = file.read_text(encoding="utf-8")
        title = next(line for line in text.splitlines() if line.startswith("# "))[2:]
        if code := blocks_in(text):
            yield Page(name, title.replace("`", ""), code)
    for program in gallery.programs() if with_gallery else ():
        title, _ = gallery.docstring(program)
        yield Page(f"{gallery.FOLDER}/{program.stem}", title, [program.read_text(encoding="utf-8")])


def used_in(names: Collection[str], with_gallery: bool = True) -> dict[str, list[Page]]:
    """Return, for each public name, the pages that use it, in descending order of uses."""
    found: dict[str, list[tuple[int, Page]]] = defaultdict(list)
    for page in pages(with_gallery):
        for name, count in uses(page.code, names).items():
            found[name].append((count, page))
    by_count = {name: sorted(of_one, key=lambda one: -one[0]) for name, of_one in found.items()}
    return {name: [page for _, page in of_one[:MOST]] for name, of_one in by_count.items()}


def uses(code: list[str], names: Collection[str]) -> Counter[str]:
    """Count the uses of each name in pieces of code; imports also hold for later pieces."""
    imported: dict[str, str] = {}
    count: Counter[str] = Counter()
    for piece in code:
        try:
            tree = ast.parse(piece)
        except SyntaxError:  # an incomplete piece of code
            continue
        imported |= dict(imports(tree))
        inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if node not in inner and isinstance(node, ast.Attribute | ast.Name):
                path = ast.unparse(node)
                root, _, rest = path.partition(".")
                if not re.fullmatch(r"[\w.]+", path) or root not in imported:
                    continue
                if name := known(f"{imported[root]}.{rest}", names):
                    count[name] += 1
    return count


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that code imports from the package, with their dotted paths."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(aliases):
                yield from ((a.asname, a.name) for a in aliases if a.asname and ours(a.name))
                yield from ((PACKAGE, PACKAGE) for a in aliases if not a.asname and ours(a.name))
            case ast.ImportFrom(str() as module, aliases, 0) if ours(module):
                yield from ((a.asname or a.name, f"{module}.{a.name}") for a in aliases)


def ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def known(path: str, names: Collection[str]) -> str | None:
    """Return the longest public name with which a dotted path begins."""
    while path and path not in names:
        path = path.rpartition(".")[0]
    return path or None


def listing(found: list[Page]) -> str:
    """Return a list of links to the pages, as reStructuredText."""
    links = [f":doc:`{page.title} </{page.name}>`" for page in found]
    return "\n.. rubric:: Used in\n\n" + "; ".join(links) + "\n"
