"""TruncatedSVD: the first singular vectors, by whichever solver."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from ..._array.array import Array
from ._fits import Fit, as_float, connect, fits

NEAR = 1e-6


def transformed(model: Any, fit: Fit) -> Array:
    return connect(fit.result, as_float(fit.given["X"]) @ xp.matrix_transpose(model.components_))


@fits(
    "sklearn.decomposition._truncated_svd", "TruncatedSVD", method="fit_transform", ignores=("y",),
    result=transformed,
)  # fmt: skip
def truncated_svd(fit: Fit) -> dict[str, Array]:
    X, twin = fit.data("X"), fit.twin
    count = twin.components_.shape[0]
    _, values, vectors = xp.linalg.svd(X, full_matrices=False)
    vectors = vectors[:count, :]
    along = np.sum(np.asarray(xp.stop_gradient(vectors)) * twin.components_, axis=1)
    if not np.all(np.abs(np.abs(along) - 1.0) < NEAR):
        fit.refuse(
            "its randomized solver has not found the singular vectors",
            "Raise n_iter, or take algorithm='arpack'",
        )
    vectors = vectors * xp.asarray(np.sign(along))[:, None]
    variance = xp.var(X @ xp.matrix_transpose(vectors), axis=0)
    return {
        "components_": vectors, "singular_values_": values[:count], "explained_variance_": variance,
        "explained_variance_ratio_": variance / xp.sum(xp.var(X, axis=0)),
    }  # fmt: skip
