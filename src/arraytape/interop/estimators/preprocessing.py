"""Differentiate the fits of StandardScaler and PowerTransformer; other transformers refuse Arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._array.array import Array
from ..._util.blocks import Quiet
from .._plain import ArrayInput
from .._power import box_cox, yeo_johnson
from .._statements import hooks, original
from ._fits import as_float, connect, detached, refuses
from ._solutions import minimum_of_parts

DATA = "sklearn.preprocessing._data"


@hooks("sklearn.utils.extmath", "_incremental_mean_and_var")
def incremental_mean_and_var(*args: Any, **options: Any) -> Any:
    """Run scikit-learn's function without NumPy's warnings of 0 / 0, which it hides only for NumPy data.

    The NaN of 0 / 0 arises in the first batch, and scikit-learn overwrites it.
    """
    with Quiet(divide="ignore", invalid="ignore"):
        return original("sklearn.utils.extmath", "_incremental_mean_and_var")(*args, **options)


def differentiate_lambda(name: str, log_likelihood: Callable[..., Any]) -> None:
    """Give the lambda of a column, which a method of PowerTransformer finds, its derivative.

    name : the method.  It finds the maximum of ``log_likelihood(lambda, x)`` by Brent's method.  The
    derivative is that of the maximum.
    """

    @hooks(DATA, f"PowerTransformer.{name}")
    def optimize(transformer: BaseEstimator, x: ArrayInput) -> Array:
        value = original(DATA, f"PowerTransformer.{name}")(transformer, detached(x))
        x = as_float(x)
        x = x[np.flatnonzero(~np.isnan(detached(x)))]
        found = minimum_of_parts(
            lambda parts, x: -log_likelihood(parts["lambda"], x), {"lambda": np.asarray(value)}, x
        )
        return connect(value, found["lambda"])


differentiate_lambda("_yeo_johnson_optimize", yeo_johnson)
differentiate_lambda("_box_cox_optimize", box_cox)
refuses(
    "sklearn.preprocessing._discretization", "KBinsDiscretizer",
    why="bins are numbered, and a number of a bin is constant in steps",
)  # fmt: skip
for _method in ("fit", "fit_transform"):
    refuses(
        "sklearn.preprocessing._target_encoder", "TargetEncoder", method=_method,
        why="its table of categories is written in compiled code that has no rule here",
    )  # fmt: skip
