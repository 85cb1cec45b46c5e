"""generated/special.md: every function of scipy.special has a row that says what its gradient is."""

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.special
from scipy.special import _ufuncs

import pages
from arraytape.special import FUNCTIONS
from arraytape.special._statement import STATEMENTS
from status import special as special_table

ROWS = [special_table.row_of(name) for name in special_table.public_names()]

SCIPYS = {n for n in STATEMENTS if hasattr(_ufuncs, n) or hasattr(scipy.special, n)}


def test_every_statement_has_a_row():
    """Those of SciPy's names; parts and derivatives of them have the row of the function."""
    listed = {row.name for row in ROWS} | set(special_table.private_names())
    assert listed >= SCIPYS
    assert {n for n in FUNCTIONS if hasattr(scipy.special, n)} <= listed | SCIPYS


def test_every_function_says_what_its_gradient_is():
    """By an argument, or why not; what has no row raises."""
    statuses = (special_table.LEAVES, special_table.RAISES, special_table.COUNTS)
    for row in ROWS:
        known = row.by or row.counts or row.refuses or row.note or row.status in statuses
        assert known, row.name


def test_arguments_without_a_derivative_are_whole_numbers_or_have_a_reason():
    for name in [*special_table.public_names(), *special_table.private_names()]:
        if name in STATEMENTS:
            special_table.row_of_statement(name, STATEMENTS[name])  # KeyError by an operand


def test_every_measured_function_is_in_the_table_of_errors():
    page = pages.PAGES["special"].text().split("### All")[1]
    missing = [n for n in special_table.measured() if f"| `{n}` |" not in page]
    assert not missing, "run python tools/pages.py special_errors"


@pytest.mark.parametrize("name", special_table.in_interop())
def test_what_converts_to_numpy_says_so(name):
    function = getattr(scipy.special, name)
    example = special_table.EXAMPLES.get(name, {"x": 0.5, "n": 3})
    if name == "sph_harm_y":
        example = {"n": 2, "m": 1, "theta": 0.5, "phi": 1.0}
    operand, value = next((k, v) for k, v in example.items() if isinstance(v, float))
    called = lambda x: special_table.called(function, {**example, operand: x})  # noqa: E731
    status, _ = special_table.tried(called, value)
    assert status == (special_table.RAISES if "factorial" in name else special_table.LEAVES)


def test_what_has_no_row_has_a_reason():
    """A statement of SciPy's that differentiates is measured, or says why not."""
    from special.references import BY_DIFFERENCES

    measured = {*special_table.measured(), *BY_DIFFERENCES}
    for name, statement in STATEMENTS.items():
        by = special_table.row_of_statement(name, statement).by if name in SCIPYS else ()
        assert not by or name in measured, name


def test_a_function_that_is_not_stated_is_reported(monkeypatch):
    monkeypatch.delitem(special_table.CALLS, "jvp")
    with pytest.raises(LookupError, match="jvp"):
        special_table.row_of("jvp")


def test_errors_of_one_function():
    found = special_table.errors_of("digamma")
    assert 0 < found.first < 1e-13
    assert found.count > 4
    assert np.isfinite(found.conditioned).all()
