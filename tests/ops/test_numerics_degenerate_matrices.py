"""Singular matrices, and matrices of which singular values or eigenvalues coincide."""

import numpy as np
import pytest

import arraytape as xp
from helpers.numerics import (
    EYE,
    EYE3,
    SINGULAR,
    M,
    equal,
    gradient,
    near,
    rebuilt_by_eig,
    rebuilt_by_eigh,
    rebuilt_by_svd,
)

pytestmark = [
    pytest.mark.any_storage,
    pytest.mark.filterwarnings("ignore:use the values alone, projectors"),
]


@pytest.mark.parametrize("values", [xp.linalg.svdvals, xp.linalg.eigvalsh])
def test_coinciding_values_have_exact_gradients(values):
    near(gradient(values, np.eye(3)), np.eye(3))


def test_the_singular_values_of_zeros_have_a_finite_gradient():
    found = gradient(xp.linalg.svdvals, np.zeros((2, 2)))
    near(found @ found.T, EYE)  # some u vh: a subgradient


C = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
TWICE = np.ones((3, 3)) + np.eye(3)  # eigenvalues 1, 1, 4: the computed ones differ by rounding
SYMMETRIC_C = [[1.0, 3.0, 5.0], [3.0, 5.0, 7.0], [5.0, 7.0, 10.0]]


def of_lower(g):
    """Return the gradient for a function that reads the lower triangle, from that of both triangles."""
    return np.tril(2.0 * np.asarray(g), -1) + np.diag(np.diag(g))


@pytest.mark.parametrize(
    "x",
    [np.eye(3), 2.0 * np.eye(3), np.diag([3.0, 1.0, 1.0]), TWICE],
    ids=["eye", "scaled", "a pair", "but for rounding"],
)
def test_a_matrix_rebuilt_from_coinciding_singular_values_has_its_gradient(x):
    near(gradient(lambda x: rebuilt_by_svd(x) * xp.asarray(C), x), C)


@pytest.mark.parametrize(
    "x",
    [np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 1.0, 3.0]), TWICE, np.zeros((3, 3))],
    ids=["eye", "scaled", "a pair", "but for rounding", "zeros"],
)
def test_a_matrix_rebuilt_from_coinciding_eigenvalues_has_its_gradient(x):
    near(gradient(lambda x: rebuilt_by_eigh(x) * xp.asarray(C), x), of_lower(SYMMETRIC_C))


# The vectors of eig are not orthonormal, and its rule has no limits.
def nan_or_right(found, expected):
    assert np.isnan(found).any()
    finite = np.isfinite(found)
    assert not np.isinf(found).any()
    near(found[finite], np.asarray(expected)[finite])


def test_a_matrix_rebuilt_from_coinciding_complex_eigenvalues_has_nan_as_gradient():
    nan_or_right(gradient(lambda x: rebuilt_by_eig(x) * xp.asarray(C), np.eye(3)), C)


def test_the_cotangents_of_values_and_vectors_do_not_tell_the_gradient_where_values_coincide():
    def rebuilt(u, s, vh):
        return xp.sum((u * s) @ vh)

    def other(u, s, vh):
        return xp.sum(u @ vh) + xp.sum(s)

    def cotangents(f):
        x = xp.asarray(EYE)
        with xp.GradientTape() as tape:
            tape.watch(x)
            parts = xp.linalg.svd(x)
            y = f(*parts)
        return [np.asarray(g) for g in tape.gradient(y, list(parts))]

    def slope(f):
        def value(t):
            return float(
                f(*xp.linalg.svd(xp.asarray(EYE + t * np.asarray([[0.0, 1.0], [0.0, 0.0]]))))
            )

        return (value(1e-6) - value(-1e-6)) / 2e-6

    for one, two in zip(cotangents(rebuilt), cotangents(other), strict=True):
        equal(one, two)
    np.testing.assert_allclose([slope(rebuilt), slope(other)], [1.0, 0.0], atol=1e-9)
    # The limits come from the records of the functions, so both gradients are right.
    for f, expected in ((rebuilt, np.ones((2, 2))), (other, EYE)):
        near(gradient(lambda x, f=f: f(*xp.linalg.svd(x)), EYE), expected)


def test_the_projector_onto_the_space_of_coinciding_eigenvalues_has_an_exact_gradient():
    def projected(x):
        v = xp.linalg.eigh(x)[1][:, :2]
        return v @ xp.matrix_transpose(v) * xp.asarray(C)

    expected = [[0.0, 0.0, -2.5], [0.0, 0.0, -3.5], [-2.5, -3.5, 0.0]]
    near(gradient(projected, np.diag([1.0, 1.0, 3.0])), of_lower(expected))


def test_the_projector_onto_the_space_of_values_that_coincide_but_for_rounding_is_exact():
    def projected(x):
        v = xp.linalg.eigh(x)[1][:, :2]
        return v @ xp.matrix_transpose(v) * xp.asarray(C)

    # The other one's is v v^T with v = (1, 1, 1) / sqrt(3): -(p c q + q c p) / 3 with p = v v^T.
    p = np.full((3, 3), 1.0 / 3.0)
    c = np.asarray(SYMMETRIC_C)
    expected = -(p @ c @ (EYE3 - p) + (EYE3 - p) @ c @ p) / 3.0
    near(gradient(projected, TWICE), of_lower(expected))


def test_the_projector_onto_the_space_of_coinciding_singular_values_has_an_exact_gradient():
    def projected(x):
        u = xp.linalg.svd(x, full_matrices=False)[0][:, :2]
        return u @ xp.matrix_transpose(u) * xp.asarray(C)

    expected = [[0.0, 0.0, 1.25], [0.0, 0.0, 1.75], [3.75, 5.25, 0.0]]
    near(gradient(projected, np.diag([3.0, 3.0, 1.0])), expected)


@pytest.mark.parametrize(
    "vectors",
    [lambda x: xp.linalg.eigh(x)[1], lambda x: xp.linalg.svd(x)[0], lambda x: xp.linalg.svd(x)[2]],
    ids=["eigh", "u", "vh"],
)
def test_vectors_that_are_no_function_of_the_matrix_have_no_quiet_gradient(vectors):
    assert np.isnan(gradient(lambda x: vectors(x)[0, 0], EYE)).any()


def test_det_of_a_singular_matrix_has_its_cofactors_as_gradient():
    near(gradient(xp.linalg.det, SINGULAR), [[4.0, -2.0], [-2.0, 1.0]])


def test_det_of_zeros_has_a_gradient_of_zeros():
    equal(gradient(xp.linalg.det, np.zeros((3, 3))), 0.0)


def test_slogdet_of_a_singular_matrix_has_an_infinite_gradient():
    found = gradient(lambda x: xp.linalg.slogdet(x)[1], SINGULAR)
    assert np.isinf(found).all()


def test_slogdet_of_a_stack_is_infinite_for_the_singular_matrix_alone():
    found = gradient(lambda x: xp.linalg.slogdet(x)[1], [SINGULAR, M])
    assert np.isinf(found[0]).all()
    near(found[1], [[0.6, -0.2], [-0.2, 0.4]])
