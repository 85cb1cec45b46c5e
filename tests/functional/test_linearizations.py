"""linearize, jacfwd and jacrev, Gauss-Newton products, aux and chunks, beside what they agree with."""

import gc
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import functional

RNG = np.random.default_rng(3)
MATRIX = RNG.normal(size=(4, 3))


def smooth(x):
    return xp.tanh(MATRIX @ x) * xp.sum(x * x)


def by_steps(x):
    """Views, writes and a loop."""
    y = xp.zeros(5, dtype=x.dtype) + 0.0
    y[1:4] = x * x
    y[0] += xp.sin(x[1])
    part = y[2:]
    part *= x[0]
    for i in range(1, 5):
        y[i] = y[i] * y[i - 1] + x[i % 3]
    return y


def decompositions(x):
    a = xp.linalg.outer(x, x) + xp.eye(3) * 3.0
    return {"solve": xp.linalg.solve(a, xp.cos(x)), "rest": (xp.linalg.inv(a), xp.max(x))}


def selections(x):
    sizes = xp.where(x > 0, xp.sqrt(xp.abs(x)), xp.exp(x))
    return xp.stack([sizes, xp.sort(x), xp.flip(xp.cumulative_sum(x))])


def recomputed(x):
    return xp.recompute_grad(smooth)(x) * 2.0


PROGRAMS = {f.__name__: f for f in (smooth, by_steps, decompositions, selections, recomputed)}
POINT = np.array([0.3, -0.7, 1.1])


def dense(found):
    """The Jacobians of all results below each other."""
    return np.concatenate([np.asarray(part).reshape(-1, 3) for part in xp_leaves(found)])


def xp_leaves(tree):
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in xp_leaves(part)]
    if isinstance(tree, list | tuple):
        return [leaf for part in tree for leaf in xp_leaves(part)]
    return [tree]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_forward_and_reverse_mode_give_one_jacobian(program, chunk_size):
    f = PROGRAMS[program]
    rows = dense(xp.jacrev(f, chunk_size=chunk_size)(POINT))
    columns = dense(xp.jacfwd(f, chunk_size=chunk_size)(POINT))
    either = dense(xp.jacobian(f, chunk_size=chunk_size)(POINT))
    _, push = xp.linearize(f, POINT)
    pushed = np.stack(
        [np.concatenate([np.ravel(y) for y in xp_leaves(push(e))]) for e in np.eye(3)], axis=-1
    )
    along = np.stack(
        [
            np.concatenate([np.ravel(y) for y in xp_leaves(xp.jvp(f, (POINT,), (e,))[1])])
            for e in np.eye(3)
        ],
        axis=-1,
    )
    for found in (columns, either, pushed, along):
        np.testing.assert_allclose(found, rows, rtol=1e-12, atol=1e-13)


def test_wide_results_take_forward_mode(monkeypatch):
    used = []
    by_columns = functional.linearization.Linearization.by_columns
    monkeypatch.setattr(
        functional.linearization.Linearization,
        "by_columns",
        lambda self, size: used.append(1) or by_columns(self, size),
    )
    times = np.linspace(0.0, 1.0, 2000)

    def decay(x):
        return x[0] * xp.exp(-x[1] * times)

    found = xp.jacobian(decay)(np.array([2.0, 0.5]))
    assert used
    np.testing.assert_allclose(found[:, 0], np.exp(-0.5 * times), rtol=1e-13)
    del used[:]
    xp.jacobian(decay)(np.array([2.0 + 0j, 0.5]))
    xp.jacobian(smooth)(POINT)
    assert not used


def test_columns_with_a_nan_come_from_reverse_mode():
    x = np.array([0.0, 4.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = xp.jacfwd(xp.sqrt)(x)
    np.testing.assert_array_equal(found, [[np.inf, 0.0], [0.0, 0.25]])


def test_rules_that_cannot_be_pushed_are_pulled():
    @xp.custom_gradient
    def halved(x):
        def pull(g):
            return xp.asarray(np.asarray(g) * 0.5)

        return x * 0.5, pull

    x = np.ones(2)
    wide = lambda x: xp.sum(halved(x)) * xp.ones(2000)  # noqa: E731
    assert xp.jacobian(wide)(x).shape == (2000, 2)
    assert (xp.jacobian(wide)(x) == 0.5).all()


def test_complex_arguments_have_no_columns():
    with pytest.raises(TypeError, match="two columns"):
        xp.jacfwd(xp.sin)(np.ones(2, np.complex128))
    z = xp.jacfwd(lambda x: x * (1.0 + 2.0j))(np.ones(2))
    np.testing.assert_array_equal(z, np.eye(2) * (1.0 + 2.0j))


def test_a_linearization_runs_its_function_once_and_outlives_writes():
    calls = []

    def f(x):
        calls.append(1)
        x *= 2.0
        return x * x

    x = xp.asarray([1.0, 3.0])
    y, push = xp.linearize(f, x)
    y[:] = 0.0
    x[:] = 7.0
    for _ in range(3):
        assert push(xp.ones(2)).tolist() == [8.0, 24.0]
    assert calls == [1]
    assert push([1.0, 0.0]).tolist() == [8.0, 0.0]


def test_what_vjp_pulls_back_outlives_writes_to_its_value():
    x = xp.asarray([1.0, 3.0])
    y, pull = xp.vjp(lambda x: x * x, x)
    y[0] = 5.0
    assert pull(xp.ones(2))[0].tolist() == [2.0, 6.0]
    whole, pull = xp.vjp(lambda x: (x * x)[1:], x)
    whole *= 0.0
    assert pull(xp.ones(1))[0].tolist() == [0.0, 6.0]


def test_a_linear_map_can_be_pushed_by_other_recorders():
    x, c = xp.asarray([0.3, 0.4]), xp.asarray([1.0, -2.0])
    _, push = xp.linearize(lambda x: xp.sin(x) * x[0], x)
    J = np.asarray(xp.jacobian(lambda x: xp.sin(x) * x[0])(x))
    np.testing.assert_allclose(np.asarray(xp.jacobian(push)(c)), J, rtol=1e-14)
    rows = xp.vmap(push)(xp.eye(2))
    np.testing.assert_allclose(np.asarray(rows), J.T, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(xp.linearize(push, c)[1](c)), J @ [1.0, -2.0], rtol=1e-14)


def test_a_value_that_left_is_said_by_a_linearization():
    def lost(x):
        return xp.asarray(float(x[0]) ** 2) * 1.0

    for call in (
        lambda: xp.linearize(lost, xp.ones(2))[1](xp.ones(2)),
        lambda: xp.jacfwd(lost)(xp.ones(2)),
        lambda: xp.jacfwd(lost)(np.ones(2)),
    ):
        with pytest.raises(xp.LostGradientError, match="test_linearizations"):
            call()


def test_a_look_at_a_value_is_no_loss():
    """Of results that are views, which nobody read."""

    def f(x):
        y = xp.reshape(x * x, (1, 2))
        return y[0, :] if float(y[0, 0]) > 0 else y[0, ::-1]

    for form in (xp.jacfwd, xp.jacrev, xp.jacobian, xp.sparse_jacobian):
        J = form(f)(np.array([1.0, 3.0]))
        assert (J if isinstance(J, np.ndarray) else J.toarray()).tolist() == [
            [2.0, 0.0],
            [0.0, 6.0],
        ]


def test_results_that_do_not_depend_on_arguments_have_zeros():
    _, push = xp.linearize(lambda x: (xp.ones(3), x * 2.0), np.ones(2))
    assert [part.tolist() for part in push(np.ones(2))] == [[0.0] * 3, [2.0, 2.0]]
    columns = xp.jacfwd(lambda a, b: (a, b * 2.0), (0, 1))(np.ones(2), 3.0)
    assert [[part.tolist() for part in row] for row in columns] == [
        [[[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]],
        [[0.0, 0.0], 2.0],
    ]


# --- products -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [np.asarray, xp.asarray])
def test_gauss_newton_products_are_those_of_the_matrix(kind):
    def model(p, s):
        return {"a": xp.tanh(MATRIX @ p) * s, "b": p * s * s}

    def loss(y):
        return xp.sum(xp.exp(y["a"])) + xp.sum(y["b"] ** 4) * y["a"][0]

    p, s = kind(POINT), kind(0.7)
    vp, vs = kind(np.array([1.0, 0.5, -2.0])), kind(0.3)
    found = xp.gauss_newton_product(model, loss, (p, s), (vp, vs))
    assert isinstance(found[0], type(p))
    J = xp.jacrev(model, (0, 1))(p, s)
    J = np.concatenate(
        [
            np.concatenate([np.asarray(J[y][0]), np.asarray(J[y][1])[:, None]], axis=1)
            for y in ("a", "b")
        ]
    )
    blocks = xp.hessian(loss)(model(p, s))
    H = np.block([[np.asarray(blocks[i][j]) for j in ("a", "b")] for i in ("a", "b")])
    v = np.concatenate([np.asarray(vp), [float(vs)]])
    for matrix, chosen in ((J.T @ H @ J, loss), (J.T @ J, None)):
        found = xp.gauss_newton_product(model, chosen, (p, s), (vp, vs))
        together = np.concatenate([np.asarray(found[0]), [float(found[1])]])
        np.testing.assert_allclose(together, matrix @ v, rtol=1e-12)


def test_gauss_newton_products_have_derivatives():
    def f(x):
        return xp.gauss_newton_product(xp.sin, None, (x,), (xp.ones(3),))[0]

    np.testing.assert_allclose(
        np.asarray(xp.jacobian(f)(POINT)), np.diag(-np.sin(2 * POINT)), atol=1e-14
    )


def test_tangents_that_do_not_fit_are_said():
    _, push = xp.linearize(xp.sin, np.ones(2))
    with pytest.raises(ValueError, match="does not fit"):
        push(np.ones(3))
    with pytest.raises(ValueError, match="are needed"):
        push(np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match="tangents must be a tuple"):
        xp.gauss_newton_product(xp.sin, None, (np.ones(2),), np.ones(2))
    with pytest.raises(TypeError, match="cotangents must be a tuple"):
        xp.vhp(xp.sum, (np.ones(2),), np.ones(2))
    with pytest.raises(ValueError, match="use jacobian"):
        xp.gauss_newton_product(xp.sin, xp.sin, (np.ones(2),), (np.ones(2),))


# --- aux ----------------------------------------------------------------------------------------------
def with_aux(x):
    y = xp.sin(x)
    return xp.sum(y), {"y": y, "name": "sine", "none": None}


def vector_with_aux(x):
    return xp.sin(x), (x * 2.0, "more")


def test_aux_is_given_beside_as_jax_gives_it():
    x = xp.asarray([0.3, 0.4])
    g, aux = xp.grad(with_aux, has_aux=True)(x)
    assert (aux["name"], aux["none"], isinstance(aux["y"], xp.Array)) == ("sine", None, True)
    (value, aux), again = xp.value_and_grad(with_aux, 0, True)(x)
    assert again.tolist() == g.tolist()
    assert float(value) == float(xp.sum(aux["y"]))
    for form in (xp.jacobian, xp.jacfwd, xp.jacrev):
        J, aux = form(vector_with_aux, has_aux=True)(x)
        assert (J.shape, aux[0].tolist(), aux[1]) == ((2, 2), [0.6, 0.8], "more")
    H, aux = xp.hessian(with_aux, has_aux=True)(x)
    assert (H.shape, aux["name"]) == ((2, 2), "sine")
    *_, aux = xp.jvp(vector_with_aux, (x,), (x,), has_aux=True)
    assert aux[1] == "more"
    for form in (xp.vjp, xp.linearize):
        _, function, aux = form(vector_with_aux, x, has_aux=True, verify=True)
        assert aux[1] == "more"
        function(x)
    xp.grad(with_aux, has_aux=True, verify=True)(x)


def test_aux_is_numpys_where_the_arguments_were():
    (value, aux), g = xp.value_and_grad(with_aux, has_aux=True)(np.array([0.3, 0.4]))
    assert [type(part) for part in (value, aux["y"], g)] == [np.float64, np.ndarray, np.ndarray]
    v = xp.Variable([1.0])
    _, aux = xp.grad(lambda x: (x * 2.0, v), has_aux=True)(1.0)
    assert aux is v


def test_aux_keeps_no_tape_alive():
    seen = []

    def f(x):
        y = x * xp.ones(1000)
        seen.append(weakref.ref(y))
        return xp.sum(y), xp.sum(y)

    _, aux = xp.grad(f, has_aux=True)(xp.asarray(2.0))
    gc.collect()
    assert float(aux) == 2000.0
    assert seen[0]() is None


def test_aux_of_an_inner_derivative_is_followed_by_an_outer_one():
    def outer(x):
        _, aux = xp.grad(lambda y: (y * y, y * x), has_aux=True)(x)
        return aux

    assert xp.grad(outer)(3.0) == 6.0


@pytest.mark.parametrize("f", [lambda x: xp.sum(x), lambda x: [xp.sum(x), 1], lambda x: (1, 2, 3)])
def test_a_function_without_aux_is_said(f):
    for form in (xp.grad, xp.jacobian, xp.hessian):
        with pytest.raises(TypeError, match=r"must give a tuple \(result, aux\)"):
            form(f, has_aux=True)(np.ones(2))
    with pytest.raises(TypeError, match="has_aux must be True or False"):
        xp.grad(f, has_aux="yes")


# --- chunks -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_a_chunk_has_a_size(size):
    for call in (
        lambda: xp.jacobian(xp.sin, chunk_size=size),
        lambda: xp.hessian(xp.sum, chunk_size=size),
        lambda: xp.vmap(xp.sin, chunk_size=size),
    ):
        with pytest.raises((TypeError, ValueError), match="chunk_size must be"):
            call()


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 100])
def test_vmap_in_chunks_gives_what_it_gives_at_once(chunk_size):
    x, y = xp.asarray(RNG.normal(size=(7, 3))), xp.asarray(RNG.normal(size=(3, 7)))
    w = xp.asarray(POINT)

    def f(w, x, y):
        return {"a": xp.sum(w * x * y), "b": (x[:2], w)}

    mapped = xp.vmap(f, in_axes=(None, 0, 1), out_axes={"a": 0, "b": (1, -1)})
    parts = xp.vmap(f, in_axes=(None, 0, 1), out_axes={"a": 0, "b": (1, -1)}, chunk_size=chunk_size)
    for one, other in zip(xp_leaves(parts(w, x, y)), xp_leaves(mapped(w, x, y)), strict=True):
        assert one.tolist() == other.tolist()
    gradient = xp.jacobian(lambda w: parts(w, x, y)["a"])(w)
    np.testing.assert_allclose(gradient, np.asarray(x) * np.asarray(y).T)


def test_chunks_bound_what_hessians_and_gradients_per_example_hold():
    rows = []

    def f(x):
        rows.append(x.shape)
        return xp.sum(x * x)

    assert xp.hessian(f, chunk_size=2)(np.ones(5)).tolist() == (2 * np.eye(5)).tolist()
    assert len(rows) == 1
    per_example = xp.vmap(xp.grad(f), chunk_size=4)(xp.ones((10, 2)))
    assert per_example.tolist() == [[2.0, 2.0]] * 10
    assert len(rows) == 1 + 3
    assert xp.vmap(f, chunk_size=3)(xp.ones((0, 2))).shape == (0,)
