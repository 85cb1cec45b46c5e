"""Losses of linear predictors: by sample, of the target y and the predictor s."""

from __future__ import annotations

from typing import Any

import arraytape as xp


def half_squared(y: Any, s: Any) -> Any:
    return 0.5 * (y - s) ** 2


def binomial(y: Any, s: Any) -> Any:
    """y is 0 or 1."""
    return xp.logaddexp(s, xp.zeros_like(s)) - y * s


def multinomial(y: Any, s: Any) -> Any:
    """y has a 1 in the column of its class; s has a column for each."""
    top = xp.stop_gradient(xp.max(s, axis=1, keepdims=True))
    logarithm = xp.log(xp.sum(xp.exp(s - top), axis=1)) + top[:, 0]
    return logarithm - xp.sum(y * s, axis=1)


def poisson(y: Any, s: Any) -> Any:
    return xp.exp(s) - y * s


def gamma(y: Any, s: Any) -> Any:
    return s + y * xp.exp(-s)


def tweedie(y: Any, s: Any, power: Any) -> Any:
    """Half the deviance up to a constant, of a predictor that is the mean's logarithm."""
    return xp.exp((2.0 - power) * s) / (2.0 - power) - y * xp.exp((1.0 - power) * s) / (1.0 - power)


def tweedie_identity(y: Any, s: Any, power: Any) -> Any:
    """Half the deviance up to a constant, of a predictor that is the mean."""
    return s ** (2.0 - power) / (2.0 - power) - y * s ** (1.0 - power) / (1.0 - power)
