"""Statistical functions: reductions over axes, and cumulative sums and products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._array.array import Array
from .._define.words import linear, primitive, sample
from .._record.op_facts import hull
from .._record.plan import AFTER_RESTORING
from .._storage import numpy_namespace
from .._storage.standard import Axis, normalize_axis_tuple, restore_axes
from .._storage.storage import Storage, conjugate, is_complex
from .._util.array_types import Namespace, RawArray
from .elementwise_functions import flat_at_tip

if TYPE_CHECKING:
    from .data_type_functions import DType


def count_reduced(shape: tuple[int, ...], axis: Axis) -> int:
    """Return the number of elements that a reduction over ``axis`` combines to each result."""
    n = 1
    for i in normalize_axis_tuple(axis, len(shape)):
        n *= shape[i]
    return n


def _sum_vjp(g: RawArray, shape: tuple[int, ...], axis: Axis, keepdims: bool, xp: Namespace) -> Any:
    """Return g, repeated along the reduced axes.

    It is the cotangent of x for the cotangent g of sum(x).  shape : the shape of x.
    """
    if math.prod(shape) <= numpy_namespace.SMALL:
        return xp.sum_adjoint(g, shape, axis, keepdims)
    if axis is not None and not keepdims:
        g = restore_axes(g, shape, axis, keepdims, xp)
    return xp.broadcast_to(g, shape)


REDUCED: Any = {"signature": "(AXES)->()", "propagates_nan": True}
SAMPLES = (
    sample((3, 4)),
    sample((3, 4), axis=0),
    sample((3, 4), axis=(-1, 0), keepdims=True),
    sample((2, 3, 2), axis=1, keepdims=True),
    sample(()),
)


def _sum_adjoint_vjp(
    g: RawArray, into: tuple[int, ...], along: Axis, keepdims: bool, xp: Namespace
) -> Any:
    """Return ``xp.sum(g)`` over the axes along which x was repeated.

    It is the cotangent of x for the cotangent g of sum_adjoint(x), which repeats x.

    into : the shape after repeating.  along : the repeated axes.  keepdims : True if x has these axes
    with length 1.
    """
    return xp.sum(g, axis=along if into else None, keepdims=keepdims)


# The rule of sum uses this op for small arrays, in place of reshapes and a broadcast view.  So an outer
# tape, which records the rule, has one record for it.
@linear(
    transpose=_sum_adjoint_vjp,
    samples=(
        sample((), into=(3, 4), along=None, keepdims=False),
        sample((4,), into=(3, 4), along=0, keepdims=False),
        sample((1, 1), into=(3, 4), along=(-1, 0), keepdims=True),
        sample((2, 2), into=(2, 3, 2), along=1, keepdims=False),
        sample((), into=(), along=0, keepdims=False),
        sample((3,), into=(0, 3), along=0, keepdims=False),
    ),
    origin="inner",
    signature="(...)->(...)",
    rearranges=True,
    scalars=False,
    range=hull,
)
def sum_adjoint(x: Array, /, into: tuple[int, ...], along: Axis, keepdims: bool) -> Array:
    """Repeat x along the axes ``along`` to the shape ``into``: the transpose of sum."""


@linear(
    transpose=_sum_vjp,
    samples=(*SAMPLES, sample((0, 3), axis=0)),
    takes="number",
    gives=("reduced", "accumulated"),
    **REDUCED,
    range=lambda n, x: x.sum_of(n),
)
def sum(x: Array, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Array:
    """Sum over axes (all by default)."""


def _mean_vjp(
    g: RawArray, shape: tuple[int, ...], axis: Axis, keepdims: bool, xp: Namespace
) -> Any:
    """Return ``g / n``, repeated along the reduced axes, where each result is the mean of n elements.

    It is the cotangent of x for the cotangent g of mean(x).  shape : the shape of x.
    """
    return _sum_vjp(g / count_reduced(shape, axis), shape, axis, keepdims, xp)


@linear(
    transpose=_mean_vjp, samples=SAMPLES, takes="floating", gives=("reduced", "floating"), **REDUCED
)  # fmt: skip
def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the arithmetic mean over axes (all by default)."""


def equal_or_nan(x: RawArray, y: RawArray) -> Any:
    """Return a mask that is True where x equals y or is NaN.

    These elements of x determine y, the maximum or minimum of x.
    """
    return (x == y) | (x != x)


# The saved mask of the elements that equal the result, or are NaN where the result is NaN.  It is None
# if the storage has a kernel whose counts of ties tell these elements, too.
def _taken(x: RawArray, y: RawArray, axis: Axis, keepdims: bool, storage: Storage) -> Any:
    if storage.fusing and storage.counts_ties(x, normalize_axis_tuple(axis, len(x.shape))):
        return None
    y_again = restore_axes(y, x.shape, axis, keepdims, storage.xp)
    if storage.fusing:
        return storage.fused(equal_or_nan)(x, y_again)
    taken = x == y_again
    return taken if storage.unless_none(y != y) is None else taken | (x != x)


# The saved number of elements that tie for each result, or None without ties.  Each result equals at
# least one element, so there are no ties if as many elements were taken as there are results.
def _ties(
    x: RawArray, y: RawArray, taken: RawArray | None, axis: Axis, keepdims: bool, storage: Storage
) -> Any:
    if taken is None:
        y_again = restore_axes(y, x.shape, axis, keepdims, storage.xp)
        return storage.tie_counts(x, y_again, normalize_axis_tuple(axis, len(x.shape)))
    if storage.counted(taken) == count_reduced(y.shape, None):
        return None
    return storage.count_true(taken, x.dtype, axis)


def _share_among_ties(
    g: RawArray, taken: RawArray | None, ties: RawArray | None, xp: Namespace
) -> Any:
    """Return what ``_extreme_vjp`` does, for a cotangent g whose reduced axes are restored."""
    if taken is None:
        assert ties is not None
        taken = ties > 0
    return xp.where(taken, g if ties is None else g / ties, 0.0)


def _extreme_vjp(
    g: RawArray,
    taken: RawArray | None,
    ties: RawArray | None,
    shape: tuple[int, ...],
    axis: Axis,
    keepdims: bool,
    xp: Namespace,
) -> Any:
    """Return g where x equals the result, divided evenly among ties, and 0 elsewhere.

    It is the cotangent of x for the cotangent g of the maximum or minimum of x.

    taken : True where x equals the result; None if ``ties`` tells it.
    ties : the number of equal elements, or None without ties.  If ``taken`` is None, the number is -1
    for elements that differ from the result.
    shape : the shape of x.
    """
    return _share_among_ties(restore_axes(g, shape, axis, keepdims, xp), taken, ties, xp)


AFTER_RESTORING[_extreme_vjp] = _share_among_ties


extreme = primitive(
    _extreme_vjp,
    selects=True,
    saves={"taken": _taken, "ties": _ties},
    samples=SAMPLES,
    continuous=True,
    takes="ordered",
    gives=("reduced", "x"),
    **REDUCED,
    range=hull,
)


@extreme
def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the maximum over axes (all by default); NaN where an element is NaN.

    Notes
    -----
    Elements that tie share the gradient evenly.  Where the result is NaN, the NaN elements share it.
    """


@extreme
def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the minimum over axes (all by default); NaN where an element is NaN.

    Notes
    -----
    Elements that tie share the gradient evenly.  Where the result is NaN, the NaN elements share it.
    """


def _log_sum_exp_vjp(
    g: RawArray,
    x: RawArray,
    y: RawArray,
    shape: tuple[int, ...],
    axis: Axis,
    keepdims: bool,
    xp: Namespace,
) -> Any:
    """Return g times the softmax of x.

    It is the cotangent of x for the cotangent g of y = log_sum_exp(x).
    """
    # exp(x - y) is divided by its sum, because y may be rounded by more than 1 for large x.
    still = restore_axes(xp.where(xp.isfinite(y), y, 0.0), shape, axis, keepdims, xp)
    terms = conjugate(xp.exp(x - still), xp)
    return (
        restore_axes(g, shape, axis, keepdims, xp) / xp.sum(terms, axis=axis, keepdims=True) * terms
    )


@primitive(
    _log_sum_exp_vjp,
    samples=SAMPLES,
    continuous=True,
    origin="inner",
    **REDUCED,
)
def log_sum_exp(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the logarithm of the sum of exp(x) over axes, for ``special.logsumexp`` on a device."""


def _factors_of_product(x: RawArray, g: RawArray, xp: Namespace) -> Any:
    """Return the factors x of ``prod(x)``, or their real parts if its cotangent g is real.

    In the latter case ``prod`` was called with a real ``dtype``, to which complex factors were cast.
    """
    return xp.real(x) if is_complex(x) and not is_complex(g) else x


def _prod_vjp(g: RawArray, x: RawArray, axis: Axis, keepdims: bool, xp: Namespace) -> Any:
    """Return g times the conjugated product of all other elements of x, without a division.

    It is the cotangent of x for the cotangent g of prod(x).
    """
    x = _factors_of_product(x, g, xp)
    # The product of the other elements is that of the elements on the left times that of the elements on
    # the right.  A division of the whole product by each element would fail for zeros.
    gone = normalize_axis_tuple(axis, len(x.shape))
    kept = tuple(i for i in range(len(x.shape)) if i not in gone)
    order = (*kept, *gone)
    moved = xp.permute_dims(x, order)
    flat = xp.reshape(moved, (*(x.shape[i] for i in kept), count_reduced(x.shape, axis)))
    one = xp.ones_like(flat[..., :1])
    left = xp.cumulative_prod(xp.concat([one, flat[..., :-1]], axis=-1), axis=-1)
    right = xp.cumulative_prod(xp.concat([one, xp.flip(flat[..., 1:], axis=-1)], axis=-1), axis=-1)
    others = xp.reshape(left * xp.flip(right, axis=-1), moved.shape)
    back = tuple(order.index(i) for i in range(len(order)))
    others = conjugate(xp.permute_dims(others, back), xp)
    return restore_axes(g, x.shape, axis, keepdims, xp) * others


@primitive(
    _prod_vjp,
    samples=(*SAMPLES, sample((3,), domain=(0.0, 0.0))),
    continuous=True,
    takes="number",
    gives=("reduced", "accumulated"),
    **REDUCED,
)
def prod(x: Array, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Array:
    """Multiply over axes (all by default).

    Notes
    -----
    The derivative is exact also where elements are 0.
    """


def _var_vjp(
    g: RawArray, x: RawArray, axis: Axis, correction: float, keepdims: bool, xp: Namespace
) -> Any:
    """Return ``g * 2 * (x - xp.mean(x)) / (n - correction)``, with n elements for each result.

    It is the cotangent of x for the cotangent g of var(x).
    """
    n = count_reduced(x.shape, axis) - correction
    slopes = _centred(x, axis, xp) * (2 / n if n > 0 else float("nan"))
    return restore_axes(g, x.shape, axis, keepdims, xp) * slopes


def _centred(x: RawArray, axis: Axis, xp: Namespace) -> Any:
    """Return the deviations of x from its mean along the axes."""
    # The mean is subtracted twice, since for values far from 0 its rounding error may be as large as the
    # deviations.
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    return centred - xp.mean(centred, axis=axis, keepdims=True)


@primitive(
    _var_vjp,
    samples=(*SAMPLES, sample((4, 3), axis=0, correction=1.0)),
    continuous=True,
    takes="floating",
    gives=("reduced", "real"),
    **REDUCED,
)
def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Compute the variance over axes (all by default): the mean squared distance from the mean.

    Notes
    -----
    The gradient is NaN unless ``correction`` is less than the number of elements.
    """


def _std_vjp(
    g: RawArray,
    x: RawArray,
    y: RawArray,
    axis: Axis,
    correction: float,
    keepdims: bool,
    xp: Namespace,
) -> Any:
    """Return ``g * (x - xp.mean(x)) / (y * (n - correction))``, with n elements for each result y.

    It is the cotangent of x for the cotangent g of y = std(x).
    """
    n = count_reduced(x.shape, axis) - correction
    zero, share = y == 0, 1 / n if n > 0 else float("nan")
    if count_reduced(x.shape, axis) > 1:  # a single element has the constant deviation 0
        share = flat_at_tip(zero, share, y, xp)
    g = restore_axes(g * share, x.shape, axis, keepdims, xp)
    # The deviations, not g, are divided by y, because 1 / y and its derivative may overflow.
    size = restore_axes(xp.where(zero, 1.0, y), x.shape, axis, keepdims, xp)
    return g * (_centred(x, axis, xp) / size)


@primitive(
    _std_vjp,
    cusped=True,
    samples=(*SAMPLES[:4], sample((4, 3), axis=0, correction=1.0)),
    continuous=True,
    takes="floating",
    gives=("reduced", "real"),
    **REDUCED,
)
def std(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Compute the standard deviation over axes (all by default): the square root of the variance.

    Notes
    -----
    The derivative is 0 where all elements are equal; second derivatives are NaN there.
    """


def _cumulative_sum_vjp(
    g: RawArray, shape: tuple[int, ...], axis: int | None, include_initial: bool, xp: Namespace
) -> Any:
    """Return the running sums of g from the end of the axis to its start.

    It is the cotangent of x for the cotangent g of cumulative_sum(x).  shape : the shape of x.
    """
    at = (axis or 0) % len(g.shape)
    if include_initial:
        g = g[(*(slice(None),) * at, slice(1, None))]
    return xp.reshape(xp.flip(xp.cumulative_sum(xp.flip(g, axis=at), axis=at), axis=at), shape)


@linear(
    transpose=_cumulative_sum_vjp,
    samples=(sample((3,)), sample((3, 4), axis=1), sample((3, 4), axis=0, include_initial=True)),
    signature="(AXIS)->(AXIS)",
)
def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType = None, include_initial: bool = False
) -> Array:
    """Compute the running sums along an axis.

    Parameters
    ----------
    axis
        The axis; a negative number counts from the end.  None: the only axis of a 1-d array.
    include_initial
        True to put a 0 first, which makes the axis one longer.

    Returns
    -------
    Array
        Of the shape of x, or with include_initial one longer along the axis.
        Its dtype is ``dtype`` if given, else the dtype of x; but int64 for smaller
        signed and uint64 for smaller unsigned integers.

    Raises
    ------
    ValueError
        When axis is None and x does not have one dimension.
    """


def _cumulative_prod_vjp(
    g: RawArray, x: RawArray, y: RawArray, axis: int | None, include_initial: bool, xp: Namespace
) -> Any:
    """Return the sum over j >= i of g_j times the conjugated product of the first j elements
    without x_i, which is exact also where elements are 0.

    It is the cotangent of x for the cotangent g of y = cumulative_prod(x).
    """
    if not x.shape:
        return g[-1]
    x = _factors_of_product(x, g, xp)
    # The derivative of y_j with respect to x_i is the product of the first j elements without x_i.  All
    # these products are computed as a matrix over (i, j): a division by x_i would fail for zeros.
    at = (axis or 0) % len(x.shape)
    if include_initial:
        g = g[(*(slice(None),) * at, slice(1, None))]
    rows = xp.moveaxis(x, at, -1)
    eye = xp.eye(rows.shape[-1], dtype=xp.bool, device=x.device)
    factors = xp.where(eye, 1.0, rows[..., None, :])
    products = xp.triu(xp.cumulative_prod(factors, axis=-1))
    back = conjugate(products, xp) @ xp.moveaxis(g, at, -1)[..., None]
    return xp.moveaxis(back[..., 0], -1, at)


@primitive(
    _cumulative_prod_vjp,
    samples=(sample((3,)), sample((3, 4), axis=1), sample((3, 4), axis=0, include_initial=True)),
    continuous=True,
    signature="(AXIS)->(AXIS)",
)
def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType = None, include_initial: bool = False
) -> Array:
    """Compute the running products along an axis.

    Parameters
    ----------
    axis
        The axis; a negative number counts from the end.  None: the only axis of a 1-d array.
    include_initial
        True to put a 1 first, which makes the axis one longer.

    Returns
    -------
    Array
        Of the shape of x, or with include_initial one longer along the axis.
        Its dtype is ``dtype`` if given, else the dtype of x; but int64 for smaller
        signed and uint64 for smaller unsigned integers.

    Raises
    ------
    ValueError
        When axis is None and x does not have one dimension.
    """
