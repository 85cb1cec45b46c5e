"""Iterative solution of linear systems: SciPy's conjugate gradients and GMRES."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import user_line
from .._util.imports import import_or_advise
from ._checks import NotASolution, Vector

if TYPE_CHECKING:
    from ._problem import ImplicitProblem

Product = Callable[[Vector], Vector]


def import_scipy(name: str, module: str) -> Any:
    """Import a module of SciPy; if it is missing, raise ImportError with advice.

    name : the function that needs the module, for the message.
    """
    return import_or_advise(
        module, f"{name} needs SciPy here: pip install scipy; or give it a solver of your own"
    )


def solve_iteratively(
    problem: ImplicitProblem, product: Product, b: Vector, preconditioner: Product | None
) -> Vector:
    """Return x with ``product(x) == b``; raise NotASolution if the iteration misses its tolerance.

    product : a function that multiplies a vector by the matrix.
    preconditioner : a function that multiplies about by the matrix's inverse, or None.
    problem : the equation, with the tolerance and the number of iterations.
    """
    n, size = len(b), float(np.max(np.abs(b), initial=0.0))
    if not size:
        return np.zeros(n)
    b = b / size  # because squares of tiny numbers underflow to 0
    linalg = import_scipy(problem.name, "scipy.sparse.linalg")
    operator = linalg.LinearOperator((n, n), matvec=product, dtype=float)
    before = preconditioner and linalg.LinearOperator((n, n), matvec=preconditioner, dtype=float)
    most = problem.maxiter or 10 * n + 50
    keywords: dict[str, Any] = {"rtol": problem.rtol, "atol": 0.0, "M": before}
    if problem.symmetric:
        x, _ = linalg.cg(operator, b, maxiter=most, **keywords)
    else:
        restart = min(n, 100)
        rounds = -(-most // restart)
        x, _ = linalg.gmres(operator, b, restart=restart, maxiter=rounds, **keywords)
    left = float(np.linalg.norm(product(x) - b) / np.linalg.norm(b))
    if not left <= max(10.0 * problem.rtol, 1e-14):
        method = "conjugate gradients" if problem.symmetric else "GMRES"
        raise NotASolution(
            f"{problem.name}: {method} stopped at a relative residual of {left:.1e} after at most "
            f"{most} iterations, above rtol={problem.rtol:.1e}, for {n} unknowns [at {user_line()}]; "
            "give a preconditioner=, more iterations by maxiter=, or a larger rtol="
        )
    return np.asarray(x) * size
