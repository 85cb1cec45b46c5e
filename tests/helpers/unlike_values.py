"""Functions that replace an array's values, for example by ties, NaN, infinities or zeros."""

import numpy as np

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.0, -1.0)


def ties(x, rng):
    """Round x to multiples of 0.5, so that many elements are equal."""
    return np.round(x * 2.0) / 2.0


def equal(x, rng):
    """Return an array whose elements all equal the first one."""
    return np.full(x.shape, x.flat[0] if x.size else 0)


def zeros(x, rng):
    """Return zeros of both signs."""
    return np.where(rng.random(x.shape) < 0.5, 0.0, -0.0)


def negative(x, rng):
    """Return -x, so that masks such as ``x > 0`` are inverted."""
    return -x


def huge(x, rng):
    """Return values so large that their squares and products overflow."""
    top = 1e30 if x.dtype in (np.float32, np.complex64) else 1e200
    return x * top


def tiny(x, rng):
    """Return values so small that their squares and products are 0."""
    low = 1e-30 if x.dtype in (np.float32, np.complex64) else 1e-200
    return x * low


def special(x, rng):
    """Replace some values by infinities, NaN, zeros and extremes."""
    return np.where(rng.random(x.shape) < 0.4, rng.choice(SPECIAL, x.shape), x)


def nan(x, rng):
    """Replace some or all values by NaN."""
    return np.where(rng.random(x.shape) < rng.choice([0.3, 1.0]), np.nan, x)


def infinity(x, rng):
    """Replace one value by an infinity."""
    x = np.array(x)
    if x.size:
        x.flat[rng.integers(x.size)] = rng.choice([np.inf, -np.inf])
    return x


FINITE = (ties, equal, zeros, negative, huge, tiny)
ALL = (*FINITE, special, nan, infinity)


def unlike(x, kind, rng):
    """Return ``kind(x, rng)`` in the dtype of x; ``kind`` is one of ALL.

    A boolean x becomes a random mask; integers stay as they are.
    """
    if x.dtype.kind == "b":
        return rng.random(x.shape) < rng.choice([0.0, 0.5, 1.0])
    if x.dtype.kind not in "fc":
        return x
    with np.errstate(all="ignore"):
        return kind(x, rng).astype(x.dtype)
