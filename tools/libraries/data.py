"""Arguments for the calls: small arrays of random numbers, the same in each run."""

from __future__ import annotations

import numpy as np

from .facts import Raw, Symmetric


def normal(*shape: int, seed: int = 0) -> Raw:
    """Return standard normal numbers."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def uniform(*shape: int, low: float = 0.2, high: float = 1.0, seed: int = 0) -> Raw:
    """Return numbers between ``low`` and ``high``."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, size=shape)


def spd_data(*shape: int, seed: int = 0) -> Raw:
    """Return symmetric positive definite matrices of shape (..., n, n); shape : (..., n)."""
    x = normal(*shape, shape[-1] + 3, seed=seed)
    return x @ np.swapaxes(x, -1, -2) / x.shape[-1] + np.eye(shape[-1])


def spd(*shape: int, seed: int = 0) -> Symmetric:
    """Return an argument that holds symmetric positive definite matrices of shape (..., n, n).

    shape : (..., n).
    """
    return Symmetric(spd_data(*shape, seed=seed))


def tangent(*shape: int, seed: int = 0) -> Symmetric:
    """Return an argument that holds symmetric matrices of shape (..., n, n); shape : (..., n)."""
    x = normal(*shape, shape[-1], seed=seed)
    return Symmetric((x + np.swapaxes(x, -1, -2)) / 2.0)
