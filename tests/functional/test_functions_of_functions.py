"""grad, jacobian, hessian, jvp, vjp and hvp: functions of functions."""

import numpy as np
import pytest

import arraytape as xp


def values(x):
    return np.asarray(x).tolist()


X = xp.asarray([[1.0, 2.0]])


def test_gradients_nest_to_any_order():
    f, x = xp.sin, xp.asarray(0.3)
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos):
        f = xp.grad(f)
        np.testing.assert_allclose(float(f(x)), expected(0.3), rtol=1e-14)


def test_an_inner_variable_is_not_an_outer_one():
    x = xp.asarray(1.0)
    assert float(xp.grad(lambda x: x * xp.grad(lambda y: x + y)(x))(x)) == 1.0
    _, t = xp.jvp(
        lambda x: x * xp.jvp(lambda y: x + y, (x,), (xp.ones_like(x),))[1], (x,), (xp.asarray(1.0),)
    )
    assert float(t) == 1.0


def test_gradients_are_taken_by_position_and_by_nesting():
    def f(x, params, scale=1.0):
        return scale * xp.sum(params["w"] * x + params["b"][0])

    x, params = xp.asarray([1.0, 2.0]), {"w": xp.asarray([3.0, 4.0]), "b": [xp.asarray(5.0)]}
    assert values(xp.grad(f)(x, params)) == [3.0, 4.0]
    found = xp.grad(f, 1)(x, params, scale=2.0)
    assert (values(found["w"]), float(found["b"][0])) == ([2.0, 4.0], 4.0)
    gx, gp = xp.grad(f, (0, -1))(x, params)
    assert (values(gx), values(gp["w"])) == ([3.0, 4.0], [1.0, 2.0])
    y, (gx,) = xp.value_and_grad(f, [0])(x, params)
    assert (float(y), values(gx)) == (21.0, [3.0, 4.0])


def test_what_a_function_does_not_depend_on_has_zeros():
    x = xp.asarray([1.0, 2.0])
    assert values(xp.grad(lambda x, y: xp.sum(y), 0)(x, x)) == [0.0, 0.0]


def test_a_functions_writes_stay_its_own():
    def f(x):
        x[0] = x[1] ** 2
        return xp.sum(x)

    x = xp.asarray([1.0, 3.0])
    assert values(xp.grad(f)(x)) == [0.0, 7.0]
    assert values(x) == [1.0, 3.0]


def test_jacobians_and_hessians_are_taken_by_position():
    x, w = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    first, second = xp.jacobian(lambda x, w: x * w, (0, 1))(x, w)
    assert values(first) == [[3.0, 0.0], [0.0, 4.0]]
    assert values(second) == [[1.0, 0.0], [0.0, 2.0]]
    H = xp.hessian(lambda x, w: xp.sum(x * x * w), (0, 1))(x, w)
    assert values(H[0][0]) == [[6.0, 0.0], [0.0, 8.0]]
    assert values(H[0][1]) == values(H[1][0]) == [[2.0, 0.0], [0.0, 4.0]]
    assert not np.asarray(H[1][1]).any()
    third = xp.jacobian(xp.hessian(lambda x: xp.sum(x**3)))(x)
    assert third.shape == (2, 2, 2)
    assert values(third[1, 1]) == [0.0, 6.0]


def test_a_function_of_several_results_has_a_jacobian_of_each():
    x = xp.asarray([1.0, 2.0])
    found = xp.jacobian(lambda x: {"square": x * x, "sum": xp.sum(x)})(x)
    assert values(found["square"]) == [[2.0, 0.0], [0.0, 4.0]]
    assert values(found["sum"]) == [1.0, 1.0]


def test_jvp_and_vjp_of_one_function_agree():
    rng = np.random.default_rng(0)
    a, b = (xp.asarray(rng.normal(size=(3, 3))) for _ in range(2))
    ta, tb, g = (xp.asarray(rng.normal(size=(3, 3))) for _ in range(3))

    def f(a, b):
        return xp.tanh(a @ b) + a

    y, t = xp.jvp(f, (a, b), (ta, tb))
    z, pull = xp.vjp(f, a, b)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(z))
    ga, gb = pull(g)
    pushed = float(xp.sum(g * t))
    np.testing.assert_allclose(float(xp.sum(ga * ta) + xp.sum(gb * tb)), pushed, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(pull(g)[0]), np.asarray(ga))


def test_hessian_vector_products_are_those_of_the_hessian():
    v = xp.asarray([1.0, 2.0])
    (found,) = xp.hvp(lambda v: xp.sum(v**3), (v,), (xp.asarray([1.0, 0.0]),))
    assert values(found) == [6.0, 0.0]

    def f(x, w):
        return xp.sum(xp.sin(x) * w * w)

    x, w = xp.asarray([0.1, 0.2]), xp.asarray([3.0, 4.0])
    tx, tw = xp.asarray([1.0, -1.0]), xp.asarray([0.5, 2.0])
    (hx, hw), H = xp.hvp(f, (x, w), (tx, tw)), xp.hessian(f, (0, 1))(x, w)
    np.testing.assert_allclose(np.asarray(hx), np.asarray(H[0][0] @ tx + H[0][1] @ tw))
    np.testing.assert_allclose(np.asarray(hw), np.asarray(H[1][0] @ tx + H[1][1] @ tw))


def test_derivatives_of_derivatives_mix():
    x, one = xp.asarray(0.7), xp.asarray(1.0)
    cube = xp.grad(xp.grad(lambda x: x**5))
    expected = 60.0 * 0.7**2
    np.testing.assert_allclose(float(xp.jvp(cube, (x,), (one,))[1]), expected)
    np.testing.assert_allclose(float(xp.vjp(cube, x)[1](one)[0]), expected)
    pushed = xp.grad(lambda x: xp.jvp(lambda x: xp.grad(lambda x: x**5)(x), (x,), (one,))[1])
    np.testing.assert_allclose(float(pushed(x)), expected)


BAD_CALLS = {
    "a string argument": (lambda: xp.grad(xp.sin)("1"), TypeError, "must be an Array, a NumPy array"),
    "an integer": (lambda: xp.grad(xp.sin)(1), TypeError, "write 1.0"),
    "an integer array": (lambda: xp.grad(xp.sum)(xp.asarray([1])), TypeError, "have derivatives"),
    "a vector result": (lambda: xp.grad(xp.sin)(X), ValueError, "use jacobian, or sum"),
    "a float result": (lambda: xp.grad(lambda x: 1.0)(X), TypeError, "one real floating-point"),
    "a complex result": (
        lambda: xp.grad(lambda x: xp.sum(x) * 1j)(X), TypeError, "one real floating-point"
    ),
    **{
        f"{name} of no function": (
            lambda name=name, rest=rest: getattr(xp, name)(None, *rest), TypeError,
            f"{'grad' if name in ('hessian', 'value_and_grad', 'hvp') else name}: takes a function"
        )
        for name, rest in (
            ("grad", ()), ("value_and_grad", ()), ("jacobian", ()), ("hessian", ()), ("vmap", ()),
            ("jvp", ((X,), (X,))), ("vjp", (X,)), ("hvp", ((X,), (X,))),
        )
    },
    "argnums that are None": (lambda: xp.grad(xp.sum, None)(X), TypeError, "argnums must be"),
    "argnums in a set": (lambda: xp.grad(xp.sum, {0})(X), TypeError, "argnums must be"),
    "no such position": (lambda: xp.grad(xp.sum, 1)(X), ValueError, "no argument at position 1"),
    "a position twice": (lambda: xp.grad(xp.sum, (0, -1))(X), ValueError, "twice"),
    "a position that is no int": (lambda: xp.grad(xp.sum, ("x",))(X), TypeError, "argnums must be"),
    "a jacobian of floats": (lambda: xp.jacobian(lambda x: 1.0)(X), TypeError, "the result must be"),
    "primals that are no tuple": (lambda: xp.jvp(xp.sin, X, X), TypeError, "primals must be a tuple"),
    "tangents of another shape": (
        lambda: xp.jvp(xp.sin, (X,), (xp.asarray(1.0),)), ValueError, "does not fit its primal"
    ),
    "too few tangents": (lambda: xp.jvp(xp.add, (X, X), (X,)), ValueError, "2 are needed"),
    "hvp of a vector": (lambda: xp.hvp(xp.sin, (X,), (X,)), ValueError, "use jacobian"),
    "hvp of no tuple": (lambda: xp.hvp(xp.sin, X, X), TypeError, "primals must be a tuple"),
    "a cotangent of another shape": (
        lambda: xp.vjp(xp.sin, X)[1](xp.asarray(1.0)), ValueError, "has shape"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_say_what_is_wrong(name):
    call, error, message = BAD_CALLS[name]
    with pytest.raises(error, match=message):
        call()
