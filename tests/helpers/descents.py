"""Rosenbrock's function, and a loop that applies an optimizer to a loss."""

import numpy as np

import arraytape as xp
from arraytape import GradientTape


def near(found, expected, rtol=1e-12, atol=0.0):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=atol)


def rosenbrock(x):
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def descend(optimizer, v, steps, loss):
    losses = []
    for _ in range(steps):
        with GradientTape() as tape:
            y = loss(v)
        losses.append(float(y))
        optimizer.apply_gradients([(tape.gradient(y, v), v)])
    return losses
