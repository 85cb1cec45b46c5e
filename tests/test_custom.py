"""Functions with gradients of their own: custom_gradient and its kin, and ops defined by users."""

import functools
import inspect
import threading
import tracemalloc

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, testing
from arraytape._array import Array
from arraytape._op import REGISTRY
from arraytape._record import recorders
from arraytape.custom import REGISTERED

POINT = np.asarray([0.3, -0.4, 1.1])


def near(found, expected, rtol=1e-10):
    assert found is not None
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-12)


def gradient(f, *values, **options):
    """The gradients of ``f`` at ``values`` by a one-shot tape."""
    arrays = [xp.asarray(v) for v in values]
    with GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = tape.gradient(y, arrays, **options)
    return found[0] if len(values) == 1 else found


def derivative(f, order=1):
    """The derivative of this order of a function of one Array, by nested tapes."""
    if not order:
        return f

    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = derivative(f, order - 1)(x)
        return tape.gradient(y, x)

    return slope


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    known = set(REGISTRY)
    yield
    assert recorders() == ()
    for name in set(REGISTRY) - known:
        del REGISTRY[name]
        REGISTERED.pop(name, None)


@xp.custom_gradient
def log1pexp(x):
    e = xp.exp(x)
    return xp.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


def plain_log1pexp(x):
    return xp.log(1 + xp.exp(x))


@xp.custom_gradient
def product(a, b):
    return a * b, lambda dy: (dy * b, a * dy)


# --- custom_gradient ----------------------------------------------------------------------------
def test_case_51_log1pexp_is_stable():
    x = xp.asarray(100.0, dtype=xp.float32)
    with np.errstate(over="ignore"):
        g = gradient(log1pexp, x)
        assert np.isnan(np.asarray(gradient(plain_log1pexp, x, nan="keep")))
    assert float(g) == 1.0
    assert g.dtype == xp.float32


def test_the_function_keeps_its_value_name_and_docstring():
    @xp.custom_gradient
    def f(x):
        """Twice x."""
        return x * 2.0, lambda dy: dy * 100.0

    assert f.__name__ == "f"
    assert f.__doc__ == "Twice x."
    near(f(xp.asarray(3.0)), 6.0)
    near(gradient(f, 3.0), 100.0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_custom_gradient_works_to_any_order(order):
    x = xp.asarray(0.3)
    near(derivative(log1pexp, order)(x), derivative(plain_log1pexp, order)(x))


def test_custom_gradient_in_both_modes():
    testing.check_gradients(lambda x: xp.sum(log1pexp(x) * x), [POINT])
    testing.check_gradients(
        lambda a, b: xp.sum(product(a, b) ** 2 * a), [POINT, POINT[::-1].copy()]
    )
    testing.check_jvp(log1pexp, [POINT])
    testing.check_vjp(product, [POINT, POINT + 1])


def test_what_the_function_computes_on_a_host_has_derivatives_of_any_order():
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


def test_the_functions_own_ops_are_not_on_the_tape(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
        assert len(tape._records) == 1
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


def test_the_results_keep_their_nesting():
    @xp.custom_gradient
    def f(a, b):
        return {"sum": a + b, "both": [a * 2.0, (b * 3.0,)]}, lambda s, p, q: (s + 2 * p, s + 3 * q)

    a, b = xp.asarray(1.0), xp.asarray(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = f(a, b)
    assert list(y) == ["sum", "both"]
    near(y["both"][1][0], 6.0)
    assert [float(g) for g in tape.gradient(y, [a, b])] == [3.0, 4.0]
    assert [float(g) for g in tape.gradient(y["both"][0], [a, b])] == [2.0, 0.0]
    assert [float(g) for g in tape.gradient(y["sum"], [a, b])] == [1.0, 1.0]


def test_arguments_may_be_nested_and_some_no_arrays():
    @xp.custom_gradient
    def f(power, pair, *, scale=1.0, name=None):
        a, rest = pair
        y = scale * a**power * rest["b"]
        return y, lambda dy: (
            dy * scale * power * a ** (power - 1) * rest["b"],
            dy * scale * a**power,
        )

    a, b = xp.asarray(2.0), xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch([a, b])
        y = f(3, (a, {"b": b}), scale=10.0, name="x")
    assert float(y) == 400.0
    assert [float(g) for g in tape.gradient(y, [a, b])] == [600.0, 80.0]


def test_raw_arrays_count_as_arrays():
    a = xp.asarray([2.0, 3.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(a)
        y = product(a, np.asarray([10.0, 20.0]))
    near(tape.gradient(y, a), [10.0, 20.0])


def test_a_gradient_may_be_none():
    @xp.custom_gradient
    def f(a, b):
        return a * b, lambda dy: (dy * b, None)

    da, db = gradient(f, 2.0, 3.0)
    near(da, 3.0)
    assert db is None


def test_methods_can_be_decorated():
    class Scaled:
        factor = 3.0

        @xp.custom_gradient
        def __call__(self, x):
            return x * self.factor, lambda dy: dy * 30.0

    near(gradient(Scaled(), 2.0), 30.0)


def test_an_output_that_is_not_used_has_a_zero_cotangent():
    seen = []

    @xp.custom_gradient
    def f(x):
        def pull(*dy):
            seen.extend(np.asarray(g).tolist() for g in dy)
            return dy[0]

        return (x * 1.0, x * 2.0, xp.argmax(x)), pull

    near(gradient(lambda x: f(x)[0], [1.0, 2.0]), [1.0, 1.0])
    assert seen == [[1.0, 1.0], [0.0, 0.0], 0]


def test_an_argument_may_be_returned_as_it_is(x):
    @xp.custom_gradient
    def clipped(x):
        return x, lambda dy: xp.clip(dy, -0.5, 0.5)

    y = clipped(x)
    assert y is not x
    near(gradient(clipped, np.ones(3)), [0.5] * 3)
    near(derivative(lambda x: clipped(x) ** 2, 2)(xp.asarray(0.1)), 0.5)  # the outer one, too


def test_writing_to_a_result_or_an_argument_afterwards_changes_no_gradient():
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        z = y * 1.0
        x[0] = 50.0
        y += 100.0
    expected = 1 / (1 + np.exp(-np.asarray([1.0, 2.0])))
    near(tape.gradient(z, x), expected)
    near(tape.gradient(y, x), expected)


def test_writing_to_a_cotangent_inside_grad_fn_changes_no_other():
    @xp.custom_gradient
    def f(x):
        def pull(dy):
            dy *= 10.0
            return dy

        return x * 1.0, pull

    near(gradient(lambda x: (lambda y: f(y) + y)(x * 1.0), [1.0, 2.0]), [11.0, 11.0])
    near(derivative(lambda x: f(x) * x + x, 2)(xp.asarray(1.0)), 20.0)


def test_views_may_be_arguments_and_results():
    @xp.custom_gradient
    def f(x):
        return x[1:], lambda dy: xp.concat([xp.zeros((1,)), dy * 10.0])

    x = xp.asarray([1.0, 2.0, 3.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x[1:])
        y[0] = 0.0
    near(tape.gradient(y, x), [0.0, 0.0, 0.0, 10.0])
    near(x, [1.0, 2.0, 3.0, 4.0])


def test_complex_data():
    @xp.custom_gradient
    def square(z):
        return z * z, lambda dy: dy * xp.conj(2 * z)

    z = np.asarray([1 + 2j, -0.5j])
    near(gradient(lambda z: xp.sum(xp.real(square(z))), z), np.conj(2 * z))
    testing.check_vjp(square, [z])

    @xp.custom_gradient
    def real_to_complex(x):
        return x * (1 + 2j), lambda dy: xp.real(dy * (1 - 2j))

    near(gradient(lambda x: xp.abs(real_to_complex(x)) ** 2, 2.0), 20.0)


def test_nested_custom_gradients():
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


def test_a_rule_of_the_rule_can_be_given_too():
    @xp.custom_gradient
    def f(x):
        @xp.custom_gradient
        def slope(x):
            return x * 2.0, lambda dy: dy * 1000.0

        return x * x, lambda dy: dy * slope(x)

    x = xp.asarray(3.0)
    near(derivative(f, 1)(x), 6.0)
    near(derivative(f, 2)(x), 1000.0)


def test_a_tape_may_be_used_inside():
    @xp.custom_gradient
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x**3
        g = tape.gradient(y, x)
        return y * 1.0, lambda dy: dy * g

    near(derivative(f, 1)(xp.asarray(2.0)), 12.0)
    near(derivative(f, 2)(xp.asarray(2.0)), 12.0)


def test_a_persistent_tape_may_record_the_gradients_own_ops():
    x = xp.asarray(0.3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        with pytest.warns(TapeWarning, match="inside its context"):
            g = tape.gradient(y, x)
    near(tape.gradient(g, x), derivative(plain_log1pexp, 2)(x))


def test_each_tape_follows_only_what_it_watches():
    a, b = xp.asarray(2.0), xp.asarray(5.0)
    with GradientTape() as first, GradientTape() as second:
        first.watch(a)
        second.watch(b)
        y = product(a, b)
    assert [None if g is None else float(g) for g in first.gradient(y, [a, b])] == [5.0, None]
    assert [None if g is None else float(g) for g in second.gradient(y, [a, b])] == [None, 2.0]


def test_forward_mode_through_grad_fn(x):
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


def test_what_nobody_follows_is_called_as_it_is(x):
    near(log1pexp(x), plain_log1pexp(x))
    with GradientTape() as tape:
        y = log1pexp(x)
    assert tape.gradient(y, x) is None


def test_a_value_that_leaves_inside_is_no_exit(x):
    @xp.custom_gradient
    def f(x):
        return xp.asarray(np.asarray(x) * 2.0), lambda dy: None

    assert gradient(f, np.ones(3)) is None  # a warning would be an error


def test_grad_fn_that_fails_leaves_the_tape_usable(x):
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
        assert recorders() == (outer,)
        broken.clear()
        near(tape.gradient(y, x), [1.0] * 3)


def test_a_function_that_fails_leaves_the_stack_as_it_was(x):
    @xp.custom_gradient
    def f(x):
        raise ZeroDivisionError("from f")

    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError, match="from f"):
            f(x)
        assert recorders() == (tape,)
        y = x * x
    near(tape.gradient(y, x), [2.0, 4.0, 6.0])


def test_a_nan_from_grad_fn_is_kept_and_the_guard_passes_on_the_rest():
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


def test_gradients_in_several_threads():
    results = []

    def work():
        results.append(float(derivative(log1pexp, 2)(xp.asarray(0.3))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    near(results, [float(derivative(plain_log1pexp, 2)(xp.asarray(0.3)))] * 4)


# --- closures -------------------------------------------------------------------------------------
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
        lambda w, x: log1pexp(w) + x,
        lambda w, x: xp.recompute_grad(lambda x: x * w)(x),
    ],
    ids=["op", "constant-term", "result", "view", "sequence", "nested", "recompute"],
)
@pytest.mark.parametrize("watched", ["both", "closure"])
def test_a_watched_array_that_is_no_argument_is_an_error(how, watched):
    w, x = xp.asarray([2.0, 3.0]), xp.asarray([1.0, 1.0])
    with GradientTape() as tape:
        tape.watch(w if watched == "closure" else [w, x])
        with pytest.raises(ValueError, match=r"watched Array.*test_custom\.py:\d+.*stop_gradient"):
            closing(how)(w, x)
        assert recorders() == (tape,)


def test_a_watched_keyword_argument_is_an_error():
    f = xp.custom_gradient(lambda x, *, w: (x * w, lambda dy: dy * w))
    w = xp.asarray(2.0)
    near(gradient(lambda x: f(x, w=w), 3.0), 2.0)
    with GradientTape() as tape:
        tape.watch(w)
        with pytest.raises(ValueError, match="watched Array"):
            f(xp.asarray(3.0), w=w)


def test_a_stopped_closure_is_a_constant_and_grad_fn_may_use_watched_arrays():
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


def test_case_51_variables_get_their_gradients():
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


def test_variables_that_tapes_watch_when_they_are_read_are_watched_through_a_custom_gradient():
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
def test_case_52_grad_pass_through():
    state = xp.zeros(())

    def assign(value):
        state[...] = value
        return state

    def f(z):
        return xp.grad_pass_through(assign)(z**2)

    near(gradient(f, 3.0), 6.0)
    assert float(state) == 9.0
    near(derivative(f, 2)(xp.asarray(3.0)), 2.0)


def test_case_52_grad_pass_through_of_an_assignment_to_a_variable():
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


def test_rounding_straight_through(x):
    f = xp.grad_pass_through(xp.round)
    near(f(xp.asarray(2.6)), 3.0)
    near(gradient(lambda x: f(x) ** 2, 2.6), 6.0)
    with ForwardAccumulator(x, x) as accumulator:
        y = f(x)
    near(accumulator.jvp(y), x)


def test_pass_through_gives_what_it_closes_over_no_gradient():
    w, x = xp.asarray(2.0), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([w, x])
        y = xp.grad_pass_through(lambda x: x * w)(x)
    dw, dx = tape.gradient(y, [w, x])
    near(dx, 1.0)
    assert dw is None


def test_pass_through_of_several_arguments():
    f = xp.grad_pass_through(lambda a, b: (xp.floor(a), xp.floor(b)))
    da, db = gradient(lambda a, b: xp.sum(f(a, b)[0]) * 2 + xp.sum(f(a, b)[1]), [1.5], [1.0, 2.5])
    near(da, [2.0])
    near(db, [1.0, 1.0])


# --- recompute_grad ---------------------------------------------------------------------------------
def counting(f):
    """``f``, and the list that grows with each of its calls."""
    calls = []

    @functools.wraps(f)
    def counted(*args, **keywords):
        calls.append(1)
        return f(*args, **keywords)

    return counted, calls


def test_case_52_recompute_grad_runs_twice_for_each_call():
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


def test_recompute_grad_gives_the_gradient_of_the_function_itself():
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


def test_recompute_grad_of_recompute_grad():
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


def test_recompute_grad_guards_what_a_selection_did_not_take():
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


def test_recompute_grad_holds_at_most_a_quarter_of_a_chain_of_100_layers():
    x = xp.asarray(np.linspace(-1.0, 1.0, 20_000))
    plain, plain_peak, expected = kept_by(layers(lambda f: f), x)
    kept, peak, g = kept_by(layers(xp.recompute_grad), x)
    near(g, expected)
    assert kept < plain / 4
    assert peak < plain_peak / 2


def test_recompute_grad_keeps_nothing_but_its_inputs():
    x = xp.asarray(np.linspace(-1.0, 1.0, 20_000))
    kept, _, _ = kept_by(layers(xp.recompute_grad, every=100), x)
    assert kept < 2.5 * 160_000  # the input's share is its own; result and its sum


def test_recompute_grad_may_use_watched_arrays_from_outside():
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


def test_recompute_grad_counts_the_variables_that_the_function_reads():
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


def test_a_counter_may_go_on_counting_inside_recompute_grad():
    count = xp.Variable(0.0, trainable=False)

    def f(x):
        count.assign_add(1.0)
        return x * x + xp.stop_gradient(count) * 0.0

    near(gradient(xp.recompute_grad(f), 3.0), 6.0)
    assert float(xp.stop_gradient(count)) == 2.0


@pytest.mark.parametrize("wrap", [lambda f: f, xp.recompute_grad], ids=["custom", "recompute"])
def test_jacobians_go_through(wrap):
    f = wrap(lambda x: log1pexp(x) * x[0])
    x = xp.asarray(POINT)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, plain = f(x), plain_log1pexp(x) * x[0]
    near(tape.jacobian(y, x), tape.jacobian(plain, x))


def test_an_argument_of_recompute_grad_may_be_written_to_afterwards():
    x = xp.asarray([0.5, 0.1])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(lambda x: x * x)(x)
        x[0] = 100.0
    near(tape.gradient(y, x), [1.0, 0.2])


def test_writing_to_an_argument_inside_recompute_grad_stays_inside(x):
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
    with pytest.warns(TapeWarning, match=r"test_custom\.py:\d+ \(np\.asarray"):
        assert tape.gradient(y, x) is None


def test_an_op_without_a_rule_inside_recompute_grad_is_named(x):
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


# --- host functions ---------------------------------------------------------------------------------
def test_numpy_function_cuts_the_gradient_and_says_where(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.numpy_function(np.cumsum, x)
        line = inspect.currentframe().f_lineno - 1
    near(y, [1.0, 3.0, 6.0])
    with pytest.warns(
        TapeWarning, match=rf"test_custom\.py:{line} \(numpy_function\(cumsum\)\)"
    ) as found:
        assert tape.gradient(y, x) is None
    assert found[0].filename == __file__


def test_numpy_function_takes_and_gives_nestings(x):
    def f(pair, factor):
        assert all(type(part) is np.ndarray for part in pair)
        pair[0][...] = 0.0  # a copy
        return {"sum": pair[1].sum(), "n": 2, "parts": [pair[1] * factor]}

    found = xp.numpy_function(f, [(x, x * 2.0), 10.0])
    assert list(found) == ["sum", "n", "parts"]
    assert all(isinstance(leaf, Array) for leaf in (found["sum"], found["n"], found["parts"][0]))
    near(found["parts"][0], [20.0, 40.0, 60.0])
    near(x, [1.0, 2.0, 3.0])


def test_host_function_has_the_gradient_that_is_given():
    def vjp(g, y, x):
        assert type(g) is type(y) is type(x) is np.ndarray
        return g / (3 * y**2)

    f = xp.host_function(np.cbrt, vjp)
    near(gradient(f, [8.0, 27.0]), [1 / 12, 1 / 27])
    testing.check_vjp(f, [POINT + 1])
    assert f.__name__ == "cbrt"


def test_host_function_of_several_arguments_and_results():
    def f(a, n, b, *, scale):
        return scale * a * b, [a + b]

    def vjp(g, y, a, n, b):
        assert n == 7
        return g[0] * 2.0 * b + g[1][0], g[0] * 2.0 * a + g[1][0]

    op = xp.host_function(f, vjp)
    testing.check_vjp(
        lambda a, b: (lambda y: (y[0], y[1][0]))(op(a, 7, b, scale=2.0)), [POINT, POINT + 1]
    )


def test_a_vjp_may_give_none():
    f = xp.host_function(lambda a, b: a * b, lambda g, y, a, b: (g * b, None))
    da, db = gradient(f, 2.0, 3.0)
    near(da, 3.0)
    assert db is None


def test_the_second_derivative_of_a_host_function_is_an_error_that_names_it():
    f = xp.host_function(np.cbrt, lambda g, y, x: g / (3 * y**2))
    x = xp.asarray(8.0)
    with GradientTape(persistent=True) as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = f(x) + x**3
        g = inner.gradient(y, x)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        outer.gradient(g, x)
    near(outer.gradient(y, x), 1 / 12 + 192.0)
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        g = derivative(f)(x)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        accumulator.jvp(g)


def test_a_vjp_that_is_a_host_function_gives_the_second_derivative():
    def second(gg, r, g, y, x):
        return gg / (3 * y**2), -2 * gg * g / (3 * y**3), None

    slope = xp.host_function(lambda g, y, x: g / (3 * y**2), second)
    f = xp.host_function(np.cbrt, slope)
    testing.check_gradients(lambda x: xp.sum(f(x) * x), [POINT + 1], modes=("rev",))
    testing.check_jvp(f, [POINT + 1])


def test_forward_mode_through_a_host_function_needs_the_vjps_own():
    f = xp.host_function(np.cbrt, lambda g, y, x: g / (3 * y**2))
    x = xp.asarray(8.0)
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        y, z = f(x), x * x
    near(accumulator.jvp(z), 16.0)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        accumulator.jvp(y)


# --- bad input --------------------------------------------------------------------------------------
def backward(f, *values):
    return lambda: gradient(f, *(values or ([1.0, 2.0],)))


def ruled(pull, f=lambda x: x * 2.0):
    """f with this grad_fn."""

    def function(x):
        return f(x), pull

    return backward(xp.custom_gradient(function))


def two(pull):
    return backward(xp.custom_gradient(lambda a, b: (a * b, pull)), 1.0, 2.0)


LINE = lambda t, x: t * x  # noqa: E731
BAD = {
    "not-callable": (lambda: xp.custom_gradient(3.0), TypeError, ["function", "float 3.0"]),
    "no-pair": (backward(xp.custom_gradient(lambda x: x)), TypeError, ["(y, grad_fn)", "float64(2,)"]),
    "no-grad-fn": (
        backward(xp.custom_gradient(lambda x: (x, None))), TypeError, ["(y, grad_fn)"]),
    "three": (
        backward(xp.custom_gradient(lambda x: (x, x, len))), TypeError, ["(y, grad_fn)"]),
    "result-float": (
        backward(xp.custom_gradient(lambda x: (3.0, lambda dy: dy))), TypeError,
        ["custom_gradient(<lambda>)", "float 3.0", "asarray"]),
    "result-none": (
        backward(xp.custom_gradient(lambda x: ([x, None], lambda dy: dy))), TypeError, ["None"]),
    "too-many": (ruled(lambda dy: (dy, dy)), ValueError, ["2 gradients for 1 Array arguments"]),
    "too-few": (two(lambda dy: dy), ValueError, ["1 gradients for 2 Array arguments"]),
    "none-for-two": (two(lambda dy: None), ValueError, ["0 gradients for 2"]),
    "empty": (ruled(lambda dy: ()), ValueError, ["0 gradients for 1"]),
    "wrong-shape": (
        ruled(lambda dy: xp.sum(dy)), ValueError, ["argument 0 ('x')", "float64(2,)", "float64()"]),
    "wrong-shape-second": (
        two(lambda dy: (dy, xp.ones((3,)))), ValueError, ["argument 1 ('b')", "float64(3,)"]),
    "wrong-dtype": (
        ruled(lambda dy: xp.astype(dy, xp.float32)), ValueError, ["argument 0", "float32(2,)"]),
    "complex-for-real": (ruled(lambda dy: dy * 1j), ValueError, ["argument 0", "complex128"]),
    "integer": (ruled(lambda dy: xp.ones((2,), dtype=xp.int64)), ValueError, ["int64"]),
    "python-number": (ruled(lambda dy: 1.0), TypeError, ["argument 0 ('x')", "float 1.0"]),
    "string": (ruled(lambda dy: "a"), TypeError, ["argument 0 ('x')", "str 'a'"]),
    "wrong-cotangents": (ruled(lambda: 1.0), TypeError, ["positional argument"]),
    "writes-to-argument": (
        ruled(lambda dy: dy, lambda x: x.__setitem__(0, 5.0) or x * 1.0), ValueError,
        ["writes to argument 0 ('x')", "copy"]),
    "adds-to-argument": (
        ruled(lambda dy: dy, lambda x: x.__iadd__(1.0)), ValueError, ["writes to argument 0"]),
    "writes-through-view": (
        ruled(lambda dy: dy, lambda x: x[:1].__setitem__(0, 5.0) or x * 1.0), ValueError,
        ["writes to argument 0"]),
    "not-a-pair-for-variables": (
        ruled(lambda dy, variables: dy), ValueError, ["`variables`", "pair"]),
    "gradients-for-no-variables": (
        ruled(lambda dy, variables: (dy, [dy])), ValueError, ["1 gradients for 0 variables"]),
    "pass-through-not-callable": (lambda: xp.grad_pass_through(None), TypeError, ["None"]),
    "pass-through-shape": (
        backward(xp.grad_pass_through(xp.sum)), ValueError,
        ["grad_pass_through(sum)", "float64()", "float64(2,)"]),
    "pass-through-dtype": (
        backward(xp.grad_pass_through(lambda x: xp.astype(x, xp.int64))), ValueError, ["int64(2,)"]),
    "pass-through-count": (
        backward(xp.grad_pass_through(lambda x: (x, x))), ValueError, ["float64(2,)"]),
    "pass-through-result": (backward(xp.grad_pass_through(float), 1.0), TypeError, ["float 1.0"]),
    "recompute-not-callable": (lambda: xp.recompute_grad([]), TypeError, ["list []"]),
    "recompute-result": (
        backward(xp.recompute_grad(lambda x: None)), TypeError, ["recompute_grad", "None"]),
    "numpy-function-not-callable": (
        lambda: xp.numpy_function(None, xp.ones((1,))), TypeError, ["function"]),
    "numpy-function-result": (
        lambda: xp.numpy_function(lambda x: "a", xp.ones((1,))), TypeError,
        ["numpy_function(<lambda>)", "str 'a'"]),
    "numpy-function-none": (
        lambda: xp.numpy_function(lambda x: None, xp.ones((1,))), TypeError, ["None"]),
    "host-function-no-vjp": (lambda: xp.host_function(np.exp, None), TypeError, ["None"]),
    "host-function-not-callable": (lambda: xp.host_function(1, np.exp), TypeError, ["int 1"]),
    "host-function-shape": (
        backward(xp.host_function(np.exp, lambda g, y, x: g.sum())), ValueError,
        ["host_function(exp)", "argument 0", "float64()"]),
    "host-function-dtype": (
        backward(xp.host_function(lambda x: x * 2, lambda g, y, x: g.astype("f4"))), ValueError,
        ["argument 0 ('x')", "float32(2,)"]),
    "host-function-count": (
        backward(xp.host_function(np.exp, lambda g, y, x: (g, g))), ValueError,
        ["2 gradients for 1"]),
    "host-function-result": (
        backward(xp.host_function(lambda x: "a", lambda g, y, x: g)), TypeError, ["str 'a'"]),
    "register-unknown": (
        lambda: xp.register_gradient("spam")(LINE), LookupError, ["spam", "known ops"]),
    "register-known": (lambda: xp.register_gradient("exp")(LINE), KeyError, ["already", ".py:"]),
    "stop-gradient": (lambda: xp.stop_gradient(3.0), TypeError, ["float 3.0"]),
}  # fmt: skip


@pytest.mark.parametrize("row", BAD)
def test_a_bad_argument_is_said(row):
    call, error, says = BAD[row]
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for part in says:
        assert part in str(caught.value)
