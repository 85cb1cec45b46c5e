"""Stacks of examples, and loops over the examples with which results of vmap are compared."""

import numpy as np

import arraytape as xp


def close(found, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance * scale)


def by_loop(f, *args):
    """Call f on each example and stack the results."""
    rows = [f(*[x[i, ...] for x in args]) for i in range(args[0].shape[0])]
    return xp.stack(rows)


def loop(f, arguments, axes):
    size = next(x.shape[0] for x, axis in zip(arguments, axes, strict=True) if axis == 0)
    rows = [
        f(*[x if axis is None else x[i, ...] for x, axis in zip(arguments, axes, strict=True)])
        for i in range(size)
    ]
    if isinstance(rows[0], list | tuple):
        return [xp.stack(column) for column in zip(*rows, strict=True)]
    return xp.stack(rows)


RNG = np.random.default_rng(0)
A, B, N = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(4, 3)), RNG.integers(-3, 3, (4, 2))
W = xp.asarray(RNG.normal(size=(3, 2)))
