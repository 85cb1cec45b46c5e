"""scikit-learn's linear models, exactly as installed."""

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3))
Y = RNG.normal(size=8)
Y2 = RNG.normal(size=(8, 2))
WIDE = RNG.normal(size=(4, 6))
WEIGHTS = RNG.uniform(0.5, 2.0, 8)
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0])
TARGETS = {"one target": Y, "several": Y2}


def results(model, X):
    return model.coef_, model.intercept_, model.predict(X)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.every(3)
def test_ridge(differentiates, target, fit_intercept):
    def f(X, y):
        model = Ridge(alpha=0.5, solver="svd", fit_intercept=fit_intercept).fit(X, y)
        return results(model, X) if fit_intercept else results(model, X)[::2]

    differentiates(f, X, TARGETS[target], order=2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.every(3)
def test_ridge_with_sample_weights(differentiates, target, fit_intercept):
    def f(X, y, weights):
        model = Ridge(alpha=0.5, solver="svd", fit_intercept=fit_intercept)
        return model.fit(X, y, sample_weight=weights).coef_, model.predict(X)

    differentiates(f, X, TARGETS[target], WEIGHTS, order=2)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_of_more_features_than_samples(differentiates, fit_intercept):
    def f(X, y):
        model = Ridge(alpha=0.5, solver="svd", fit_intercept=fit_intercept).fit(X, y)
        return model.coef_, model.predict(X)

    # Centred samples are linearly dependent: a singular value is 0, and second derivatives are NaN.
    differentiates(f, WIDE, Y[:4], order=1 if fit_intercept else 2)


def test_the_gradient_of_a_hyperparameter(differentiates):
    def f(X, y, alpha):
        return results(Ridge(alpha=alpha, solver="svd").fit(X, y), X)

    differentiates(f, X, Y, np.asarray(0.5), order=2)


def test_the_gradients_of_a_penalty_per_target(differentiates):
    def f(X, y, alphas):
        return linear_model.ridge_regression(X, y, alphas, solver="svd")

    differentiates(f, X, Y2, np.asarray([0.5, 2.0]), order=2)


def test_one_penalty_for_several_targets_leaves_the_tape(leaves):
    def f(alpha, X, y):
        return linear_model.ridge_regression(X, y, alpha, solver="svd")

    at = "sklearn/linear_model/_ridge.py"
    assert leaves(f, np.asarray([0.5]), at=at, how="float", constants=(X, Y2)) == [None]


@pytest.mark.parametrize("gcv_mode", ["svd", "eigen"])
@pytest.mark.parametrize("data", ["tall", "wide"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.every(3)
def test_ridge_with_generalized_cross_validation(differentiates, gcv_mode, data, fit_intercept):
    def f(X, y):
        model = RidgeCV(gcv_mode=gcv_mode, fit_intercept=fit_intercept, store_cv_results=True)
        model.fit(X, y)
        return model.coef_, model.predict(X), model.cv_results_, model.best_score_

    inputs = (X, Y) if data == "tall" else (WIDE, Y[:4])
    differentiates(f, *inputs)


def test_ridge_with_a_penalty_chosen_per_target(differentiates):
    def f(X, y, weights):
        model = RidgeCV(alphas=(0.1, 1.0, 30.0), alpha_per_target=True).fit(X, y, weights)
        return model.coef_, model.predict(X), model.best_score_

    differentiates(f, X, Y2, WEIGHTS)


def test_penalties_that_a_scorer_compares(differentiates):
    def f(X, y):
        model = RidgeCV(scoring="neg_mean_squared_error", store_cv_results=True).fit(X, y)
        return model.coef_, model.cv_results_

    differentiates(f, X, Y, warns=r"sklearn.metrics._regression\.py:\d+ \(float")


@pytest.mark.parametrize("kind", [RidgeClassifier, RidgeClassifierCV])
def test_ridge_classifiers(differentiates, kind):
    options = {"solver": "svd"} if kind is RidgeClassifier else {}

    def f(X, y):
        model = kind(**options).fit(X, y)
        return model.decision_function(X), model.coef_, model.predict(X)

    differentiates(f, X, constants=(CLASSES,))


def test_weighted_classes(differentiates):
    def f(X, weights, y):
        model = RidgeClassifier(solver="svd", class_weight="balanced").fit(X, y, weights)
        return model.decision_function(X), model.coef_

    differentiates(f, X, WEIGHTS, constants=(CLASSES,))


def test_other_solvers_are_refused_by_scikit_learn():
    with pytest.raises(ValueError, match="only supports solver 'svd'"):
        Ridge(solver="cholesky").fit(xp.asarray(X), xp.asarray(Y))
