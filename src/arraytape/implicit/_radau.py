"""Steps of the implicit method Radau IIA of order 5 on Arrays, by ``implicit.root``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import Radau

import arraytape as xp

from .._array.array import Array
from ._field import Arguments, Data, Field, Time
from ._functions import as_given, root
from ._runge_kutta import ExplicitMethod, Slope

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver


class Collocation(ExplicitMethod):
    """An implicit method: y in a step is a polynomial of degree 3 with the slope f at three points.

    A stage is the difference between the polynomial at one of the points and y at the step's begin.
    Source: Hairer, Wanner, "Solving Ordinary Differential Equations II", sections IV.5 and IV.8.
    """

    def __init__(self) -> None:
        self.name, self.solver = "Radau", Radau
        self.C = np.array([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
        powers = self.C[:, None] ** np.arange(4)
        # The integrals, from 0 to each point of C, of the polynomials that are 1 at one point and 0 at
        # the two others.
        self.A = powers[:, 1:] / np.arange(1, 4) @ np.linalg.inv(powers[:, :3])
        # P maps values at the points to the coefficients of the cubic through them that is 0 at 0.
        self.P = np.linalg.inv(powers[:, 1:])

    def hint_of(self, solver: OdeSolver) -> Data | None:
        """Return the stages of SciPy's step, from which the repeated step starts; None for an empty y.

        solver : SciPy's solver after a step.
        """
        return None if solver.Z is None else solver.Z.copy()

    def take_step(
        self, field: Field, t: Time, y: Array, h: Time, k: Slope, args: Arguments,
        hint: Data | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the new state, the stages, and the exact new state.

        Newton steps from the hint lead to the exact root of the stages' equations.  The first two
        results have the hint's values and the root's derivatives.
        hint : the stages as SciPy computed them, up to its tolerance.
        """
        if hint is None:  # y is empty
            return y, [y, y, y], y
        exact = root(
            collocation_equations(self, field), hint, y, t, h, args, solver=as_given, polish=True
        )
        known = field.as_state_array(hint, y.dtype)
        Z = xp.grad_pass_through(lambda exact: known)(exact)
        return y + Z[2, :], [Z[i, :] for i in range(3)], y + exact[2, :]

    def end_stages(
        self, field: Field, t: Time, y: Array, h: Time, new: Array, stages: list[Array],
        args: Arguments,
    ) -> tuple[Any, list[Array]]:  # fmt: skip
        """Return (None, stages): the curve needs neither the slope at the end nor more stages."""
        return None, stages

    def curve(self, y: Array, new: Array, h: Time, stages: list[Array]) -> Array:
        found: Array = xp.matmul(xp.asarray(self.P, device=y.device), xp.stack(stages))
        return found


def collocation_equations(method: Collocation, field: Field) -> Any:
    """Return the residual of the equations that the stages Z solve, as a function of Z."""

    def collocation_residual(Z: Array, y: Array, t: Time, h: Time, args: Arguments) -> Array:
        slopes = [
            field(t + float(c) * h, y + Z[i, :], args) for i, c in enumerate(method.C)
        ]  # fmt: skip
        found: Array = Z - h * xp.matmul(xp.asarray(method.A, device=y.device), xp.stack(slopes))
        return found

    return collocation_residual


RADAU = Collocation()
