"""docs/howto/benchmarks.md and watch.md: asv measures their repositories, and pages show the figures."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import page_code
from helpers.repository import ROOT

EXAMPLE = ROOT / "examples" / "benchmarks_of_your_own"
MEASURES = {
    "time_value", "time_gradient", "track_overhead", "track_gradient_overhead", "track_peak_bytes",
    "track_records", "track_exits",
}  # fmt: skip
# As quick as it can be: the numbers do not matter here.
QUICKLY = ["-a", "repeat=1", "-a", "number=1", "-a", "warmup_time=0", "-a", "rounds=1"]


IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b"]
ASV = [sys.executable, "-m", "asv"]
PAGE = [sys.executable, "-m", "arraytape.testing.dashboard", "results", "--out", "site"]


@pytest.fixture
def call(tmp_path):
    """A way to run commands in the folder asv_bench of another repository."""
    repository = tmp_path / "repository"
    environment = {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    places = os.pathsep.join([str(ROOT / "src"), str(repository)])
    environment |= dict.fromkeys(("PYTHONPATH", "ASV_PYTHONPATH"), places)
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def call(*command):
        done = subprocess.run(
            command, cwd=repository / "asv_bench", env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return call


def commit(call, *tags):
    """Commit the files of the repository."""
    call("git", "init", "-q", "-b", "main", "..")
    call("git", "-C", "..", "add", "-A")
    call("git", *IDENTITY, "commit", "-q", "-m", "losses")
    for tag in tags:
        call("git", "tag", tag)


def measure(call):
    """Measure the repository as it is, and return the text of the dashboard's first page."""
    call(*ASV, "machine", "--yes")
    how = ["--launch-method=forkserver"] if os.name == "posix" else []
    commit = call("git", "rev-parse", "HEAD")
    call(*ASV, "run", "-E", "existing:same", "--set-commit-hash", commit, *how, *QUICKLY)
    call(*PAGE, "--repo", "..")


def quick(benchmarks):
    """Make the benchmarks of a module end soon."""
    benchmarks.write_text(benchmarks.read_text() + "\n\nTapeBenchmarks.seconds = 0.02\n")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_example_is_measured_and_shown(tmp_path, call):
    folder = tmp_path / "repository" / "asv_bench"
    shutil.copytree(EXAMPLE, folder.parent, ignore=shutil.ignore_patterns("__pycache__"))
    quick(folder / "benchmarks/losses.py")
    commit(call, "v1.0")
    measure(call)
    found = json.loads((folder / "results/benchmarks.json").read_text())
    names = {
        f"losses.{cls}.{name}" for cls in ("RidgeValidation", "KernelSum") for name in MEASURES
    }
    assert {*found} - {"version"} == names
    assert found["losses.KernelSum.track_exits"]["pretty_name"] == "KernelSum: exits"
    text = (folder / "site/index.html").read_text()
    assert text.count('<div class="tile ') == 5
    assert "<b>v1.0</b>" in text
    assert ">0 exits</div>" in text
    assert len(re.findall(r"<tr class=", text)) == 2 * 2 * len(MEASURES)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_page_goes_from_an_empty_folder_to_a_red_dashboard(tmp_path, call):
    page = ROOT / "docs" / "howto" / "watch.md"
    library, benchmark, changed = page_code.blocks_of(page)
    configuration = page.read_text().partition("```json\n")[2].partition("```")[0]
    repository = tmp_path / "repository"
    (repository / "asv_bench/benchmarks").mkdir(parents=True)
    (repository / "moments.py").write_text(library)
    (repository / "asv_bench/asv.conf.json").write_text(configuration)
    (repository / "asv_bench/benchmarks/__init__.py").touch()
    (repository / "asv_bench/benchmarks/columns.py").write_text(benchmark)
    (repository / ".gitignore").write_text("results\nsite\n")
    quick(repository / "asv_bench/benchmarks/columns.py")
    commit(call, "v0.1")
    measure(call)
    site = repository / "asv_bench/site/index.html"
    assert ">0 exits</div>" in site.read_text()
    (repository / "moments.py").write_text(changed)
    commit(call)
    measure(call)
    text = site.read_text()
    assert ">1 exits</div>" in text
    assert "7 records (14.9 x)" in text
    assert ">104 records</div>" in text
    assert "<b>v0.1</b>" in text
    assert 'class="verdict worse"' in text
