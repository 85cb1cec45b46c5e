"""Explicit Runge-Kutta steps on Arrays, with the coefficients of SciPy's classes.

The curve of a step is the polynomial that interpolates the state within the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

import arraytape as xp

from .._array.array import Array
from ._field import Arguments, Data, Field, Time

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

Slope = Array | None


class RungeKuttaTable(Protocol):
    """A class with the coefficients of a method, under the names of SciPy's attributes."""

    A: Data
    B: Data
    C: Data


class ExplicitMethod:
    """An explicit Runge-Kutta method, which computes steps and their curves (polynomials within).

    Parameters
    ----------
    table
        A class with the coefficients A, B, C (and P for the curve) under SciPy's names.
    """

    adaptive = True

    def __init__(self, name: str, table: RungeKuttaTable) -> None:
        self.name = name
        self.solver: Any = table
        self.A, self.B, self.C = table.A, table.B, table.C

    def hint_of(self, solver: OdeSolver) -> Any:
        """Return None: a step on Arrays needs no result of SciPy's step."""
        return None

    def take_step(
        self, field: Field, t: Time, y: Array, h: Time, k: Slope, args: Arguments,
        hint: Data | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the new state, the stages (slopes) of the step, and the new state again.

        The third result differs for Radau alone: it is the state on Arrays, and the first is SciPy's.
        Source: Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.4.
        h : the length of the step.
        k : the slope at (t, y), or None to compute it.
        args : further arguments of f.
        """
        stages = [field(t, y, args) if k is None else k]
        for s, c in enumerate(self.C[1:], start=1):
            at = y + weighted_stages(self.A[s, :s], stages) * h
            stages.append(field(t + float(c) * h, at, args))
        new = y + h * weighted_stages(self.B, stages)
        return new, stages, new

    def end_stages(
        self, field: Field, t: Time, y: Array, h: Time, new: Array, stages: list[Array],
        args: Arguments,
    ) -> tuple[Array, list[Array]]:  # fmt: skip
        """Return the slope at the end of a step, and the stages for the polynomial within.

        new : the state at the end of the step, at t + h.
        stages : the slopes of the step, from ``take_step``.
        """
        last = field(t + h, new, args)
        return last, [*stages, last]

    def curve(self, y: Array, new: Array, h: Time, stages: list[Array]) -> Array:
        """Return the coefficients of the polynomial that interpolates the states within a step.

        The result has a new first axis for the p coefficients, which ``curve_value`` reads.
        new : the state at the end of the step, which begins at y and has the length h.
        stages : the slopes of the step.
        """
        found: Array = h * weighted_stages(self.solver.P.T, stages)
        return found

    def curve_value(self, y: Array, curve: Array, x: Array) -> Array:
        """Return the state at x, a number in [0, 1] that measures the time within the step.

        y, curve : the state at the start of the step, of shape (..., n), and the coefficients of its
        polynomial, of shape (p, ..., n).  x has the shape (..., 1).
        """
        total = curve[-1, ...] * x
        for i in range(curve.shape[0] - 2, -1, -1):
            total = (total + curve[i, ...]) * x
        found: Array = y + total
        return found


class DormandPrince8(ExplicitMethod):
    """The method DOP853, whose curve needs three more stages (slopes)."""

    def end_stages(
        self, field: Field, t: Time, y: Array, h: Time, new: Array, stages: list[Array],
        args: Arguments,
    ) -> tuple[Array, list[Array]]:  # fmt: skip
        last, stages = super().end_stages(field, t, y, h, new, stages, args)
        table = self.solver
        for a, c in zip(table.A_EXTRA, table.C_EXTRA, strict=True):
            at = y + weighted_stages(a[: len(stages)], stages) * h
            stages.append(field(t + float(c) * h, at, args))
        return last, stages

    def curve(self, y: Array, new: Array, h: Time, stages: list[Array]) -> Array:
        change, first, last = new - y, h * stages[0], h * stages[self.solver.n_stages]
        rest = h * weighted_stages(self.solver.D, stages)
        start = [change, first - change, 2.0 * change - (last + first)]
        return xp.concat([xp.stack(start), rest])

    def curve_value(self, y: Array, curve: Array, x: Array) -> Array:
        """Return the state at x, a number in [0, 1] that measures the time within the step.

        Source: Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.6.
        """
        total = xp.zeros_like(y)
        for i in range(curve.shape[0] - 1, -1, -1):
            total = (total + curve[i, ...]) * (x if i % 2 == 0 else 1.0 - x)
        return y + total


class FixedStep(ExplicitMethod):
    """A method that takes equal steps, not longer than ``max_step``.

    Its curve is Hermite's cubic, which has the states and slopes at both ends of the step.
    """

    adaptive = False

    def curve(self, y: Array, new: Array, h: Time, stages: list[Array]) -> Array:
        change, first, last = new - y, h * stages[0], h * stages[-1]
        return xp.stack([first, 3.0 * change - 2.0 * first - last, first + last - 2.0 * change])


def weighted_stages(weights: Data, stages: list[Array]) -> Array:
    """Return the weighted sum of a step's s stages (slopes), or p sums for weights of shape (p, s).

    The terms are added in SciPy's order, so that the bits agree.
    """
    stacked, table = xp.stack(stages), stages[0]
    factors = xp.asarray(weights, dtype=np.zeros((), table.dtype).real.dtype, device=table.device)
    if weights.ndim == 1:
        return xp.matmul(xp.matrix_transpose(stacked), factors)
    return xp.matmul(factors, stacked)


class Rk4:
    """The classical method of order 4 (Kutta 1901)."""

    A = np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]])
    B = np.array([1.0, 2, 2, 1]) / 6
    C = np.array([0.0, 0.5, 0.5, 1])


class Euler:
    """Euler's method, of order 1."""

    A, B, C = np.zeros((1, 1)), np.ones(1), np.zeros(1)


ADAPTIVE = (
    ExplicitMethod("RK23", RK23),
    ExplicitMethod("RK45", RK45),
    DormandPrince8("DOP853", DOP853),
)
FIXED = (FixedStep("RK4", Rk4), FixedStep("Euler", Euler))
