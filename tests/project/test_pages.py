"""Pages that programs write: none is stale, each says that it is written, and by which command."""

import pytest

import pages
from helpers.repository import GENERATED, ROOT

DOCS = ROOT / "docs"
BESIDE = {"index.md", "errors.md"}  # the start page, and the old address in messages


@pytest.mark.slow
def test_no_page_is_stale():
    found = pages.stale(pages.followed())
    assert not found, "run make pages\n" + "\n".join(found)


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_has_the_mark_of_its_command(name):
    page = pages.PAGES[name]
    module, _, function = page.render.rpartition(".")
    source = ROOT / "tools" / f"{module.replace('.', '/')}.py"
    assert f"\ndef {function}(" in source.read_text(encoding="utf-8")
    assert f"`python tools/pages.py {name}`" in page.text()
    if page.path.parent == GENERATED:
        assert "`python tools/pages.py " in page.text()[:200]


def test_generated_pages_lie_in_one_folder():
    written = {page.path for page in pages.PAGES.values()}
    assert {*GENERATED.iterdir()} <= written


def test_pages_lie_in_folders_of_which_none_bears_the_name_of_a_page():
    assert {path.name for path in DOCS.glob("*.md")} == BESIDE
    assert [path for path in DOCS.rglob("*.md") if path.with_suffix("").is_dir()] == []


# --- the engine -----------------------------------------------------------------------------------
@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a page whose text should be "new", and which cannot be written when it is "lost"."""
    path = tmp_path / "a.md"
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "PAGES", {"a": pages.Page("a.md", "made.page", release="made.page")})
    monkeypatch.setattr(pages, "function_of", lambda _: made)
    path.write_text("old\n")
    return path


def made(text="", *only):
    """Return what the page should be; what is compared is of the release "" then."""
    if text == "lost\n":
        raise pages.CannotBeWritten("no source")
    return "".join(["new\n", *only]) if text else ""


def test_a_stale_page_is_shown_and_then_written(page, capsys):
    assert pages.main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == ["-old", "+new"]
    assert pages.main(["a"]) == 0
    assert page.read_text() == "new\n"
    assert pages.main(["--check", "a"]) == 0


def test_what_is_wrong_in_a_page_is_an_error(page, capsys):
    assert pages.main(["a", "--only", "WRONG here"]) == 1
    assert "a.md: WRONG here" in capsys.readouterr().out
    assert page.read_text() == "new\nWRONG here"


def test_a_page_that_cannot_be_written_says_why(page, capsys):
    page.write_text("lost\n")
    for arguments in (["--check"], []):
        assert pages.main(arguments) == 1
        assert "a.md: no source" in capsys.readouterr().out
    assert page.read_text() == "lost\n"


def test_a_page_of_another_release_is_not_compared(page, capsys, monkeypatch):
    monkeypatch.setattr(pages, "function_of", lambda _: lambda *_: "NumPy 9")
    assert pages.main(["--check"]) == 0
    assert "other releases" in capsys.readouterr().err


def test_an_unknown_name_lists_the_pages(page, capsys):
    with pytest.raises(SystemExit):
        pages.main(["b"])
    assert "no page is called b; there are a" in capsys.readouterr().err
    assert pages.main(["--list"]) == 0


def test_a_part_is_replaced_between_its_marks():
    begin, end = pages.ends_of("a", "part")
    text = f"before\n{begin}\n\nold\n\n{end}\nafter\n"
    assert pages.between(text, (begin, end), "new") == text.replace("old", "new")
    with pytest.raises(pages.CannotBeWritten, match="lacks"):
        pages.between("before", (begin, end), "new")
