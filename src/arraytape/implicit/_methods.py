"""The methods of odeint, listed by name."""

from __future__ import annotations

from scipy.integrate import BDF, LSODA, OdeSolver

from ._radau import RADAU
from ._runge_kutta import ADAPTIVE, FIXED


class SteplessMethod:
    """A method of SciPy's, such as BDF, whose steps cannot be repeated on Arrays."""

    adaptive = True

    def __init__(self, solver: type) -> None:
        self.name, self.solver = solver.__name__, solver

    def hint_of(self, solver: OdeSolver) -> None: ...


METHODS = (*ADAPTIVE, RADAU, *FIXED)
# Multistep methods, whose order changes between steps.  Only adjoint='continuous' supports them, because
# it repeats no steps on Arrays.
WITHOUT_STEPS = (SteplessMethod(BDF), SteplessMethod(LSODA))
