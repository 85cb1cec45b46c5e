"""NumPy's products, factorisations, norms and Fourier transforms on Arrays, such as ``np.einsum``.

The array API standard lacks these functions, or some of their parameters.  ``FUNCTIONS`` maps NumPy's
functions to those of this module.
"""

from __future__ import annotations

import math
import string
import warnings
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal, TypeAlias

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
from ..ops._factorisations import adjoint, on_diagonal
from ..ops.creation_functions import eye
from ..ops.data_type_functions import astype
from ..ops.extras import einsum as einstein
from ..ops.linear_algebra_functions import matmul, tensordot, vecdot
from ..ops.manipulation_functions import moveaxis, normalize_axis_index, reshape, stack
from ..ops.searching_functions import count_nonzero, where
from . import exact
from .implementations import of_numpy
from .numpy_arguments import (
    ArrayLike,
    Axis,
    Casting,
    DType,
    NoValue,
    array_of,
    arrays_like_first,
    as_operands,
    cast_checked,
    host_values,
    normalize_axes,
    write_into,
)
from .pieces import is_fortran, laid_out_in_order

Order: TypeAlias = Literal["fro", "nuc"] | float | None  # the parameter ``ord`` of a norm


def einsum(
    *operands: Any, optimize: bool | str | Sequence[Any] = False, dtype: DType = None,
    casting: Casting = "safe", order: str = "K", out: Array | None = None,
) -> Array:  # fmt: skip
    """Compute ``numpy.einsum``, which also takes lists of axes: ``einsum(x, [0, 1], y, [1, 2])``."""
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], arrays_like_first(*operands[1:])
    else:
        arrays = arrays_like_first(*operands[: len(operands) // 2 * 2 : 2])
        letters = ["".join(letter(i) for i in numbers) for numbers in operands[1::2]]
        arrow = "->" + "".join(letter(i) for i in operands[-1]) if len(operands) % 2 else ""
        subscripts = ",".join(letters) + arrow
    common = np.result_type(*[x.dtype for x in arrays]) if dtype is None else np.dtype(dtype)
    given, arrays = arrays, [cast_checked("np.einsum", x, common, casting) for x in arrays]
    # The standard sums small integers in int64; NumPy's einsum keeps the dtype.
    y = astype(einstein(subscripts, *arrays, optimize=optimize), common, copy=False)
    if out is not None:
        # With optimize= NumPy assigns the result to out, which casts to any dtype.
        return write_into(out, y, "unsafe" if optimize else casting)
    if any(x.dtype != common for x in given):  # the layout depends on the uncast operands
        path = _einsum.product_order(subscripts, given, optimize) if optimize else None
        y = _einsum.einsum_layout(y, subscripts, given, path)
    if order in ("A", "a"):
        order = "F" if all(is_fortran(x) for x in given) else "C"
    return laid_out_in_order(y, order.upper(), y)


def letter(i: int | EllipsisType) -> str:
    """Return the letter for axis number i in a text like "AB,BC": "A" for 0, "..." for Ellipsis."""
    if i is Ellipsis:
        return "..."
    if not 0 <= i < 52:
        raise ValueError(f"np.einsum: subscripts are 0 to 51, got {i} [at {user_line()}]")
    return (string.ascii_uppercase + string.ascii_lowercase)[i]


def dot(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute the dot product, as ``numpy.dot`` does.

    Parameters
    ----------
    a : Array
        The operand on the left.
    b : Array
        The operand on the right.

    Returns
    -------
    Array
        The product of scalars, the matrix product of matrices and vectors; in general the sum
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
        return dot_of_stacks(np.dot, a, b, -2 if b.ndim > 1 else -1)
    except Exception as error:
        raise_documented(error, "dot", a, b)


def dot_of_stacks(function: Callable[..., Any], a: Array, b: Array, axis: int) -> Array:
    """Compute ``np.dot`` or ``np.inner`` of arrays with more than two axes.

    Products are summed over the last axis of a and ``axis`` of b.
    function : ``np.dot`` or ``np.inner``, which computes the values; ``tensordot`` gives the derivative.
    """

    def sum_products() -> Array:
        return in_order(tensordot(a, b, axes=([-1], [axis])), "C")

    found: Array = exact.compute_by_numpy(function, sum_products, (a, b), {})
    return found


def numpy_outer(a: ArrayLike, b: ArrayLike) -> Array:
    a, b = as_operands(a, b)
    return linalg.outer(reshape(a, (-1,)), reshape(b, (-1,)))


def numpy_inner(a: ArrayLike, b: ArrayLike) -> Array:
    a, b = as_operands(a, b)
    if not a.ndim or not b.ndim:
        return dot(a, b)
    if max(a.ndim, b.ndim) > 2:
        return dot_of_stacks(np.inner, a, b, -1)
    return in_order(tensordot(a, b, axes=([-1], [-1])), "C")


def vdot(a: ArrayLike, b: ArrayLike) -> Array:
    a, b = arrays_like_first(a, b)
    return vecdot(reshape(a, (-1,)), reshape(b, (-1,)))


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    a, b = as_operands(a, b)
    n = max(a.ndim, b.ndim)
    of_a, of_b = ((1,) * (n - x.ndim) + x.shape for x in (a, b))
    spread = [reshape(a, tuple([k for m in of_a for k in (m, 1)]))]
    spread += [reshape(b, tuple([k for m in of_b for k in (1, m)]))]
    return reshape(spread[0] * spread[1], tuple([i * j for i, j in zip(of_a, of_b, strict=True)]))


# The lengths of vectors for np.cross; NumPy 2.5 removed vectors of length 2.
CROSS_LENGTHS = {2, 3} if NUMPY < (2, 5) else {3}


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
    axis: int | None = None,
) -> Array:  # fmt: skip
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = (
        moveaxis(x, at, -1) for x, at in zip(arrays_like_first(a, b), (axisa, axisb), strict=True)
    )
    lengths = {a.shape[-1], b.shape[-1]}
    if 2 in lengths <= CROSS_LENGTHS:  # np.cross itself warns of the deprecation
        return exact.compute_by_numpy(
            np.cross, lambda: cross_of_planes(a, b, axisc), (a, b), {"axisc": axisc}
        )
    if lengths != {3}:
        raise ValueError(
            f"np.cross: vectors of length {' or '.join(map(str, sorted(CROSS_LENGTHS)))}, got "
            f"{describe(a)} and {describe(b)} [at {user_line()}]"
        )
    return moveaxis(in_order(linalg.cross(a, b), "C"), -1, axisc)


def cross_of_planes(a: Array, b: Array, axisc: int) -> Array:
    """Compute ``np.cross`` if the vectors of a or b, along the last axis, have length 2.

    The missing third element counts as 0.  If all vectors have length 2, return only the third element
    of the product.  Terms with a missing element are left out, since 0 times infinity would be NaN.
    axisc : the axis of the result that holds the vectors.
    """
    upright = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] == b.shape[-1]:
        return upright
    if a.shape[-1] == 2:
        parts = [a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2]), upright]
    else:
        parts = [-(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0], upright]
    return moveaxis(stack(parts, axis=-1), -1, axisc)


def numpy_svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    a = array_of(a)
    if hermitian:
        return of_hermitian(a, full_matrices, compute_uv, hermitian)
    return linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)


of_hermitian = of_numpy(np.linalg.svd)


def numpy_cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """Compute ``numpy.linalg.cholesky``; with ``upper``, read the upper triangle of ``a``."""
    if not upper:
        return linalg.cholesky(array_of(a))
    lower = linalg.cholesky(from_triangle("cholesky", a, "U"))
    return adjoint(lower, namespace())


def from_triangle(name: str, a: ArrayLike, UPLO: str) -> Array:
    """Return a matrix whose lower triangle holds the triangle of ``a`` that UPLO names, "L" or "U".

    Arraytape's ops read only the lower triangle.  So for "U" return the adjoint of ``a``.
    name : NumPy's function, for the message if UPLO is another value.
    """
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueError(
            f"np.linalg.{name}: UPLO must be 'L' or 'U', got {short_repr(UPLO)} [at {user_line()}]"
        )
    a = array_of(a)
    return a if UPLO.upper() == "L" or a.ndim < 2 else adjoint(a, namespace())


def numpy_qr(a: ArrayLike, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """Compute ``numpy.linalg.qr``; with mode="r", return only R."""
    if mode not in ("reduced", "complete", "r"):
        raise TypeError(
            f"np.linalg.qr of Arrays has no mode={short_repr(mode)}, only 'reduced', 'complete' and 'r' "
            f"[at {user_line()}]"
        )
    a = array_of(a)
    return linalg.qr(a).R if mode == "r" else linalg.qr(a, mode=mode)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    a, b = arrays_like_first(a, b)
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


def numpy_pinv(
    a: ArrayLike, rcond: ArrayLike | None = None, hermitian: bool = False, *,
    rtol: ArrayLike | NoValue | None = np._NoValue,
) -> Array:  # fmt: skip
    """Compute ``numpy.linalg.pinv``; with ``hermitian``, read the lower triangle of a alone."""
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError(f"np.linalg.pinv: pass rtol= or rcond=, not both [at {user_line()}]")
    tolerance: Any = (1e-15 if rtol is np._NoValue else rtol) if rcond is None else rcond
    a = array_of(a)
    return linalg.pinv(hermitian_from_lower(a) if hermitian else a, rtol=tolerance)


def hermitian_from_lower(a: Array) -> Array:
    """Return the Hermitian matrix whose lower triangle is that of ``a``; ignore the upper one."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(
            f"np.linalg.pinv: hermitian=True needs square matrices, got {describe(a)} [at {user_line()}]"
        )
    xp: Any = namespace()
    lower = xp.tril(a, k=-1)
    found: Array = lower + adjoint(lower, xp) + xp.where(on_diagonal(a, xp), xp.real(a), 0.0)
    return found


def numpy_eigvals(a: ArrayLike) -> Array:
    """Compute ``numpy.linalg.eigvals``; the result is real where NumPy's is."""
    a = array_of(a)
    values = linalg.eigvals(a)
    return elementwise.real(values) if are_given_as_real(a, values) else values


def are_given_as_real(a: Array, values: Array) -> bool:
    """Return True if NumPy returns these eigenvalues of ``a`` in a real dtype.

    NumPy did so before version 2.5 if ``a`` is real and all imaginary parts are 0.  Under ``vmap`` the
    imaginary parts may differ between the examples, so that the eigenvalues stay complex.
    """
    if NUMPY >= (2, 5):
        return False
    data = current(values)[1]
    many = storage_of(data).many
    return a.dtype.kind != "c" and not many and not np.any(np.imag(host_values(values)))


def numpy_eig(a: ArrayLike) -> Any:
    """Compute ``numpy.linalg.eig``; the results are real where NumPy's are."""
    a = array_of(a)
    values, vectors = found = linalg.eig(a)
    if not are_given_as_real(a, values):
        return found
    return type(found)(elementwise.real(values), elementwise.real(vectors))


def norm(x: ArrayLike, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute ``numpy.linalg.norm``; the gradient at 0 is 0."""
    x = array_of(x)
    x = x if x.dtype.kind in "fc" else astype(x, np.float64)
    if ord is None and (axis is None or np.ndim(axis) == 0):
        return linalg.vector_norm(x, axis=axis, keepdims=keepdims)
    places = normalize_axes("norm", x, axis)
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


def cond(x: ArrayLike, p: Order = None) -> Array:
    x = array_of(x)
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError(
            f"np.linalg.cond is not defined on empty matrices: {describe(x)} [at {user_line()}]"
        )
    infinite = elementwise.logical_not(utilities.all(elementwise.isfinite(x), axis=(-2, -1)))
    if holds_anywhere(current(infinite)[1]):
        # NumPy returns NaN or infinity for a matrix with such an element.  So does the matrix norm, and
        # its derivative is not finite, either.
        finite = where(infinite[..., None, None], eye(*x.shape[-2:], dtype=x.dtype), x)
        return where(infinite, linalg.matrix_norm(x), cond(finite, p))
    if p in (None, 2, -2):
        values = linalg.svdvals(x)
        least, most = values[..., -1], values[..., 0]
        over, under = (least, most) if p == -2 else (most, least)
        return infinite_where_nan(over / under, under)
    # slogdet's sign is 0 where the LU factorisation has a pivot of 0.  There inv would raise an error.
    singular = linalg.slogdet(stop_gradient(x)).sign == 0.0
    regular = where(singular[..., None, None], eye(x.shape[-1], dtype=x.dtype), x)
    norm = linalg.matrix_norm(x, ord=p)
    # For singular x the value is infinite, and the derivative is infinite or NaN.
    found = norm * where(singular, np.inf, linalg.matrix_norm(linalg.inv(regular), ord=p))
    return infinite_where_nan(found, norm)


def infinite_where_nan(found: Array, zero: Array) -> Array:
    """Replace NaN in condition numbers by infinity, as for a singular matrix.

    found : the condition numbers.  zero : their divisors or norms, which are 0 or infinite at each NaN.
    """
    infinite = where(elementwise.isinf(zero), zero, 1.0 / zero)
    return where(elementwise.isnan(found), infinite, found)


def squared_modulus(x: Array) -> Array:
    return elementwise.real(x * elementwise.conj(x)) if x.dtype.kind == "c" else x * x


def numpy_lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None
) -> tuple[Array, Array, int, Array]:
    """Compute ``numpy.linalg.lstsq``, with the solution ``pinv(a) @ b``."""
    a, b = (astype(x, np.float64) if x.dtype.kind in "biu" else x for x in arrays_like_first(a, b))
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise np.linalg.LinAlgError(
            f"np.linalg.lstsq: a must be a matrix, and b must have as many rows; got {describe(a)} "
            f"and {describe(b)} [at {user_line()}]"
        )
    m, n = a.shape
    eps = np.finfo(a.dtype).eps
    values = linalg.svdvals(a)
    data = current(a)[1]
    rank: Any
    if type(data) is np.ndarray:
        # The rank may depend on rounding errors of the singular values, so NumPy's lstsq computes it.
        rank = int(np.linalg.lstsq(data, np.zeros(m, data.dtype), rcond)[2])
        rcond = tolerance_for_rank(host_values(values), rank)
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


def tolerance_for_rank(values: np.ndarray[Any, Any], rank: int) -> float:
    """Return the relative tolerance with which ``pinv`` finds the given rank of a matrix.

    values : the singular values in descending order; the tolerance is relative to the first.
    """
    if not rank:
        return 1.0
    below = values[rank] if rank < len(values) else 0.0
    return float((values[rank - 1] + below) / (2.0 * values[0]))


def fft_over_axes(name: str, usual: tuple[int, int] | None = None) -> Callable[..., Array]:
    """Return a Fourier transform with NumPy's parameters, such as ``np.fft.fft2``.

    name : the op that it calls, such as "fftn".  usual : its default axes; None means all axes.
    """
    function = getattr(fft, name)

    def transform_over_axes(
        a: ArrayLike, s: Sequence[int | None] | None = None, axes: Sequence[int] | None = usual,
        norm: str | None = None,
    ) -> Array:  # fmt: skip
        a = array_of(a)
        if s is not None:
            s, axes = normalize_fft_lengths(name, a, s, axes)
        return function(a, s=s, axes=axes, norm=norm or "backward")

    return transform_over_axes


def normalize_fft_lengths(
    name: str, a: Array, s: Sequence[int | None], axes: Sequence[int] | None
) -> tuple[Any, Any]:
    """Return the lengths and axes of a Fourier transform as non-negative ints.

    name : NumPy's function, for messages.  s : the lengths, where -1 and None mean the length of the
    axis.  axes : the axes; None means the last axes.
    """
    s = [*s]
    if axes is None:
        warn(
            f"np.fft.{name}: pass the last axes as `axes`. "
            "In NumPy `axes` should not be `None` if `s` is not `None`"
        )
        axes = range(-len(s), 0)
    axes = [normalize_axis_index(f"fft.{name}", a, axis) for axis in axes]
    if len(s) != len(axes):
        raise ValueError(
            f"np.fft.{name}: s has {len(s)} lengths for {len(axes)} axes [at {user_line()}]"
        )
    if None in s:
        warn(
            f"np.fft.{name}: write -1 in place of None. "
            "Passing an array containing `None` values to `s` is deprecated in NumPy"
        )
    last = 2 * (a.shape[axes[-1]] - 1) if name == "irfftn" and s[-1] is None else None
    s = [a.shape[axis] if n in (None, -1) else n for n, axis in zip(s, axes, strict=True)]
    return s if last is None else [*s[:-1], last], axes


def warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel())


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.cross: cross,
    np.dot: dot,
    np.einsum: einsum,
    np.fft.fft2: fft_over_axes("fftn", (-2, -1)),
    np.fft.fftn: fft_over_axes("fftn"),
    np.fft.ifft2: fft_over_axes("ifftn", (-2, -1)),
    np.fft.ifftn: fft_over_axes("ifftn"),
    np.fft.irfft2: fft_over_axes("irfftn", (-2, -1)),
    np.fft.irfftn: fft_over_axes("irfftn"),
    np.fft.rfft2: fft_over_axes("rfftn", (-2, -1)),
    np.fft.rfftn: fft_over_axes("rfftn"),
    np.inner: numpy_inner,
    np.kron: kron,
    np.linalg.cholesky: numpy_cholesky,
    np.linalg.cond: cond,
    np.linalg.norm: norm,
    np.linalg.eig: numpy_eig,
    np.linalg.eigvals: numpy_eigvals,
    np.linalg.eigh: lambda a, UPLO="L": linalg.eigh(from_triangle("eigh", a, UPLO)),
    np.linalg.eigvalsh: lambda a, UPLO="L": linalg.eigvalsh(from_triangle("eigvalsh", a, UPLO)),
    np.linalg.lstsq: numpy_lstsq,
    np.linalg.pinv: numpy_pinv,
    np.linalg.qr: numpy_qr,
    np.linalg.svd: numpy_svd,
    np.linalg.tensorsolve: tensorsolve,
    np.outer: numpy_outer,
    np.sinc: lambda x: elementwise.sinc_derivative(array_of(x), order=0),
    np.vdot: vdot,
}
