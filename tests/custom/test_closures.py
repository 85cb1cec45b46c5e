"""custom_gradient: what is used without being an argument, Variables above all."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape
from arraytape._record.stack import recorders

pytestmark = pytest.mark.any_storage

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
        assert recorders() == (tape._recording,)


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


def cubic(rule):
    """x -> x**2 * w**3 by a rule that gets at the Variable w in its own way, and w."""
    w = xp.Variable(2.0, name="w")

    @xp.custom_gradient
    def f(x):
        v = w.value()

        def pull(dy, variables):
            u = {"closure": w, "keyword": variables[0], "snapshot": v}[rule]
            return dy * 2 * x * u**3, [dy * 3 * x**2 * u**2]

        return x**2 * w**3, pull

    return f, w


RULES = ["closure", "keyword", "snapshot"]


@pytest.mark.parametrize("rule", RULES)
def test_variables_have_second_and_third_derivatives(rule, near):
    f, w = cubic(rule)
    x = xp.asarray(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape(persistent=True) as middle:
            middle.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            dx, dw = inner.gradient(y, [x, w])
        hessian = [*middle.gradient(dx, [x, w]), *middle.gradient(dw, [x, w])]
    near([float(g) for g in (dx, dw)], [48.0, 108.0])
    near([float(g) for g in hessian], [16.0, 72.0, 72.0, 108.0])
    near([float(g) for g in outer.gradient(hessian[3], [x, w])], [72.0, 54.0])


@pytest.mark.parametrize("rule", RULES)
def test_variables_in_forward_mode(rule, near):
    f, w = cubic(rule)
    x, one = xp.asarray(3.0), xp.asarray(1.0)
    with ForwardAccumulator([x, w], [one, one]) as outer:
        with ForwardAccumulator([x, w], [one, one]) as inner:
            y = f(x)
        slope = inner.jvp(y)
    near(slope, 48.0 + 108.0)
    near(outer.jvp(slope), 16.0 + 2 * 72.0 + 108.0)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_does_not_read_what_was_assigned_to_since(rule, near):
    f, w = cubic(rule)
    x = xp.asarray(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    w.assign(10.0)
    if rule == "snapshot":
        dx, dw = tape.gradient(y, [x, w])
        near(dx, 48.0)
        near(dw, 108.0)
        return
    with pytest.raises(RuntimeError, match=r"'w', which was assigned to since.*\.value\(\)"):
        tape.gradient(y, [x, w])
    w.assign(2.0)  # the same number is not the same value
    with pytest.raises(RuntimeError, match="assigned to since"):
        tape.jacobian(y, w)


def test_a_rule_may_count_and_read_what_the_function_did_not_read(near, gradient):
    strength, calls = xp.Variable(1.0, trainable=False), xp.Variable(0, trainable=False)

    @xp.custom_gradient
    def reverse(x):
        def pull(dy):
            calls.assign_add(1)
            return -strength * dy

        return x * 1.0, pull

    def f(x):
        y = reverse(x)
        strength.assign(5.0)
        return y

    near(gradient(f, 3.0), -5.0)
    assert int(calls) == 1


def test_a_variable_that_is_not_trainable_but_watched_is_no_silent_constant():
    w, x = xp.Variable(2.0, trainable=False), xp.asarray(3.0)
    f = xp.custom_gradient(lambda x: (x * w, lambda dy: dy * w))
    with GradientTape() as tape:
        tape.watch([x, w])
        with pytest.raises(ValueError, match="its gradient would be lost"):
            f(x)


@pytest.mark.parametrize(
    ("gradients", "says"),
    [
        (lambda dy: [dy, dy], "2 gradients for 1 variables"),
        (lambda dy: [], "0 gradients for 1 variables"),
        (lambda dy: [xp.ones((2,))], r"of variable weight must be float64\(\).*float64\(2,\)"),
        (lambda dy: [xp.astype(dy, xp.float32)], r"variable weight .*float32\(\)"),
        (lambda dy: {"weight": dy}, "got a dict"),
    ],
)
def test_gradients_of_variables_are_checked(gradients, says):
    w = xp.Variable(2.0, name="weight")
    f = xp.custom_gradient(lambda x: (x * w, lambda dy, variables: (dy, gradients(dy))))
    with GradientTape() as tape:
        y = f(xp.asarray(3.0))
    with pytest.raises(ValueError, match=says):
        tape.gradient(y, w)
    with pytest.raises(ValueError, match=says):
        tape.jacobian(y, w)


# --- the caller's Array of an argument, used next to the argument or in its place ----------------------
OWN = {
    "op": lambda outer, x: x * outer,
    "constant term": lambda outer, x: x + xp.sum(outer * outer),
    "in its place": lambda outer, x: outer * 2.0,
    "result": lambda outer, x: outer,
    "view": lambda outer, x: x * outer[:1],
    "sequence": lambda outer, x: xp.concat([x, outer])[:3],
    "nested": lambda outer, x: xp.custom_gradient(lambda w: (w * 1.0, lambda dy: dy))(outer) + x,
    "recompute": lambda outer, x: xp.recompute_grad(lambda x: x * outer)(x),
}
ONES = np.ones(3)
MODES_OF_OWN = {
    "grad": lambda f, x: xp.grad(f)(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
    "hessian": lambda f, x: xp.hessian(f)(x),
    "jvp": lambda f, x: xp.jvp(f, (x,), (xp.asarray(ONES),)),
    "jacfwd": lambda f, x: xp.jacfwd(f)(x),
    "hvp": lambda f, x: xp.hvp(f, (x,), (xp.asarray(ONES),)),
    "linearize": lambda f, x: xp.linearize(f, x),
    "vmap": lambda f, x: xp.vmap(xp.grad(f))(xp.stack([x, x])),
    "recompute": lambda f, x: xp.grad(xp.recompute_grad(f))(x),
}


def with_rule(f, grad_fn):
    return xp.custom_gradient(lambda x, **keywords: (f(x, **keywords), grad_fn))


@pytest.mark.parametrize("mode", MODES_OF_OWN)
@pytest.mark.parametrize("how", OWN)
def test_the_callers_array_of_an_argument_is_no_argument(how, mode, x):
    def captured(x):
        return xp.sum(with_rule(lambda a: OWN[how](x, a), lambda dy: dy)(x))

    def passed_by_name(x):
        return xp.sum(with_rule(lambda a, b: a * b, lambda dy: dy)(x, b=x))

    for f in (captured, passed_by_name):
        with pytest.raises(ValueError, match=r"watched Array.*use that argument"):
            MODES_OF_OWN[mode](f, x)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("used", ["argument", "caller's Array", "result"])
def test_grad_fn_may_use_argument_and_callers_array(used, persistent, x, near):
    """The first derivative of x**2 is taken after its tape was left, and recorded by another tape."""

    def g(x):
        def square(a):
            y = a * a
            root = {"argument": a, "caller's Array": x, "result": xp.sqrt(y)}[used]
            return y, lambda dy: dy * 2.0 * root

        return xp.custom_gradient(square)(x)

    with GradientTape(persistent=True) as outer:
        outer.watch(x)
        with GradientTape(persistent=persistent) as inner:
            inner.watch(x)
            y = g(x)
        dx = inner.gradient(y, x)
    near(dx, [2.0, 4.0, 6.0])
    near(outer.gradient(dx, x), [2.0, 2.0, 2.0])
    near(xp.jvp(xp.grad(lambda x: xp.sum(g(x))), (x,), (xp.asarray(ONES),))[1], [2.0] * 3)
    near(xp.hessian(lambda x: xp.sum(g(x)))(x), 2.0 * np.eye(3))
    if used == "result":
        return  # a one-shot tape that is alone keeps no records of the ops inside
    with GradientTape(persistent=persistent) as first:
        first.watch(x)
        y = g(x)
    with GradientTape() as second:
        second.watch(x)
        dx = first.gradient(y, x)
    near(second.gradient(dx, x), [2.0, 2.0, 2.0])
