"""Cost of tapes for two losses that scikit-learn computes."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import numpy as np
import sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from arraytape.testing.benchmarks import TapeBenchmarks

sklearn.set_config(array_api_dispatch=True)


class RidgeValidation(TapeBenchmarks):
    """The validation error of ridge regression as a function of the training data."""

    params, param_names = [100, 5_000], ["rows"]

    def arrays(self, rows):
        random = np.random.default_rng(0)
        X, coef = random.normal(size=(rows, 10)), random.normal(size=10)
        return [X, X @ coef + random.normal(size=rows)]

    def loss(self, xp, X, y):
        half = X.shape[0] // 2
        model = Ridge(alpha=1.0, solver="svd").fit(X[:half, :], y[:half])
        return xp.mean((model.predict(X[half:, :]) - y[half:]) ** 2)


class KernelSum(TapeBenchmarks):
    """The mean of an RBF kernel matrix as a function of the points."""

    params, param_names = [20, 200], ["points"]

    def arrays(self, points):
        return [np.random.default_rng(0).normal(size=(points, 3))]

    def loss(self, xp, X):
        return xp.mean(rbf_kernel(X, gamma=0.5) ** 2)
