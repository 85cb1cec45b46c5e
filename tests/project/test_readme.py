"""The code of the README and of docs/ runs as it stands there, and prints what stands behind it."""

import doctest
import importlib
import re

import numpy as np
import pytest
import sklearn

from helpers.repository import ROOT

BLOCKS = {  # how many a page has at least
    ROOT / "README.md": 3,
    ROOT / "docs" / "index.md": 6,
    ROOT / "docs" / "from_gradient_tape.md": 20,
    ROOT / "docs" / "third_party.md": 10,
    ROOT / "docs" / "interop.md": 2,
    ROOT / "docs" / "estimators.md": 3,
    ROOT / "docs" / "implicit.md": 6,
    ROOT / "docs" / "odes.md": 4,
    ROOT / "docs" / "architecture.md": 5,
    ROOT / "docs" / "views_and_writes.md": 5,
    ROOT / "docs" / "errors.md": 25,
    ROOT / "docs" / "functional.md": 8,
    ROOT / "docs" / "benchmarks.md": 2,
    ROOT / "docs" / "distributed.md": 4,
    ROOT / "docs" / "diagnose.md": 3,
    ROOT / "docs" / "diagnose_graph.md": 4,
    ROOT / "docs" / "training.md": 6,
}
PAGES = [*BLOCKS]
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.S)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", flags=re.M)


@pytest.fixture(autouse=True)
def settings_of_the_libraries():
    """What a page sets for the whole program ends with it."""
    with np.errstate(), sklearn.config_context():
        yield


def blocks_of(page):
    """(number, code) of the blocks that run here: not the library's own lines."""
    blocks = enumerate(BLOCK.findall(page.read_text()))
    return [(i, block) for i, block in blocks if "elementwise(" not in block]


def matches(line, expected):
    """Whether a line is the expected one, in which ``...`` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, expected.split("..."))), line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("error")
def test_the_code_of_a_page_runs_in_order_and_prints_what_it_says(page, capsys):
    scope = {}
    for i, block in blocks_of(page):
        exec(compile(block, f"{page.stem} block {i}", "exec"), scope)
        printed = capsys.readouterr().out.splitlines()
        expected = PRINTED.findall(block)
        for line, shown in zip(printed, expected, strict=False):
            assert matches(line, shown), f"block {i}: {line!r} is not {shown!r}"
        assert len(printed) >= len(expected), f"block {i} prints less than it says"


@pytest.mark.parametrize(
    "name", ["module", "nn.layers", "optimizers.steps", "optimizers.scipy", "_util.containers"]
)
def test_the_examples_of_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(f"arraytape.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_the_pages_have_code():
    for page, least in BLOCKS.items():
        assert len(blocks_of(page)) >= least, page


def test_the_readme_shows_values_and_the_line_where_one_left_the_tape():
    shown = [line for _, block in blocks_of(PAGES[0]) for line in PRINTED.findall(block)]
    assert "[10. 40. 24.]" in shown
    assert any("left the tape at" in line for line in shown)
