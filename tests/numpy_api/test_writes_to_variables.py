"""NumPy's functions that write into an array, given a Variable: an assignment, as ``v[k] = x`` is."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable

X = np.asarray([3.0, 1.0, 2.0])
WRITES = {
    "put": lambda x: np.put(x, [0, 2], [9.0, 8.0]),
    "put, method": lambda x: x.put([1], 7.0),
    "copyto": lambda x: np.copyto(x, np.asarray([5.0, 6.0, 7.0])),
    "out": lambda x: np.add(x, 1.0, out=x),
    "add.at": lambda x: np.add.at(x, [0, 0], 1.0),
    "sort": lambda x: x.sort(),
    "fill": lambda x: x.fill(2.0),
    "putmask": lambda x: np.putmask(x, np.asarray([True, False, True]), np.asarray(4.0)),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_variable_holds_what_numpys_array_holds_and_is_watched_as_before(name, near):
    expected = X.copy()
    WRITES[name](expected)
    v = Variable(X, name="v")
    before = v.value()
    WRITES[name](v)
    near(v, expected)
    near(before, X)
    with GradientTape() as tape:
        y = xp.sum(v * v)
    near(tape.gradient(y, v), 2.0 * expected)


def test_a_write_on_the_tape_cuts_history_and_earlier_reads_keep_their_value(near):
    v = Variable(X)
    with GradientTape() as tape:
        y = v * v
        np.copyto(v, y)
        z = xp.sum(y + v)
    near(tape.gradient(z, v), 2.0 * X + 1.0)
