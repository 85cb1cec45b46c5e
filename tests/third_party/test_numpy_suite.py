"""NumPy's own tests with its functions called on Arrays: a part of ``make numpy``, on each test run."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# Transforms; views and joins; functions made of other functions; errors that name an axis.
PARTS = ("fft", "lib.shape_base", "lib.twodim_base", "lib.polynomial", "_core.shape_base")


def run(*arguments):
    command = [sys.executable, str(HERE / "run_numpy.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [pytest.param("", marks=pytest.mark.nightly), "--taped"])
def test_numpys_own_tests_pass_on_arrays(mode):
    """Also when everything is followed: no result, dtype, shape or error changes by that."""
    done = run(*filter(None, [mode]), *PARTS)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"^ +total +(\d+) +0 ", done.stdout, re.MULTILINE)
    assert passed is not None, done.stdout[-4000:]
    assert int(passed[1]) > 300, "the calls do not arrive at Arrays"


@pytest.mark.slow
def test_a_wrong_result_is_reported(tmp_path):
    """The calls of a test do arrive at arraytape: one that is wrong there fails."""
    (tmp_path / "wrong.py").write_text(
        "import numpy as np\n"
        "from arraytape._numpy_api import protocols\n"
        "protocols.COUNTERPARTS[np.tril] = lambda m, k=0: m\n",
        encoding="utf-8",
    )
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(tmp_path)!r}); import wrong; "
        f"sys.argv = ['run_numpy.py', 'lib.twodim_base', '--', '-k', 'tril']; "
        f"runpy.run_path({str(HERE / 'run_numpy.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout[-4000:] + done.stderr[-2000:]
    assert "test_tril" in done.stdout


def test_everything_expected_has_a_reason():
    expected = tomllib.loads((HERE / "numpy_expected.toml").read_text(encoding="utf-8"))
    assert all(entry.keys() == {"says", "reason"} for entry in expected["refusal"])
    for entry in expected["failure"]:
        assert entry.keys() - {"taped", "run"} == {"test", "reason"}
        assert entry["reason"]
    tests = [entry["test"] for entry in expected["failure"]]
    assert len({*tests}) == len(tests)
