"""The methods of odeint, listed by name."""

from __future__ import annotations

from scipy.integrate import BDF, LSODA, OdeSolver

from ._radau import RADAU
from ._runge_kutta import ADAPTIVE, FIXED


class SteplessMethod:
    """A method of SciPy's whose steps this package cannot take on Arrays."""

    adaptive = True

    def __init__(self, solver: type) -> None:
        self.name, self.solver = solver.__name__, solver

    def hint_of(self, solver: OdeSolver) -> None: ...


METHODS = (*ADAPTIVE, RADAU, *FIXED)
# Multistep methods, whose order changes between steps; only adjoint='continuous' has them.
WITHOUT_STEPS = (SteplessMethod(BDF), SteplessMethod(LSODA))
