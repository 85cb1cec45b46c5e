"""The code of the README and of docs/ runs as it stands there, and prints what stands behind it."""

import numpy as np
import pytest
import sklearn

import page_code
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
    ROOT / "docs" / "from_torch_jax_autograd.md": 10,
    ROOT / "docs" / "explanation" / "design.md": 4,
    ROOT / "docs" / "explanation" / "honesty.md": 4,
    **dict.fromkeys(sorted((ROOT / "docs" / "tutorials").glob("*.md")), 4),
    **dict.fromkeys(sorted((ROOT / "docs" / "howto").glob("*.md")), 3),
}
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
    scope = {}
    for i, block in blocks_of(page):
        exec(compile(block, f"{page.stem} block {i}", "exec"), scope)
        printed = capsys.readouterr().out.splitlines()
        assert not page_code.difference(block, printed), f"block {i}"


def test_the_pages_have_code():
    for page, least in BLOCKS.items():
        assert len(blocks_of(page)) >= least, page


@pytest.mark.parametrize("door", ["scikit-learn", "SciPy", "TensorFlow", "JAX or PyTorch"])
@pytest.mark.filterwarnings("error")
def test_a_door_of_the_start_page_needs_no_other(door, capsys):
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    section = text.partition(f"## You know {door}\n")[2].partition("\n## ")[0]
    blocks = page_code.blocks_in(section)
    exec(compile("\n".join(blocks), door, "exec"), {})
    assert not page_code.difference("\n".join(blocks), capsys.readouterr().out.splitlines())


def test_the_readme_shows_values_and_the_line_where_one_left_the_tape():
    shown = [line for _, block in blocks_of(PAGES[0]) for line in page_code.shown_in(block)]
    assert "[10. 40. 24.]" in shown
    assert any("left the tape at" in line for line in shown)


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
    ran, wrong = page_code.run_others(ROOT / "docs" / "from_torch_jax_autograd.md")
    assert ran[library]
    assert not wrong
