"""Factorisations where singular values or eigenvalues coincide: exact, or NaN, never wrong."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape.ops.linalg import hermitian, regular
from helpers.matrices import DTYPES, adjoint, spectrum

pytestmark = [
    pytest.mark.any_storage,
    pytest.mark.filterwarnings("ignore:use the values alone, projectors"),
]

INVARIANT = {
    "spectral function of eigh": lambda x: spectral(xp.linalg.eigh(hermitian(x))),
    "u vh of svd": lambda x: polar(*xp.linalg.svd(x, full_matrices=False)),
    "projector of eig": lambda x: projector(*xp.linalg.eig(regular(x))),
}


def spectral(result):
    w, v = result
    return testing.total((v * xp.exp(w / 4.0)[None, :]) @ xp.matrix_transpose(xp.conj(v)))


def polar(u, s, vh):
    return testing.total((u @ vh, s))


def projector(w, v):
    return testing.total(((v * xp.exp(w / 9.0)[None, :]) @ xp.linalg.inv(v), w))


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3)])
def test_what_the_choice_of_vectors_leaves_alone_has_exact_gradients(name, dtype, shape):
    if shape != (3, 3) and "svd" not in name:
        shape = (2, 2)
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is np.complex128 else 0.0)
    testing.check_gradients(INVARIANT[name], [x], order=2, rtol=1e-6)


EXACT = {
    "projector of eigh": lambda x: projected(xp.linalg.eigh((x + adjoint(x)) / 2.0)[1][..., :2]),
    "projector of svd": lambda x: projected(xp.linalg.svd(x)[0][..., -2:]),
    "u vh of svd": lambda x: testing.total(product(xp.linalg.svd(x, full_matrices=False))),
    "u vh of a tall svd": lambda x: testing.total(
        product(xp.linalg.svd(x[..., :, :2], full_matrices=False))
    ),
    "u vh of a wide svd": lambda x: testing.total(
        product(xp.linalg.svd(x[..., :2, :], full_matrices=False))
    ),
}


def projected(v):
    return testing.total(v @ adjoint(v))


def product(result):
    return result[0] @ result[2]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    "values", [(1.0, 1.0, 2.0, 4.0), (2.0, 2.0, 3.0, 3.0)], ids=["a pair", "two pairs"]
)
@DTYPES
def test_functions_of_the_space_of_coinciding_values_are_exact(name, values, dtype):
    x = spectrum(values, dtype)
    testing.check_gradients(EXACT[name], [x], order=1, modes=["rev"], rtol=1e-6)


FORWARD = {
    "vectors of eigh": lambda x: xp.linalg.eigh((x + adjoint(x)) / 2.0)[1],
    "vectors of svd": lambda x: xp.linalg.svd(x)[0],
    "vectors of eig": lambda x: xp.linalg.eig(x)[1],
    "rebuilt in the wrong order by svd": lambda x: testing.total(product(xp.linalg.svd(x)[::-1])),
}


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize(
    "values",
    [(1.0, 1.0, 1.0, 1.0), (2.0, 2.0, 3.0, 1.0), (0.0, 0.0, 1.0, 2.0)],
    ids=["eye", "a pair", "zeros"],
)
def test_forward_mode_cannot_know_what_becomes_of_vectors_of_coinciding_values(name, values):
    x = spectrum(values) if name != "vectors of eig" else np.diag(values)
    along = testing.directions([x])
    (found,) = testing.slopes(FORWARD[name], [x], along)
    assert np.isnan(found).any()


LESS = {
    "the last column": np.asarray([[1.0, 2.0], [2.0, 4.0], [1.0, 2.0]]),
    "zeros": np.zeros((3, 2)),
    "the first column": np.asarray([[0.0, 2.0], [0.0, 4.0], [0.0, 1.0]]),
    "rounded": np.ones((4, 2)) / 3.0 * np.asarray([1.0, 0.1]),
    "complex": np.asarray([[1.0, 2j], [1j, -2.0], [2.0, 4j]]),
}


@pytest.mark.parametrize("name", LESS)
@pytest.mark.parametrize(
    "f",
    [
        lambda q, r: q,
        lambda q, r: r,
        lambda q, r: q @ r,
        lambda q, r: q[:, 1:],
    ],
    ids=["q", "r", "q @ r", "the free column"],
)
def test_a_column_that_depends_on_others_has_no_quiet_gradient_by_qr(name, f):
    (found,) = testing.gradients(lambda x: testing.total(f(*xp.linalg.qr(x))), [LESS[name]])
    assert np.isnan(found).any()


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("rank", [1, 2])
def test_what_does_not_depend_on_a_free_column_of_q_is_exact(shape, rank):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(shape[0], rank)), rng.normal(size=(rank, shape[1]))

    def f(left):
        q, _ = xp.linalg.qr(left @ xp.asarray(right))
        q, _ = xp.linalg.qr(xp.asarray(left0.T) @ q)  # its noise must not be blown up
        return testing.total(q[:, :rank] @ xp.matrix_transpose(q[:, :rank]))

    left0 = rng.normal(size=(shape[0], shape[0]))
    testing.check_gradients(f, [left], order=1, modes=["rev"], rtol=1e-6)


@DTYPES
def test_a_stack_has_nan_only_where_the_choice_matters(dtype):
    def rebuilt(x):
        w, v = xp.linalg.eigh(x)
        return testing.total(xp.real(v) ** 2 * w[..., None, :])

    x = np.stack([spectrum((1.0, 2.0, 4.0), dtype), np.eye(3)])
    (found,) = testing.gradients(rebuilt, [x])
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).any()


BY_VALUES = {
    "eigvalsh": (lambda x: xp.sum(xp.linalg.eigvalsh(x) ** 3), 3),
    "svdvals": (lambda x: xp.sum(xp.linalg.svdvals(x) ** 2), 2),
    "eigh": (lambda x: xp.sum(xp.linalg.eigh(x)[0] ** 3), 3),
    "svd": (lambda x: xp.sum(xp.linalg.svd(x)[1] ** 2), 2),
}


@pytest.mark.parametrize("name", BY_VALUES)
@pytest.mark.parametrize("x", [np.eye(3), np.ones((3, 3)) + np.eye(3)], ids=["eye", "rounded"])
def test_second_derivatives_of_coinciding_values_are_those_of_the_trace(name, x):
    f, power = BY_VALUES[name]
    d = np.random.default_rng(0).normal(size=(3, 3))
    d = d if power == 2 else (d + d.T) / 2.0
    expected = 2.0 * d if power == 2 else 3.0 * (x @ d + d @ x)
    if power == 3:  # functions of the lower triangle
        expected = 2.0 * np.tril(expected, -1) + np.diag(np.diag(expected))
    (found,) = map(np.asarray, xp.hvp(f, (xp.asarray(x),), (xp.asarray(d),)))
    if not np.isnan(found).any():  # forward mode may lack the records before the factorisation
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def along(x):
        return xp.sum(xp.grad(f)(x) * xp.asarray(d))

    np.testing.assert_allclose(np.asarray(xp.grad(along)(xp.asarray(x))), expected, atol=1e-12)
