"""scikit-learn's own array API tests, as installed, on Arrays: see ``sklearn_plugin``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


# These files take four fifths of the time, and the others ask the same of the estimators in them.
LONG = ("common", "calibration", "gaussian_mixture", "logistic")
WITHOUT_LONG = [f"--ignore-glob=*/test_{name}.py" for name in LONG]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "least"),
    [(WITHOUT_LONG, 500), pytest.param([], 1000, marks=pytest.mark.nightly)],
    ids=["without long files", "all"],
)
def test_scikit_learns_own_tests_pass_on_arrays_that_tapes_follow(options, least):
    done = subprocess.run(
        [sys.executable, str(HERE / "sklearn_plugin.py"), "--open-tapes", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode == 0, said
    assert " failed" not in said, said
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None, said
    assert int(passed[1]) > least, "few tests were chosen: does scikit-learn parametrise otherwise?"
