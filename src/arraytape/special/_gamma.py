"""The gamma function and its relatives."""

from __future__ import annotations

from ._statement import POSITIVE, special

digamma = special(
    "digamma", "x", lambda t, x, xp: t * xp.special.polygamma(1, x), complex=True,
    summary="The logarithmic derivative of the gamma function", source="DLMF 5.2.2",
)  # fmt: skip
gammaln = special(
    "gammaln", "x", lambda t, x, xp: t * xp.special.digamma(x),
    summary="The logarithm of the absolute value of the gamma function", source="DLMF 5.2.2",
)  # fmt: skip
polygamma = special(
    "polygamma", "n x", None, lambda t, n, x, xp: t * xp.special.polygamma(n + 1, x),
    domains=[(0, 4), POSITIVE], integers="n",
    summary="The n-th derivative of the digamma function", source="DLMF 5.15",
)  # fmt: skip
