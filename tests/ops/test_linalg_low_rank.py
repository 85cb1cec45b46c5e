"""Matrices of low rank and singular ones: exact, or NaN, never wrong."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from helpers.matrices import DTYPES, M, adjoint, curvature, gradient, spectrum

pytestmark = [
    pytest.mark.any_storage,
    pytest.mark.filterwarnings("ignore:use the values alone, projectors"),
]

LOW = {
    "rank 1 of 3": np.outer([1.0, 2.0, -1.0, 0.5, 3.0], [2.0, 1.0, -3.0]),
    "complex, square": np.outer([1.0, 2.0, -1j], [2.0, 1.0 + 1j, -3.0]),
    "real, tall": np.ones((3, 2)),
    "real, wide": np.ones((2, 3)),
    "complex, tall": np.asarray([[1.0, 2.0, 0.0], [1j, 1.0, 1.0], [2.0, 1.0, 1j], [0.0, 1.0, 1.0]])
    @ np.diag([1.0, 1.0, 0.0])
    @ spectrum((1.0, 2.0, 3.0), np.complex128),
}


@pytest.mark.parametrize("name", LOW)
def test_a_matrix_of_low_rank_rebuilt_by_svd_has_its_gradient_and_no_wrong_second_one(name):
    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total(xp.abs((u * s) @ vh) ** 2)

    x = LOW[name]
    (found,) = testing.gradients(f, [x])
    if not np.isnan(found).all():  # as where LAPACK gives exact zeros: see EXACTLY_LOW
        np.testing.assert_allclose(found, 2.0 * testing.weights(x.shape) * x, atol=1e-12)
    assert np.isnan(curvature(f, x)).any()


@pytest.mark.parametrize("name", LOW)
def test_the_part_of_largest_singular_value_of_a_matrix_of_low_rank_is_exact(name):
    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total((u[:, :1] * s[:1]) @ vh[:1, :])

    testing.check_gradients(f, [LOW[name]], order=1, rtol=1e-6)


EXACTLY_LOW = {
    "a column of zeros": np.asarray([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [2.0, 1.0, 0.0]]),
    "tall, two columns": np.asarray(
        [[3.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0, 0]]
    ),
    "wide, a row": np.asarray([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]),
    "coinciding": np.diag([4.0, 3.0, 1.0, 1.0, 0.0, 0.0])[:, :5],
    "complex": np.asarray([[1.0, 2.0, 0.0], [1j, 1.0, 0.0], [2.0, 1j, 0.0]]),
}
TAKEN_APART = {
    "the largest part": lambda u, s, vh: (u[:, :1] * s[:1]) @ vh[:1, :],
    "ridge": lambda u, s, vh: (u * xp.where(s > 1.5, s / (s * s + 0.5), 0.0)) @ vh,
    "ridge by mask": lambda u, s, vh: adjoint(vh) @ (masked(s) * (adjoint(u) @ target(u))),
    "whitened": lambda u, s, vh: (vh[:1, :] / s[:1], s[:1]),
}


def target(u):
    return xp.asarray(testing.weights(u.shape[:1]))


def masked(s):
    d, large = xp.zeros(s.shape), s > 1.5
    d[large] = 1.0 / s[large]
    return d


@pytest.mark.parametrize("name", EXACTLY_LOW)
@pytest.mark.parametrize("way", TAKEN_APART)
def test_values_that_are_never_read_do_no_harm_where_they_coincide_or_are_zero(name, way):
    x = EXACTLY_LOW[name]

    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        found = TAKEN_APART[way](u, s, vh)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(testing.total(xp.abs(part) ** 2) for part in parts)

    testing.check_gradients(f, [x], order=1, modes=["rev"], rtol=1e-6)


@pytest.mark.parametrize("name", EXACTLY_LOW)
def test_eigenvalues_that_are_never_read_do_no_harm_where_they_coincide(name):
    def f(x):
        w, v = xp.linalg.eigh(adjoint(x) @ x)
        top = v[:, -1:] / xp.sqrt(w[-1:])
        return testing.total(xp.abs(top @ adjoint(top)) ** 2)

    testing.check_gradients(f, [EXACTLY_LOW[name]], order=1, modes=["rev"], rtol=1e-6)


@pytest.mark.parametrize("name", EXACTLY_LOW)
def test_a_value_of_zero_that_is_read_is_nan_not_wrong(name):
    x = EXACTLY_LOW[name]
    hidden = np.zeros(x.shape)
    hidden[-1, -1] = 1.0

    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total(xp.real((u * s) @ vh) * xp.asarray(hidden)) + xp.sum(s**2)

    (found,) = testing.gradients(f, [x])
    expected = hidden * testing.weights(x.shape) + 2.0 * x
    assert np.isnan(found).any() or np.allclose(found, expected)


def test_a_hermitian_matrix_of_low_rank_rebuilt_by_eigh_has_its_gradient():
    def f(x):
        w, v = xp.linalg.eigh((x + adjoint(x)) / 2.0)
        return testing.total((v * w) @ adjoint(v))

    x = np.outer([1.0, 2.0, -1.0, 0.5], [1.0, 2.0, -1.0, 0.5])
    testing.check_gradients(f, [x], order=1, modes=["rev"])


def test_vectors_of_zero_singular_values_have_no_quiet_gradient_where_they_leave_their_space():
    def u(x):
        return xp.linalg.svd(x, full_matrices=False)[0]

    assert np.isnan(gradient(lambda x: u(x)[0, 1], np.ones((3, 2)))).any()
    assert np.isfinite(gradient(lambda x: u(x)[0, 0], np.ones((3, 2)))).all()


SINGULAR = {
    "eye": np.eye(4),
    "zeros": np.zeros((3, 3)),
    "one": np.zeros((1, 1)),
    "rank 1": np.ones((3, 3)),
    "rank 3": spectrum((1.0, 1.0, 2.0, 0.0), np.complex128),
    "rank 2": spectrum((1.0, 1.0, 0.0, 0.0), np.complex128),
    "stack": np.stack([np.eye(3), np.zeros((3, 3)), np.diag([0.0, 1.0, 1.0])]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_complex_determinant_is_exact_to_second_order_where_singular_values_coincide(name):
    x = SINGULAR[name].astype(np.complex128)
    testing.check_gradients(lambda x: testing.total(xp.linalg.det(x)), [x])


@DTYPES
def test_slogdet_is_infinite_or_nan_in_the_singular_matrices_of_a_stack_alone(dtype):
    x = np.stack([np.zeros((2, 2)), M, np.diag([0.0, 1.0])]).astype(dtype)

    def f(x):
        return xp.sum(xp.linalg.slogdet(x)[1])

    (found,) = testing.gradients(f, [x])
    assert np.isinf(found[0]).all()
    assert np.isinf(found[2]).all()
    np.testing.assert_allclose(found[1], [[0.6, -0.2], [-0.2, 0.4]])
    with np.errstate(invalid="ignore"):
        second = curvature(f, x)
    assert np.isnan(second[0]).all()
    assert np.isnan(second[2]).all()
    assert np.isfinite(second[1]).all()


SECOND_ORDER = {
    "jvp of jvp": lambda f, x, d: xp.jvp(lambda z: xp.jvp(f, (z,), (d,))[1], (x,), (d,))[1],
    "grad of jvp": lambda f, x, d: xp.sum(xp.grad(lambda z: xp.jvp(f, (z,), (d,))[1])(x) * d),
    "hvp": lambda f, x, d: xp.sum(xp.hvp(f, (x,), (d,))[0] * d),
    "grad of grad": lambda f, x, d: xp.sum(xp.grad(lambda z: xp.sum(xp.grad(f)(z) * d))(x) * d),
}


@pytest.mark.filterwarnings("ignore:use the values alone:arraytape.TapeWarning")
@pytest.mark.parametrize("rows", [slice(None), slice(2)], ids=["all vectors", "those in use"])
@pytest.mark.parametrize("turned", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("order", SECOND_ORDER)
def test_second_derivatives_of_a_singular_matrix_that_is_not_square_are_nan(order, rows, turned):
    """They have a finite term of the vector of the value 0, which no rule computes."""
    rng = np.random.default_rng(3)
    x, weights, d = rng.normal(size=(5, 2)) @ rng.normal(size=(2, 3)), *rng.normal(size=(2, 5, 3))
    x, weights, d = (xp.asarray(a.T if turned else a) for a in (x, weights, d))

    def cubed(z):
        u, s, vh = xp.linalg.svd(z, full_matrices=False)
        return xp.sum((u[:, rows] * s[rows] ** 3) @ vh[rows, :] * weights)

    assert np.isnan(float(SECOND_ORDER[order](cubed, x, d)))
    np.testing.assert_allclose(
        xp.grad(cubed)(x), xp.grad(lambda z: xp.sum(z @ z.mT @ z * weights))(x), atol=1e-12
    )
    regular = x + 0.1 * weights
    if rows == slice(None):
        np.testing.assert_allclose(
            float(SECOND_ORDER[order](cubed, regular, d)),
            float(SECOND_ORDER[order](lambda z: xp.sum(z @ z.mT @ z * weights), regular, d)),
        )
