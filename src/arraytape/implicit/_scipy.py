"""``run_scipy``, a call of SciPy's solve_ivp that also returns the accepted steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .._util.errors import user_line
from ._field import for_solver
from ._steps import OdeProblem


def run_scipy(problem: OdeProblem) -> tuple[Any, list[float], list[Any]]:
    """Return ``solve_ivp``'s result, the times of all accepted states, and a hint for each step.

    A hint helps to repeat the step on Arrays: SciPy's solution of Radau's equations, else None.
    problem : the checked arguments of odeint.
    """
    nodes, found = [problem.span[0]], []

    class NotingSolver(problem.method.solver):  # type: ignore[misc, name-defined]
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            if np.isnan(getattr(self, "h_abs", 0.0)):  # SciPy would never end
                raise ValueError(
                    f"odeint: f is not finite at t = {self.t} [at {user_line()}], so that there is "
                    "no first step"
                )

        def step(self) -> Any:
            message = super().step()
            if self.status != "failed":
                nodes.append(float(self.t))
                found.append(problem.method.hint_of(self))
                problem.notify(nodes[-1], self.y)
            return message

    options = dict(problem.options)
    if callable(options.get("jac")):
        options["jac"] = problem.field.jacobian_of_data(options["jac"], problem.args)
    start = for_solver(problem.y0, "y0")
    result = solve_ivp(
        problem.field.of_data(problem.args), problem.span, start, NotingSolver, problem.at,
        problem.dense, **options,
    )  # fmt: skip
    return result, nodes, found
