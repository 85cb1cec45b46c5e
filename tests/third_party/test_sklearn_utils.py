"""scikit-learn's utilities, exactly as installed: public ones, and those its estimators share."""

import numpy as np
import pytest
import sklearn
from array_api_compat import array_namespace
from sklearn import utils
from sklearn.utils import _array_api, extmath
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.stats import _weighted_percentile

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.5, 1.5, (5, 4))
POSITIVE = np.abs(X) + 0.2
SQUARE = X[:4] @ X[:4].T + np.eye(4)
WEIGHTS = RNG.uniform(0.5, 2.0, 5)
LABELS = np.asarray([2, 0, 1, 1, 2])


def flipped(X):
    """An SVD whose signs scikit-learn has made definite."""
    U, S, Vh = array_namespace(X).linalg.svd(X, full_matrices=False)
    return [*extmath.svd_flip(U, Vh), *extmath.svd_flip(U, Vh, u_based_decision=False), S]


def with_holes(X):
    here = array_namespace(X)
    return here.where(X > 1.0, here.asarray(np.nan), X)


def written(write, X, value):
    """What a function that writes into its argument makes of a copy."""
    Y = X * 1.0
    write(Y, value, array_namespace(X))
    return Y


MATRICES = {
    "softmax": extmath.softmax,
    "softmax, in place": lambda X: extmath.softmax(X * 2.0, copy=False),
    "row_norms": extmath.row_norms,
    "squared row_norms": lambda X: extmath.row_norms(X, squared=True),
    "safe_sparse_dot": lambda X: extmath.safe_sparse_dot(X, X.T),
    "svd_flip": flipped,
    "sums in high precision": lambda X: extmath._safe_accumulator_op(
        array_namespace(X).sum, X, axis=0
    ),
    "logsumexp": lambda X: [_array_api._logsumexp(X), _array_api._logsumexp(X, axis=1)],
    "averages": lambda X: [
        _array_api._average(X),
        _array_api._average(X, axis=0, weights=X[:, 0] ** 2),
        _array_api._average(X, axis=0, weights=X[:, 0] ** 2, normalize=False),
    ],
    "median": lambda X: [_array_api._median(X), _array_api._median(X, axis=0)],
    "expit": _array_api._expit,
    "missing values": lambda X: [
        _array_api._nanmin(with_holes(X), axis=0),
        _array_api._nanmax(with_holes(X), axis=0),
        _array_api._nanmean(with_holes(X), axis=0),
        _array_api._nansum(with_holes(X), axis=0),
    ],
    "averages of what is there": lambda X: [
        extmath._nanaverage(with_holes(X)[:, 0]),
        extmath._nanaverage(with_holes(X)[:, 0], weights=X[:, 1] ** 2),
    ],
    "ravel": _array_api._ravel,
    "resample": lambda X: utils.resample(X, random_state=0),
    "shuffle": lambda X: utils.shuffle(X, random_state=0),
    "rows and columns": lambda X: [
        utils._safe_indexing(X, [3, 1, 1]),
        utils._safe_indexing(X, [2, 0], axis=1),
        utils._safe_indexing(X, slice(1, 3)),
    ],
    "check_array": lambda X: [
        utils.check_array(X),
        utils.check_array(X, copy=True),
        utils.check_array(X[:, 0], ensure_2d=False),
    ],
    "column_or_1d": lambda X: utils.column_or_1d(X[:, 0]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_a_matrix(differentiates, name):
    differentiates(MATRICES[name], X, order=2)


POSITIVES = {
    "xlogy": lambda X: _array_api._xlogy(X, X * X),
    "logit": lambda X: _array_api._logit(X / 2.0),
}


@pytest.mark.parametrize("name", POSITIVES)
def test_functions_of_positive_numbers(differentiates, name):
    differentiates(POSITIVES[name], POSITIVE, order=2)


def test_the_slope_of_xlogy_where_x_is_zero_is_the_logarithm_that_is_selected(differentiates):
    def f(y):
        here = array_namespace(y)
        x = here.asarray([0.0, 0.5, 0.0, 2.0])
        return _array_api._xlogy(x, here.maximum(y, here.asarray(0.0)))

    differentiates(f, np.asarray([-0.5, 0.5, 1.5, 2.0]))


SQUARES = {
    "fast_logdet": extmath.fast_logdet,
    "cholesky": lambda A: _array_api._cholesky(A, array_namespace(A)),
    "solve": lambda A: _array_api._linalg_solve(
        _array_api._cholesky(A, array_namespace(A)),
        array_namespace(A).eye(4),
        array_namespace(A),
    ),
}


@pytest.mark.parametrize("name", SQUARES)
def test_functions_of_positive_definite_matrices(differentiates, name):
    def f(A):
        return SQUARES[name]((A + A.T) / 2.0)

    differentiates(f, SQUARE, order=2)


@pytest.mark.parametrize("write", [_array_api._fill_diagonal, _array_api._add_to_diagonal])
def test_writes_into_diagonals(differentiates, write):
    differentiates(lambda X, v: written(write, X, v), X, np.asarray(0.7), order=2)
    differentiates(lambda X, v: written(write, X, v), X, X[0], order=2)
    differentiates(lambda X: written(write, X, 0.5), X)


@pytest.mark.parametrize("average", [True, False])
def test_weighted_percentiles_move_with_the_values(differentiates, average):
    def f(X, weights):
        return [
            _weighted_percentile(X, weights, 30.0, average=average),
            _weighted_percentile(X[:, 0], weights, 50.0, average=average),
        ]

    differentiates(f, X, constants=(WEIGHTS,))


def test_counts_move_with_the_weights(differentiates):
    def f(weights, labels):
        here = array_namespace(weights)
        return [
            _array_api._bincount(labels, weights=weights, xp=here),
            _array_api._count_nonzero(here.asarray(X), axis=0, sample_weight=weights, xp=here),
        ]

    differentiates(f, WEIGHTS, constants=(LABELS,))


def class_weights(given, y, **options):
    """The weights of three classes; only estimators may give the classes as Arrays."""
    classes = array_namespace(y).asarray([0, 1, 2])
    with sklearn.config_context(skip_parameter_validation=True):
        return compute_class_weight(given, classes=classes, y=y, **options)


def test_balanced_class_weights_move_with_sample_weights(differentiates):
    def f(weights, y):
        return class_weights("balanced", y, sample_weight=weights)

    differentiates(f, WEIGHTS, constants=(LABELS,))


MEMBERS = {
    "few": lambda y: _array_api._isin(y, y[:2], array_namespace(y)),
    "many": lambda y: _array_api._isin(y, array_namespace(y).arange(30), array_namespace(y)),
    "labels": unique_labels,
    "class weights": lambda y: class_weights({0: 1.0, 1: 3.0, 2: 0.5}, y),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_functions_of_labels(has_values, name):
    has_values(MEMBERS[name], LABELS)


def test_what_is_moved_to_numpy_leaves_by_dlpack():
    x = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(_array_api.move_to(x, xp=np, device="cpu"))
    with pytest.warns(xp.TapeWarning, match=r"_array_api\.py:\d+ \(dlpack\)"):
        assert tape.gradient(y, x) is None


def test_a_multinomial_loss_is_a_float(leaves):
    def f(scores, y):
        return _array_api._half_multinomial_loss(y, scores)

    at = "sklearn/utils/_array_api.py"
    assert leaves(f, X, at=at, how="float", constants=(LABELS,)) is None
