"""Acting on modules when they have run."""

import importlib
import subprocess
import sys

import pytest

from arraytape._util import imports


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Return a function that imports a module which asks for an action while it runs."""
    monkeypatch.syspath_prepend(tmp_path)

    def run(name, rest, action):
        monkeypatch.setattr(sys, "asks", lambda: imports.when_imported(name, action), raising=False)
        (tmp_path / f"{name}.py").write_text(f"import sys\nsys.asks()\n{rest}\n")
        return importlib.import_module(name)

    return run


def test_a_module_that_is_running_already_is_awaited(imported):
    done = []
    module = imported(
        "awaited_while_running", "value = 3", lambda module: done.append(module.value)
    )
    assert done == [3]
    assert "awaited_while_running" not in imports.WAITING
    assert type(module.__spec__) is imports.ModuleSpec


def test_a_running_module_that_fails_has_no_action(imported):
    done = []
    with pytest.raises(ZeroDivisionError):
        imported("awaited_failing", "1 / 0", done.append)
    assert done == []
    imports.WAITING.pop("awaited_failing")


@pytest.mark.parametrize("first", ["scipy.stats._stats_py", "scipy.stats", "scipy.special"])
def test_rules_act_whichever_module_is_imported_first(first):
    program = (
        "import arraytape as xp; xp.grad(xp.sin)(xp.asarray(1.0))\n"
        f"import {first}; from scipy.stats import gstd\n"
        "assert 'arraytape' in gstd.__code__.co_filename"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
