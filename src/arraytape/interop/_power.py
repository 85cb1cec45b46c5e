"""The log-likelihoods of power transformations, as functions of lambda and of the data."""

from __future__ import annotations

import arraytape as xp

from .._array.array import Array


def yeo_johnson(lam: Array, x: Array) -> Array:
    """Yeo and Johnson 2000, "A new family of power transformations", section 3."""
    from scipy import stats

    z = stats.yeojohnson(x, lam)
    own = (lam - 1.0) * xp.sum(xp.sign(x) * xp.log1p(xp.abs(x)))
    return own - 0.5 * x.shape[0] * xp.log(xp.var(z))


def box_cox(lam: Array, x: Array) -> Array:
    """Box and Cox 1964, "An analysis of transformations", section 3."""
    z = xp.special.boxcox(x, lam)
    return (lam - 1.0) * xp.sum(xp.log(x)) - 0.5 * x.shape[0] * xp.log(xp.var(z))
