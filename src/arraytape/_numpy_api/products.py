"""NumPy's products, norms and fits that the standard has not, on Arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current
from .._util.errors import user_line
from ..ops import elementwise_functions as elementwise
from ..ops import fft, linalg
from ..ops import statistical_functions as statistics
from ..ops.creation_functions import eye
from ..ops.data_type_functions import astype
from ..ops.elementwise_functions import sqrt
from ..ops.extras import einsum as einstein
from ..ops.linear_algebra_functions import matmul, tensordot, vecdot
from ..ops.manipulation_functions import concat, moveaxis, reshape
from ..ops.searching_functions import count_nonzero, where
from .arguments import array_of, as_arrays, axes_of


def einsum(*operands: Any, optimize: Any = False) -> Array:
    """See ``numpy.einsum``; the letters may also come as lists of numbers behind the operands."""
    if isinstance(operands[0], str):
        return einstein(operands[0], *as_arrays(*operands[1:]), optimize=optimize)
    arrays = as_arrays(*operands[: len(operands) // 2 * 2 : 2])
    letters = ["".join(letter(i) for i in numbers) for numbers in operands[1::2]]
    arrow = "->" + "".join(letter(i) for i in operands[-1]) if len(operands) % 2 else ""
    return einstein(",".join(letters) + arrow, *arrays, optimize=optimize)


def letter(i: Any) -> str:
    return "..." if i is Ellipsis else "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[i]


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
    ValueError
        When the shapes do not fit together.
    """
    a, b = as_arrays(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return matmul(a, b) if b.ndim <= 2 else tensordot(a, b, axes=([-1], [-2]))


def outer(a: Any, b: Any) -> Array:
    """See ``numpy.outer``."""
    a, b = as_arrays(a, b)
    return linalg.outer(reshape(a, (-1,)), reshape(b, (-1,)))


def inner(a: Any, b: Any) -> Array:
    """See ``numpy.inner``."""
    a, b = as_arrays(a, b)
    return tensordot(a, b, axes=([-1], [-1])) if a.ndim and b.ndim else a * b


def vdot(a: Any, b: Any) -> Array:
    """See ``numpy.vdot``."""
    a, b = as_arrays(a, b)
    return vecdot(reshape(a, (-1,)), reshape(b, (-1,)))


def kron(a: Any, b: Any) -> Array:
    """See ``numpy.kron``."""
    a, b = as_arrays(a, b)
    n = max(a.ndim, b.ndim)
    of_a, of_b = ((1,) * (n - x.ndim) + x.shape for x in (a, b))
    spread = [reshape(a, tuple([k for m in of_a for k in (m, 1)]))]
    spread += [reshape(b, tuple([k for m in of_b for k in (1, m)]))]
    return reshape(spread[0] * spread[1], tuple([i * j for i, j in zip(of_a, of_b, strict=True)]))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """See ``numpy.cross``: of vectors of length 3."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = as_arrays(a, b)
    return moveaxis(linalg.cross(moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)), -1, axisc)


def multi_dot(arrays: Sequence[Any]) -> Array:
    """See ``numpy.linalg.multi_dot``, from the left."""
    return functools.reduce(dot, as_arrays(*arrays))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """See ``numpy.linalg.norm``."""
    x = array_of(x)
    if ord is None:
        return linalg.vector_norm(x, axis=axis, keepdims=keepdims)
    places = axes_of("norm", x, axis)
    if len(places) == 1:
        return linalg.vector_norm(x, axis=places[0], ord=ord, keepdims=keepdims)
    if len(places) != 2:
        raise ValueError(
            f"np.linalg.norm: a matrix has two axes, got {len(places)} [at {user_line()}]"
        )
    found = linalg.matrix_norm(moveaxis(x, tuple(places), (-2, -1)), ord=ord)
    kept = tuple([1 if i in places else n for i, n in enumerate(x.shape)])
    return reshape(found, kept) if keepdims else found


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """See ``numpy.linalg.svd``."""
    a = array_of(a)
    return linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)


def qr(a: Any, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """See ``numpy.linalg.qr``; with mode="r" R alone."""
    if mode not in ("reduced", "complete", "r"):
        raise TypeError(
            f"np.linalg.qr of Arrays has no mode={mode!r}, only 'reduced', 'complete' and 'r' "
            f"[at {user_line()}]"
        )
    a = array_of(a)
    return linalg.qr(a).R if mode == "r" else linalg.qr(a, mode=mode)


def cond(x: Any, p: Any = None) -> Array:
    """See ``numpy.linalg.cond``."""
    x = array_of(x)
    if p in (None, 2, -2):
        values = linalg.svdvals(x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    data = current(x)[1]
    if type(data) is not np.ndarray:
        return linalg.matrix_norm(x, ord=p) * linalg.matrix_norm(linalg.inv(x), ord=p)
    with np.errstate(all="ignore"):
        singular = asarray_like(x, ~np.isfinite(np.asarray(np.linalg.cond(data, p))))
    regular = where(singular[..., None, None], eye(x.shape[-1], dtype=x.dtype), x)
    norm = linalg.matrix_norm(x, ord=p)
    # Its slope where x is singular is infinite, or NaN.
    return norm * where(singular, np.inf, linalg.matrix_norm(linalg.inv(regular), ord=p))


def squared_modulus(x: Array) -> Array:
    """``abs(x) ** 2``, without the root."""
    return elementwise.real(x * elementwise.conj(x)) if x.dtype.kind == "c" else x * x


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, int, Array]:
    """See ``numpy.linalg.lstsq``; the gradient is that of the pseudoinverse."""
    a, b = as_arrays(a, b)
    m, n = a.shape
    rcond = np.finfo(a.dtype).eps * max(m, n) if rcond is None or rcond < 0 else rcond
    values = linalg.svdvals(a)
    rank = int(count_nonzero(values > rcond * values[0]))
    x = matmul(linalg.pinv(a, rtol=rcond), b)
    residual = matmul(a, x) - b
    squares = statistics.sum(squared_modulus(residual), axis=0)
    left_over = reshape(squares, (-1,)) if rank == n < m else asarray_like(a, np.zeros(0))
    return x, left_over, rank, values


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """See ``numpy.vander``."""
    x = array_of(x)
    dtype = np.finfo(x.dtype).dtype if x.dtype.kind in "fc" else x.dtype
    powers = np.arange(x.shape[0] if N is None else N, dtype=dtype)
    return x[:, None] ** asarray_like(x, powers if increasing else powers[::-1])


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, *, w: Any = None) -> Array:
    """See ``numpy.polyfit``: the coefficients alone."""
    x, y, w = as_arrays(x, y, w)
    a = vander(x, deg + 1)
    if w is not None:
        a, y = a * w[:, None], y * (w[:, None] if y.ndim == 2 else w)
    scale = sqrt(statistics.sum(a * a, axis=0))
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    found = lstsq(a / scale, y, rcond)[0]
    return found / (scale[:, None] if found.ndim == 2 else scale)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """See ``numpy.trapezoid``."""
    y, x, dx = as_arrays(y, x, dx)
    y = moveaxis(y, axis, -1)
    if x is not None:
        x = moveaxis(x, axis, -1) if x.ndim > 1 else x
        dx = x[..., 1:] - x[..., :-1]
    return statistics.sum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


def gradient(f: Any, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """See ``numpy.gradient``: differences of neighbours, of first or second order at the ends."""
    f, *spacing = as_arrays(f, *varargs)
    places = axes_of("gradient", f, axis)
    spacing = spacing or [asarray_like(f, np.asarray(1.0))]
    spacing = spacing * len(places) if len(spacing) == 1 else spacing
    if len(spacing) != len(places) or edge_order not in (1, 2):
        raise TypeError(f"np.gradient: a spacing per axis, edge_order 1 or 2 [at {user_line()}]")
    dtype = f.dtype if f.dtype.kind in "fc" else np.dtype(np.float64)
    found = tuple([
        astype(moveaxis(slopes(moveaxis(f, at, -1), h, edge_order), -1, at), dtype, copy=False)
        for at, h in zip(places, spacing, strict=True)
    ])  # fmt: skip
    return found[0] if len(found) == 1 else found


def slopes(f: Array, h: Array, edge_order: int) -> Array:
    """Differences along the last axis; h is the distance of neighbours, or where they are."""
    if f.shape[-1] <= edge_order:
        raise ValueError(f"np.gradient: an axis of {f.shape[-1]} is too short [at {user_line()}]")
    step = h[1:] - h[:-1] if h.ndim else h * asarray_like(f, np.ones(f.shape[-1] - 1))
    one = (f[..., 1:] - f[..., :-1]) / step  # between neighbours
    left, right = step[:-1], step[1:]
    inside = (right * one[..., :-1] + left * one[..., 1:]) / (left + right)
    first, end = one[..., :1], one[..., -1:]
    if edge_order == 2:
        first = first + (first - one[..., 1:2]) * step[0] / (step[0] + step[1])
        end = end + (end - one[..., -2:-1]) * step[-1] / (step[-1] + step[-2])
    return concat([first, inside, end], axis=-1)


def sinc(x: Any) -> Array:
    """See ``numpy.sinc``."""
    return elementwise.sinc_derivative(array_of(x), order=0)


def over_planes(name: str) -> Callable[..., Array]:
    """``numpy.fft.fft2`` and its kin: the transform of several axes, of the last two."""
    function = getattr(fft, name)

    def call(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Array:
        return function(array_of(a), s=s, axes=axes, norm=norm or "backward")

    return call


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.cross: cross,
    np.dot: dot,
    np.einsum: einsum,
    np.fft.fft2: over_planes("fftn"),
    np.fft.ifft2: over_planes("ifftn"),
    np.fft.irfft2: over_planes("irfftn"),
    np.fft.rfft2: over_planes("rfftn"),
    np.gradient: gradient,
    np.inner: inner,
    np.kron: kron,
    np.linalg.cond: cond,
    np.linalg.lstsq: lstsq,
    np.linalg.multi_dot: multi_dot,
    np.linalg.norm: norm,
    np.linalg.qr: qr,
    np.linalg.svd: svd,
    np.outer: outer,
    np.polyfit: polyfit,
    np.sinc: sinc,
    np.trapezoid: trapezoid,
    np.vander: vander,
    np.vdot: vdot,
}
