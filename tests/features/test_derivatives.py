"""Rows 25-47 of docs/reference/generated/features.md: derivatives, structures, custom rules."""

import typing

import numpy as np
import pytest

import arraytape as xp
from helpers.features import feature


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def cubes(x):
    return xp.sum(x**3)


@feature(25, "value and gradient in one call", "`xp.value_and_grad(f)(x)`")
def test_value_and_gradient(x, near):
    value, gradient = xp.value_and_grad(cubes)(x)
    near(value, 36.0)
    near(gradient, [3.0, 12.0, 27.0])


@feature(26, "forward mode", "`xp.jvp`, `xp.ForwardAccumulator`")
def test_forward_mode(x, near):
    near(xp.jvp(cubes, (x,), (xp.ones(3),))[1], 42.0)
    with xp.ForwardAccumulator(x, xp.ones(3)) as accumulator:
        y = cubes(x)
    near(accumulator.jvp(y), 42.0)


@feature(27, "Jacobians", "`tape.jacobian`, `xp.jacobian`")
def test_jacobians(x, near):
    near(xp.jacobian(lambda x: x * x)(x), np.diag([2.0, 4.0, 6.0]))


@feature(28, "Jacobians of each example of a batch", "`tape.batch_jacobian`")
def test_batch_jacobian(near):
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    near(tape.batch_jacobian(y, x), [np.diag([2.0, 4.0]), np.diag([6.0, 8.0])])


@feature(29, "Hessians in one call", "`xp.hessian(f)(x)`")
def test_hessians(x, near):
    near(xp.hessian(cubes)(x), np.diag([6.0, 12.0, 18.0]))


@feature(
    30,
    "products with the Hessian and with Gauss-Newton matrices",
    "`xp.hvp`, `vhp`, `gauss_newton_product`",
)
def test_products(x, near):
    v = xp.asarray([1.0, 0.0, 2.0])
    near(xp.hvp(cubes, (x,), (v,))[0], [6.0, 0.0, 36.0])
    near(xp.vhp(cubes, (x,), (v,))[0], [6.0, 0.0, 36.0])
    (product,) = xp.gauss_newton_product(lambda x: x * x, lambda y: xp.sum(y * y), (x,), (v,))
    near(product, 2.0 * 4.0 * np.asarray([1.0, 0.0, 9.0 * 2.0]))


@feature(31, "a linearization: its tangents do not run the function again", "`xp.linearize(f, x)`")
def test_linearize(x, near):
    runs = []

    def f(x):
        runs.append(1)
        return x * x

    value, push = xp.linearize(f, x)
    near(value, [1.0, 4.0, 9.0])
    for v in (xp.ones(3), x):
        near(push(v), 2.0 * np.asarray(x) * np.asarray(v))
    assert len(runs) == 1


@feature(32, "one call over a batch; gradients of each example", "`xp.vmap(xp.grad(f))`")
def test_gradients_of_each_example(near):
    batch = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    near(xp.vmap(xp.grad(cubes))(batch), [[3.0, 12.0], [27.0, 48.0]])


@feature(33, "implicit derivatives of roots, minima, fixed points, linear systems", "`xp.implicit`")
def test_implicit_derivatives(near):
    pytest.importorskip("scipy", reason="the solvers are SciPy's")
    a = xp.asarray(2.0)
    near(xp.grad(lambda a: xp.implicit.root(lambda x, a: x**3 - a, 1.0, a))(a), 2.0 ** (-2 / 3) / 3)
    near(
        xp.hessian(lambda a: xp.implicit.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a))(a),
        -(2.0**-1.5) / 4,
    )


# --- structures ------------------------------------------------------------------------------------
class Line(typing.NamedTuple):
    slope: typing.Any
    start: typing.Any


@feature(34, "gradients in the nesting of the sources", "lists, tuples, dicts, named tuples")
def test_the_nesting_of_the_sources(near):
    line = Line(xp.asarray(2.0), [xp.asarray(1.0)])
    found = xp.grad(lambda line: line.slope * 5.0 + line.start[0] ** 2)(line)
    assert type(found) is Line
    near(found.slope, 5.0)
    near(found.start[0], 2.0)


class Point:
    """A container of the user's own, which is registered."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten(self):
        return {"x": self.x, "y": self.y}, None

    @classmethod
    def tree_unflatten(cls, rest, parts):
        return cls(**parts)


xp.register_nesting(Point)


@feature(35, "dataclasses and registered classes as nestings", "`xp.register_nesting`")
def test_containers_of_the_users_own(near):
    found = xp.grad(lambda p: p.x * p.y)(Point(xp.asarray(2.0), xp.asarray(5.0)))
    assert type(found) is Point
    near(found.x, 5.0)
    near(found.y, 2.0)


@feature(36, "None for what is not connected", "`tape.gradient`")
def test_none_for_what_is_not_connected(x):
    other = xp.asarray(1.0)
    with xp.GradientTape() as tape:
        tape.watch([x, other])
        y = xp.sum(x)
    assert tape.gradient(y, other) is None


@feature(37, "zeros on request", '`unconnected_gradients="zero"`')
def test_zeros_on_request(x, near):
    other = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch([x, other])
        y = xp.sum(x)
    near(tape.gradient(y, other, unconnected_gradients="zero"), [0.0, 0.0])


@feature(38, "None next to arrays in a nesting", "`tape.gradient(y, {'w': w, 'bias': None})`")
def test_none_in_a_nesting_has_none(x, near):
    layer = {"x": x, "bias": None}
    with xp.GradientTape() as tape:
        tape.watch(layer)
        y = xp.sum(layer["x"] ** 2)
    for found in (
        tape.gradient(y, layer),
        xp.grad(lambda t: xp.sum(t["x"] ** 2), verify=True)(layer),
    ):
        near(found["x"], [2.0, 4.0, 6.0])
        assert found["bias"] is None


@feature(39, "a gradient of zero differs from a missing connection", "zeros and None")
def test_zero_and_none_are_told_apart(x, near):
    other = xp.asarray(1.0)
    with xp.GradientTape() as tape:
        tape.watch([x, other])
        y = xp.sum(0.0 * x)
    to_x, to_other = tape.gradient(y, [x, other])
    near(to_x, [0.0, 0.0, 0.0])
    assert to_other is None


# --- custom rules ----------------------------------------------------------------------------------
@feature(40, "a VJP as a closure", "`xp.custom_gradient`")
def test_a_closure_is_the_rule(x, near):
    @xp.custom_gradient
    def halved(x):
        return x * 1.0, lambda g: 0.5 * g

    near(xp.grad(lambda x: xp.sum(halved(x)))(x), [0.5, 0.5, 0.5])


@feature(41, "a closure that uses Variables", "`grad(g, variables)`")
def test_a_rule_for_variables(near):
    v = xp.Variable(3.0)

    @xp.custom_gradient
    def scaled(x):
        def grad(g, variables):
            return g * 3.0, [g * 100.0 for _ in variables]

        return x * v, grad

    x = xp.asarray(2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    to_x, to_v = tape.gradient(y, [x, v])
    near(to_x, 3.0)
    near(to_v, 100.0)


@feature(
    42,
    "a JVP that the user writes",
    '`xp.define_op(..., "elementwise", jvp)`: both modes of one line',
)
def test_one_line_is_both_modes(x, near):
    softsign = xp.define_op(
        "softsign_of_features",
        lambda x, xp: x / (1 + xp.abs(x)),
        "elementwise",
        lambda t, x, xp: t / (1 + xp.abs(x)) ** 2,
    )
    slopes = 1 / (1 + np.asarray([1.0, 2.0, 3.0])) ** 2
    near(xp.jvp(softsign, (x,), (xp.ones(3),))[1], slopes)
    near(xp.grad(lambda x: xp.sum(softsign(x)))(x), slopes)


@feature(43, "a rule by an op's name", "`xp.register_gradient(name)`")
def test_a_rule_by_name(x, near):
    doubled = xp.define_op("doubled_of_features", lambda x: x * 2.0)
    xp.register_gradient("doubled_of_features")(lambda g: g * 2.0)
    near(xp.grad(lambda x: xp.sum(doubled(x)))(x), [2.0, 2.0, 2.0])


@feature(44, "a rule that is missing is an error that names the op", "`LookupError`")
def test_a_missing_rule_names_its_op(x):
    op = xp.define_op("without_rule_of_features", lambda x: x * 2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(op(x))
    with pytest.raises(LookupError, match="without_rule_of_features"):
        tape.gradient(y, x)


@feature(45, "stop the gradient", "`xp.stop_gradient`")
def test_a_gradient_is_stopped(x, near):
    near(xp.grad(lambda x: xp.sum(x * xp.stop_gradient(x)))(x), [1.0, 2.0, 3.0])


@feature(46, "straight-through estimates", "`xp.grad_pass_through`")
def test_straight_through(near):
    x = xp.asarray([0.4, 1.6])
    near(xp.grad(lambda x: xp.sum(3.0 * xp.grad_pass_through(xp.round)(x)))(x), [3.0, 3.0])


@feature(47, "code on the host with a gradient", "`xp.host_function`, `xp.numpy_function`")
def test_a_host_function_has_a_gradient(x, near):
    cube = xp.host_function(lambda a: a**3, lambda g, y, a: g * 3 * a**2)
    near(xp.grad(lambda x: xp.sum(cube(x)))(x), [3.0, 12.0, 27.0])
