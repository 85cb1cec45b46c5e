"""A Gaussian process: its gradient compared with hand-written NumPy, and counts of factorizations."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, codes, ratio, repeated
from .workloads import pair, step

Raw = np.ndarray[Any, Any]
FACTORS = "decomposed"  # the function that factors a matrix for rules
FORMS = ["cholesky and solve", "slogdet and solve", "cholesky alone"]


class GaussianProcess:
    """The negative log marginal likelihood as a function of amplitude, length scale and noise.

    Source: Rasmussen and Williams 2006, "Gaussian processes for machine learning", eq. 2.30 and 5.9.
    """

    def __init__(self, size: int, form: str) -> None:
        random = np.random.default_rng(0)
        points = random.standard_normal((size, 3))
        self.squares = ((points[:, None] - points[None]) ** 2).sum(-1)
        self.y, self.eye, self.form = random.standard_normal(size), np.eye(size), form
        self.parameters = [np.asarray(0.3), np.asarray(0.1), np.asarray(0.2)]
        self.arrays = [xp.asarray(x) for x in (self.squares, self.y, self.eye)]

    def f(self, xp: Any, length: Any, amplitude: Any, noise: Any) -> Any:
        squares, y, eye = self.arrays
        K = xp.exp(amplitude) * xp.exp(-0.5 * squares * xp.exp(-2.0 * length)) + xp.exp(noise) * eye
        if self.form == FORMS[1]:
            half_log_det = 0.5 * xp.linalg.slogdet(K).logabsdet
        else:
            lower = xp.linalg.cholesky(K)
            half_log_det = xp.sum(xp.log(xp.linalg.diagonal(lower)))
        if self.form == FORMS[2]:
            white = xp.linalg.solve(lower, y)
            return 0.5 * xp.sum(white * white) + half_log_det
        return 0.5 * xp.sum(y * xp.linalg.solve(K, y)) + half_log_det

    def hand(self, length: Raw, amplitude: Raw, noise: Raw) -> list[Raw]:
        kernel = np.exp(amplitude) * np.exp(-0.5 * np.exp(-2.0 * length) * self.squares)
        K = kernel + np.exp(noise) * self.eye
        weights = np.linalg.solve(K, self.y)
        _ = 0.5 * self.y @ weights + np.log(np.diagonal(np.linalg.cholesky(K))).sum()
        g = np.linalg.inv(K)
        g -= np.outer(weights, weights)
        g *= 0.5
        trace = np.trace(g) * np.exp(noise)
        g *= kernel
        return [np.vdot(g, self.squares) * np.exp(-2.0 * length), g.sum(), trace]


@benchmark("x hand", budget={100: 2.2, 400: 1.5}, size=[100, 400], form=FORMS)
def track_gaussian_process(size: int, form: str) -> float:
    """Measure eager value and gradient, divided by hand-written ones."""
    ours, theirs = pair(GaussianProcess(size, form))
    return ratio(repeated(ours), repeated(theirs))


@benchmark("factorisations", budget=1, exact=True, form=FORMS)
def track_eliminations_of_rules(form: str) -> int:
    """Count the factorizations that rules compute in the backward pass of one step."""
    work = GaussianProcess(100, form)
    parameters = [xp.asarray(p) for p in work.parameters]
    return sum(code.co_name == FACTORS for code in codes(lambda: step(work, parameters)))
