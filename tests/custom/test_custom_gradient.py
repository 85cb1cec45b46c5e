"""custom_gradient: functions that say themselves what their gradient is."""

import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, testing
from arraytape._record.stack import recorders

pytestmark = pytest.mark.any_storage

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


@xp.custom_gradient
def product(a, b):
    return a * b, lambda dy: (dy * b, a * dy)


def test_case_51_log1pexp_is_stable(gradient, log1pexp, plain_log1pexp):
    x = xp.asarray(100.0, dtype=xp.float32)
    with np.errstate(over="ignore"):
        g = gradient(log1pexp, x)
        assert np.isnan(np.asarray(gradient(plain_log1pexp, x, nan="keep")))
    assert float(g) == 1.0
    assert g.dtype == xp.float32


def test_case_51_too_many_gradients_are_an_error():
    x = xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.custom_gradient(lambda x: (x * 2.0, lambda dy: (dy, dy)))(x)
    with pytest.raises(ValueError, match="2 gradients for 1 Array arguments"):
        tape.gradient(y, x)


def test_the_function_keeps_its_value_name_and_docstring(near, gradient):
    @xp.custom_gradient
    def f(x):
        """Twice x."""
        return x * 2.0, lambda dy: dy * 100.0

    assert f.__name__ == "f"
    assert f.__doc__ == "Twice x."
    near(f(xp.asarray(3.0)), 6.0)
    near(gradient(f, 3.0), 100.0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_custom_gradient_works_to_any_order(order, near, derivative, log1pexp, plain_log1pexp):
    x = xp.asarray(0.3)
    near(derivative(log1pexp, order)(x), derivative(plain_log1pexp, order)(x))


def test_custom_gradient_in_both_modes(log1pexp):
    testing.check_gradients(lambda x: xp.sum(log1pexp(x) * x), [POINT])
    testing.check_gradients(
        lambda a, b: xp.sum(product(a, b) ** 2 * a), [POINT, POINT[::-1].copy()]
    )
    testing.check_jvp(log1pexp, [POINT])
    testing.check_vjp(product, [POINT, POINT + 1])


def test_what_the_function_computes_on_a_host_has_derivatives_of_any_order(near, derivative):
    # y is known to grad_fn as the result by its own rule, not by how it was computed.
    @xp.custom_gradient
    def exp(x):
        y = xp.asarray(np.exp(np.asarray(x)))
        return y, lambda dy: dy * y

    x = xp.asarray(0.5)
    for order in range(4):
        near(derivative(exp, order)(x), np.exp(0.5))

    @xp.custom_gradient
    def column(x):
        y = xp.asarray(np.exp(np.asarray(x)))[:, None]
        return y, lambda dy: (dy * y)[:, 0]

    testing.check_gradients(lambda x: xp.sum(column(x) * x), [POINT])


def test_intermediate_results_of_several_outputs_are_known_to_outer_tapes():
    a = np.asarray([[2.0, 1.0], [1.0, 3.0]])

    @xp.custom_gradient
    def log_determinant(x):
        _, value = xp.linalg.slogdet(x)
        inverse = xp.linalg.inv(x)
        return value, lambda dy: dy * inverse.mT

    testing.check_gradients(lambda x: log_determinant(x) * xp.sum(x), [a])


def test_the_functions_own_ops_are_not_on_the_tape(x, near, log1pexp):
    with GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
        assert len(tape._recording.records) == 1
    near(tape.gradient(y, x), 1 / (1 + np.exp(-np.asarray(x))))


def test_what_one_tape_keeps_is_what_grad_fn_uses():
    @xp.custom_gradient
    def f(x):
        y = x
        for _ in range(100):
            y = xp.sin(y)
        return y, lambda dy: dy

    x = xp.asarray(np.ones(10_000))
    tape = GradientTape()
    tracemalloc.start()
    with tape:
        tape.watch(x)
        f(x)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 3 * 80_000


def test_nested_custom_gradients(near, derivative, log1pexp, plain_log1pexp):
    @xp.custom_gradient
    def outer(x):
        y = log1pexp(x) * x
        s = xp.exp(log1pexp(x))
        return y, lambda dy: dy * (log1pexp(x) + x * (1 - 1 / s))

    testing.check_gradients(lambda x: xp.sum(outer(x) * x), [POINT])
    for order in (1, 2, 3):
        x = xp.asarray(0.3)
        near(
            derivative(outer, order)(x),
            derivative(lambda x: plain_log1pexp(x) * x, order)(x),
        )


def test_a_rule_of_the_rule_can_be_given_too(near, derivative):
    @xp.custom_gradient
    def f(x):
        @xp.custom_gradient
        def slope(x):
            return x * 2.0, lambda dy: dy * 1000.0

        return x * x, lambda dy: dy * slope(x)

    x = xp.asarray(3.0)
    near(derivative(f, 1)(x), 6.0)
    near(derivative(f, 2)(x), 1000.0)


def test_a_tape_may_be_used_inside(near, derivative):
    @xp.custom_gradient
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x**3
        g = tape.gradient(y, x)
        return y * 1.0, lambda dy: dy * g

    near(derivative(f, 1)(xp.asarray(2.0)), 12.0)
    near(derivative(f, 2)(xp.asarray(2.0)), 12.0)


def test_a_tape_inside_may_watch_an_argument_that_nobody_follows(near, derivative):
    @xp.custom_gradient
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x**3
        g = tape.gradient(y, x)
        return g, lambda dy: dy * 6.0 * x

    near(slope(xp.asarray(2.0)), 12.0)
    with GradientTape() as tape:
        y = slope(xp.asarray(2.0))
    assert tape._recording.records == []
    near(y, 12.0)
    near(derivative(slope)(xp.asarray(2.0)), 12.0)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_custom_gradient_does_not_retain_its_result(persistent):
    f = xp.custom_gradient(lambda x: (xp.exp(x), lambda dy: dy))
    x = xp.asarray(np.ones(1000), device="cpu")
    with GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
        loss = xp.sum(y)
    result = weakref.ref(y._data)
    del y
    if persistent:  # an outer tape, or this one inside its block, may ask how it was computed
        tape.gradient(loss, x)
        del tape
    assert result() is None
    assert float(loss) > 0


def test_a_custom_gradient_keeps_what_grad_fn_uses_as_long_as_the_tape():
    def f(x):
        y = xp.exp(x)
        return y, lambda dy: dy * y

    x = xp.asarray(np.ones(1000), device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.custom_gradient(f)(x)
        loss = xp.sum(y)
    result = weakref.ref(y._data)
    del y
    assert result() is not None
    tape.gradient(loss, x)
    assert result() is None


def test_a_persistent_tape_may_record_the_gradients_own_ops(
    near, derivative, log1pexp, plain_log1pexp
):
    x = xp.asarray(0.3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        with pytest.warns(TapeWarning, match="inside its context"):
            g = tape.gradient(y, x)
    near(tape.gradient(g, x), derivative(plain_log1pexp, 2)(x))


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_each_tape_follows_only_what_it_watches():
    a, b = xp.asarray(2.0), xp.asarray(5.0)
    with GradientTape() as first, GradientTape() as second:
        first.watch(a)
        second.watch(b)
        y = product(a, b)
    assert [None if g is None else float(g) for g in first.gradient(y, [a, b])] == [5.0, None]
    assert [None if g is None else float(g) for g in second.gradient(y, [a, b])] == [None, 2.0]


def test_forward_mode_through_grad_fn(x, near, log1pexp):
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = log1pexp(x)
    near(accumulator.jvp(y), 1 / (1 + np.exp(-np.asarray(x))))
    with GradientTape() as tape:
        tape.watch(x)
        with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
            y = log1pexp(x)
        slope = accumulator.jvp(y)
    s = 1 / (1 + np.exp(-np.asarray(x)))
    near(tape.gradient(slope, x), s * (1 - s))


def test_what_nobody_follows_is_called_as_it_is(x, near, log1pexp, plain_log1pexp):
    near(log1pexp(x), plain_log1pexp(x))
    with GradientTape() as tape:
        y = log1pexp(x)
    with pytest.warns(TapeWarning, match="is not on the tape"):
        assert tape.gradient(y, x) is None


def test_a_value_that_leaves_inside_is_no_exit(x, gradient):
    @xp.custom_gradient
    def f(x):
        return xp.asarray(np.asarray(x) * 2.0), lambda dy: None

    assert gradient(f, np.ones(3)) is None  # a warning would be an error


def test_grad_fn_that_fails_leaves_the_tape_usable(x, near):
    broken = [True]

    @xp.custom_gradient
    def f(x):
        def pull(dy):
            if broken:
                raise ZeroDivisionError("from grad_fn")
            return dy

        return x * 1.0, pull

    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.raises(ZeroDivisionError, match="from grad_fn"):
            tape.gradient(y, x)
        assert recorders() == (outer._recording,)
        broken.clear()
        near(tape.gradient(y, x), [1.0] * 3)


def test_a_function_that_fails_leaves_the_stack_as_it_was(x, near):
    @xp.custom_gradient
    def f(x):
        raise ZeroDivisionError("from f")

    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError, match="from f"):
            f(x)
        assert recorders() == (tape._recording,)
        y = x * x
    near(tape.gradient(y, x), [2.0, 4.0, 6.0])


def test_a_nan_from_grad_fn_is_kept_and_the_guard_passes_on_the_rest(near, gradient):
    @xp.custom_gradient
    def root(x):
        y = xp.sqrt(x)
        return y, lambda dy: dy / (2 * y)

    # What a selection did not take is not masked inside a user's rule...
    g = np.asarray(gradient(lambda x: xp.where(x > 0, root(x), 0.0), [0.0, 4.0]))
    assert np.isnan(g[0])
    assert g[1] == 0.25
    # ...but before it and behind it.
    double = xp.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 2.0))
    near(gradient(lambda x: double(xp.where(x > 0, xp.sqrt(x), 0.0)), [0.0, 4.0]), [0.0, 0.5])


def test_gradients_in_several_threads(near, derivative, log1pexp, plain_log1pexp):
    results = []

    def work():
        results.append(float(derivative(log1pexp, 2)(xp.asarray(0.3))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    near(results, [float(derivative(plain_log1pexp, 2)(xp.asarray(0.3)))] * 4)


def test_a_rule_that_is_an_object_with_methods_of_its_own(near):
    class Rule:
        def __call__(self, dy):
            return 3.0 * dy

        def forward(self, tangents):
            raise AssertionError("nobody asked for this")

    @xp.custom_gradient
    def tripled(x):
        return 3.0 * x, Rule()

    x = xp.asarray([1.0, 2.0])
    near(xp.jvp(tripled, (x,), (x,))[1], [3.0, 6.0])
    near(xp.grad(lambda x: xp.sum(tripled(x)))(x), [3.0, 3.0])


@pytest.mark.parametrize("wrap", [lambda f: f, xp.recompute_grad], ids=["native", "recomputed"])
def test_what_is_watched_after_a_call_was_a_constant_of_it(wrap):
    @xp.custom_gradient
    def product(a, b):
        return a * b, lambda dy: (dy * b, dy * a)

    x, w = xp.asarray(1.5), xp.asarray(2.0)
    for f in (product, wrap(lambda a, b: a * b)):
        with xp.GradientTape() as tape:
            tape.watch(w)
            y = f(x, w)
            tape.watch(x)
            z = y + x
        to_x, to_w = tape.gradient(z, [x, w])
        assert (float(to_x), float(to_w)) == (1.0, 1.5)
