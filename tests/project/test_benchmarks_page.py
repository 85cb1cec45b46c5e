"""docs/howto/benchmarks.md: its layout of another repository is measured by asv, and has a page."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.repository import ROOT

EXAMPLE = ROOT / "examples" / "benchmarks_of_your_own"
MEASURES = {
    "time_value", "time_gradient", "track_overhead", "track_gradient_overhead", "track_peak_bytes",
    "track_records", "track_exits",
}  # fmt: skip
# As quick as it can be: the numbers do not matter here.
QUICKLY = ["-a", "repeat=1", "-a", "number=1", "-a", "warmup_time=0", "-a", "rounds=1"]


@pytest.fixture
def elsewhere(tmp_path):
    """Another repository with the example's layout, and a way to run commands in it."""
    repository = tmp_path / "losses"
    shutil.copytree(EXAMPLE, repository, ignore=shutil.ignore_patterns("__pycache__"))
    losses = repository / "asv_bench/benchmarks/losses.py"
    losses.write_text(losses.read_text() + "\n\nTapeBenchmarks.seconds = 0.02\n")
    environment = {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    environment |= dict.fromkeys(("PYTHONPATH", "ASV_PYTHONPATH"), str(ROOT / "src"))
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def call(*command):
        done = subprocess.run(
            command, cwd=repository / "asv_bench", env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    call("git", "init", "-q", "-b", "main", "..")
    call("git", "-C", "..", "add", "-A")
    call("git", *identity, "commit", "-q", "-m", "losses")
    call("git", "tag", "v1.0")
    return repository, call


@pytest.mark.slow
@pytest.mark.nightly
def test_the_example_is_measured_and_shown(elsewhere):
    repository, call = elsewhere
    asv = [sys.executable, "-m", "asv"]
    call(*asv, "machine", "--yes")
    commit = call("git", "rev-parse", "HEAD")
    how = ["--launch-method=forkserver"] if os.name == "posix" else []
    call(*asv, "run", "-E", "existing:same", "--set-commit-hash", commit, *how, *QUICKLY)
    found = json.loads((repository / "asv_bench/results/benchmarks.json").read_text())
    names = {
        f"losses.{cls}.{name}" for cls in ("RidgeValidation", "KernelSum") for name in MEASURES
    }
    assert {*found} - {"version"} == names
    assert found["losses.KernelSum.track_exits"]["pretty_name"] == "KernelSum: exits"

    page = [sys.executable, "-m", "arraytape.testing.dashboard", "results", "--out", "site"]
    call(*page, "--repo", "..")
    text = (repository / "asv_bench/site/index.html").read_text()
    assert text.count('<div class="tile ') == 5
    assert "<b>v1.0</b>" in text
    assert ">0 exits</div>" in text
    assert len(re.findall(r"<tr class=", text)) == 2 * 2 * len(MEASURES)
