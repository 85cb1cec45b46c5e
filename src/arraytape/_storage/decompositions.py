"""Factorize NumPy matrices in double precision; solve, invert and take determinants with the factors.

SciPy and NumPy each bring a BLAS with its own threads.  NumPy's threads keep their cores busy for a
while after each product, and SciPy's threads would wait for them.  So SciPy's routines are called only
with matrices so small that its BLAS uses one thread.  Larger matrices are split into halves recursively,
which turns most of the work into matrix products by NumPy.  See docs/decisions/0023.
"""

from __future__ import annotations

import abc
import functools
from contextlib import suppress
from typing import Any, Self

import numpy as np

Data = np.ndarray[Any, Any]

LOWER, UPPER = "lower", "upper"  # the forms of a triangular matrix
# Up to these sizes SciPy's BLAS uses one thread, so that SciPy is called without splitting the matrix:
WHOLE = 64  # rows of a triangle to invert, or columns of a matrix for Gaussian elimination
PANEL = 2**14  # elements of a matrix for Gaussian elimination
FEW = 7  # right-hand sides of a triangular system
SINGULAR = "Singular matrix"


@functools.cache
def libraries() -> Any:
    """Return SciPy's modules ``blas`` and ``lapack``, or None if SciPy is not installed."""
    try:
        from scipy.linalg import blas, lapack
    except ImportError:
        return None
    return blas, lapack


def routine(name: str, a: Data) -> Any:
    """Return SciPy's BLAS or LAPACK routine ``name``, such as "getrf", for the dtype of ``a``."""
    return typed_routine(name, a.dtype.kind)


@functools.cache
def typed_routine(name: str, kind: str) -> Any:
    blas, lapack = libraries()
    library = blas if name in ("trsm", "trsv") else lapack
    return getattr(library, ("z" if kind == "c" else "d") + name)


# --- factorizations -------------------------------------------------------------------------------
class Factors(abc.ABC):
    """A factorized square matrix ``a`` in double precision.

    factors : the array of the factors; each subclass says what it holds.
    singular : True if a factor has a 0 on its diagonal, so that a has no inverse.
    """

    __slots__ = ("factors",)
    factors: Data
    singular = False

    def check_singular(self) -> Self:
        """Return self, or raise LinAlgError if the matrix is singular."""
        if self.singular:
            raise np.linalg.LinAlgError(SINGULAR)
        return self

    @abc.abstractmethod
    def solve_system(self, b: Data, adjoint: bool) -> Data:
        """Return ``a^-1 b``, or ``a^-H b`` if ``adjoint`` is True, for b of shape (n, k)."""

    @abc.abstractmethod
    def invert_matrix(self) -> Data:
        """Return ``a^-1``."""


class Triangle(Factors):
    """A triangular matrix ``factors``, which needs no factorization; ``form`` is LOWER or UPPER."""

    __slots__ = ("form", "singular")

    def __init__(self, a: Data, form: str) -> None:
        self.factors, self.form = a, form
        self.singular = bool(np.count_nonzero(a.diagonal()) < len(a))

    def solve_system(self, b: Data, adjoint: bool) -> Data:
        return solve_triangle(self.check_singular().factors, b, self.form, adjoint)

    def invert_matrix(self) -> Data:
        a = self.check_singular().factors
        return inverse_of_lower(a) if self.form == LOWER else inverse_of_lower(a.T).T


class Definite(Factors):
    """A Hermitian positive definite matrix L @ L^H; ``factors`` is L, its lower Cholesky factor."""

    __slots__ = ()

    def __init__(self, lower: Data) -> None:
        self.factors = lower

    def solve_system(self, b: Data, adjoint: bool) -> Data:
        # The matrix is Hermitian, so that ``adjoint`` makes no difference.
        return solve_triangle(self.factors, solve_triangle(self.factors, b, LOWER), LOWER, True)

    def invert_matrix(self) -> Data:
        # The inverse equals its adjoint.  Return the adjoint, because it is F-contiguous.
        return square(inverse_of_lower(self.factors)).T.conj()

    def slogdet(self) -> tuple[Any, Any]:
        """Return the sign of ``det(a)`` and the logarithm of its absolute value, for a real matrix."""
        return np.asarray(1.0), np.asarray(2.0 * np.log(self.factors.diagonal()).sum())

    def determinant(self) -> Any:
        return np.prod(self.factors.diagonal().real) ** 2

    def reciprocal_condition(self, a: Data) -> float:
        """Return LAPACK's estimate of 1 / cond(a); it is near 0 for a nearly singular matrix."""
        found: float = routine("pocon", self.factors)(self.factors.T, np.linalg.norm(a, 1))[0]
        return found


class Elimination(Factors):
    """A matrix factorized by Gaussian elimination with partial pivoting: ``a[order] = L U``.

    ``factors`` holds U, and below its diagonal L, whose diagonal is 1.  ``odd`` is True if ``order`` is
    an odd permutation.
    """

    __slots__ = ("odd", "order", "singular")

    def __init__(self, a: Data) -> None:
        self.factors = np.array(a, order="C")
        self.order, self.odd = eliminate(self.factors)
        self.singular = bool(np.count_nonzero(self.factors.diagonal()) < len(a))

    def solve_system(self, b: Data, adjoint: bool) -> Data:
        lu = self.check_singular().factors
        if not adjoint:
            return solve_triangle(lu, solve_triangle(lu, b[self.order], LOWER, unit=True), UPPER)
        found = np.empty(b.shape, lu.dtype)
        found[self.order] = solve_triangle(
            lu, solve_triangle(lu, b, UPPER, True), LOWER, True, unit=True
        )
        return found

    def slogdet(self) -> tuple[Any, Any]:
        if self.singular:
            return np.asarray(0.0), np.asarray(-np.inf)
        values = self.factors.diagonal()
        odd = (self.odd + np.count_nonzero(values < 0.0)) % 2
        return np.asarray(-1.0 if odd else 1.0), np.asarray(np.log(np.abs(values)).sum())

    def invert_matrix(self) -> Data:
        lu = self.factors
        found = np.empty_like(lu)
        found[:, self.order] = solve_triangle(lu, inverse_of_lower(np.tril(lu), unit=True), UPPER)
        return found

    def determinant(self) -> Any:
        return np.prod(self.factors.diagonal()) * (-1.0) ** self.odd

    def reciprocal_condition(self, a: Data) -> float:
        found: float = routine("gecon", self.factors)(self.factors, np.linalg.norm(a, 1))[0]
        return found


def decomposed(a: Data, hermitian: bool) -> Definite | Elimination:
    """Factorize the square matrix ``a``: by Cholesky if possible, otherwise by Gaussian elimination.

    hermitian : True if ``a`` is Hermitian; then Cholesky's method succeeds if a is positive definite.
    """
    if hermitian and (a.diagonal().real > 0.0).all():
        with suppress(np.linalg.LinAlgError):
            return Definite(np.linalg.cholesky(a))
    return Elimination(a)


def eliminate(a: Data) -> tuple[Data, bool]:
    """Overwrite ``a``, of shape (m, n), with its factors L and U of ``a[order] = L U``.

    Return the permutation ``order`` of the rows, and True if it is an odd permutation.

    Source: Toledo 1997, "Locality of reference in LU decomposition with partial pivoting", sec. 2.
    """
    n = a.shape[1]
    if n == 1 or (n <= WHOLE and a.size <= PANEL):
        a[...], swaps, _ = routine("getrf", a)(a)
        rows, odd = [*range(len(a))], False
        for i, other in enumerate(swaps.tolist()):
            rows[i], rows[other] = rows[other], rows[i]
            odd ^= i != other
        return np.asarray(rows), odd
    h = n // 2  # eliminate the left half, update the right half, then eliminate its lower rows
    order, odd = eliminate(a[:, :h])
    right = a[order, h:]
    a[:h, h:] = solve_triangle(a[:h, :h], right[:h], LOWER, unit=True)
    np.subtract(right[h:], a[h:, :h] @ a[:h, h:], out=a[h:, h:])
    rest, other = eliminate(a[h:, h:])
    a[h:, :h], order[h:] = a[h:, :h][rest], order[h:][rest]
    return order, odd ^ other


# --- triangles ------------------------------------------------------------------------------------
def solve_triangle(a: Data, b: Data, form: str, adjoint: bool = False, unit: bool = False) -> Data:
    """Return ``t^-1 b`` for a triangle t of the matrix a, and b of shape (n, k).

    form : LOWER or UPPER, the triangle; the other one is not read.  adjoint : True for ``t^-H b``.
    unit : True if t's diagonal is 1, whatever a's diagonal holds.
    """
    n, columns = b.shape
    upper = form == UPPER
    # BLAS wants Fortran order, which the transpose of C-contiguous data has without a copy.
    if columns == 1 and a.dtype.kind == "f":
        turned = np.ascontiguousarray(a).T
        trsv = routine("trsv", a)
        column: Data = trsv(turned, b[:, 0], lower=upper, trans=not adjoint, diag=unit)
        return column[:, None]
    if columns <= FEW:  # solve x^T t^T = b^T
        turned, rows = np.ascontiguousarray(a).T, np.array(b, order="C").T
        transpose = (2 if a.dtype.kind == "c" else 1) if adjoint else 0
        found: Data = routine("trsm", a)(
            1.0, turned, rows, side=1, lower=upper, trans_a=transpose, diag=unit, overwrite_b=1
        )
        return found.T
    if n <= WHOLE:
        half = np.where(above_diagonal(n), 0.0, a.T if upper else a)
        inverse = inverse_of_lower(half, unit).T if upper else inverse_of_lower(half, unit)
        return (inverse.T.conj() if adjoint else inverse) @ b
    h = n // 2
    across = a[:h, h:] if upper else a[h:, :h]
    if adjoint:
        across = across.T.conj()
    found = np.empty(b.shape, a.dtype)
    parts = (slice(h), slice(h, n))
    first, last = parts if upper == adjoint else parts[::-1]
    found[first] = solve_triangle(a[first, first], b[first], form, adjoint, unit)
    found[last] = solve_triangle(
        a[last, last], b[last] - across @ found[first], form, adjoint, unit
    )
    return found


@functools.lru_cache(maxsize=8)
def above_diagonal(n: int) -> Data:
    """Return the mask of the elements above the diagonal of an (n, n) matrix.  Do not write to it."""
    return ~np.tri(n, dtype=np.bool_)


def inverse_of_lower(lower: Data, unit: bool = False) -> Data:
    """Return the inverse of a lower triangular matrix, whose diagonal counts as 1 if ``unit``."""
    n = len(lower)
    if n <= WHOLE:
        found: Data = routine("trtri", lower)(np.ascontiguousarray(lower).T, unitdiag=unit)[0].T
        if unit:
            found.reshape(-1)[:: n + 1] = 1.0
        return found
    h = n // 2
    found = np.zeros((n, n), lower.dtype)
    first, last = inverse_of_lower(lower[:h, :h], unit), inverse_of_lower(lower[h:, h:], unit)
    found[:h, :h], found[h:, h:] = first, last
    np.matmul(-(last @ lower[h:, :h]), first, out=found[h:, :h])
    return found


def square(lower: Data) -> Data:
    """Return ``L^H L`` for a lower triangular matrix L = ``lower``, with less work than a product.

    If L is the inverse of a Cholesky factor, this is the inverse of the matrix.
    """
    n = len(lower)
    if n <= WHOLE:
        return lower.T.conj() @ lower
    h = n // 2
    B, C = lower[h:, :h], lower[h:, h:]
    found = np.empty((n, n), lower.dtype)
    found[h:, :h] = C.T.conj() @ B
    found[:h, h:] = found[h:, :h].T.conj()
    found[:h, :h] = square(lower[:h, :h]) + B.T.conj() @ B
    found[h:, h:] = square(C)
    return found


__all__ = [
    "LOWER",
    "UPPER",
    "WHOLE",
    "Definite",
    "Elimination",
    "Factors",
    "Triangle",
    "above_diagonal",
    "decomposed",
    "inverse_of_lower",
    "libraries",
    "solve_triangle",
    "square",
]  # fmt: skip
