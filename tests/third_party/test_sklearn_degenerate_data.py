"""scikit-learn on data as it comes: dead features, copies of features and samples, missing classes.

What such data adds is constant, so the differences do not leave it; the gradients of the rest must
not be spoilt by it.
"""

import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn import linear_model, preprocessing
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import arraytape as xp
from arraytape import testing

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(10, 3))
Y = RNG.normal(size=10)
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0, 2, 1])


def columns(X, value, count):
    here = array_namespace(X)
    return here.concat([X, here.full((X.shape[0], count), value)], axis=1)


DATA = {
    "a dead feature": lambda X: columns(X, 0.0, 1),
    "two dead features": lambda X: columns(X, 0.0, 2),
    "constant features": lambda X: columns(X, 0.5, 2),
    "a feature twice": lambda X: array_namespace(X).concat([X, X[:, :1]], axis=1),
    "features that add up": lambda X: array_namespace(X).concat([X, X[:, :1] - X[:, 1:2]], axis=1),
}


EXACTLY_CONSTANT = ("a dead feature", "two dead features", "constant features")


def lda(X, y, classes):
    model = LinearDiscriminantAnalysis().fit(X, classes)
    return model.predict_proba(X), model.coef_


def ridge(X, y, classes):
    model = linear_model.Ridge(solver="svd").fit(X, y)
    return model.coef_, model.predict(X)


def ridge_cv(X, y, classes):
    model = linear_model.RidgeCV(gcv_mode="svd").fit(X, y)
    return model.coef_, model.best_score_


def bayes(X, y, classes):
    return GaussianNB(var_smoothing=0.1).fit(X, classes).predict_log_proba(X)


MODELS = {
    "StandardScaler": lambda X, y, c: preprocessing.StandardScaler().fit_transform(X),
    "MinMaxScaler": lambda X, y, c: preprocessing.MinMaxScaler().fit_transform(X),
    "MaxAbsScaler": lambda X, y, c: preprocessing.MaxAbsScaler().fit_transform(X),
    "PCA": lambda X, y, c: PCA(2, svd_solver="full").fit_transform(X),
    "PCA by eigenvectors": lambda X, y, c: PCA(2, svd_solver="covariance_eigh").fit_transform(X),
    "PCA, whitened": lambda X, y, c: PCA(2, svd_solver="full", whiten=True).fit_transform(X),
    "PCA's covariance": lambda X, y, c: PCA(2, svd_solver="full").fit(X).get_covariance(),
    "randomized PCA": lambda X, y, c: PCA(
        2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0
    ).fit_transform(X),
    "LDA": lda,
    "Ridge": ridge,
    "RidgeCV": ridge_cv,
    "GaussianNB": bayes,
    "a pipeline": lambda X, y, c: (
        make_pipeline(
            preprocessing.StandardScaler(),
            preprocessing.PolynomialFeatures(2),
            linear_model.Ridge(solver="svd"),
        )
        .fit(X, y)
        .predict(X)
    ),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.every(3)
def test_features_that_say_nothing_new(differentiates, model, data):
    def f(X, y, classes):
        return MODELS[model](DATA[data](X), y, classes)

    if model == "RidgeCV" and data in EXACTLY_CONSTANT:
        # It reads the singular value of 0 and scales both its vectors by it: see linalg.svd.
        said = pytest.warns(xp.TapeWarning, match=r"the derivative through linalg\.svd is NaN")
        with np.errstate(invalid="ignore"), said:
            (g,) = testing.gradients(lambda X: xp.sum(f(X, Y, CLASSES)[0]), [X])
        assert np.isnan(g).all()
        return
    # Forward mode cannot know what will not be read: see linalg.svd.
    differentiates(f, X, constants=(Y, CLASSES), rtol=1e-6, forward=False)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.every(3)
def test_samples_that_come_twice(differentiates, model):
    def f(X, y, classes):
        here = array_namespace(X)
        X, y = here.concat([X, X[:3, :]]), here.concat([y, y[:3]])
        return MODELS[model](X, y, here.concat([classes, classes[:3]]))

    differentiates(f, X, constants=(Y, CLASSES), rtol=1e-6, forward=False)


@pytest.mark.parametrize("name", ["euclidean", "cosine", "manhattan"])
def test_distances_between_a_sample_and_itself(differentiates, name):
    def f(X, Y):
        here = array_namespace(X)
        return pairwise.pairwise_distances(here.concat([X, Y[:1, :]]), Y, metric=name)[:3, :]

    differentiates(f, X[:3], constants=(X[3:6],))
