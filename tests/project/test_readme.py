"""The code of the README and of docs/ runs as it stands there, and prints what stands behind it."""

import re

import numpy as np
import pytest
import sklearn

import page_code
from helpers.repository import ROOT

DOCS = ROOT / "docs"
# Pages without code of their own that runs here: lists, and three whose code test_xp_backends,
# test_libraries and test_benchmarks_page run.
OTHERS = {
    "tutorials/index",
    "howto/index",
    "howto/testing_your_library",
    "howto/recipes",
    "howto/watch",
}
LEAST = {  # how many blocks a page has at least, where that is not 3
    "index": 8,
    "tutorials/from_gradient_tape": 10,
    "tutorials/from_torch_jax_autograd": 10,
    "tutorials/training": 6,
    "howto/tapes": 10,
    "howto/third_party": 10,
    "howto/errors": 60,
    "howto/functional": 8,
    "howto/upgrade": 6,
    "howto/devices": 2,
    "howto/implicit": 6,
    "howto/benchmarks": 2,
    "dev/architecture": 5,
    "explanation/views_and_writes": 5,
}


def pages_with_code():
    """Return the pages whose code runs, each with the number of blocks that it has at least."""
    names = ["index", "dev/architecture"]
    names += [f"explanation/{name}" for name in ("design", "honesty", "views_and_writes")]
    for folder in ("tutorials", "howto"):
        names += [f"{folder}/{page.stem}" for page in sorted((DOCS / folder).glob("*.md"))]
    found = {DOCS / f"{name}.md": LEAST.get(name, 3) for name in names if name not in OTHERS}
    return {ROOT / "README.md": 2, **found}


BLOCKS = pages_with_code()
PAGES = [*BLOCKS]


@pytest.fixture(autouse=True)
def settings_of_the_libraries():
    """What a page sets for the whole program ends with it."""
    with np.errstate(), sklearn.config_context():
        yield


def blocks_of(page):
    """(number, code) of the blocks that run here: not the library's own lines."""
    blocks = enumerate(page_code.blocks_of(page))
    return [(i, block) for i, block in blocks if "elementwise(" not in block]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("error")
def test_the_code_of_a_page_runs_in_order_and_prints_what_it_says(page, capsys):
    for library in ("pandas", "polars") if page.stem == "pandas" else ():
        pytest.importorskip(library, reason=f"{library} is in the extra dev")
    scope = {}
    for i, block in blocks_of(page):
        exec(compile(block, f"{page.stem} block {i}", "exec"), scope)
        printed = capsys.readouterr().out.splitlines()
        assert not page_code.difference(block, printed), f"block {i}"


def test_each_error_has_a_way_out_that_runs():
    """The blocks run above; a way out is the last part of its section, and ends with one."""
    page = (DOCS / "howto" / "errors.md").read_text(encoding="utf-8")
    sections = [
        part for part in re.split(r"(?m)^#{2,3} ", page) if "Error" in part or "Warn" in part
    ]
    for section in sections[1:]:
        title = section.partition("\n")[0]
        assert "**Way out.**" in section, title
        assert "```python" in section.rpartition("**Way out.**")[2], title


def test_the_pages_have_code():
    for page, least in BLOCKS.items():
        assert len(blocks_of(page)) >= least, page


@pytest.mark.parametrize("door", ["scikit-learn", "SciPy", "TensorFlow", "JAX or PyTorch"])
@pytest.mark.filterwarnings("error")
def test_a_door_of_the_start_page_needs_no_other(door, capsys):
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    section = text.partition(f"## You know {door}\n")[2].partition("\n## ")[0]
    blocks = page_code.blocks_in(section)
    exec(compile("\n".join(blocks), door, "exec"), {})
    assert not page_code.difference("\n".join(blocks), capsys.readouterr().out.splitlines())


def test_the_first_page_stays_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_readme_shows_values():
    shown = [line for _, block in blocks_of(PAGES[0]) for line in page_code.shown_in(block)]
    assert {"[ 74. 198.  48.]", "0  0.59  13.10  2.34"} <= {*shown}


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (["1", "2 of 3"], ""),
        (["1", "2 in 3"], "'2 in 3' is not '2 of ...'"),
        (["1"], "it prints less than it says"),
    ],
)
def test_what_a_block_prints_is_held_to_its_comments(printed, said):
    block = (
        "print(1)  # 1\nif True:\n    print(\n        2, 'of', 3\n    )  # 2 of ...\nf(print)  # no"
    )
    assert page_code.difference(block, printed) == said


@pytest.mark.parametrize("library", ["torch", "jax", "autograd"])
def test_code_of_another_library_prints_what_the_page_says(library):
    pytest.importorskip(library)
    ran, wrong = page_code.run_others(ROOT / "docs" / "tutorials" / "from_torch_jax_autograd.md")
    assert ran[library]
    assert not wrong
