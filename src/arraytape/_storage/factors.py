"""Factors of large matrices of NumPy's data, for rules that solve with one matrix again and again.

``np.linalg`` gives no factors out: each of its calls factors anew.  What rules ask for here factors a
matrix at most once, by SciPy's LAPACK, and not at all where it is a triangle or its Cholesky factor was
recorded.  Without SciPy, of small matrices and of other kinds of data nothing is known, and rules call
``linalg.solve`` and ``linalg.inv``.

Factors belong to the data of their matrix, weakly.  What is asked about must be data that nobody writes
to any more, such as records keep.  Factors by elimination take as much memory as the matrix (twice as
much in single precision, which NumPy, too, computes in double precision), until its data goes, or until
``MOST`` other matrices have been factored.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np

Data = np.ndarray[Any, Any]

LEAST = 64  # rows: factoring fewer takes no longer than looking for factors
MOST = 16  # matrices whose factors are kept while their data lives
LOWER, UPPER, NEITHER = "lower", "upper", "neither"  # where a matrix has elements other than 0
BLOCK = 64  # columns that LAPACK treats at once, in room of its own
SINGULAR = "Singular matrix"
TINY = 1e-290  # of a determinant: below, digits are lost
THROUGH: dict[type, Callable[[Any, Any], Any]] = {}  # ``through_cholesky`` by type of other data


@functools.cache
def libraries() -> Any:
    """SciPy's BLAS and LAPACK, or None."""
    try:
        from scipy.linalg import blas, lapack
    except ImportError:
        return None
    return blas, lapack


def routine(name: str, a: Data) -> Any:
    """The function of BLAS or LAPACK for data of a dtype in double precision."""
    blas, lapack = libraries()
    library = blas if name in ("trsm", "trsv", "trmm") else lapack
    return getattr(library, ("z" if a.dtype.kind == "c" else "d") + name)


# --- what is known ------------------------------------------------------------------------------
class Known:
    """What is known of a matrix, or of all matrices of a stack.

    data : the matrix, weakly.  eliminations : the factors of each.  results : what recorded ops gave for
    it, by their names, weakly.  form : whether it is a triangle, and hermitian : whether it is Hermitian
    to the last bit; "" and None as long as nobody has looked.
    """

    __slots__ = ("__weakref__", "data", "eliminations", "form", "hermitian", "results")

    def __init__(self, data: Data) -> None:
        at, this = id(data), ref(self)
        self.data = ref(data, lambda _: forget(at, this()))
        self.eliminations: list[Elimination] = []
        self.results: dict[str, list[ref[Data]]] = {}
        self.form = ""
        self.hermitian: bool | None = None


TABLE: dict[int, Known] = {}  # by id of the data
RECENT: deque[Known] = deque(maxlen=MOST)  # those with eliminations, the last one factored last


def forget(at: int, known: Known | None) -> None:
    """The data has gone; by now its id may be another's."""
    if known is not None:
        known.eliminations = []
        if TABLE.get(at) is known:
            TABLE.pop(at, None)


def about(x: Data) -> Known:
    """What is known of this data."""
    known = TABLE.get(id(x))
    if known is None or known.data() is not x:
        known = TABLE[id(x)] = Known(x)
    return known


def source(x: Data) -> tuple[Data, bool]:
    """The matrix of which x, real data, is the transpose, if there is one of which more is known."""
    known = TABLE.get(id(x.base))
    base = known.data() if known is not None else None
    if base is None or base is not x.base or x.ndim > 2 or x.dtype.kind == "c":
        return x, False
    turned = base.shape == x.shape and base.strides == x.strides[::-1]
    return (base, True) if turned else (x, False)


def remember(op: str, x: Data, *results: Data) -> None:
    """What a factorisation gave for x; all of it data that nobody writes to any more."""
    about(x).results[op] = [ref(y) for y in results]
    if op == "cholesky":
        about(results[0]).form = LOWER


def remembered(op: str, x: Any) -> list[Data] | None:
    """What a factorisation gave for this data, if that is still there."""
    if not is_large(x):
        return None
    results = about(x).results.get(op, [])
    found = [y for y in (result() for result in results) if y is not None]
    return found if found and len(found) == len(results) else None


def form_of(x: Data) -> str:
    """Whether all matrices of a stack are triangles."""
    known = about(x)
    if not known.form:
        known.form = NEITHER
        for form, corner, part in ((LOWER, (0, -1), np.triu), (UPPER, (-1, 0), np.tril)):
            if not x[(..., *corner)].any() and not part(x, 1 if form == LOWER else -1).any():
                known.form = form
                break
    return known.form


def cholesky_of(x: Data) -> Data | None:
    """The Cholesky factor that a record has, if x is Hermitian: solving reads all of x."""
    known, found = about(x), remembered("cholesky", x)
    if found is not None and known.hermitian is None:
        known.hermitian = np.array_equal(x, x.mT.conj())
    return found[0] if found is not None and known.hermitian else None


def eliminations_of(x: Data) -> list[Elimination]:
    """The factors of each matrix of a stack; another thread may forget what is known meanwhile."""
    known = about(x)
    found = known.eliminations
    if not found:
        found = known.eliminations = [Elimination(a) for a in matrices(in_double(x))]
        if len(RECENT) == MOST:
            RECENT[0].eliminations = []
        RECENT.append(known)
    return found


def matrices(x: Data) -> Iterator[Data]:
    """The matrices of a stack, one after the other."""
    return iter(x.reshape(-1, *x.shape[-2:]))


def in_double(x: Data) -> Data:
    """Data in double precision."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


class Elimination:
    """The factors of a matrix by Gaussian elimination.

    turned : they are those of the transpose, which has LAPACK's memory layout.
    """

    __slots__ = ("factors", "order", "singular", "turned")

    def __init__(self, a: Data) -> None:
        self.turned = bool(a.flags.c_contiguous)
        self.factors, self.order, info = routine("getrf", a)(a.T if self.turned else a)
        self.singular = info > 0

    def checked(self) -> Elimination:
        """These factors; LinAlgError where the matrix is singular."""
        if self.singular:
            raise np.linalg.LinAlgError(SINGULAR)
        return self

    def solve(self, b: Data, adjoint: bool) -> Data:
        """``a^-1 b`` or ``a^-H b``."""
        self.checked()
        if not self.turned:
            return self.columns(b, 2 if adjoint else 0)
        return self.columns(b.conj(), 0).conj() if adjoint else self.columns(b, 1)

    def columns(self, b: Data, transpose: int) -> Data:
        """``m^-1 b`` of the matrix m that was factored, of its transpose (1), or its adjoint (2)."""
        found: Data = routine("getrs", b)(self.factors, self.order, b, trans=transpose)[0]
        return found

    def slogdet(self) -> tuple[Any, Any]:
        """The sign of ``det(a)`` and the logarithm of its absolute value; of real data."""
        values = np.diagonal(self.factors)
        swaps = np.count_nonzero(self.order != np.arange(len(values)))
        if self.singular:
            return np.asarray(0.0), np.asarray(-np.inf)
        odd = (swaps + np.count_nonzero(values < 0.0)) % 2
        return np.asarray(-1.0 if odd else 1.0), np.asarray(np.log(np.abs(values)).sum())

    def inverse(self) -> Data:
        """``a^-1``."""
        room = BLOCK * len(self.factors)
        found: Data = routine("getri", self.factors)(self.factors, self.order, lwork=room)[0]
        return found.T if self.turned else found


# --- systems --------------------------------------------------------------------------------------
def is_large(x: Any) -> bool:
    """Whether x is NumPy's data: a large matrix, or a stack of such."""
    return (
        type(x) is np.ndarray and x.ndim > 1 and x.shape[-1] == x.shape[-2] >= LEAST
        and x.size > 0 and x.dtype.kind in "fc"
    )  # fmt: skip


def is_known(x: Any) -> bool:
    """Whether one may ask about x."""
    return is_large(x) and libraries() is not None


def solved(x1: Any, x2: Any, adjoint: bool) -> Data | None:
    """``x1^-1 x2`` or ``x1^-H x2`` by factors, as ``linalg.solve`` gives it; None where it is to."""
    if not is_known(x1) or type(x2) is not np.ndarray or x2.dtype.kind not in "fc":
        return None
    vector = x2.ndim == 1
    columns = x2[:, None] if vector else x2
    if not columns.size or columns.shape[-2] != x1.shape[-1]:
        return None
    dtype = np.result_type(x1, x2)
    found = stacked(x1, columns, adjoint) if x1.ndim > 2 else folded(x1, columns, adjoint)
    found = np.ascontiguousarray(found, dtype)
    return found[..., 0] if vector else found


def folded(x: Data, b: Data, adjoint: bool) -> Data:
    """Of one matrix: the columns of all right-hand sides at once."""
    if b.ndim == 2:
        return by_factors(x, 0, b, adjoint)
    rows = np.moveaxis(b, -2, 0)
    found = by_factors(x, 0, rows.reshape(len(rows), -1), adjoint)
    return np.moveaxis(found.reshape(rows.shape), 0, -2)


def stacked(x: Data, b: Data, adjoint: bool) -> Data:
    """Of a stack of matrices: one after the other."""
    stack = np.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    own = np.arange(math.prod(x.shape[:-2])).reshape(x.shape[:-2])
    sides = np.broadcast_to(b, stack + b.shape[-2:])
    found = np.empty(sides.shape, np.result_type(in_double(x[:0]), in_double(b[:0])))
    for at, i in np.ndenumerate(np.broadcast_to(own, stack)):
        found[at] = by_factors(x, int(i), sides[at], adjoint)
    return found


def by_factors(x: Data, i: int, b: Data, adjoint: bool) -> Data:
    """Of the i-th matrix of a stack: as a triangle, by its Cholesky factor, else by elimination."""
    x, turned = source(x)
    b = in_double(b)
    if x.dtype.kind == "f" and b.dtype.kind == "c":  # real and imaginary parts as columns
        pairs = np.ascontiguousarray(b).view(np.float64)
        return np.ascontiguousarray(by_factors(x, i, pairs, adjoint != turned)).view(np.complex128)
    b, adjoint = b.astype(in_double(x[:0]).dtype, copy=False), adjoint != turned
    form = form_of(x)
    if form != NEITHER:
        return over_triangle(one_of(x, i), form, b, adjoint)
    factor = cholesky_of(x)
    if factor is not None:
        lower = one_of(factor, i)
        return over_triangle(lower, LOWER, over_triangle(lower, LOWER, b, False), True)
    return eliminations_of(x)[i].solve(b, adjoint)


def one_of(x: Data, i: int) -> Data:
    """The i-th matrix of a stack, in double precision."""
    return in_double(x if x.ndim == 2 else x.reshape(-1, *x.shape[-2:])[i])


def over_triangle(a: Data, form: str, b: Data, adjoint: bool) -> Data:
    """``a^-1 b`` or ``a^-H b`` of a triangle."""
    if not np.diagonal(a).all():
        raise np.linalg.LinAlgError(SINGULAR)
    # As y^T a^T = b^T: transposes of data in the order of C are in that of LAPACK.
    turned = np.ascontiguousarray(a).T
    transpose = (2 if a.dtype.kind == "c" else 1) if adjoint else 0
    if b.shape[1] == 1 and a.dtype.kind == "f":
        column = routine("trsv", a)(turned, b[:, 0], lower=form == UPPER, trans=not adjoint)
        return column[:, None]  # type: ignore[no-any-return]
    rows = np.array(b, order="C").T
    found: Data = routine("trsm", a)(
        1.0, turned, rows, side=1, lower=form == UPPER, trans_a=transpose, overwrite_b=1
    )
    return found.T


# --- inverses -------------------------------------------------------------------------------------
def inverse(x: Any) -> Data | None:
    """Inverses by factors, as ``linalg.inv`` gives them; None where it is to."""
    if not is_known(x):
        return None
    factor = cholesky_of(x)
    if factor is not None:
        found = [between_inverses(in_double(one), np.ones(len(one))) for one in matrices(factor)]
    elif any(one.singular for one in eliminations_of(x)):
        return None
    else:
        found = [one.inverse() for one in eliminations_of(x)]
    whole = found[0] if x.ndim == 2 else np.stack(found).reshape(x.shape)
    return whole.astype(x.dtype, copy=False)


def cofactors(x: Any) -> Data | None:
    """The determinant's derivative of one matrix; None where it has to come from singular values.

    As they are exact also where the matrix is singular, this loses a quarter of the digits at most.
    """
    if not is_known(x) or x.ndim > 2:
        return None
    (one,) = eliminations_of(x)
    values = np.diagonal(one.factors)
    swaps = np.count_nonzero(one.order != np.arange(len(values)))
    det = np.prod(values) * (-1.0) ** swaps
    norm = np.linalg.norm(x.T if one.turned else x, 1)
    apart: float = routine("gecon", values)(one.factors, norm)[0]
    if one.singular or not apart > np.finfo(x.dtype).eps ** 0.25 or not TINY < abs(det) < np.inf:
        return None
    found: Data = det * one.inverse().T
    return found.astype(x.dtype)


# --- through a Cholesky factor ----------------------------------------------------------------------
def through_cholesky(g: Any, y: Any) -> Data | None:
    """``linalg.cholesky``'s rule for a cotangent of the lower factor of one matrix of NumPy's data.

    It does half the work of the general one, which products and systems make up: it leaves out what is
    0 in triangles.  A cotangent of the diagonal alone, as that of a determinant, needs a sixth.
    """
    if type(y) in THROUGH:
        return THROUGH[type(y)](g, y)  # type: ignore[no-any-return]
    if not is_known(y) or type(g) is not np.ndarray or y.ndim > 2:
        return None
    lower, given = np.ascontiguousarray(in_double(y)), in_double(g)
    if not np.diagonal(lower).all():
        raise np.linalg.LinAlgError(SINGULAR)
    if is_diagonal(given):
        weights = np.real(np.diagonal(lower).conj() * np.diagonal(given)) / 2.0
        found = between_inverses(lower, weights)
    else:
        found = between_solutions(lower, given.astype(lower.dtype, copy=False))
    return found.astype(y.dtype, copy=False)


def is_diagonal(x: Data) -> bool:
    """Whether a matrix is 0 but for its diagonal."""
    n = len(x)
    if x[-1, 0] != 0 or x[-1, 0] != x[-1, 0]:
        return False
    rest = np.ascontiguousarray(x).reshape(-1)[:-1].reshape(n - 1, n + 1)[:, 1:]
    return not rest.any()


def between_solutions(lower: Data, g: Data) -> Data:
    """The Hermitian part of ``L^-H P L^-1``; P: the lower triangle of ``L^H g``, half its diagonal."""
    turned, solve = lower.T, routine("trsm", lower)  # transposes, in the memory layout of BLAS
    P = routine("trmm", g)(1.0, turned, g.T, side=1, trans_a=2)
    P.T.reshape(-1)[:: len(P) + 1] /= 2.0
    np.copyto(P, 0.0, where=below(len(P)))  # what g has above its diagonal, too
    half = solve(0.5, turned, P, overwrite_b=1)
    found: Data = solve(1.0, turned, half, side=1, trans_a=2, overwrite_b=1)
    return found.T + (found.conj() if found.dtype.kind == "c" else found)


@functools.lru_cache(maxsize=4)
def below(n: int) -> Data:
    """Where a matrix is below its diagonal, in the order of LAPACK."""
    return np.asfortranarray(np.tri(n, k=-1, dtype=np.bool_))


def between_inverses(lower: Data, weights: Data) -> Data:
    """``L^-H diag(weights) L^-1``."""
    inverse = routine("trtri", lower)(np.ascontiguousarray(lower).T)[0]  # transposed
    if (weights >= 0.0).all() or (weights <= 0.0).all():
        # One triangle of the square of a triangle, transposed.
        inverse *= np.sqrt(np.abs(weights))
        part: Data = routine("lauum", lower)(inverse, overwrite_c=1)[0].T
        part.reshape(-1)[:: len(part) + 1] /= 2.0
        other = part.T.conj() if part.dtype.kind == "c" else part.T
        return part + other if (weights >= 0.0).all() else -part - other
    square: Data = routine("trmm", lower)(1.0, inverse, inverse * weights, side=1, trans_a=2)
    return (square.T + square.conj()) / 2.0


__all__ = [
    "LEAST", "LOWER", "MOST", "Elimination", "cofactors", "inverse", "is_large", "libraries",
    "over_triangle", "remember", "remembered", "solved", "through_cholesky",
]  # fmt: skip
