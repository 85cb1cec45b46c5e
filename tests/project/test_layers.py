"""The shape of the source tree: functions stay short, and nothing reads pickles.

That imports point down is import-linter's to check: ``make lint``.
"""

import ast
from pathlib import Path

import pytest

import arraytape
from helpers.repository import ROOT

SOURCE = Path(arraytape.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
LIMIT = 60  # lines, the docstring not counted


def lines_of(function):
    """The lines of a function without its docstring."""
    first = function.body[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if said else 0
    return function.end_lineno - function.lineno + 1 - docstring


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_functions_stay_short_or_say_why_not(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and lines_of(node) > LIMIT:
            assert "One function, because" in (ast.get_docstring(node) or ""), node.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nothing_reads_pickles(path):
    if path.relative_to(SOURCE).as_posix() == "distributed/_message.py":
        return  # what Dask sends are pickles: docs/tutorials/distributed.md says who may be trusted
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert not {"pickle", "shelve", "marshal", "dill", "joblib"} & {*names}


MODULES = {
    ".".join(["arraytape", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(
        ".__init__"
    )
    for path in FILES
}
PRIVATE = [path for path in FILES if path.relative_to(SOURCE).parts[0].startswith("_")]


@pytest.mark.parametrize("path", PRIVATE, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_a_private_room_names_no_public_module_in_a_text(path):
    """Import-linter sees imports alone: what a room loads by a text stands with the public namespace."""
    public = {name for name in MODULES if name.count(".") and "._" not in name}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in public, f"line {node.lineno}"
            assert not any(node.value.startswith(f"{name}.") for name in public), node.lineno


BENCHMARKS = [*(ROOT / "asv_bench").glob("*.py"), *(ROOT / "asv_bench" / "benchmarks").glob("*.py")]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_benchmark_imports_no_private_module(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        assert [name for name in names if name.startswith("arraytape") and "._" in name] == []
