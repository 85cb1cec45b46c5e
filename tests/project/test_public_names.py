"""What ``dir`` lists is public and nothing else, and what is public answers after a bare import."""

import subprocess
import sys

import pytest

import arraytape as xp
import pages

LAZY = ["diagnose", "interop", "nn", "optimizers", "checkpoint", "testing", "functional"]
MODULES = ["", *LAZY, "linalg", "fft", "testing.storages"]
PRIVATE = (
    "cofactors",
    "inverse_again",
    "matmul_adjoint",
    "sum_adjoint",
    "window_correlation",
    "solve_again",
    "power_derivative",
    "sinc_derivative",
    "reinterpreted",
    "ops",
    "module",
    "variable",
    "custom",
    "array",
    "cupy",
    "np",
)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def found(path: str):
    value = xp
    for part in filter(None, path.split(".")):
        value = getattr(value, part)
    return value


# --- after a bare import ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*LAZY, "Module"])
def test_it_answers_after_a_bare_import(name):
    assert run(f"import arraytape as xp; print(xp.{name}.__name__)").strip() in (
        name,
        f"arraytape.{name}",
    )


def test_dir_and_hasattr_of_a_bare_import_know_the_names_on_demand():
    code = "import arraytape as xp; print({'nn', 'Module'} <= set(dir(xp)), hasattr(xp, 'nn'))"
    assert run(code).split() == ["True", "True"]


def test_all_names_can_be_imported_by_a_star():
    code = "from arraytape import *; print(nn.Dense, Module, sum.__name__, fft.fft.__name__)"
    assert run(code).split()[-2:] == ["sum", "fft"]


def test_an_import_of_a_name_that_is_not_there_is_an_import_error():
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from arraytape import no_such_name")
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        xp.no_such_name  # noqa: B018


def test_the_same_object_answers_each_time():
    assert xp.Module is xp.Module is xp.nn.Module
    assert xp.nn is sys.modules["arraytape.nn"]


# --- what dir lists ---------------------------------------------------------------------------------
@pytest.mark.parametrize("path", MODULES)
def test_a_module_lists_its_public_names_and_nothing_else(path):
    module = found(path)
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))
    allowed = ("__version__", "__array_api_version__", "__array_namespace_info__")
    assert [name for name in dir(module) if name.startswith("_") and name not in allowed] == []


def test_rules_find_what_is_not_listed():
    assert not {*PRIVATE} & {*dir(xp)}
    assert callable(xp.cofactors)
    assert callable(xp.reinterpreted)


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (
            xp.GradientTape,
            "batch_jacobian gradient in_this_thread jacobian memory reset stop_recording summary watch "
            "watched_variables",
        ),
        (xp.ForwardAccumulator, "jvp"),
    ],
)
def test_a_recorder_lists_what_its_user_calls(thing, names):
    made = thing() if thing is xp.GradientTape else thing(xp.ones(2), xp.ones(2))
    for listed in (dir(thing), dir(made)):
        assert [name for name in listed if not name.startswith("_")] == names.split()
        assert {"__enter__", "__exit__", "__init__"} <= set(listed)


# --- the checked list -------------------------------------------------------------------------------
def check():
    return pages.main(["--check", "public_names"])


def test_a_helper_that_came_into_dir_fails_the_check(monkeypatch, capsys):
    assert check() == 0
    monkeypatch.setattr(xp, "__all__", [*xp.__all__, "cofactors"])
    assert check() == 1
    assert "+arraytape.cofactors\n" in capsys.readouterr().out


def test_a_private_name_in_dir_fails_the_check(monkeypatch, capsys):
    monkeypatch.setattr(xp, "__all__", [*xp.__all__, "_np"])
    assert check() == 1
    assert "arraytape._np" in capsys.readouterr().out


def test_a_new_method_of_a_public_class_fails_the_check(monkeypatch, capsys):
    monkeypatch.setattr(xp.GradientTape, "helper", lambda self: None, raising=False)
    assert check() == 1
    assert "+arraytape.GradientTape.helper\n" in capsys.readouterr().out
