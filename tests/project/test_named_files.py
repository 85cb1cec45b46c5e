"""Files and folders that pages for contributors name exist; tests/README names all that there are."""

import re

import pytest

import arraytape
from helpers.repository import GENERATED, ROOT, TESTS

SOURCE = ROOT / "src" / arraytape.__name__
README = TESTS / "README.md"
PAGES = [ROOT / "CONTRIBUTING.md", README, *sorted((ROOT / "docs" / "dev").glob("*.md"))]
CODE = re.compile(r"`([\w.*/-]+)`")
ENDINGS = (".py", ".md", ".toml", ".txt", ".yml", ".json", ".svg", "/")
# Where a name begins, in pages that do not say the whole path.
HOMES = (
    ROOT,
    SOURCE,
    TESTS,
    GENERATED,
    SOURCE / "_numpy_api",
    TESTS / "project",
    ROOT / ".github" / "workflows",
)
MADE = ("build/", ".venv")  # by a command that the page names


def named_in(page):
    """Return the names of files and folders that a page has as code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    names = {name for name in CODE.findall(text) if "/" in name or name.endswith(ENDINGS)}
    return {name for name in names if not name.startswith(MADE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page):
    homes = (*HOMES, page.parent)
    missing = [
        name
        for name in sorted(named_in(page))
        if not any([*home.glob(name.rstrip("/"))] or [*home.glob(f"{name}.py")] for home in homes)
    ]
    assert missing == []


def test_the_page_of_tests_names_each_folder_and_each_file_beside_them():
    there = {
        path.name
        for path in TESTS.iterdir()
        if path.is_dir() or path.suffix == ".py"
        if not path.name.startswith((".", "__"))
    }
    assert sorted(there - {*CODE.findall(README.read_text(encoding="utf-8"))}) == []


def test_the_way_in_is_one_page():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
