"""scikit-learn's PCA and its relatives, exactly as installed."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.utils.extmath import randomized_range_finder, randomized_svd

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4)) * np.asarray([2.0, 1.3, 0.8, 0.3])
WIDE = RNG.normal(size=(4, 6)) * np.asarray([[2.0], [1.3], [0.8], [0.3]])
NOISE = RNG.normal(size=(12, 9)) * np.linspace(2.0, 0.3, 9)
SOLVERS = ("full", "covariance_eigh", "randomized")


def pca(n_components, solver, **options):
    if solver == "randomized":  # fewer random vectors than the data has directions
        options |= {"n_oversamples": 1, "power_iteration_normalizer": "QR"}
    return PCA(n_components, svd_solver=solver, random_state=0, **options)


def attributes(model):
    return [
        model.components_,
        model.explained_variance_,
        model.explained_variance_ratio_,
        model.singular_values_,
        model.mean_,
        model.noise_variance_,
    ]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.every(5)
def test_pca_transforms_there_and_back(differentiates, solver, whiten):
    def f(X):
        model = pca(2, solver, whiten=whiten).fit(X)
        Z = model.transform(X)
        return Z, model.inverse_transform(Z * Z)

    differentiates(f, X, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_pca_finds(differentiates, solver):
    differentiates(lambda X: attributes(pca(2, solver).fit(X)), X, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.every(5)
def test_pcas_model_of_the_data(differentiates, solver, whiten):
    def f(X):
        model = pca(2, solver, whiten=whiten).fit(X)
        return model.get_covariance(), model.get_precision(), model.score_samples(X)

    differentiates(f, X, rtol=1e-6)


@pytest.mark.parametrize("solver", ["full", "covariance_eigh"])
def test_curvature_of_what_pca_reconstructs(differentiates, solver):
    def f(X):
        model = pca(2, solver)
        return model.inverse_transform(model.fit_transform(X)), model.explained_variance_

    differentiates(f, X, order=2, rtol=1e-6)


@pytest.mark.parametrize("data", [X, WIDE], ids=["tall", "wide"])
def test_more_random_vectors_than_the_data_has_directions(differentiates, data):
    def f(X):
        model = PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0)
        return model.fit_transform(X), model.components_, model.explained_variance_

    # The directions beyond the rank are of rounding errors or, on some processors, of exact zeros, where
    # forward mode gives NaN.
    differentiates(f, data, rtol=1e-6, forward=data is X)


def test_pca_that_keeps_a_part_of_the_variance(differentiates):
    def f(X):
        model = PCA(0.9, svd_solver="full").fit(X)
        return model.explained_variance_, model.transform(X)

    differentiates(f, X, rtol=1e-6)


def test_minkas_choice_leaves_the_tape_and_misses_nothing_of_which_nothing_is_said(differentiates):
    def f(X):
        model = PCA("mle", svd_solver="full").fit(X)
        return model.explained_variance_, model.transform(X)

    # Forward mode is asked in a larger function, whose analysis gives up, and warns.
    differentiates(f, X, rtol=1e-6, forward=False)


def test_all_of_pcas_components_at_once(differentiates):
    def f(X):
        model = PCA().fit(X)
        return model.transform(X), model.get_covariance(), model.get_precision()

    differentiates(f, X, rtol=1e-6)


@pytest.mark.parametrize("solver", ["full", "randomized"])
def test_pca_of_more_features_than_samples(differentiates, solver):
    def f(X):
        model = pca(2, solver).fit(X)
        return model.transform(X), model.explained_variance_

    differentiates(f, WIDE, rtol=1e-6)


def test_pca_writes_into_its_input_when_told_to(differentiates):
    def f(X):
        Y = X * X
        return PCA(2, svd_solver="full", copy=False).fit_transform(Y), Y

    differentiates(f, X, rtol=1e-6)


@pytest.mark.parametrize("normalizer", ["QR", "none"])
@pytest.mark.parametrize("data", [NOISE, NOISE.T], ids=["tall", "wide"])
@pytest.mark.every(3)
def test_the_randomized_svd(differentiates, data, normalizer):
    def f(X):
        return randomized_svd(
            X, 2, n_oversamples=3, n_iter=2, power_iteration_normalizer=normalizer, random_state=0
        )

    differentiates(f, data, rtol=1e-6)


def test_the_randomized_range_finder(differentiates):
    def f(X):
        return randomized_range_finder(
            X, size=3, n_iter=2, power_iteration_normalizer="QR", random_state=0
        )

    differentiates(f, NOISE, rtol=1e-6)


def test_arpack_is_refused_by_scikit_learn():
    with pytest.raises(ValueError, match="not supported for Array API inputs"):
        pca(2, "arpack").fit(xp.asarray(X))


def test_the_score_of_pca_is_a_float(leaves):
    def f(X):
        return PCA(2).fit(X).score(X)

    assert leaves(f, X, at="sklearn/decomposition/_pca.py", how="float") is None
