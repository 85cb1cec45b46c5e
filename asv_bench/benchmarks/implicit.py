"""The derivative of a known root, compared with a hand-written implicit derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated
from .workloads import pair, step

Raw = np.ndarray[Any, Any]


class Equilibrium:
    """The gradient with respect to W and b of a loss of the x that solves ``x = tanh(W x + b)``.

    The solution x is known.  Source: Bai, Kolter and Koltun 2019, "Deep equilibrium models", theorem 1.
    """

    def __init__(self, size: int) -> None:
        random = np.random.default_rng(0)
        W, b = random.normal(size=(size, size)) * 0.4 / np.sqrt(size), random.normal(size=size)
        self.parameters = [W, b]
        self.x = np.zeros(size)
        for _ in range(200):
            self.x = np.tanh(W @ self.x + b)
        self.runs = 0

    def residual(self, x: Any, W: Any, b: Any) -> Any:
        self.runs += 1
        return x - xp.tanh(W @ x + b)

    def f(self, xp: Any, W: Any, b: Any) -> Any:
        given = xp.implicit.as_given
        return xp.sum(xp.implicit.root(self.residual, self.x, W, b, solver=given) ** 2)

    def hand(self, W: Raw, b: Raw) -> list[Raw]:
        x = self.x
        slope = 1.0 - np.tanh(W @ x + b) ** 2
        J = np.eye(x.size) - slope[:, None] * W
        _ = np.sum(x**2)
        weights = np.linalg.solve(J.T, 2.0 * x) * slope
        return [np.outer(weights, x), weights]


@benchmark("x hand", budget={20: 150.0, 200: 25.0}, size=[20, 200])
def track_root(size: int) -> float:
    """Measure value, checks and gradient, divided by a hand-written gradient, which has no checks."""
    ours, theirs = pair(Equilibrium(size))
    return ratio(repeated(ours), repeated(theirs))


@benchmark("runs", budget=7, exact=True)
def track_runs_of_the_function() -> int:
    """Count the calls of the residual function for one value, with its checks, and one gradient."""
    work = Equilibrium(5)
    parameters = [xp.asarray(p) for p in work.parameters]
    step(work, parameters)
    work.runs = 0
    step(work, parameters)
    return work.runs
