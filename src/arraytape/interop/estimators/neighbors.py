"""Differentiate the estimators of sklearn.neighbors.

scikit-learn searches neighbors in compiled trees of NumPy data.  The choice of neighbors is piecewise
constant, so it is made with NumPy data.  Distances and weights are computed again, on Arrays.
Functions after ``@answers`` get the estimator and a dict of the method's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from ..._custom.gradient import custom_gradient
from ..._util.errors import user_line
from .._plain import ArrayInput, plain_data
from .._statements import keeps_arrays, replaces
from ._answers import answers
from ._distances import distances, weights_by_distance
from ._fits import Fit, as_float, connects_fit, detached, detached_object, refuses
from ._labels import indicators
from ._solutions import Parts, minimum_of_parts

# A gradient that depends on a rotation of the components by more than this fraction is refused.
ROTATION = 1e-6
for module in ("_base", "_classification", "_lof", "_regression"):
    keeps_arrays(f"sklearn.neighbors.{module}")


def no_weight_at_all(data: ArrayInput, value: float) -> Any:
    """Return True if a row of ``data`` consists of ``value``, in place of scikit-learn's compiled check.

    The check runs on NumPy data: its result, a bool, has no derivative.
    """
    from sklearn.utils.arrayfuncs import _all_with_any_reduction_axis_1

    return _all_with_any_reduction_axis_1(detached(data), value)


replaces("sklearn.neighbors._classification", "_all_with_any_reduction_axis_1", no_weight_at_all)


@connects_fit("sklearn.neighbors._base", "NeighborsBase", method="_fit")
def neighbors(fit: Fit) -> dict[str, Array]:
    """Return the attributes that hold the data of the fit as Arrays: _fit_X and _y.

    _y is left out for class labels.
    """
    kept = {"_fit_X": fit.float_data("X")}
    target = getattr(fit.twin, "_y", None)
    if target is not None and target.dtype.kind == "f":
        kept["_y"] = fit.float_data("y")
    elif fit.given.get("y") is not None:
        fit.labels()
    return kept


@answers("sklearn.neighbors._base", "KNeighborsMixin.kneighbors")
def kneighbors(model: BaseEstimator, arguments: Mapping[str, Any]) -> tuple[Array, None] | None:
    if not arguments["return_distance"]:
        return None
    X = queries(model, arguments)
    nearest = detached_object(model).kneighbors(
        detached(arguments["X"]), arguments["n_neighbors"], return_distance=False
    )
    apart = as_float(X)[:, None, :] - as_float(model._fit_X)[nearest, :]
    return metric_length(model, apart), None


def queries(model: BaseEstimator, arguments: Mapping[str, Any]) -> Any:
    """Return the points whose neighbors are searched: the argument X, or the samples of the fit."""
    return model._fit_X if arguments["X"] is None else arguments["X"]


METRICS = ("chebyshev", "euclidean", "manhattan", "minkowski")


def metric_length(model: BaseEstimator, apart: Array) -> Array:
    """Return distances in the model's metric, given the differences ``apart`` of samples.

    Features are on the last axis.  At distance 0 the gradient is 0.
    """
    metric, options = model.effective_metric_, model.effective_metric_params_
    order = {"manhattan": 1, "chebyshev": np.inf}.get(metric, options.get("p", 2))
    if metric not in METRICS or options.get("w") is not None:
        raise TypeError(
            f"{type(model).__name__} with metric={model.metric!r} and metric_params="
            f"{model.metric_params!r} has no derivative here: take a Minkowski distance without "
            f"weights, or NumPy data [at {user_line()}]"
        )
    return xp.linalg.vector_norm(apart, axis=-1, ord=order)


# --- within a radius ----------------------------------------------------------------------------------
def weights_within(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    """Return the weight of each sample for each query point, shaped (queries, samples).

    Samples beyond the model's radius have the weight 0, and the weights for a query sum to 1.
    """
    X = queries(model, arguments)
    apart = metric_length(model, as_float(X)[:, None, :] - as_float(model._fit_X)[None, :, :])
    weights = weights_by_distance(model, apart, plain_data(apart) <= model.radius)
    return weights / xp.sum(weights, axis=1)[:, None]


@answers("sklearn.neighbors._regression", "RadiusNeighborsRegressor.predict")
def radius_regression(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    return weights_within(model, arguments) @ as_float(model._y)


@answers("sklearn.neighbors._classification", "RadiusNeighborsClassifier.predict_proba")
def radius_classification(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    if model.outputs_2d_ or model.outlier_label_ is not None:
        raise TypeError(
            "RadiusNeighborsClassifier.predict_proba with several targets or an outlier_label has no "
            f"derivative here: give it NumPy data [at {user_line()}]"
        )
    columns = indicators(np.asarray(model._y), np.arange(len(model.classes_)))
    return weights_within(model, arguments) @ xp.asarray(columns)


@answers(
    "sklearn.neighbors._classification", "KNeighborsClassifier.predict",
    "RadiusNeighborsClassifier.predict",
)  # fmt: skip
def classes(model: BaseEstimator, arguments: Mapping[str, Any]) -> None:
    """Return None: the predicted labels, scikit-learn's own, get no derivative."""


# --- kernel density -----------------------------------------------------------------------------------
@connects_fit("sklearn.neighbors._kde", "KernelDensity", ignores=("y",))
def kernel_density(fit: Fit) -> dict[str, Array]:
    """Return the samples, weights and bandwidth of a KernelDensity's fit as Arrays, for ``samples_of``.

    scikit-learn keeps the samples in a search tree of NumPy data only.
    """
    X, weights = fit.float_data("X"), fit.sample_weights()
    if not has_density(fit.twin):
        fit.refuse_fit(f"only {DENSITY} has a derivative here")
    fit.twin._samples, fit.twin._sample_weights = detached(X), detached(weights)
    kept = {"_samples": X, "_sample_weights": weights}
    if not isinstance(fit.twin.bandwidth, str):
        kept["bandwidth_"] = fit.parameter("bandwidth")
    return kept


KERNELS: dict[str, Callable[[Array], Any]] = {
    "gaussian": lambda u: -0.5 * u * u, "exponential": lambda u: -u,
    "epanechnikov": lambda u: xp.log(1.0 - u * u), "linear": lambda u: xp.log(1.0 - u),
    "cosine": lambda u: xp.log(xp.cos(0.5 * np.pi * u)), "tophat": lambda u: 0.0 * u,
}  # fmt: skip


DENSITY = "metric='euclidean' with atol=0 and rtol=0"


def has_density(model: BaseEstimator) -> bool:
    """Return True if a KernelDensity computes densities without approximation.

    Only then ``score_samples`` has the formula in ``log_density``, and so a derivative.
    """
    return model.metric == "euclidean" and not model.rtol and not model.atol


def samples_of(model: BaseEstimator) -> tuple[Array, Array]:
    """Return the samples and weights to which a KernelDensity was fitted.

    A model that was fitted to NumPy data has them in its tree.
    """
    if hasattr(model, "_samples"):
        return as_float(model._samples), as_float(model._sample_weights)
    if not has_density(model):
        raise TypeError(
            f"KernelDensity.score_samples: only {DENSITY} has a derivative here; give it NumPy data to "
            f"go on without one [at {user_line()}]"
        )
    tree = model.tree_
    weights = np.ones(len(tree.data)) if tree.sample_weight is None else tree.sample_weight
    return as_float(tree.data), as_float(weights)


@answers("sklearn.neighbors._kde", "KernelDensity.score_samples")
def log_density(model: BaseEstimator, arguments: Mapping[str, Any]) -> Any:
    """Compute ``score_samples`` of a KernelDensity on Arrays, up to a constant, for its derivatives.

    The formula is the logarithm of a weighted mean of kernels.
    """
    (samples, weights), h = samples_of(model), as_float(model.bandwidth_)
    X = as_float(arguments["X"])
    u = distances(X, samples) / h
    inside = u < (np.inf if model.kernel in ("gaussian", "exponential") else 1.0)
    kernel = xp.where(inside, KERNELS[model.kernel](xp.where(inside, u, 0.0)), -np.inf)
    total = xp.special.logsumexp(kernel + xp.log(weights), axis=1)
    return total - xp.log(xp.sum(weights)) - X.shape[1] * xp.log(h)


refuses(
    "sklearn.neighbors._base", "RadiusNeighborsMixin", method="radius_neighbors",
    why="each sample has another number of neighbors, for which there are no Arrays",
)  # fmt: skip


# --- neighbourhood components -------------------------------------------------------------------------
@connects_fit("sklearn.neighbors._nca", "NeighborhoodComponentsAnalysis", ignores=("init",))
def neighborhood_components(fit: Fit) -> dict[str, Array]:
    """Return the fitted components_ of NeighborhoodComponentsAnalysis, which minimise its objective.

    Source: Goldberger et al. 2004, "Neighbourhood components analysis", eq. 4.  A rotation of the
    components does not change the objective, because it does not change distances.  So the fit ends at
    an arbitrary rotation, which has no derivative.  A term is added to the objective that makes the
    minimum unique, and changes no other derivative.
    """
    X, y, components = fit.float_data("X"), fit.labels(), fit.twin.components_
    same = xp.asarray(indicators(y, y))
    others = xp.asarray(~np.eye(X.shape[0], dtype=bool))

    def neighborhood_objective(parts: Parts, X: Array) -> Array:
        Z = X @ xp.matrix_transpose(parts["components"])
        squares = xp.sum((Z[:, None, :] - Z[None, :, :]) ** 2, axis=2)
        logits = xp.where(others, -squares, -np.inf)
        near = xp.exp(logits - xp.special.logsumexp(logits, axis=1)[:, None])
        turned = parts["components"] @ xp.asarray(components.T)
        rotation = turned - xp.matrix_transpose(turned)
        return 0.25 * xp.sum(rotation * rotation) - xp.sum(near * same)

    found = minimum_of_parts(neighborhood_objective, {"components": components}, X)["components"]
    return {"components_": up_to_rotation(found)}


@custom_gradient
def up_to_rotation(components: Array) -> tuple[Array, Any]:
    """Return the components unchanged; a gradient that depends on their rotation is an error.

    A fit ends at an arbitrary rotation of the components.
    """

    def pull_unrotated(g: Array) -> Array:
        turning = plain_data(g @ xp.matrix_transpose(components))
        if np.max(np.abs(turning - turning.T)) > ROTATION * np.max(np.abs(turning)):
            raise ValueError(
                "NeighborhoodComponentsAnalysis: rotated components_ fit equally well, so components_ "
                "have no derivative: use a result that no rotation changes, such as distances "
                f"between transformed samples, or n_components=1 [at {user_line()}]"
            )
        return g

    return components, pull_unrotated
