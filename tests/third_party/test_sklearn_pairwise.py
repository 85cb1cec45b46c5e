"""scikit-learn's pairwise metrics and kernels, exactly as installed."""

import numpy as np
import pytest
import sklearn
from array_api_compat import array_namespace
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, (5, 3)), RNG.uniform(-1.5, 1.5, (4, 3))
POSITIVE = np.abs(X) + 0.2, np.abs(Y) + 0.2
DISTANCES = {
    "euclidean": pairwise.euclidean_distances,
    "squared": lambda X, Y: pairwise.euclidean_distances(X, Y, squared=True),
    "manhattan": pairwise.manhattan_distances,
    "cosine": pairwise.cosine_distances,
    "cosine similarity": pairwise.cosine_similarity,
}
KERNELS = {
    "linear": pairwise.linear_kernel,
    "polynomial": lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.4, coef0=0.7),
    "sigmoid": lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.4, coef0=0.7),
    "rbf": lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.4),
    "laplacian": lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.4),
}
BOTH = DISTANCES | KERNELS


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.every(3)
def test_between_two_sets(differentiates, name):
    differentiates(BOTH[name], X, Y, order=2)


@pytest.mark.parametrize("name", BOTH)
def test_within_one_set(differentiates, name):
    differentiates(lambda X: BOTH[name](X, None), X)


@pytest.mark.parametrize("name", ["squared", "cosine", "rbf"])
def test_equal_rows_have_second_derivatives(differentiates, name):
    """What rounding makes less than 0 is clipped there."""
    other = 1.7 * X if name == "cosine" else X
    differentiates(lambda X: BOTH[name](X, array_namespace(X).asarray(other)), X.copy(), order=2)
    differentiates(lambda X: BOTH[name](X, None), X[[0, 0, 1, 1]], order=2)


@pytest.mark.parametrize("kernel", [pairwise.additive_chi2_kernel, pairwise.chi2_kernel])
def test_chi_squared_kernels(differentiates, kernel):
    differentiates(kernel, *POSITIVE, order=2)


def test_chi_squared_kernels_of_columns_that_are_zero(differentiates):
    def f(X, Y):
        here = array_namespace(X)
        mask = here.asarray([1.0, 0.0, 1.0])
        return pairwise.chi2_kernel(X * mask, Y * mask, gamma=0.4)

    differentiates(f, *POSITIVE)


def test_norms_that_are_given(differentiates):
    def f(X, Y):
        here = array_namespace(X)
        return pairwise.euclidean_distances(
            X, Y, X_norm_squared=here.sum(X * X, axis=1), Y_norm_squared=here.sum(Y * Y, axis=1)
        )

    differentiates(f, X, Y, order=2)


PAIRED = {
    "euclidean": pairwise.paired_euclidean_distances,
    "manhattan": pairwise.paired_manhattan_distances,
    "cosine": pairwise.paired_cosine_distances,
    "by name": lambda X, Y: pairwise.paired_distances(X, Y, metric="l1"),
}


@pytest.mark.parametrize("name", PAIRED)
def test_between_pairs(differentiates, name):
    differentiates(PAIRED[name], X[:4], Y, order=2)


@pytest.mark.parametrize("metric", ["euclidean", "l2", "cosine", "cityblock", "manhattan"])
def test_pairwise_distances_by_name(differentiates, metric):
    differentiates(lambda X, Y: pairwise.pairwise_distances(X, Y, metric=metric), X, Y)


@pytest.mark.parametrize("metric", ["linear", "rbf", "poly", "sigmoid", "laplacian", "cosine"])
def test_pairwise_kernels_by_name(differentiates, metric):
    differentiates(lambda X, Y: pairwise.pairwise_kernels(X, Y, metric=metric), X, Y)


def test_a_metric_of_ones_own_is_called_for_each_pair(differentiates):
    def distance(x, y):
        here = array_namespace(x)
        return here.sum(here.abs(x - y) ** 3)

    def f(X, Y):
        return [
            pairwise.pairwise_distances(X, Y, metric=distance),
            pairwise.pairwise_distances(X, metric=distance),
            pairwise.pairwise_kernels(X, metric=distance),
        ]

    differentiates(f, X, Y, order=2)


def test_a_precomputed_matrix_goes_through(differentiates):
    def f(K):
        return pairwise.pairwise_kernels(K, metric="precomputed") * 2.0

    differentiates(f, X[:3] @ X[:3].T)


def test_chunks_of_distances(differentiates):
    def f(X, Y):
        return list(pairwise.pairwise_distances_chunked(X, Y, metric="l1", working_memory=0.0001))

    differentiates(f, X, Y)


def test_threads_do_not_record_and_say_so(leaves):
    def f(X, Y):
        return pairwise.pairwise_kernels(X, Y, metric="rbf", n_jobs=2)

    how = "in another thread"
    assert leaves(f, X, Y, at=r"sklearn/.*", how=how) == [None, None]


def test_nearest_points(has_values):
    has_values(pairwise.pairwise_distances_argmin, X, Y)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "cosine"])
@pytest.mark.every(3)
def test_the_nystroem_approximation(differentiates, kernel):
    def f(X, Y):
        model = Nystroem(kernel, n_components=3, random_state=0).fit(X)
        return model.transform(Y), model.normalization_, model.components_

    differentiates(f, X, Y, rtol=1e-6)


def test_the_gradient_of_a_kernels_width(differentiates):
    def f(X, gamma, coef0):
        # Its validation would have a float, its arithmetic takes any number.
        with sklearn.config_context(skip_parameter_validation=True):
            rbf = pairwise.rbf_kernel(X, gamma=gamma)
            return rbf, pairwise.polynomial_kernel(X, gamma=gamma, coef0=coef0)

    differentiates(f, X, np.asarray(0.4), np.asarray(1.2), order=2)
