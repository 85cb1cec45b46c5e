"""define_op: ops of users, in the library's own five words."""

import functools
import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, testing
from arraytape._array.array import Array
from arraytape._record.op import REGISTRY, sample

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


# --- define_op --------------------------------------------------------------------------------------
def softsign(x, xp):
    """x / (1 + |x|)."""
    return x / (1 + xp.abs(x))


def softsign_line(t, x, xp):
    return t / (1 + xp.abs(x)) ** 2


def test_an_elementwise_op(near, gradient):
    op = xp.define_op("softsign", softsign, "elementwise", softsign_line)
    assert REGISTRY["softsign"].public is op
    assert list(inspect.signature(op).parameters) == ["x"]
    assert op.__doc__ == "x / (1 + |x|)."
    near(op(xp.asarray([1.0, -3.0])), [0.5, -0.75])
    testing.check_gradients(lambda x: xp.sum(op(x) * x), [POINT])
    x = xp.asarray([1.0], dtype=xp.float32)
    assert gradient(op, np.ones(3, np.float32)).dtype == xp.float32
    assert op(x).dtype == xp.float32


def test_an_elementwise_op_of_two_inputs_broadcasts(near):
    op = xp.define_op(
        "damped", lambda a, b, xp, *, rate=2.0: a * xp.exp(-rate * b), "elementwise",
        lambda t, b, rate, xp: t * xp.exp(-rate * b),
        lambda t, y, rate: t * (-rate * y),
    )  # fmt: skip
    testing.check_gradients(lambda a, b: xp.sum(op(a, b)), [np.ones((3, 1)), POINT])
    testing.check_gradients(lambda a: xp.sum(op(a, 0.7, rate=0.5) ** 2), [POINT])
    near(op(1.0, xp.asarray(0.5)), np.exp(-1.0))


def test_a_linear_op(near):
    def window(x, *, width=2):
        return np.cumsum(x)[width - 1 :] - np.concatenate([[0.0], np.cumsum(x)[:-width]])

    def transpose(g, shape, width, xp):
        parts = [xp.concat([xp.zeros((i,)), g, xp.zeros((width - 1 - i,))]) for i in range(width)]
        return functools.reduce(lambda a, b: a + b, parts)

    op = xp.define_op("window", window, "linear", transpose)
    near(op(xp.asarray([1.0, 2.0, 3.0])), [3.0, 5.0])
    testing.check_gradients(lambda x: xp.sum(op(x, width=3) ** 2), [np.arange(5.0)])
    with ForwardAccumulator(xp.asarray(POINT), xp.ones((3,))) as accumulator:
        pass
    assert accumulator.jvp(op(xp.asarray(POINT))) is None


def test_a_primitive_op_with_a_rule_for_each_input():
    op = xp.define_op(
        "outer_product", lambda a, b: a[:, None] * b, "primitive",
        lambda g, b: g @ b, lambda g, a: a @ g,
    )  # fmt: skip
    testing.check_gradients(lambda a, b: xp.sum(op(a, b) ** 3), [POINT, np.ones(2)])


def test_a_primitive_op_with_a_joint_rule_and_several_results():
    op = xp.define_op(
        "polar", lambda x, y: (np.hypot(x, y), np.arctan2(y, x)), outputs=("r", "phi"),
        joint=lambda g, x, y, r, xp: (
            (0.0 if g[0] is None else g[0] * x / r) - (0.0 if g[1] is None else g[1] * y / r**2),
            (0.0 if g[0] is None else g[0] * y / r) + (0.0 if g[1] is None else g[1] * x / r**2),
        ),
    )  # fmt: skip
    testing.check_vjp(lambda x, y: op(x, y), [POINT + 1, POINT + 2])
    testing.check_gradients(lambda x: xp.sum(op(x, 2.0 * x)[0]), [POINT + 1])


def test_annotations_name_the_array_inputs():
    def scaled(factor: float, x: Array, /, *, power: int = 2) -> Array:
        return factor * x**power

    op = xp.define_op(
        "scaled_power", scaled, "primitive",
        lambda g, x, factor, power: g * factor * power * x ** (power - 1),
    )  # fmt: skip
    testing.check_gradients(lambda x: xp.sum(op(2.0, x, power=3)), [POINT])


def test_a_sequence_of_arrays():
    def glue(arrays: "Sequence[Array]") -> Array:  # noqa: F821
        return np.concatenate(arrays)

    op = xp.define_op("glue", glue, "linear", lambda g, shape: (g[: shape[0][0]], g[shape[0][0] :]))
    testing.check_gradients(lambda a, b: xp.sum(op([a, b]) ** 2), [POINT, np.ones(2)])


def test_a_nondifferentiable_and_a_composite_op(x, near, gradient):
    steps = xp.define_op("steps", lambda x: np.floor(x), "nondifferentiable")
    assert gradient(steps, POINT) is None
    body = lambda x: xp.exp(x) * steps(x)  # noqa: E731
    op = xp.define_op("stepped", body, "composite")
    assert op is body
    assert REGISTRY["stepped"].public is body
    near(gradient(op, [1.5]), np.exp([1.5]))


def test_an_op_may_get_its_rule_later(x, gradient):
    op = xp.define_op("cuberoot", lambda x: np.cbrt(x))
    with pytest.raises(LookupError, match="no entry for: cuberoot"):
        gradient(op, POINT)
    xp.register_gradient("cuberoot")(lambda g, y: g / (3 * y * y))
    line = inspect.currentframe().f_lineno - 1
    testing.check_gradients(lambda x: xp.sum(op(x) * x), [POINT + 1])
    with pytest.raises(KeyError, match=rf"test_define_op\.py:{line}"):
        xp.register_gradient("cuberoot")(lambda g: g)


def test_what_ran_before_its_op_had_a_rule_must_be_recorded_again(x, near, gradient):
    op = xp.define_op("cuberoot", lambda x: np.cbrt(x))
    with xp.GradientTape() as tape, ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        tape.watch(x)
        y = op(x)
    with pytest.raises(LookupError, match=r"register_gradient\('cuberoot'\)"):
        tape.gradient(y, x)
    xp.register_gradient("cuberoot")(lambda g, y: g / (3 * y * y))
    for ask in (lambda: tape.gradient(y, x), lambda: accumulator.jvp(y)):
        with pytest.raises(LookupError, match=r"no entry for: cuberoot\. .* record again"):
            ask()
    near(gradient(op, POINT), np.abs(POINT) ** (-2 / 3) / 3)


def test_a_taken_name_is_a_key_error_with_the_place():
    xp.define_op("softsign", softsign, "elementwise", softsign_line)
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(KeyError, match=rf"softsign.*test_define_op\.py:{line}"):
        xp.define_op("softsign", softsign, "elementwise", softsign_line)
    with pytest.raises(KeyError, match=r"exp.*elementwise_functions\.py:\d+"):
        xp.define_op("exp", softsign, "elementwise", softsign_line)


def test_a_result_that_is_the_input_or_a_view_of_it_is_copied(near):
    op = xp.define_op("turned", lambda x: x.T, "linear", lambda g, xp: xp.matrix_transpose(g))
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = op(x)
    y[0, 0] = 100.0
    near(x, [[1.0, 2.0], [3.0, 4.0]])


def test_an_op_cannot_write_to_its_inputs():
    op = xp.define_op("doubled", lambda x: np.multiply(x, 2, out=x), "linear", lambda g: 2 * g)
    with pytest.raises(ValueError, match=r"doubled.*read-only"):
        op(xp.asarray([1.0]))


def test_rules_contributions_are_fitted_to_the_inputs(near, gradient):
    op = xp.define_op(
        "weighted", lambda x: x * 2, "primitive", lambda g: np.float64(2.0) * g.astype("float64")
    )
    g = gradient(op, np.ones(3, np.float32))
    assert g.dtype == xp.float32
    near(g, [2.0] * 3)


def test_samples_of_a_users_op_serve_the_testing_tools():
    op = xp.define_op("softsign", softsign, "elementwise", softsign_line, samples=(sample((3, 4)),))
    declared = REGISTRY["softsign"]
    arguments = testing.materialise(declared, declared.samples[0], np.float64)
    function, inputs = testing.as_function(declared, declared.samples[0], arguments)
    testing.check_vjp(function, inputs)
    assert op.__name__ == "softsign"


# --- bad input --------------------------------------------------------------------------------------
LINE = lambda t, x: t * x  # noqa: E731
BAD = {
    "op-name": (lambda: xp.define_op("a b", softsign), TypeError, ["identifier", "'a b'"]),
    "op-name-none": (lambda: xp.define_op(None, softsign), TypeError, ["identifier"]),
    "op-taken": (lambda: xp.define_op("sum", softsign), KeyError, ["'sum'", "declared at"]),
    "op-word": (
        lambda: xp.define_op("op", softsign, "bilinear"), ValueError, ["elementwise", "'bilinear'"]),
    "op-not-callable": (lambda: xp.define_op("op", 3), TypeError, ["callable", "int 3"]),
    "op-no-rule": (
        lambda: xp.define_op("op", softsign, "elementwise"), TypeError, ["takes 1 rules, got 0"]),
    "op-two-rules": (
        lambda: xp.define_op("op", softsign, "linear", LINE, LINE), TypeError, ["1 rules, got 2"]),
    "op-too-few-rules": (
        lambda: xp.define_op("op", lambda a, b: a, "primitive", lambda g: g), TypeError,
        ["('a', 'b')", "2 rules, got 1"]),
    "op-needless-rule": (
        lambda: xp.define_op("op", softsign, "nondifferentiable", LINE), TypeError, ["0 rules"]),
    "op-rules-and-joint": (
        lambda: xp.define_op("op", softsign, "primitive", LINE, joint=LINE), TypeError, ["joint"]),
    "op-asks": (
        lambda: xp.define_op("op", softsign, "elementwise", lambda t, spam: t), TypeError, ["spam"]),
    "op-first-name": (
        lambda: xp.define_op("op", softsign, "elementwise", lambda x: x), TypeError, ["t or g"]),
    "op-three-elementwise": (
        lambda: xp.define_op("op", lambda a, b, c: a, "elementwise", LINE, LINE), TypeError,
        ["3 rules, got 2", "('a', 'b', 'c')"]),
    "op-linear-in-two": (
        lambda: xp.define_op("op", lambda a, b: a, "linear", LINE), TypeError, ["linear takes 1"]),
    "op-no-input": (lambda: xp.define_op("op", lambda: 1), TypeError, ["array inputs"]),
    "op-star": (lambda: xp.define_op("op", lambda *x: x), TypeError, ["*x"]),
    "op-keyword-star": (lambda: xp.define_op("op", lambda x, **k: x), TypeError, ["**k"]),
    "op-default": (
        lambda: xp.define_op("op", lambda x, f=len: x), TypeError, ["default of f", "literal"]),
    "op-reserved": (
        lambda: xp.define_op("op", lambda x, *, kind=1: x), TypeError, ["'kind'"]),
    "op-no-signature": (
        lambda: xp.define_op("op", min), TypeError, ["signature", "lambda"]),
    "op-result": (
        lambda: xp.define_op("op", lambda x: "a")(xp.ones((2,))), TypeError, ["op(", "str 'a'"]),
    "op-result-none": (
        lambda: xp.define_op("op", lambda x: None)(xp.ones((2,))), TypeError, ["None"]),
    "op-one-result-of-two": (
        lambda: xp.define_op("op", lambda x: x + 1, outputs=("a", "b"))(xp.ones((2,))), ValueError,
        ["tuple of 2", "('a', 'b')"]),
    "op-elementwise-shape": (
        lambda: xp.define_op("op", lambda x: x.sum(), "elementwise", LINE)(xp.ones((2,))),
        ValueError, ["elementwise", "(2,)", "()"]),
    "op-fails": (
        lambda: xp.define_op("op", lambda x: x[5])(xp.ones((2,))), IndexError,
        ["op(x: Array float64(2,)) failed"]),
    "op-argument": (
        lambda: xp.define_op("op", lambda x: x * 2)("a"), TypeError, ["op: x must be an Array"]),
}  # fmt: skip


@pytest.mark.parametrize("row", BAD)
def test_a_bad_argument_is_said(row):
    call, error, says = BAD[row]
    known = set(REGISTRY)
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for part in says:
        assert part in str(caught.value)
    if row.startswith("op-") and "result" not in row and "shape" not in row:
        assert set(REGISTRY) - known <= {"op"}


def test_an_op_that_is_refused_leaves_its_name_free():
    with pytest.raises(TypeError):
        xp.define_op("softsign", softsign, "elementwise", lambda t, spam: t)
    xp.define_op("softsign", softsign, "elementwise", softsign_line)


@pytest.mark.parametrize(
    "name", ["state", "answer", "followed", "type", "any", "t_x", "error", "RAW"]
)
def test_a_parameter_may_not_be_called_as_what_the_compiled_function_uses(name):
    scope = {}
    exec(f"def forward(x, *, {name}=1): return x", scope)
    with pytest.raises(TypeError, match=f"a parameter may not be called '{name}'"):
        xp.define_op("with_a_bad_name", scope["forward"], "primitive", None)


def test_a_parameter_may_be_called_as_what_values_have(near):
    op = xp.define_op("with_a_good_name", lambda x, t, *, shape=1, dtype=2: x * t * shape * dtype)
    near(op(xp.ones((2,)), xp.asarray(2.0)), [4.0, 4.0])
    near(op(xp.ones((2,)), xp.asarray(2.0), shape=3, dtype=1), [6.0, 6.0])


@pytest.mark.parametrize("name", ["shape", "dtype", "y"])
def test_a_rule_may_not_ask_by_one_name_for_two_things(name):
    """It was handed the shape of the input, or the result, in the place of the parameter."""
    scope = {}
    exec(f"def forward(x, *, {name}=1): return x * {name}", scope)
    exec(f"def rule(g, {name}): return g * {name}", scope)
    with pytest.raises(TypeError, match=f"called '{name}', and a rule .* another name"):
        xp.define_op("with_two_meanings", scope["forward"], "primitive", scope["rule"])
    xp.define_op("with_two_meanings", scope["forward"])
    with pytest.raises(TypeError, match=f"called '{name}'"):
        xp.register_gradient("with_two_meanings")(scope["rule"])


def test_a_rule_may_not_ask_for_an_input_that_is_called_as_the_result(near):
    with pytest.raises(TypeError, match=r"called 'y', and .* by outputs="):
        xp.define_op("of_y", lambda y: y * y, "elementwise", lambda t, y: 2 * t * y)
    op = xp.define_op(
        "of_y", lambda y: y * y, "elementwise", lambda t, y: 2 * t * y, outputs=("z",)
    )
    near(xp.grad(op)(xp.asarray(3.0)), 6.0)


class Changing(str):
    """A text that says something else of itself each time."""

    said = 0

    def __repr__(self):
        Changing.said += 1
        return "'a'" if Changing.said < 3 else "executed()"


def test_defaults_are_handed_over_and_never_written_out(near):
    """The text of a default went into the source of the op, and was executed."""
    changing = Changing("a")
    with pytest.raises(TypeError, match="literal"):
        xp.define_op("changing", lambda x, *, mode=changing: x, "linear", lambda g: g)
    marks, far = [1], float("inf")
    op = xp.define_op(
        "referring", lambda x, *, marks=marks, most=far: x if marks and x.size < most else -x,
        "linear", lambda g: g,
    )  # fmt: skip
    near(op(xp.ones(2)), [1.0, 1.0])
    assert op.__kwdefaults__["marks"] is marks
    assert op.__kwdefaults__["most"] == far


def test_elementwise_ops_of_three_operands(near):
    """As those of one or two: broadcast, mixed with numbers, differentiated twice, batched."""
    fma = xp.define_op(
        "three_operands", lambda a, b, c, xp: a * b * b + c, "elementwise",
        lambda t, b: t * b * b, lambda t, a, b: t * (2 * a * b), lambda t: t,
    )  # fmt: skip
    a, b = xp.asarray([[1.0], [2.0]]), xp.asarray([3.0, 4.0, 5.0])
    found = xp.grad(lambda a, b, c: xp.sum(fma(a, b, c)), (0, 1, 2))(a, b, xp.asarray(0.5))
    for g, expected in zip(found, ([[50.0], [50.0]], [18.0, 24.0, 30.0], 6.0), strict=True):
        near(g, expected)
    near(xp.grad(lambda b: xp.sum(fma(2.0, b, 1)))(b), 4 * np.asarray(b))
    near(xp.hessian(lambda b: xp.sum(fma(2.0, b, 1)))(b), 4 * np.eye(3))
    near(xp.vmap(xp.grad(lambda b: fma(b, b, b)))(b), 3 * np.asarray(b) ** 2 + 1)
    near(
        xp.jvp(lambda b: fma(a, b, 1.0), (b,), (xp.ones(3),))[1], 2 * np.asarray(a) * np.asarray(b)
    )
    near(fma(xp.asarray([1.0], dtype=xp.float32), 2.0, 1.0), [5.0])
    assert fma(xp.asarray([1.0], dtype=xp.float32), 2.0, 1.0).dtype == xp.float32


def test_rules_may_call_other_ops_of_their_author(near):
    """A family of functions, each the derivative of the one before."""
    slope = xp.define_op("slope", lambda x, xp: xp.cos(x), "elementwise", lambda t, x: -t * wave(x))
    wave = xp.define_op("wave", lambda x, xp: xp.sin(x), "elementwise", lambda t, x: t * slope(x))
    x = xp.asarray([0.3, 0.7])
    sine, cosine = np.sin([0.3, 0.7]), np.cos([0.3, 0.7])
    near(xp.grad(lambda x: xp.sum(wave(x)))(x), cosine)
    near(xp.hessian(lambda x: xp.sum(wave(x)))(x), np.diag(-sine))
    near(xp.vmap(xp.grad(wave))(x), cosine)
    near(xp.jvp(wave, (x,), (xp.ones(2),))[1], cosine)


def test_a_rule_that_is_unknown_by_argument():
    """A gradient by that argument is an error, also through it; by the others it is there."""
    from arraytape._record.plan import Unknown

    op = xp.define_op(
        "partly_known", lambda v, x: v * x, "elementwise",
        Unknown("nobody derived it"), lambda t, v: t * v,
    )  # fmt: skip
    v, x = xp.asarray(2.0), xp.asarray(3.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([v, x])
        y = op(v, x)
        z = op(x * 1.0, x)
    assert float(tape.gradient(y, x)) == 2.0
    for target, source in ((y, v), (z, x)):
        with pytest.raises(
            LookupError, match="partly_known has no derivative with respect to v: nobody derived it"
        ):
            tape.gradient(target, source)
    assert float(xp.jvp(lambda x: op(v, x), (x,), (x,))[1]) == 6.0
    with pytest.raises(LookupError, match="no derivative with respect to v"):
        xp.jvp(lambda v: op(v, x), (v,), (v,))
    assert float(xp.vmap(xp.grad(lambda x: op(2.0, x)))(xp.ones(3))[0]) == 2.0


@pytest.mark.parametrize(
    "given", [np.asarray, lambda x: 2.0, lambda x: "x"], ids=["data", "number", "text"]
)
def test_a_rule_whose_value_leaves_is_an_error_under_an_outer_tape(given):
    def rule(g, x):
        return given(3.0 * g * x * x)

    op = xp.define_op(f"cube_{id(given)}", lambda x: x**3, "primitive", rule)
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(op(x))
        with pytest.raises(
            TypeError, match=r"rule of cube_.* returned .* no tape follows \[at .*\.py:"
        ):
            inner.gradient(y, x)
