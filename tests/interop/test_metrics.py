"""scikit-learn's metrics in a context of interop."""

import functools

import numpy as np
import pytest
import sklearn
from sklearn import metrics

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(0.3, 2.0, (7, 2))
PREDICTION = TRUTH + RNG.uniform(-0.25, 0.25, (7, 2))
LABELS = np.asarray([0, 1, 1, 0, 1, 0, 1])
CHANCES = RNG.uniform(0.1, 0.9, 7)
THREE = np.asarray([0, 1, 2, 0, 1, 2, 2])
SHARES = RNG.dirichlet([2.0, 3.0, 4.0], 7)


@pytest.fixture(autouse=True, params=[True, False], ids=["array_api_dispatch", ""])
def dispatching(request):
    with sklearn.config_context(array_api_dispatch=request.param):
        yield


def number(found):
    """What a metric of NumPy data gives, a float, as 0-d data."""
    return found if isinstance(found, xp.Array) else np.asarray(found)


def shares(p):
    """Rows that sum to 1, also where one number is changed a little."""
    return p / p.sum(axis=1, keepdims=True)


REGRESSION = {
    "mean_absolute_error": metrics.mean_absolute_error,
    "mean_pinball_loss": functools.partial(metrics.mean_pinball_loss, alpha=0.3),
    "mean_absolute_percentage_error": metrics.mean_absolute_percentage_error,
    "mean_squared_error": metrics.mean_squared_error,
    "root_mean_squared_error": metrics.root_mean_squared_error,
    "mean_squared_log_error": metrics.mean_squared_log_error,
    "root_mean_squared_log_error": metrics.root_mean_squared_log_error,
    "median_absolute_error": metrics.median_absolute_error,
    "explained_variance_score": metrics.explained_variance_score,
    "r2_score": metrics.r2_score,
    "d2_pinball_score": functools.partial(metrics.d2_pinball_score, alpha=0.3),
    "d2_absolute_error_score": metrics.d2_absolute_error_score,
}
OF_ONE_COLUMN = {
    "max_error": metrics.max_error,
    "mean_tweedie_deviance": functools.partial(metrics.mean_tweedie_deviance, power=1.5),
    "mean_poisson_deviance": metrics.mean_poisson_deviance,
    "mean_gamma_deviance": metrics.mean_gamma_deviance,
    "d2_tweedie_score": functools.partial(metrics.d2_tweedie_score, power=1.5),
}


@pytest.mark.parametrize("name", REGRESSION)
def test_a_metric_of_regression_is_a_0_d_array(name):
    check(lambda y, p: number(REGRESSION[name](y, p)), TRUTH, PREDICTION, vmap=False, exact=False)


@pytest.mark.parametrize("name", OF_ONE_COLUMN)
def test_a_metric_of_one_column(name):
    def f(y, p):
        return number(OF_ONE_COLUMN[name](y, p))

    check(f, TRUTH[:, 0], PREDICTION[:, 0], vmap=False, exact=False)


CLASSIFICATION = {
    "log_loss": (lambda y, p: metrics.log_loss(y, p), LABELS, CHANCES),
    "log_loss of three": (lambda y, p: metrics.log_loss(y, shares(p)), THREE, SHARES),
    "brier_score_loss": (lambda y, p: metrics.brier_score_loss(y, p), LABELS, CHANCES),
    "d2_brier_score": (lambda y, p: metrics.d2_brier_score(y, p), LABELS, CHANCES),
    "d2_log_loss_score": (lambda y, p: metrics.d2_log_loss_score(y, shares(p)), THREE, SHARES),
}


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_a_metric_of_chances(name):
    f, labels, chances = CLASSIFICATION[name]

    def of_chances(p):
        return number(f(xp.asarray(labels) if isinstance(p, xp.Array) else labels, p))

    check(of_chances, chances, vmap=False, exact=False, order=1)


def test_numpys_metrics_stay_floats():
    with interop.sklearn():
        assert type(metrics.mean_squared_error(TRUTH, PREDICTION)) is float
        assert type(metrics.accuracy_score(LABELS, LABELS)) is float
