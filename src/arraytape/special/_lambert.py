"""Lambert's W function and Wright's omega function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._array.array import Array
from ._statement import REAL, special

if TYPE_CHECKING:
    import numpy.typing as npt

# exp(-y) / (1 + y) is the slope y / (z (1 + y)) without the 0 / 0 at z = 0.
_lambertw = special(
    "_lambertw", "z k tol", lambda t, y, xp: t * (xp.exp(-y) / (1.0 + y)), None, None,
    domains=[(0.1, 4.0), (0, 1.5), (1e-8, 1e-8)], counts="k",
    summary="The branch k of Lambert's W function", source="DLMF 4.13.4",
)  # fmt: skip
wrightomega = special(
    "wrightomega", "z", lambda t, y: t * (y / (1.0 + y)), domains=[REAL], complex=True,
    summary="Wright's omega function", source="DLMF 4.13.4",
)  # fmt: skip


def lambertw(z: Array | complex, k: Array | npt.ArrayLike = 0, tol: float = 1e-8) -> Array:
    """Return Lambert's W function, which solves ``w * exp(w) == z``.

    Parameters
    ----------
    z : Array
        Of real or complex dtype.
    k : int or Array
        The number of the branch.
    tol : float
        The tolerance of the evaluation.

    Returns
    -------
    Array
        Of complex dtype.
    """
    # SciPy's ufunc accepts the branch only as a C long.
    return _lambertw(z, k if isinstance(k, int | Array) else np.asarray(k, dtype=np.long), tol)


FUNCTIONS = {"lambertw": lambertw}
