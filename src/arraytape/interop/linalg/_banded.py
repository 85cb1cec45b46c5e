"""Systems of scipy.linalg whose matrix is given by its diagonals: banded and Toeplitz.

A rule that made the whole matrix would need memory of n * n; these need no more than the systems do.
"""

from __future__ import annotations

from typing import Any

import scipy.linalg

import arraytape

from ..._array.paths import sum_to
from ..._storage.storage import conjugate, is_complex
from .._ops import library_op
from .._recorded import data
from .._statements import hooks


def shifted(x: Any, k: int, xp: Any) -> Any:
    """Row i of the result is row i + k of x; 0 where there is none."""
    n = x.shape[-2]
    if abs(k) >= n:
        return xp.zeros_like(x)
    gap = xp.zeros_like(x[..., : abs(k), :])
    parts = [x[..., k:, :], gap] if k >= 0 else [gap, x[..., :k, :]]
    return xp.concat(parts, axis=-2)


def along_band(u: Any, y: Any, k: int, xp: Any) -> Any:
    """The elements (j + k, j) of ``u @ y^H``, by j; 0 where there are none."""
    return xp.sum(shifted(u, k, xp) * conjugate(y, xp), axis=-1)


def as_columns(*values: Any, vector: bool) -> list[Any]:
    """Vectors as matrices of one column."""
    return [x[..., None] if vector else x for x in values]


# --- banded -----------------------------------------------------------------------------------------
def adjoint_band(ab: Any, lower: int, upper: int, xp: Any) -> Any:
    """The conjugate transpose of a banded matrix, whose bands are (upper, lower)."""
    # Element (i, j) stands in row upper + i - j and column j; transposed, in row lower + j - i and
    # column i.
    rows = [
        shifted(ab[..., upper + lower - row, :, None], row - lower, xp)[..., 0]
        for row in range(lower + upper + 1)
    ]
    return conjugate(xp.stack(rows, axis=-2), xp)


def solve_banded_rule(g: Any, ab: Any, b: Any, y: Any, lower: int, upper: int, xp: Any) -> Any:
    """u, the solution of the adjoint system, goes back to b, and -u y^H, where there is a band, to ab"""
    vector = len(b.shape) == 1
    g, y = as_columns(g, y, vector=vector)
    u = solve_banded_op(adjoint_band(ab, lower, upper, xp), g, lower=upper, upper=lower)
    rows = [-along_band(u, y, row - upper, xp) for row in range(lower + upper + 1)]
    second = u[..., 0] if vector else u
    return sum_to(xp.stack(rows, axis=-2), ab.shape, xp), sum_to(second, b.shape, xp)


solve_banded_op = library_op(
    "scipy.linalg.solve_banded",
    lambda ab, b, lower=0, upper=0, check_finite=True: scipy.linalg.solve_banded(
        (lower, upper), ab, b, check_finite=check_finite
    ),
    joint=solve_banded_rule,
)


@hooks("scipy.linalg", "solve_banded")
def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    lower, upper = (int(k) for k in l_and_u)
    return solve_banded_op(data(ab), data(b), lower=lower, upper=upper, check_finite=check_finite)


def solveh_banded_rule(g: Any, ab: Any, b: Any, y: Any, lower: bool, xp: Any) -> Any:
    """u, the solution for g, goes back to b, and -(u y^H + y u^H), where there is a band, to ab"""
    vector = len(b.shape) == 1
    g, y = as_columns(g, y, vector=vector)
    u = solveh_banded_op(ab, g, lower=lower)
    count = ab.shape[-2]
    rows = []
    for row in range(count):
        k = row if lower else row - count + 1
        one = along_band(u, y, k, xp)
        if k == 0:  # the diagonal, of which the real part is read
            rows.append(-(xp.real(one) + 0j if is_complex(one) else one))
        else:
            rows.append(-(one + along_band(y, u, k, xp)))
    second = u[..., 0] if vector else u
    return sum_to(xp.stack(rows, axis=-2), ab.shape, xp), sum_to(second, b.shape, xp)


solveh_banded_op = library_op(
    "scipy.linalg.solveh_banded",
    lambda ab, b, lower=False, check_finite=True: scipy.linalg.solveh_banded(
        ab, b, lower=lower, check_finite=check_finite
    ),
    joint=solveh_banded_rule,
)


@hooks("scipy.linalg", "solveh_banded")
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, lower: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    return solveh_banded_op(data(ab), data(b), lower=bool(lower), check_finite=check_finite)


# --- Toeplitz ---------------------------------------------------------------------------------------
def solve_toeplitz_rule(g: Any, c: Any, r: Any, b: Any, y: Any, xp: Any) -> Any:
    """u, the solution of the adjoint system, goes back to b, and -u y^H, summed along each diagonal,
    to the elements of c and r; r[0] is not read
    """
    vector = len(b.shape) == 1
    g, y = as_columns(g, y, vector=vector)
    first = c[..., :1]
    u = solve_toeplitz_op(
        conjugate(xp.concat([first, r[..., 1:]], axis=-1), xp), conjugate(c, xp), g
    )
    n = c.shape[-1]
    down = [-xp.sum(along_band(u, y, k, xp), axis=-1) for k in range(n)]
    right = [-xp.sum(along_band(u, y, -k, xp), axis=-1) for k in range(1, n)]
    to_r = xp.stack([xp.zeros_like(down[0]), *right], axis=-1)
    second = u[..., 0] if vector else u
    return xp.stack(down, axis=-1), to_r, sum_to(second, b.shape, xp)


solve_toeplitz_op = library_op(
    "scipy.linalg.solve_toeplitz",
    lambda c, r, b, check_finite=True: scipy.linalg.solve_toeplitz(
        (c, r), b, check_finite=check_finite
    ),
    joint=solve_toeplitz_rule,
)


@hooks("scipy.linalg", "solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: Any = True) -> Any:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c = data(c)
    r = arraytape.conj(arraytape.asarray(c)) if r is None else data(r)
    return solve_toeplitz_op(c, r, data(b), check_finite=check_finite)
