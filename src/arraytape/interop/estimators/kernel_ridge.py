"""Differentiate the fit of KernelRidge: solve scikit-learn's linear system by recorded functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import arraytape as xp

from ..._array.array import Array
from ._fits import Fit, connects_fit


@connects_fit("sklearn.kernel_ridge", "KernelRidge")
def kernel_ridge(fit: Fit) -> Mapping[str, Any]:
    """Return the fitted attributes of KernelRidge as functions of the data.

    dual_coef_ is inv(K + diag(alpha / weight)) y, where scikit-learn computes the kernel K.
    """
    fit.asked |= {"gamma", "coef0"}  # read by _get_kernel
    X, y, alpha = fit.float_data("X"), fit.float_data("y"), fit.parameter("alpha")
    K = X if fit.estimator.kernel == "precomputed" else fit.estimator._get_kernel(X)
    root = xp.sqrt(fit.sample_weights())
    scaled = root[:, None] * K * root
    columns = root[:, None] * xp.reshape(y, (K.shape[0], -1))
    eye = np.eye(K.shape[0])
    if alpha.ndim == 0 or alpha.shape[0] == 1:
        found = solve_kernel(scaled + xp.reshape(alpha, ()) * eye, columns)
    else:
        each = [solve_kernel(scaled + alpha[k] * eye, columns[:, k]) for k in range(alpha.shape[0])]
        found = xp.stack(each, axis=1)
    return {"dual_coef_": root[:, None] * found, "X_fit_": X}


def solve_kernel(K: Array, y: Array) -> Any:
    """Solve K x = y as scikit-learn does: by least squares if K is not positive definite."""
    from scipy import linalg

    try:
        return linalg.solve(K, y, assume_a="pos")
    except np.linalg.LinAlgError:
        return linalg.lstsq(K, y)[0]
