"""Gradients of functions of a matrix through eigh, eig and svd, at values that coincide or nearly do.

The truth comes from 50 digits: the divided differences of f between exact eigenvalues.  A gradient that
is right to six digits is right; one that is NaN must have warned.  Near a tie an eigenvalue that is
computed is a rounding error away from the exact one, which a smooth f does not feel.
"""

import random
import warnings
from collections import Counter

import mpmath
import numpy as np

import arraytape as xp

from .attack import Attack

GAPS = [0.0, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-3]
FUNCTIONS = {  # of an eigenvalue: by the namespace, by mpmath; what they need of it
    "w + 1e-6": (lambda w: w + 1e-6, lambda w: w + mpmath.mpf(1e-6), 0.0),
    "w": (lambda w: 1.0 * w, lambda w: +w, 0.0),
    "w ** 3": (lambda w: w**3, lambda w: w**3, 0.0),
    "exp(w / 4)": (lambda w: xp.exp(w / 4.0), lambda w: mpmath.exp(w / 4), 0.0),
    "sqrt(w)": (xp.sqrt, mpmath.sqrt, 0.5),
    "log(w)": (xp.log, mpmath.log, 0.5),
    "1 / w": (lambda w: 1.0 / w, lambda w: 1 / w, 0.5),
    "w / (w + 0.1)": (lambda w: w / (w + 0.1), lambda w: w / (w + mpmath.mpf(0.1)), 0.0),
    "cos(w)": (xp.cos, mpmath.cos, 0.0),
}
BASES = [0.0, 1e-3, 0.5, 1.0, 3.0]
SCRIPT = """import sys; sys.path.insert(0, "tests")
from attack import matrix_functions
matrix_functions.run({})"""
COUNTS: Counter[str] = Counter()


def drawn_matrix(rng, base):
    """A symmetric positive semidefinite matrix with two or three values near base."""
    n = rng.choice([2, 3, 3, 4, 5])
    gap, near = rng.choice(GAPS), min(n, rng.choice([2, 2, 3]))
    values = [base + i * gap for i in range(near)] + [base + 1.0 + 1.3 * i for i in range(n - near)]
    if rng.random() < 0.2:
        return np.diag(values), gap
    q = np.linalg.qr(np.random.default_rng(rng.randrange(2**32)).normal(size=(n, n)))[0]
    a = (q * np.asarray(values)) @ q.T
    return (a + a.T) / 2.0, gap


def true_gradient(a, f, weights):
    """The gradient of sum(weights * f(a)) with respect to a symmetric matrix."""
    n = len(a)
    with mpmath.workdps(50):
        values, vectors = mpmath.eigsy(mpmath.matrix(a.tolist()))
        inner = vectors.T * mpmath.matrix(((weights + weights.T) / 2.0).tolist()) * vectors
        for i in range(n):
            for j in range(n):
                inner[i, j] *= divided(f, values[i], values[j])
        found = vectors * inner * vectors.T
        return np.asarray([[float(mpmath.re(found[i, j])) for j in range(n)] for i in range(n)])


def divided(f, v, w):
    """The divided difference of f, its derivative where the two are as good as equal."""
    gap = v - w
    return mpmath.diff(f, (v + w) / 2) if abs(gap) < mpmath.mpf(10) ** -20 else (f(v) - f(w)) / gap


def by_eigh(f, weights):
    def target(a):
        w, v = xp.linalg.eigh(a)
        return xp.sum(weights * ((v * f(w)) @ v.T))

    return target


def by_svd(f, weights):
    def target(a):
        u, s, vh = xp.linalg.svd(a)
        return xp.sum(weights * (u @ (f(s)[:, None] * vh)))

    return target


def by_eig(f, weights):
    def target(a):
        w, v = xp.linalg.eig(a)
        return xp.sum(weights * xp.real((v * f(w)) @ xp.linalg.inv(v)))

    return target


# eig's vectors are no orthonormal ones, and its rule cannot tell f' from its cotangents.
LARGEST = {"eigh": 1e-14, "svd": 1e-14, "eig": 1e-12}
RTOL = {"eigh": 1e-6, "svd": 1e-6, "eig": 1e-2}
EPS = 2.0**-52
WAYS = {"eigh": by_eigh, "svd": by_svd, "eig": by_eig}


def run(seed):
    """One function of one matrix, by each factorisation."""
    rng = random.Random(seed)
    name = rng.choice(sorted(FUNCTIONS))
    f, exactly, least = FUNCTIONS[name]
    base = rng.choice([b for b in BASES if b >= least])
    a, gap = drawn_matrix(rng, base)
    weights = np.random.default_rng(seed).normal(size=a.shape)
    want = true_gradient(a, exactly, weights)
    # By eig, f' is the difference of two rounded values of f over the gap of the eigenvalues: one
    # rounding of f counts where f' is small beside f / w, as that of w / (w + 0.1) is.
    rounding = 0.0
    if base >= 0.5 and gap >= 1e-13:
        slope = EPS * abs(float(exactly(mpmath.mpf(base)))) / gap
        rounding = 2.0 * slope * np.abs(weights).max() / np.abs(want).max()
    ways = WAYS if base >= 0.5 else {"eigh": by_eigh}  # |w| has a corner at 0, where w may be less
    for way, make in ways.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = np.asarray(xp.grad(make(f, weights))(xp.asarray(a)))
        found = (found + found.T) / 2.0
        told = any("0005-nan-at-coinciding" in str(w.message) for w in caught)
        about = f"{name} by {way}, values near {base} with a gap of {gap}"
        if np.isnan(found).any():
            assert told, f"NaN without a word: {about}\n{SCRIPT.format(seed)}"
            assert gap <= LARGEST[way], (
                f"NaN where a number is right: {about}\n{SCRIPT.format(seed)}"
            )
            COUNTS["NaN, warned"] += 1
            continue
        off = np.abs(found - want).max() / max(np.abs(want).max(), EPS)
        assert off < RTOL[way] + (rounding if way == "eig" else 0.0), (
            f"a gradient is off by {off:.1g}: {about}\n{SCRIPT.format(seed)}"
        )
        COUNTS["right"] += 1
    return len(ways)


ATTACK = Attack(run, "functions of matrices", COUNTS)
