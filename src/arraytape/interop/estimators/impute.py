"""Differentiate the fit of SimpleImputer and the imputation of KNNImputer.

scikit-learn computes them with NumPy's masked arrays, which keep no Arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._mask import _get_mask

import arraytape as xp

from ..._array.array import Array
from ..._util.errors import user_line
from .._plain import ArrayInput
from .._statements import hooks, original
from ._distances import weights_by_distance
from ._fits import as_float, connect, detached


@hooks("sklearn.impute._base", "SimpleImputer._dense_fit")
def dense_fit(
    imputer: BaseEstimator, X: ArrayInput, strategy: str, missing_values: float | str | None,
    fill_value: float | str | None,
) -> Any:  # fmt: skip
    fit = original("sklearn.impute._base", "SimpleImputer._dense_fit")
    value = fit(imputer, detached(X), strategy, missing_values, fill_value)
    if strategy == "constant":
        return value
    if strategy not in ("mean", "median"):
        raise TypeError(
            f"SimpleImputer.fit with strategy={strategy!r} has no derivative here: take 'mean', "
            f"'median' or 'constant', or NumPy data [at {user_line()}]"
        )
    X, missing = as_float(X), _get_mask(detached(X), missing_values)
    columns = [middle(X[~missing[:, i], i], strategy) for i in range(X.shape[1])]
    return connect(value, xp.stack(columns))


def middle(x: Array, strategy: str) -> Array:
    """Return the mean or the median of x, as ``strategy`` says, or 0 if x is empty."""
    if not x.shape[0]:
        return xp.asarray(0.0)
    found: Array = xp.mean(x) if strategy == "mean" else np.median(x)  # type: ignore[call-overload]
    return found


@hooks("sklearn.impute._knn", "KNNImputer._calc_impute")
def calc_impute(
    imputer: BaseEstimator, dist_pot_donors: ArrayInput, n_neighbors: int, fit_X_col: ArrayInput,
    mask_fit_X_col: ArrayInput,
) -> Array:  # fmt: skip
    """Return the imputed values of one column: weighted means over the nearest neighbours.

    dist_pot_donors : the distances of the rows with a missing value to the rows of the fit.
    fit_X_col, mask_fit_X_col : the column in the fit, and a mask of its missing values.
    """
    calc = original("sklearn.impute._knn", "KNNImputer._calc_impute")
    distances, missing = detached(dist_pot_donors), detached(mask_fit_X_col)
    value = calc(imputer, distances.copy(), n_neighbors, detached(fit_X_col), missing)
    nearest = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
    rows = np.arange(nearest.shape[0])[:, None]
    there = ~(np.isnan(distances[rows, nearest]) | missing[nearest])
    apart = as_float(dist_pot_donors)[rows, nearest]
    weights = weights_by_distance(imputer, apart, there)
    donors = as_float(fit_X_col)[nearest]
    total = xp.sum(weights * xp.where(there, donors, 0.0), axis=1)
    return connect(value, total / xp.sum(weights, axis=1))
