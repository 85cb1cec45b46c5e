"""The linalg extension of the standard: solvers, factorisations, eigenvalues, norms and products.

The derivative rules of its ops are in ``_factorisations`` and ``_spectral``.

>>> import arraytape as xp
>>> a = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
>>> print(xp.linalg.eigvalsh(a))
[1.38196601 3.61803399]
>>> print(xp.grad(lambda a: xp.linalg.slogdet(a).logabsdet)(a))
[[ 0.6 -0.2]
 [-0.2  0.4]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .._array.array import Array, asarray_like
from .._array.paths import DIAGONAL
from .._array.views import lay_out_like
from .._define.words import composite, primitive, sample, without_derivative
from .._record.op_facts import FACTS
from .._storage.standard import Axis
from .._util.errors import describe, missing_from, short_repr, user_line
from . import _factorisations as rules
from . import _spectral as spectral
from .creation_functions import eye, zeros
from .elementwise_functions import abs as absolute
from .elementwise_functions import conj, multiply, subtract
from .linear_algebra_functions import matmul, matrix_transpose, regular, tensordot, vecdot
from .manipulation_functions import (
    expand_dims,
    moveaxis,
    normalize_axis_index,
    read_only,
    stack,
    view_or_frozen_copy,
)
from .searching_functions import where
from .statistical_functions import max as maximum_of
from .statistical_functions import min as minimum_of
from .statistical_functions import sum as sum_of

if TYPE_CHECKING:
    from .data_type_functions import DType


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


for _alias in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
    FACTS[f"linalg.{_alias}"] = FACTS[_alias]
SQUARE = tuple(sample(shape) for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2)))


def positive_definite(x: Array) -> Array:
    """Return x @ x^H + 2 I, a Hermitian positive-definite argument for the generated tests."""
    return x @ matrix_transpose(conj(x)) + asarray_like(x, 2.0 * np.eye(x.shape[-1]))


def hermitian(x: Array) -> Array:
    """Return x + x^H, a Hermitian argument for the generated tests."""
    return x + matrix_transpose(conj(x))


# --- systems and inverses -----------------------------------------------------------------------
@primitive(
    joint=rules.solve_vjp,
    samples=(
        sample((3, 3), (3, 2), prepare=regular),
        sample((3, 3), (3,), prepare=regular),
        sample((2, 3, 3), (3, 2), prepare=regular),
        sample((1, 1), (1, 1), prepare=regular),
        sample((0, 0), (0, 2), prepare=regular),
        sample((0, 2, 2), (2,), prepare=regular),
    ),
    signature="(N,N),(N,k?)->(N,k?)",
    continuous=True,
    promotes="all",
)
def solve(x1: Array, x2: Array, /) -> Array:
    """Solve the linear equations x1 @ x = x2 for x.

    Parameters
    ----------
    x1
        Square matrices of shape (..., N, N), of floating-point dtype.
    x2
        Right-hand sides: one vector of shape (N,), or matrices of shape (..., N, K).

    Returns
    -------
    Array
        The solutions, of shape (..., N) for one vector, else (..., N, K).
        Its dtype is the dtype to which those of x1 and x2 promote.

    Raises
    ------
    LinAlgError
        When x1 is singular, or its last two axes differ in length.
    ValueError
        When the lengths N differ, or the other axes do not broadcast.

    Notes
    -----
    If SciPy is installed, the backward pass factors a matrix of 64 rows or more only once,
    for the gradients of ``solve``, ``slogdet`` and ``det`` and derivatives of any order.  A matrix that
    is positive definite and exactly Hermitian is factored by Cholesky's method.  Triangular matrices are
    not factored, nor are matrices of 8 rows or more whose ``cholesky`` was recorded.  The factors take
    as much memory as the matrix.  They are kept as long as the data of the matrix exists, for at most 16
    matrices.
    """


@primitive(
    rules.inv_vjp,
    samples=[s._replace(prepare=regular) for s in SQUARE],
    signature="(N,N)->(N,N)",
    takes="square",
    continuous=True,
)
def inv(x: Array, /) -> Array:
    """Invert square matrices.

    Returns
    -------
    Array
        Of the shape and dtype of x.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or a matrix is singular.
    """


@primitive(rules.pinv_vjp, None, samples=(
    sample((4, 3)), sample((2, 3)), sample((2, 3, 3), prepare=regular), sample((2, 4, 2)),
    sample((1, 1)), sample((0, 2, 2)),
), signature="(M,N),()->(N,M)", takes="matrices")  # fmt: skip
def pinv(x: Array, /, *, rtol: Array | float | None = None) -> Array:
    """Compute the Moore-Penrose pseudo-inverse of matrices.

    Returns
    -------
    Array
        Of shape (..., N, M) and the dtype of x.

    Raises
    ------
    LinAlgError
        When x has fewer than two dimensions, or the computation of the singular values does not
        converge.
    ValueError
        When x has an integer dtype.
    """


@primitive(rules.det_vjp, samples=(
    *SQUARE, sample((4, 4)), sample(np.eye(4)), sample(np.zeros((3, 3))),
    sample(np.diag([0.0, 0.0, 2.0])),
    sample(np.asarray([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])),
), continuous=True, signature="(N,N)->()", takes="square")  # fmt: skip
def det(x: Array, /) -> Array:
    """Compute the determinant of square matrices.

    Returns
    -------
    Array
        Of shape (...) and the dtype of x.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length.

    Notes
    -----
    The first and second derivatives are exact also where x is singular.
    """


@primitive(
    joint=rules.slogdet_vjp,
    outputs=("sign", "logabsdet"),
    samples=SQUARE,
    signature="(N,N)->(),()",
    takes="square",
)
def slogdet(x: Array, /) -> SlogdetResult:
    """Compute the sign and the logarithm of the absolute value of the determinant of square matrices.

    Returns
    -------
    SlogdetResult
        A named tuple of ``sign``, of the dtype of x, and ``logabsdet``, of the real dtype of the same
        precision, both of shape (...).

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length.

    Notes
    -----
    Where x is singular, the derivative of the logarithm is infinite, and the gradient is inf.
    """


@composite(takes="square")
def matrix_power(x: Array, n: int, /) -> Array:
    """Raise square matrices to an integer power.

    Parameters
    ----------
    n
        The exponent; for a negative n the result is a power of the inverse.

    Returns
    -------
    Array
        Of the shape and dtype of x; for n = 1 it is x itself.

    Raises
    ------
    TypeError
        When n is not an integer.
    LinAlgError
        When the last two axes of x differ in length, or n is negative and a matrix is singular.
    """
    if not hasattr(n, "__index__"):
        raise TypeError(
            f"linalg.matrix_power: n must be an integer, got {describe(n)} [at {user_line()}]"
        )
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(
            f"linalg.matrix_power: needs square matrices, got {describe(x)} [at {user_line()}]"
        )
    n = n.__index__()
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:  # ``where`` records x as an input, so that its gradient is 0, not None
        nowhere = zeros(x.shape, dtype=np.bool_, device=x.device)
        one = where(nowhere, x, eye(x.shape[-1], dtype=x.dtype, device=x.device))
        return lay_out_like(one, x)
    power: Array | None = None
    square = x
    while True:
        if n & 1:
            power = square if power is None else matmul(power, square)
        n >>= 1
        if not n:
            assert power is not None
            return power
        square = matmul(square, square)


# --- factorisations -------------------------------------------------------------------------------
@primitive(rules.cholesky_vjp_lower, saves={"factor": rules.remember_cholesky}, samples=(
    *[s._replace(prepare=positive_definite) for s in SQUARE],
    sample((2, 3, 3), prepare=positive_definite, upper=True),
), signature="(N,N)->(N,N)", takes="Hermitian", continuous=True)  # fmt: skip
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Compute the Cholesky factor of Hermitian positive-definite matrices.

    Parameters
    ----------
    upper
        True to return the upper triangle U with U^H @ U = x; False for the lower triangle L with
        L @ L^H = x.

    Returns
    -------
    Array
        Triangular matrices of the shape and dtype of x.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or a matrix is not positive definite.

    Notes
    -----
    Only the lower triangle is read, so the gradient is 0 in the upper triangle.  For a gradient that is
    Hermitian, replace x by ``(x + conj(matrix_transpose(x))) / 2.0``.
    """


@primitive(joint=rules.qr_vjp, outputs=("Q", "R"), saves=rules.NONE_UNREAD, samples=(
    sample((4, 3)), sample((3, 3), mode="complete"), sample((2, 2, 4)), sample((2, 4, 2)),
    sample((1, 1)), sample((0, 0)), sample((0, 2)), sample((2, 0)), sample((0, 3, 2)),
), signature="(M,N)->(M,K),(K,N)", takes="matrices")  # fmt: skip
def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Compute the QR factorisation of matrices: Q has orthonormal columns, R is upper triangular.

    Parameters
    ----------
    mode
        'reduced': Q of shape (..., M, K), R (..., K, N), with K = min(M, N).
        'complete': Q of shape (..., M, M), R (..., M, N).

    Returns
    -------
    QRResult
        A named tuple of ``Q`` and ``R``, of the dtype of x, with Q @ R = x.

    Raises
    ------
    LinAlgError
        When x has fewer than two dimensions.
    ValueError
        When mode is another word.  In the backward pass, when mode is 'complete' and the target
        depends on the choice of the last M - N columns of Q.

    Notes
    -----
    Where a column of x is linearly dependent on earlier columns, the corresponding column of
    Q is arbitrary (free).  In reverse mode, the gradient of a function that does not depend on free
    columns, and does not read the 0 on the diagonal of R, is exact to first order.  An example is a
    function of the space that the columns span, as in randomized methods.  For any other function the
    gradient is NaN.  In forward mode the tangent of a free column is NaN or, where the 0 is a rounding
    error, meaningless.
    """


@primitive(
    joint=spectral.svd_vjp,
    outputs=("U", "S", "Vh"),
    saves=rules.NO_LIMITS | {"factors": rules.remember_svd},
    cusped=lambda kept: spectral.nearly_coincide(kept("S")),
    samples=(
        sample((3, 3), full_matrices=False),
        sample((5, 3), full_matrices=False),
        sample((2, 4), full_matrices=False),
        sample((2, 4, 2), full_matrices=False),
        *SQUARE[1:],
        sample((0, 2), full_matrices=False),
        sample((2, 0), full_matrices=False),
    ),
    signature="(M,N)->(M,I),(K),(J,N)",
    takes="matrices",
)
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Compute the singular value decomposition of matrices: x = U @ diag(S) @ Vh.

    Parameters
    ----------
    full_matrices
        True: U has shape (..., M, M) and Vh (..., N, N).  False: U has shape (..., M, K) and Vh
        (..., K, N), with K = min(M, N).

    Returns
    -------
    SVDResult
        A named tuple of ``U``, of the dtype of x; ``S``, of shape (..., K), in descending order
        and of the real dtype of the same precision; and ``Vh``, of the dtype of x.

    Raises
    ------
    LinAlgError
        When x has fewer than two dimensions, or the decomposition does not converge.
    ValueError
        In the backward pass, when full_matrices is True and the target depends on the choice of the
        extra columns of U or V.  They may be any orthonormal basis of the rest of the space.

    Notes
    -----
    Where singular values coincide, their vectors (columns of U and V) are an arbitrary
    basis.  The derivatives of a function that does not depend on the choice of basis are exact.
    Examples are U @ diag(S) @ Vh, U @ Vh, and the projector on the space that the vectors span.  For any
    other function of the vectors the gradient is NaN, with a warning.

    A matrix of low rank has several singular values of 0, which rounding errors usually make nonzero and
    different.  If a function scales the vectors of these values by the values, or does not use the
    vectors, its gradient is exact to first order.  In reverse mode the gradient is also exact if a
    function uses neither these values nor, to first order, their vectors.  Examples are a truncated
    decomposition and a pseudo-inverse that omits zeros.  In forward mode, where the later use of a
    tangent is unknown, tangents are NaN where several values are 0.

    The phases of complex vectors are arbitrary: a gradient is correct only for a function that does not
    depend on the phases.
    """


@primitive(spectral.svdvals_vjp, samples=(
    *SQUARE, sample((4, 3)), sample((2, 2, 3)), sample((0, 2)), sample((2, 0)),
), continuous=True, signature="(M,N)->(K)", takes="matrices")  # fmt: skip
def svdvals(x: Array, /) -> Array:
    """Compute the singular values of matrices, in descending order.

    Returns
    -------
    Array
        Of shape (..., min(M, N)) and the real dtype of the precision of x.

    Raises
    ------
    LinAlgError
        When x has fewer than two dimensions, or the computation does not converge.

    Notes
    -----
    Where values coincide, the gradient of a function that is symmetric in these values is exact.  Second
    derivatives by nested tapes are exact, too; in forward mode they may be NaN there.
    """


@primitive(
    joint=spectral.eigh_vjp_lower,
    outputs=("eigenvalues", "eigenvectors"),
    saves=rules.NO_LIMITS | {"factors": rules.remember_eigh},
    cusped=lambda kept: spectral.nearly_coincide(kept("eigenvalues")),
    samples=[s._replace(prepare=hermitian) for s in SQUARE],
    signature="(N,N)->(N),(N,N)",
    takes="Hermitian",
)
def eigh(x: Array, /) -> EighResult:
    """Compute the eigenvalues and eigenvectors of Hermitian matrices.

    Returns
    -------
    EighResult
        A named tuple of ``eigenvalues``, of shape (..., N), in ascending order and of the real
        dtype of the precision of x, and ``eigenvectors``, in columns and of the dtype of x.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or the computation of the eigenvalues does not
        converge.

    Notes
    -----
    Only the lower triangle is read, so the gradient is 0 in the upper triangle.  For a gradient that is
    Hermitian, replace x by ``(x + conj(matrix_transpose(x))) / 2.0``.

    Where eigenvalues coincide, their vectors are an arbitrary basis.  The derivatives of a function
    that does not depend on the choice of basis are exact.  Examples are V @ diag(f(w)) @ V^H and the
    projector on the space that the vectors span.  For any other function of the vectors the gradient is
    NaN, with a warning.  Coinciding values do not matter if the function reads neither them nor their
    vectors.

    The phases of complex vectors are arbitrary: a gradient is correct only for a function that does not
    depend on the phases.
    """


@primitive(
    spectral.eigvalsh_vjp_lower,
    samples=[s._replace(prepare=hermitian) for s in SQUARE],
    continuous=True,
    signature="(N,N)->(N)",
    takes="Hermitian",
)
def eigvalsh(x: Array, /) -> Array:
    """Compute the eigenvalues of Hermitian matrices, in ascending order.

    Returns
    -------
    Array
        Of shape (..., N) and the real dtype of the precision of x.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or the computation of the eigenvalues does not
        converge.

    Notes
    -----
    Only the lower triangle is read, so the gradient is 0 in the upper triangle, as for ``eigh``.

    Where values coincide, the gradient of a function that is symmetric in these values is exact.  Second
    derivatives by nested tapes are exact, too; in forward mode they may be NaN there.
    """


@primitive(
    joint=spectral.eig_vjp,
    outputs=("eigenvalues", "eigenvectors"),
    saves=rules.NONE_UNREAD,
    samples=[s._replace(prepare=regular) for s in SQUARE],
    signature="(N,N)->(N),(N,N)",
    takes="square",
)
def eig(x: Array, /) -> EigResult:
    """Compute the eigenvalues and eigenvectors of square matrices.

    Returns
    -------
    EigResult
        A named tuple of ``eigenvalues``, of shape (..., N) and in no particular order, and
        ``eigenvectors``, as columns of unit length; both of complex dtype.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or x holds infinities or NaN.

    Notes
    -----
    Where eigenvalues coincide, the gradient of a function of their vectors is NaN, even for
    V @ diag(w) @ V^-1.  Only the gradient of a function that uses the vectors but not the values, and
    does not depend on the choice of their basis, is exact.
    """


@primitive(
    spectral.eigvals_vjp,
    samples=[s._replace(prepare=regular) for s in SQUARE],
    signature="(N,N)->(N)",
    takes="square",
)
def eigvals(x: Array, /) -> Array:
    """Compute the eigenvalues of square matrices.

    Returns
    -------
    Array
        Of shape (..., N), in no particular order, and of complex dtype.

    Raises
    ------
    LinAlgError
        When the last two axes of x differ in length, or x holds infinities or NaN.
    """


@without_derivative(signature="(M,N),()->()", takes="matrices")
def matrix_rank(x: Array, /, *, rtol: Array | float | None = None) -> Array:
    """Compute the rank of matrices: the number of singular values above the tolerance ``rtol``.

    Returns
    -------
    Array
        Of shape (...); its dtype is int64.

    Raises
    ------
    LinAlgError
        When x has fewer than two dimensions, or the computation of the singular values does not
        converge.
    """


# --- products ---------------------------------------------------------------------------------
@composite
def outer(x1: Array, x2: Array, /) -> Array:
    """Compute the outer product of two vectors: each element of x1 times each element of x2.

    Parameters
    ----------
    x1
        Of shape (N,) and numeric dtype.
    x2
        Of shape (M,) and numeric dtype.

    Returns
    -------
    Array
        Of shape (N, M) and the dtype to which those of x1 and x2 promote.

    Raises
    ------
    ValueError
        When x1 or x2 does not have one dimension.
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"linalg.outer: needs two vectors, got {describe(x1)} and {describe(x2)} "
            f"[at {user_line()}]"
        )
    return multiply(x1[:, None], x2[None, :])


@composite
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Compute the cross product of vectors of length 3 along an axis.

    Parameters
    ----------
    x1
        Of numeric dtype, and of length 3 along the axis.
    x2
        Of numeric dtype, and of length 3 along the axis.
    axis
        The axis of the vectors in x1, in x2 and in the result; the other axes broadcast.

    Returns
    -------
    Array
        Of the shape to which x1 and x2 broadcast, and the dtype to which they promote.

    Raises
    ------
    ValueError
        When the shapes do not broadcast, or the length along the axis is not 3.
    """
    first, second = (_vectors_first(x, axis) for x in (x1, x2))
    turns = ((1, 2), (2, 0), (0, 1))
    parts = [
        subtract(multiply(first[i, ...], second[j, ...]), multiply(first[j, ...], second[i, ...]))
        for i, j in turns
    ]
    return stack(parts, axis=axis)


def _vectors_first(x: Array, axis: int) -> Array:
    """Move the axis of the vectors to the front; raise ValueError unless its length is 3."""
    at = normalize_axis_index("linalg.cross", x, axis)
    if x.shape[at] != 3:
        raise ValueError(
            f"linalg.cross: axis {axis} must have length 3, got shape {x.shape} [at {user_line()}]"
        )
    return moveaxis(x, at, 0)


# --- diagonals and norms --------------------------------------------------------------------------
@composite
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices.

    Parameters
    ----------
    x
        Matrices of shape (..., M, N), of any dtype.

    Returns
    -------
    Array
        The diagonals along the last axis, of the dtype of x: a read-only view, or a read-only copy on
        storages without such views.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    """
    if x.ndim < 2:
        raise ValueError(
            f"linalg.diagonal: needs at least 2 dimensions, got {describe(x)} [at {user_line()}]"
        )
    return read_only(view_or_frozen_copy(x, DIAGONAL, offset))


@composite
def trace(x: Array, /, *, offset: int = 0, dtype: DType = None) -> Array:
    """Sum along the diagonals of matrices.

    Parameters
    ----------
    x
        Matrices of shape (..., M, N), of numeric dtype.

    Returns
    -------
    Array
        Of shape (...).  Its dtype is ``dtype`` if given, else the dtype of x; but int64 for smaller
        signed and uint64 for smaller unsigned integers.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    """
    return sum_of(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@primitive(
    rules.vector_norm_vjp,
    cusped=True,
    selects=lambda kept: abs(kept("ord")) == float("inf"),
    samples=(
        sample((3, 4)),
        sample((3, 4), axis=0),
        sample((3, 4), axis=1, keepdims=True, ord=1),
        sample((3, 4), axis=1, ord=float("inf")),
        sample((3, 4), axis=0, ord=3),
        sample((3, 4), axis=(0, 1), ord=0.5),
    ),
    takes="floating",
    gives=("reduced", "real"),
    signature="(AXES)->()",
)
def vector_norm(
    x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Array:
    """Compute the vector norm over axes (all by default).

    Parameters
    ----------
    x
        Of real or complex floating-point dtype; integers are converted to one.
    ord
        The order p of the norm ``sum(abs(x) ** p) ** (1 / p)``.  inf and -inf: the greatest and the
        least absolute value.  0: the number of elements that are not 0.

    Notes
    -----
    Where the norm is 0, the derivative is 0 and second derivatives are NaN.  With respect to an element
    that is 0, the derivative is 0, and second derivatives are NaN if ord is less than 2 and not 1.
    """


def greatest(values: Array, axis: int) -> Array:
    """Return the greatest of non-negative values, or 0 if there are no values."""
    return (maximum_of if values.shape[axis] else sum_of)(values, axis=axis)


@composite(takes="matrices")
def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Compute the norm of matrices.

    Parameters
    ----------
    keepdims
        True to keep the last two axes, with length 1.
    ord
        'fro' or None: the root of the sum of squares.  'nuc': the sum of the singular values.
        2 and -2: the greatest and the least singular value.  1 and -1: the greatest and the least
        sum of absolute values of a column.  inf and -inf: the same for rows.

    Returns
    -------
    Array
        Of shape (...) and the real dtype of the precision of x.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions, or ord is none of these.
    """
    if x.ndim < 2:
        raise ValueError(
            f"linalg.matrix_norm: needs at least 2 dimensions, got {describe(x)} [at {user_line()}]"
        )
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        pick = sum_of if ord == "nuc" else greatest if ord == 2 else minimum_of
        norm = pick(values, axis=-1)
    elif ord in (1, -1, float("inf"), float("-inf")):
        sums = sum_of(absolute(x), axis=-2 if ord in (1, -1) else -1)
        norm = (greatest if ord in (1, float("inf")) else minimum_of)(sums, axis=-1)
    else:
        raise ValueError(f"linalg.matrix_norm: unknown ord {short_repr(ord)} [at {user_line()}]")
    return expand_dims(norm, axis=(-2, -1)) if keepdims else norm


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the names of ``__all__``, without further names of ``numpy.linalg``."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would accept any name of the module
    __getattr__ = missing_from(__name__, "linalg", "linalg")
