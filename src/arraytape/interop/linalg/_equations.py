"""Matrix equations of scipy.linalg: each is linear in its unknown, and so is its transpose's."""

from __future__ import annotations

from typing import Any

from ..._record.plan import Later
from ...ops._factorisations import adjoint, symmetric
from .._recorded import recorded_function


def sylvester_rule(g: Any, a: Any, b: Any, y: Any, xp: Any) -> Any:
    """with a^H z + z b^H = g, -z y^H goes back to a, -y^H z to b, and z to q"""
    z = sylvester_op(adjoint(a, xp), adjoint(b, xp), g)
    return Later(lambda: -(z @ adjoint(y, xp))), Later(lambda: -(adjoint(y, xp) @ z)), z


sylvester_op = recorded_function(
    "scipy.linalg.solve_sylvester", arrays=["a", "b", "q"], joint=sylvester_rule, cores=[2, 2, 2]
)


def lyapunov_rule(g: Any, a: Any, y: Any, xp: Any) -> Any:
    """with a^H z + z a = g, -(z y^H + z^H y) goes back to a, and z to q"""
    z = lyapunov_op(adjoint(a, xp), g)
    return Later(lambda: -(z @ adjoint(y, xp) + adjoint(z, xp) @ y)), z


lyapunov_op = recorded_function(
    "scipy.linalg.solve_continuous_lyapunov", arrays=["a", "q"], joint=lyapunov_rule, cores=[2, 2]
)


def discrete_rule(g: Any, a: Any, y: Any, method: Any, xp: Any) -> Any:
    """with z - a^H z a = g, z a y^H + z^H a y goes back to a, and z to q"""
    z = discrete_op(adjoint(a, xp), g, method=method)
    return Later(lambda: z @ a @ adjoint(y, xp) + adjoint(z, xp) @ a @ y), z


discrete_op = recorded_function(
    "scipy.linalg.solve_discrete_lyapunov", arrays=["a", "q"], options=["method"],
    joint=discrete_rule, cores=[2, 2],
)  # fmt: skip


# --- Riccati equations ------------------------------------------------------------------------------
def continuous_are_rule(g: Any, a: Any, b: Any, q: Any, r: Any, y: Any, xp: Any) -> Any:
    """with the closed loop c = a - b r^-1 b^H y and c z + z c^H = g: to a goes -2 y z, to q -z, and
    through b r^-1 b^H, to which y z y goes, to b and r
    """
    gain = xp.linalg.solve(r, adjoint(b, xp))  # r^-1 b^H
    z = symmetric(lyapunov_op(a - b @ gain @ y, symmetric(g, xp)), xp)

    def through_gain() -> Any:
        return y @ z @ y @ adjoint(gain, xp)

    return (
        Later(lambda: -2.0 * (y @ z)),
        Later(lambda: 2.0 * through_gain()),
        -z,
        Later(lambda: -(gain @ through_gain())),
    )


recorded_function(
    "scipy.linalg.solve_continuous_are", arrays=["a", "b", "q", "r"], options=["balanced"],
    joint=continuous_are_rule,
)  # fmt: skip


def discrete_are_rule(g: Any, a: Any, b: Any, q: Any, r: Any, y: Any, xp: Any) -> Any:
    """with the gain k, the closed loop c = a - b k and z - c z c^H = g: 2 y c z goes to a,
    -2 y c z k^H to b, z to q, k z k^H to r
    """
    gain = xp.linalg.solve(r + adjoint(b, xp) @ y @ b, adjoint(b, xp) @ y @ a)
    closed = a - b @ gain
    z = symmetric(discrete_op(closed, symmetric(g, xp), method=None), xp)
    back = adjoint(gain, xp)

    def to_state_matrix() -> Any:
        return 2.0 * (y @ closed @ z)

    return (
        Later(to_state_matrix),
        Later(lambda: -(to_state_matrix() @ back)),
        z,
        Later(lambda: gain @ z @ back),
    )


recorded_function(
    "scipy.linalg.solve_discrete_are", arrays=["a", "b", "q", "r"], options=["balanced"],
    joint=discrete_are_rule,
)  # fmt: skip
