"""Type checkers on users' programs: they accept right ones, and find each mistake in a wrong one.

The programs are those of five kinds of users, and one that uses the whole namespace.  ``assert_type`` in
them says what an editor shows.

They run outside the repository and see an installed package, which its ``py.typed`` and its exports
alone speak for.  basedpyright is pyright with the node program in a package; with
``typeCheckingMode`` "standard" its rules are pyright's default ones.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import arraytape
from helpers.repository import TESTS

CONSUMERS = sorted((TESTS / "helpers" / "consumers").glob("*.py"))
# One mistake a line; "" for none.
MISTAKES = """\
import arraytape as xp
from arraytape import reinterpreted  # not public
xp.no_such_name
xp.nn.NoLayer
xp._np
xp.sum("text")
xp.reshape(xp.ones(3))
xp.grad(lambda x: xp.sum(x))(1, 2, 3)
xp.vmap(xp.sum)(1)
xp.nn.Dense()
xp.GradientTape(persist=True)
xp.function(lambda: 1.0).no_such_name
number: int = xp.mean(xp.ones(3))
length: str = xp.nn.Sequential([xp.nn.Dense(1)])(xp.ones((1, 2)))
slope: str = xp.grad(xp.mean)(xp.ones(3))
values: list[int] = xp.linalg.eigh(xp.eye(2)).eigenvalues
"""
CHECKERS = ("mypy", "pyright")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    for consumer in CONSUMERS:
        shutil.copy(consumer, folder)
    (folder / "mistakes.py").write_text(MISTAKES)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    return folder


def run(folder, *arguments):
    # On Python's path, like the folder that a package was installed to; not on mypy's own.
    place = Path(arraytape.__file__).parents[1]
    path = os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {k: v for k, v in os.environ.items() if k != "MYPYPATH"} | {"PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def by_mypy(folder):
    """(file, line, message) of each error."""
    files = [*(consumer.name for consumer in CONSUMERS), "mistakes.py"]
    done = run(folder, "mypy", "--strict", "--cache-dir", str(folder / "cache"), *files)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^([\w.\\/]+):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return [(file, int(line), message) for file, line, message in found]


def by_pyright(folder):
    done = run(folder, "basedpyright", "--outputjson", "--pythonpath", sys.executable)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        (Path(found["file"]).name, found["range"]["start"]["line"] + 1, found["message"])
        for found in json.loads(done.stdout)["generalDiagnostics"]
    ]


@pytest.fixture(scope="module")
def errors(folder):
    return {"mypy": by_mypy(folder), "pyright": by_pyright(folder)}


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_programs_have_no_errors(errors, checker):
    assert len(CONSUMERS) == 6
    assert [found for found in errors[checker] if found[0] != "mistakes.py"] == []


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_mistake_is_found(errors, checker):
    lines = {line for file, line, _ in errors[checker] if file == "mistakes.py"}
    assert lines == set(range(2, MISTAKES.count("\n") + 1))


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.stem)
def test_the_right_programs_run(consumer, tmp_path):
    done = subprocess.run(
        [sys.executable, str(consumer)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("done")
    assert "False" not in done.stdout


def test_the_package_says_that_it_has_types():
    assert (Path(arraytape.__file__).parent / "py.typed").exists()
