"""Differentiate clusterings whose centers are means of the samples that the fit assigned to them.

The assignment of samples to clusters is piecewise constant, so a center's derivative is that of the
mean of its samples.  Functions after ``@answers`` get the estimator and the method's arguments by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from .._plain import NumpyData, plain_data
from ._answers import answers
from ._distances import distances
from ._fits import Fit, as_float, connects_fit, refuses
from ._labels import indicators

KMEANS = "sklearn.cluster._kmeans"
# If a center is farther from the mean of its samples, relative to the data's size, the fit is refused.
NEAR = 1e-6


def members(labels: NumpyData, count: int) -> Array:
    """Return a matrix shaped (samples, clusters), with 1 where a sample belongs to the cluster.

    labels : the cluster of each sample.  count : the number of clusters.
    """
    return xp.asarray(indicators(np.asarray(labels), np.arange(count)))


def cluster_means(fit: Fit, X: Array, weights: Array) -> Array:
    """Return the centers of clusters as weighted means of the samples X.

    weights : shaped (samples, clusters).  Raise TypeError if scikit-learn's centers are no such means.
    """
    found = (xp.matrix_transpose(weights) @ X) / xp.sum(weights, axis=0)[:, None]
    found_data, centers = plain_data(found), fit.twin.cluster_centers_
    size = np.max(np.abs(plain_data(X)), initial=0.0)
    if not np.max(np.abs(found_data - centers), initial=0.0) <= NEAR * size:
        fit.refuse_fit(
            "it stopped before the assignments of samples to clusters were settled, so its centers are "
            "not the means of their samples",
            "Set tol=0, or raise max_iter",
        )
    return found


def scatter(X: Array, centers: Array, labels: NumpyData, weights: Array) -> Array:
    """Return the weighted sum of the squared distances of the samples X to their centers.

    labels : the cluster of each sample.
    """
    return xp.sum(weights * xp.sum((X - centers[np.asarray(labels)]) ** 2, axis=1))


@connects_fit(KMEANS, "KMeans", ignores=("y", "init"))
@connects_fit("sklearn.cluster._bisect_k_means", "BisectingKMeans", ignores=("y",))
def k_means(fit: Fit) -> dict[str, Array]:
    X, weights, labels = fit.float_data("X"), fit.sample_weights(), fit.twin.labels_
    count = fit.twin.cluster_centers_.shape[0]
    centers = cluster_means(fit, X, members(labels, count) * weights[:, None])
    return {"cluster_centers_": centers, "inertia_": scatter(X, centers, labels, weights)}


@answers(KMEANS, "_BaseKMeans.predict")
@answers("sklearn.cluster._bisect_k_means", "BisectingKMeans.predict")
@answers("sklearn.cluster._mean_shift", "MeanShift.predict")
@answers("sklearn.cluster._affinity_propagation", "AffinityPropagation.predict")
def predict(model: BaseEstimator, arguments: Mapping[str, Any]) -> None:
    """Return None, so that the labels from ``predict``, which are whole numbers, get no derivative."""


@answers(KMEANS, "_BaseKMeans.score")
def k_means_score(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    X, centers = as_float(arguments["X"]), as_float(model.cluster_centers_)
    weights = arguments.get("sample_weight")
    weights = xp.ones(X.shape[0]) if weights is None else as_float(weights)
    return -scatter(X, centers, model.predict(arguments["X"]), weights)


@answers(KMEANS, "_BaseKMeans.transform")
def transform(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    return distances(as_float(arguments["X"]), as_float(model.cluster_centers_))


@connects_fit("sklearn.cluster._mean_shift", "MeanShift", ignores=("y",))
def mean_shift(fit: Fit) -> dict[str, Array]:
    """Return the fitted centers of MeanShift as functions of the data, so that they have derivatives.

    Each center is the mean of the samples within the bandwidth around it.
    """
    from sklearn.cluster import estimate_bandwidth

    X = fit.float_data("X")
    data, twin = plain_data(X), fit.twin
    bandwidth = estimate_bandwidth(data) if twin.bandwidth is None else twin.bandwidth
    apart = np.linalg.norm(data[:, None, :] - twin.cluster_centers_[None, :, :], axis=2)
    within = xp.asarray((apart <= bandwidth).astype(np.float64))
    return {"cluster_centers_": cluster_means(fit, X, within)}


@connects_fit("sklearn.cluster._affinity_propagation", "AffinityPropagation", ignores=("y",))
def affinity_propagation(fit: Fit) -> dict[str, Array]:
    """Return the fitted centers of AffinityPropagation, which are some of the samples, as rows of X."""
    X = fit.float_data("X")
    if fit.twin.affinity == "precomputed" or not hasattr(fit.twin, "cluster_centers_"):
        return {}
    return {"cluster_centers_": X[fit.twin.cluster_centers_indices_, :]}


@connects_fit(
    "sklearn.cluster._agglomerative", "AgglomerativeClustering", "FeatureAgglomeration",
    ignores=("X", "y"),
)  # fmt: skip
def agglomerative(fit: Fit) -> dict[str, Array]:
    """Return an empty dict: all results of the fit are labels, which have no derivative."""
    return {}


@answers("sklearn.cluster._feature_agglomeration", "AgglomerationTransform.transform")
def pooled(model: BaseEstimator, arguments: Mapping[str, Any]) -> Array:
    """Compute ``FeatureAgglomeration.transform``, the mean of each cluster of features, on Arrays."""
    if model.pooling_func is not np.mean:
        raise TypeError(
            f"FeatureAgglomeration.transform with pooling_func={model.pooling_func!r} has no derivative "
            "here: take np.mean"
        )
    groups = members(model.labels_, model.n_clusters_)
    return as_float(arguments["X"]) @ (groups / xp.sum(groups, axis=0))


LABELS = "its result are labels, which are whole numbers and have no derivative"
refuses(KMEANS, "MiniBatchKMeans", why="its centers are a running average over random batches, "
        "which end before they settle")  # fmt: skip
refuses(KMEANS, "MiniBatchKMeans", method="partial_fit",
        why="its centers are a running average over batches")  # fmt: skip
for _module, _class in (
    ("_dbscan", "DBSCAN"), ("_hdbscan.hdbscan", "HDBSCAN"), ("_optics", "OPTICS"),
    ("_spectral", "SpectralClustering"), ("_bicluster", "BaseSpectral"),
):  # fmt: skip
    refuses(f"sklearn.cluster.{_module}", _class, why=LABELS)
refuses("sklearn.cluster._birch", "Birch",
        why="its tree of subclusters depends on the order in which the samples came")  # fmt: skip
