"""Helpers of the test_numerics modules: gradients at numbers, and functions written in standard ops.

The tests' expected values are exact, or were computed to the six decimals that the tests show.
"""

import numpy as np

import arraytape as xp

inf, nan = np.inf, np.nan
M = [[2.0, 1.0], [1.0, 3.0]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
EYE, EYE3 = np.eye(2), np.eye(3)


def as_float(value):
    value = np.asarray(value)
    return value if value.dtype.kind in "fc" else value.astype(float)


def gradient(f, *values):
    """Return the gradient of sum(f(*values)) as a NumPy array or None; for several values, a list."""
    arrays = [xp.asarray(as_float(v)) for v in values]
    with np.errstate(all="ignore"), xp.GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = [None if g is None else np.asarray(g) for g in tape.gradient(y, arrays)]
    for g, x in zip(found, arrays, strict=True):
        assert g is None or (g.shape == x.shape and g.dtype == x.dtype)
    return found if len(found) > 1 else found[0]


def derivative(f, x, order):
    """Return the derivative of the given order of f at the number x, by nested tapes."""
    if order == 0:
        return f(x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = derivative(f, x, order - 1)
    return tape.gradient(y, x)


def equal(found, expected):
    """Assert equality to the last bit; NaN equals NaN, and a gradient of None fails."""
    assert found is not None
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


def near(found, expected):
    """Assert equality up to rounding errors."""
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def printed(found, expected):
    """Assert equality to six decimals."""
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5.1e-7)


def relu(x):
    return xp.where(x > 0, x, 0.0)


def norm(x):
    return xp.linalg.vector_norm(x)


def logsumexp(x):
    largest = xp.max(x)
    shift = xp.where(xp.isfinite(largest), largest, 0.0)
    return xp.log(xp.sum(xp.exp(x - shift))) + shift


def sigmoid(x):
    small = xp.exp(x)
    return xp.where(x >= 0, 1.0 / (1.0 + xp.exp(-x)), small / (1.0 + small))


def angle(z):
    return xp.atan2(xp.imag(z), xp.real(z))


def weighted(weights):
    return xp.asarray(np.asarray(weights, dtype=float))


def rebuilt_by_svd(x):
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :]) @ vh


def rebuilt_by_eigh(x):
    w, v = xp.linalg.eigh(x)
    return (v * w[..., None, :]) @ xp.matrix_transpose(v)


def rebuilt_by_eig(x):
    w, v = xp.linalg.eig(x)
    return xp.real((v * w[..., None, :]) @ xp.linalg.inv(v))
