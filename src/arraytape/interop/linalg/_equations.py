"""Matrix equations of scipy.linalg: each is linear in its unknown, and so is its transpose's."""

from __future__ import annotations

from typing import Any

from ...ops._factorisations import adjoint
from .._recorded import recorded


def sylvester_rule(g: Any, a: Any, b: Any, y: Any, xp: Any) -> Any:
    """with a^H z + z b^H = g, -z y^H goes back to a, -y^H z to b, and z to q"""
    z = sylvester_op(adjoint(a, xp), adjoint(b, xp), g)
    return -(z @ adjoint(y, xp)), -(adjoint(y, xp) @ z), z


sylvester_op = recorded(
    "scipy.linalg.solve_sylvester", arrays=["a", "b", "q"], joint=sylvester_rule, cores=[2, 2, 2]
)


def lyapunov_rule(g: Any, a: Any, y: Any, xp: Any) -> Any:
    """with a^H z + z a = g, -(z y^H + z^H y) goes back to a, and z to q"""
    z = lyapunov_op(adjoint(a, xp), g)
    return -(z @ adjoint(y, xp) + adjoint(z, xp) @ y), z


lyapunov_op = recorded(
    "scipy.linalg.solve_continuous_lyapunov", arrays=["a", "q"], joint=lyapunov_rule, cores=[2, 2]
)


def discrete_rule(g: Any, a: Any, y: Any, method: Any, xp: Any) -> Any:
    """with z - a^H z a = g, z a y^H + z^H a y goes back to a, and z to q"""
    z = discrete_op(adjoint(a, xp), g, method=method)
    return z @ a @ adjoint(y, xp) + adjoint(z, xp) @ a @ y, z


discrete_op = recorded(
    "scipy.linalg.solve_discrete_lyapunov", arrays=["a", "q"], options=["method"],
    joint=discrete_rule, cores=[2, 2],
)  # fmt: skip
