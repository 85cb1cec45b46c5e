"""``make dashboard``: which commits are measured, and that the least of two measurements counts."""

import json
import re
import subprocess
import sys

import pytest

from helpers.repository import ROOT


@pytest.fixture
def dashboard(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "asv_bench"))
    import dashboard

    yield dashboard
    for name in ("dashboard", "check", "run", "smoke"):
        sys.modules.pop(name, None)


@pytest.fixture
def history(dashboard, tmp_path, monkeypatch):
    """Six commits in a repository of their own, by number, and a way to tag them."""

    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "src").mkdir()
    for i in range(6):
        (tmp_path / "src/file").write_text(str(i))
        git("add", "-A")
        git("commit", "-q", "-m", str(i))
    monkeypatch.setattr(dashboard, "ROOT", tmp_path)
    return git("rev-list", "--reverse", "HEAD").split(), git


def test_the_last_tags_and_the_commit_at_hand_are_measured(dashboard, history):
    commits, git = history
    for i in (0, 1, 3):
        git("tag", f"v{i}", commits[i])
    assert dashboard.chosen([], 2) == [commits[1], commits[3], commits[5]]
    git("tag", "v5")  # the commit at hand is a release
    assert dashboard.chosen([], 2) == [commits[1], commits[3], commits[5]]


def test_without_tags_commits_at_a_distance_are_measured(dashboard, history, monkeypatch):
    commits, _ = history
    monkeypatch.setattr(dashboard, "STRIDE", 2)
    assert dashboard.chosen([], 5) == [commits[1], commits[3], commits[5]]


def test_commits_can_be_named(dashboard, history):
    commits, git = history
    git("tag", "-a", "v1", "-m", "a release", commits[1])
    assert dashboard.chosen(["v1", "HEAD^", commits[5][:8]], 5) == [
        commits[1],
        commits[4],
        commits[5],
    ]
    with pytest.raises(SystemExit):
        dashboard.chosen(["no-such"], 5)


def test_benchmarks_use_no_private_name_so_that_they_run_on_older_commits():
    private = re.compile(r"\._(?!_)\w+|from arraytape\S*\._")
    for file in sorted((ROOT / "asv_bench/benchmarks").glob("*.py")):
        assert private.findall(file.read_text(encoding="utf-8")) == [], file.name


def test_a_branch_of_any_name_is_measured(dashboard, history):
    """Also by asv itself, whose settings name the branches."""
    commits, git = history
    git("branch", "-m", "trunk/of-ours")
    assert dashboard.chosen([], 5)[-1] == commits[-1]
    assert dashboard.chosen(["trunk/of-ours"], 5) == [commits[-1]]
    for settings in ("asv_bench", "examples/benchmarks_of_your_own/asv_bench"):
        file = json.loads((ROOT / settings / "asv.conf.json").read_text(encoding="utf-8"))
        assert file["branches"] == ["HEAD"]


def test_the_least_of_two_measurements_counts(dashboard):
    old, new = [[1.0, 5.0, None], [["a"]], "v", 0], [[2.0, 4.0, 3.0], [["a"]], "v", 9]
    dashboard.keep_least(old, new)
    assert new == [[1.0, 4.0, 3.0], [["a"]], "v", 9]
    other = [[2.0], [["a"]], "another version", 9]
    dashboard.keep_least(old, other)
    assert other[0] == [2.0]
    dashboard.keep_least(None, new)
    assert new[0] == [1.0, 4.0, 3.0]
