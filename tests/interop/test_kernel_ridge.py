"""Fits of KernelRidge in a context of interop."""

from functools import partial

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from helpers.fit_checks import check_fit

RNG = np.random.default_rng(3)
X = RNG.normal(size=(20, 3))
Y = RNG.normal(size=(20, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, size=20)
NEW = RNG.normal(size=(4, 3))
GRAM = X @ X.T + 5.0 * np.eye(20)
OF_ONE = {"X": X, "y": Y[:, 0], "sample_weight": WEIGHTS}
KERNELS = {
    "linear": {"alpha": 0.7},
    "rbf": {"alpha": 0.7, "gamma": 0.3},
    "poly": {"alpha": 0.7, "gamma": 0.3, "coef0": 0.5},
    "sigmoid": {"alpha": 0.7, "gamma": 0.1, "coef0": 0.5},
    "laplacian": {"alpha": 0.7, "gamma": 0.3},
    "cosine": {"alpha": 0.7},
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel):
    h = 1e-6 if kernel == "laplacian" else 1e-4  # no coordinate may pass another
    check_fit(
        partial(KernelRidge, kernel=kernel), lambda m: m.predict(NEW), OF_ONE, KERNELS[kernel], h=h
    )


def test_two_outputs_each_with_its_own_penalty():
    data = {"X": X, "y": Y}
    check_fit(KernelRidge, lambda m: m.predict(NEW), data, {"alpha": np.asarray([0.3, 0.7])})


def test_a_kernel_that_is_given_is_read_in_one_triangle():
    data = {**OF_ONE, "X": GRAM}
    rows = RNG.normal(size=(3, 20))
    make = partial(KernelRidge, kernel="precomputed")
    check_fit(make, lambda m: m.predict(rows), data, {"alpha": 0.7}, h=1e-4)
