"""Support vector machines in float64, because libsvm rounds its kernels to float32."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVC, SVR


class Exact(BaseEstimator):
    """A support vector machine whose support vectors are libsvm's.

    Its dual coefficients are the exact solution of the linear system of these support vectors.
    """

    def __init__(self, machine):
        self.machine = machine

    def fit(self, X, y, sample_weight=None):
        model = self.machine.fit(X, y, sample_weight)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        if isinstance(model, SVC):
            labels = np.where(y == model.classes_[1], 1.0, -1.0)
            limits = model.C * weights * model.class_weight_[(labels > 0).astype(int)]
            targets = labels
        else:
            limits = model.C * weights
            targets = y - model.epsilon * np.sign(beta)
        bound = np.abs(beta) >= limits * (1.0 - 1e-9)
        free = (beta != 0) & ~bound
        held = np.where(bound, np.sign(beta) * limits, 0.0)
        K = kernel(model, X, X)
        matrix = np.block(
            [[K[free][:, free], np.ones((free.sum(), 1))], [np.ones((1, free.sum())), 0.0]]
        )
        known = np.append(targets[free] - K[free] @ held, -held.sum())
        *inner, self.b_ = np.linalg.solve(matrix, known)
        self.beta_ = held
        self.beta_[free] = inner
        self.X_ = X
        return self

    def decision_function(self, X):
        return kernel(self.machine, X, self.X_) @ self.beta_ + self.b_

    predict = decision_function


def kernel(model, A, B):
    """Return the matrix of libsvm's kernel between the rows of A and B."""
    products = A @ B.T
    if model.kernel == "linear":
        return products
    if model.kernel == "rbf":
        squares = np.sum((A[:, None] - B) ** 2, axis=-1)
        return np.exp(-model._gamma * squares)
    inner = model._gamma * products + model.coef0
    return np.tanh(inner) if model.kernel == "sigmoid" else inner**model.degree


__all__ = ["SVC", "SVR", "Exact"]
