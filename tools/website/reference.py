"""The reference pages: one for each name in public_names.txt, and one for each module."""

from __future__ import annotations

import builtins
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import arraytape as xp
from status.public_names import listed

from . import points, uses
from .sources import ROOT

PACKAGE = xp.__name__
FOLDER = "reference"
INDEX = "public_names"  # the page that lists all modules; docs/reference/index.md links to it
VALUES = f"{PACKAGE}.values"  # the page of constants and data types
CONVENTIONS = (
    "Derivatives at ties, zeros and bounds: `conventions <../explanation/numerics.html>`__."
)
VALUES_EXAMPLES = """\
>>> import arraytape as xp
>>> xp.__version__.count("."), xp.__array_api_version__ >= "2024.12"
(2, True)
>>> print(xp.pi, xp.e, xp.inf, xp.nan)
3.141592653589793 2.718281828459045 inf nan
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(x[:, xp.newaxis].shape)
(3, 1)

Data types are NumPy's, and compare with those of arrays:

>>> x.dtype == xp.float64
True
>>> print([xp.astype(x, dtype).dtype.itemsize for dtype in (xp.float16, xp.float32, xp.float64)])
[2, 4, 8]
>>> print([xp.ones(1, dtype=dtype).nbytes for dtype in (xp.complex64, xp.complex128, xp.bool)])
[8, 16, 1]
>>> print([xp.iinfo(dtype).max for dtype in (xp.int8, xp.int16, xp.int32, xp.int64)])
[127, 32767, 2147483647, 9223372036854775807]
>>> print([xp.iinfo(dtype).max for dtype in (xp.uint8, xp.uint16, xp.uint32, xp.uint64)])
[255, 65535, 4294967295, 18446744073709551615]
"""
INTRODUCTION = """\
Every public name, by module. ``import arraytape as xp`` is all that has to be imported: ``xp.nn.Dense``
imports ``arraytape.nn``. The page of an op says its derivative, and what a tape keeps for it.
"""
CHAPTER = re.compile(r'^    # (.*)\n((?:    ".*\n)+)', flags=re.M)
Names = dict[str, Any]  # public name -> object


# --- names and objects ----------------------------------------------------------------------------
def public() -> Names:
    """Return a dict of every public name with its object."""
    return {name: found(name) for name in listed()}


def found(name: str) -> Any:
    """Return the object of a dotted name."""
    value: Any = xp
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def owner(name: str) -> str:
    """Return the dotted name before the last dot."""
    return name.rpartition(".")[0]


def is_member(name: str, names: Names) -> bool:
    """Return True if a name is that of a member of a class."""
    return isinstance(names.get(owner(name)), type)


def is_value(name: str, value: Any) -> bool:
    """Return True for a constant or a dtype; these share one page."""
    if isinstance(value, type):
        return value.__module__ == "numpy"
    return not callable(value) and not isinstance(value, ModuleType)


def first_names(names: Names) -> dict[str, str]:
    """Return a dict from each alias of a function or class to the name whose page describes it."""
    same = defaultdict(list)
    for name, value in names.items():
        if callable(value) and not is_member(name, names) and not is_value(name, value):
            same[id(value)].append(name)
    firsts = {}
    for several in same.values():
        own = getattr(names[several[0]], "__name__", None)
        first, *others = sorted(several, key=lambda n: (not n.endswith(f".{own}"), n.count("."), n))
        firsts |= dict.fromkeys(others, first)
    return firsts


# --- pages ----------------------------------------------------------------------------------------
def sources(with_gallery: bool = True) -> dict[str, str]:
    """Return the text of each page, by its name in the site."""
    names = public()
    firsts = first_names(names)
    below = Below(names, firsts, with_gallery)
    modules = [PACKAGE, *(name for name, value in names.items() if isinstance(value, ModuleType))]
    pages = {module: module_page(module, names, firsts) for module in modules}
    values = [name for name in names if on_the_page_of_values(name, names)]
    pages[VALUES] = values_page(values, names)
    for name, value in names.items():
        if callable(value) and not is_member(name, names) and not is_value(name, value):
            pages[file_of(name, names)] = page(name, value, names, firsts) + below(name, value)
    pages[INDEX] = heading("Public names") + INTRODUCTION + toctree([*modules, VALUES])
    return {f"{FOLDER}/{name}": text for name, text in pages.items()}


def file_of(name: str, names: Names) -> str:
    """Return the file name of a page; names that differ only in case get different files."""
    alike = [other for other in names if other.lower() == name.lower()]
    return f"{name}-class" if len(alike) > 1 and isinstance(names[name], type) else name


def on_the_page_of_values(name: str, names: Names) -> bool:
    return not is_member(name, names) and is_value(name, names[name])


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def toctree(names: Iterable[str], *options: str) -> str:
    lines = [".. toctree::", *options, "", *names]
    return "\n" + "\n   ".join(lines) + "\n"


def page(name: str, value: Any, names: Names, firsts: dict[str, str]) -> str:
    """Return the page of a function or class."""
    text = heading(name)
    if name in firsts:
        kind = "class" if isinstance(value, type) else "function"
        same = f"   The same {kind} as :py:obj:`{firsts[name]}`."
        return text + f".. py:{kind}:: {name}{signature(value)}\n\n{same}\n"
    text += f".. currentmodule:: {owner(name)}\n\n"
    if not isinstance(value, type):
        return f"{text}.. autofunction:: {name}\n"
    text += f".. autoclass:: {name}\n"
    members = [member for member in names if owner(member) == name]
    return text + "".join(f"\n   .. {directive(m, names[m], value)}:: {m}\n" for m in members)


class Below:
    """A callable that returns the text at the end of a name's reference page.

    This text lists derivatives at special points, and the pages of the guide that use the name.
    """

    def __init__(self, names: Names, firsts: dict[str, str], with_gallery: bool) -> None:
        self.points, self.firsts = points.points(), firsts
        self.used_in = uses.used_in(names, with_gallery)

    def __call__(self, name: str, value: Any) -> str:
        if name in self.firsts:
            return ""
        same = [name, *(other for other, first in self.firsts.items() if first == name)]
        found = [point for one in same for point in points.of(one, self.points)]
        text = points.table(found) if found else ""
        if not isinstance(value, type) and "Derivative" in (inspect.getdoc(value) or ""):
            text += f"\n{CONVENTIONS}\n"
        pages = {page.name: page for one in same for page in self.used_in.get(one, ())}
        return text + (uses.listing([*pages.values()]) if pages else "")


def directive(member: str, value: Any, cls: type) -> str:
    """Return the directive that documents a member of a class."""
    static = inspect.getattr_static(cls, member.rpartition(".")[2])
    if isinstance(static, property):
        return "autoproperty"
    return "automethod" if callable(value) and not isinstance(value, type) else "autoattribute"


def signature(value: Any) -> str:
    """Return a signature as text without types."""
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in inspect.signature(value).parameters.values()]
    return str(inspect.Signature(parameters))


def values_page(names: Iterable[str], all_names: Names) -> str:
    """Return the page of constants and data types."""
    text = heading("Constants and data types") + f"{VALUES_EXAMPLES}\n"
    for name in names:
        value = all_names[name]
        what = summary(name, value, {})
        # Otherwise each ``bool`` in a signature would link to this entry.
        hidden = "   :no-index:\n" if hasattr(builtins, name.rpartition(".")[2]) else ""
        text += f".. py:data:: {name}\n{hidden}\n   {what}\n\n"
    return text


def module_page(module: str, names: Names, firsts: dict[str, str]) -> str:
    """Return the page of a module: its docstring, and a table of its names for each chapter."""
    text = heading(module) + f".. automodule:: {module}\n   :no-members:\n\n"
    own = [name for name in names if owner(name) == module]
    listed = {name: target(name, names) for name in own}
    for chapter, members in chapters(module, own):
        text += heading(chapter, "-") if chapter else ""
        text += table(members, names, firsts)
    below = [
        page for page in listed.values() if page not in (VALUES,) and not is_module(page, names)
    ]
    # The names without the module's name, which the page shows above them.
    entries = [f"{page.rpartition('.')[2].removesuffix('-class')} <{page}>" for page in below]
    return text + toctree(entries, ":hidden:")


def is_module(name: str, names: Names) -> bool:
    return isinstance(names.get(name), ModuleType)


def target(name: str, names: Names) -> str:
    """Return the page on which a name is described."""
    return VALUES if on_the_page_of_values(name, names) else file_of(name, names)


def chapters(module: str, own: list[str]) -> list[tuple[str, list[str]]]:
    """Return pairs of a heading and the names below it, from ``__all__`` of arraytape itself.

    All names of another module are in one pair, whose heading is "".
    """
    if module != PACKAGE:
        return [("", own)]
    listed = (ROOT / "src" / PACKAGE / "__init__.py").read_text(encoding="utf-8")
    listed = listed.partition("__all__ = [\n")[2].partition("]")[0]
    found = [
        (title.replace("_", " ").capitalize(), named(lines))
        for title, lines in CHAPTER.findall(listed)
    ]
    missing = {*own} - {name for _, members in found for name in members}
    if missing:
        raise LookupError(f"in no chapter of {PACKAGE}'s __all__: {sorted(missing)}")
    return found


def named(lines: str) -> list[str]:
    """Return the public names that are quoted in lines of the source."""
    return [f"{PACKAGE}.{name}" for name in re.findall(r'"(\w+)"', lines)]


def table(names: Iterable[str], all_names: Names, firsts: dict[str, str]) -> str:
    """Return a reStructuredText table with a row for each name."""
    rows = [".. list-table::", "   :widths: 30 70", ""]
    for name in names:
        value = all_names[name]
        role = "mod" if isinstance(value, ModuleType) else "obj"
        rows += [f"   * - :py:{role}:`~{name}`", f"     - {summary(name, value, firsts)}"]
    return "\n".join([*rows, "", ""])


def summary(name: str, value: Any, firsts: dict[str, str]) -> str:
    """Return the description of a name in a table, such as its docstring's first line."""
    if name in firsts:
        return f":py:obj:`{firsts[name]}`"
    if is_value(name, value):
        return (
            f"NumPy's scalar type ``{value.__name__}``."
            if isinstance(value, type)
            else f"``{value!r}``"
        )
    line = (inspect.getdoc(value) or "").partition("\n")[0]
    parts = re.split(r"(``.*?``)", line)
    return "".join(p if p.startswith("``") else re.sub(r"([\\*_|`])", r"\\\1", p) for p in parts)
