"""The power transformations of Box and Cox, and of Yeo and Johnson, and their log-likelihoods.

They are differentiable with respect to lambda and the data.  SciPy's code has a branch for lambda 0 (and
for 2).  The code of that branch does not contain lambda, so its derivative with respect to lambda is
missing.
"""

from __future__ import annotations

import arraytape as xp

from .._array.array import Array


def yeo_johnson_transform(x: Array, lam: Array) -> Array:
    """Return the power transform of Yeo and Johnson of the data x, for the exponent ``lam``.

    Unlike SciPy's code, it has derivatives for all lambda, also for 0 and 2.  Source: Yeo and Johnson
    2000, "A new family of power transformations", equation 2.1.
    """
    above = x >= 0.0
    up, down = xp.where(above, x, 0.0), xp.where(above, 0.0, -x)
    return xp.where(above, xp.special.boxcox1p(up, lam), -xp.special.boxcox1p(down, 2.0 - lam))


def yeo_johnson(lam: Array, x: Array, axis: int | None = 0, keepdims: bool = False) -> Array:
    """Return the log-likelihood of the exponent ``lam`` for the data x along an axis.

    Source: Yeo and Johnson 2000, "A new family of power transformations", section 3.
    """
    return likelihood(
        lam, yeo_johnson_transform(x, lam), xp.sign(x) * xp.log1p(xp.abs(x)), axis, keepdims
    )


def box_cox(lam: Array, x: Array, axis: int | None = 0, keepdims: bool = False) -> Array:
    """Return the log-likelihood of the exponent ``lam`` for the data x along an axis.

    Source: Box and Cox 1964, "An analysis of transformations", section 3.
    """
    return likelihood(lam, xp.special.boxcox(x, lam), xp.log(x), axis, keepdims)


def likelihood(lam: Array, z: Array, logs: Array, axis: int | None, keepdims: bool) -> Array:
    """Return the log-likelihood of an exponent, if the transformed data z are normally distributed.

    lam : the exponent.  logs : for each element the logarithm of the transformation's derivative,
    divided by lam - 1.
    """
    count = z.size if axis is None else z.shape[axis]
    own = (lam - 1.0) * xp.sum(logs, axis=axis, keepdims=keepdims)
    return own - 0.5 * count * xp.log(xp.var(z, axis=axis, keepdims=keepdims))
