"""Variable: state that tapes watch when it is read."""

import copy
import operator
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, Variable
from arraytape.testing import storages


@pytest.fixture
def v():
    return Variable(3.0, name="v")


def test_case_1_a_trainable_variable_is_watched_by_any_read(v, near):
    with GradientTape() as tape:
        y = v**2
    near(tape.gradient(y, v), 6.0)


def test_case_6_only_trainable_variables_are_watched_unasked(near):
    x0, x1 = Variable(3.0, name="x0"), Variable(3.0, name="x1", trainable=False)
    x2, x3 = Variable(2.0, name="x2") + 1.0, xp.asarray(3.0)
    with GradientTape() as tape:
        y = x0**2 + x1**2 + x2**2
    gradients = tape.gradient(y, [x0, x1, x2, x3])
    near(gradients[0], 6.0)
    assert gradients[1:] == [None, None, None]
    assert [variable.name for variable in tape.watched_variables()] == ["x0"]


def test_case_7_without_watch_accessed_variables_nothing_is_watched_unasked(near):
    x0, x1 = Variable(0.0), Variable(10.0)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x1)
        y = xp.sin(x0) + xp.logaddexp(x1, xp.asarray(0.0))
    gradients = tape.gradient(y, {"x0": x0, "x1": x1})
    assert gradients["x0"] is None
    near(gradients["x1"], 1.0 / (1.0 + np.exp(-10.0)))


def test_case_14_a_variable_that_became_an_array_is_not_watched(near):
    x = Variable(2.0)
    found = []
    for _ in range(2):
        with GradientTape() as tape:
            y = x + 1.0
        found.append(tape.gradient(y, x))
        x = x + 1.0
    near(found[0], 1.0)
    assert found[1] is None


def test_case_17_state_cuts_history(near):
    x0, x1 = Variable(3.0), Variable(0.0)
    with GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    gradients = tape.gradient(y, [x0, x1])
    assert gradients[0] is None
    near(gradients[1], 6.0)


def test_case_43_a_value_read_before_the_tape_is_a_constant(v):
    before = v.value()
    with GradientTape() as tape:
        y = before * before
    assert tape.gradient(y, v) is None


def test_case_43_what_assign_returns_is_the_variable(v, near):
    given = xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch(given)
        y = v.assign(given) * 5.0
    gradients = tape.gradient(y, [v, given])
    near(gradients[0], 5.0)
    assert gradients[1] is None


def test_case_54_pythons_max_of_variables(near):
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
        before = len(tape._records)
        ASSIGNMENTS[act](v, x if act != "item" else [5.0])
        assert len(tape._records) == before
        z = v * 2.0
    dx, dv = tape.gradient([y, z], [x, v])
    near(dx, [6.0, 8.0])
    near(dv, [2.0, 2.0])


def test_differentiable_assign_is_not_offered(v):
    assert not hasattr(v, "differentiable_assign")


def test_the_parameters_have_tensorflows_names_and_places():
    w = Variable(1, False, "count", xp.float32)
    assert (float(w), w.trainable, w.name, w.dtype) == (1.0, False, "count", xp.float32)
    w = Variable(initial_value=1.0)
    assert (w.trainable, w.name, w.dtype) == (True, "Variable", xp.float64)
    assert Variable(dtype=xp.float32, name="w", trainable=False, initial_value=1).name == "w"


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


def test_watched_variables_are_listed_once_in_the_order_in_which_they_were_made():
    a, b, c = (Variable(1.0, name=name) for name in "abc")
    with GradientTape() as tape:
        tape.watch(c)
        b * a * b * c
    assert [w.name for w in tape.watched_variables()] == ["a", "b", "c"]


@pytest.mark.parametrize("method", ["gradient", "jacobian"])
def test_watched_variables_survive_the_release(v, method):
    with GradientTape() as tape:
        y = v * v
    getattr(tape, method)(y, v)
    assert tape.watched_variables() == (v,)


def test_watched_variables_are_none_after_a_reset_and_a_fresh_start(v):
    tape = GradientTape()
    assert tape.watched_variables() == ()
    with tape:
        v * v
        tape.reset()
        assert tape.watched_variables() == ()
        y = v * v
        assert tape.watched_variables() == (v,)
    tape.gradient(y, v)
    with tape:
        assert tape.watched_variables() == ()


READS = {
    "op": lambda w: w * 2.0,
    "function": lambda w: xp.exp(w),
    "asarray": lambda w: xp.asarray(w),
    "value": lambda w: w.value(),
    "index": lambda w: w[0],
    "view": lambda w: w[:1],
    "reshape": lambda w: xp.reshape(w, (2, 1)),
    "iteration": lambda w: list(w),
    "comparison": lambda w: w == 1.0,
    "float": lambda w: float(w[0]),
    "tolist": lambda w: w.tolist(),
    "NumPy": lambda w: np.asarray(w),
    "operand on the right": lambda w: 2.0 - w,
    "value that is written": lambda w: xp.zeros((2,)).__setitem__(slice(None), w),
}


@pytest.mark.parametrize("read", READS)
def test_any_read_of_a_trainable_variable_is_seen(read):
    w = Variable([1.0, 2.0])
    with GradientTape() as tape, GradientTape(watch_accessed_variables=False) as blind:
        READS[read](w)
    assert tape.watched_variables() == (w,)
    assert blind.watched_variables() == ()


def test_a_read_inside_stop_recording_or_in_another_thread_is_not_seen(v):
    with GradientTape() as tape:
        with tape.stop_recording():
            y = v * v
        with ThreadPoolExecutor(1) as pool:
            z = pool.submit(lambda: v * v).result()
        v.assign(v)
        copy.copy(v)
        repr(v), v.shape, v.dtype, v.name
    assert tape.watched_variables() == ()
    assert tape.gradient([y, z], v) is None


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
