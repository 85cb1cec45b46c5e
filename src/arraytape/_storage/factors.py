"""Cached factorizations of large NumPy matrices, for rules that solve with one matrix repeatedly.

``np.linalg`` returns no factors: each of its calls factorizes anew.  This module factorizes a matrix
once, by SciPy's LAPACK.  A triangle needs no factorization, nor does a matrix whose Cholesky factor was
recorded.  A matrix that is Hermitian to the last bit and positive definite is factorized by Cholesky,
which is half the work of elimination.  For small matrices without cached factors, for other storages
than NumPy's, and without SciPy, functions of this module return None.  Then the caller uses
``linalg.solve`` or ``linalg.inv``.

``TABLE`` maps the ``id()`` of an ndarray to its ``CachedMatrix``, which refers to the ndarray weakly.
Nobody may write to an ndarray in the table.  So only data that records keep is added.  Factors take as
much memory as the matrix, and twice as much in single precision, because they are in double precision.
They are freed with the matrix, or after ``MOST`` other matrices were factorized.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from .._util.array_types import RawArray
from .decompositions import (
    LOWER,
    SINGULAR,
    UPPER,
    Data,
    Definite,
    Elimination,
    Factors,
    Triangle,
    above_diagonal,
    decomposed,
    inverse_of_lower,
    libraries,
    square,
)

# The least number of rows of a matrix whose factors are looked up.  LEAST_KNOWN is for a matrix whose
# Cholesky factor was recorded, or which is such a factor.
LEAST = 64
LEAST_KNOWN = 8
NEITHER = "neither"  # the form of a matrix that is neither lower nor upper triangular
MOST = 16  # the number of matrices whose factors are cached
KEPT = (
    256  # up to so many rows, a cached mask sets a triangle to 0; for more rows np.tril is as fast
)
TINY = 1e-290  # a smaller determinant is not computed by factors: subnormal numbers lose digits
# Type of data -> function in place of ``through_cholesky``, for the storages of ``replay``.
THROUGH: dict[type, Callable[[Any, Any], Any]] = {}


# --- cached properties and factors --------------------------------------------------------------
class CachedMatrix:
    """The cached properties and factors of an ndarray: a matrix, or a stack of matrices.

    data : a weak reference to the ndarray.
    factors : a list with one factorization for each matrix; empty before one is needed.
    results : a dict from an op's name, such as "cholesky", to weak references to its results for data.
    form : LOWER, UPPER or NEITHER; "" if not checked yet.
    hermitian : True if all matrices are Hermitian to the last bit; None if not checked yet.
    """

    __slots__ = ("__weakref__", "data", "factors", "form", "hermitian", "results")

    def __init__(self, data: Data) -> None:
        at, this = id(data), ref(self)
        self.data = ref(data, lambda _: forget_factors(at, this()))
        self.factors: list[Definite | Elimination] = []
        self.results: dict[str, list[ref[Data]]] = {}
        self.form = ""
        self.hermitian: bool | None = None


TABLE: dict[int, CachedMatrix] = {}  # id of an array -> its CachedMatrix
RECENT: deque[CachedMatrix] = deque(
    maxlen=MOST
)  # the values of TABLE that hold factors, oldest first


def forget_factors(at: int, known: CachedMatrix | None) -> None:
    """Remove the cached factors of a matrix from TABLE, because its ndarray was freed.

    at : the ``id()`` of the freed ndarray, its key in TABLE.  A new ndarray may have the same id.
    known : the entry of the freed ndarray.  Another entry under the key is kept.
    """
    if known is not None:
        known.factors = []
        if TABLE.get(at) is known:
            TABLE.pop(at, None)


def cached_entry(x: Data) -> CachedMatrix:
    """Return the cache entry for the factors of the matrix or stack x; create it if there is none."""
    known = TABLE.get(id(x))
    if known is None or known.data() is not x:
        known = TABLE[id(x)] = CachedMatrix(x)
    return known


def transposed_source(x: Data) -> tuple[Data, bool]:
    """Return (matrix, True) if x is the transpose of a real matrix with cached factors, else (x, False).

    These factors solve systems with x, too.
    """
    known = TABLE.get(id(x.base))
    base = known.data() if known is not None else None
    if base is None or base is not x.base or x.ndim > 2 or x.dtype.kind == "c":
        return x, False
    turned = base.shape == x.shape and base.strides == x.strides[::-1]
    return (base, True) if turned else (x, False)


def remember(op: str, x: Data, *results: Data) -> None:
    """Cache the results of an op such as "cholesky" on x, so that rules need not compute them again.

    Neither x nor the results may be written to later.
    """
    cached_entry(x).results[op] = [ref(y) for y in results]
    if op == "cholesky":
        cached_entry(results[0]).form = LOWER


def remembered(op: str, x: RawArray) -> list[Data] | None:
    """Return the cached results of an op on x; None if there are none or one was freed."""
    known = TABLE.get(id(x))
    results = known.results.get(op) if known is not None and known.data() is x else None
    if results is None:
        return None
    found = [y for y in (result() for result in results) if y is not None]
    return found if len(found) == len(results) else None


def form_of(x: Data) -> str:
    """Return LOWER or UPPER if all matrices of the stack x are such triangles, else NEITHER.

    Systems with a triangle are solved without a factorization.
    """
    known = cached_entry(x)
    if not known.form:
        known.form = NEITHER
        for form, corner, part in ((LOWER, (0, -1), np.triu), (UPPER, (-1, 0), np.tril)):
            if np.count_nonzero(x[(..., *corner)]):  # most matrices are ruled out by one element
                continue
            if not part(x, 1 if form == LOWER else -1).any():
                known.form = form
                break
    return known.form


def known_form_of(x: Data) -> str:
    """Return LOWER or UPPER if the stack x is known to consist of such triangles, else NEITHER.

    Only a cached result is used: the elements of x are not checked.
    """
    known = TABLE.get(id(x))
    return known.form or NEITHER if known is not None and known.data() is x else NEITHER


def is_hermitian(x: Data) -> bool:
    """Return True if all matrices of the stack x are Hermitian to the last bit."""
    known = cached_entry(x)
    if known.hermitian is None:
        turned = x.mT.conj() if x.dtype.kind == "c" else x.mT
        # The first row is compared first: most matrices that are not Hermitian differ there.
        known.hermitian = bool((x[..., 0, :] == turned[..., 0, :]).all() and (x == turned).all())
    return known.hermitian


def matrix_factors(x: Data) -> Sequence[Factors] | None:
    """Return a factorization of each matrix of the stack x; None if x is small and none is known.

    A known factorization is a recorded Cholesky factor, a triangular form or a cached one.  A large x
    without any is factorized.  linalg.cholesky reads only one triangle of its matrix, so its factor is
    used only if the matrix is Hermitian.
    """
    recorded = remembered("cholesky", x)
    if recorded is not None and is_hermitian(x):
        return [Definite(lower) for lower in matrices(as_double(recorded[0]))]
    large = is_large_matrix(x)
    form = form_of(x) if large else known_form_of(x)
    if form != NEITHER:
        return [Triangle(matrix, form) for matrix in matrices(as_double(x))]
    return cached_factors(x) if large else None


def cached_factors(x: Data) -> list[Definite | Elimination]:
    """Return a factorization of each matrix of the stack x, and cache it for the next call."""
    known = cached_entry(x)
    found = known.factors  # read once: another thread may replace the list by an empty one
    if not found:
        hermitian = is_hermitian(x)
        found = [decomposed(matrix, hermitian) for matrix in matrices(as_double(x))]
        known.factors = found
        if len(RECENT) == MOST:
            RECENT[0].factors = []
        RECENT.append(known)
    return found


def matrices(x: Data) -> Iterator[Data]:
    """Iterate over the matrices of a stack of any number of axes."""
    return iter(x.reshape(-1, *x.shape[-2:]))


def as_double(x: Data) -> Data:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


# --- systems --------------------------------------------------------------------------------------
def is_square(x: RawArray) -> bool:
    """Return True if x is a nonempty NumPy array of square floating-point matrices."""
    return (
        type(x) is np.ndarray and x.ndim > 1 and x.shape[-1] == x.shape[-2]
        and x.size > 0 and x.dtype.kind in "fc"
    )  # fmt: skip


def is_large_matrix(x: RawArray) -> bool:
    """Return True if x is a NumPy array of square matrices of ``LEAST`` rows or more."""
    return is_square(x) and x.shape[-1] >= LEAST


def may_be_known(x: RawArray) -> bool:
    """Return True if factors of x may be cached: x is large enough, and SciPy is installed."""
    return (
        is_square(x)
        and x.shape[-1] >= (LEAST_KNOWN if x.ndim == 2 else LEAST)
        and libraries() is not None
    )


def solve_by_factors(x1: Any, x2: Any, adjoint: bool) -> Data | None:
    """Return ``x1^-1 x2``, or ``x1^-H x2`` if ``adjoint``, by cached or new factors of x1.

    Return None if the caller has to use ``linalg.solve``.
    """
    if not may_be_known(x1) or type(x2) is not np.ndarray or x2.dtype.kind not in "fc":
        return None
    vector = x2.ndim == 1
    columns = x2[:, None] if vector else x2
    if not columns.size or columns.shape[-2] != x1.shape[-1]:
        return None
    x, turned = transposed_source(x1)
    factors, adjoint = matrix_factors(x), adjoint != turned
    if factors is None:
        return None
    if x1.ndim == 2:
        found = solve_columns(factors[0], columns, adjoint)
    else:
        found = solve_stack(factors, x1.shape[:-2], columns, adjoint)
    found = np.ascontiguousarray(found, np.result_type(x1, x2))
    return found[..., 0] if vector else found


def solve_columns(factors: Factors, b: Data, adjoint: bool) -> Data:
    """Return ``a^-1 b`` for one matrix a and all right-hand sides b, of shape (..., n, k), in one call.

    factors : the factorized a.  adjoint : True for ``a^-H b``.
    """
    if b.ndim == 2:
        return solve_with_factors(factors, b, adjoint)
    rows = np.moveaxis(b, -2, 0)
    found = solve_with_factors(factors, rows.reshape(len(rows), -1), adjoint)
    return np.moveaxis(found.reshape(rows.shape), 0, -2)


def solve_stack(factors: Sequence[Factors], own: tuple[int, ...], b: Data, adjoint: bool) -> Data:
    """Return the solutions of a stack of linear systems, one after the other.

    factors : a factorization of each matrix.  own : the shape of the stack, without the axes of the
    matrices.  b : the right-hand sides, whose stack broadcasts with that of the matrices.
    adjoint : True to solve with the adjoint of each matrix.
    """
    stack = np.broadcast_shapes(own, b.shape[:-2])
    places = np.broadcast_to(np.arange(len(factors)).reshape(own), stack)
    sides = np.broadcast_to(b, stack + b.shape[-2:])
    found = np.empty(sides.shape, np.result_type(factors[0].factors, as_double(b[:0])))
    for at, i in np.ndenumerate(places):
        found[at] = solve_with_factors(factors[int(i)], sides[at], adjoint)
    return found


def solve_with_factors(factors: Factors, b: Data, adjoint: bool) -> Data:
    """Return ``a^-1 b`` for one matrix a and real or complex right-hand sides b of shape (n, k).

    factors : the factorized a.  adjoint : True for ``a^-H b``.
    """
    b, dtype = as_double(b), factors.factors.dtype
    if dtype.kind == "f" and b.dtype.kind == "c":  # real and imaginary parts as columns
        pairs = np.ascontiguousarray(b).view(np.float64)
        return np.ascontiguousarray(factors.solve_system(pairs, adjoint)).view(np.complex128)
    return factors.solve_system(b.astype(dtype, copy=False), adjoint)


# --- inverses -------------------------------------------------------------------------------------
def inverse_by_factors(x: Any) -> Data | None:
    """Return the inverses of the stack x by cached or new factors of its matrices.

    Return None if the caller has to use ``linalg.inv``.
    """
    factors = matrix_factors(x) if may_be_known(x) else None
    if factors is None or any(matrix.singular for matrix in factors):
        return None
    found = [matrix.invert_matrix() for matrix in factors]
    whole = found[0] if x.ndim == 2 else np.stack(found).reshape(x.shape)
    # The rule of slogdet adds the adjoint of the result to C-contiguous cotangents, which is faster if
    # the adjoint is C-contiguous.
    return np.ascontiguousarray(whole.mT, x.dtype).mT


def cofactors_by_factors(x: Any) -> Data | None:
    """Return the cofactors det(x) x^-T of a matrix x, the derivative of its determinant.

    Return None if the caller has to use the SVD, which is exact for nearly singular matrices, too.
    Factors are used only if the condition number shows that they lose at most a quarter of the digits.
    """
    if not is_large_matrix(x) or libraries() is None or x.ndim > 2:
        return None
    (factors,) = cached_factors(x)
    det, precise = factors.determinant(), np.finfo(x.dtype).eps ** 0.25
    if factors.singular or not factors.reciprocal_condition(x) > precise:
        return None
    if not TINY < abs(det) < np.inf:
        return None
    found: Data = det * factors.invert_matrix().T
    return found.astype(x.dtype)


# --- through a Cholesky factor ----------------------------------------------------------------------
def through_cholesky(g: Any, y: Any) -> Data | None:
    """Return the cotangent of x for ``y = linalg.cholesky(x)`` and the cotangent g of y.

    Compute it with the inverse of the lower factor y, or return None if triangular systems have to be
    solved instead.  A diagonal g, such as that of a log-determinant, takes half of the work.  Raise
    LinAlgError if y is singular.
    """
    if type(y) in THROUGH:
        return THROUGH[type(y)](g, y)  # type: ignore[no-any-return]
    if not may_be_known(y) or type(g) is not np.ndarray or y.ndim > 2:
        return None
    lower, given = np.ascontiguousarray(as_double(y)), as_double(g)
    diagonal = lower.diagonal()
    if np.count_nonzero(diagonal) < len(lower):
        raise np.linalg.LinAlgError(SINGULAR)
    if is_diagonal(given):
        found = scaled_between_inverses(lower, (diagonal.conj() * given.diagonal()).real / 2.0)
    else:
        found = between_solutions(lower, given.astype(lower.dtype, copy=False))
    return found.astype(y.dtype, copy=False)


def is_diagonal(x: Data) -> bool:
    """Return True if the square matrix x is 0 off its diagonal."""
    n = len(x)
    if x[-1, 0] != 0 or x[-1, 0] != x[-1, 0]:  # one element shows it for most matrices
        return False
    # In rows of n + 1 elements, the first column holds the diagonal, but for its last element.
    rest = np.ascontiguousarray(x).reshape(-1)[:-1].reshape(n - 1, n + 1)[:, 1:]
    return not rest.any()


def between_solutions(lower: Data, g: Data) -> Data:
    """Return the cotangent of x for L = cholesky(x): the Hermitian part of ``L^-H P L^-1``.

    P is the lower triangle of ``L^H g``, with half its diagonal.  lower : L.  g : its cotangent.

    Source: Murray 2016, "Differentiation of the Cholesky decomposition", eq. 10.  The blocked recurrence
    of sec. 4.2 there is less work, but loses all digits if L is nearly singular.
    """
    P = lower.T.conj() @ g
    # A product with a mask would be NaN where elements above the diagonal are infinite.
    P = np.where(above_diagonal(len(P)), 0.0, P) if len(P) <= KEPT else np.tril(P)
    P.reshape(-1)[:: len(P) + 1] /= 2.0
    inverse = inverse_of_lower(lower)
    found: Data = inverse.T.conj() @ (P @ inverse) / 2.0
    return found + found.T.conj()


def scaled_between_inverses(lower: Data, weights: Data) -> Data:
    """Return ``L^-H diag(weights) L^-1`` for the lower triangular matrix L = ``lower``.

    The gradient of a log-determinant by cholesky has this form, which takes half of the usual work.
    """
    inverse = inverse_of_lower(lower).T
    if (weights >= 0.0).all():
        inverse *= np.sqrt(weights)
        return square(inverse.T)
    if (weights <= 0.0).all():
        inverse *= np.sqrt(-weights)
        return -square(inverse.T)
    both: Data = inverse * weights @ inverse.T.conj()
    return (both.T + both.conj()) / 2.0


__all__ = [
    "LEAST", "LEAST_KNOWN", "MOST", "cofactors_by_factors", "inverse_by_factors", "is_large_matrix",
    "may_be_known", "remember", "remembered", "solve_by_factors", "through_cholesky",
]  # fmt: skip
