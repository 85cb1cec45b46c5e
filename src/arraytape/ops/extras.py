"""Functions beyond the standard that NumPy users and other libraries expect: median, einsum, pad, ...

All consist of other ops, so that they are differentiable without rules of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current, in_order, order_of
from .._define.keywords import call_numpys
from .._define.operands import check_one_device
from .._define.words import composite
from .._storage.storage import KNOWN, storage_for, storage_of
from .._util.errors import describe, describes_array, user_line
from . import data_type_functions, elementwise_functions, searching_functions
from . import statistical_functions as statistics
from ._einsum import contract_terms
from .creation_functions import full, linspace, zeros
from .indexing_functions import scatter_add, take
from .linalg import diagonal
from .manipulation_functions import concat, normalize_axis_index, reshape, squeeze
from .sorting_functions import sort

if TYPE_CHECKING:
    from .data_type_functions import Device, DType


@composite(takes="floating", gives=("reduced", "floating"), origin="extra")
def median(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Compute the median along an axis: the middle value, or the mean of the two middle ones.

    Notes
    -----
    The median is NaN if an element is NaN.  The median of no elements is NaN, with a RuntimeWarning.
    """
    ones = (1,) * x.ndim
    flat = reshape(x, (-1,)) if axis is None else x
    at = 0 if axis is None else normalize_axis_index("median", x, axis)
    ordered, count = sort(flat, axis=at), flat.shape[at]
    if not count:  # the mean of no elements is NaN, with NumPy's warning
        return statistics.mean(x, axis=axis, keepdims=keepdims)
    before = (slice(None),) * at
    middle = ordered[(*before, slice((count - 1) // 2, count // 2 + 1))]
    last = ordered[(*before, slice(-1, None))]
    value = statistics.mean(middle, axis=at, keepdims=True)
    value = searching_functions.where(elementwise_functions.isnan(last), last, value)
    if axis is None:
        return reshape(value, ones if keepdims else ())
    return value if keepdims else squeeze(value, at)


@composite(origin="extra")
def bincount(x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    """Count the occurrences of each non-negative integer, or sum their weights.

    Parameters
    ----------
    x
        Non-negative integers, with one dimension.
    weights
        The weight of each element of x; None: 1.
    minlength
        The least length of the result.

    Returns
    -------
    Array
        With one dimension, of the greater of the lengths max(x) + 1 and minlength.
        Its dtype is int64, or float64 with weights.

    Raises
    ------
    ValueError
        When x does not have one dimension or holds other values, or when weights has another shape
        than x.

    Notes
    -----
    Gradients flow back to the weights.
    """
    _, data = current(x)
    storage = storage_of(data)
    fits = len(data.shape) == 1 and data.dtype.kind in "iu"
    least, greatest = storage.extent(data) if fits else (-1, -1)
    if least < 0:
        raise ValueError(
            f"bincount: needs non-negative integers in one dimension, got {describe(x)} "
            f"[at {user_line()}]"
        )
    if minlength < 0:
        raise ValueError(f"bincount: minlength is negative: {minlength} [at {user_line()}]")
    size = max(greatest + 1, minlength)
    if weights is None:
        return asarray_like(x, storage.bincount(data, size))
    check_one_device("bincount", x.device, weights)
    return scatter_add(data_type_functions.astype(weights, "float64", copy=False), (size,), data)


@composite(origin="extra")
def diag(x: Array, /, k: int = 0) -> Array:
    """Make a matrix with the vector x on a diagonal, or return the diagonals of matrices.

    Parameters
    ----------
    x
        A vector of length n, or matrices of shape (..., M, N).

    Returns
    -------
    Array
        Of the dtype of x.  For a vector, a matrix of shape (m, m) with m = n + abs(k); else the
        diagonals, along the last axis.

    Raises
    ------
    ValueError
        When x has no dimension.
    """
    if x.ndim != 1:
        return diagonal(x, offset=k)
    n = x.shape[0] + abs(k)
    rows = np.arange(x.shape[0])
    matrix = zeros((n, n), dtype=x.dtype, device=x.device)
    matrix[rows + max(-k, 0), rows + max(k, 0)] = x
    return matrix


@composite(origin="extra", creates=True)
def logspace(
    start: float | Array,
    stop: float | Array,
    /,
    num: int = 50,
    *,
    endpoint: bool = True,
    base: float | Array = 10.0,
    dtype: DType = None,
    device: Device = None,
) -> Array:
    """Make an array of powers of a base with evenly spaced exponents.

    Parameters
    ----------
    start
        The first exponent: a number or an Array.
    stop
        The last exponent, or without endpoint the bound: a number or an Array.  The shapes of start
        and stop broadcast.
    num
        The number of values.
    endpoint
        Whether base ** stop is the last value.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: the device of start or stop if one
        of them is an Array, else the default device.
    base
        The base: a number or an Array whose shape broadcasts with those of start and stop.

    Returns
    -------
    Array
        Of shape (num, ...), where ... is the shape to which start, stop and base broadcast.
        Its dtype is ``dtype`` if given, else float64, or complex128 for complex exponents.

    Raises
    ------
    TypeError
        When base is neither a number nor an array of numbers.
    ValueError
        When num is negative, or the shapes do not broadcast.

    Notes
    -----
    Gradients flow back to Arrays among start, stop and base.
    """
    check_base(base)
    exponents = linspace(start, stop, num, endpoint=endpoint, device=device)
    missing = getattr(base, "ndim", 0) - (exponents.ndim - 1)  # number of axes that only base has
    if missing > 0:
        exponents = reshape(exponents, (num, *(1,) * missing, *exponents.shape[1:]))
    powers = elementwise_functions.pow(base, exponents)
    return powers if dtype is None else data_type_functions.astype(powers, dtype, copy=False)


def check_base(base: Any) -> None:
    """Raise TypeError for a base of ``logspace`` that is neither a number nor an array of numbers."""
    fits = isinstance(base, int | float | complex) or (
        describes_array(base) and (isinstance(base, Array) or storage_for(type(base)) is not None)
    )
    if not fits or np.dtype(getattr(base, "dtype", float)) not in KNOWN:
        raise TypeError(
            f"logspace: base must be a number or an Array of numbers, got {describe(base)} "
            f"[at {user_line()}]; give one, or convert it with asarray"
        )


@composite(origin="extra")
def einsum(subscripts: str, /, *operands: Array, optimize: Any = False) -> Array:
    """Sum products by Einstein's notation: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    Parameters
    ----------
    subscripts
        A letter for each axis of each operand, with commas between operands.  After '->' follow the
        letters of the axes of the result; products are summed over the other letters.
    operands
        Arrays of numeric dtype.
    optimize
        The order of the products: False for the order of the operands, or another ``optimize``
        argument of ``numpy.einsum_path``, such as True.

    Returns
    -------
    Array
        With an axis for each letter of the result.

    Raises
    ------
    TypeError
        When subscripts is not a str.
    ValueError
        When the subscripts do not fit the operands, or axes with one letter differ in length.
    """
    return contract_terms(subscripts, operands, optimize)


@composite(origin="extra")
def pad(
    x: Array,
    pad_width: Any,
    /,
    mode: Any = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = None,
    reflect_type: Literal["even", "odd"] = "even",
    stat_length: Any = None,
) -> Array:
    """Add elements before and after an array along each axis: constants, or elements of the array.

    Parameters
    ----------
    pad_width
        The number of added elements: one number for all places, a pair (before, after) for all axes,
        or a pair for each axis.
    mode
        The added elements.  'constant': ``constant_values``.  'edge': the outermost element.
        'reflect': the elements mirrored at the outermost element.  'symmetric': the elements
        mirrored, and the outermost element repeated.  'wrap': the elements of the other end.  Further
        modes are those of ``numpy.pad``: 'empty', 'linear_ramp', 'maximum', 'mean', 'median',
        'minimum', and functions.
    constant_values
        The constants: one for all places, a pair (before, after), or a pair for each axis.
    end_values
        NumPy's parameter for 'linear_ramp'.
    reflect_type
        NumPy's parameter for 'reflect' and 'symmetric'.
    stat_length
        NumPy's parameter for 'maximum', 'mean', 'median' and 'minimum'.

    Returns
    -------
    Array
        Of the dtype of x, and longer along each axis by the added elements.

    Raises
    ------
    ValueError
        When there is no such mode, or pad_width does not fit the number of axes.
    """
    further: dict[str, tuple[Any, Any]] = {
        "end_values": (end_values, None), "reflect_type": (reflect_type, "even"),
        "stat_length": (stat_length, None),
    }  # fmt: skip
    known = isinstance(mode, str) and mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    if not known or any(x is not default for x, default in further.values()):
        padded: Array = call_numpys("pad", (x, pad_width, mode), {}, further)
        return padded
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    order = "F" if order_of(x) == "F" else "C"
    if mode == "constant":
        values = pad_value_pairs(constant_values, x.ndim)
        for at, (width, ends) in enumerate(zip(widths, values, strict=True)):
            parts = []
            for n, value in zip(width, ends, strict=True):
                shape = (*x.shape[:at], n, *x.shape[at + 1 :])
                parts.append(full(shape, value, dtype=x.dtype, device=x.device))
            x = concat([parts[0], x, parts[1]], axis=at)
        return in_order(x, order)
    for at, width in enumerate(widths):
        if any(width):
            x = take(x, asarray_like(x, np.pad(np.arange(x.shape[at]), width, mode)), axis=at)
    return in_order(x, order)


def pad_value_pairs(values: Any, count: int) -> list[Any]:
    """Return a pair (before, after) for each of ``count`` axes from numpy.pad's ``constant_values``."""
    if isinstance(values, Array) or not np.ndim(values):
        return [(values, values)] * count
    if isinstance(values[0], Array) or not np.ndim(values[0]):
        ends = (values[0], values[-1])
        return [ends] * count
    return [(each[0], each[-1]) for each in (values if len(values) > 1 else [values[0]] * count)]
