"""How calls of the user's own functions are captured: what counts as input and as result."""

import numpy as np
import pytest

import arraytape as xp
from arraytape._custom.recompute import RECOMPUTED
from arraytape._custom.recorded_calls import CUSTOM, CallRecord
from arraytape._record.plan import inputs_of, results_of

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def test_the_inputs_of_a_recomputed_call_are_the_values_before_its_function_wrote_to_them(x, near):
    @xp.recompute_grad
    def twice(y):
        y *= 2.0
        y[0] = 0.0
        return y

    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.sum(twice(x) * x)
    near(tape.gradient(z, x), [0.0, 8.0, 12.0])
    near(x, [1.0, 2.0, 3.0])


def test_a_result_that_is_an_input_has_a_gradient_of_both_orders(x, near, derivative):
    @xp.custom_gradient
    def identity(y):
        return y, lambda dy: dy * y

    near(derivative(lambda x: identity(x) * 1.0)(x), [1.0, 2.0, 3.0])
    near(derivative(lambda x: identity(x) * 1.0, order=2)(x), [1.0, 1.0, 1.0])


def test_a_result_that_is_a_watched_array_from_outside_is_refused_or_collected(x, near):
    w = xp.asarray([4.0, 5.0, 6.0])
    with xp.GradientTape() as tape:
        tape.watch([x, w])
        with pytest.raises(ValueError, match="that is not among its positional arguments, in its"):
            xp.custom_gradient(lambda y: (w, lambda dy: dy))(x)
        z = xp.recompute_grad(lambda y: w)(x)
    found = tape.gradient(z, [x, w])
    assert found[0] is None
    near(found[1], [1.0, 1.0, 1.0])


def test_a_gradient_in_host_data_of_a_strange_dtype_is_refused(x):
    square = xp.custom_gradient(lambda y: (y * y, lambda dy: np.array([None] * 3)))
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = square(x)
    with pytest.raises(ValueError, match=r"the gradient of argument 0 \('y'\) must be float64"):
        tape.gradient(z, x)


def test_the_record_of_a_call_is_a_plain_tuple_that_reads_by_name(x):
    v = xp.Variable(2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 2.0))(x)
        z = xp.recompute_grad(lambda x: (x * v, x + v))(x)
    for record, plan, arrays in zip(
        tape._recording.records, (CUSTOM, RECOMPUTED), ([y], z), strict=True
    ):
        assert type(record) is tuple
        read = CallRecord(*record)
        assert read.plan == plan.number
        assert read.outs == results_of(record) == tuple(a._current_id() for a in arrays)
        assert read.value_ids == inputs_of(record)
        assert read.value_ids[0] == x._current_id()
        assert read.call.name.startswith(plan.name)
