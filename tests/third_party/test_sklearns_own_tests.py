"""scikit-learn's own array API tests, as installed, on Arrays: see ``sklearn_plugin``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_scikit_learns_own_tests_pass_on_arrays_that_tapes_follow():
    done = subprocess.run(
        [sys.executable, str(HERE / "sklearn_plugin.py"), "--open-tapes"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode == 0, said
    assert " failed" not in said, said
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None, said
    assert int(passed[1]) > 1000, "few tests were chosen: does scikit-learn parametrise otherwise?"
