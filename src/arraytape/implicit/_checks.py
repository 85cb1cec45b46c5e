"""Checks that a solution must pass before it is differentiated.

``name`` is the public function, for messages, and ``eps`` the machine epsilon of the solution's dtype.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._storage.decompositions import Elimination, libraries
from .._util.blocks import Quiet
from .._util.errors import TapeWarning, stacklevel, user_line

Vector = np.ndarray[Any, Any]


class NotASolution(ArithmeticError):
    """Raised for a solver's result that solves nothing, or is no smooth function of the parameters.

    Examples
    --------
    >>> import arraytape as xp
    >>> def solver(x0, a):
    ...     return x0  # not a solution
    >>> try:
    ...     xp.implicit.root(lambda x, a: x**2 - a, xp.asarray(1.0), xp.asarray(4.0), solver=solver)
    ... except xp.implicit.NotASolution as error:
    ...     print(type(error).__name__)
    NotASolution
    """


class FactoredSystem(NamedTuple):
    """A residual and its Jacobian at a point, with a factorization of the Jacobian.

    The derivative of a solution, and its error, are computed from it.
    inverse : a function that multiplies a vector by the Jacobian's inverse; None for a singular
        Jacobian.
    rcond : the reciprocal condition number of the Jacobian after scaling of its rows and columns.
    """

    residual: Vector
    jacobian: Vector
    inverse: Callable[[Vector], Vector] | None
    rcond: float

    def apply_inverse(self, b: Vector) -> Vector:
        """Return the Jacobian's inverse times b; NaN for a singular Jacobian."""
        return np.full(b.shape, np.nan) if self.inverse is None else self.inverse(b)

    @property
    def newton_correction(self) -> Vector:
        """Return the Newton step at the point: the Jacobian's inverse times the residual.

        Its size estimates the error of the solution.
        """
        return self.apply_inverse(self.residual)


def factor_system(residual: Vector, jacobian: Vector) -> FactoredSystem:
    """Return the residual and the Jacobian with a factorization; the Jacobian may be singular or NaN."""
    if not jacobian.size:
        return FactoredSystem(residual, jacobian, np.copy, 1.0)
    if not np.isfinite(jacobian).all():
        return FactoredSystem(residual, jacobian, None, 0.0)
    with Quiet():
        rows = np.abs(jacobian).max(axis=1)
        scaled = jacobian / rows[:, None]
        columns = np.abs(scaled).max(axis=0)
        scaled = scaled / columns
    inverse, rcond = None, 0.0
    if np.isfinite(scaled).all():  # a row or column of zeros makes NaN
        inverse, rcond = invert_matrix(scaled)
    if inverse is None:
        return FactoredSystem(residual, jacobian, None, 0.0)
    return FactoredSystem(residual, jacobian, lambda b: inverse(b / rows) / columns, rcond)


def invert_matrix(a: Vector) -> tuple[Callable[[Vector], Vector] | None, float]:
    """Return a function that multiplies a vector by a's inverse, and a's reciprocal condition number.

    Return (None, 0.0) if ``a`` is singular.  With SciPy, LU factors and LAPACK's estimate are used.
    """
    if libraries() is None:
        try:
            inverse = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return None, 0.0
        return inverse.__matmul__, float(1.0 / (np.linalg.norm(a, 1) * np.linalg.norm(inverse, 1)))
    known = Elimination(a)
    if known.singular:
        return None, 0.0
    return lambda b: known.solve_system(b[:, None], False)[:, 0], known.reciprocal_condition(a)


def relative_size(step: Vector, v: Vector) -> float:
    """Return the size of a step relative to the point v: max(abs(step)) / max(abs(v)).

    A zero step has the size 0, another step at v = 0 the size infinity.
    """
    size = float(np.max(np.abs(step), initial=0.0))
    whole = float(np.max(np.abs(v), initial=0.0))
    if size == 0.0:
        return 0.0
    return size / whole if whole else np.inf


def check_error(name: str, error: float, tol: float, what: str, way_out: str) -> None:
    """Raise NotASolution if ``error`` exceeds ``tol``; warn (TapeWarning) if it exceeds tol / 100.

    error : the estimated relative error of the solution's derivative.
    what, way_out : the finding and the advice of the message.
    """
    if error <= tol / 100.0:
        return
    message = (
        f"{name}: {what}, and its derivative has a relative error of about {error:.1e} "
        f"[at {user_line()}]; {way_out}"
    )
    if error > tol or error != error:
        raise NotASolution(f"{message}. More than tol={tol:.1e} is refused")
    warnings.warn(message, TapeWarning, stacklevel=stacklevel())


ADVICE = "lower the solver's tolerance, or say polish=True, which adds Newton steps"


def check_finite(name: str, residual: Vector) -> None:
    """Raise NotASolution if elements of the residual at the solution are NaN or infinite."""
    bad = int(np.count_nonzero(~np.isfinite(residual)))
    if bad:
        raise NotASolution(
            f"{name}: {bad} of {residual.size} residuals at the solution are not finite "
            f"[at {user_line()}]; the solver's result lies outside of the function's domain"
        )


def check_condition(
    name: str, found: FactoredSystem, rcond: float | None, eps: float, tol: float
) -> None:
    """Raise NotASolution if the Jacobian is not finite, or its condition is worse than ``rcond``.

    If ``rcond`` is None, the limit is eps / tol, and ``check_error`` warns of a bad condition.
    found : the Jacobian with a factorization.
    tol : the largest relative error of the derivative that is accepted.
    """
    n = len(found.residual)
    if not np.isfinite(found.jacobian).all():
        raise NotASolution(
            f"{name}: the Jacobian of the residual at the solution is not finite [at {user_line()}]; "
            "the solution is not a smooth function of the parameters there"
        )
    least = eps / tol if rcond is None else rcond
    if not found.rcond > least:
        raise NotASolution(
            f"{name}: the Jacobian of the residual, {n} by {n}, is singular at the solution: its "
            f"reciprocal condition number is {found.rcond:.1e}, less than rcond={least:.1e} "
            f"[at {user_line()}]. The solution is then no function of the parameters: there are "
            "others next to it, or it is a double one. Add a penalty or an equation that chooses one"
        )
    if rcond is None:
        what = f"the Jacobian is ill-conditioned (reciprocal condition number {found.rcond:.1e})"
        check_error(
            name, eps / found.rcond, tol, what, "scale the problem, or say rcond= to take it"
        )


def check_minimum(name: str, hessian: Vector, eps: float) -> None:
    """Raise NotASolution if the Hessian has a negative eigenvalue, beyond rounding."""
    values = np.linalg.eigvalsh((hessian + hessian.T) / 2.0)
    if len(values) and values[0] < -(eps**0.5) * np.abs(values).max():
        raise NotASolution(
            f"{name}: what the solver found is no minimum: the Hessian's eigenvalues go from "
            f"{values[0]:.1e} to {values[-1]:.1e} [at {user_line()}]; start elsewhere"
        )
