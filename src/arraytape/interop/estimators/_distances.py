"""Compute distances of samples, and weights of neighbors for regression and imputation, on Arrays."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from ..._util.errors import user_line
from .._plain import NumpyData, plain_data


def distances(X: Array, Y: Array) -> Array:
    """Return the Euclidean distances of the rows of X and Y, shaped (rows of X, rows of Y).

    At distance 0 the gradient is 0.
    """
    return xp.linalg.vector_norm(X[:, None, :] - Y[None, :, :], axis=-1)


def weights_by_distance(model: BaseEstimator, distances: Array, near: NumpyData) -> Array:
    """Return the weight of each sample for each query, as the estimator's option ``weights`` says.

    ``model.weights`` is "uniform" or "distance".  distances : shaped (queries, samples), as the result.
    near : a mask of this shape, True for the neighbors of a query.  Other samples have the weight 0.
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
