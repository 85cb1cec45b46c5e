"""Write tests/storage/cupy_names.json, a table of the CuPy functions that arraytape uses.

    python tools/cupy_names.py      # adds the installed CuPy version; needs no GPU

The table has the kind and the keywords of each function.  Tests compare the sources with the table, and
therefore need no CuPy.  Run this with the oldest and the newest supported CuPy whenever the sources use
another name or keyword of CuPy.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "storage" / "cupy_names.json"
SOURCES = sorted((ROOT / "src" / "arraytape").rglob("*.py"))
SPECIAL = "cupyx.scipy.special"


def path_of(node: ast.AST) -> str | None:
    """Return the dotted path behind a name or attribute ``cupy`` ("a.b" in ``cupy.a.b``), or None."""
    names: list[str] = []
    while isinstance(node, ast.Attribute) and node.attr != "cupy":
        names.append(node.attr)
        node = node.value
    of_cupy = (isinstance(node, ast.Name) and node.id == "cupy") or isinstance(node, ast.Attribute)
    return ".".join(reversed(names)) if of_cupy and names else None


def taken(source: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield the CuPy paths that a source uses, as (path, True if it is called, keywords)."""
    tree = ast.parse(source)
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    calls = {id(n.func): n for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        path = path_of(node) if id(node) not in inner else None
        if path:
            call = calls.get(id(node))
            keywords = [k.arg for k in call.keywords if k.arg] if call else []
            yield path, call is not None, keywords


def all_taken() -> list[tuple[str, bool, list[str]]]:
    """Return the CuPy paths that all sources use."""
    found = []
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        if "cupy" in source:
            found += taken(source)
    return found


def kind_of(value: Any) -> str:
    """Return "module", "type", "ufunc", "function" or "value"."""
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "type"
    if hasattr(value, "nin"):
        return "ufunc"
    return "function" if callable(value) else "value"


def keywords_of(value: Any) -> list[str]:
    """Return the names of a function's parameters; a ufunc's are read from its docstring."""
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        first = (inspect.getdoc(value) or "").partition("\n")[0].rpartition("(")[2]
        names = [part.strip().partition("=")[0] for part in first.rstrip(")").split(",")]
        return [name for name in names if name.isidentifier()]


def facts(library: Any, path: str) -> dict[str, Any] | None:
    """Return the kind and the keywords of the object at a path, or None if it does not exist."""
    for part in path.split("."):
        library = getattr(library, part, None)
        if library is None:
            return None
    kind = kind_of(library)
    found: dict[str, Any] = {"kind": kind}
    return found | {"keywords": keywords_of(library)} if kind in ("function", "ufunc") else found


def loops(value: Any) -> Any:
    """Return a ufunc's type signatures as one text; for any other object return ``kind_of(value)``."""
    kind = kind_of(value)
    return " ".join(dict.fromkeys(value.types)) if kind == "ufunc" else kind


def main() -> None:
    """Add the installed CuPy version to the table."""
    import cupy

    special = importlib.import_module(SPECIAL)
    names = [name for name in dir(special) if not name.startswith("__")]
    paths = sorted({path for path, _, _ in all_taken()} | set(dynamic()))
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    table[cupy.__version__] = {
        "cupy": {path: facts(cupy, path) for path in paths},
        SPECIAL: {name: loops(getattr(special, name)) for name in names},
    }
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def dynamic() -> tuple[str, ...]:
    """Return the paths that the CuPy storage reads with ``getattr``, which ``taken`` cannot find."""
    from arraytape._storage.cupy import SINCE_14

    return SINCE_14


if __name__ == "__main__":
    main()
