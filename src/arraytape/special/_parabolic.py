"""Parabolic cylinder functions, differentiable with respect to the argument.

Each function of SciPy returns a value and its derivative.  The derivative of the latter, a second
derivative, comes from the differential equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._record.plan import Unknown
from ._several import special_tuple

ORDER = Unknown(
    "no closed form of the derivative with respect to the order of a parabolic cylinder function is "
    "known"
)
DOMAINS = [(0.2, 4.0), (-3.0, 3.0)]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pbdv": special_tuple(
        "pbdv", "v x",
        {
            "d": [ORDER, lambda t, v, x, xp: t * xp.special.pbdv_dp(v, x)],
            "dp": [ORDER, lambda t, v, x, xp: t * (0.25 * x * x - v - 0.5) * xp.special.pbdv_d(v, x)],
        },
        summary="Parabolic cylinder function D and its derivative", domains=DOMAINS,
        source="DLMF 12.2.4",
    ),
    "pbvv": special_tuple(
        "pbvv", "v x",
        {
            "v": [ORDER, lambda t, v, x, xp: t * xp.special.pbvv_vp(v, x)],
            "vp": [ORDER, lambda t, v, x, xp: t * (0.25 * x * x - v - 0.5) * xp.special.pbvv_v(v, x)],
        },
        summary="Parabolic cylinder function V and its derivative", domains=DOMAINS,
        source="DLMF 12.2.4",
    ),
    "pbwa": special_tuple(
        "pbwa", "a x",
        {
            "w": [ORDER, lambda t, a, x, xp: t * xp.special.pbwa_wp(a, x)],
            "wp": [ORDER, lambda t, a, x, xp: t * (a - 0.25 * x * x) * xp.special.pbwa_w(a, x)],
        },
        summary="Parabolic cylinder function W and its derivative", domains=DOMAINS,
        source="DLMF 12.14.2",
    ),
}  # fmt: skip
