"""One-hot columns of class labels, and the weights of classes and samples by ``class_weight``."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from ..._array.array import Array
from .._plain import NumpyData
from ._fits import Fit, as_float


def indicators(labels: NumpyData, groups: NumpyData) -> Any:
    """Return 1 where a label equals the group, else 0, shaped (labels, groups)."""
    return (labels[:, None] == groups).astype(np.float64)


def onehot(fit: Fit) -> Any:
    """Return the one-hot labels of a fit, shaped (samples, classes)."""
    return indicators(fit.labels().reshape(-1), fit.twin.classes_)


def weights_of_classes(fit: Fit, weights: Array | NumpyData | None = None) -> Array:
    """Return the weight of each class according to the estimator's ``class_weight``.

    With "balanced", all classes get the same total weight of samples; ``weights`` holds one weight
    for each sample (default 1).
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
    """Return the weight of each sample's class, as ``weights_of_classes`` computes it."""
    return xp.matmul(xp.asarray(onehot(fit)), weights_of_classes(fit, weights))
