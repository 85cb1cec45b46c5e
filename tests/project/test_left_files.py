"""The check that tests leave no files in the repository, which ``conftest.py`` makes after each test."""

from helpers.left_files import LeftFiles


def test_a_new_file_is_reported_once(tmp_path):
    (tmp_path / "old").touch()
    files = LeftFiles(tmp_path)
    assert files.new() == []
    (tmp_path / "a").touch()
    (tmp_path / ".b").mkdir()
    assert files.new() == [str(tmp_path / ".b"), str(tmp_path / "a")]
    assert files.new() == []


def test_a_file_that_is_written_again_is_not_new(tmp_path):
    (tmp_path / "old").touch()
    files = LeftFiles(tmp_path)
    (tmp_path / "old").write_text("new")
    assert files.new() == []


def test_caches_may_appear(tmp_path):
    files = LeftFiles(tmp_path)
    for name in (".hypothesis", ".pytest_cache", ".coverage.host.1.x", "__pycache__"):
        (tmp_path / name).mkdir()
    assert files.new() == []


def test_several_folders_are_looked_at(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    files = LeftFiles(one, other, one)
    (one / "a").touch()
    (other / "a").touch()
    assert files.new() == [str(one / "a"), str(other / "a")]
