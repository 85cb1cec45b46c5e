"""Steps of the implicit method Radau IIA of order 5 on Arrays, each the root of its equations."""

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
    """A method whose step is a polynomial of degree 3 that has f's slope at three points.

    Source: Hairer, Wanner, "Solving Ordinary Differential Equations II", sections IV.5 and IV.8.
    """

    def __init__(self) -> None:
        self.name, self.solver = "Radau", Radau
        self.C = np.array([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
        powers = self.C[:, None] ** np.arange(4)
        # Integrals from 0 to each point of the polynomials that are 1 at one point, 0 at the others.
        self.A = powers[:, 1:] / np.arange(1, 4) @ np.linalg.inv(powers[:, :3])
        # A matrix from values at the points to the coefficients of the polynomial that is 0 at 0.
        self.P = np.linalg.inv(powers[:, 1:])

    def hint_of(self, solver: OdeSolver) -> Data | None:
        """Return the result of SciPy's iteration for the last step."""
        return None if solver.Z is None else solver.Z.copy()

    def take_step(
        self, field: Field, t: Time, y: Array, h: Time, k: Slope, args: Arguments,
        hint: Data | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the state after one step, the differences to y at the three points, the exact state.

        Newton steps lead from SciPy's iterate to the root, since SciPy stops at its tolerance.  The
        differences have the derivatives of the root and SciPy's values, bit for bit.
        """
        if hint is None:  # there is nothing in y
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
        """Return no slope, and the stages as they are: the curve is made of them alone."""
        return None, stages

    def curve(self, y: Array, new: Array, h: Time, stages: list[Array]) -> Array:
        found: Array = xp.matmul(xp.asarray(self.P, device=y.device), xp.stack(stages))
        return found


def collocation_equations(method: Collocation, field: Field) -> Any:
    """Return the residual of a step's equations as a function of the differences."""

    def collocation_residual(Z: Array, y: Array, t: Time, h: Time, args: Arguments) -> Array:
        slopes = [
            field(t + float(c) * h, y + Z[i, :], args) for i, c in enumerate(method.C)
        ]  # fmt: skip
        found: Array = Z - h * xp.matmul(xp.asarray(method.A, device=y.device), xp.stack(slopes))
        return found

    return collocation_residual


RADAU = Collocation()
