"""custom_gradient: its arguments, results and gradients, in any nesting."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, testing

pytestmark = pytest.mark.any_storage

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


@xp.custom_gradient
def product(a, b):
    return a * b, lambda dy: (dy * b, a * dy)


def test_the_results_keep_their_nesting(near):
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


def test_raw_arrays_count_as_arrays(near):
    a = xp.asarray([2.0, 3.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(a)
        y = product(a, np.asarray([10.0, 20.0]))
    near(tape.gradient(y, a), [10.0, 20.0])


def test_a_gradient_may_be_none(near, gradient):
    @xp.custom_gradient
    def f(a, b):
        return a * b, lambda dy: (dy * b, None)

    da, db = gradient(f, 2.0, 3.0)
    near(da, 3.0)
    assert db is None


def test_methods_can_be_decorated(near, gradient):
    class Scaled:
        factor = 3.0

        @xp.custom_gradient
        def __call__(self, x):
            return x * self.factor, lambda dy: dy * 30.0

    near(gradient(Scaled(), 2.0), 30.0)


def test_an_output_that_is_not_used_has_a_zero_cotangent(near, gradient):
    seen = []

    @xp.custom_gradient
    def f(x):
        def pull(*dy):
            seen.extend(np.asarray(g).tolist() for g in dy)
            return dy[0]

        return (x * 1.0, x * 2.0, xp.argmax(x)), pull

    near(gradient(lambda x: f(x)[0], [1.0, 2.0]), [1.0, 1.0])
    assert seen == [[1.0, 1.0], [0.0, 0.0], 0]


def test_an_argument_may_be_returned_as_it_is(x, near, gradient, derivative):
    @xp.custom_gradient
    def clipped(x):
        return x, lambda dy: xp.clip(dy, -0.5, 0.5)

    y = clipped(x)
    assert y is not x
    near(gradient(clipped, np.ones(3)), [0.5] * 3)
    near(derivative(lambda x: clipped(x) ** 2, 2)(xp.asarray(0.1)), 0.5)  # the outer one, too


def test_writing_to_a_result_or_an_argument_afterwards_changes_no_gradient(near, log1pexp):
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


def test_writing_to_a_cotangent_inside_grad_fn_changes_no_other(near, gradient, derivative):
    @xp.custom_gradient
    def f(x):
        def pull(dy):
            dy *= 10.0
            return dy

        return x * 1.0, pull

    near(gradient(lambda x: (lambda y: f(y) + y)(x * 1.0), [1.0, 2.0]), [11.0, 11.0])
    near(derivative(lambda x: f(x) * x + x, 2)(xp.asarray(1.0)), 20.0)


def test_views_may_be_arguments_and_results(near):
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


def test_complex_data(near, gradient):
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


PARTS = {"w": 2.0, "b": 5.0}


def nested(pull):
    """p -> w ** 2 * b, where p holds w and b, with this grad_fn of the cotangent and p."""
    return xp.custom_gradient(
        lambda p: (
            p["w"] ** 2 * p["b"],
            lambda dy: pull(dy * 2 * p["w"] * p["b"], dy * p["w"] ** 2),
        )
    )


@pytest.mark.parametrize(
    "pull",
    [
        lambda dw, db: (dw, db),
        lambda dw, db: {"w": dw, "b": db},
        lambda dw, db: {"b": db, "w": dw},
        lambda dw, db: [{"b": db, "w": dw}],
        lambda dw, db: ({"w": dw, "b": db},),
    ],
    ids=["flat", "dict", "dict in another order", "list of it", "tuple of it"],
)
def test_gradients_in_the_nesting_of_the_arguments_go_by_key(pull, near):
    p = {name: xp.asarray(value) for name, value in PARTS.items()}
    with GradientTape() as tape:
        tape.watch(p)
        y = nested(pull)(p)
    found = tape.gradient(y, p)
    near(found["w"], 20.0)
    near(found["b"], 4.0)


def test_gradients_go_by_key_among_other_arguments_and_what_is_no_array(near):
    @xp.custom_gradient
    def f(scale, p, pair):
        (x, rest) = pair
        y = scale * p["w"] * p["deep"]["v"] * x * rest["u"]

        def pull(dy):
            first = {"deep": {"v": dy * y / p["deep"]["v"]}, "w": dy * y / p["w"]}
            return first, (dy * y / x, {"u": dy * y / rest["u"]})

        return y, pull

    w, v, x, u = (xp.asarray(value) for value in (2.0, 3.0, 5.0, 7.0))
    with GradientTape() as tape:
        tape.watch([w, v, x, u])
        y = f(10.0, {"w": w, "name": "p", "deep": {"n": 3, "v": v}}, [x, {"none": None, "u": u}])
    found = tape.gradient(y, [w, v, x, u])
    for g, value in zip(found, (2.0, 3.0, 5.0, 7.0), strict=True):
        near(g, 2100.0 / value)


@pytest.mark.parametrize(
    ("f", "pull"),
    [
        (lambda a, b: a * b, lambda a, b, dy: {"b": dy * a, "a": dy * b}),
        (lambda a, b: a * b, lambda a, b, dy: [{"a": dy * b}, dy * a]),
        (lambda a, b: a * b, lambda a, b, dy: {"a": dy * b, "c": dy * a}),
    ],
    ids=["dict for two arrays", "dict for one array", "other keys"],
)
def test_a_dict_of_gradients_where_the_arguments_have_none_is_an_error(f, pull):
    a, b = xp.asarray(2.0), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([a, b])
        y = xp.custom_gradient(lambda a, b: (f(a, b), lambda dy: pull(a, b, dy)))(a, b)
    with pytest.raises(ValueError, match=r"grad_fn: got a dict with the keys .* there is no dict"):
        tape.gradient(y, [a, b])


def test_a_dict_of_gradients_with_other_keys_names_both():
    p = {name: xp.asarray(value) for name, value in PARTS.items()}
    with GradientTape() as tape:
        tape.watch(p)
        y = nested(lambda dw, db: {"w": dw, "bias": db})(p)
    with pytest.raises(
        ValueError, match=r"keys \['w', 'bias'\] where there are the keys \['w', 'b'\]"
    ):
        tape.gradient(y, p)


@pytest.mark.parametrize("wrap", ["custom", "recompute", "pass through"])
@pytest.mark.parametrize("raw", [False, True], ids=["Array", "NumPy"])
def test_a_keyword_argument_may_be_written_to_afterwards(wrap, raw, near):
    def there(m):
        assert isinstance(m, np.ndarray) == raw
        return xp.asarray(m)

    f = {
        "custom": xp.custom_gradient(
            lambda x, *, m: (x * x * there(m), lambda dy: dy * 2 * x * there(m))
        ),
        "recompute": xp.recompute_grad(lambda x, *, m: x * x * there(m)),
        "pass through": xp.grad_pass_through(lambda x, *, m: x * there(m)),
    }[wrap]
    x, m = xp.asarray([3.0]), np.asarray([2.0])
    m = m if raw else xp.asarray(m)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x, m=m)
        m[0] = 100.0
        g = tape.gradient(y, x)
    near(g, [1.0] if wrap == "pass through" else [12.0])
    if wrap != "pass through":
        near(outer.gradient(g, x), [4.0])


def test_writing_to_a_keyword_argument_is_an_error():
    def f(x, *, m):
        m[0] = 5.0
        return x * m, lambda dy: dy * m

    m = xp.asarray([2.0])
    with pytest.raises(ValueError, match=r"writes to argument 'm'.*write to a copy of it"):
        xp.custom_gradient(f)(xp.asarray([1.0]), m=m)
    assert float(m[0]) == 2.0


def test_a_variable_among_the_keyword_arguments_stays_itself(near, gradient):
    count = xp.Variable(0, trainable=False)

    @xp.custom_gradient
    def f(x, *, state):
        state["count"].assign_add(1)
        return x * 2.0, lambda dy: dy * 2.0

    near(gradient(lambda x: f(x, state={"count": count}), 3.0), 2.0)
    assert int(count) == 1
