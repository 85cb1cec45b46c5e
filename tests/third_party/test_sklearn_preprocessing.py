"""scikit-learn's preprocessing, exactly as installed."""

import numpy as np
import pytest
from sklearn import preprocessing

pytestmark = pytest.mark.usefixtures("dispatching")
X = np.random.default_rng(0).uniform(-1.5, 1.5, (8, 3))


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_the_standard_scaler(differentiates, with_mean, with_std):
    def f(X):
        scaler = preprocessing.StandardScaler(with_mean=with_mean, with_std=with_std)
        Z = scaler.fit_transform(X)
        return Z, scaler.inverse_transform(Z * Z), scaler.mean_, scaler.scale_, scaler.var_

    differentiates(f, X, order=2)
