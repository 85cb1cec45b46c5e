"""Let scipy.stats' multivariate distributions work on Arrays: SciPy's code, with a rule for ``_PSD``.

``_PSD`` computes U with U U' = inv(S) from the eigenvectors of a covariance matrix S, which have no
derivative where eigenvalues coincide.  But results depend only on inv(S) and log(det(S)), not on which
U it is.  So the rule may assume the U with the differential dU = -inv(S) dS U / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats._multivariate import multi_rv_generic

from .._util.array_types import Namespace, RawArray
from .._util.errors import describe, user_line
from ._facades import no_rule
from ._hooks import original_of
from ._ops import library_op
from ._plain import ArrayInput, Cotangents, NumpyData, plain_data
from ._statements import hooks, keeps_arrays

MODULE = "scipy.stats._multivariate"

for _module in (MODULE, "scipy.stats._covariance", "scipy.stats._kde"):
    keeps_arrays(_module)


@hooks(MODULE, "multivariate_normal_gen._cdf", "multivariate_t_gen._cdf", refuses=True)
def _cdf(distribution: multi_rv_generic, *args: Any) -> Any:
    raise no_rule(f"cdf of scipy.stats.{type(distribution).__name__.removesuffix('_gen')}")


def _forward(matrix: NumpyData, upper: bool = False) -> Any:
    psd = factored(matrix, lower=not upper)
    return psd.U, np.asarray(psd.log_pdet)


def factored(matrix: NumpyData, **options: Any) -> Any:
    from scipy.stats import _multivariate

    return _multivariate._PSD(matrix, **options)


def _pull(g: Cotangents, factor: RawArray, upper: bool, xp: Namespace) -> Any:
    """Return the cotangent of a covariance matrix S, given the pair g of those of U and log(det(S)).

    factor : U, where inv(S) = U U'.  With g = (gU, h), the cotangent is -inv(S) gU U' / 2 + h inv(S).
    upper : True if SciPy reads the upper triangle of S, else the lower one.  The result has 0 in the
    other triangle, and the sum of both cotangents for an element that stands for two.
    """
    by_factor, by_logarithm = g
    transposed = xp.matrix_transpose(factor)
    inverse = xp.matmul(factor, transposed)
    total = 0.0 * inverse
    if by_factor is not None:
        total = total - 0.5 * xp.matmul(xp.matmul(inverse, by_factor), transposed)
    if by_logarithm is not None:
        total = total + by_logarithm * inverse
    both = total + xp.matrix_transpose(total)
    triangle = xp.triu(both, k=1) if upper else xp.tril(both, k=-1)
    return (triangle + xp.eye(factor.shape[0]) * total,)


factor_op = library_op("scipy.stats._PSD", _forward, joint=_pull, outputs=("factor", "logarithm"))


@hooks(MODULE, "_PSD.__init__")
def psd(
    self: Any, M: ArrayInput, cond: float | None = None, rcond: float | None = None, lower: bool = True,
    check_finite: bool = True, allow_singular: bool = True,
) -> None:  # fmt: skip
    """Replace the constructor of ``_PSD``, SciPy's decomposition of a covariance matrix M.

    Run SciPy's code on NumPy data, and then set ``U`` and ``log_pdet`` to Arrays that tapes follow.
    """
    values = plain_data(M)
    original_of(type(self).__init__)(self, values, cond, rcond, lower, check_finite, allow_singular)
    if self.rank < values.shape[-1]:
        raise TypeError(
            f"a singular covariance matrix has no derivative here: {describe(M)} of rank {self.rank} "
            f"[at {user_line()}]"
        )
    self._M = M
    self.U, self.log_pdet = factor_op(M, upper=not lower)
