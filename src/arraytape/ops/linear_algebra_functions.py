"""The linear algebra functions of the main namespace, and inner ops for rules of linear algebra.

The inner ops ``matmul_adjoint``, ``cofactors``, ``solve_again``, ``inverse_again`` and
``window_correlation`` are not public.
Rules call these ops, so that an outer tape, which records the rule, has one record for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.paths import PERMUTE, sum_to
from .._array.views import alias
from .._define.words import composite, primitive, sample
from .._record.op_facts import VIEW
from .._storage import correlations
from .._storage.correlations import Geometry
from .._storage.storage import conjugate
from .._util.array_types import Namespace, RawArray
from .._util.errors import describe, explain, user_line
from . import _factorisations as rules
from .manipulation_functions import normalize_axis_index, permute_dims, reshape


def without_zero_strides(g: RawArray) -> Any:
    """Return g, a cotangent that is multiplied by a matrix; copy a vector g that was broadcast.

    NumPy multiplies a vector whose stride is 0 slowly, without BLAS.
    """
    return g.copy() if type(g) is np.ndarray and g.strides == (0,) else g


def _matmul_vjp_x1(g: RawArray, x2: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return ``g @ x2^H``, summed over broadcast axes.

    It is the cotangent of x1 for the cotangent g of x1 @ x2.  shape : the shape of x1.
    """
    many = len(x2.shape)
    if many == len(shape) == 2:
        return xp.matmul_adjoint(g, x2, False, True)
    if many > 1 and len(shape) > 1:
        return sum_to(xp.matmul_adjoint(g, x2, False, True), shape, xp)
    x2 = conjugate(x2, xp)
    if many == 1:
        return g[..., None] * x2
    if many == 2:
        return xp.matmul(without_zero_strides(g), xp.matrix_transpose(x2))
    return sum_to(xp.matmul(g[..., None, :], xp.matrix_transpose(x2))[..., 0, :], shape, xp)


def _matmul_vjp_x2(g: RawArray, x1: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return ``x1^H @ g``, summed over broadcast axes.

    It is the cotangent of x2 for the cotangent g of x1 @ x2.  shape : the shape of x2.
    """
    many = len(x1.shape)
    if many == len(shape) == 2:
        return xp.matmul_adjoint(x1, g, True, False)
    if many > 1 and len(shape) > 1:
        return sum_to(xp.matmul_adjoint(x1, g, True, False), shape, xp)
    x1 = conjugate(x1, xp)
    if many == 1:
        if len(shape) == 1:
            return g[..., None] * x1
        return sum_to(x1[:, None] * g[..., None, :], shape, xp)
    axes = tuple(range(len(g.shape)))
    if len(axes) == 1:
        return xp.matmul(without_zero_strides(g), x1)
    return xp.sum(g[..., None] * x1, axis=axes)


@primitive(
    _matmul_vjp_x1,
    _matmul_vjp_x2,
    linear_in=("x1", "x2"),
    samples=(
        sample((2, 3), (3, 4)),
        sample((3,), (3,)),
        sample((2, 3), (3,)),
        sample((3,), (3, 2)),
        sample((2, 1, 2, 3), (4, 3, 2)),
        sample((3,), (2, 3, 2)),
        sample((2, 2, 3), (3,)),
        sample((0, 3), (3, 2)),
    ),
    signature="(m?,K),(K,n?)->(m?,n?)",
    continuous=True,
    propagates_nan=True,
    promotes="all",
    range=lambda n, x, y: x.times(y).sum_of(n),
)
def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices: x1 @ x2.

    Parameters
    ----------
    x1
        Matrices of shape (..., M, K), or one vector of shape (K,); of numeric dtype.
    x2
        Matrices of shape (..., K, N), or one vector of shape (K,); of numeric dtype.

    Returns
    -------
    Array
        Of shape (..., M, N), without the axis M or N if x1 or x2 is a vector.
        Its dtype is the dtype to which those of x1 and x2 promote.

    Raises
    ------
    ValueError
        When the lengths K differ, the other axes do not broadcast, or a shape is ().
    """


def _matmul_adjoint_vjp_x1(
    g: RawArray, x2: RawArray, shape: tuple[int, ...], first: bool, second: bool, xp: Namespace
) -> Any:
    """Return ``g @ b^H``, or its adjoint if ``first``; b is x2, or its adjoint if ``second``.

    It is the cotangent of x1 for the cotangent g of matmul_adjoint(x1, x2, first, second).
    shape : the shape of x1.
    """
    if first:
        return sum_to(xp.matmul_adjoint(x2, g, second, True), shape, xp)
    return sum_to(xp.matmul_adjoint(g, x2, False, not second), shape, xp)


def _matmul_adjoint_vjp_x2(
    g: RawArray, x1: RawArray, shape: tuple[int, ...], first: bool, second: bool, xp: Namespace
) -> Any:
    """Return ``a^H @ g``, or its adjoint if ``second``; a is x1, or its adjoint if ``first``.

    It is the cotangent of x2 for the cotangent g of matmul_adjoint(x1, x2, first, second).
    shape : the shape of x2.
    """
    if second:
        return sum_to(xp.matmul_adjoint(g, x1, True, first), shape, xp)
    return sum_to(xp.matmul_adjoint(x1, g, not first, False), shape, xp)


# The rules of this op call the op itself.  So an outer tape, which records the rules, has one record for
# each product, and none for transposed views.
@primitive(
    _matmul_adjoint_vjp_x1,
    _matmul_adjoint_vjp_x2,
    linear_in=("x1", "x2"),
    samples=(
        sample((2, 3), (3, 4), first=False, second=False),
        sample((3, 2), (3, 4), first=True, second=False),
        sample((2, 3), (4, 3), first=False, second=True),
        sample((3, 2), (4, 3), first=True, second=True),
        sample((2, 1, 3, 2), (4, 3, 2), first=True, second=False),
        sample((2, 3), (5, 2, 3), first=False, second=True),
        sample((0, 3), (2, 3), first=False, second=True),
    ),
    continuous=True,
    origin="inner",
    signature="(A,B),(C,D)->(E,F)",
    promotes="all",
)
def matmul_adjoint(x1: Array, x2: Array, /, first: bool, second: bool) -> Array:
    """Multiply matrices, x1 replaced by its adjoint if ``first``, x2 by its adjoint if ``second``."""


def _correlation_gradient(
    g: RawArray, wanted: int, part: str, x: RawArray, shape: tuple[int, ...], geometry: Geometry,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of an operand of ``window_correlation``: of x1 or, if ``wanted`` is 1, of x2.

    It is a correlation, too, of g and the conjugate of the other operand.

    g : the cotangent of the result.  part : the array that the op returns: "data", "kernel" or "result".
    x : the other operand.  shape : that of the wanted operand.  geometry : strides, dilations, margins.
    """
    names = [name for name in correlations.PARTS if name != part]
    into, other = names[wanted], names[1 - wanted]
    given = {part: g, other: conjugate(x, xp)}
    axes = len(geometry[0])
    lengths = shape[:axes] if into == "kernel" else shape[-1 - axes : -1]
    x1, x2 = (given[name] for name in correlations.PARTS if name in given)
    return xp.window_correlation(x1, x2, into, lengths, geometry)


def _window_correlation_vjp_x1(
    g: RawArray, x2: RawArray, shape: tuple[int, ...], part: str, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the cotangent of x1, computed by a correlation of g and the conjugate of x2.

    x1 is the data, kernel or result of a correlation.  g is the cotangent of the array that ``part``
    names.  shape : the shape of x1.
    """
    return _correlation_gradient(g, 0, part, x2, shape, geometry, xp)


def _window_correlation_vjp_x2(
    g: RawArray, x1: RawArray, shape: tuple[int, ...], part: str, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the cotangent of x2, computed by a correlation of g and the conjugate of x1.

    x2 is the data, kernel or result of a correlation.  g is the cotangent of the array that ``part``
    names.  shape : the shape of x2.
    """
    return _correlation_gradient(g, 1, part, x1, shape, geometry, xp)


LINE: Geometry = ((2,), (1,), (1,))
PLANE: Geometry = ((1, 2), (2, 1), (0, 1))


# The gradients of this op are this op again, for other parts.
@primitive(
    _window_correlation_vjp_x1,
    _window_correlation_vjp_x2,
    linear_in=("x1", "x2"),
    samples=(
        sample((2, 5, 2), (3, 2, 3), part="result", lengths=(3,), geometry=LINE),
        sample((2, 5, 2), (2, 3, 3), part="kernel", lengths=(3,), geometry=LINE),
        sample((3, 2, 3), (2, 3, 3), part="data", lengths=(5,), geometry=LINE),
        sample((5, 4, 2), (2, 3, 2, 1), part="result", lengths=(3, 2), geometry=PLANE),
        sample((5, 4, 2), (3, 2, 1), part="kernel", lengths=(2, 3), geometry=PLANE),
        sample((2, 3, 2, 1), (3, 2, 1), part="data", lengths=(5, 4), geometry=PLANE),
        sample((0, 5, 2), (0, 3, 3), part="kernel", lengths=(3,), geometry=LINE),
    ),
    continuous=True,
    origin="inner",
    signature="(A,B),(C,D)->(E,F)",
    promotes="all",
)
def window_correlation(
    x1: Array, x2: Array, /, part: str, lengths: tuple[int, ...], geometry: Geometry
) -> Array:
    """Compute the result of a correlation, or the cotangent of its data or kernel, from the two others.

    part : the array to compute, "data", "kernel" or "result"; x1 and x2 are the other two.
    For "data" and "kernel" the cotangent of the result is given in place of the result.
    lengths : the lengths of this array.  geometry : the strides, dilations and margins.
    """


@primitive(
    rules.cofactors_vjp,
    samples=(sample((3, 3)), sample((2, 2, 2)), sample((1, 1)), sample((0, 0))),
    continuous=True,
    origin="inner",
    signature="(N,N)->(N,N)",
)
def cofactors(x: Array, /) -> Array:
    """Compute the matrix of cofactors, the derivative of linalg.det, also for singular x."""


def regular(x: Array) -> Array:
    """Return x + diag(3, 6, 9, ...), a well-conditioned argument with separate eigenvalues for tests."""
    return x + asarray_like(x, np.diag(3.0 * np.arange(1.0, x.shape[-1] + 1.0)))


@primitive(
    joint=rules.solve_again_vjp,
    samples=(
        sample((3, 3), (3, 2), prepare=regular),
        sample((2, 3, 3), (3,), prepare=regular, adjoint=True),
        sample((64, 64), (64, 1), prepare=regular, adjoint=True),
        sample((0, 0), (0, 2), prepare=regular, adjoint=True),
    ),
    continuous=True,
    origin="inner",
    signature="(N,N),(N,k?)->(N,k?)",
    promotes="all",
)
def solve_again(x1: Array, x2: Array, /, *, adjoint: bool = False) -> Array:
    """Solve x1 @ x = x2, or x1^H @ x = x2 if ``adjoint``, with factors of x1 if any are cached."""


@primitive(
    rules.inverse_again_vjp,
    None,
    samples=(
        sample((3, 3), np.asarray([[False]]), prepare=regular),
        sample((2, 2, 2), np.asarray([[[False]], [[True]]]), prepare=regular),
    ),
    origin="inner",
    signature="(N,N),(M,M)->(N,N)",
)
def inverse_again(x: Array, singular: Array, /) -> Array:
    """Invert matrices, by cached factors if there are any; return unit matrices for singular ones."""


@composite(**VIEW)
def matrix_transpose(x: Array, /) -> Array:
    """Transpose a matrix, or each matrix of a stack, as a view.

    Parameters
    ----------
    x
        Matrices of shape (..., M, N), of any dtype.

    Returns
    -------
    Array
        A view of x, of shape (..., N, M).

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    """
    n = x.ndim
    if n < 2:
        error = ValueError("needs at least 2 dimensions")
        raise explain("matrix_transpose", error, x=x) from None
    seen = alias(x, PERMUTE, (*range(n - 2), n - 1, n - 2))
    assert seen is not None
    return seen


def _vecdot_vjp_x1(
    g: RawArray, x2: RawArray, axis: int, shape: tuple[int, ...], xp: Namespace
) -> Any:
    """Return ``xp.conj(g) * x2``, summed over broadcast axes.

    It is the cotangent of x1 for the cotangent g of vecdot(x1, x2).  shape : the shape of x1.
    """
    if axis >= 0:
        return vectors_at(conjugate(g, xp), x2, axis, shape, xp)
    return sum_to(conjugate(xp.expand_dims(g, axis=axis), xp) * x2, shape, xp)


def _vecdot_vjp_x2(
    g: RawArray, x1: RawArray, axis: int, shape: tuple[int, ...], xp: Namespace
) -> Any:
    """Return ``g * x1``, summed over broadcast axes.

    It is the cotangent of x2 for the cotangent g of vecdot(x1, x2).  shape : the shape of x2.
    """
    if axis >= 0:
        return vectors_at(g, x1, axis, shape, xp)
    return sum_to(xp.expand_dims(g, axis=axis) * x1, shape, xp)


def vectors_at(g: RawArray, x: RawArray, axis: int, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return the cotangent of an operand of vecdot for an axis >= 0: g times x, the other operand.

    g : the cotangent of the result.  shape : the shape of the operand, to which the product is summed.
    For this sum the axis is moved to the end, because an axis >= 0 has different places in operands of
    different ndim.
    """
    last = (*shape[:axis], *shape[axis + 1 :], shape[axis])
    return xp.moveaxis(sum_to(g[..., None] * xp.moveaxis(x, axis, -1), last, xp), -1, axis)


@primitive(
    _vecdot_vjp_x1,
    _vecdot_vjp_x2,
    linear_in=("x1", "x2"),
    samples=(sample((3,), (3,)), sample((2, 3), (3,)), sample((3, 2), (3, 1), axis=-2)),
    continuous=True,
    signature="(AXIS),(AXIS)->()",
    promotes="all",
)
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Compute the dot product of vectors along an axis: the sum of conj(x1) * x2.

    Parameters
    ----------
    x1
        Of numeric dtype; complex elements are conjugated.
    x2
        Of numeric dtype, and of the length of x1 along the axis.

    Returns
    -------
    Array
        Of the shape to which x1 and x2 broadcast, without the axis.
        Its dtype is the dtype to which those of x1 and x2 promote.

    Raises
    ------
    ValueError
        When the lengths along the axis differ, or the other axes do not broadcast.
    """


@composite(continuous=True, promotes="all")
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum the products of two arrays over pairs of axes.

    Parameters
    ----------
    x1
        Of numeric dtype.
    x2
        Of numeric dtype; the two axes of a pair have the same length.
    axes
        A number n pairs the last n axes of x1 with the first n axes of x2, in order.  A pair of
        sequences lists the axes of x1 and the corresponding axes of x2.

    Returns
    -------
    Array
        With the other axes of x1, followed by the other axes of x2.
        Its dtype is the dtype to which those of x1 and x2 promote.

    Raises
    ------
    TypeError
        When axes is neither a number nor a pair.
    ValueError
        When the axes differ in number or length.
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            # The type of error is NumPy's, which compares lengths before it checks that the axes exist.
            pairs = zip(x1.shape[max(x1.ndim - axes, 0) :], x2.shape, strict=False)
            differ = x1.ndim >= axes >= 0 and any(m != n for m, n in pairs)
            raise (ValueError if differ or axes < 0 else IndexError)(
                f"tensordot: {describe(x1)} and {describe(x2)} do not both have {axes} axes "
                f"[at {user_line()}]"
            )
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        if not isinstance(axes, list | tuple) or len(axes) != 2:
            raise TypeError(
                f"tensordot: axes must be an integer or a pair of sequences of axes, got "
                f"{describe(axes)} [at {user_line()}]"
            )
        pair = [(part,) if isinstance(part, int) else part for part in axes]  # as in NumPy
        first, second = (
            [normalize_axis_index("tensordot", x, a) for a in part]
            for x, part in zip((x1, x2), pair, strict=True)
        )
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(
            f"tensordot: axes {first} of shape {x1.shape} and {second} of {x2.shape} differ "
            f"[at {user_line()}]"
        )
    rows = [a for a in range(x1.ndim) if a not in first]
    columns = [a for a in range(x2.ndim) if a not in second]
    summed = math.prod(x1.shape[a] for a in first)
    height, width = (math.prod(x.shape[a] for a in kept) for x, kept in ((x1, rows), (x2, columns)))
    left = reshape(permute_dims(x1, (*rows, *first)), (height, summed))
    right = reshape(permute_dims(x2, (*second, *columns)), (summed, width))
    shape = (*(x1.shape[a] for a in rows), *(x2.shape[a] for a in columns))
    return reshape(matmul(left, right), shape)
