"""Differentiate the solutions of Sylvester, Lyapunov and Riccati equations by scipy.linalg.

SciPy solves them by LAPACK, on NumPy data.  The cotangents are computed from a solution z of the adjoint
linear equation, with the cotangent g of the solution y as its right-hand side.
"""

from __future__ import annotations

from typing import Any

from ..._record.plan import Lazy
from ..._util.array_types import Namespace, RawArray
from ...ops._factorisations import adjoint, symmetric
from .._recorded import recorded_function


def sylvester_rule(g: RawArray, a: RawArray, b: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of a, b and q for Sylvester's equation, a y + y b = q, with the solution y.

    They are -z y^H, -y^H z and z, where z solves a^H z + z b^H = g, and g is the cotangent of y.
    """
    z = sylvester_op(adjoint(a, xp), adjoint(b, xp), g)
    return Lazy(lambda: -(z @ adjoint(y, xp))), Lazy(lambda: -(adjoint(y, xp) @ z)), z


sylvester_op = recorded_function(
    "scipy.linalg.solve_sylvester", arrays=["a", "b", "q"], joint=sylvester_rule, cores=[2, 2, 2]
)


def lyapunov_rule(g: RawArray, a: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of a and q for Lyapunov's equation, a y + y a^H = q, with the solution y.

    They are -(z y^H + z^H y) and z, where z solves a^H z + z a = g, and g is the cotangent of y.
    """
    z = lyapunov_op(adjoint(a, xp), g)
    return Lazy(lambda: -(z @ adjoint(y, xp) + adjoint(z, xp) @ y)), z


lyapunov_op = recorded_function(
    "scipy.linalg.solve_continuous_lyapunov", arrays=["a", "q"], joint=lyapunov_rule, cores=[2, 2]
)


def discrete_rule(g: RawArray, a: RawArray, y: RawArray, method: str | None, xp: Namespace) -> Any:
    """Return the cotangents of a and q for the discrete Lyapunov equation, y - a y a^H = q.

    They are z a y^H + z^H a y and z, where z solves z - a^H z a = g, and g is the cotangent of y.
    """
    z = discrete_op(adjoint(a, xp), g, method=method)
    return Lazy(lambda: z @ a @ adjoint(y, xp) + adjoint(z, xp) @ a @ y), z


discrete_op = recorded_function(
    "scipy.linalg.solve_discrete_lyapunov", arrays=["a", "q"], options=["method"],
    joint=discrete_rule, cores=[2, 2],
)  # fmt: skip


# --- Riccati equations ------------------------------------------------------------------------------
def continuous_are_rule(
    g: RawArray, a: RawArray, b: RawArray, q: RawArray, r: RawArray, y: RawArray, xp: Namespace
) -> Any:
    """Return the cotangents of a, b, q and r, where y solves the continuous Riccati equation.

    They are -2 y z, 2 h, -z and -k h, with k = r^-1 b^H and h = y z y k^H.  z solves c z + z c^H = g
    for c = a - b k y, the matrix of the closed loop.  g is the cotangent of y.
    """
    gain = xp.linalg.solve(r, adjoint(b, xp))  # r^-1 b^H
    z = symmetric(lyapunov_op(a - b @ gain @ y, symmetric(g, xp)), xp)

    def through_gain() -> Any:
        return y @ z @ y @ adjoint(gain, xp)

    return (
        Lazy(lambda: -2.0 * (y @ z)), Lazy(lambda: 2.0 * through_gain()), -z,
        Lazy(lambda: -(gain @ through_gain())),
    )  # fmt: skip


recorded_function(
    "scipy.linalg.solve_continuous_are", arrays=["a", "b", "q", "r"], options=["balanced"],
    joint=continuous_are_rule,
)  # fmt: skip


def discrete_are_rule(
    g: RawArray, a: RawArray, b: RawArray, q: RawArray, r: RawArray, y: RawArray, xp: Namespace
) -> Any:
    """Return the cotangents of a, b, q and r, where y solves the discrete Riccati equation.

    They are 2 y c z, -2 y c z k^H, z and k z k^H.  Here k is the gain (r + b^H y b)^-1 b^H y a, and
    c = a - b k is the closed loop.  z solves z - c z c^H = g, where g is the cotangent of y.
    """
    gain = xp.linalg.solve(r + adjoint(b, xp) @ y @ b, adjoint(b, xp) @ y @ a)
    closed = a - b @ gain
    z = symmetric(discrete_op(closed, symmetric(g, xp), method=None), xp)
    back = adjoint(gain, xp)

    def to_state_matrix() -> Any:
        return 2.0 * (y @ closed @ z)

    return (
        Lazy(to_state_matrix), Lazy(lambda: -(to_state_matrix() @ back)), z,
        Lazy(lambda: gain @ z @ back),
    )  # fmt: skip


recorded_function(
    "scipy.linalg.solve_discrete_are", arrays=["a", "b", "q", "r"], options=["balanced"],
    joint=discrete_are_rule,
)  # fmt: skip
