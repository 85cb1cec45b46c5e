"""Default solvers of ``root``, ``minimum`` and the others: SciPy's methods, then Newton steps.

The Newton steps go on down to rounding errors, so that derivatives are as exact as the solution.
``numbers`` is the equation on NumPy vectors; for a fixed point its residual is x minus the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._util.blocks import Quiet
from .._util.errors import user_line
from ._checks import NotASolution, Vector, relative_size
from ._iterative import import_scipy
from ._problem import NumpyProblem

SLOW = 100  # iterations of a fixed point's function before Newton's method takes over


def find_root(numbers: NumpyProblem, start: Vector) -> Vector:
    """Return a root, found by Powell's hybrid method with the exact Jacobian.

    Without SciPy, or if the problem is matrix-free, damped Newton steps are taken instead.
    """
    if numbers.is_solution(start):
        return start
    if numbers.problem.matrix_free:
        return damped_newton(numbers, start)
    try:
        optimize = import_scipy(numbers.problem.name, "scipy.optimize")
    except ImportError:
        return damped_newton(numbers, start)
    found = optimize.root(numbers.residual_at, start, jac=numbers.jacobian_at, tol=1e-13)
    return numbers.newton_steps(np.asarray(found.x))


def damped_newton(numbers: NumpyProblem, v: Vector, most: int = 200) -> Vector:
    """Take at most ``most`` Newton steps from v, each halved until it makes the residual smaller.

    Source: Kelley 1995, "Iterative methods for linear and nonlinear equations", sec. 8.1.
    """
    r = numbers.residual_at(v)
    for _ in range(most):
        before = np.linalg.norm(r)
        step = numbers.newton_step(v, r)
        if not before or not np.isfinite(step).all() or relative_size(step, v) < 1e-3:
            break
        for halving in range(30):
            there = v - step / 2.0**halving
            r = numbers.residual_at(there)
            if np.linalg.norm(r) < (1.0 - 1e-4 / 2.0**halving) * before:
                break
        v = there
    return numbers.newton_steps(v)


def find_minimum(numbers: NumpyProblem, start: Vector) -> Vector:
    """Return a minimum, found by a trust-region Newton method with the Hessian or its products."""
    if numbers.is_solution(start):
        return start
    optimize = import_scipy(numbers.problem.name, "scipy.optimize")
    options: dict[str, Any] = {"hess": numbers.jacobian_at, "method": "trust-exact"}
    if numbers.problem.matrix_free:
        options = {"hessp": hessian_products(numbers), "method": "trust-ncg"}
    with Quiet():
        found = optimize.minimize(
            numbers.value_at, start, jac=numbers.residual_at, options={"gtol": 1e-8}, **options
        )
    return numbers.newton_steps(np.asarray(found.x))


def hessian_products(numbers: NumpyProblem) -> Callable[[Vector, Vector], Vector]:
    """Return a function (v, w) that multiplies the Hessian at v by w.

    For consecutive products at one point v, the problem's function is recorded once.
    """
    last: list[Any] = [None, None]

    def hessian_product(v: Vector, w: Vector) -> Vector:
        if last[0] is None or not np.array_equal(last[0], v):
            last[:] = v.copy(), numbers.products(v)[0]
        found: Vector = last[1](w)
        return found

    return hessian_product


def find_fixed_point(numbers: NumpyProblem, start: Vector) -> Vector:
    """Return a fixed point, by iteration of the function and then by Newton steps.

    Newton steps begin near the fixed point, at the latest after ``SLOW`` iterations.
    """
    if numbers.is_solution(start):
        return start
    v = start
    for _ in range(SLOW):
        step = numbers.residual_at(v)
        if not np.isfinite(step).all():
            raise NotASolution(
                f"{numbers.problem.name}: the iteration reaches values that are not finite "
                f"[at {user_line()}]; start elsewhere, or give a solver"
            )
        if relative_size(step, v) < 1e-4:
            return numbers.newton_steps(v - step)
        v = v - step
    return damped_newton(numbers, v)


def find_linear(numbers: NumpyProblem, start: Vector) -> Vector:
    """Return the solution of a linear problem, by one Newton step from ``start``."""
    r = numbers.residual_at(start)
    if not r.any():
        return start
    return start - numbers.newton_step(start, r)
