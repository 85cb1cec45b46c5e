"""System identification in sysidentpy: metrics, estimators, bases and residues."""

import importlib
from collections.abc import Callable
from typing import Any

from ..data import normal, uniform
from ..facts import NAMESPACE, Library, call


def prepare(_: str) -> None:
    from sysidentpy import set_config

    set_config(array_api_dispatch=True)


def estimated(name: str, **keywords: Any) -> Callable[..., Any]:
    """Return a function that fits an estimator of the library."""

    def fit(psi: Any, y: Any) -> Any:
        estimators = importlib.import_module("sysidentpy.parameter_estimation")
        return getattr(estimators, name)(**keywords).optimize(psi, y)

    fit.__name__ = name
    return fit


def expanded(name: str) -> Callable[..., Any]:
    """Return a function that expands data in a basis of the library."""

    def fit(x: Any) -> Any:
        bases = importlib.import_module("sysidentpy.basis_function")
        return getattr(bases, name)(degree=2).fit(x, max_lag=1)

    fit.__name__ = name
    return fit


def correlated(name: str) -> Callable[..., Any]:
    """Return a function that computes correlations, the first result of the library's function."""

    def correlation(*arrays: Any) -> Any:
        module = importlib.import_module("sysidentpy.residues.residues_correlation")
        return getattr(module, name)(*arrays)[0]

    correlation.__name__ = name
    return correlation


Y, YHAT = uniform(8, 1), uniform(8, 1, seed=1)
PSI, X = normal(12, 3), normal(12, 1)
METRICS = (
    "forecast_error", "mean_forecast_error", "mean_squared_error", "root_mean_squared_error",
    "normalized_root_mean_squared_error", "root_relative_squared_error", "mean_absolute_error",
    "mean_squared_log_error", "median_absolute_error", "explained_variance_score", "r2_score",
    "symmetric_mean_absolute_percentage_error",
)  # fmt: skip
CALLS = [
    *(call(f"metrics.{name}", Y, YHAT) for name in METRICS),
    *(
        call(estimated(name), PSI, X)
        for name in (
            "LeastSquares",
            "RidgeRegression",
            "TotalLeastSquares",
            "RecursiveLeastSquares",
        )
    ),
    *(
        call(estimated(name), 0.3 * PSI, X)
        for name in ("LeastMeanSquares", "NormalizedLeastMeanSquares", "AffineLeastMeanSquares")
    ),
    *(
        call(expanded(name), 0.5 * normal(6, 2))
        for name in ("Polynomial", "Fourier", "Legendre", "Hermite", "Laguerre", "Bernstein")
    ),
    call("utils.information_matrix.build_output_matrix", normal(6, 1), [1, 2]),
    call("utils.information_matrix.build_input_matrix", normal(6, 1), [1, 2]),
    call("residues.residues_correlation.calculate_residues", Y, YHAT),
    call("residues.residues_correlation.get_unnormalized_e_acf", normal(6)),
    call(correlated("compute_residues_autocorrelation"), Y, YHAT),
    call(correlated("compute_cross_correlation"), Y, YHAT, normal(8, 1)),
]
FLOAT = "sysidentpy returns `float(...)`"
NUMPY_ONLY = "sysidentpy accepts only NumPy arrays: it calls SciPy"
CORRELATE = "sysidentpy converts to NumPy, for `np.correlate`"
REASONS = {
    **dict.fromkeys(METRICS[1:], FLOAT),
    **dict.fromkeys(("Legendre", "Hermite", "Laguerre", "Bernstein"), NUMPY_ONLY),
    "get_unnormalized_e_acf": CORRELATE,
    "compute_residues_autocorrelation": CORRELATE,
    "compute_cross_correlation": CORRELATE,
}
LIBRARY = Library("sysidentpy", "sysidentpy", NAMESPACE, CALLS, prepare, REASONS)
