"""The tables of other people's libraries, the harness that tries their calls, and the recipes."""

import importlib
import pkgutil
import re

import numpy as np
import pytest

import arraytape as xp
from helpers.repository import ROOT
from libraries import calls, recipes, verdicts
from libraries.facts import NAMESPACE, Fixed, Library, Symmetric, call
from libraries.trials import Row
from libraries.verdicts import RIGHT, Reference, Trial

TOOLS = ROOT / "tools" / "libraries"
TABLES = [
    importlib.import_module(f"libraries.calls.{module.name}").LIBRARY
    for module in pkgutil.iter_modules(calls.__path__)
]
X, Y = np.asarray([0.3, 0.7]), np.asarray([1.5, 2.5])
OURS = verdicts.backends([])["arraytape"]


# --- the tables -----------------------------------------------------------------------------------
@pytest.mark.parametrize("library", TABLES, ids=lambda library: library.name)
def test_a_table_gives_reasons_for_its_own_calls_and_has_a_pinned_version(library):
    assert library.calls
    assert {*library.reasons} <= {one.name for one in library.calls}
    pins = (TOOLS / "requirements.txt").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^{re.escape(library.name)}==", pins)
    assert not library.recipe or library.recipe in recipes.blocks_by_section()


# --- the recipes ----------------------------------------------------------------------------------
@pytest.mark.parametrize("section", recipes.blocks_by_section())
def test_a_recipe_runs_and_prints_what_it_says(section):
    for module in recipes.modules_of(section):
        pytest.importorskip(module)
    assert not recipes.difference(section)


# --- the harness ----------------------------------------------------------------------------------
def outcome_of(function, *args, **keywords):
    one = call(function, *args, name="f", **keywords)
    return Trial(Reference(Library("made", "made", NAMESPACE, [one]), one), OURS).outcome()


def namespace(x):
    return xp if isinstance(x, xp.Array) else np


def left(x):
    """Return an Array of values that left the tape."""
    return namespace(x).asarray(np.asarray(x) ** 2)


@xp.custom_gradient
def doubled(x):
    return x * x, lambda dy: dy * x


def test_a_right_function_is_right_in_all_checks():
    found = outcome_of(lambda x, y, c: {"a": [np.exp(x) * y, c]}, X, Y, Fixed(X))
    assert found == (RIGHT, RIGHT, RIGHT, "", "")


def test_a_symmetric_argument_stays_symmetric():
    matrix = np.asarray([[2.0, 0.5], [0.5, 1.0]])
    assert outcome_of(lambda a: np.linalg.eigvalsh(a), Symmetric(matrix)).first == RIGHT


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (lambda x: namespace(x).sum(x) * (1.0 if namespace(x) is np else 2.0), verdicts.VALUE),
        (lambda x: xp.no_such_name(x) if namespace(x) is xp else x, verdicts.NAME),
        (lambda x: xp.sum(x, no=1) if namespace(x) is xp else x, verdicts.KEYWORD),
        (lambda x: 1 // 0 if namespace(x) is xp else x, verdicts.LOUD),
        (lambda x: float(namespace(x).sum(x)), verdicts.NUMBER),
        (left, verdicts.WARNED),
        (lambda x: doubled(x) if namespace(x) is xp else x * x, verdicts.WRONG),
        (lambda x: np.sqrt(x - x), verdicts.NAN),
    ],
)
def test_an_outcome_has_a_word(function, outcome):
    with np.errstate(all="ignore"):
        assert outcome_of(function, X).first == outcome


def test_results_without_derivatives_are_compared():
    assert outcome_of(lambda x: x > 0.5, X).first == RIGHT
    wrong = outcome_of(lambda x: x > 0.5 if namespace(x) is np else x < 0.5, X)
    assert wrong.first == verdicts.VALUE


def test_a_result_that_is_no_array_is_an_error_of_the_table():
    with pytest.raises(TypeError, match="the table has to take the arrays out of a object"):
        outcome_of(lambda x: object(), X)


@pytest.mark.parametrize(
    ("reasons", "first", "fault"),
    [
        ({}, RIGHT, ""),
        ({"f": "a reason"}, verdicts.LOUD, ""),
        ({}, verdicts.LOUD, "the table gives no reason"),
        ({"f": "a reason"}, RIGHT, "it is right, but the table gives a reason"),
    ],
)
def test_a_call_that_is_not_right_needs_a_reason(reasons, first, fault):
    one = call(np.exp, X, name="f")
    library = Library("made", "made", NAMESPACE, [one], reasons=reasons)
    row = Row(library, one, {"arraytape": verdicts.Outcome(first)})
    assert row.fault().startswith(fault)
    assert bool(row.fault()) == bool(fault)
