"""The examples run, with few steps, as somebody would run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, *options):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *options],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )


def test_scikit_learn_is_differentiated_through_its_own_code(tmp_path):
    picture = tmp_path / "new" / "plot.png"
    done = run("differentiate_sklearn.py", "--steps", "3", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "validation error:" in done.stdout
    assert "(<= 1e-06)" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "RuntimeWarning" not in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "0"], "not an integer of at least 1"),
        (["--seed", "-1"], "not an integer of at least 0"),
        (["--out", "plot.txt"], "must end in one of"),
        (["--out", os.devnull + "/plot.png"], "cannot write"),
    ],
)
def test_a_bad_option_gets_a_clear_message(options, message):
    done = run("differentiate_sklearn.py", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
