"""The runner of attacks: it counts, goes on where it stopped, and says what it found."""

import json
import os
import re
import subprocess
import sys

import pytest

from attack import soak
from attack.attack import ATTACKS, Attack, attack
from helpers.repository import ROOT, TESTS


def made_up(seed):
    assert seed % 4 != 3, f"wrong at {seed}"
    return 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "attack", lambda name: Attack(made_up, "cases"))
    monkeypatch.setattr(soak, "ATTACKS", {"made-up": "nowhere"})
    state = tmp_path / "soak.json"

    def run(minutes="0"):
        status = soak.main(["--minutes", minutes, "--state", str(state), "--first", "1"])
        return status, json.loads(state.read_text())["made-up"]

    return run


def test_a_run_goes_on_where_the_last_one_stopped(run, capsys):
    assert run()[1]["next"] == 2
    status, entry = run()
    assert (status, entry["next"], entry["seeds"], entry["cases"]) == (0, 3, 2, 4)
    assert "made-up: 4 cases from 2 seeds" in capsys.readouterr().out


def test_a_finding_is_said_and_kept_and_the_run_goes_on(run, capsys):
    statuses = [run()[0] for _ in range(4)]
    status, entry = run()
    assert statuses == [0, 0, 1, 0]
    assert (status, entry["findings"], entry["cases"]) == (0, [3], 8)
    said = capsys.readouterr().out
    assert "seed 3: wrong at 3" in said
    assert "1 findings (seeds 3)" in said


def test_an_unknown_attack_is_refused_with_the_names(capsys):
    with pytest.raises(SystemExit):
        soak.main(["nothing"])
    assert "numpy-programs" in capsys.readouterr().err


@pytest.mark.parametrize("name", ATTACKS)
def test_each_attack_of_the_table_is_one(name):
    assert isinstance(attack(name), Attack)


def test_every_attack_is_found_on_the_path_that_is_named():
    texts = ["Makefile", "docs/explanation/reliability.md", "tests/attack/README.md"]
    command = r"PYTHONPATH=(\S+)(?:(?!PYTHONPATH)[^`])*?-m attack"
    found = [re.findall(command, (ROOT / text).read_text()) for text in texts]
    assert all(found)
    (path,) = {one for paths in found for one in paths}
    code = (
        "from attack.attack import ATTACKS, attack; print(len([attack(name) for name in ATTACKS]))"
    )
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=TESTS, check=True, capture_output=True,
        text=True, timeout=120, env={**os.environ, "PYTHONPATH": path, "SCIPY_ARRAY_API": "1"},
    )  # fmt: skip
    assert int(shown.stdout) == len(ATTACKS)
