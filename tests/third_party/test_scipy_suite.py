"""SciPy's own tests with arraytape as their namespace: a part of ``make scipy``, on each test run."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# Loops with masks and in-place writes; data with many options; C code behind np.asarray; splines.
PARTS = ("cluster", "differentiate", "interpolate", "linalg")
QUICK = ("cluster", "differentiate", "linalg")


def run(*arguments):
    command = [sys.executable, str(HERE / "run_scipy.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("mode", "parts", "least"),
    [
        pytest.param("", PARTS, 450, marks=pytest.mark.nightly),
        pytest.param("--taped", PARTS, 450, marks=pytest.mark.nightly),
        ("--taped", QUICK, 250),
    ],
)
def test_scipys_own_tests_pass_on_arraytape(mode, parts, least):
    """Also when everything is followed: no result, dtype, shape or error changes by that."""
    done = run(*filter(None, [mode]), *parts)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    counts = dict(re.findall(r"^ *(\w+) +(\d+) +0 +\d+ +\d+$", done.stdout, re.MULTILINE))
    assert counts.keys() == {*parts, "total"}
    assert int(counts["total"]) > least, "the tests that take a namespace were not found"


@pytest.mark.slow
def test_a_listed_test_that_passes_is_reported(tmp_path):
    """The list of failures is strict, so that it cannot grow stale."""
    test = "scipy/differentiate/tests/test_differentiate.py::TestHessian::test_nfev[arraytape]"
    known = tmp_path / "known.toml"
    known.write_text(f'[[failure]]\ntest = "{test}"\nreason = "none"\n', encoding="utf-8")
    done = run("differentiate", "--", "-k", "test_nfev", "--known", str(known))
    assert done.returncode == 1, done.stdout[-4000:]
    assert "[XPASS(strict)] none" in done.stdout


def test_every_listed_failure_has_a_reason():
    listed = tomllib.loads((HERE / "scipy_failures.toml").read_text(encoding="utf-8"))["failure"]
    assert all(entry.keys() == {"test", "reason"} and entry["reason"] for entry in listed)
    assert len({entry["test"] for entry in listed}) == len(listed)
