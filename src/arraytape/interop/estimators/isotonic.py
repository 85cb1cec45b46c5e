"""Differentiate IsotonicRegression, whose compiled fit gives each block of samples the mean of its y."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from .._plain import ArrayInput
from .._statements import hooks, keeps_arrays, original
from ._fits import as_float, connect, detached, detached_object
from ._labels import indicators

keeps_arrays("sklearn.isotonic")


def at_blocks(
    y: Array, weights: Array, fitted: Any, y_min: float | None, y_max: float | None
) -> Array:
    """Return the values of an isotonic fit as functions of the targets y and their weights.

    fitted : scikit-learn's values.  Successive samples with the same value are a block, whose value is
    the weighted mean of y.  Values at ``y_min`` or ``y_max`` are constants.
    """
    block = np.concatenate([[0], np.cumsum(np.diff(fitted) != 0.0)])
    of = xp.asarray(indicators(np.arange(block[-1] + 1), block))
    mean = ((of @ (weights * y)) / (of @ weights))[block]
    bound = (fitted == y_min) | (fitted == y_max)
    return xp.where(bound, fitted, mean)


@hooks("sklearn.isotonic", "IsotonicRegression._build_y")
def build_y(
    model: BaseEstimator, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput | None,
    trim_duplicates: bool = True,
) -> Any:  # fmt: skip
    """Return the points x and y of the fit, between which ``predict`` interpolates, with derivatives."""
    build = original("sklearn.isotonic", "IsotonicRegression._build_y")
    twin = detached_object(model)
    data = detached(X), detached(y), detached(sample_weight)
    kept, values = build(twin, *data, trim_duplicates=trim_duplicates)
    places, fitted = build(twin, *data, trim_duplicates=False)
    x, target = xp.reshape(as_float(X), (-1,)), as_float(y)
    weights = as_float(np.ones(x.shape) if sample_weight is None else sample_weight)
    # For each sample, the index of its x in ``places``, in which scikit-learn joins equal x.
    nearest = np.argmin(np.abs(detached(x)[None, :] - places[:, None]), axis=0)
    of = indicators(np.arange(len(places)), nearest)
    of = of * (detached(weights) > 0.0)
    each = xp.asarray(of) * weights
    total = xp.sum(each, axis=1)
    mean_x, mean_y = each @ x / total, each @ target / total
    level = at_blocks(mean_y, total, fitted, detached(model.y_min), detached(model.y_max))
    at = np.flatnonzero(np.isin(places, kept))
    found = connect(kept, mean_x[at]), connect(values, level[at])
    model.increasing_ = twin.increasing_
    model.X_min_, model.X_max_ = found[0][0], found[0][-1]
    return found
