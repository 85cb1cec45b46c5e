"""NumPy's products, norms and fits that the standard has not, on Arrays."""

from __future__ import annotations

import math
import string
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .._array.array import Array, asarray_like, namespace
from .._array.views import current, in_order
from .._define.define_op import stop_gradient
from .._storage.batched.batched_data import holds_anywhere
from .._storage.storage import storage_of
from .._util.errors import describe, raise_documented, short_repr, stacklevel, user_line
from .._util.versions import NUMPY
from ..ops import _einsum, fft, linalg
from ..ops import elementwise_functions as elementwise
from ..ops import statistical_functions as statistics
from ..ops import utility_functions as utilities
from ..ops._factorisations import adjoint
from ..ops.creation_functions import eye
from ..ops.data_type_functions import astype
from ..ops.extras import einsum as einstein
from ..ops.linear_algebra_functions import matmul, tensordot, vecdot
from ..ops.manipulation_functions import moveaxis, normalize_axis_index, reshape, stack
from ..ops.searching_functions import count_nonzero, where
from . import exact
from .implementations import of_numpy
from .numpy_arguments import (
    array_of,
    as_arrays,
    as_operands,
    axes_of,
    cast,
    into,
    on_host,
)
from .pieces import is_fortran, laid_out


def einsum(
    *operands: Any,
    optimize: Any = False,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
    out: Array | None = None,
) -> Array:
    """See ``numpy.einsum``; the letters may also come as lists of numbers behind the operands."""
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], as_arrays(*operands[1:])
    else:
        arrays = as_arrays(*operands[: len(operands) // 2 * 2 : 2])
        letters = ["".join(letter(i) for i in numbers) for numbers in operands[1::2]]
        arrow = "->" + "".join(letter(i) for i in operands[-1]) if len(operands) % 2 else ""
        subscripts = ",".join(letters) + arrow
    common = np.result_type(*[x.dtype for x in arrays]) if dtype is None else np.dtype(dtype)
    given, arrays = arrays, [cast("np.einsum", x, common, casting) for x in arrays]
    # The standard's sums of small integers are of int64; NumPy's keep the dtype.
    y = astype(einstein(subscripts, *arrays, optimize=optimize), common, copy=False)
    if out is not None:
        # What NumPy computes by products it assigns, and that casts.
        return into(out, y, "unsafe" if optimize else casting)
    if any(x.dtype != common for x in given):  # NumPy goes by their layouts before the cast
        path = _einsum.order_of(subscripts, given, optimize) if optimize else None
        y = _einsum.laid_out(y, subscripts, given, path)
    if order in ("A", "a"):
        order = "F" if all(is_fortran(x) for x in given) else "C"
    return laid_out(y, order.upper(), y)


def letter(i: Any) -> str:
    if i is Ellipsis:
        return "..."
    if not 0 <= i < 52:
        raise ValueError(f"np.einsum: subscripts are 0 to 51, got {i} [at {user_line()}]")
    return (string.ascii_uppercase + string.ascii_lowercase)[i]


def dot(a: Any, b: Any) -> Array:
    """Dot product, as ``numpy.dot`` has it.

    Parameters
    ----------
    a : Array
        The operand on the left.
    b : Array
        The operand on the right.

    Returns
    -------
    Array
        Of scalars the product, of matrices and vectors the matrix product; in general the sum
        over the last axis of a and the last but one of b.

    Raises
    ------
    TypeError
        When an operand is None.
    ValueError
        When the shapes do not fit together.
    """
    try:
        a, b = as_operands(a, b)
        if not a.ndim or not b.ndim:
            product = a * b
            usual = product.ndim <= 2 and product.dtype.kind in "fc"
            return in_order(product, "C") if usual else product
        if max(a.ndim, b.ndim) <= 2:
            return in_order(matmul(a, b), "C")
        return of_stacks(np.dot, a, b, -2 if b.ndim > 1 else -1)
    except Exception as error:
        raise_documented(error, "dot", a, b)


def of_stacks(function: Any, a: Array, b: Array, axis: int) -> Array:
    """The sums over the last axis of a and another of b, which NumPy forms one by one."""

    def product() -> Array:
        return in_order(tensordot(a, b, axes=([-1], [axis])), "C")

    found: Array = exact.exactly(function, product, (a, b), {})
    return found


def outer(a: Any, b: Any) -> Array:
    """See ``numpy.outer``."""
    a, b = as_operands(a, b)
    return linalg.outer(reshape(a, (-1,)), reshape(b, (-1,)))


def inner(a: Any, b: Any) -> Array:
    """See ``numpy.inner``."""
    a, b = as_operands(a, b)
    if not a.ndim or not b.ndim:
        return dot(a, b)
    if max(a.ndim, b.ndim) > 2:
        return of_stacks(np.inner, a, b, -1)
    return in_order(tensordot(a, b, axes=([-1], [-1])), "C")


def vdot(a: Any, b: Any) -> Array:
    """See ``numpy.vdot``."""
    a, b = as_arrays(a, b)
    return vecdot(reshape(a, (-1,)), reshape(b, (-1,)))


def kron(a: Any, b: Any) -> Array:
    """See ``numpy.kron``."""
    a, b = as_operands(a, b)
    n = max(a.ndim, b.ndim)
    of_a, of_b = ((1,) * (n - x.ndim) + x.shape for x in (a, b))
    spread = [reshape(a, tuple([k for m in of_a for k in (m, 1)]))]
    spread += [reshape(b, tuple([k for m in of_b for k in (1, m)]))]
    return reshape(spread[0] * spread[1], tuple([i * j for i, j in zip(of_a, of_b, strict=True)]))


LENGTHS = {2, 3} if NUMPY < (2, 5) else {3}  # of vectors that have a vector product


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """See ``numpy.cross``."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = (moveaxis(x, at, -1) for x, at in zip(as_arrays(a, b), (axisa, axisb), strict=True))
    lengths = {a.shape[-1], b.shape[-1]}
    if 2 in lengths <= LENGTHS:  # NumPy says that it is to lose them
        return exact.exactly(np.cross, lambda: of_planes(a, b, axisc), (a, b), {"axisc": axisc})
    if lengths != {3}:
        raise ValueError(
            f"np.cross: vectors of length {' or '.join(map(str, sorted(LENGTHS)))}, got "
            f"{describe(a)} and {describe(b)} [at {user_line()}]"
        )
    return moveaxis(in_order(linalg.cross(a, b), "C"), -1, axisc)


def of_planes(a: Array, b: Array, axisc: int) -> Array:
    """The vector product where vectors of length 2 lie in the plane; of two such, what stands on it.

    No product with a third element of 0 is made: beside an infinity it would be NaN.
    """
    upright = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] == b.shape[-1]:
        return upright
    if a.shape[-1] == 2:
        parts = [a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2]), upright]
    else:
        parts = [-(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0], upright]
    return moveaxis(stack(parts, axis=-1), -1, axisc)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """See ``numpy.linalg.svd``."""
    a = array_of(a)
    if hermitian:
        return of_hermitian(a, full_matrices, compute_uv, hermitian)
    return linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)


of_hermitian = of_numpy(np.linalg.svd)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """See ``numpy.linalg.eigh``."""
    return linalg.eigh(from_triangle("eigh", a, UPLO))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """See ``numpy.linalg.eigvalsh``."""
    return linalg.eigvalsh(from_triangle("eigvalsh", a, UPLO))


def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """See ``numpy.linalg.cholesky``: with ``upper`` the upper triangle is read, too."""
    if not upper:
        return linalg.cholesky(array_of(a))
    lower = linalg.cholesky(from_triangle("cholesky", a, "U"))
    return adjoint(lower, namespace())


def from_triangle(name: str, a: Any, UPLO: str) -> Array:
    """Hermitian matrices in whose lower triangle, which functions read, the meant one lies."""
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueError(
            f"np.linalg.{name}: UPLO must be 'L' or 'U', got {short_repr(UPLO)} [at {user_line()}]"
        )
    a = array_of(a)
    return a if UPLO.upper() == "L" or a.ndim < 2 else adjoint(a, namespace())


def qr(a: Any, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """See ``numpy.linalg.qr``; with mode="r" R alone."""
    if mode not in ("reduced", "complete", "r"):
        raise TypeError(
            f"np.linalg.qr of Arrays has no mode={short_repr(mode)}, only 'reduced', 'complete' and 'r' "
            f"[at {user_line()}]"
        )
    a = array_of(a)
    return linalg.qr(a).R if mode == "r" else linalg.qr(a, mode=mode)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """See ``numpy.linalg.tensorsolve``."""
    a, b = as_arrays(a, b)
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim :]
    n = math.prod(shape)
    if a.size != n**2:
        raise np.linalg.LinAlgError(
            f"np.linalg.tensorsolve: {describe(a)} is no square matrix over the axes of "
            f"{describe(b)} [at {user_line()}]"
        )
    return reshape(linalg.solve(reshape(a, (n, n)), reshape(b, (n,))), shape)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Array:
    """See ``numpy.linalg.pinv``; what ``hermitian`` says is not asked for."""
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError(f"np.linalg.pinv: rtol= or rcond=, not both [at {user_line()}]")
    tolerance = (1e-15 if rtol is np._NoValue else rtol) if rcond is None else rcond
    return linalg.pinv(array_of(a), rtol=tolerance)


def eigvals(a: Any) -> Array:
    """See ``numpy.linalg.eigvals``: complex, but before NumPy 2.5 if a real matrix's are real."""
    a = array_of(a)
    values = linalg.eigvals(a)
    return elementwise.real(values) if are_given_as_real(a, values) else values


def are_given_as_real(a: Array, values: Array) -> bool:
    """Whether NumPy gives eigenvalues as real numbers: before 2.5, where a and all of them are real.

    That is not known under ``vmap``, where they stay complex.
    """
    if NUMPY >= (2, 5):
        return False
    data = current(values)[1]
    many = storage_of(data).many
    return a.dtype.kind != "c" and not many and not np.any(np.imag(on_host(values)))


def eig(a: Any) -> Any:
    """See ``numpy.linalg.eig``: of the dtypes that ``eigvals`` has."""
    a = array_of(a)
    values, vectors = found = linalg.eig(a)
    if not are_given_as_real(a, values):
        return found
    return type(found)(elementwise.real(values), elementwise.real(vectors))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """See ``numpy.linalg.norm``; the norms of the namespace, whose gradient at 0 is 0."""
    x = array_of(x)
    x = x if x.dtype.kind in "fc" else astype(x, np.float64)
    if ord is None and (axis is None or np.ndim(axis) == 0):
        return linalg.vector_norm(x, axis=axis, keepdims=keepdims)
    places = axes_of("norm", x, axis)
    if len(places) == 1:
        if isinstance(ord, str):
            raise ValueError(
                f"np.linalg.norm: a vector has no {short_repr(ord)} norm [at {user_line()}]"
            )
        return linalg.vector_norm(
            x, axis=places[0], ord=2 if ord is None else ord, keepdims=keepdims
        )
    if len(places) != 2:
        raise ValueError(
            f"np.linalg.norm: Improper number of dimensions to norm: {len(places)} [at {user_line()}]"
        )
    matrices = moveaxis(x, tuple(places), (-2, -1))
    found = linalg.matrix_norm(matrices, ord="fro" if ord is None else ord)
    kept = tuple([1 if i in places else n for i, n in enumerate(x.shape)])
    return reshape(found, kept) if keepdims else found


def cond(x: Any, p: Any = None) -> Array:
    """See ``numpy.linalg.cond``."""
    x = array_of(x)
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError(
            f"np.linalg.cond is not defined on empty matrices: {describe(x)} [at {user_line()}]"
        )
    infinite = elementwise.logical_not(utilities.all(elementwise.isfinite(x), axis=(-2, -1)))
    if holds_anywhere(current(infinite)[1]):
        # NumPy gives NaN or infinity, from 2.5 on for every p: the slope is not finite, either.
        finite = where(infinite[..., None, None], eye(*x.shape[-2:], dtype=x.dtype), x)
        return where(infinite, linalg.matrix_norm(x), cond(finite, p))
    if p in (None, 2, -2):
        values = linalg.svdvals(x)
        least, most = values[..., -1], values[..., 0]
        over, under = (least, most) if p == -2 else (most, least)
        return infinite_where_nan(over / under, under)
    singular = (
        linalg.slogdet(stop_gradient(x)).sign == 0.0
    )  # where LU has a pivot of 0, and inv raises
    regular = where(singular[..., None, None], eye(x.shape[-1], dtype=x.dtype), x)
    norm = linalg.matrix_norm(x, ord=p)
    # Its slope where x is singular is infinite, or NaN.
    found = norm * where(singular, np.inf, linalg.matrix_norm(linalg.inv(regular), ord=p))
    return infinite_where_nan(found, norm)


def infinite_where_nan(found: Array, zero: Array) -> Array:
    """Return condition numbers that are infinite, as their slopes, where a zero was divided by zero."""
    return where(elementwise.isnan(found), 1.0 / zero, found)


def squared_modulus(x: Array) -> Array:
    """``abs(x) ** 2``, without the root."""
    return elementwise.real(x * elementwise.conj(x)) if x.dtype.kind == "c" else x * x


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, int, Array]:
    """See ``numpy.linalg.lstsq``; the gradient is that of the pseudoinverse."""
    a, b = (astype(x, np.float64) if x.dtype.kind in "biu" else x for x in as_arrays(a, b))
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise np.linalg.LinAlgError(
            f"np.linalg.lstsq: needs a matrix and as many rows beside it, got {describe(a)} and "
            f"{describe(b)} [at {user_line()}]"
        )
    m, n = a.shape
    eps = np.finfo(a.dtype).eps
    values = linalg.svdvals(a)
    data = current(a)[1]
    rank: Any
    if type(data) is np.ndarray:
        # Which singular values count may hang on their last bits, so NumPy counts them.
        rank = int(np.linalg.lstsq(data, np.zeros(m, data.dtype), rcond)[2])
        rcond = between(on_host(values), rank)
    else:
        rcond = eps * max(m, n) if rcond is None else eps if rcond < 0 else rcond
        rank = count_nonzero(values > rcond * values[:1])
        rank = rank if storage_of(data).many else int(rank)
    x = matmul(linalg.pinv(a, rtol=rcond), b)
    residual = matmul(a, x) - b
    squares = statistics.sum(squared_modulus(residual), axis=0)
    whole = n < m and not (
        holds_anywhere(current(rank != n)[1]) if isinstance(rank, Array) else rank != n
    )
    left_over = reshape(squares, (-1,)) if whole else asarray_like(a, np.zeros(0))
    return x, left_over, rank, values


def between(values: Any, rank: int) -> float:
    """A tolerance relative to the greatest singular value that only the first ``rank`` exceed."""
    if not rank:
        return 1.0
    below = values[rank] if rank < len(values) else 0.0
    return float((values[rank - 1] + below) / (2.0 * values[0]))


def sinc(x: Any) -> Array:
    """See ``numpy.sinc``."""
    return elementwise.sinc_derivative(array_of(x), order=0)


def over_axes(name: str, usual: tuple[int, int] | None = None) -> Callable[..., Array]:
    """``numpy.fft.fftn`` and its kin; fft2 and its kin are of the last two axes."""
    function = getattr(fft, name)

    def call(a: Any, s: Any = None, axes: Any = usual, norm: str | None = None) -> Array:
        a = array_of(a)
        if s is not None:
            s, axes = lengths(name, a, s, axes)
        return function(a, s=s, axes=axes, norm=norm or "backward")

    return call


def lengths(name: str, a: Array, s: Any, axes: Any) -> tuple[Any, Any]:
    """The lengths and axes of a transform: -1 is the length that there is, and so is None."""
    s = [*s]
    if axes is None:
        warn(
            f"np.fft.{name}: `axes` should not be `None` if `s` is not `None`: NumPy deprecates that; "
            "say the last axes"
        )
        axes = range(-len(s), 0)
    axes = [normalize_axis_index(f"fft.{name}", a, axis) for axis in axes]
    if len(s) != len(axes):
        raise ValueError(f"np.fft.{name}: {len(s)} lengths, {len(axes)} axes [at {user_line()}]")
    if None in s:
        warn(
            f"np.fft.{name}: Passing an array containing `None` values to `s` is deprecated by NumPy; "
            "say -1"
        )
    last = 2 * (a.shape[axes[-1]] - 1) if name == "irfftn" and s[-1] is None else None
    s = [a.shape[axis] if n in (None, -1) else n for n, axis in zip(s, axes, strict=True)]
    return s if last is None else [*s[:-1], last], axes


def warn(message: str) -> None:
    """NumPy's warning of what it is to lose."""
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel())


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.cross: cross,
    np.dot: dot,
    np.einsum: einsum,
    np.fft.fft2: over_axes("fftn", (-2, -1)),
    np.fft.fftn: over_axes("fftn"),
    np.fft.ifft2: over_axes("ifftn", (-2, -1)),
    np.fft.ifftn: over_axes("ifftn"),
    np.fft.irfft2: over_axes("irfftn", (-2, -1)),
    np.fft.irfftn: over_axes("irfftn"),
    np.fft.rfft2: over_axes("rfftn", (-2, -1)),
    np.fft.rfftn: over_axes("rfftn"),
    np.inner: inner,
    np.kron: kron,
    np.linalg.cholesky: cholesky,
    np.linalg.cond: cond,
    np.linalg.norm: norm,
    np.linalg.eig: eig,
    np.linalg.eigvals: eigvals,
    np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh,
    np.linalg.lstsq: lstsq,
    np.linalg.pinv: pinv,
    np.linalg.qr: qr,
    np.linalg.svd: svd,
    np.linalg.tensorsolve: tensorsolve,
    np.outer: outer,
    np.sinc: sinc,
    np.vdot: vdot,
}
