"""Jacobians: by the tape, and as functions of functions."""

import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning


def values(x):
    return np.asarray(x).tolist()


def jacobian_of(f, x, **options):
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, **options)


# --- the table of cases -----------------------------------------------------------------------
def test_case_46_shapes_and_what_is_unconnected():
    x, w = xp.asarray([1.0, 2.0]), xp.asarray([[1.0, 2.0, 3.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y, s = x * x, xp.sum(x)
    assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]
    assert tape.jacobian(y, w) is None
    zeros = tape.jacobian(y, w, unconnected_gradients="zero")
    assert zeros.shape == (2, 1, 3)
    assert not np.asarray(zeros).any()
    assert values(tape.jacobian(s, x)) == [1.0, 1.0]


def test_case_47_a_normalised_vector_and_a_hessian():
    x = xp.asarray([3.0, 4.0])
    found = jacobian_of(lambda x: x / xp.linalg.vector_norm(x), x)
    np.testing.assert_allclose(np.asarray(found), [[0.128, -0.096], [-0.096, 0.072]])
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x[0] ** 2 * x[1]
        g = inner.gradient(y, x)
    assert values(g) == [4.0, 1.0]
    assert values(outer.jacobian(g, x)) == [[4.0, 2.0], [2.0, 0.0]]


def test_case_49_batch_jacobians():
    x, y = xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([[3.0, 4.0], [5.0, 6.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        square, product, one = x * x, x**2 * y, xp.sum(x, axis=1)
        rows = x[:1, :] * 2.0
    assert values(tape.batch_jacobian(square, x)) == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    assert values(tape.batch_jacobian(product, x)) == [[[6, 0], [0, 16]], [[30, 0], [0, 48]]]
    for target in (one, rows):
        with pytest.raises(ValueError, match="at least two dimensions, the first one the same"):
            tape.batch_jacobian(target, x)
    empty = xp.zeros((1, 0))
    with GradientTape() as tape:
        tape.watch(empty)
        z = empty * 2.0
    assert tape.batch_jacobian(z, empty).shape == (1, 0, 0)


def test_an_unconnected_batch_jacobian_is_none_or_zeros():
    x, w = xp.asarray([[1.0, 2.0]]), xp.asarray([[[1.0], [2.0], [3.0]]], dtype=xp.float32)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = x * x
    assert tape.batch_jacobian(y, w) is None
    for zero in ("zero", xp.UnconnectedGradients.ZERO):
        found = tape.batch_jacobian(y, w, unconnected_gradients=zero)
        assert (found.shape, found.dtype) == ((1, 2, 3, 1), np.float32)
        assert not np.asarray(found).any()


# --- the tape's own semantics ---------------------------------------------------------------------
def test_any_nesting_of_sources():
    x, w = xp.asarray([1.0, 2.0]), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([x, w])
        y = x * w
    found = tape.jacobian(y, {"a": [x, (w,)], "b": x})
    assert values(found["a"][0]) == values(found["b"]) == [[3.0, 0.0], [0.0, 3.0]]
    assert values(found["a"][1][0]) == [1.0, 2.0]
    assert found["a"][0]._data is not found["b"]._data


def test_no_sources_and_empty_arrays():
    x = xp.zeros((0, 2))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, s = x * 2.0, xp.sum(x)
    assert tape.jacobian(y, []) == []
    assert tape.jacobian(y, x).shape == (0, 2, 0, 2)
    assert tape.jacobian(s, x).shape == (0, 2)
    assert tape.jacobian(y, xp.zeros(3)) is None


def test_one_shot_tapes_are_used_up_and_persistent_ones_are_not():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match=r"jacobian\(\): the target must be one Array"):
        tape.jacobian([y, y], x)  # a failed call does not use it up
    tape.jacobian(y, x)
    for again in (tape.jacobian, tape.gradient, tape.batch_jacobian):
        with pytest.raises(RuntimeError, match="one set of gradients"):
            again(y, x)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert values(tape.jacobian(y, x)) == values(tape.jacobian(y, x))
    assert values(tape.gradient(y, x)) == [2.0, 4.0]


def test_a_one_shot_tape_stops_recording_inside_its_own_context():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]
        with pytest.raises(RuntimeError):
            tape.watch(x)


def test_a_persistent_tape_inside_its_own_context_records_and_warns():
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        with pytest.warns(TapeWarning, match="inside its context"):
            first = tape.jacobian(y, x)
    second = tape.jacobian(first, x)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6.0, 12.0
    np.testing.assert_allclose(np.asarray(second), expected)


def test_the_target_may_be_the_source():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
    assert values(tape.jacobian(x, x)) == [[1.0, 0.0], [0.0, 1.0]]


def test_a_jacobian_has_its_sources_dtype():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    found = jacobian_of(lambda x: xp.astype(x, xp.float64) ** 2, x)
    assert found.dtype == np.float32
    assert values(found) == [[2.0, 0.0], [0.0, 4.0]]


def test_integer_targets_have_no_jacobian():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.astype(x, xp.int64)
    with pytest.warns(TapeWarning, match=r"jacobian\(\): the target of dtype int64"):
        assert tape.jacobian(y, x) is None


def test_complex_rows_are_the_gradients_of_the_real_parts():
    x = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
    found = np.asarray(jacobian_of(lambda x: x * x * x, x))
    np.testing.assert_allclose(found, np.diag(np.conj(3.0 * np.asarray(x) ** 2)))
    for i in range(2):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            part = y[i]
        np.testing.assert_allclose(np.asarray(tape.gradient(part, x)), found[i])


def test_real_sources_of_complex_targets_have_real_jacobians():
    x = xp.asarray([1.0, 2.0])
    found = jacobian_of(lambda x: xp.asarray([1.0 + 2.0j, 3.0]) * x, x)
    assert found.dtype == np.float64
    assert values(found) == [[1.0, 0.0], [0.0, 3.0]]


def test_writes_and_views():
    def f(x):
        y = x * 1.0
        y[1:] *= x[:2]
        y[0] = x[2] ** 2
        return xp.reshape(y, (3, 1)).T[0, ::-1]

    x = xp.asarray([1.0, 2.0, 3.0])
    expected = [[0.0, 3.0, 2.0], [2.0, 1.0, 0.0], [0.0, 0.0, 6.0]]
    assert values(jacobian_of(f, x)) == expected


def test_a_view_as_a_source():
    x = xp.asarray([1.0, 2.0, 3.0])
    part = x[1:]
    with GradientTape() as tape:
        tape.watch(part)
        y = x * part[0]
    assert tape.jacobian(y, part).shape == (3, 2)


def test_the_guard_keeps_what_was_not_selected_at_zero():
    x = xp.asarray([0.0, 4.0])
    found = jacobian_of(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), x)
    assert values(found) == [[0.0, 0.0], [0.0, 0.25]]
    found = np.asarray(jacobian_of(lambda x: xp.sqrt(x) ** 2, x))
    assert np.isnan(found[0, 0])
    assert found[1, 1] == 1.0


def test_the_guard_reaches_through_products_row_by_row():
    w = np.asarray([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        return xp.where(x > 0, xp.sqrt(x), 0.0) @ xp.asarray(w)

    found = np.asarray(jacobian_of(f, xp.asarray([0.0, 4.0])))
    np.testing.assert_allclose(found, [[0.0, 0.75], [0.0, 1.0]])


def test_a_jacobian_inside_an_outer_tape_is_differentiable():
    x = xp.asarray([0.5, -0.3, 0.2])
    w = xp.asarray(np.arange(9.0).reshape(3, 3) / 7.0)
    with GradientTape() as outer:
        outer.watch([x, w])
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.tanh(w @ x) * x
        J = inner.jacobian(y, x)
        loss = xp.sum(J**2)
    gx, gw = outer.gradient(loss, [x, w])

    def loss_of(x, w):
        t = np.tanh(w @ x)
        J = np.diag(t) + (x * (1 - t * t))[:, None] * w
        return np.sum(J**2)

    a, b, h = np.asarray(x), np.asarray(w), 1e-6
    for i in range(3):
        e = np.eye(3)[i] * h
        np.testing.assert_allclose(
            float(gx[i]), (loss_of(a + e, b) - loss_of(a - e, b)) / (2 * h), rtol=1e-6
        )
    e = np.zeros((3, 3))
    e[1, 2] = h
    slope = (loss_of(a, b + e) - loss_of(a, b - e)) / (2 * h)
    np.testing.assert_allclose(float(gw[1, 2]), slope, rtol=1e-6)


def test_a_lost_path_is_named():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(x) ** 2)
    with pytest.warns(TapeWarning, match=r"left the tape at .*np.asarray"):
        assert tape.jacobian(y, x) is None


def test_from_another_thread():
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(values(tape.jacobian(y, x)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[2.0, 0.0], [0.0, 4.0]]] * 4


X = xp.asarray([[1.0, 2.0]])
BAD = {
    "a float as target": (lambda tape: tape.jacobian(1.0, X), TypeError, "must be an Array"),
    "None as target": (lambda tape: tape.jacobian(None, X), TypeError, "may not be None"),
    "a NumPy array as source": (
        lambda tape: tape.jacobian(X, np.ones(2)), TypeError, r"jacobian\(\): every source"
    ),
    "several targets": (lambda tape: tape.jacobian({"a": X}, X), TypeError, "one Array, got a dict"),
    "several sources of a batch": (
        lambda tape: tape.batch_jacobian(X, [X]), TypeError, r"batch_jacobian\(\): the source"
    ),
    "an unknown word": (
        lambda tape: tape.jacobian(X, X, unconnected_gradients="ones"), ValueError, "'none' or 'zero'"
    ),
    "a batch of vectors": (
        lambda tape: tape.batch_jacobian(X, xp.zeros(1)), ValueError, "at least two dimensions"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_say_what_is_wrong(name):
    call, error, message = BAD[name]
    with GradientTape() as tape:
        tape.watch(X)
    with pytest.raises(error, match=message):
        call(tape)


def test_a_tape_that_never_recorded():
    with pytest.raises(RuntimeError, match="never recorded"):
        GradientTape().jacobian(X, X)


# --- functions of functions -----------------------------------------------------------------------
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


def test_positions_and_nestings():
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


def test_jacobians_and_hessians_by_position():
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


def test_a_jacobian_of_several_results():
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


def test_hessian_vector_products():
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
    "a float argument": (lambda: xp.grad(xp.sin)(1.0), TypeError, "must be an Array"),
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
