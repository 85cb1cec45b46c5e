"""The warning for a source that was a Variable, until a step made an Array of it."""

import warnings

import numpy as np
import pytest

import arraytape as xp

SAYS = r"write w\.assign_sub\(\.\.\.\).*w was a Variable, and `w = w \.\.\.` made it Array float64\(2,\)"


def test_a_step_that_makes_an_array_of_a_variable_is_named():
    w = xp.Variable([1.0, 2.0])
    with xp.GradientTape() as tape:
        loss = xp.sum(w * w)
    w = w - 0.1 * tape.gradient(loss, w)
    with xp.GradientTape() as tape:
        loss = xp.sum(w * w)
    with pytest.warns(xp.TapeWarning, match=SAYS):
        assert tape.gradient(loss, w) is None


def test_what_the_warning_says_trains():
    w = xp.Variable([1.0, 2.0])
    for _ in range(2):
        with xp.GradientTape() as tape:
            loss = xp.sum(w * w)
        w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(np.asarray(w), [0.64, 1.28])


def test_an_array_that_was_no_variable_gets_the_advice_on_watch():
    v = xp.Variable([1.0, 2.0])
    w = xp.asarray([1.0, 2.0])
    w = w - 0.1 * v.value()
    with xp.GradientTape() as tape:
        loss = xp.sum(w * w)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tape.gradient(loss, w) is None
    assert "assign_sub" not in str(caught[0].message)
    assert "tape.watch(x)" in str(caught[0].message)
