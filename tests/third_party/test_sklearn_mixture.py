"""scikit-learn's Gaussian mixtures, exactly as installed: gradients through their EM iterations."""

import warnings

import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(11, 2)) + np.where(np.arange(11)[:, None] < 6, 0.0, [[3.0, 1.0]])
NEW = RNG.normal(size=(3, 2))
KINDS = ("full", "tied", "diag", "spherical")


def fitted(X, kind, **options):
    """A mixture after three steps of EM, converged or not."""
    given = {"max_iter": 3, "tol": 0.0, "reg_covar": 1e-2, "init_params": "random_from_data"}
    model = GaussianMixture(2, covariance_type=kind, random_state=0, **(given | options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def parameters(model):
    return [
        model.weights_,
        model.means_,
        model.covariances_,
        model.precisions_cholesky_,
        model.precisions_,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.every(3)
def test_the_parameters_of_a_mixture(differentiates, kind):
    differentiates(lambda X: parameters(fitted(X, kind)), X, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.every(3)
def test_the_likelihood_of_a_mixture(differentiates, kind):
    def f(X, new):
        model = fitted(X, kind)
        return model.score_samples(new), model.predict_proba(new), model.lower_bound_

    differentiates(f, X, NEW, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.every(3)
def test_curvature_through_the_iterations(differentiates, kind):
    differentiates(lambda X: fitted(X, kind).lower_bound_, X, order=2, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_random_responsibilities_and_several_starts(differentiates, kind):
    def f(X):
        return parameters(fitted(X, kind, init_params="random", n_init=2, max_iter=2))

    differentiates(f, X, rtol=1e-6)


PRECISIONS = {
    "full": np.asarray([[[1.2, 0.3], [0.3, 0.9]], [[0.8, -0.1], [-0.1, 1.5]]]),
    "tied": np.asarray([[1.2, 0.3], [0.3, 0.9]]),
    "diag": np.asarray([[1.2, 0.9], [0.8, 1.5]]),
    "spherical": np.asarray([1.2, 0.8]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_that_is_given_counts(differentiates, kind):
    def f(means, root):
        here = array_namespace(means)
        # Symmetric and positive whatever the differences add.
        square = root @ here.matrix_transpose(root) if kind in ("full", "tied") else root**2
        weights = here.asarray([0.4, 0.6])
        start = {"means_init": means, "precisions_init": square, "weights_init": weights}
        return parameters(fitted(here.asarray(X), kind, max_iter=2, **start))

    means = np.asarray([[0.2, -0.1], [2.5, 1.2]])
    differentiates(f, means, PRECISIONS[kind], rtol=1e-6)


def test_labels_and_criteria(has_values, leaves):
    def labels(X, new):
        model = fitted(X, "full")
        return model.predict(new), [model.converged_], [model.n_iter_]

    has_values(labels, X, NEW)
    for name, file in (("aic", "_base.py"), ("bic", "_base.py"), ("score", "_base.py")):
        at = f"sklearn/mixture/{file}"
        f = lambda X, name=name: getattr(fitted(X, "full"), name)(X)  # noqa: E731
        assert leaves(f, X, at=at, how="float") is None
