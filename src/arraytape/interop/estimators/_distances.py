"""Distances between samples, and the weights of samples as functions of them."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from ..._util.errors import user_line
from .._plain import NumpyData, plain_data


def distances(X: Array, Y: Array) -> Array:
    """Return Euclidean distances, shaped (samples, samples of Y); at distance 0 the gradient is 0."""
    return xp.linalg.vector_norm(X[:, None, :] - Y[None, :, :], axis=-1)


def weights_by_distance(model: BaseEstimator, distances: Array, near: NumpyData) -> Array:
    """Return the weights for ``model.weights``, "uniform" or "distance", shaped (queries, samples).

    near : bool mask of the same shape, True for the neighbors of a query; other samples weigh 0.
    """
    if callable(model.weights):
        raise TypeError(
            f"{type(model).__name__} with a function as weights has no derivative here: take 'distance' "
            f"or 'uniform' [at {user_line()}]"
        )
    if model.weights != "distance":
        return xp.asarray(near.astype(np.float64))
    coincides = near & (plain_data(distances) == 0.0)
    apart = near & ~coincides & ~coincides.any(axis=1, keepdims=True)
    return xp.where(apart, 1.0 / xp.where(apart, distances, 1.0), coincides.astype(np.float64))
