"""Whose the code of a file is: Python's, an installed package's, or the user's."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import array_api_compat
import numpy as np
import pytest

from arraytape._util.source_locations import is_installed


@pytest.fixture
def target(tmp_path, monkeypatch):
    """A folder on the path as ``pip install --target`` leaves it, with a script beside the packages."""
    records = tmp_path / "wheels-1.0.dist-info"
    records.mkdir()
    (records / "RECORD").write_text(
        "wheels/__init__.py,sha256=abc,10\nsingle.py,,\n../../bin/wheels,,\nwheels-1.0.dist-info/RECORD,,\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_files_of_python_and_of_installed_packages_are_known():
    for function in (json.dumps, np.mean, pytest.raises, functools.wraps):
        assert is_installed(sys.modules[function.__module__].__file__)
    assert is_installed("<frozen importlib._bootstrap>")
    assert not is_installed(__file__)


def test_packages_in_a_target_folder_are_installed_and_the_script_beside_them_is_not(target):
    assert is_installed(str(target / "wheels" / "core.py"))
    assert is_installed(str(target / "single.py"))
    assert not is_installed(str(target / "wheels_of_mine.py"))
    assert not is_installed(str(target / "script.py"))


PROGRAM = """
import array_api_compat, numpy as np
import arraytape as xp

assert array_api_compat.__file__.startswith({folder!r})
f = xp.function(lambda x: xp.sum(xp.cumulative_prod(x)))
for _ in range(4):
    f(xp.asarray([1.0, 2.0]))
assert f.counts["replayed"] == 2, f.reasons
try:
    np.std(xp.ones((2, 3)), axis=1, correction=xp.ones((2, 3)))
except ValueError as error:
    assert "[at <string>:11]" in str(error), error
"""


def test_functions_replay_and_errors_name_the_users_line_beside_a_target_folder(target):
    package = Path(array_api_compat.__file__).parent
    shutil.copytree(package, target / "array_api_compat", ignore=shutil.ignore_patterns("tests"))
    (target / "wheels-1.0.dist-info" / "RECORD").write_text("array_api_compat/__init__.py,,\n")
    path = os.pathsep.join([str(target), *filter(None, sys.path)])
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(folder=str(target))]
    subprocess.run(command, check=True, timeout=60, env=os.environ | {"PYTHONPATH": path})
