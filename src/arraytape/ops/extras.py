"""Names beyond the standard that NumPy's users and third-party code ask a namespace for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current, in_order, order_of
from .._define.words import composite
from .._storage.storage import KNOWN, storage_for, storage_of
from .._util.errors import describe, describes_array, short_repr, user_line
from . import data_type_functions, elementwise_functions, searching_functions
from . import statistical_functions as statistics
from ._einsum import contracted
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
    The median is NaN where an element is NaN and, with a RuntimeWarning, of no elements.
    """
    ones = (1,) * x.ndim
    flat = reshape(x, (-1,)) if axis is None else x
    at = 0 if axis is None else normalize_axis_index("median", x, axis)
    ordered, count = sort(flat, axis=at), flat.shape[at]
    if not count:  # NaN, with NumPy's warning
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
    """Count how often each non-negative integer occurs, or sum its weights.

    Parameters
    ----------
    x
        Non-negative integers in one dimension.
    weights
        A weight for each; None: 1 for each.
    minlength
        The least length of the result.

    Returns
    -------
    Array
        With one dimension, of length max(x) + 1 or minlength if that is greater.
        Its dtype is int64, with weights float64.

    Raises
    ------
    ValueError
        When x is anything else, or weights has another shape.

    Notes
    -----
    The weights keep their gradient.
    """
    _, data = current(x)
    indices = storage_of(data).host(data)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or (indices < 0).any():
        raise ValueError(
            f"bincount: needs non-negative integers in one dimension, got {describe(x)} "
            f"[at {user_line()}]"
        )
    if minlength < 0:
        raise ValueError(f"bincount: minlength is negative: {minlength} [at {user_line()}]")
    size = max(int(indices.max()) + 1 if indices.size else 0, minlength)
    if weights is None:
        return asarray_like(x, np.bincount(indices, minlength=size))
    return scatter_add(data_type_functions.astype(weights, "float64", copy=False), (size,), data)


@composite(origin="extra")
def diag(x: Array, /, k: int = 0) -> Array:
    """Make a matrix with x on a diagonal, or copy a diagonal of a matrix.

    Parameters
    ----------
    x
        A vector, of which a matrix is made, or matrices of shape (..., M, N).

    Returns
    -------
    Array
        Of the dtype of x: of shape (n, n) with n = len(x) + abs(k) for a vector, else the
        diagonals along the last axis.

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
    """Make an array of powers of a base, evenly spaced in their exponents.

    Parameters
    ----------
    start
        The first exponent: a number or an Array.
    stop
        The end of the exponents: a number or an Array, of a shape that broadcasts with that of start.
    num
        How many values.
    endpoint
        Whether base ** stop is the last value.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: where an Array among the ends lies,
        else the default device.
    base
        The base: a number or an Array, of a shape that broadcasts with those of the ends.

    Returns
    -------
    Array
        Of shape (num, ...), where ... is the one to which ends and base broadcast: () for numbers.
        Its dtype is ``dtype``, else float64, complex128 for complex ends.

    Raises
    ------
    TypeError
        When base is neither a number nor an array of numbers.
    ValueError
        When num is negative, or the shapes do not broadcast.

    Notes
    -----
    Arrays keep their gradient.
    """
    check_base(base)
    exponents = linspace(start, stop, num, endpoint=endpoint, device=device)
    missing = getattr(base, "ndim", 0) - (exponents.ndim - 1)  # axes of the base alone
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
        A letter for each axis of each operand, operands separated by commas; after '->' the letters
        of the result.  Letters that the result lacks are summed over.
    operands
        Arrays of numeric dtype.
    optimize
        The order of the products: False from the left, True or any ``optimize`` of
        ``numpy.einsum_path``.

    Returns
    -------
    Array
        With the axes of the result's letters.

    Raises
    ------
    TypeError
        When subscripts is no str.
    ValueError
        When the subscripts do not fit the operands, or lengths do not agree.
    """
    return contracted(subscripts, operands, optimize)


@composite(origin="extra")
def pad(
    x: Array,
    pad_width: Any,
    /,
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: Any = 0,
    reflect_type: Literal["even"] = "even",
) -> Array:
    """Put elements around an array: constants, or its own.

    Parameters
    ----------
    pad_width
        How many: one number for all, a pair (before, after), or a pair for each axis.
    mode
        'constant': constant_values.  'edge': the outermost element.  'reflect' and 'symmetric':
        the elements mirrored, without and with the outermost one.  'wrap': elements of the other
        end.
    constant_values
        The values: one for all, a pair (before, after), or a pair for each axis.
    reflect_type
        NumPy's parameter; 'even' alone.

    Returns
    -------
    Array
        Of the dtype of x.

    Raises
    ------
    ValueError
        When there is no such mode, or pad_width does not fit the axes.
    """
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or reflect_type != "even":
        raise ValueError(
            f"pad: no mode {short_repr(mode)} with reflect_type={short_repr(reflect_type)} [at "
            f"{user_line()}]"
        )
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    order = "F" if order_of(x) == "F" else "C"
    if mode == "constant":
        values = pairs(constant_values, x.ndim)
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


def pairs(values: Any, count: int) -> list[Any]:
    """Return a value before and a value after for each axis, as numpy.pad understands ``values``."""
    if isinstance(values, Array) or not np.ndim(values):
        return [(values, values)] * count
    if isinstance(values[0], Array) or not np.ndim(values[0]):
        ends = (values[0], values[-1])
        return [ends] * count
    return [(each[0], each[-1]) for each in (values if len(values) > 1 else [values[0]] * count)]
