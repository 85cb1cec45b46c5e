"""Differentiate scipy.linalg's functions for banded, Toeplitz and circulant matrices.

SciPy computes the values, on NumPy data.  The rules of the systems do not make the whole matrix, which
would need memory for n * n elements.
"""

from __future__ import annotations

from typing import Any

import scipy.linalg

import arraytape

from ..._array.paths import sum_to
from ..._record.plan import Lazy
from ..._storage.storage import conjugate, is_complex
from ..._util.array_types import Namespace, RawArray
from ...ops import _factorisations as rules
from ...ops._factorisations import diagonal_matrix, diagonal_part
from .._facades import no_rule
from .._ops import library_op
from .._plain import ArrayInput
from .._recorded import operand_of, recorded_function
from .._statements import hooks
from ._structures import as_columns, in_shape_of_b, pull_structure


def shift_rows(x: RawArray, k: int, xp: Namespace) -> Any:
    """Shift the rows of a matrix: row i of the result is row i + k of x, or 0 if there is none.

    k may be negative.
    """
    n = x.shape[-2]
    if abs(k) >= n:
        return xp.zeros_like(x)
    gap = xp.zeros_like(x[..., : abs(k), :])
    parts = [x[..., k:, :], gap] if k >= 0 else [gap, x[..., :k, :]]
    return xp.concat(parts, axis=-2)


def along_band(u: RawArray, y: RawArray, k: int, xp: Namespace) -> Any:
    """Return the diagonal of ``u @ y^H`` that lies k below the main one, without the whole product.

    Element j of the result is element (j + k, j) of the product, or 0 if there is none.
    """
    return xp.sum(shift_rows(u, k, xp) * conjugate(y, xp), axis=-1)


# --- banded -----------------------------------------------------------------------------------------
def adjoint_band(ab: RawArray, lower: int, upper: int, xp: Namespace) -> Any:
    """Return the conjugate transpose of a banded matrix, whose diagonals are the rows of ``ab``.

    lower, upper : the numbers of diagonals below and above the main one.
    """
    # Element (i, j) stands in row upper + i - j and column j; transposed, in row lower + j - i and
    # column i.
    rows = [
        shift_rows(ab[..., upper + lower - row, :, None], row - lower, xp)[..., 0]
        for row in range(lower + upper + 1)
    ]
    return conjugate(xp.stack(rows, axis=-2), xp)


def solve_banded_rule(
    g: RawArray, ab: RawArray, b: RawArray, y: RawArray, lower: int, upper: int, xp: Namespace
) -> Any:
    """Return the cotangents of ab and b for ``solve_banded``: A y = b, where ab has the diagonals of A.

    With the solution u of A^H u = g, that of b is u, and that of ab has the diagonals of -u y^H.

    g : the cotangent of y.  lower, upper : the numbers of diagonals below and above the main one.
    """
    g, y = as_columns(b, g, y)
    u = solve_banded_op(adjoint_band(ab, lower, upper, xp), g, lower=upper, upper=lower)

    def to_ab() -> Any:
        rows = [-along_band(u, y, row - upper, xp) for row in range(lower + upper + 1)]
        return sum_to(xp.stack(rows, axis=-2), ab.shape, xp)

    return Lazy(to_ab), in_shape_of_b(u, b, xp)


solve_banded_op = recorded_function(
    "scipy.linalg.solve_banded", arrays=["ab", "b"], options=["lower", "upper"],
    packed={"l_and_u": ["lower", "upper"]}, joint=solve_banded_rule,
)  # fmt: skip


def solveh_banded_rule(
    g: RawArray, ab: RawArray, b: RawArray, y: RawArray, lower: bool, xp: Namespace
) -> Any:
    """Return the cotangents of ab and b for A y = b with a Hermitian A, whose diagonals are ab.

    With the solution u of A u = g, the cotangent of ab has the diagonals of -(u y^H + y u^H), and that
    of b is u.  g : the cotangent of y.  lower : True if ab holds the lower triangle.
    """
    g, y = as_columns(b, g, y)
    u = solveh_banded_op(ab, g, lower=lower)

    def to_ab() -> Any:
        rows = []
        for k in offsets(ab, lower):
            one = along_band(u, y, k, xp)
            if k == 0:  # SciPy reads the real part of the diagonal
                rows.append(-(xp.real(one) + 0j if is_complex(one) else one))
            else:
                rows.append(-(one + along_band(y, u, k, xp)))
        return sum_to(xp.stack(rows, axis=-2), ab.shape, xp)

    return Lazy(to_ab), in_shape_of_b(u, b, xp)


solveh_banded_op = recorded_function(
    "scipy.linalg.solveh_banded", arrays=["ab", "b"], options=["lower"], joint=solveh_banded_rule
)


# --- Toeplitz ---------------------------------------------------------------------------------------
def solve_toeplitz_rule(
    g: RawArray, c: RawArray, r: RawArray, b: RawArray, y: RawArray, xp: Namespace
) -> Any:
    """Return the cotangents of c, r and b for T y = b, where T has the first column c and first row r.

    The cotangents of c and r are sums of -u y^H along diagonals, that of b is u.  u is the solution of
    T^H u = g, where g is the cotangent of y.
    """
    g, y = as_columns(b, g, y)
    first = c[..., :1]
    u = solve_toeplitz_op(
        conjugate(xp.concat([first, r[..., 1:]], axis=-1), xp), conjugate(c, xp), g
    )
    n = c.shape[-1]
    return (
        Lazy(lambda: -xp.stack(diagonal_sums(u, y, range(n), xp), axis=-1)),
        Lazy(lambda: -row_cotangent(diagonal_sums(u, y, range(-1, -n, -1), xp), c, xp)),
        in_shape_of_b(u, b, xp),
    )


def diagonal_sums(u: RawArray, y: RawArray, offsets: range, xp: Namespace) -> list[Any]:
    """Return the sums of some diagonals of ``u @ y^H``, without the whole product.

    offsets : how far each of them is below the main diagonal.
    """
    return [xp.sum(along_band(u, y, k, xp), axis=-1) for k in offsets]


def row_cotangent(sums: list[Any], c: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of the first row r of a Toeplitz matrix: 0 for r[0], and ``sums`` for r[1:].

    SciPy reads the first element from the column c.  sums : those of the matrix cotangent's diagonals.
    """
    return xp.stack([xp.zeros_like(sums[0] if sums else c[..., 0]), *sums], axis=-1)


solve_toeplitz_op = library_op(
    "scipy.linalg.solve_toeplitz",
    lambda c, r, b, check_finite=True: scipy.linalg.solve_toeplitz(
        (c, r), b, check_finite=check_finite
    ),
    joint=solve_toeplitz_rule,
)


@hooks("scipy.linalg", "solve_toeplitz")
def solve_toeplitz(
    c_or_cr: ArrayInput | tuple[ArrayInput, ArrayInput], b: ArrayInput, check_finite: bool = True
) -> Any:
    c, r = column_and_row(c_or_cr)
    return solve_toeplitz_op(c, r, operand_of(b), check_finite=check_finite)


def column_and_row(c_or_cr: ArrayInput | tuple[ArrayInput, ArrayInput]) -> tuple[Any, Any]:
    """Return the first column and first row of a Toeplitz matrix from SciPy's argument ``c_or_cr``.

    If ``c_or_cr`` is the column alone, the row is its conjugate.
    """
    if isinstance(c_or_cr, tuple):
        return operand_of(c_or_cr[0]), operand_of(c_or_cr[1])
    c = operand_of(c_or_cr)
    return c, arraytape.conj(arraytape.asarray(c))


def matmul_toeplitz_rule(g: RawArray, c: RawArray, r: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of c, r and x for T @ x, where T has the first column c and first row r.

    Those of c and r are sums of g x^H along diagonals, that of x is T^H g.
    """
    given = x
    g, x = as_columns(given, g, x)
    first = c[..., :1]
    across = conjugate(xp.concat([first, r[..., 1:]], axis=-1), xp)
    second = matmul_toeplitz_op(across, conjugate(c, xp), g)
    m, n = c.shape[-1], r.shape[-1]
    g, x = fill_rows(g, max(m, n), xp), fill_rows(x, max(m, n), xp)
    return (
        Lazy(lambda: xp.stack(diagonal_sums(g, x, range(m), xp), axis=-1)),
        Lazy(lambda: row_cotangent(diagonal_sums(g, x, range(-1, -n, -1), xp), c, xp)),
        in_shape_of_b(second, given, xp),
    )


def fill_rows(x: RawArray, n: int, xp: Namespace) -> Any:
    """Return x with rows of 0 appended, so that it has n rows."""
    more = n - x.shape[-2]
    if not more:
        return x
    gap = xp.zeros((*x.shape[:-2], more, x.shape[-1]), dtype=x.dtype, device=x.device)
    return xp.concat([x, gap], axis=-2)


matmul_toeplitz_op = library_op(
    "scipy.linalg.matmul_toeplitz",
    lambda c, r, x, check_finite=False, workers=None: scipy.linalg.matmul_toeplitz(
        (c, r), x, check_finite=check_finite, workers=workers
    ),
    joint=matmul_toeplitz_rule,
)


@hooks("scipy.linalg", "matmul_toeplitz")
def matmul_toeplitz(
    c_or_cr: ArrayInput | tuple[ArrayInput, ArrayInput], x: ArrayInput, check_finite: bool = False,
    workers: int | None = None,
) -> Any:  # fmt: skip
    c, r = column_and_row(c_or_cr)
    return matmul_toeplitz_op(c, r, operand_of(x), check_finite=check_finite, workers=workers)


# --- circulant --------------------------------------------------------------------------------------
def solve_circulant_rule(g: RawArray, c: RawArray, b: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of c and b for C y = b, where C is the circulant matrix of c.

    The cotangent of c has sums of -u y^H along wrapped diagonals, that of b is u, where C^H u = g.
    """
    u = solve_circulant_op(conjugate(xp.roll(xp.flip(c, axis=-1), 1, axis=-1), xp), g)
    left, right = as_columns(b, u, y)
    back = conjugate(right, xp)

    def to_c() -> Any:
        turns = [-xp.sum(xp.roll(left, -k, axis=-2) * back) for k in range(c.shape[-1])]
        return xp.stack(turns)

    return Lazy(to_c), u


solve_circulant_op = library_op(
    "scipy.linalg.solve_circulant",
    lambda c, b: scipy.linalg.solve_circulant(c, b),
    joint=solve_circulant_rule,
)


@hooks("scipy.linalg", "solve_circulant")
def solve_circulant(
    c: ArrayInput, b: ArrayInput, singular: str = "raise", tol: float | None = None, caxis: int = -1,
    baxis: int = 0, outaxis: int = 0,
) -> Any:  # fmt: skip
    c, b = operand_of(c), operand_of(b)
    if singular != "raise" or tol is not None or (caxis, baxis, outaxis) != (-1, 0, 0):
        raise no_rule("scipy.linalg.solve_circulant", "singular=, tol= or axes")
    if c.ndim != 1 or b.ndim > 2:
        raise no_rule("scipy.linalg.solve_circulant", "stacks")
    return solve_circulant_op(c, b)


# --- Cholesky factors of bands ----------------------------------------------------------------------
def band_to_matrix(band: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the triangular matrix whose diagonals are the rows of ``band``, in SciPy's format.

    lower : True for a lower triangle, whose main diagonal is the first row; False for an upper one.
    """
    total: Any = 0.0
    for row, k in enumerate(offsets(band, lower)):  # element (j + k, j) stands in column j
        total = total + shift_rows(diagonal_matrix(band[..., row, :], xp), -k, xp)
    return total


def matrix_to_band(x: RawArray, like: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the diagonals of a matrix x as rows, in the format and shape of the band ``like``.

    lower : True for the lower triangle.  This linear map is the transpose of ``band_to_matrix``, so it
    maps a matrix's cotangent to a band's.
    """
    rows = [xp.sum(diagonal_part(shift_rows(x, k, xp), xp), axis=-2) for k in offsets(like, lower)]
    return xp.stack(rows, axis=-2)


def cholesky_banded_rule(g: RawArray, ab: RawArray, y: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of ``ab``, the diagonals of a matrix, for SciPy's ``cholesky_banded``.

    g : the cotangent of y, which holds the diagonals of the factor.  lower : True if ab holds the lower
    triangle.

    The rule of ``cholesky`` gives the cotangent of the matrix, and the result has its diagonals.  The
    unused corners of ab are copied to y by SciPy, so their cotangent is g.
    """
    factor, pull = (band_to_matrix(x, lower, xp) for x in (y, g))
    half = rules.cholesky_vjp(pull, factor, not lower, xp)
    corners = g - matrix_to_band(pull, ab, lower, xp)
    return matrix_to_band(pull_structure(half, "hermitian", lower, xp), ab, lower, xp) + corners


recorded_function(
    "scipy.linalg.cholesky_banded", cholesky_banded_rule, arrays=["ab"], options=["lower"],
    cores=[2],
)  # fmt: skip


def cho_solve_banded_rule(
    g: RawArray, c: RawArray, b: RawArray, y: RawArray, lower: bool, xp: Namespace
) -> Any:
    """Return the cotangents of c and b for A y = b, where c has the diagonals of A's Cholesky factor.

    With the solution u of A u = g, the cotangent of b is u, and that of c has, for a lower factor L,
    the diagonals of -(u y^H + y u^H) L.  g : the cotangent of y.  lower : True if the factor is lower.
    """
    g, y = as_columns(b, g, y)
    u = cho_solve_banded_op(c, g, lower=lower)

    def to_c() -> Any:
        v, w = (times_factor(c, x, lower, xp) for x in (u, y))
        # (u y^H + y u^H) L is u (L^H y)^H + y (L^H u)^H; U (u y^H + y u^H) is (U u) y^H + (U y) u^H.
        pairs = ((u, w), (y, v)) if lower else ((v, y), (w, u))
        rows = [-sum(along_band(p, q, k, xp) for p, q in pairs) for k in offsets(c, lower)]
        return sum_to(xp.stack(rows, axis=-2), c.shape, xp)

    return Lazy(to_c), in_shape_of_b(u, b, xp)


def offsets(band: RawArray, lower: bool) -> range:
    """Return for each row of ``band`` how far its diagonal is below the matrix's main diagonal.

    lower : True if the band holds the lower triangle of a matrix, False for the upper one.
    """
    count = band.shape[-2]
    return range(count) if lower else range(1 - count, 1)


def times_factor(band: RawArray, x: RawArray, lower: bool, xp: Namespace) -> Any:
    """Multiply x by a banded Cholesky factor: ``L^H @ x`` for a lower one, ``U @ x`` for an upper one.

    band : the factor's diagonals as rows.
    """
    total: Any = 0.0
    for row, k in enumerate(offsets(band, lower)):
        line = band[..., row, :, None]
        part = conjugate(line, xp) * shift_rows(x, k, xp) if lower else shift_rows(line * x, -k, xp)
        total = total + part
    return total


cho_solve_banded_op = recorded_function(
    "scipy.linalg.cho_solve_banded", arrays=["c", "b"], options=["lower"],
    packed={"cb_and_lower": ["c", "lower"]}, joint=cho_solve_banded_rule,
)  # fmt: skip
