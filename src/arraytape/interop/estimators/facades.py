"""Estimators that are NumPy code around SciPy's linear algebra: they run on Arrays as they stand."""

from typing import Any

import numpy as np

from ..._array.array import Array
from .._statements import hooks, keeps_arrays

for module in (
    "covariance._elliptic_envelope", "covariance._empirical_covariance",
    "covariance._shrunk_covariance", "cross_decomposition._pls", "decomposition._base",
    "decomposition._factor_analysis", "decomposition._fastica", "decomposition._incremental_pca",
    "decomposition._kernel_pca", "decomposition._pca", "decomposition._truncated_svd",
    "discriminant_analysis", "dummy", "feature_extraction.text", "feature_selection._base",
    "feature_selection._univariate_selection", "feature_selection._variance_threshold",
    "impute._base", "impute._knn", "kernel_approximation", "manifold._classical_mds",
    "metrics._ranking", "metrics.cluster._unsupervised", "metrics.pairwise", "naive_bayes", "neighbors._nearest_centroid", "preprocessing._data",
    "preprocessing._polynomial", "random_projection", "utils._array_api", "utils._indexing",
    "utils._mask", "utils.extmath", "utils.multiclass", "utils.validation",
):  # fmt: skip
    keeps_arrays(f"sklearn.{module}")


@hooks("sklearn.utils._param_validation", "_InstancesOf.is_satisfied_by")
def is_satisfied_by(constraint: Any, val: Any) -> bool:
    """Where scikit-learn asks for NumPy's arrays, an Array is one."""
    return isinstance(val, constraint.type) or (
        isinstance(val, Array) and issubclass(constraint.type, np.ndarray)
    )
