"""docs/explanation/glossary.md: a word has one entry, and what it quotes from the code is there."""

import re

from helpers.repository import ROOT

PAGE = (ROOT / "docs" / "explanation" / "glossary.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "arraytape"
CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
ENTRY = re.compile(r"^- \*\*(.+?)\*\*", flags=re.M)
QUOTED = re.compile(r"`([A-Za-z_]\w+)`")
PATH = re.compile(r"`([\w./]+/[\w.]+\.(?:py|md|toml))`")
ELSEWHERE = {"bytearray"}  # Python's
# Files of the repository that a page writes down as an example.
EXAMPLES = {
    ("testing_your_library.md", name)
    for name in ("src/moments/__init__.py", "tests/test_moments.py")
} | {("watch.md", "asv_bench/benchmarks/columns.py")}


def test_a_word_has_one_entry():
    words = [word for entry in ENTRY.findall(PAGE) for word in entry.split(", ")]
    assert len(words) > 50
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_names_of_the_glossary_are_in_the_code():
    names = {*QUOTED.findall(PAGE)} - ELSEWHERE
    assert len(names) > 30
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", CODE)) == []


def test_files_that_the_pages_name_exist():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += SOURCE.rglob("README.md")
    quoted = [(page, name) for page in pages for name in PATH.findall(page.read_text("utf-8"))]
    quoted = [(page, name) for page, name in quoted if (page.name, name) not in EXAMPLES]
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page, name in quoted
        if not any((place / name).exists() for place in (SOURCE, ROOT, ROOT / "docs", page.parent))
    ]
    assert len(quoted) > 100
    assert missing == []
