"""scikit-learn's linear models: a loss of X @ coef + intercept, and a penalty.

All but a few are one objective, and a statement says what its loss, weights and penalties are:

    sum(weight * loss(y, X @ coef' + intercept)) + l1 |coef| + l2 |coef|^2 / 2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import arraytape as xp

from ... import implicit
from ..._array.array import Array
from ..._util.errors import user_line
from .._statements import hooks
from . import _losses
from ._fits import Fit, as_float, fits
from ._solutions import Parts, minimum

EDGE = 1e-6  # of the penalty: how near a coefficient that is 0 may be to entering


def linear(
    fit: Fit, loss: Any, y: Array, weights: Array, *, l1: Any = 0.0, l2: Any = 0.0,
    shifts: Sequence[str] = (), extra: Sequence[Array] = (),
) -> Parts:  # fmt: skip
    """coef_ and intercept_ as the minimum of a penalised loss.

    loss : of y, the predictor and ``extra``, by sample.  weights : by sample, with the loss's factor.
    shifts : the attributes that may be shifted alike for all classes: their sum stays what it is.
    """
    twin = fit.twin
    coef = np.asarray(twin.coef_)
    several = coef.ndim == 2 and (coef.shape[0] > 1 or y.ndim == 2)
    start = {"coef_": coef if several else coef.reshape(-1)}
    if twin.fit_intercept:
        intercept = np.asarray(twin.intercept_)
        start["intercept_"] = intercept if several else intercept.reshape(())

    def predictor(parts: Parts, X: Array) -> Array:
        s = xp.matmul(X, xp.matrix_transpose(parts["coef_"]) if several else parts["coef_"])
        return s + parts["intercept_"] if "intercept_" in parts else s

    def smooth(
        parts: Parts, X: Array, y: Array, weights: Array, l1: Array, l2: Array, *extra: Array
    ) -> Array:
        found = xp.sum(weights * loss(y, predictor(parts, X), *extra))
        found = found + 0.5 * xp.sum(l2 * parts["coef_"] ** 2)
        for name in {*shifts} & {*start}:
            moved = xp.sum(parts[name], axis=0) - np.sum(start[name], axis=0)
            found = found + 0.5 * xp.sum(moved**2)
        return found

    def objective(
        parts: Parts, X: Array, y: Array, weights: Array, l1: Array, *rest: Array
    ) -> Array:
        return smooth(parts, X, y, weights, l1, *rest) + l1 * xp.sum(xp.abs(parts["coef_"]))

    theta = (fit.data("X"), y, weights, xp.asarray(l1), xp.asarray(l2), *extra)
    size = float(xp.stop_gradient(theta[3]))
    active = start["coef_"] != 0 if size else True
    found = minimum(objective, start, *theta, free={"coef_": active})
    if size:
        examine_active_set(fit, smooth, found, active, size, theta)
    return found


def examine_active_set(
    fit: Fit, smooth: Any, found: Parts, active: Any, l1: float, theta: Any
) -> None:
    """Refuse where a coefficient is about to enter or to leave: the fit has a kink there."""
    parts = {name: xp.stop_gradient(value) for name, value in found.items()}
    theta = [xp.stop_gradient(x) for x in theta]
    slope = xp.grad(lambda coef: smooth({**parts, "coef_": coef}, *theta))(parts["coef_"])
    coef = np.asarray(parts["coef_"])
    entering = ~active & (np.abs(np.asarray(slope)) > l1 * (1.0 - EDGE))
    leaving = active & (np.asarray(slope) * coef > 0)
    if np.any(entering) or np.any(leaving):
        which = "is about to enter" if np.any(entering) else "is about to leave"
        places = np.argwhere(entering if np.any(entering) else leaving).tolist()
        raise implicit.NotASolution(
            f"{fit.name}.fit: the coefficient at {places[0]} {which} the active set, where the fit has "
            f"a kink, or tol is too large to tell; change the penalty, or lower tol [at {user_line()}]"
        )


# --- logistic regression ---------------------------------------------------------------------------
LOGISTIC = "sklearn.linear_model._logistic"


@fits(LOGISTIC, "LogisticRegression")
def logistic(fit: Fit) -> Parts:
    """C sum(weight * loss) + (1 - l1_ratio) |coef|^2 / 2 + l1_ratio |coef|"""
    twin = fit.twin
    onehot = (fit.labels().reshape(-1)[:, None] == twin.classes_).astype(np.float64)
    weights = fit.weights() * class_weights(fit, onehot)
    l1: Any = 0.0
    l2: Any = 0.0
    penalised = not (np.isinf(twin.C) or twin.penalty is None)
    if penalised:
        weights = weights * fit.parameter("C")
        l1 = fit.parameter("l1_ratio") if twin.l1_ratio else 0.0
        l2 = 1.0 - l1
    if onehot.shape[1] == 2:
        return linear(fit, _losses.binomial, xp.asarray(onehot[:, 1]), weights, l1=l1, l2=l2)
    shifts = ["intercept_"] if penalised else ["intercept_", "coef_"]
    return linear(
        fit, _losses.multinomial, xp.asarray(onehot), weights, l1=l1, l2=l2, shifts=shifts
    )


def class_weights(fit: Fit, onehot: Any) -> Any:
    """By sample, from ``class_weight``: numbers by class, or those that balance the weights."""
    given = fit.estimator.class_weight
    fit.asked.add("class_weight")
    if given is None:
        return 1.0
    if given == "balanced":
        counts = xp.matmul(xp.asarray(onehot.T), fit.weights())
        by_class = xp.sum(counts) / (onehot.shape[1] * counts)
    else:
        by_class = xp.stack([as_float(given.get(c, 1.0)) for c in fit.twin.classes_.tolist()])
    return xp.matmul(xp.asarray(onehot), by_class)


# --- generalized linear models ----------------------------------------------------------------------
GENERALIZED = "sklearn.linear_model._glm.glm"
LOSSES = {"HalfPoissonLoss": _losses.poisson, "HalfGammaLoss": _losses.gamma,
          "HalfSquaredError": _losses.half_squared}  # fmt: skip


@fits(GENERALIZED, "_GeneralizedLinearRegressor")
def generalized(fit: Fit) -> Parts:
    """The mean of the loss by weight, and alpha |coef|^2 / 2"""
    name = type(fit.twin._base_loss).__name__
    weights = fit.weights()
    weights = weights / xp.sum(weights)
    y, alpha = fit.data("y"), fit.parameter("alpha")
    if not name.startswith("HalfTweedieLoss"):
        return linear(fit, LOSSES[name], y, weights, l2=alpha)
    identity = name == "HalfTweedieLossIdentity"
    special = (
        {0.0: _losses.half_squared} if identity else {1.0: _losses.poisson, 2.0: _losses.gamma}
    )
    power = fit.twin.power
    if power in special and not isinstance(fit.estimator.power, Array):
        return linear(fit, special[power], y, weights, l2=alpha)
    if power in (1.0, 2.0):
        fit.refuse(f"power={power} is a limit of the loss, which has no derivative by power here")
    loss = _losses.tweedie_identity if identity else _losses.tweedie
    return linear(fit, loss, y, weights, l2=alpha, extra=[fit.parameter("power")])


POWERS = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}


@hooks(GENERALIZED, "_GeneralizedLinearRegressor.score")
def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The share of the deviance that is explained."""
    from sklearn.metrics import d2_tweedie_score

    powers = [POWERS[kind.__name__] for kind in type(self).__mro__ if kind.__name__ in POWERS]
    power = [*powers, getattr(self, "power", 0.0)][0]
    return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power)
