"""Differentiate the fit of GraphicalLasso, which scikit-learn computes by compiled code.

The fit's derivative is that of the minimum of the objective over the nonzero elements of the precision.
"""

from __future__ import annotations

import numpy as np

import arraytape as xp

from ..._array.array import Array
from .._plain import plain_data
from ._fits import Fit, connects_fit, refuses
from ._solutions import Parts, minimum_of_parts

# If the slope at a zero element is nearer to the penalty than this fraction, the fit is refused.
EDGE = 1e-6


@connects_fit("sklearn.covariance._graph_lasso", "GraphicalLasso", ignores=("y",))
def graphical_lasso(fit: Fit) -> dict[str, Array]:
    """Return the fitted attributes of GraphicalLasso as functions of the data.

    They are the precision matrix, the covariance and the mean.

    The precision minimises
    trace(sample @ precision) - log det(precision) + alpha sum |precision off the diagonal|.
    Elements of the precision that are 0 are held at 0.  Source: Friedman et al. 2008, "Sparse inverse
    covariance estimation", eq. 1.
    """
    X, alpha, twin = fit.float_data("X"), fit.parameter("alpha"), fit.twin
    mean = xp.zeros(X.shape[1]) if twin.assume_centered else xp.mean(X, axis=0)
    centered = X - mean
    sample = (
        X
        if twin.covariance == "precomputed"
        else xp.matrix_transpose(centered) @ centered / X.shape[0]
    )
    precision, count = twin.precision_, twin.precision_.shape[0]
    active = (precision != 0.0) | (precision.T != 0.0)
    slope = np.abs(plain_data(sample) - np.linalg.inv(precision))[~active]
    penalty = float(plain_data(alpha))
    if slope.size and np.max(slope) > penalty * (1.0 - EDGE):
        fit.refuse_fit("an element of the precision is about to enter: the fit has a kink there")
    free = np.triu(active)
    signs = xp.asarray(np.sign(precision) * (1.0 - np.eye(count)))

    def whole_precision(parts: Parts) -> Array:
        upper = parts["precision"] * xp.asarray(free.astype(np.float64))
        return upper + xp.matrix_transpose(upper) - upper * xp.asarray(np.eye(count))

    def covariance_objective(parts: Parts, sample: Array, alpha: Array) -> Array:
        theta = whole_precision(parts)
        return xp.sum(sample * theta) - xp.linalg.slogdet(theta)[1] + alpha * xp.sum(signs * theta)

    start, masks = {"precision": precision}, {"precision": free}
    parts = minimum_of_parts(covariance_objective, start, sample, alpha, free=masks)
    found = whole_precision(parts)
    fitted = {"precision_": found, "covariance_": xp.linalg.inv(found)}
    return fitted if twin.covariance == "precomputed" else {**fitted, "location_": mean}


refuses(
    "sklearn.covariance._graph_lasso", "GraphicalLassoCV",
    why="its alpha is chosen on a grid that moves with the data",
    instead="Take the alpha_ that it finds for NumPy data, and GraphicalLasso",
)  # fmt: skip
