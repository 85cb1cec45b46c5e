"""Matrices with given spectra, and the curvature of functions of them."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing


def gradient(f, *inputs):
    arrays = [xp.asarray(np.asarray(x, dtype=float)) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = [np.asarray(g) for g in tape.gradient(y, arrays)]
    return found if len(found) > 1 else found[0]


def spectrum(values, dtype=np.float64, seed=0):
    """Return a Hermitian matrix with these eigenvalues, in a random basis."""
    rng = np.random.default_rng(seed)
    n = len(values)
    x = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype is np.complex128 else 0.0)
    q = np.linalg.qr(x)[0]
    return (q * np.asarray(values)) @ q.conj().T


def curvature(f, x):
    return testing.curvature(f, [np.asarray(x)], testing.directions([np.asarray(x)]))[0]


DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.complex128])


def adjoint(x):
    return xp.matrix_transpose(xp.conj(x))


M = np.asarray([[2.0, 1.0], [1.0, 3.0]])
