"""Functions that read one triangle have the derivative of the function as it runs, in all libraries.

The functions of ``xp.linalg``, of ``np.linalg`` and of SciPy inside ``interop`` are applied to matrices
whose triangles differ.  Differences of each element are the reference.
"""

import contextlib

import numpy as np
import pytest
import scipy.linalg as L

import arraytape as xp
from arraytape import interop

RNG = np.random.default_rng(11)
WEIGHTS = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
STEP = 1e-5


def weighted(y):
    weights = WEIGHTS if y.ndim > 1 else WEIGHTS[0]
    return xp.sum(xp.real(y)) + xp.sum(xp.real(y * xp.asarray(weights)))


def of_pairs(pairs):
    values, vectors = pairs
    return (vectors * xp.exp(values / 8.0)) @ xp.conj(xp.matrix_transpose(vectors))


def solved(a, word, lower):
    return L.solve(a, a[:, 0] * 0.0 + 1.0, assume_a=word, lower=lower)


FUNCTIONS = {  # the function, and True if it reads the lower triangle
    "xp eigh": (lambda a: of_pairs(xp.linalg.eigh(a)), True),
    "xp eigvalsh": (xp.linalg.eigvalsh, True),
    "xp cholesky": (xp.linalg.cholesky, True),
    "xp cholesky, upper factor": (lambda a: xp.linalg.cholesky(a, upper=True), True),
}
for _lower, _word in ((True, "L"), (False, "U")):
    FUNCTIONS |= {
        f"np eigh {_word}": (lambda a, w=_word: of_pairs(np.linalg.eigh(a, w)), _lower),
        f"np eigvalsh {_word}": (lambda a, w=_word: np.linalg.eigvalsh(a, w), _lower),
        f"np cholesky {_word}": (lambda a, s=_lower: np.linalg.cholesky(a, upper=not s), _lower),
        f"scipy eigh {_word}": (lambda a, s=_lower: of_pairs(L.eigh(a, lower=s)), _lower),
        f"scipy eigvalsh {_word}": (lambda a, s=_lower: L.eigvalsh(a, lower=s), _lower),
        f"scipy cholesky {_word}": (lambda a, s=_lower: L.cholesky(a, lower=s), _lower),
        f"scipy cho_solve {_word}": (
            lambda a, s=_lower: L.cho_solve(L.cho_factor(a, lower=s), np.ones(3)),
            _lower,
        ),
        f"scipy solve pos {_word}": (lambda a, s=_lower: solved(a, "pos", s), _lower),
        f"scipy solve her {_word}": (lambda a, s=_lower: solved(a, "her", s), _lower),
        f"scipy inv pos {_word}": (lambda a, s=_lower: L.inv(a, assume_a="pos", lower=s), _lower),
        f"scipy pinvh {_word}": (lambda a, s=_lower: L.pinvh(a, lower=s), _lower),
    }

ON_FUNCTIONS = pytest.mark.parametrize("name", FUNCTIONS)
DTYPES = pytest.mark.parametrize("dtype", ["float64", "complex128"])


@pytest.fixture(autouse=True)
def inside(name):
    with interop.scipy() if name.startswith("scipy") else contextlib.nullcontext():
        yield


def drawn(dtype, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    a = a if dtype == "complex128" else np.real(a)
    return a * 0.7 + np.diag([6.0, 9.0, 13.0])


def target_of(name):
    return lambda a: weighted(FUNCTIONS[name][0](a))


def slopes(f, a):
    """Return dL/dRe + i dL/dIm of each element, by differences."""
    found = np.zeros_like(a)
    for place in np.ndindex(a.shape):
        for unit in (1.0, 1j) if a.dtype.kind == "c" else (1.0,):
            move = np.zeros_like(a)
            move[place] = unit * STEP
            ahead, behind = f(xp.asarray(a + move)), f(xp.asarray(a - move))
            found[place] += unit * float((ahead - behind) / (2.0 * STEP))
    return found


@ON_FUNCTIONS
@DTYPES
def test_both_modes_give_the_slope_of_each_element(name, dtype):
    f, a, d = target_of(name), drawn(dtype, 0), drawn(dtype, 1)
    expected = slopes(f, a)
    unread = np.triu(expected, 1) if FUNCTIONS[name][1] else np.tril(expected, -1)
    assert not unread.any()
    np.testing.assert_allclose(np.asarray(xp.grad(f)(xp.asarray(a))), expected, atol=1e-7)
    _, tangent = xp.jvp(f, (xp.asarray(a),), (xp.asarray(d),))
    along = np.sum(np.real(np.conj(expected) * d))
    np.testing.assert_allclose(float(tangent), along, atol=1e-6)


@ON_FUNCTIONS
@DTYPES
def test_second_derivatives_are_the_slopes_of_the_gradient(name, dtype):
    f, a, d = target_of(name), drawn(dtype, 0), drawn(dtype, 1)
    gradient = xp.grad(f)

    def along(a):
        return xp.sum(xp.real(gradient(a) * xp.conj(xp.asarray(d))))

    ahead, behind = (np.asarray(gradient(xp.asarray(a + s * STEP * d))) for s in (1.0, -1.0))
    expected = (ahead - behind) / (2.0 * STEP)
    np.testing.assert_allclose(np.asarray(xp.grad(along)(xp.asarray(a))), expected, atol=1e-7)
    (found,) = xp.hvp(f, (xp.asarray(a),), (xp.asarray(d),))
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-7)


@ON_FUNCTIONS
@DTYPES
def test_replays_have_the_same_gradient(name, dtype):
    gradient = xp.grad(target_of(name))
    replayed = xp.function(gradient)
    for seed in range(4):
        a = xp.asarray(drawn(dtype, seed))
        np.testing.assert_allclose(np.asarray(replayed(a)), np.asarray(gradient(a)), rtol=1e-12)


@pytest.mark.parametrize("name", ["xp eigh", "np eigh L", "scipy eigh L"])
def test_libraries_agree_on_the_triangle(name):
    a = xp.asarray(drawn("float64", 0))
    expected = np.asarray(xp.grad(target_of("xp eigh"))(a))
    np.testing.assert_allclose(np.asarray(xp.grad(target_of(name))(a)), expected, atol=1e-12)
