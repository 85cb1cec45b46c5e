"""Functions with a rule of their own, and those that run again, under vmap and outside of it."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose

X, ALONG, ROWS = [0.1, 0.2, 0.3], [0.3, -0.5, 0.7], [1.0, 2.0, -1.0]


def softplus(x, w):
    return xp.log(1 + xp.exp(x)) * w


def with_rule(x, w):
    @xp.custom_gradient
    def log1pexp(x):
        e = xp.exp(x)
        return xp.log(1 + e), lambda u: u * (1 - 1 / (1 + e))

    return log1pexp(x) * w


def with_shared_argument(x, w):
    """w is the same for all examples: its gradient is the sum over them."""

    @xp.custom_gradient
    def f(x, w):
        y = xp.log(1 + xp.exp(x))
        return y * w, lambda u: (u * w / (1 + xp.exp(-x)), u * y)

    return f(x, w)


def run_again(x, w):
    return xp.recompute_grad(softplus)(x, w)


def run_again_with_capture(x, w):
    return xp.recompute_grad(lambda x: softplus(x, w))(x)


def of_two_results(x, w):
    """The first result is the same for all w: its cotangent is not that of one example."""

    @xp.custom_gradient
    def f(x, w):
        def rule(u, v):
            return u * xp.cos(x) + v * w * 2.0 * x, v * x * x

        return (xp.sin(x), x * x * w), rule

    a, b = f(x, w)
    return a * b


def of_two_results_by_ops(x, w):
    return xp.sin(x) * x * x * w


def vmap_inside(x, w):
    """The vmap of the function has ended when its rule, or the function again, is run."""

    def f(x):
        return xp.vmap(lambda u: xp.log(1 + xp.exp(u)))(xp.stack([x, 2.0 * x]))[0]

    @xp.custom_gradient
    def with_rule(x):
        y, pull = xp.vjp(f, x)
        return y, lambda u: pull(u)[0]

    half = 0.5 * w
    return with_rule(x) * half + xp.recompute_grad(f)(x) * half


OF_EXAMPLES = {
    "vmap of x": lambda f, x, w: xp.sum(xp.vmap(f, (0, None))(x, w) * xp.asarray(ROWS)),
    "vmap of both": lambda f, x, w: xp.sum(xp.vmap(f)(x, w * x) * xp.asarray(ROWS)),
    "vmap of grad": lambda f, x, w: xp.sum(xp.vmap(xp.grad(f), (0, None))(x, w) * xp.asarray(ROWS)),
    "vmap in vmap": lambda f, x, w: xp.sum(
        xp.vmap(lambda u: xp.sum(xp.vmap(lambda v: f(u, v) * v)(x)))(x * w)
    ),
}
DERIVATIVES = {
    "gradient": lambda f, x, w, t: xp.grad(f, (0, 1))(x, w),
    "jacobian": lambda f, x, w, t: xp.jacobian(f, (0, 1))(x, w),
    "hessian": lambda f, x, w, t: xp.hessian(f, (0, 1))(x, w),
    "hvp": lambda f, x, w, t: xp.hvp(f, (x, w), (t, w)),
    "reverse over reverse": lambda f, x, w, t: xp.grad(lambda x: xp.sum(xp.grad(f, 1)(x, w)))(x),
    "reverse over forward": lambda f, x, w, t: xp.grad(lambda x: xp.jvp(f, (x, w), (t, w))[1])(x),
    "forward over forward": lambda f, x, w, t: xp.jvp(
        lambda x: xp.jvp(f, (x, w), (t, w))[1], (x,), (t,)
    )[1],
    "vmap of hvp": lambda f, x, w, t: xp.vmap(lambda t: xp.hvp(f, (x, w), (t, w))[0])(xp.eye(3)),
    "third order": lambda f, x, w, t: xp.jacobian(xp.hessian(f))(x, w),
}
FUNCTIONS = {
    "rule": (with_rule, softplus),
    "shared argument": (with_shared_argument, softplus),
    "run again": (run_again, softplus),
    "run again with capture": (run_again_with_capture, softplus),
    "vmap inside": (vmap_inside, softplus),
    "two results": (of_two_results, of_two_results_by_ops),
}


def flat(found):
    return [found] if isinstance(found, xp.Array) else [x for part in found for x in flat(part)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("examples", OF_EXAMPLES)
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.every(5)
def test_derivatives_are_those_of_the_same_in_ops(function, examples, derivative):
    x, w, t = xp.asarray(X), xp.asarray(1.3), xp.asarray(ALONG)
    found, expected = (
        DERIVATIVES[derivative](lambda x, w, f=f: OF_EXAMPLES[examples](f, x, w), x, w, t)
        for f in FUNCTIONS[function]
    )
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert np.allclose(a, b, 1e-10)


def test_a_hook_on_a_value_of_one_example_computes_with_it():
    seen = []

    def hook(g):
        seen.append(g.shape)
        return g * 2.0

    x = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(x)

        def f(u):
            v = u * u
            diagnose.on_gradient(v, hook)
            return v

        y = xp.sum(xp.vmap(f)(x))
    assert np.allclose(tape.gradient(y, x), 4.0 * np.asarray(X))
    assert seen == [()]


def test_a_value_of_one_example_that_a_rule_takes_from_outside_is_refused():
    """The result is the same for all examples, so its cotangent is a sum over them."""

    def example(c, x):
        @xp.custom_gradient
        def f(x):
            return xp.sin(x), lambda u: u * c

        return f(x)

    def total(x, c):
        return xp.sum(xp.vmap(example, (0, None))(c, x) * c)

    with pytest.raises(ValueError, match=r"uses a value of one example .*pass it as an argument"):
        xp.grad(total)(xp.asarray(1.0), xp.asarray(ROWS))


@pytest.mark.parametrize(
    "forward", [lambda x: np.sort(x), lambda x: np.asarray([float(part) for part in x])]
)
def test_an_op_that_computes_with_numpy_says_what_to_do_under_vmap(forward, request):
    name = f"of_numpy_{request.node.callspec.indices['forward']}"
    op = xp.define_op(name, forward, "primitive", lambda g: g)
    with pytest.raises(
        TypeError, match=rf"compute with those of a parameter xp .* call {name} in a loop"
    ):
        xp.vmap(op)(xp.ones((3, 4)))
    with_xp = xp.define_op(f"{name}_xp", lambda x, xp: xp.sort(x), "primitive", lambda g: g)
    assert xp.vmap(with_xp)(xp.ones((3, 4))).shape == (3, 4)
