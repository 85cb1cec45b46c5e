"""Compute class labels as one-hot columns, and the weights that the option ``class_weight`` gives."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from ..._array.array import Array
from .._plain import NumpyData
from ._fits import Fit, as_float


def indicators(labels: NumpyData, groups: NumpyData) -> Any:
    """Return the one-hot matrix of labels, shaped (labels, groups).

    groups : the values that a label may have.
    """
    return (labels[:, None] == groups).astype(np.float64)


def onehot(fit: Fit) -> Any:
    """Return the one-hot labels of a fit, shaped (samples, classes)."""
    return indicators(fit.labels().reshape(-1), fit.twin.classes_)


def weights_of_classes(fit: Fit, weights: Array | NumpyData | None = None) -> Array:
    """Return the weight of each class according to the estimator's option ``class_weight``.

    With "balanced", all classes get the same total weight.
    weights : the weight of each sample; None means 1.
    """
    given, classes = fit.estimator.class_weight, fit.twin.classes_
    fit.asked.add("class_weight")
    if given is None:
        return xp.ones(len(classes), dtype=xp.float64)
    if given == "balanced":
        columns = onehot(fit)
        weights = np.ones(columns.shape[0]) if weights is None else weights
        counts = xp.matmul(xp.asarray(columns.T), xp.asarray(weights))
        return xp.sum(counts) / (len(classes) * counts)
    return xp.stack([as_float(given.get(label, 1.0)) for label in classes.tolist()])


def class_weights(fit: Fit, weights: Array | None = None) -> Array:
    """Return for each sample the weight of its class, by the estimator's option ``class_weight``.

    weights : the weight of each sample, which "balanced" uses; None means 1.
    """
    return xp.matmul(xp.asarray(onehot(fit)), weights_of_classes(fit, weights))
