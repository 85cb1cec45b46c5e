"""Functions for which NumPy does not ask the Arrays: the examples of generated/scope.md hold."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from status import scope as scope_table

RECORDED, WARNS, ON_PURPOSE = scope_table.UNASKED.values()
X, Y = np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0, 5.0, 6.0])


def gradient(example, beside):
    """That of the example's sum, and of x if it is to stand ``beside`` it, by x; and all warnings."""
    x, y = xp.asarray(X), xp.asarray(Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", xp.TapeWarning)
        with xp.GradientTape() as tape:
            tape.watch(x)
            found = eval(example, {"np": np, "x": x, "y": y})
            loss = xp.sum(xp.asarray(found)) + (xp.sum(x) if beside else 0.0)
        return found, tape.gradient(loss, x), [str(w.message) for w in caught]


@pytest.mark.parametrize("example", RECORDED)
def test_what_computes_with_its_arguments_is_recorded(example):
    found, g, said = gradient(example, beside=False)
    assert type(found) is xp.Array
    assert g is not None
    assert not said


@pytest.mark.parametrize("beside", [False, True], ids=["None", "a part"])
@pytest.mark.parametrize("example", WARNS)
def test_what_leaves_in_numpys_code_warns_and_names_the_function(example, beside):
    _, g, (said,) = gradient(example, beside)
    assert (g is None) is not beside
    assert "left the tape at <string>:1" in said
    assert " in NumPy's " in said


@pytest.mark.parametrize("beside", [False, True], ids=["None", "a part"])
@pytest.mark.parametrize("example", ON_PURPOSE)
def test_what_leaves_in_the_users_code_is_named_where_it_is_missing(example, beside):
    _, g, (said,) = gradient(example, beside)
    assert (g is None) is not beside
    assert "left the tape at <string>:1" in said


def test_the_function_of_an_exit_is_the_one_that_was_called():
    _, _, (said,) = gradient("np.mean([x, y])", beside=False)
    assert "(np.asarray() in NumPy's mean)" in said
