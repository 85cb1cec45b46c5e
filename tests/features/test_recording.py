"""Rows 1-24 of docs/reference/generated/features.md: recording control, Variables and modules."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.optimizers import SGD
from helpers.features import feature


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


@feature(1, "explicit recording context", "`with GradientTape() as tape`")
def test_what_runs_in_the_block_is_recorded(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
    near(tape.gradient(y, x), [2.0, 4.0, 6.0])


@feature(2, "`watch` of an array or a nesting", "`tape.watch({'a': x, 'b': [y]})`")
def test_a_nesting_is_watched(x, near):
    tree = {"a": x, "b": [xp.asarray(2.0)]}
    with xp.GradientTape() as tape:
        tape.watch(tree)
        y = xp.sum(tree["a"]) * tree["b"][0]
    found = tape.gradient(y, tree)
    near(found["a"], [2.0, 2.0, 2.0])
    near(found["b"][0], 6.0)


@feature(3, "trainable Variables are watched when they are read", "`xp.Variable(...)`")
def test_a_variable_needs_no_watch(near):
    v, fixed = xp.Variable(3.0), xp.Variable(4.0, trainable=False)
    with xp.GradientTape() as tape:
        y = v * v * fixed
    to_v, to_fixed = tape.gradient(y, [v, fixed])
    near(to_v, 24.0)
    assert to_fixed is None


@feature(4, "a tape that watches nothing by itself", "`watch_accessed_variables=False`")
def test_variables_are_left_alone_on_request(near):
    v, w = xp.Variable(3.0), xp.Variable(4.0)
    with xp.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    with pytest.warns(xp.TapeWarning, match="was not watched"):
        to_v, to_w = tape.gradient(y, [v, w])
    near(to_v, 4.0)
    assert to_w is None


@feature(5, "the watched Variables, in order of construction", "`tape.watched_variables()`")
def test_watched_variables_come_as_they_were_made():
    v, w = xp.Variable(3.0), xp.Variable(4.0)
    with xp.GradientTape() as tape:
        w * v
    assert [id(one) for one in tape.watched_variables()] == [id(v), id(w)]


@pytest.mark.filterwarnings("ignore:gradient is None")
@feature(6, "recording stops on one tape", "`with tape.stop_recording()`")
def test_one_tape_stops_and_another_goes_on(x, near):
    with xp.GradientTape() as outer, xp.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        with inner.stop_recording():
            y = xp.sum(x * x)
    near(outer.gradient(y, x), [2.0, 4.0, 6.0])
    assert inner.gradient(y, x) is None


@feature(7, "delete the records", "`tape.reset()`")
def test_a_reset_tape_starts_again(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        xp.sum(x * x)
        tape.reset()
        tape.watch(x)
        y = xp.sum(3.0 * x)
    near(tape.gradient(y, x), [3.0, 3.0, 3.0])


@feature(8, "a one-shot tape frees its records", "`GradientTape()`")
def test_a_second_gradient_of_a_one_shot_tape_is_an_error(x):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.exp(x))
    assert sum(row.kept for row in tape.memory().rows) > 0
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, x)


@feature(9, "a tape that computes several gradients", "`GradientTape(persistent=True)`")
def test_a_persistent_tape_answers_twice(x, near):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = xp.sum(y * y)
    near(tape.gradient(z, x), [4.0, 32.0, 108.0])
    near(tape.gradient(z, y), [2.0, 8.0, 18.0])


@feature(10, "nested tapes give higher orders", "a tape in a tape")
def test_a_tape_in_a_tape(x, near):
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(x**3)
        first = inner.gradient(y, x)
    near(outer.gradient(first, x), [6.0, 12.0, 18.0])


@feature(11, "tapes watch independently", "`tape.watch` on each")
def test_each_tape_follows_what_it_watches(near):
    x, y = xp.asarray(2.0), xp.asarray(5.0)
    with xp.GradientTape() as one, xp.GradientTape() as other:
        one.watch(x)
        other.watch(y)
        z = x * y
    near(one.gradient(z, x), 5.0)
    with pytest.warns(xp.TapeWarning, match="the tape watches"):
        assert other.gradient(z, x) is None


@feature(12, "a tape can be entered again", "`with tape:` again")
def test_a_tape_is_entered_again(x, near):
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = xp.sum(y * x)
    near(tape.gradient(z, x), [3.0, 12.0, 27.0])


@feature(13, "gradients with respect to intermediate values", "`tape.gradient(z, y)`")
def test_an_intermediate_value_is_a_source(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        z = xp.sum(y * y)
    near(tape.gradient(z, y), 2 * np.exp([1.0, 2.0, 3.0]))


@feature(14, "Python's `if` and `while` are recorded as they ran", "plain Python")
def test_control_flow_is_pythons(near):
    x = xp.asarray(1.5)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x
        while y < 10.0:
            y = y * x if y > 2.0 else y + x
    near(tape.gradient(y, x), 2 * 4 * 1.5**3)


@feature(15, "cotangents that the user gives", "`output_gradients=`")
def test_a_cotangent_is_given(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    near(tape.gradient(y, x, output_gradients=xp.asarray([1.0, 0.0, 2.0])), [2.0, 0.0, 12.0])


@feature(16, "several and non-scalar targets are summed", "`tape.gradient([y, z], x)`")
def test_targets_are_summed(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, {"z": 3.0 * x}
    near(tape.gradient([y, z], x), [5.0, 7.0, 9.0])


@feature(17, "Variables with assignments", "`assign`, `assign_add`, `assign_sub`")
def test_a_variable_is_assigned_to(near):
    v = xp.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    v.assign_add([1.0, 1.0])
    v.assign_sub([0.5, 0.5])
    near(v.value(), [3.5, 4.5])


@feature(18, "a Variable that is not trained", "`trainable=False`")
def test_a_variable_that_is_not_trained_can_be_watched(near):
    v = xp.Variable(3.0, trainable=False)
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    near(tape.gradient(y, v), 6.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
@feature(19, "an assignment is not recorded", "`v.assign`")
def test_what_is_assigned_has_no_history(near):
    x, v = xp.asarray(2.0), xp.Variable(0.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        v.assign(x * x)
        y = v * 3.0
    near(tape.gradient(y, v), 3.0)
    assert tape.gradient(y, x) is None


@feature(20, "an assignment that is differentiated, on request", "`x[...] = value` on an Array")
def test_a_write_to_an_array_is_recorded(near):
    x, state = xp.asarray(3.0), xp.zeros(())
    with xp.GradientTape() as tape:
        tape.watch(x)
        state[...] = x**3
        y = state + x
    near(tape.gradient(y, x), 28.0)


@feature(21, "a Module finds its Variables", "`Module.trainable_variables`")
def test_a_module_collects_variables():
    class Net(xp.Module):
        def __init__(self):
            self.parts = [xp.nn.Dense(2), {"scale": xp.Variable(1.0)}]

        def __call__(self, x):
            return self.parts[0](x) * self.parts[1]["scale"]

    net = Net()
    net(xp.ones((4, 3)))
    assert sorted(v.shape for v in net.trainable_variables) == [(), (2,), (3, 2)]


@feature(22, "optimizers; a gradient of None is skipped with a warning", "`apply_gradients`")
def test_none_is_skipped_with_a_warning(near):
    v, w = xp.Variable(1.0), xp.Variable(1.0)
    with pytest.warns(xp.TapeWarning):
        SGD(0.5).apply_gradients([(xp.asarray(1.0), v), (None, w)])
    near(v.value(), 0.5)
    near(w.value(), 1.0)


@feature(
    23,
    "`.grad` accumulated on leaves",
    "",
    lacks="by choice: gradients are returned, as in TensorFlow, so that there is no hidden state",
)
def test_gradients_are_returned_and_no_attribute():
    assert not hasattr(xp.Variable(1.0), "grad")


@feature(
    24,
    "a sparse type for the gradients of look-ups",
    "`x[rows]`, `xp.take`",
    partly="a look-up's gradient is added into its rows of one dense array: no IndexedSlices",
)
def test_the_gradient_of_a_look_up_touches_its_rows_only(near):
    table = xp.zeros((1000, 4))
    with xp.GradientTape() as tape:
        tape.watch(table)
        y = xp.sum(table[xp.asarray([3, 3, 7])])
    found = np.asarray(tape.gradient(y, table))
    near(xp.asarray(found[[3, 7]]), [[2.0] * 4, [1.0] * 4])
    assert np.count_nonzero(found) == 8
