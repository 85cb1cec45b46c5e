"""Differentiate the fits of BayesianRidge and ARDRegression.

scikit-learn repeats updates of the precisions of noise and coefficients until they change little.  The
derivatives here are those of the updates' fixed point.

Source: MacKay 1992, "Bayesian interpolation", sec. 4; Tipping 2001, "Sparse Bayesian learning and the
relevance vector machine", sec. 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp

from ..._array.array import Array
from ._fits import Fit, connects_fit
from ._solutions import Parts, root_of_parts

MODULE = "sklearn.linear_model._bayes"
PRIORS = ("alpha_1", "alpha_2", "lambda_1", "lambda_2")


class Posterior(NamedTuple):
    """The posterior of the coefficients: their mean ``coef`` and covariance ``sigma``.

    alpha : the precision of the noise.  precision : that of the coefficients, a number or a vector.
    """

    coef: Array
    sigma: Array
    alpha: Array
    precision: Array


def posterior(parts: Parts, X: Array, y: Array) -> Posterior:
    alpha, precision = xp.exp(parts["alpha"]), xp.exp(parts["lambda"])
    eye = np.eye(X.shape[1])
    transposed = xp.matrix_transpose(X)
    sigma = xp.linalg.inv(alpha * xp.matmul(transposed, X) + eye * precision)
    coef = alpha * xp.matmul(sigma, xp.matmul(transposed, y))
    return Posterior(coef, sigma, alpha, precision)


def update_residuals(parts: Parts, X: Array, y: Array, count: Array, *priors: Array) -> list[Array]:
    """Return the residuals of the two update equations, which are 0 at the fixed point.

    The first equation updates the precision of the coefficients, the second alpha, that of the noise.
    parts : the logarithms "alpha" and "lambda" of these precisions.  count : the sum of sample weights.
    priors : the parameters of the estimator that describe the priors of the precisions.
    """
    a1, a2, l1, l2 = priors
    now = posterior(parts, X, y)
    known = 1.0 - now.precision * xp.linalg.diagonal(now.sigma)
    misfit = xp.sum((y - xp.matmul(X, now.coef)) ** 2)
    squares, effective = now.coef**2, known
    if now.precision.ndim == 0:
        squares, effective = xp.sum(squares), xp.sum(known)
    return [
        now.precision * (squares + 2.0 * l2) - effective - 2.0 * l1,
        now.alpha * (misfit + 2.0 * a2) - (count - xp.sum(known) + 2.0 * a1),
    ]


@connects_fit(MODULE, "BayesianRidge", "ARDRegression")
def by_evidence(fit: Fit) -> Mapping[str, Any]:
    """Return the fitted attributes of BayesianRidge or ARDRegression as functions of the data.

    The attributes and their derivatives are those at the fixed point of scikit-learn's updates.
    """
    twin, X, y, weights = (fit.twin, fit.float_data("X"), fit.float_data("y"), fit.sample_weights())
    # Arrays are allowed here and get no derivative: the fixed point does not depend on where it starts.
    fit.asked |= {"alpha_init", "lambda_init"}
    one = np.ndim(twin.lambda_) == 0
    kept = np.arange(X.shape[1]) if one else np.flatnonzero(twin.lambda_ < twin.threshold_lambda)
    if not kept.size:
        fit.refuse_fit("no feature is left: all precisions are above threshold_lambda")
    offset, middle = xp.zeros(X.shape[1], dtype=xp.float64), xp.asarray(0.0)
    if twin.fit_intercept:
        shares = weights / xp.sum(weights)
        offset, middle = xp.matmul(shares, X), xp.sum(shares * y)
    root_of_weights = xp.sqrt(weights)
    scaled = (root_of_weights[:, None] * (X - offset))[:, kept]
    target = root_of_weights * (y - middle)
    start = {
        "alpha": np.log(twin.alpha_),
        "lambda": np.log(np.asarray(twin.lambda_)[... if one else kept]),
    }
    theta = [scaled, target, xp.sum(weights), *map(fit.parameter, PRIORS)]
    found = posterior(root_of_parts(update_residuals, start, *theta, least=1.0), scaled, target)
    place = np.eye(X.shape[1])[:, kept]
    coef = xp.matmul(xp.asarray(place), found.coef)
    attributes = {
        "coef_": coef, "alpha_": found.alpha, "sigma_": found.sigma, "X_offset_": offset,
    }  # fmt: skip
    # A pruned feature keeps the lambda_ at which it passed the threshold, as NumPy data.
    if one or len(kept) == X.shape[1]:
        attributes["lambda_"] = found.precision
    if twin.fit_intercept:
        attributes["intercept_"] = middle - xp.sum(offset * coef)
    return attributes
