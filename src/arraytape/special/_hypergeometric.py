"""Hypergeometric functions, differentiable with respect to the argument, not to the parameters."""

from __future__ import annotations

from .._record.plan import Unknown
from ._statement import special

PARAMETER = Unknown(
    "no closed form of the derivative with respect to a hypergeometric parameter is known"
)
PARAMETERS, ARGUMENTS = (0.3, 3.0), (-3.0, 3.0)

special(
    "hyp0f1", "v z", PARAMETER,
    lambda t, v, z, xp: t * xp.special.hyp0f1(v + 1, z) / v,
    domains=[PARAMETERS, ARGUMENTS], complex=True,
    summary="Confluent hypergeometric limit function", source="DLMF 16.3.1",
)  # fmt: skip
special(
    "hyp1f1", "a b x", PARAMETER, PARAMETER,
    lambda t, a, b, x, xp: t * (a / b) * xp.special.hyp1f1(a + 1, b + 1, x),
    domains=[PARAMETERS, PARAMETERS, ARGUMENTS], complex=True,
    summary="Confluent hypergeometric function", source="DLMF 13.3.15",
)  # fmt: skip
special(
    "hyp2f1", "a b c z", PARAMETER, PARAMETER, PARAMETER,
    lambda t, a, b, c, z, xp: t * (a * b / c) * xp.special.hyp2f1(a + 1, b + 1, c + 1, z),
    domains=[PARAMETERS, PARAMETERS, PARAMETERS, (-3.0, 0.9)], complex=True,
    summary="Gauss's hypergeometric function", source="DLMF 15.5.1",
)  # fmt: skip
special(
    "hyperu", "a b x", PARAMETER, PARAMETER,
    lambda t, a, b, x, xp: -t * a * xp.special.hyperu(a + 1, b + 1, x),
    domains=[PARAMETERS, PARAMETERS, (0.2, 4.0)],
    summary="Confluent hypergeometric function U", source="DLMF 13.3.22",
)  # fmt: skip
