"""Let estimators of scikit-learn that consist of NumPy code run on Arrays.

In the modules that are listed here, ``np`` becomes a facade of NumPy whose functions accept Arrays.  The
hooks replace the few functions of these modules that would refuse Arrays.
"""

import inspect
import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelBinarizer

import arraytape

from ..._array.array import Array
from .._context import has_array, held_by
from .._hooks import twin_function
from .._plain import plain_data
from .._statements import hooks, keeps_arrays, original, prepares, replaces
from ._fits import estimator_parameters, warn_of_labels

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


class RealOrArrayType(type):
    """The metaclass of RealOrArray, which makes ``isinstance`` accept Arrays of shape ()."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, numbers.Real) or (isinstance(value, Array) and value.ndim == 0)


class RealOrArray(metaclass=RealOrArrayType):
    """A replacement for ``numbers.Real`` in a module that asks for the type of a parameter."""


replaces("sklearn.discriminant_analysis", "Real", RealOrArray)


@hooks("sklearn.utils.validation", "validate_data")
def validate_data(
    _estimator: BaseEstimator, *args: Any, reset: bool = True, **keywords: Any
) -> Any:
    """Validate data as scikit-learn does; return Arrays if the data or the estimator has any.

    A new fit (``reset``) uses the estimator's parameters, and not what an earlier fit has left.
    """
    validate = original("sklearn.utils.validation", "validate_data")
    found = validate(_estimator, *args, reset=reset, **keywords)
    parts = found if isinstance(found, tuple) else (found,)
    held = estimator_parameters(_estimator) if reset else held_by("sklearn", _estimator)
    if has_array([*parts, *held]):
        parts = tuple([float_array(part) for part in parts])
    return parts if isinstance(found, tuple) else parts[0]


def float_array(data: object) -> Any:
    """Return floating-point NumPy data as an Array, and any other object unchanged."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "f":
        return arraytape.asarray(data)
    return data


@prepares("sklearn.cross_decomposition._pls", "_PLS.fit", "PLSSVD.fit")
def all_arrays(arguments: dict[str, Any]) -> None:
    """Convert X and y to Arrays if one of them is, because scikit-learn validates them separately.

    They are converted for an Array among the estimator's parameters, too.

    arguments : the method's arguments by name, which are changed.
    """
    if has_array([*arguments.values(), *estimator_parameters(arguments["self"])]):
        arguments.update({name: float_array(arguments.get(name)) for name in ("X", "y")})


@prepares("sklearn.multiclass", "OneVsRestClassifier.fit", "OutputCodeClassifier.fit")
def plain_labels(arguments: dict[str, Any]) -> None:
    """Convert labels to NumPy data, because scikit-learn puts them in a sparse matrix.

    arguments : the method's arguments by name, which are changed.
    """
    y = arguments.get("y")
    if isinstance(y, Array) and y.dtype.kind in "biu":
        arguments["y"] = plain_data(y)


@prepares("sklearn.utils.multiclass", "check_classification_targets")
@prepares("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis.fit")
@prepares("sklearn.dummy", "DummyClassifier.fit")
@prepares("sklearn.naive_bayes", "_BaseDiscreteNB.fit")
def labels_of_classifier(arguments: dict[str, Any]) -> None:
    """Warn if a tape follows the labels of a classifier whose fit consists of NumPy code.

    arguments : the arguments by name of the fit, or of the check of labels that it calls.
    """
    warn_of_labels(arguments["y"], "the fit of a classifier")


@prepares("sklearn.naive_bayes", "GaussianNB.fit")
def data_of_gaussians(arguments: dict[str, Any]) -> None:
    """Convert X to an Array: scikit-learn adds Arrays of var_smoothing and of weights to its statistics.

    arguments : the fit's arguments by name, which are changed.
    """
    labels_of_classifier(arguments)
    arguments["X"] = float_array(arguments["X"])


@prepares(
    "sklearn.naive_bayes", "MultinomialNB._count", "ComplementNB._count", "BernoulliNB._count"
)
def counts_as_arrays(arguments: dict[str, Any]) -> None:
    """Make the counts of a naive Bayes classifier Arrays, to which counts of Arrays are added in place.

    arguments : the method's arguments by name, among them the classifier.
    """
    model = arguments["self"]
    for name in ("feature_count_", "class_count_"):
        setattr(model, name, float_array(getattr(model, name)))


class ArrayBinarizer(LabelBinarizer):  # type: ignore[misc]
    """A LabelBinarizer of scikit-learn that returns an Array, which can be multiplied with weights."""

    def fit_transform(self, y: Any) -> Any:
        return arraytape.asarray(super().fit_transform(y))


def multiplies_weights(name: str) -> None:
    """Let the method ``name`` of discrete naive Bayes classifiers take an Array as ``sample_weight``.

    scikit-learn multiplies binarized labels, a NumPy array, with the weights in place.
    """

    @hooks("sklearn.naive_bayes", name)
    def fit_with_weights(*args: Any, **keywords: Any) -> Any:
        program: Any = original("sklearn.naive_bayes", name)
        given = inspect.signature(program).bind(*args, **keywords).arguments
        if isinstance(given.get("sample_weight"), Array):
            given["X"] = float_array(given["X"])  # whose namespace the weights get
            binarize = program.__globals__["label_binarize"]
            program = twin_function(
                program,
                LabelBinarizer=ArrayBinarizer,
                label_binarize=lambda *args, **options: arraytape.asarray(
                    binarize(*args, **options)
                ),
            )
        return program(**given)


multiplies_weights("_BaseDiscreteNB.fit.__wrapped__")
multiplies_weights("_BaseDiscreteNB.partial_fit.__wrapped__")


@prepares(
    "sklearn.metrics.pairwise", "rbf_kernel", "polynomial_kernel", "sigmoid_kernel", "chi2_kernel"
)
def data_of_kernel(arguments: dict[str, Any]) -> None:
    """Convert the samples to Arrays if a parameter such as gamma is one.

    scikit-learn multiplies the matrix of the samples' products with the parameter in place.
    arguments : the kernel's arguments by name, which are changed.
    """
    for name in ("X", "Y"):
        if name in arguments:
            arguments[name] = float_array(arguments[name])


@hooks("sklearn.utils._param_validation", "_InstancesOf.is_satisfied_by")
def is_satisfied_by(constraint: Any, val: object) -> bool:
    """Return True if an estimator's parameter has a constraint's type; an Array counts as an ndarray."""
    return isinstance(val, constraint.type) or (
        isinstance(val, Array) and issubclass(constraint.type, np.ndarray)
    )
