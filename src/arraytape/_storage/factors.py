"""Factors of large matrices of NumPy's data, for rules that solve with one matrix again and again.

``np.linalg`` gives no factors out: each of its calls factors anew.  What rules ask for here factors a
matrix at most once, by SciPy's LAPACK, and not at all where it is a triangle or its Cholesky factor was
recorded.  One that is Hermitian to the last bit is factored by Cholesky, if it is positive definite:
half the work of elimination.  For small matrices of which nothing is known, for other kinds of data, and
without SciPy, rules call ``linalg.solve`` and ``linalg.inv``.

Factors belong to the data of their matrix, weakly.  What is asked about must be data that nobody writes
to any more, such as records keep.  Factors take as much memory as the matrix (twice as much in single
precision, which NumPy, too, computes in double precision), until its data goes, or until ``MOST`` other
matrices have been factored.
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

LEAST = 64  # rows: factoring fewer takes no longer than looking for factors
LEAST_KNOWN = 8  # rows of a matrix whose Cholesky factor was recorded, or which is one
NEITHER = "neither"  # LOWER nor UPPER
MOST = 16  # matrices whose factors are kept while their data lives
KEPT = 256  # rows: to find out what is above more takes no time beside the products
TINY = 1e-290  # of a determinant: below, digits are lost
THROUGH: dict[type, Callable[[Any, Any], Any]] = {}  # ``through_cholesky`` by type of other data


# --- what is known ------------------------------------------------------------------------------
class Known:
    """The known factors of a matrix, or of all matrices of a stack.

    data : the matrix, weakly.  factors : those of each, if rules have asked for them.  results : what
    recorded ops gave for it, by their names, weakly.  form : whether it is a triangle, and hermitian :
    whether it is Hermitian to the last bit; "" and None as long as nobody has looked.
    """

    __slots__ = ("__weakref__", "data", "factors", "form", "hermitian", "results")

    def __init__(self, data: Data) -> None:
        at, this = id(data), ref(self)
        self.data = ref(data, lambda _: forget_factors(at, this()))
        self.factors: list[Definite | Elimination] = []
        self.results: dict[str, list[ref[Data]]] = {}
        self.form = ""
        self.hermitian: bool | None = None


TABLE: dict[int, Known] = {}  # by id of the data
RECENT: deque[Known] = deque(maxlen=MOST)  # those with factors, the last one factored last


def forget_factors(at: int, known: Known | None) -> None:
    """The data has gone; by now its id may be another's."""
    if known is not None:
        known.factors = []
        if TABLE.get(at) is known:
            TABLE.pop(at, None)


def about(x: Data) -> Known:
    """Return the known factors of this data."""
    known = TABLE.get(id(x))
    if known is None or known.data() is not x:
        known = TABLE[id(x)] = Known(x)
    return known


def transposed_source(x: Data) -> tuple[Data, bool]:
    """The matrix of which x, real data, is the transpose, if there is one of which more is known."""
    known = TABLE.get(id(x.base))
    base = known.data() if known is not None else None
    if base is None or base is not x.base or x.ndim > 2 or x.dtype.kind == "c":
        return x, False
    turned = base.shape == x.shape and base.strides == x.strides[::-1]
    return (base, True) if turned else (x, False)


def remember(op: str, x: Data, *results: Data) -> None:
    """Keep the factors of x, all of it data that nobody writes to any more."""
    about(x).results[op] = [ref(y) for y in results]
    if op == "cholesky":
        about(results[0]).form = LOWER


def remembered(op: str, x: RawArray) -> list[Data] | None:
    """Return the factors of this data, if they are still there."""
    known = TABLE.get(id(x))
    results = known.results.get(op) if known is not None and known.data() is x else None
    if results is None:
        return None
    found = [y for y in (result() for result in results) if y is not None]
    return found if len(found) == len(results) else None


def form_of(x: Data) -> str:
    """Return True if all matrices of a stack are triangles."""
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
    """Return True if x is known to be a triangle, without a look."""
    known = TABLE.get(id(x))
    return known.form or NEITHER if known is not None and known.data() is x else NEITHER


def is_hermitian(x: Data) -> bool:
    """Return True if all matrices of a stack are Hermitian to the last bit."""
    known = about(x)
    if known.hermitian is None:
        turned = x.mT.conj() if x.dtype.kind == "c" else x.mT
        # Few matrices that are not agree in the first row and column.
        known.hermitian = bool((x[..., 0, :] == turned[..., 0, :]).all() and (x == turned).all())
    return known.hermitian


def matrix_factors(x: Data) -> Sequence[Factors] | None:
    """Return the factors of each matrix of a stack: what is known, else by factoring large ones.

    Solving reads all of a matrix, so that a recorded Cholesky factor, which came from one triangle, is
    that of a Hermitian one alone.
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
    """Return the factors that rules have made, or make now; another thread may forget them meanwhile."""
    known = about(x)
    found = known.factors
    if not found:
        hermitian = is_hermitian(x)
        found = [decomposed(one, hermitian) for one in matrices(as_double(x))]
        known.factors = found
        if len(RECENT) == MOST:
            RECENT[0].factors = []
        RECENT.append(known)
    return found


def matrices(x: Data) -> Iterator[Data]:
    """Return the matrices of a stack, one after the other."""
    return iter(x.reshape(-1, *x.shape[-2:]))


def as_double(x: Data) -> Data:
    """Data in double precision."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


# --- systems --------------------------------------------------------------------------------------
def is_square(x: RawArray) -> bool:
    """Return True if x is NumPy's data: a matrix, or a stack of such."""
    return (
        type(x) is np.ndarray and x.ndim > 1 and x.shape[-1] == x.shape[-2]
        and x.size > 0 and x.dtype.kind in "fc"
    )  # fmt: skip


def is_large_matrix(x: RawArray) -> bool:
    """Return True if x is a large matrix of NumPy's data, or a stack of such."""
    return is_square(x) and x.shape[-1] >= LEAST


def may_be_known(x: RawArray) -> bool:
    """Return True if one may ask about x: it is large, or one matrix that is not too small."""
    return (
        is_square(x)
        and x.shape[-1] >= (LEAST_KNOWN if x.ndim == 2 else LEAST)
        and libraries() is not None
    )


def solve_by_factors(x1: Any, x2: Any, adjoint: bool) -> Data | None:
    """``x1^-1 x2`` or ``x1^-H x2`` by factors, as ``linalg.solve`` gives it; None where it is to."""
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
    """Solve with one matrix, for the columns of all right-hand sides at once."""
    if b.ndim == 2:
        return by_factors(one, b, adjoint)
    rows = np.moveaxis(b, -2, 0)
    found = by_factors(one, rows.reshape(len(rows), -1), adjoint)
    return np.moveaxis(found.reshape(rows.shape), 0, -2)


def solve_stack(factors: Sequence[Factors], own: tuple[int, ...], b: Data, adjoint: bool) -> Data:
    """Solve with a stack of matrices, of shape ``own``, one after the other."""
    stack = np.broadcast_shapes(own, b.shape[:-2])
    places = np.broadcast_to(np.arange(len(factors)).reshape(own), stack)
    sides = np.broadcast_to(b, stack + b.shape[-2:])
    found = np.empty(sides.shape, np.result_type(factors[0].factors, as_double(b[:0])))
    for at, i in np.ndenumerate(places):
        found[at] = by_factors(factors[int(i)], sides[at], adjoint)
    return found


def by_factors(one: Factors, b: Data, adjoint: bool) -> Data:
    """Solve with one matrix, for right-hand sides of either kind."""
    b, dtype = as_double(b), one.factors.dtype
    if dtype.kind == "f" and b.dtype.kind == "c":  # real and imaginary parts as columns
        pairs = np.ascontiguousarray(b).view(np.float64)
        return np.ascontiguousarray(one.solve_system(pairs, adjoint)).view(np.complex128)
    return one.solve_system(b.astype(dtype, copy=False), adjoint)


# --- inverses -------------------------------------------------------------------------------------
def inverse_by_factors(x: Any) -> Data | None:
    """Inverses by factors, in the values of ``linalg.inv``; None where it is to give them."""
    factors = matrix_factors(x) if may_be_known(x) else None
    if factors is None or any(one.singular for one in factors):
        return None
    found = [one.invert_matrix() for one in factors]
    whole = found[0] if x.ndim == 2 else np.stack(found).reshape(x.shape)
    # Rules take the adjoint, which is to be in the order of C, as what it is added to.
    return np.ascontiguousarray(whole.mT, x.dtype).mT


def cofactors_by_factors(x: Any) -> Data | None:
    """Return the determinant's derivative of one matrix; None where it has to come from singular values.

    As they are exact also where the matrix is singular, this loses a quarter of the digits at most.
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
    """``linalg.cholesky``'s rule for a cotangent of the lower factor of one matrix of NumPy's data.

    Its systems are products with the inverse of the triangle.  A cotangent of the diagonal alone, as
    that of a determinant, takes half of the work.
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
    """Return True if a matrix is 0 but for its diagonal."""
    n = len(x)
    if x[-1, 0] != 0 or x[-1, 0] != x[-1, 0]:
        return False
    rest = np.ascontiguousarray(x).reshape(-1)[:-1].reshape(n - 1, n + 1)[:, 1:]
    return not rest.any()


def between_solutions(lower: Data, g: Data) -> Data:
    """The Hermitian part of ``L^-H P L^-1``; P: the lower triangle of ``L^H g``, half its diagonal.

    Source: Murray 2016, "Differentiation of the Cholesky decomposition", eq. 10.  The recurrence of
    blocks in sec. 4.2 there does less, and loses all digits where L is near a singular matrix.
    """
    P = lower.T.conj() @ g
    # What is above the diagonal is left out, also where it is not finite.
    P = np.where(above(len(P)), 0.0, P) if len(P) <= KEPT else np.tril(P)
    P.reshape(-1)[:: len(P) + 1] /= 2.0
    inverse = inverted(lower)
    found: Data = inverse.T.conj() @ (P @ inverse) / 2.0
    return found + found.T.conj()


def between_inverses(lower: Data, weights: Data) -> Data:
    """``L^-H diag(weights) L^-1``."""
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
