"""Differentiate the fits of scikit-learn's mixtures of Gaussians.

scikit-learn repeats EM steps until they change little.  The derivative is that of the EM step's fixed
point.  To differentiate the step, scikit-learn's own code of the step runs on Arrays.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.mixture._base import BaseMixture

import arraytape as xp

from ..._array.array import Array
from .._context import has_array
from .._facades import SoftFloat
from .._statements import keeps_arrays, replaces
from ._fits import Fit, as_float, connects_fit
from ._solutions import Parts, root_of_parts

for module in ("_base", "_gaussian_mixture", "_bayesian_mixture"):
    keeps_arrays(f"sklearn.mixture.{module}")
replaces("sklearn.mixture._base", "float", SoftFloat)

GAUSSIAN = ("weights_", "means_", "covariances_")
BAYESIAN = (
    "weight_concentration_", "mean_precision_", "means_", "degrees_of_freedom_", "covariances_",
)  # fmt: skip

DERIVED = ("weights_", "precisions_cholesky_", "precisions_", "mean_prior_", "covariance_prior_")


def as_parts(model: BaseMixture, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fitted parameters ``names`` of a mixture in a dict of arrays, the unknowns of the fit.

    A Dirichlet process has a pair of arrays as ``weight_concentration_``, which are stacked.
    """
    parts = {}
    for name in names:
        value = getattr(model, name)
        if type(value) is tuple:
            value = xp.stack(value) if has_array(value) else np.stack(value)
        parts[name] = value
    return parts


def with_parts(twin: BaseMixture, parts: Parts, X: Array) -> Any:
    """Return a copy of a fitted mixture with other parameters, on which EM code can run.

    parts : the parameters, a dict of arrays.

    The attributes that follow from the parameters are computed anew.  X : the data of the fit.
    """
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

    model = copy.copy(twin)
    if hasattr(twin, "mean_precision_"):
        model._check_parameters(X)  # sets priors, which may be the data's mean and covariance
    vars(model).update(parts)
    if "weight_concentration_" in parts and type(twin.weight_concentration_) is tuple:
        model.weight_concentration_ = tuple(parts["weight_concentration_"])
    model.precisions_cholesky_ = _compute_precision_cholesky(
        model.covariances_, model.covariance_type
    )
    return model


def em_step(twin: BaseMixture, parts: Parts, X: Array, names: tuple[str, ...]) -> dict[str, Any]:
    model = with_parts(twin, parts, X)
    _, log_resp = model._e_step(X)
    model._m_step(X, log_resp)
    return as_parts(model, names)


@connects_fit("sklearn.mixture._base", "BaseMixture", ignores=("y",))
@connects_fit(
    "sklearn.mixture._base", "BaseMixture", ignores=("y",), method="fit_predict",
    result=lambda model, fit: fit.result,
)  # fmt: skip
def expectation_maximization(fit: Fit) -> dict[str, Array]:
    X, twin = fit.float_data("X"), fit.twin
    bayesian = hasattr(twin, "mean_precision_") or not hasattr(twin, "weights_")
    names = BAYESIAN if bayesian else GAUSSIAN

    def em_residual(parts: Parts, X: Array) -> list[Array]:
        after = em_step(twin, parts, X, names)
        return [as_float(after[name]) - parts[name] for name in names]

    try:
        found = root_of_parts(em_residual, as_parts(twin, names), X)
    except ValueError:  # scikit-learn's, for a covariance that is not positive definite
        fit.refuse_fit("EM stopped far from its fixed point", "Lower tol, or raise max_iter")
    model = with_parts(twin, found, X)
    model._set_parameters(model._get_parameters())
    derived = {name: getattr(model, name) for name in DERIVED if hasattr(model, name)}
    if twin.covariance_type != "tied" or names is GAUSSIAN:
        log_prob_norm, log_resp = model._e_step(X)
        derived["lower_bound_"] = model._compute_lower_bound(log_resp, log_prob_norm)
    return {**found, **{name: x for name, x in derived.items() if isinstance(x, Array)}}
