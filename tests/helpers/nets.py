"""Data and derivatives for the tests of nn: activations, logits and slopes."""

import math

import numpy as np

import arraytape as xp
from arraytape import GradientTape, nn

INF, NAN = math.inf, math.nan
SMOOTH = [nn.sigmoid, nn.softplus, nn.tanh, nn.softmax, nn.log_softmax]
ACTIVATIONS = [nn.relu, *SMOOTH]


def near(found, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol)


def slopes(f, values):
    """Return f(values), and the gradient and second derivative of its sum."""
    x = xp.asarray(values)  # returns an Array itself
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return y, first, outer.gradient(first, x, unconnected_gradients="zero")


LOGITS = np.random.default_rng(2).normal(size=(4, 3))
CLASSES = np.asarray([0, 2, 1, 1])
