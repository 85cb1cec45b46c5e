"""Estimators that are NumPy code around SciPy's linear algebra: they run on Arrays as they stand."""

import inspect
import sys
from operator import attrgetter
from typing import Any

import numpy as np

import arraytape

from ..._array.array import Array
from .._context import has_array, held_by
from .._hooks import original_of
from .._plain import plain
from .._statements import hooks, keeps_arrays

for module in (
    "covariance._elliptic_envelope", "covariance._empirical_covariance",
    "covariance._shrunk_covariance", "cross_decomposition._pls", "decomposition._base",
    "decomposition._factor_analysis", "decomposition._fastica", "decomposition._incremental_pca",
    "decomposition._kernel_pca", "decomposition._pca", "decomposition._truncated_svd",
    "discriminant_analysis", "dummy", "feature_extraction.text", "feature_selection._base",
    "feature_selection._rfe", "feature_selection._univariate_selection",
    "feature_selection._variance_threshold",
    "impute._base", "impute._knn", "kernel_approximation", "manifold._classical_mds",
    "metrics._ranking", "metrics.cluster._unsupervised", "metrics.pairwise", "multiclass",
    "multioutput", "naive_bayes", "neighbors._nearest_centroid", "preprocessing._data",
    "preprocessing._polynomial", "random_projection", "utils._array_api", "utils._indexing",
    "externals.array_api_compat.numpy", "externals.array_api_compat.numpy._aliases",
    "utils._mask", "utils.extmath", "utils.multiclass", "utils.validation",
):  # fmt: skip
    keeps_arrays(f"sklearn.{module}")


@hooks("sklearn.utils.validation", "validate_data")
def validate_data(_estimator: Any, *args: Any, reset: bool = True, **keywords: Any) -> Any:
    """Arrays also of NumPy data beside them, or for an estimator that was fitted to Arrays.

    Methods write to it what they compute of both.  A new fit, to NumPy data alone, knows none.
    """
    from sklearn.utils.validation import validate_data

    found = original_of(validate_data)(_estimator, *args, reset=reset, **keywords)
    parts = found if isinstance(found, tuple) else (found,)
    if has_array(parts) or (not reset and has_array(held_by("sklearn", _estimator))):
        parts = tuple([as_array(part) for part in parts])
    return parts if isinstance(found, tuple) else parts[0]


def as_array(data: Any) -> Any:
    """Floating-point data as an Array; labels and sparse matrices as they are."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "f":
        return arraytape.asarray(data)
    return data


def all_arrays(module: str, method: str, *names: str) -> None:
    """NumPy data beside Arrays becomes Arrays, where a method validates one after the other."""

    @hooks(module, method)
    def call(estimator: Any, *args: Any, **keywords: Any) -> Any:
        original = original_of(attrgetter(method)(sys.modules[module]))
        if not has_array([*args, *keywords.values()]):
            return original(estimator, *args, **keywords)
        bound = inspect.signature(original).bind(estimator, *args, **keywords)
        bound.arguments.update({x: as_array(bound.arguments.get(x)) for x in names})
        return original(*bound.args, **bound.kwargs)


all_arrays("sklearn.cross_decomposition._pls", "_PLS.fit", "X", "y")
all_arrays("sklearn.cross_decomposition._pls", "PLSSVD.fit", "X", "y")


def plain_labels(module: str, method: str) -> None:
    """Labels become NumPy data: they have no derivative, and a method makes a sparse matrix of them."""

    @hooks(module, method)
    def call(estimator: Any, *args: Any, **keywords: Any) -> Any:
        original = original_of(attrgetter(method)(sys.modules[module]))
        bound = inspect.signature(original).bind(estimator, *args, **keywords)
        y = bound.arguments.get("y")
        if isinstance(y, Array) and y.dtype.kind in "biu":
            bound.arguments["y"] = plain(y)
        return original(*bound.args, **bound.kwargs)


plain_labels("sklearn.multiclass", "OneVsRestClassifier.fit")
plain_labels("sklearn.multiclass", "OutputCodeClassifier.fit")


@hooks("sklearn.utils._param_validation", "_InstancesOf.is_satisfied_by")
def is_satisfied_by(constraint: Any, val: Any) -> bool:
    """Where scikit-learn asks for NumPy's arrays, an Array is one."""
    return isinstance(val, constraint.type) or (
        isinstance(val, Array) and issubclass(constraint.type, np.ndarray)
    )
