"""Differentiate linear models whose fit minimises a loss of X @ coef + intercept, plus a penalty.

    sum(weight * loss(y, X @ coef' + intercept)) + l1 |coef| + l2 |coef|^2 / 2

Coefficients that are 0 because of l1 or of a bound stay 0 for data nearby.  The others, the active set,
are smooth functions of the data.  A fit is refused if a tiny change of the data would change its active
set, because the solution has a kink there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from ... import implicit
from ..._array.array import Array
from ..._util.errors import user_line
from .._plain import NumpyData, plain_data
from ._solutions import Parts, minimum_of_parts

# If a zero coefficient's slope is nearer to l1, relative to the largest slope, the fit is refused.
EDGE = 1e-6


@dataclasses.dataclass
class Penalised:
    """The objective that a linear model minimises: a weighted sum of losses, and penalties of coef.

    name : the estimator's name, for messages.  X, y : the data.
    loss : function of y, X @ coef + intercept and ``extra``; returns the loss of each sample.
    weights : the factor of each sample's loss.
    l1, l2 : factors of the penalty, for each row of coef or for all.
    groups : True if l1 multiplies the length of each column of coef.
    positive : True if coef is bounded below by 0.
    chosen : True if coefficients that are 0 are held at 0, because the fit has selected features.
    shifts : "intercept" or "coef", if adding one number to it for all classes does not change the
    objective; its sum over the classes is then held constant.
    """

    name: str
    loss: Any
    X: Array
    y: Array
    weights: Array
    l1: Any = 0.0
    l2: Any = 0.0
    groups: bool = False
    positive: bool = False
    chosen: bool = False
    shifts: Sequence[str] = ()
    extra: Sequence[Array] = ()

    def solve_parts(self, coef: NumpyData, intercept: NumpyData | None = None) -> Parts:
        """Return a dict of coef and intercept at the minimum, with derivatives with respect to the data.

        coef, intercept : scikit-learn's solution, at which the search for the minimum begins.  coef is
        shaped (outputs, features) or (features,).
        """
        start = {"coef": coef} if intercept is None else {"coef": coef, "intercept": intercept}
        held = self.chosen or self.positive or np.any(plain_data(self.l1))
        moves = np.asarray(coef) != 0 if held else np.ones(np.shape(coef), dtype=bool)
        if self.groups:
            moves = np.broadcast_to(np.any(moves, axis=0), moves.shape)
        sums = {name: np.sum(start[name], axis=0) for name in self.shifts if name in start}

        def smooth(
            parts: Parts, X: Array, y: Array, weights: Array, l1: Array, l2: Array, *extra: Any
        ) -> Array:
            found = xp.sum(weights * self.loss(y, predictor(parts, X), *extra))
            found = found + 0.5 * xp.sum(l2 * parts["coef"] ** 2)
            for name, before in sums.items():
                found = found + 0.5 * xp.sum((xp.sum(parts[name], axis=0) - before) ** 2)
            return found

        def penalised_objective(parts: Parts, *theta: Any) -> Array:
            if isinstance(self.l1, float):
                return smooth(parts, *theta)
            return smooth(parts, *theta) + xp.sum(theta[3] * self.l1_terms(parts["coef"], moves))

        theta = (
            self.X, self.y, self.weights, xp.asarray(self.l1), xp.asarray(self.l2), *self.extra,
        )  # fmt: skip
        found = minimum_of_parts(penalised_objective, start, *theta, free={"coef": moves})
        if held and not self.chosen:
            self.examine_active_set(smooth, found, moves, theta)
        return found

    def l1_terms(self, coef: Array, moves: NumpyData) -> Array:
        """Return abs(coef), whose sum l1 multiplies, or if ``groups`` the norms of the columns of coef.

        moves : mask of the coefficients that are not held at 0; columns without any are left out.
        """
        if not self.groups:
            return xp.abs(coef)
        return xp.sqrt(xp.sum(coef[:, np.flatnonzero(moves[0])] ** 2, axis=0))

    def examine_active_set(
        self, smooth: Callable[..., Any], found: Parts, moves: NumpyData, theta: Sequence[Array]
    ) -> None:
        """Raise NotASolution if a tiny change of the data would make a coefficient zero or nonzero.

        There the fit has a kink, and no derivative.

        smooth : the objective without l1, called as smooth(found, *theta).  found : coef and intercept
        at the minimum.  moves : mask of the coefficients that are not held at 0.
        """
        parts = {name: xp.stop_gradient(value) for name, value in found.items()}
        theta = [xp.stop_gradient(x) for x in theta]
        at_start = {**parts, "coef": xp.zeros_like(parts["coef"])}
        l1 = np.broadcast_to(plain_data(self.l1), moves.shape)
        slopes, largest = (
            np.asarray(xp.grad(lambda x, p=p: smooth({**p, "coef": x}, *theta))(p["coef"]))
            for p in (parts, at_start)
        )
        coef = np.asarray(parts["coef"])
        if self.groups:
            pull = np.broadcast_to(np.sqrt(np.sum(slopes**2, axis=0)), moves.shape)
            leaving = moves & False
        elif self.positive:
            pull, leaving = -slopes, coef < 0
        else:
            pull, leaving = np.abs(slopes), moves & (slopes * coef > 0)
        margin = EDGE * max(
            float(np.max(np.abs(largest), initial=0.0)), float(np.max(l1, initial=0.0))
        )
        self.refuse_kinks("is about to enter", ~moves & (pull > l1 - margin))
        self.refuse_kinks("is about to leave", leaving)

    def refuse_kinks(self, what: str, at: NumpyData) -> None:
        if np.any(at):
            raise implicit.NotASolution(
                f"{self.name}.fit: the coefficient at {np.argwhere(at)[0].tolist()} {what} the active "
                "set, where the fit has a kink, or is too far from its solution to tell: change the "
                f"penalty, or lower tol [at {user_line()}]"
            )


def predictor(parts: Parts, X: Array) -> Array:
    coef = parts["coef"]
    s = xp.matmul(X, xp.matrix_transpose(coef) if coef.ndim == 2 else coef)
    return s + parts["intercept"] if "intercept" in parts else s
