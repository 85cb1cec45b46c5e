"""Variable: state that tapes watch when it is read."""

import copy
import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, Variable


@pytest.fixture
def v():
    return Variable(3.0, name="v")


def test_a_trainable_variable_is_watched_by_any_read(v, near):  # case 1
    with GradientTape() as tape:
        y = v**2
    near(tape.gradient(y, v), 6.0)


def test_only_trainable_variables_are_watched_unasked(near):  # case 6
    x0, x1 = Variable(3.0, name="x0"), Variable(3.0, name="x1", trainable=False)
    x2, x3 = Variable(2.0, name="x2") + 1.0, xp.asarray(3.0)
    with GradientTape() as tape:
        y = x0**2 + x1**2 + x2**2
    gradients = tape.gradient(y, [x0, x1, x2, x3])
    near(gradients[0], 6.0)
    assert gradients[1:] == [None, None, None]
    assert [variable.name for variable in tape.watched_variables()] == ["x0"]


def test_without_watch_accessed_variables_nothing_is_watched_unasked(near):  # case 7
    x0, x1 = Variable(0.0), Variable(10.0)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x1)
        y = xp.sin(x0) + xp.logaddexp(x1, xp.asarray(0.0))
    gradients = tape.gradient(y, {"x0": x0, "x1": x1})
    assert gradients["x0"] is None
    near(gradients["x1"], 1.0 / (1.0 + np.exp(-10.0)))


def test_a_variable_that_became_an_array_is_not_watched(near):  # case 14
    x = Variable(2.0)
    found = []
    for _ in range(2):
        with GradientTape() as tape:
            y = x + 1.0
        found.append(tape.gradient(y, x))
        x = x + 1.0
    near(found[0], 1.0)
    assert found[1] is None


def test_state_cuts_history(near):  # case 17
    x0, x1 = Variable(3.0), Variable(0.0)
    with GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    gradients = tape.gradient(y, [x0, x1])
    assert gradients[0] is None
    near(gradients[1], 6.0)


def test_a_value_read_before_the_tape_is_a_constant(v):  # case 43
    before = v.value()
    with GradientTape() as tape:
        y = before * before
    assert tape.gradient(y, v) is None


def test_what_assign_returns_is_the_variable(v, near):  # case 43
    given = xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch(given)
        y = v.assign(given) * 5.0
    gradients = tape.gradient(y, [v, given])
    near(gradients[0], 5.0)
    assert gradients[1] is None


def test_pythons_max_of_variables(near):  # case 54
    variables = [Variable(2.0), Variable(3.0), Variable(5.0)]
    with GradientTape() as tape:
        y = max(variables) * 1.0
    gradients = tape.gradient(y, variables)
    assert gradients[:2] == [None, None]
    near(gradients[2], 1.0)


def test_each_read_counts_with_its_own_value(v, near):
    with GradientTape() as tape:
        a = v * v
        v.assign(100.0)
        b = v * v
        y = a + b
    near(tape.gradient(y, v), 6.0 + 200.0)


def test_a_second_derivative_uses_the_value_of_the_read(v, near):
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = v**3
        g = inner.gradient(y, v)
        v.assign(7.0)
    near(g, 27.0)
    near(outer.gradient(g, v), 18.0)


def test_a_view_of_a_variable_is_a_snapshot(near):
    w = Variable([[1.0, 2.0], [3.0, 4.0]])
    with GradientTape() as tape:
        part, turned = w[0], w.T
        w.assign(xp.zeros((2, 2)))
        y = xp.sum(part**2) + xp.sum(turned)
    near(part, [1.0, 2.0])
    near(turned, [[1.0, 3.0], [2.0, 4.0]])
    near(tape.gradient(y, w), [[3.0, 5.0], [1.0, 1.0]])


def test_writing_to_an_array_made_of_it_changes_no_variable(near):
    w = Variable([1.0, 2.0])
    with GradientTape() as tape:
        x = xp.asarray(w)
        x[0] = 10.0
        part = w[1:]
        part *= 2.0
        y = xp.sum(x) + xp.sum(part)
    near(w, [1.0, 2.0])
    near(tape.gradient(y, w), [0.0, 3.0])


def test_in_place_operators_assign(v, near):
    same = v
    with GradientTape() as tape:
        v += 2.0
        v -= xp.asarray(1.0)
        v *= 3.0
        y = v * v
    assert v is same
    near(v, 12.0)
    near(tape.gradient(y, v), 24.0)


def test_item_assignment_is_state_too(near):
    w = Variable([1.0, 2.0, 3.0])
    x = xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch(x)
        before = w * 1.0
        w[1] = x
        y = xp.sum(before) + xp.sum(w**2)
    near(w, [1.0, 5.0, 3.0])
    near(before, [1.0, 2.0, 3.0])
    gradients = tape.gradient(y, [w, x])
    near(gradients[0], [3.0, 11.0, 7.0])
    assert gradients[1] is None


def test_the_initial_value_is_copied(near):
    data = np.asarray([1.0, 2.0])
    x = xp.asarray(data)
    variables = [Variable(data), Variable(x)]
    data[0], x[0] = 10.0, 10.0
    for w in variables:
        near(w, [1.0, 2.0])
    assigned = xp.asarray([5.0, 6.0])
    variables[0].assign(assigned)
    assigned[0] = 0.0
    near(variables[0], [5.0, 6.0])


def test_the_gradient_of_a_variable_that_was_never_read_is_none(v, near):
    other = Variable(1.0)
    with GradientTape(persistent=True) as tape:
        y = v * 2.0
    assert tape.gradient(y, other) is None
    assert [w.name for w in tape.watched_variables()] == ["v"]
    near(tape.gradient(y, other, unconnected_gradients="zero"), 0.0)


def test_watched_variables_are_listed_once_in_order_and_survive_the_gradient():
    a, b = Variable(1.0, name="a"), Variable(2.0, name="b")
    with GradientTape() as tape:
        y = b * a * b
    assert [w.name for w in tape.watched_variables()] == ["b", "a"]
    tape.gradient(y, [a, b])
    assert [w.name for w in tape.watched_variables()] == ["b", "a"]


def test_a_variable_is_read_by_every_tape_that_is_open(v, near):
    with GradientTape() as outer, GradientTape() as inner:
        y = v * v
    near(inner.gradient(y, v), 6.0)
    near(outer.gradient(y, v), 6.0)


def test_a_variable_may_be_a_primal(v, near):
    with ForwardAccumulator(v, xp.asarray(1.0)) as accumulator:
        y = v * v
    near(accumulator.jvp(y), 6.0)


def test_an_integer_variable_has_no_gradient():
    n = Variable(2)
    with GradientTape() as tape:
        y = xp.astype(n, xp.float64) * 2.0
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, n) is None


def test_copies_and_pickles_are_other_variables(v):
    for w in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(w) is Variable
        assert (w.name, w.trainable, float(w)) == ("v", True, 3.0)
        w.assign(4.0)
        assert float(v) == 3.0


def test_shape_dtype_and_device_are_an_arrays():
    w = Variable([[1, 2]], dtype=xp.float32)
    assert (w.shape, w.dtype, w.ndim, w.size) == ((1, 2), xp.float32, 2, 2)
    assert w.device == xp.zeros(1).device
    assert repr(w).startswith("Variable(Array([[1., 2.]]")
    assert xp.sum(w).dtype == xp.float32


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda w: w.assign([1.0, 2.0, 3.0]), ValueError, r"\(3,\).*'w'.*\(2,\)"),
        (lambda w: w.assign(xp.zeros(2, dtype=xp.complex128)), ValueError, "complex128.*'w'"),
        (lambda w: w.assign(xp.zeros(2, dtype=xp.float32)), ValueError, "float32.*'w'"),
        (lambda w: w.assign(2.0j), ValueError, "'w'"),
        (lambda w: w.assign_add(xp.zeros((3, 2))), ValueError, "'w'"),
        (lambda w: w.assign_sub("text"), TypeError, "text|str"),
        (lambda w: w.assign(None), TypeError, "None|object"),
        (lambda w: w.__setitem__(5, 1.0), IndexError, "5"),
        (lambda w: Variable("text"), TypeError, "str"),
        (lambda w: Variable([1.0], dtype="float99"), TypeError, "float99"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_changes(act, error, says, near):
    w = Variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=says):
        act(w)
    near(w, [1.0, 2.0])
