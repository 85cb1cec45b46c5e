"""The losses that scikit-learn's linear models minimise, for each sample.

A loss is a function of the target y and the linear predictor s = X @ coef + intercept.
"""

from __future__ import annotations

from typing import Any

import arraytape as xp

from ..._array.array import Array


def squared(y: Array, s: Array) -> Any:
    """Return half the squared error of each sample, summed over its outputs.

    y : the targets.  s : the linear predictors X @ coef + intercept.
    """
    square = 0.5 * (y - s) ** 2
    return xp.sum(square, axis=1) if square.ndim == 2 else square


def binomial(y: Array, s: Array) -> Any:
    """Return the logistic loss of each sample, for labels y of 0 or 1 and linear predictors s."""
    return xp.logaddexp(s, xp.zeros_like(s)) - y * s


def multinomial(y: Array, s: Array) -> Any:
    """Return the cross-entropy for one-hot y and scores s, both shaped (samples, classes)."""
    top = xp.stop_gradient(xp.max(s, axis=1, keepdims=True))
    logarithm = xp.log(xp.sum(xp.exp(s - top), axis=1)) + top[:, 0]
    return logarithm - xp.sum(y * s, axis=1)


def poisson(y: Array, s: Array) -> Any:
    return xp.exp(s) - y * s


def gamma(y: Array, s: Array) -> Any:
    return s + y * xp.exp(-s)


def tweedie(y: Array, s: Array, power: Array) -> Any:
    """Return half the Tweedie deviance, up to a constant, where s is the logarithm of the mean.

    power : the exponent of the variance function, not 1 or 2.
    """
    first, second = 1.0 - power, 2.0 - power
    return xp.exp(second * s) / second - y * xp.exp(first * s) / first


def tweedie_identity(y: Array, s: Array, power: Array) -> Any:
    """Return half the Tweedie deviance, up to a constant, where s is the mean itself.

    power : the exponent of the variance function, not 1 or 2.
    """
    return s ** (2.0 - power) / (2.0 - power) - y * s ** (1.0 - power) / (1.0 - power)


def squared_hinge(y: Array, s: Array) -> Any:
    """Return the squared hinge loss of each sample, for labels y of 1 or -1 and linear predictors s."""
    return xp.maximum(1.0 - y * s, xp.zeros_like(s)) ** 2


def squared_insensitive(y: Array, s: Array, epsilon: Array) -> Any:
    """Return the squared epsilon-insensitive loss, max(abs(y - s) - epsilon, 0) ** 2."""
    return xp.maximum(xp.abs(y - s) - epsilon, xp.zeros_like(s)) ** 2
