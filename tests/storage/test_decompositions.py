"""Factors of matrices: what they give, and that SciPy's BLAS never gets what it shares among threads."""

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import decompositions
from arraytape._storage.decompositions import FEW, LOWER, PANEL, UPPER, WHOLE

pytest.importorskip("scipy")

SIZES = (1, 2, WHOLE - 1, WHOLE, WHOLE + 1, 3 * WHOLE + 5)
COLUMNS = (1, 2, FEW, FEW + 1, 2 * WHOLE)


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if dtype is complex else x


def definite(n, dtype):
    x = drawn((n, n), dtype)
    x = x @ x.conj().T + n * np.eye(n)
    return (x + x.conj().T) / 2.0


def lower(n, dtype):
    return np.linalg.cholesky(definite(n, dtype))


# Name -> a matrix, and its decompositions.
KINDS = {
    "regular": (
        lambda n, dtype: drawn((n, n), dtype),
        lambda a: decompositions.decomposed(a, False),
    ),
    "in the order of Fortran": (
        lambda n, dtype: np.asfortranarray(drawn((n, n), dtype)),
        lambda a: decompositions.decomposed(a, False),
    ),
    "definite": (definite, lambda a: decompositions.decomposed(a, True)),
    "lower": (lower, lambda a: decompositions.Triangle(a, LOWER)),
    "upper": (lambda n, dtype: lower(n, dtype).T, lambda a: decompositions.Triangle(a, UPPER)),
}
OF_KINDS = pytest.mark.parametrize("kind", KINDS)
OF_DTYPES = pytest.mark.parametrize("dtype", [float, complex])


@OF_KINDS
@OF_DTYPES
@pytest.mark.parametrize("n", SIZES)
def test_systems(kind, dtype, n):
    make, factor = KINDS[kind]
    a = make(n, dtype)
    before = a.copy()
    known = factor(a)
    for columns in COLUMNS:
        b = drawn((n, columns), dtype, seed=columns)
        given = b.copy()
        for adjoint, matrix in ((False, a), (True, a.conj().T)):
            x = known.solve_system(b, adjoint)
            scale = np.linalg.norm(matrix) * np.linalg.norm(x) + np.linalg.norm(b)
            assert np.linalg.norm(matrix @ x - b) <= 16 * n * np.finfo(float).eps * scale
        np.testing.assert_array_equal(b, given)
    np.testing.assert_array_equal(a, before)


@OF_KINDS
@OF_DTYPES
@pytest.mark.parametrize("n", SIZES)
def test_inverses_and_determinants(kind, dtype, n):
    make, factor = KINDS[kind]
    a = make(n, dtype)
    known = factor(a)
    found = known.invert_matrix()
    scale = n * np.linalg.cond(a) * np.finfo(float).eps
    assert np.linalg.norm(found @ a - np.eye(n)) <= 16 * scale
    if kind in ("lower", "upper"):
        return
    sign, log = np.linalg.slogdet(a)
    if abs(log) < 700.0:
        np.testing.assert_allclose(known.determinant(), sign * np.exp(log), rtol=1e-9)
    if dtype is float:
        ours = known.slogdet()
        np.testing.assert_allclose(ours, (sign, log), rtol=1e-10, atol=1e-10)
    # LAPACK's estimate of the condition number, which is never more than it.
    exact = 1.0 / np.linalg.cond(a, 1)
    assert exact * (1.0 - 1e-6) <= known.reciprocal_condition(a) <= 10.0 * exact


@pytest.mark.parametrize("n", SIZES[1:])
def test_singular_matrices(n):
    for a in (np.ones((n, n)), np.zeros((n, n)), np.triu(np.ones((n, n)), 1)):
        known = decompositions.decomposed(a, False)
        assert known.singular
        assert known.slogdet() == (0.0, -np.inf)
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            known.solve_system(np.ones((n, 1)), False)


la = xp.linalg
ASKED = {
    "solve": lambda a, b: xp.sum(la.solve(a, b) ** 2),
    "solve for many": lambda a, b: xp.sum(la.solve(a, a @ a) ** 2),
    "inv": lambda a, b: xp.sum(la.inv(a) ** 2),
    "slogdet": lambda a, b: xp.sum(la.slogdet(a).logabsdet),
    "det": lambda a, b: la.det(a / (1.5 * a.shape[0])),
    "cholesky": lambda a, b: xp.sum(la.cholesky(a) ** 3),
    "log det": lambda a, b: xp.sum(xp.log(la.diagonal(la.cholesky(a)))),
    "triangles": lambda a, b: (
        lambda L: xp.sum(la.solve(la.matrix_transpose(L), la.solve(L, b)) ** 2)
    )(la.cholesky(a)),
}


def in_one_thread(name, shapes):
    """Whether OpenBLAS gives such a call one thread, by the bounds in the module."""
    if name in ("trsv", "gecon", "pocon"):
        return True
    if name == "getrf":
        rows, columns = shapes[0]
        return columns <= WHOLE and rows * columns <= PANEL
    if name == "trtri":
        return shapes[0][0] <= WHOLE
    return name == "trsm" and min(shapes[1]) <= FEW


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("n", [WHOLE, 150, pytest.param(500, marks=pytest.mark.nightly)])
def test_scipys_blas_uses_one_thread(asked, n, monkeypatch):
    """Its threads would wait for cores that NumPy's hold after each product: 20 times as long."""
    routine, wrong = decompositions.routine, []

    def seen(name, a):
        def call(*args, **keywords):
            shapes = [x.shape for x in args if np.ndim(x)]
            if not in_one_thread(name, shapes):
                wrong.append((name, shapes))
            return routine(name, a)(*args, **keywords)

        return call

    monkeypatch.setattr(decompositions, "routine", seen)
    for matrix in (definite(n, float), drawn((n, n), float) + n * np.eye(n)):
        if matrix[0, 1] != matrix[1, 0] and asked in ("cholesky", "log det", "triangles"):
            continue
        a, b = xp.asarray(matrix), xp.asarray(drawn((n, 2), float))
        f = ASKED[asked]
        xp.grad(f, argnums=0)(a, b)
        replayed = xp.function(xp.grad(f, argnums=0))
        for _ in range(3):
            replayed(a, b)
    assert not wrong
