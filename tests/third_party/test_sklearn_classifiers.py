"""scikit-learn's generative classifiers, exactly as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
WEIGHTS = RNG.uniform(0.5, 2.0, 12)
BINARY = np.asarray([0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0])
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0, 2, 2, 1, 0])
TARGETS = {"two classes": BINARY, "three classes": CLASSES}


@pytest.mark.parametrize("target", TARGETS)
def test_linear_discriminant_analysis(differentiates, target):
    def f(X, new, y):
        model = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
        return [
            model.predict_proba(new),
            model.predict_log_proba(new),
            model.decision_function(new),
            model.coef_,
            model.intercept_,
            model.means_,
            model.xbar_,
            model.explained_variance_ratio_,
        ]

    differentiates(f, X, NEW, constants=(TARGETS[target],), rtol=1e-6)


@pytest.mark.parametrize("n_components", [None, 1])
def test_what_discriminates(differentiates, n_components):
    def f(X, new, y):
        model = LinearDiscriminantAnalysis(n_components=n_components).fit(X, y)
        # The signs of the directions are the SVD's choice.
        return model.transform(new) ** 2, model.scalings_**2

    differentiates(f, X, NEW, constants=(CLASSES,), rtol=1e-6)


def test_priors_that_are_given(differentiates):
    def f(priors, X, y, new):
        model = LinearDiscriminantAnalysis(priors=priors / priors.sum()).fit(X, y)
        return model.predict_proba(new)

    differentiates(f, np.asarray([0.3, 0.7]), constants=(X, BINARY, NEW), rtol=1e-6)


def test_the_curvature_of_a_discriminant(differentiates):
    def f(X, y):
        return LinearDiscriminantAnalysis().fit(X, y).decision_function(X)

    differentiates(f, X, constants=(BINARY,), order=2, rtol=1e-6)


def outputs(model, X):
    return [
        model.predict_proba(X),
        model.predict_log_proba(X),
        model.predict_joint_log_proba(X),
        model.theta_,
        model.var_,
        model.class_prior_,
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_gaussian_naive_bayes(differentiates, target):
    def f(X, new, y):
        return outputs(GaussianNB().fit(X, y), new)

    differentiates(f, X, NEW, constants=(TARGETS[target],), order=2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.every(2)
def test_gaussian_naive_bayes_with_sample_weights(differentiates, target):
    def f(X, weights, y):
        return outputs(GaussianNB().fit(X, y, sample_weight=weights), X)

    # The sum of the weights leaves, and counts in later partial fits only.
    warns = r"sklearn.naive_bayes\.py:\d+ \(float"
    differentiates(f, X, WEIGHTS, constants=(TARGETS[target],), warns=warns)


def test_gaussian_naive_bayes_fitted_in_parts(differentiates):
    def f(X, Y, y, z):
        classes = array_namespace(X).asarray([0, 1, 2])
        model = GaussianNB().partial_fit(X, y, classes=classes).partial_fit(Y, z)
        return outputs(model, X)

    differentiates(f, X[:7], X[7:], constants=(CLASSES[:7], CLASSES[7:]))


def test_sample_weights_of_a_second_part_count_in_part_and_say_so(leaves):
    def f(weights, X, y):
        classes = array_namespace(X).asarray([0, 1, 2])
        model = GaussianNB().partial_fit(X, y, classes, sample_weight=weights)
        return model.partial_fit(X, y, sample_weight=weights).theta_

    at = "sklearn/naive_bayes.py"
    (g,) = leaves(f, WEIGHTS, at=at, how="float", constants=(X, CLASSES))
    assert g is not None


def test_naive_bayes_with_priors_and_smoothing(differentiates):
    def f(X, priors, new, y):
        model = GaussianNB(priors=priors / priors.sum(), var_smoothing=0.1).fit(X, y)
        return model.predict_log_proba(new)

    differentiates(f, X, np.asarray([0.3, 0.7]), constants=(NEW, BINARY))


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), GaussianNB()], ids=repr)
def test_predicted_labels(has_values, model):
    has_values(lambda X, y, new: model.fit(X, y).predict(new), X, CLASSES, NEW)
