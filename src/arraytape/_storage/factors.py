"""Cached factorizations of large NumPy matrices, for rules that solve with one matrix repeatedly.

``np.linalg`` returns no factors: each of its calls factorizes anew.  This module factorizes a matrix
once, by SciPy's LAPACK.  A triangle needs no factorization, nor does a matrix
whose Cholesky factor was recorded.  A matrix that is Hermitian to the last bit and positive definite
is factorized by Cholesky, which is half the work of elimination.  Functions of this module return None,
and rules call ``linalg.solve`` or ``linalg.inv``, for small matrices without cached factors, for other
storages than NumPy's, and without SciPy.

``TABLE`` maps the id of a matrix to its ``Known``, which refers to the matrix weakly.  A matrix in the
table must never be written to again, such as data that records keep.  Factors take as much memory as
the matrix, and twice as much in single precision, because they are in double precision.  They are freed
with the matrix, or after ``MOST`` other matrices were factorized.
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
    above,
    decomposed,
    inverted,
    libraries,
    square,
)

# The least number of rows of a matrix whose factors are looked up.  LEAST_KNOWN is for a matrix whose
# Cholesky factor was recorded, or which is such a factor.
LEAST = 64
LEAST_KNOWN = 8
NEITHER = "neither"  # a form that is neither LOWER nor UPPER
MOST = 16  # the number of matrices whose factors are cached
KEPT = 256  # the most rows for which the mask ``above`` is used; for more rows, np.tril is cheap enough
TINY = 1e-290  # a smaller determinant is not computed by factors: subnormal numbers lose digits
# ``through_cholesky`` for data of other storages, by type of data.
THROUGH: dict[type, Callable[[Any, Any], Any]] = {}


# --- cached properties and factors --------------------------------------------------------------
class Known:
    """The cached properties and factors of a matrix, or of all matrices of a stack.

    data : a weak reference to the array.
    factors : a list with one factorization for each matrix; empty before one is needed.
    results : a dict from op names to weak references to the ops' results for this array.
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


TABLE: dict[int, Known] = {}  # id of an array -> its Known
RECENT: deque[Known] = deque(maxlen=MOST)  # the values of TABLE that hold factors, oldest first


def forget_factors(at: int, known: Known | None) -> None:
    """Remove ``known``, the entry of a freed array with the id ``at``, from TABLE.

    Keep the entry of a new array that has the same id.
    """
    if known is not None:
        known.factors = []
        if TABLE.get(at) is known:
            TABLE.pop(at, None)


def about(x: Data) -> Known:
    """Return the entry of TABLE for the matrix or stack x; create it if TABLE has none."""
    known = TABLE.get(id(x))
    if known is None or known.data() is not x:
        known = TABLE[id(x)] = Known(x)
    return known


def transposed_source(x: Data) -> tuple[Data, bool]:
    """Return (matrix, True) if x is the transposed view of a real matrix in TABLE, else (x, False)."""
    known = TABLE.get(id(x.base))
    base = known.data() if known is not None else None
    if base is None or base is not x.base or x.ndim > 2 or x.dtype.kind == "c":
        return x, False
    turned = base.shape == x.shape and base.strides == x.strides[::-1]
    return (base, True) if turned else (x, False)


def remember(op: str, x: Data, *results: Data) -> None:
    """Cache the results of a recorded op on x; neither x nor the results may be written to later."""
    about(x).results[op] = [ref(y) for y in results]
    if op == "cholesky":
        about(results[0]).form = LOWER


def remembered(op: str, x: RawArray) -> list[Data] | None:
    """Return the cached results of an op on x; None if there are none or one was freed."""
    known = TABLE.get(id(x))
    results = known.results.get(op) if known is not None and known.data() is x else None
    if results is None:
        return None
    found = [y for y in (result() for result in results) if y is not None]
    return found if len(found) == len(results) else None


def form_of(x: Data) -> str:
    """Return LOWER or UPPER if all matrices in x are lower or upper triangular, else NEITHER."""
    known = about(x)
    if not known.form:
        known.form = NEITHER
        for form, corner, part in ((LOWER, (0, -1), np.triu), (UPPER, (-1, 0), np.tril)):
            if np.count_nonzero(x[(..., *corner)]):
                continue
            if not part(x, 1 if form == LOWER else -1).any():
                known.form = form
                break
    return known.form


def known_form_of(x: Data) -> str:
    """Return the cached result of ``form_of(x)``; NEITHER if there is none."""
    known = TABLE.get(id(x))
    return known.form or NEITHER if known is not None and known.data() is x else NEITHER


def is_hermitian(x: Data) -> bool:
    """Return True if all matrices of the stack x are Hermitian to the last bit."""
    known = about(x)
    if known.hermitian is None:
        turned = x.mT.conj() if x.dtype.kind == "c" else x.mT
        # The first row is compared first: most matrices that are not Hermitian differ there.
        known.hermitian = bool((x[..., 0, :] == turned[..., 0, :]).all() and (x == turned).all())
    return known.hermitian


def matrix_factors(x: Data) -> Sequence[Factors] | None:
    """Return the factors of each matrix of the stack x; None for small matrices without known factors.

    linalg.cholesky reads one triangle of its matrix only, and linalg.solve reads all elements.  So a
    recorded Cholesky factor is used only if the matrix is Hermitian.
    """
    recorded = remembered("cholesky", x)
    if recorded is not None and is_hermitian(x):
        return [Definite(lower) for lower in matrices(as_double(recorded[0]))]
    large = is_large_matrix(x)
    form = form_of(x) if large else known_form_of(x)
    if form != NEITHER:
        return [Triangle(one, form) for one in matrices(as_double(x))]
    return made_factors_of(x) if large else None


def made_factors_of(x: Data) -> list[Definite | Elimination]:
    """Return the cached factors of each matrix of the stack x; factorize if needed."""
    known = about(x)
    found = known.factors  # read once: another thread may replace the list by an empty one
    if not found:
        hermitian = is_hermitian(x)
        found = [decomposed(one, hermitian) for one in matrices(as_double(x))]
        known.factors = found
        if len(RECENT) == MOST:
            RECENT[0].factors = []
        RECENT.append(known)
    return found


def matrices(x: Data) -> Iterator[Data]:
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
    """Return True if factors of x may be in TABLE: x is large enough, and SciPy is installed."""
    return (
        is_square(x)
        and x.shape[-1] >= (LEAST_KNOWN if x.ndim == 2 else LEAST)
        and libraries() is not None
    )


def solve_by_factors(x1: Any, x2: Any, adjoint: bool) -> Data | None:
    """Return ``x1^-1 x2``, or ``x1^-H x2`` if ``adjoint``; None if the caller has to use ``solve``."""
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


def solve_columns(one: Factors, b: Data, adjoint: bool) -> Data:
    """Solve with one matrix for all right-hand sides b, of shape (..., n, k), in one call."""
    if b.ndim == 2:
        return by_factors(one, b, adjoint)
    rows = np.moveaxis(b, -2, 0)
    found = by_factors(one, rows.reshape(len(rows), -1), adjoint)
    return np.moveaxis(found.reshape(rows.shape), 0, -2)


def solve_stack(factors: Sequence[Factors], own: tuple[int, ...], b: Data, adjoint: bool) -> Data:
    """Return the solutions of a stack of systems with matrices of shape (n, n).

    factors : one for each matrix.  own : the shape of the stack, without the last two axes.
    """
    stack = np.broadcast_shapes(own, b.shape[:-2])
    places = np.broadcast_to(np.arange(len(factors)).reshape(own), stack)
    sides = np.broadcast_to(b, stack + b.shape[-2:])
    found = np.empty(sides.shape, np.result_type(factors[0].factors, as_double(b[:0])))
    for at, i in np.ndenumerate(places):
        found[at] = by_factors(factors[int(i)], sides[at], adjoint)
    return found


def by_factors(one: Factors, b: Data, adjoint: bool) -> Data:
    """Solve with one matrix for real or complex right-hand sides b of shape (n, k)."""
    b, dtype = as_double(b), one.factors.dtype
    if dtype.kind == "f" and b.dtype.kind == "c":  # real and imaginary parts as columns
        pairs = np.ascontiguousarray(b).view(np.float64)
        return np.ascontiguousarray(one.solve_system(pairs, adjoint)).view(np.complex128)
    return one.solve_system(b.astype(dtype, copy=False), adjoint)


# --- inverses -------------------------------------------------------------------------------------
def inverse_by_factors(x: Any) -> Data | None:
    """Return the inverses of the stack x by factors; None if the caller has to use ``linalg.inv``."""
    factors = matrix_factors(x) if may_be_known(x) else None
    if factors is None or any(one.singular for one in factors):
        return None
    found = [one.invert_matrix() for one in factors]
    whole = found[0] if x.ndim == 2 else np.stack(found).reshape(x.shape)
    # Rules add the adjoint to C-contiguous cotangents, so that the adjoint is made C-contiguous.
    return np.ascontiguousarray(whole.mT, x.dtype).mT


def cofactors_by_factors(x: Any) -> Data | None:
    """Return the derivative of the determinant of matrix x; None if the caller has to use the SVD.

    The SVD is exact for nearly singular matrices, too.  Factors are used only if the condition number
    shows that they lose at most a quarter of the digits.
    """
    if not is_large_matrix(x) or libraries() is None or x.ndim > 2:
        return None
    (one,) = made_factors_of(x)
    det, apart = one.determinant(), one.apart(x)
    if one.singular or not apart > np.finfo(x.dtype).eps ** 0.25 or not TINY < abs(det) < np.inf:
        return None
    found: Data = det * one.invert_matrix().T
    return found.astype(x.dtype)


# --- through a Cholesky factor ----------------------------------------------------------------------
def through_cholesky(g: Any, y: Any) -> Data | None:
    """Return the VJP of ``linalg.cholesky`` for the cotangent g of one lower factor y.

    The inverse of y is computed; the result is None if the caller has to solve systems with y instead.
    A diagonal g, such as that of a log-determinant, takes half of the work.  Raise LinAlgError if y is
    singular.
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
        found = between_inverses(lower, (diagonal.conj() * given.diagonal()).real / 2.0)
    else:
        found = between_solutions(lower, given.astype(lower.dtype, copy=False))
    return found.astype(y.dtype, copy=False)


def is_diagonal(x: Data) -> bool:
    """Return True if the square matrix x is 0 off its diagonal."""
    n = len(x)
    if x[-1, 0] != 0 or x[-1, 0] != x[-1, 0]:
        return False
    rest = np.ascontiguousarray(x).reshape(-1)[:-1].reshape(n - 1, n + 1)[:, 1:]
    return not rest.any()


def between_solutions(lower: Data, g: Data) -> Data:
    """Return the Hermitian part of ``L^-H P L^-1``, where P is the lower triangle of ``L^H g``.

    The diagonal of P is halved.

    Source: Murray 2016, "Differentiation of the Cholesky decomposition", eq. 10.  The blocked
    recurrence of sec. 4.2 there is less work, but loses all digits if L is nearly singular.
    """
    P = lower.T.conj() @ g
    # A product with a mask would be NaN where elements above the diagonal are infinite.
    P = np.where(above(len(P)), 0.0, P) if len(P) <= KEPT else np.tril(P)
    P.reshape(-1)[:: len(P) + 1] /= 2.0
    inverse = inverted(lower)
    found: Data = inverse.T.conj() @ (P @ inverse) / 2.0
    return found + found.T.conj()


def between_inverses(lower: Data, weights: Data) -> Data:
    """Return ``L^-H diag(weights) L^-1`` for the lower triangular matrix L = ``lower``."""
    inverse = inverted(lower).T
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
