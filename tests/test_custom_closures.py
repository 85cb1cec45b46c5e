"""Functions with gradients of their own that use what is not among their arguments."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape
from arraytape._record import recorders

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def closing(how):
    """A function that closes over a watched Array, and what to do with it."""

    def f(w, x):
        @xp.custom_gradient
        def g(x):
            return how(w, x), lambda dy: dy * w

        return g(x)

    return f


@pytest.mark.parametrize(
    "how",
    [
        lambda w, x: x * w,
        lambda w, x: x + xp.sum(w * w),
        lambda w, x: w,
        lambda w, x: x * w[:1],
        lambda w, x: xp.concat([x, w])[:2],
        lambda w, x: xp.custom_gradient(lambda w: (w * 1.0, lambda dy: dy))(w) + x,
        lambda w, x: xp.recompute_grad(lambda x: x * w)(x),
    ],
    ids=["op", "constant-term", "result", "view", "sequence", "nested", "recompute"],
)
@pytest.mark.parametrize("watched", ["both", "closure"])
def test_a_watched_array_that_is_no_argument_is_an_error(how, watched):
    w, x = xp.asarray([2.0, 3.0]), xp.asarray([1.0, 1.0])
    with GradientTape() as tape:
        tape.watch(w if watched == "closure" else [w, x])
        with pytest.raises(ValueError, match=r"watched.*closures\.py:\d+.*stop_gradient"):
            closing(how)(w, x)
        assert recorders() == (tape,)


def test_a_watched_keyword_argument_is_an_error(near, gradient):
    f = xp.custom_gradient(lambda x, *, w: (x * w, lambda dy: dy * w))
    w = xp.asarray(2.0)
    near(gradient(lambda x: f(x, w=w), 3.0), 2.0)
    with GradientTape() as tape:
        tape.watch(w)
        with pytest.raises(ValueError, match="watched Array"):
            f(xp.asarray(3.0), w=w)


def test_a_stopped_closure_is_a_constant_and_grad_fn_may_use_watched_arrays(near):
    w, x = xp.asarray([2.0, 3.0]), xp.asarray([1.0, 1.0])
    how = lambda w, x: x * xp.stop_gradient(w)  # noqa: E731
    with GradientTape() as outer:
        outer.watch(w)
        with GradientTape() as tape:
            tape.watch([w, x])
            y = closing(how)(w, x)
        dw, dx = tape.gradient(y, [w, x])
    assert dw is None
    near(dx, [2.0, 3.0])
    near(outer.gradient(dx, w), [1.0, 1.0])  # grad_fn is array code like any other


def test_case_51_variables_need_the_keyword():
    w = xp.Variable([2.0, 3.0], name="w")
    f = xp.custom_gradient(lambda x: (x * w.value(), lambda dy: dy))
    with GradientTape() as tape:
        tape.watch(w)
        with pytest.raises(TypeError, match=r"the variables w, .*`variables`"):
            f(xp.asarray(1.0))


def test_case_51_variables_get_their_gradients(near):
    w = xp.Variable([1.0, 2.0], name="w")

    @xp.custom_gradient
    def line(x):
        v = w.value()
        y = v[0] * x + v[1]

        def pull(dy, variables):
            (same,) = variables
            assert same is w
            return dy * same[0], [xp.stack([xp.sum(dy * x), xp.sum(dy)])]

        return y, pull

    x = xp.asarray([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch([x, w])
        y = line(x)
    dx, dw = tape.gradient(y, [x, w])
    near(dx, [1.0] * 3)
    near(dw, [6.0, 3.0])


def test_variables_that_tapes_watch_when_they_are_read_are_watched_through_a_custom_gradient(near):
    w = xp.Variable([1.0, 2.0])

    @xp.custom_gradient
    def scaled(x):
        return x * w, lambda dy, variables: (dy * variables[0], [dy * x * 100.0])

    x = xp.asarray([3.0, 4.0])
    with GradientTape() as unrelated, GradientTape() as tape:
        y = scaled(x)
    assert tape.watched_variables() == (w,)
    near(tape.gradient(y, w), [300.0, 400.0])
    near(unrelated.gradient(y, w), [300.0, 400.0])


def test_variables_without_the_keyword_are_named_also_without_a_tape():
    w = xp.Variable(2.0, name="weight")
    f = xp.custom_gradient(lambda x: (x * w, lambda dy: dy))
    with pytest.raises(TypeError, match="weight"):
        f(xp.asarray(1.0))


# --- grad_pass_through ------------------------------------------------------------------------------
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
