"""Variable: a new value is state, never recorded, and fits or is refused."""

import operator

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable
from arraytape.testing import storages

pytestmark = pytest.mark.any_storage


@pytest.fixture
def v():
    return Variable(3.0, name="v")


@pytest.mark.filterwarnings("ignore:gradient is None. Variable .* was assigned to")
def test_case_17_state_cuts_history(near):
    x0, x1 = Variable(3.0), Variable(0.0)
    with GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    gradients = tape.gradient(y, [x0, x1])
    assert gradients[0] is None
    near(gradients[1], 6.0)


@pytest.mark.filterwarnings("ignore:gradient is None. Variable .* was assigned to")
def test_case_43_what_assign_returns_is_the_variable(v, near):
    given = xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch(given)
        y = v.assign(given) * 5.0
    gradients = tape.gradient(y, [v, given])
    near(gradients[0], 5.0)
    assert gradients[1] is None


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


def test_a_sum_is_an_array_and_an_assignment_keeps_the_variable(v):
    same = v
    total = v + 1.0
    assert type(total) is xp.Array
    assert v.assign(1.0) is v.assign_add(4.0) is v.assign_sub(2.0) is same
    v += 1.0
    v -= 1.0
    assert v is same
    assert float(v) == 3.0


ASSIGNMENTS = {
    "assign": lambda v, x: v.assign(x),
    "assign_add": lambda v, x: v.assign_add(x),
    "assign_sub": lambda v, x: v.assign_sub(x),
    "in-place operator": lambda v, x: operator.iadd(v, x),
    "in-place power": lambda v, x: operator.ipow(v, x),
    "item": lambda v, x: v.__setitem__(0, x[0]),
}


@pytest.mark.parametrize("act", ASSIGNMENTS)
def test_an_assignment_is_never_recorded_as_a_write_and_cuts_history(act, near):
    v, x = Variable([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        before = len(tape._recording.records)
        ASSIGNMENTS[act](v, x if act != "item" else [5.0])
        assert len(tape._recording.records) == before
        z = v * 2.0
    dx, dv = tape.gradient([y, z], [x, v])
    near(dx, [6.0, 8.0])
    near(dv, [2.0, 2.0])


def test_differentiable_assign_is_not_offered(v):
    assert not hasattr(v, "differentiable_assign")


@pytest.mark.parametrize(
    ("initial", "dtype", "value", "expected"),
    [
        (1.0, None, 2, 2.0),
        (1.0, None, True, 1.0),
        ([1.0], "float32", [2.5], [2.5]),
        ([1.0], "float32", np.asarray([2.5]), [2.5]),
        (1j, None, 2.0, 2.0 + 0.0j),
        (1, "uint8", 255, 255),
    ],
)
def test_host_data_of_a_lesser_kind_take_the_variables_dtype(initial, dtype, value, expected):
    w = Variable(initial, dtype=dtype and getattr(xp, dtype))
    before = w.dtype
    w.assign(value)
    assert w.dtype == before
    np.testing.assert_array_equal(np.asarray(w), expected)


def test_whatever_assign_takes_can_be_added_and_subtracted(near):
    w = Variable([1.0, 2.0], dtype=xp.float32)
    for value in ([1.0, 1.0], (1, 1), np.asarray([1.0, 1.0]), np.float64(1.0), xp.ones_like(w), 1):
        w.assign_add(value)
        w.assign_sub(value).assign_sub(value)
        w += value
        assert w.dtype == xp.float32
        near(w, [1.0, 2.0])


@pytest.mark.filterwarnings("ignore:gradient is None. Variable .* was assigned to")
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


def elsewhere():
    """A device that is not the default one."""
    return storages.strict().devices()[-1]


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda w: w.assign([1.0, 2.0, 3.0]), ValueError, r"\(3,\).*'w'.*\(2,\)"),
        (lambda w: w.assign(xp.zeros(2, dtype=xp.complex128)), ValueError, "complex128.*'w'"),
        (lambda w: w.assign(xp.zeros(2, dtype=xp.float32)), ValueError, "float32.*'w'"),
        (lambda w: w.assign(2.0j), ValueError, "'w'"),
        (lambda w: w.assign(1.0), ValueError, r"float64\(\).*'w', float64\(2,\)"),
        (lambda w: w.assign(xp.asarray([1, 2])), ValueError, r"int64\(2,\).*'w'"),
        (lambda w: w.assign(xp.zeros(2, device=elsewhere())), ValueError, "does not fit .*'w'"),
        (lambda w: w.assign_add(1j), ValueError, "complex128.*'w'"),
        (lambda w: operator.iadd(w, xp.zeros((3, 2))), ValueError, r"\(3, 2\).*'w'"),
        (lambda w: operator.imul(w, xp.zeros(3)), ValueError, r"\(3,\)"),
        (lambda w: Variable(1).assign(1.5), ValueError, "float64.*int64"),
        (lambda w: Variable(True).assign(2), ValueError, "int64.*bool"),
        (lambda w: Variable(1, dtype=xp.uint8).assign(256), ValueError, "256.*uint8"),
        (lambda w: Variable(), TypeError, "initial_value"),
        (lambda w: Variable(None), TypeError, "None"),
        (lambda w: Variable(1.0, "w"), TypeError, "trainable must be True or False, got str 'w'"),
        (lambda w: Variable(1.0, name=3), TypeError, "name must be a str, got int 3"),
        (lambda w: w.assign_add(xp.zeros((3, 2))), ValueError, "'w'"),
        (lambda w: w.assign_sub("text"), TypeError, "text|str"),
        (lambda w: w.assign_add(None), TypeError, "NoneType"),
        (lambda w: w.assign_add([1.0, 2.0, 3.0]), ValueError, r"\(3,\)"),
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
