"""The shape of the source tree: imports point down the layers, and files stay short."""

import ast
from pathlib import Path

import pytest

import arraytape

SOURCE = Path(arraytape.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
LIMIT = 350

# A module imports only from lower layers and, within its own, from those before it.
LAYERS = [
    ["_version", "_errors", "_nest", "_standard", "_numpy", "_storage", "_raw", "_cupy", "_info",
     "_batched"],
    ["_array"],
    ["_record", "_op", "_paths", "_loans", "_view", "_operands", "_compile", "_words"],
    [
        "_levels", "_engine", "_guard", "_exits", "_lacking", "_arguments", "_recording",
        "_jacobian", "_tape",
        "_inside", "_calls", "_tangents", "_forward", "_custom_gradient", "_recompute", "_host",
        "custom",
    ],
    ["ops"],
    ["variable"],
    ["functional", "_vmap"],
    ["testing"],
    ["__init__"],
    ["module", "nn", "_minimize", "optimizers", "checkpoint"],  # over the public namespace
]  # fmt: skip
PACKAGES = {path.parent.name for path in FILES if path.name == "__init__.py"} - {SOURCE.name}
RANK = {name: (i, j) for i, layer in enumerate(LAYERS) for j, name in enumerate(layer)}


def module_of(path):
    """The layer entry of a file: its own name, or that of the package (``ops``, ``nn``) it is in."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imported(path):
    """The layer entries that a file imports, from anywhere in it."""
    inside = module_of(path) in PACKAGES
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("arraytape")]
            yield from (name.partition(".")[2] or "__init__" for name in names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            up = node.level - 1 if inside else node.level
            if inside and node.level == 1:
                yield module_of(path)
            elif node.module:
                yield node.module.partition(".")[0]
            else:
                assert up == 1
                yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_point_down(path):
    here = module_of(path)
    for name in imported(path):
        assert name in RANK, f"{name} has no layer: enter it in LAYERS"
        allowed = RANK[name] < RANK[here] or (name == here and here in PACKAGES)
        assert allowed, f"{path.name} imports {name}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= LIMIT


def test_the_array_knows_no_op_and_no_tape():
    assert {*imported(SOURCE / "_array.py")} == {"_storage"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nothing_reads_pickles(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert not {"pickle", "shelve", "marshal", "dill", "joblib"} & {*names}
