"""recompute_grad: functions that run again in the backward pass."""

import functools
import tracemalloc
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, testing

pytestmark = pytest.mark.any_storage

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def counting(f):
    """``f``, and the list that grows with each of its calls."""
    calls = []

    @functools.wraps(f)
    def counted(*args, **keywords):
        calls.append(1)
        return f(*args, **keywords)

    return counted, calls


def test_case_52_recompute_grad_runs_twice_for_each_call(near, gradient, derivative):
    f, calls = counting(lambda x: x**3)
    g = xp.recompute_grad(f)
    near(gradient(g, 2.0), 12.0)
    assert len(calls) == 2
    near(gradient(lambda x: g(x) + g(2 * x), 2.0), 12.0 + 96.0)
    assert len(calls) == 6
    near(derivative(g, 2)(xp.asarray(2.0)), 12.0)


def test_recompute_grad_without_a_tape_runs_once(x):
    f, calls = counting(lambda x: x**3)
    xp.recompute_grad(f)(x)
    assert len(calls) == 1


def busy(x, power=2, *, shift=0.0):
    z = xp.zeros((4,))
    z[1:] = xp.sin(x) * xp.exp(x)
    view = z[::2]
    view *= x[0]
    z += shift
    return {"y": z**power, "rest": [xp.max(x), xp.stack([x, x])]}


def test_recompute_grad_gives_the_gradient_of_the_function_itself(near, gradient, derivative):
    def total(f):
        def g(x):
            found = f(x, 3, shift=0.5)
            return xp.sum(found["y"]) + found["rest"][0] * 2.0 + xp.sum(found["rest"][1][0] ** 2)

        return g

    f = xp.recompute_grad(busy)
    near(gradient(total(f), POINT), gradient(total(busy), POINT))
    testing.check_gradients(total(f), [POINT])
    x = xp.asarray(0.3)
    wave = lambda x: xp.sin(x) * xp.exp(x)  # noqa: E731
    for order in range(5):
        near(derivative(xp.recompute_grad(wave), order)(x), derivative(wave, order)(x))


def test_recompute_grad_of_recompute_grad(log1pexp):
    inner = xp.recompute_grad(lambda x: xp.sin(x) * x)
    f = xp.recompute_grad(lambda x: inner(inner(x)) * x)
    testing.check_gradients(lambda x: xp.sum(f(x)), [POINT])
    g = xp.recompute_grad(lambda x: log1pexp(x) * x)
    testing.check_gradients(lambda x: xp.sum(g(x) * x), [POINT])


def test_recompute_grad_of_complex_data():
    f = xp.recompute_grad(lambda z: xp.exp(z) * xp.conj(z))
    testing.check_vjp(f, [np.asarray([1 + 2j, -0.5j])])
    g = xp.recompute_grad(lambda x: xp.abs(xp.exp(1j * x) + x))
    testing.check_gradients(lambda x: xp.sum(g(x)), [POINT])


def test_recompute_grad_guards_what_a_selection_did_not_take(near, gradient, derivative):
    root = xp.recompute_grad(xp.sqrt)
    masked = xp.recompute_grad(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0))
    for f in (lambda x: xp.where(x > 0, root(x), 0.0), masked, xp.recompute_grad(masked)):
        near(gradient(f, [0.0, 4.0]), [0.0, 0.25])
    cusp = xp.recompute_grad(lambda x: xp.where(x > 0, x**1.5, 0.0))
    near(derivative(cusp, 2)(xp.asarray([0.0, 4.0])), [0.0, 0.375])


def layers(wrap, depth=100, every=10):
    def block(x):
        for _ in range(every):
            x = xp.tanh(x * 1.01 + 0.01)
        return x

    def f(x):
        for _ in range(depth // every):
            x = wrap(block)(x)
        return x

    return f


def kept_by(f, x):
    tape = GradientTape()
    tracemalloc.start()
    with tape:
        tape.watch(x)
        y = xp.sum(f(x))
    kept, _ = tracemalloc.get_traced_memory()
    g = tape.gradient(y, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept, peak, g


@pytest.mark.usefixtures("host_memory")
def test_recompute_grad_holds_at_most_a_quarter_of_a_chain_of_100_layers(near):
    x = xp.asarray(np.linspace(-1.0, 1.0, 20_000))
    plain, plain_peak, expected = kept_by(layers(lambda f: f), x)
    kept, peak, g = kept_by(layers(xp.recompute_grad), x)
    near(g, expected)
    assert kept < plain / 4
    assert peak < plain_peak / 2


@pytest.mark.usefixtures("host_memory")
def test_recompute_grad_keeps_nothing_but_its_inputs():
    x = xp.asarray(np.linspace(-1.0, 1.0, 20_000))
    kept, _, _ = kept_by(layers(xp.recompute_grad, every=100), x)
    assert kept < 2.5 * 160_000  # the input's share is its own; result and its sum


def test_recompute_grad_may_use_watched_arrays_from_outside(near):
    w, x = xp.asarray([2.0, 3.0]), xp.asarray([0.5, 0.1])
    f = xp.recompute_grad(lambda x: xp.sin(x * w) + w[0])
    with GradientTape() as outer:
        outer.watch([w, x])
        with GradientTape() as tape:
            tape.watch([w, x])
            y = f(x)
        dw, dx = tape.gradient(y, [w, x])
    cos = np.cos(np.asarray(w) * np.asarray(x))
    near(dx, cos * np.asarray(w))
    near(dw, cos * np.asarray(x) + [2.0, 0.0])
    near(outer.gradient(dx, w), cos - np.sin(np.asarray(w * x)) * np.asarray(w * x))


def test_a_watched_array_from_outside_that_is_written_to_is_an_error():
    w, x = xp.asarray([2.0, 3.0]), xp.asarray([0.5, 0.1])
    with GradientTape() as tape:
        tape.watch([w, x])
        y = xp.recompute_grad(lambda x: x * w)(x)
        w[0] = 100.0
    with pytest.raises(RuntimeError, match="was written to since"):
        tape.gradient(y, [w, x])


def test_recompute_grad_counts_the_variables_that_the_function_reads(near):
    w, b = xp.Variable([2.0, 3.0]), xp.Variable(0.5)
    x = xp.asarray([0.5, 0.1])

    def layer(x):
        return xp.tanh(x * w + b)

    def slopes(f):
        with GradientTape() as outer:
            with GradientTape() as tape:
                y = f(f(x))
            g = tape.gradient(y, [w, b])
        return [*g, *outer.gradient(g, [w, b])]

    for found, expected in zip(slopes(xp.recompute_grad(layer)), slopes(layer), strict=True):
        near(found, expected)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_variable_that_is_assigned_to_before_the_backward_pass_is_an_error(trainable):
    w = xp.Variable(2.0, trainable=trainable, name="weight")
    with GradientTape() as tape:
        tape.watch(w)
        y = xp.recompute_grad(lambda x: x * w)(xp.asarray(3.0))
    w.assign(100.0)
    with pytest.raises(RuntimeError, match=r"'weight'.*was assigned to since"):
        tape.gradient(y, w)


@pytest.mark.parametrize(
    "use",
    [lambda x, w: x * w, lambda x, w: x * xp.stop_gradient(w), lambda x, w: x * float(w)],
    ids=["op", "stopped", "float"],
)
def test_a_value_that_nobody_watches_is_no_other_in_the_second_run(use, near):
    x = xp.asarray(3.0, device="cpu")  # elsewhere nobody may look whether a value is the same
    w = xp.Variable(xp.asarray(2.0, device="cpu"), trainable=False, name="scale")
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(lambda x: use(x, w))(x)
    w.assign(100.0)
    with pytest.raises(RuntimeError, match="'scale', which the function reads, was assigned to"):
        tape.gradient(y, x)
    w.assign(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near(tape.gradient(y, x), 2.0)


@pytest.mark.parametrize("first", ["read", "assign"])
def test_a_state_that_the_function_changes_is_in_the_second_run_as_in_the_first(first, near):
    state, x = xp.Variable(2.0, trainable=False, name="state"), xp.asarray(3.0)

    def f(x):
        if first == "assign":
            state.assign_add(1.0)
        y = x * state
        if first == "read":
            state.assign_add(1.0)
        return y

    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(f)(x)
    near(tape.gradient(y, x), 2.0 if first == "read" else 3.0)
    near(state, 3.0)


def test_a_state_that_changed_again_since_is_put_back_where_it_was(near):
    state, x = xp.Variable(2.0, trainable=False), xp.asarray(3.0)

    def f(x):
        y = x * state
        state.assign_add(1.0)
        return y

    inner = xp.recompute_grad(f)
    for g in (inner, xp.recompute_grad(lambda x: inner(x) * 1.0)):
        state.assign(2.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        state.assign(50.0)
        near(tape.gradient(y, x), 2.0)
        near(state, 50.0)


def test_a_second_run_that_fails_leaves_the_state_as_it_was(near):
    state, x, fails = xp.Variable(2.0, trainable=False), xp.asarray(3.0), []

    def f(x):
        state.assign_add(1.0)
        if fails:
            raise KeyboardInterrupt
        return x * state

    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(f)(x)
    fails.append(True)
    with pytest.raises(KeyboardInterrupt):
        tape.gradient(y, x)
    near(state, 3.0)


def test_a_counter_and_a_running_mean_may_go_on_inside_recompute_grad(near, gradient):
    here = xp.asarray(0.0, device="cpu")
    count, mean, last = (xp.Variable(zero, trainable=False) for zero in (0, 0.0, here))

    def f(x):
        count.assign_add(1)
        mean.assign(0.5 * mean + 0.5 * xp.stop_gradient(x))
        return x * x

    def g(x):
        last.assign(x)  # the same in each run
        return x * x * xp.stop_gradient(last)

    f, g = xp.recompute_grad(f), xp.recompute_grad(g)
    near(gradient(lambda x: f(x) + f(x), 3.0), 12.0)
    near(gradient(g, xp.asarray(3.0, device="cpu")), 18.0)
    assert int(count) == 2  # once for each call: the second runs leave no trace
    near(mean, 3.0 * (1 - 0.5**2))


def test_a_keyword_argument_counts_and_is_the_same_in_the_second_run(near):
    x, w = xp.asarray(3.0), xp.asarray(2.0)

    def f(x, *, w):
        y = x * w
        w *= 100.0
        return y

    with GradientTape() as tape:
        tape.watch([x, w])
        y = xp.recompute_grad(f)(x, w=w)
    dx, dw = tape.gradient(y, [x, w])
    near(dx, 2.0)
    near(dw, 3.0)
    near(w, 2.0)


def test_a_second_run_that_fails_can_be_tried_again(near):
    runs = []

    def f(x):
        runs.append(1)
        if len(runs) == 2:
            raise ZeroDivisionError("the second run")
        return x**3

    x = xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(f)(x)
    with pytest.raises(ZeroDivisionError, match="the second run"):
        tape.gradient(y, x)
    near(tape.gradient(y, x), 12.0)
    assert len(runs) == 3


@pytest.mark.parametrize("wrap", [lambda f: f, xp.recompute_grad], ids=["custom", "recompute"])
def test_jacobians_go_through(wrap, near, log1pexp, plain_log1pexp):
    f = wrap(lambda x: log1pexp(x) * x[0])
    x = xp.asarray(POINT)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, plain = f(x), plain_log1pexp(x) * x[0]
    near(tape.jacobian(y, x), tape.jacobian(plain, x))


def test_an_argument_of_recompute_grad_may_be_written_to_afterwards(near):
    x = xp.asarray([0.5, 0.1])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(lambda x: x * x)(x)
        x[0] = 100.0
    near(tape.gradient(y, x), [1.0, 0.2])


def test_writing_to_an_argument_inside_recompute_grad_stays_inside(x, near, gradient):
    def f(x):
        x *= 2.0
        return x * x

    near(gradient(xp.recompute_grad(f), np.ones(3)), [8.0] * 3)
    with GradientTape() as tape:
        tape.watch(x)
        xp.recompute_grad(f)(x)
    near(x, [1.0, 2.0, 3.0])


def test_a_function_that_gives_something_else_the_second_time_is_an_error(x):
    shapes = [(3,), (2,)]
    f = xp.recompute_grad(lambda x: x[: shapes.pop(0)[0]] * 1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(RuntimeError, match="something else when it ran again"):
        tape.gradient(y, x)


def test_an_exit_inside_recompute_grad_is_named(x):
    f = xp.recompute_grad(lambda x: xp.asarray(np.asarray(x) * 2.0))
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.warns(TapeWarning, match=r"test_recompute\.py:\d+ \(np\.asarray"):
        assert tape.gradient(y, x) is None


def test_an_op_without_a_rule_inside_recompute_grad_is_named(x, near):
    op = xp.define_op("cuberoot", lambda x: x ** (1 / 3))
    f = xp.recompute_grad(lambda x: op(x) * 2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        z = x * x
    with pytest.raises(LookupError, match="cuberoot"):
        tape.gradient(y, x)
    near(tape.gradient(z, x), [2.0, 4.0, 6.0])
    with ForwardAccumulator(x, x) as accumulator:
        y = f(x)
    with pytest.raises(LookupError, match="cuberoot"):
        accumulator.jvp(y)


def test_forward_mode_through_recompute_grad():
    f = xp.recompute_grad(lambda x: busy(x)["y"])
    testing.check_jvp(f, [POINT])
    testing.check_vjp(f, [POINT])
