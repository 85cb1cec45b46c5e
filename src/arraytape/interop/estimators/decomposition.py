"""Differentiate TruncatedSVD, NMF and SparsePCA, whose solvers convert Arrays to NumPy data.

TruncatedSVD's derivatives are those of the first singular vectors.  NMF's are those of a minimum, where
the objective's derivative with respect to each nonzero element of the factors is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from ..._util.errors import short_repr, user_line
from .._facades import SoftFloat
from .._plain import ArrayInput, NumpyData, Shape, plain_data
from .._statements import keeps_arrays, replaces
from ._answers import answers
from ._fits import Fit, as_float, connect, connects_fit, detached, detached_object
from ._solutions import Parts, root_of_parts

# If the cosine between scikit-learn's singular vector and the exact one differs more from 1, the fit
# is refused.
NEAR = 1e-6


def transformed_samples(model: BaseEstimator, fit: Fit) -> Array:
    return connect(fit.result, as_float(fit.given["X"]) @ xp.matrix_transpose(model.components_))


@connects_fit(
    "sklearn.decomposition._truncated_svd", "TruncatedSVD", method="fit_transform", ignores=("y",),
    result=transformed_samples,
)  # fmt: skip
def truncated_svd(fit: Fit) -> dict[str, Array]:
    X, twin = fit.float_data("X"), fit.twin
    count = twin.components_.shape[0]
    _, values, vectors = xp.linalg.svd(X, full_matrices=False)
    vectors = vectors[:count, :]
    along = np.sum(plain_data(vectors) * twin.components_, axis=1)
    if not np.all(np.abs(np.abs(along) - 1.0) < NEAR):
        fit.refuse_fit(
            "its randomized solver has not found the singular vectors",
            "Raise n_iter, or take algorithm='arpack'",
        )
    vectors = vectors * xp.asarray(np.sign(along))[:, None]
    variance = xp.var(X @ xp.matrix_transpose(vectors), axis=0)
    return {
        "components_": vectors, "singular_values_": values[:count], "explained_variance_": variance,
        "explained_variance_ratio_": variance / xp.sum(xp.var(X, axis=0)),
    }  # fmt: skip


# --- NMF ----------------------------------------------------------------------------------------------
def refuse_open_factors(model: BaseEstimator) -> None:
    """Raise TypeError unless the options of NMF determine its factors, so that they have derivatives.

    They do with nonzero penalties, the solver "cd" and the Frobenius loss.
    """
    penalties = (model.alpha_W, model.alpha_H)
    open_to_scale = 0.0 in (detached(model.alpha_W), detached(model.alpha_H))
    if open_to_scale or model.solver != "cd" or model.beta_loss not in ("frobenius", 2):
        raise TypeError(
            f"NMF with alpha_W={short_repr(penalties[0])}, alpha_H={short_repr(penalties[1])}, solver="
            f"{model.solver!r}, beta_loss={model.beta_loss!r} has no derivative: without penalties the "
            "factors may be scaled against each other, and other solvers do not reach zeros. Set "
            f"alpha_W, and solver='cd' [at {user_line()}]"
        )


def penalties(model: BaseEstimator, alpha_W: Array, alpha_H: Array, shape: Shape) -> list[Array]:
    """Return the four penalties of NMF: the factors of sum(W), sum(W**2) / 2, sum(H), sum(H**2) / 2.

    alpha_W, alpha_H : the model's parameters.  shape : that of the data X.
    """
    samples, features = shape
    by_W, by_H = features * alpha_W, samples * alpha_H
    return [by_W * model.l1_ratio, by_W * (1.0 - model.l1_ratio),
            by_H * model.l1_ratio, by_H * (1.0 - model.l1_ratio)]  # fmt: skip


def solve_weights(X: Array, H: Array, l1: Array, l2: Array, active: NumpyData) -> Array:
    """Return the factor W of NMF that minimises the objective of X = W @ H, for a given factor H.

    l1, l2 : the penalties of W.  active : mask of the elements of W that are not 0; the others stay 0.
    """
    count = H.shape[0]
    mask = xp.asarray(active.astype(np.float64))
    gram = H @ xp.matrix_transpose(H) + l2 * xp.asarray(np.eye(count))
    inner = mask[:, :, None] * mask[:, None, :] * gram
    system = inner + (1.0 - mask)[:, :, None] * xp.asarray(np.eye(count))
    right = mask * (X @ xp.matrix_transpose(H) - l1)
    return xp.linalg.solve(system, right[:, :, None])[:, :, 0]


def alphas(model: BaseEstimator) -> tuple[Array, Array]:
    alpha_W = as_float(model.alpha_W)
    return alpha_W, alpha_W if model.alpha_H == "same" else as_float(model.alpha_H)


def factors(model: BaseEstimator, fit: Fit) -> Array:
    return connect(fit.result, weights_of(model, fit.given["X"], fit.result))


def weights_of(model: BaseEstimator, X: ArrayInput, W: NumpyData) -> Array:
    X = as_float(X)
    l1, l2, _, _ = penalties(model, *alphas(model), X.shape)
    return solve_weights(X, as_float(model.components_), l1, l2, W > 0.0)


@connects_fit(
    "sklearn.decomposition._nmf", "NMF", method="fit_transform", ignores=("y", "W", "H"), result=factors,
    examine=lambda fit: refuse_open_factors(fit.estimator),
)  # fmt: skip
def nmf(fit: Fit) -> dict[str, Array]:
    """Return the fitted attributes of NMF as functions of the data.

    They are the factor H (``components_``) and the reconstruction error, at the minimum of the
    objective.

    The objective is that of Lee and Seung 1999, with penalties.  Elements of H that are 0 are held at 0.
    """
    X, alpha_W, twin, W = fit.float_data("X"), fit.parameter("alpha_W"), fit.twin, fit.result
    alpha_H = alpha_W if twin.alpha_H == "same" else fit.parameter("alpha_H")

    def factor_slope(parts: Parts, X: Array, alpha_W: Array, alpha_H: Array) -> list[Array]:
        H = parts["H"]
        l1_W, l2_W, l1_H, l2_H = penalties(twin, alpha_W, alpha_H, X.shape)
        by = solve_weights(X, H, l1_W, l2_W, W > 0.0)
        left = xp.matrix_transpose(by) @ (by @ H - X) + l1_H + l2_H * H
        return [left[free]]

    free = np.nonzero(twin.components_ > 0.0)
    H = root_of_parts(
        factor_slope,
        {"H": twin.components_},
        X,
        alpha_W,
        alpha_H,
        free={"H": twin.components_ > 0.0},
    )["H"]
    l1, l2, _, _ = penalties(twin, alpha_W, alpha_H, X.shape)
    error = X - solve_weights(X, H, l1, l2, W > 0.0) @ H
    return {"components_": H, "reconstruction_err_": xp.sqrt(xp.sum(error * error))}


@answers("sklearn.decomposition._nmf", "NMF.transform")
def nmf_transform(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    refuse_open_factors(model)
    W = detached_object(model).transform(detached(arguments["X"]))
    return weights_of(model, arguments["X"], W)


@answers("sklearn.decomposition._sparse_pca", "_BaseSparsePCA.transform")
def sparse_weights(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    """Return ``SparsePCA.transform``'s result on Arrays: a ridge regression of X on the components."""
    X, components = as_float(arguments["X"]) - model.mean_, as_float(model.components_)
    across = xp.matrix_transpose(components)
    gram = components @ across + as_float(model.ridge_alpha) * xp.eye(components.shape[0])
    return xp.matrix_transpose(xp.linalg.solve(gram, xp.matrix_transpose(X @ across)))


keeps_arrays("sklearn.decomposition._nmf")
replaces("sklearn.decomposition._pca", "float", SoftFloat)
