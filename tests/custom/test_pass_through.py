"""grad_pass_through: functions with the gradient of the identity."""

import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def test_case_52_grad_pass_through(near, gradient, derivative):
    state = xp.zeros(())

    def assign(value):
        state[...] = value
        return state

    def f(z):
        return xp.grad_pass_through(assign)(z**2)

    near(gradient(f, 3.0), 6.0)
    assert float(state) == 9.0
    near(derivative(f, 2)(xp.asarray(3.0)), 2.0)


def test_case_52_grad_pass_through_of_an_assignment_to_a_variable(near, derivative):
    v = xp.Variable(1.0)
    for order, expected in ((1, 6.0), (2, 2.0)):
        f = lambda z: xp.grad_pass_through(v.assign)(z**2)  # noqa: E731
        near(derivative(f, order)(xp.asarray(3.0)), expected)
        assert float(xp.stop_gradient(v)) == 9.0
    z = xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch(z)
        y = xp.grad_pass_through(v.assign)(z**2)
    dz, dv = tape.gradient(y, [z, v])
    near(dz, 6.0)
    assert dv is None


def test_rounding_straight_through(x, near, gradient):
    f = xp.grad_pass_through(xp.round)
    near(f(xp.asarray(2.6)), 3.0)
    near(gradient(lambda x: f(x) ** 2, 2.6), 6.0)
    with ForwardAccumulator(x, x) as accumulator:
        y = f(x)
    near(accumulator.jvp(y), x)


def test_pass_through_gives_what_it_closes_over_no_gradient(near):
    w, x = xp.asarray(2.0), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([w, x])
        y = xp.grad_pass_through(lambda x: x * w)(x)
    dw, dx = tape.gradient(y, [w, x])
    near(dx, 1.0)
    assert dw is None


def test_pass_through_of_several_arguments(near, gradient):
    f = xp.grad_pass_through(lambda a, b: (xp.floor(a), xp.floor(b)))
    da, db = gradient(lambda a, b: xp.sum(f(a, b)[0]) * 2 + xp.sum(f(a, b)[1]), [1.5], [1.0, 2.5])
    near(da, [2.0])
    near(db, [1.0, 1.0])
