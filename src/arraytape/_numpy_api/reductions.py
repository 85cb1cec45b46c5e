"""NumPy's reductions, cumulative functions and sorting on Arrays, with NumPy's parameters.

Most of these functions also are methods of Array: ``np.sum(x)`` and ``x.sum()``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like, wrap
from .._array.views import current, lay_out_like
from .._storage.batched.batched_data import holds_anywhere
from .._storage.storage import storage_of
from .._util.errors import describe, raise_documented, short_repr, user_line
from .._util.options import unwrap_option
from ..ops import elementwise_functions as elementwise
from ..ops import searching_functions as searching
from ..ops import statistical_functions as statistics
from ..ops import utility_functions as utilities
from ..ops.data_type_functions import astype, result_type
from ..ops.extras import median as middle
from ..ops.indexing_functions import take_along_axis
from ..ops.manipulation_functions import (
    broadcast_to,
    concat,
    moveaxis,
    normalize_axis_index,
    permute_dims,
    reshape,
)
from ..ops.sorting_functions import argsort, sort
from . import exact
from .implementations import private, program_of
from .numpy_arguments import (
    ArrayLike,
    Axis,
    DType,
    array_of,
    arrays_like_first,
    complex_from_parts,
    discard_imaginary,
    host_values,
    mark_as_scalar,
    mask_of,
    normalize_axes,
    on_axis,
    write_into,
)

DOCSTRING = """\
{summary}

Parameters
----------
{parameters}

Returns
-------
Array
    The result of ``{name}``, with its errors and its derivative.

Raises
------
IndexError
    When there is no such axis."""
PARAMETERS = {
    "axis": (
        "int | tuple[int, ...] | None, default: None",
        "The axis or axes to reduce, negative ones from the end; None: all of them.",
    ),
    "dtype": ("dtype | None, default: None", "The dtype of the result."),
    "keepdims": ("bool, default: False", "True: reduced axes stay, with length 1."),
    "initial": ("number | None, default: None", "The value with which the reduction begins."),
    "where": ("Array, default: True", "A boolean for each element; only True elements count."),
    "ddof": ("float, default: 0.0", "The divisor is the number of elements minus ddof."),
    "mean": (
        "Array | None, default: None",
        "The mean, if it is known already, in the shape for keepdims=True.",
    ),
    "correction": ("float, default: 0.0", "The standard's name of ddof."),
}


def documented(name: str, *more: str, axis: str = "", summary: str = "Reduce axes") -> str:
    """Return the docstring of a reduction that is both a function of NumPy and a method of Array.

    name : the function's name.  more : its parameters after ``axis``, which PARAMETERS describes.
    axis : a description of ``axis`` in place of the usual one.  summary : the first line's beginning.
    """
    described = PARAMETERS | ({"axis": ("int | None, default: None", axis)} if axis else {})
    entries = ["{} : {}\n    {}".format(p, *described[p]) for p in ("axis", *more)]
    summary = f"{summary}, as ``numpy.{name}`` does."
    return DOCSTRING.format(summary=summary, name=name, parameters="\n".join(entries))


def numpy_reduction(name: str, ufunc: np.ufunc, **identity: Any) -> Callable[..., Array]:
    """Return a function like ``numpy.sum``, which accepts ``dtype``, ``initial`` and ``where``.

    name : the standard's reduction that it calls.  ufunc : the ufunc whose ``reduce`` NumPy calls.
    identity : the options ``left_out``, the value that replaces elements at which ``where`` is False,
    and ``combine``, the function that combines the result with ``initial``.
    """
    homes = (statistics, utilities)
    function = next(found for home in homes if (found := getattr(home, name, None)) is not None)
    # With a mask NumPy adds the elements in another order than the op, so NumPy computes the value.
    numpys = exact.named_as(name, ufunc.reduce)

    def call_reduction(
        a: ArrayLike, axis: Axis = None, dtype: DType = None, *, keepdims: bool = False,
        initial: ArrayLike | None = None, where: ArrayLike = True,
    ) -> Array:  # fmt: skip
        if initial is None and where is True and isinstance(a, Array):
            if dtype is None:
                return function(a, axis=axis, keepdims=keepdims)
            return composed(a, axis, dtype, keepdims)
        given: dict[str, Any] = {
            "axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where,
        }  # fmt: skip
        if initial is not None:
            given["initial"] = initial
        try:  # not ``entrance``, a wrapper that would slow down the calls that return above
            return exact.compute_by_numpy(numpys, lambda: composed(a, **given), (a,), given)
        except Exception as error:
            raise_documented(
                error, name, a, **{key: x for key, x in given.items() if x is not None}
            )

    def composed(
        a: ArrayLike, axis: Axis, dtype: DType, keepdims: bool, initial: ArrayLike | None = None,
        where: ArrayLike = True,
    ) -> Array:  # fmt: skip
        a = array_of(a)
        options = {} if dtype is None else {"dtype": dtype}
        if options and name in ("max", "min"):  # dtype= comes only from ``np.maximum.reduce``
            a, options = astype(a, np.dtype(dtype), copy=False), {}
        if where is not True:
            if initial is None and "left_out" not in identity:
                raise ValueError(f"np.{name} with where= needs initial= [at {user_line()}]")
            left_out = identity.get("left_out", in_dtype(initial, a.dtype, a))
            a = searching.where(mask_of(name, a, where), a, left_out)
        if initial is not None and not a.size:
            like = ufunc.reduce(
                np.empty(a.shape, a.dtype), axis, dtype, keepdims=keepdims, initial=0
            )
            y = broadcast_to(in_dtype(initial, like.dtype, a), like.shape)
            return elementwise.logical_or(y, y) if y.dtype.kind == "b" else elementwise.positive(y)
        found = function(a, axis=axis, keepdims=keepdims, **options)
        return (
            found
            if initial is None
            else identity["combine"](found, in_dtype(initial, found.dtype, a))
        )

    call_reduction.__name__ = call_reduction.__qualname__ = name
    call_reduction.__doc__ = documented(name, "dtype", "keepdims", "initial", "where")
    return call_reduction


def in_dtype(initial: ArrayLike | None, dtype: DType, home: Array) -> Any:
    """Return the argument ``initial=`` of a reduction as an Array of a dtype; return None unchanged.

    home : the reduced Array, whose device the result is on.
    """
    if isinstance(initial, Array):
        return astype(initial, dtype, copy=False)
    return None if initial is None else asarray_like(home, np.asarray(initial, dtype))


amax = numpy_reduction("max", np.maximum, combine=elementwise.maximum)
amin = numpy_reduction("min", np.minimum, combine=elementwise.minimum)
prod = numpy_reduction("prod", np.multiply, combine=elementwise.multiply, left_out=1)
sum = numpy_reduction("sum", np.add, combine=elementwise.add, left_out=0)


def truth_reduction(name: str, ufunc: np.ufunc, left_out: bool) -> Callable[..., Array]:
    function = numpy_reduction(name, ufunc, left_out=left_out)

    def call_truth_reduction(
        a: ArrayLike, axis: Axis = None, *, keepdims: bool = False, where: ArrayLike = True
    ) -> Array:
        return function(a, axis, keepdims=keepdims, where=where)

    call_truth_reduction.__name__ = call_truth_reduction.__qualname__ = name
    call_truth_reduction.__doc__ = documented(name, "keepdims", "where")
    return call_truth_reduction


all, any = (
    truth_reduction("all", np.logical_and, True),
    truth_reduction("any", np.logical_or, False),
)


def mean(
    a: ArrayLike, axis: Axis = None, dtype: DType = None, *, keepdims: bool = False,
    where: ArrayLike = True,
) -> Array:  # fmt: skip
    a = a if isinstance(a, Array) else array_of(a)
    if where is True and needs_no_cast(a, dtype):
        return statistics.mean(a, axis=axis, keepdims=keepdims)
    if dtype is not None and np.dtype(dtype).kind != "c":
        a = discard_imaginary(a)
    given = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where}

    def mean_by_ops() -> Array:
        return mean_where(floating(a, dtype), axis, keepdims, where)

    # NumPy casts while it adds.  To cast first would change the order of the sums, and the rounding.
    return exact.compute_by_numpy(np.mean, mean_by_ops, (a,), given)


def mean_where(a: Array, axis: Axis, keepdims: bool, where: ArrayLike) -> Array:
    if not a.ndim and axis is not None:
        normalize_axes("mean", a, axis)  # raises an error for shape (), unlike ``sum``
    total = sum(a, axis, keepdims=keepdims, where=where)
    if where is True:
        return total / (a.size / max(total.size, 1))
    where = mask_of("mean", a, where)
    count = statistics.sum(
        astype(broadcast_to(where, a.shape), a.dtype), axis=axis, keepdims=keepdims
    )
    return lay_out_like(total / count, total)


mean.__doc__ = documented("mean", "dtype", "keepdims", "where")


def needs_no_cast(a: Array, dtype: DType) -> bool:
    """Return True if ``mean(a, dtype=dtype)`` needs no cast of ``a``.

    This is so if ``a`` is real or complex floating-point, and ``dtype`` is None or its own dtype.
    """
    return a.dtype.kind in "fc" and (dtype is None or np.dtype(dtype) == a.dtype)


def floating(a: ArrayLike, dtype: DType) -> Array:
    """Cast ``a`` to ``dtype``; if ``dtype`` is None, cast integers and booleans to float64."""
    a = a if isinstance(a, Array) else array_of(a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.float64
    return a if dtype is None else astype(a, dtype, copy=False)


def spread_reduction(name: str) -> Callable[..., Array]:
    """Return ``numpy.std`` or ``numpy.var`` for Arrays; ``name`` is "std" or "var".

    With ``mean=`` or ``where=``, which the standard lacks, NumPy's Python code runs on the Arrays.
    """
    function = getattr(statistics, name)
    variance = program_of(private("_core._methods._var"))

    def call_spread(
        a: ArrayLike, axis: Axis = None, dtype: DType = None, *, ddof: float = 0.0,
        keepdims: bool = False, where: ArrayLike = True, mean: ArrayLike | None = None,
        correction: Any = np._NoValue,
    ) -> Array:  # fmt: skip
        if correction is not np._NoValue and ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = ddof if correction is np._NoValue else correction
        a = a if isinstance(a, Array) else array_of(a)
        whole = where is True and mean is None
        given = {"axis": axis, "dtype": dtype, "ddof": ddof, "keepdims": keepdims, "where": where}
        given |= {} if mean is None else {"mean": mean}

        def spread_by_ops() -> Array:
            if whole and dtype is None:
                return function(floating(a, None), axis=axis, correction=ddof, keepdims=keepdims)
            found = variance(a, **given)
            if name == "var":
                return found
            one = where is True and statistics.count_reduced(a.shape, unwrap_option(axis)) == 1
            # The deviation of a single real element is 0, whatever its value, so its derivatives are 0.
            is_zero = one and a.dtype.kind != "c"
            return found if is_zero else elementwise.root_of_variance(found)

        if whole and a.dtype.kind in "fc":
            return spread_by_ops()
        # NumPy casts integers while it adds, so NumPy computes the value, as in ``mean``.
        return exact.compute_by_numpy(getattr(np, name), spread_by_ops, (a,), given)

    call_spread.__name__ = call_spread.__qualname__ = name
    call_spread.__doc__ = documented(
        name, "dtype", "ddof", "keepdims", "where", "mean", "correction"
    )
    return call_spread


var, std = spread_reduction("var"), spread_reduction("std")


def ptp(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Array:
    return amax(a, axis, keepdims=keepdims) - amin(a, axis, keepdims=keepdims)


def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    a, weights = arrays_like_first(a, weights)
    if weights is None:
        found = mean(a, axis=axis, keepdims=keepdims)
        total = asarray_like(a, np.asarray(a.size / max(found.size, 1), found.dtype))
    else:
        weights = align_weights(a, weights, axis)
        dtype = result_type(a.dtype, weights.dtype, *(["float64"] if a.dtype.kind in "iub" else []))
        weights = astype(weights, dtype)
        total = sum(weights, axis, keepdims=keepdims)
        if holds_anywhere(current(total == 0.0)[1]):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        products = astype(a, dtype, copy=False) * weights
        found = sum(products, axis, keepdims=keepdims) / total
    return (found, broadcast_to(total, found.shape)) if returned else found


def align_weights(a: Array, weights: Array, axis: Axis) -> Array:
    """Reshape the weights of ``np.average``, so that they broadcast with the array ``a``.

    Weights have the shape of ``a``, or an axis for each averaged axis.  Raise TypeError if the shapes
    differ and ``axis`` is None, ValueError for any other shape.
    """
    if a.shape == weights.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axes("average", a, axis)
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = permute_dims(weights, tuple(np.argsort(axes).tolist()))
    return reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))


# --- the median --------------------------------------------------------------------------------
def join_reduced_axes(a: Array, axis: Axis) -> tuple[Array, tuple[int, ...]]:
    """Make one last axis of all axes over which a median is computed.

    Return the reshaped ``a``, and the shape of the result for ``keepdims=True``.
    """
    places = normalize_axes("quantile", a, axis)
    kept = tuple([1 if i in places else n for i, n in enumerate(a.shape)])
    a = moveaxis(a, tuple(places), tuple(range(a.ndim - len(places), a.ndim)))
    rest = a.ndim - len(places)
    return reshape(a, (*a.shape[:rest], math.prod(a.shape[rest:]))), kept


def median(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Array:
    a, kept = join_reduced_axes(floating(a, None), axis)
    found = middle(a, axis=-1)
    return reshape(found, kept) if keepdims else found


# --- reductions that skip NaN ------------------------------------------------------------------
def without_nan(function: Callable[..., Array], instead: float) -> Callable[..., Array]:
    """Return a function like ``np.nansum``, which leaves out NaN.

    It replaces NaN by ``instead``, such as 0, and calls ``function``, such as ``np.sum``.
    """

    def call_without_nan(a: ArrayLike, axis: Axis = None, **options: Any) -> Array:
        a = array_of(a)
        if a.dtype.kind in "fc":
            a = lay_out_like(searching.where(elementwise.isnan(a), instead, a), a)
        return function(a, axis=axis, **options)

    return call_without_nan


# --- cumulative functions, differences, sorting and rounding ------------------------------------
def cumulative(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Return ``numpy.cumprod`` or ``cumsum``, which flattens its argument if ``axis`` is None.

    name : "cumprod" or "cumsum".  function : the standard's function that it calls.
    """

    def call_cumulative(a: ArrayLike, axis: int | None = None, dtype: DType = None) -> Array:
        a = a if isinstance(a, Array) else array_of(a)
        if axis is None:
            a, axis = reshape(a, (-1,)), 0
        return function(a, axis=axis, dtype=dtype)

    call_cumulative.__name__ = call_cumulative.__qualname__ = name
    call_cumulative.__doc__ = documented(
        name, "dtype", axis="The axis; None: of all elements in one dimension.",
        summary="Accumulate along an axis",
    )  # fmt: skip
    return call_cumulative


cumprod = cumulative("cumprod", statistics.cumulative_prod)
cumsum = cumulative("cumsum", statistics.cumulative_sum)


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Compute ``numpy.diff``; ``prepend`` and ``append`` may be numbers."""
    # np.diff converts each argument on its own, so a Python number is in double precision.
    a, *ends = arrays_like_first(
        a, *[x if x is None or isinstance(x, Array) else np.asarray(x) for x in (prepend, append)]
    )
    if not n:
        return a
    at = normalize_axis_index("diff", a, axis)
    edge = (*a.shape[:at], 1, *a.shape[at + 1 :])
    first, last = (x if x is None or x.ndim else broadcast_to(x, edge) for x in ends)
    return utilities.diff(a, n=n, axis=at, prepend=first, append=last)


def ediff1d(ary: Any, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    ary, *ends = arrays_like_first(ary, to_begin, to_end)
    for x in ends:
        if x is not None and not np.can_cast(x.dtype, ary.dtype, "same_kind"):
            raise TypeError(
                f"np.ediff1d: cast to_begin and to_end to {ary.dtype}; {x.dtype} does not fit to "
                f"{describe(ary)} [at {user_line()}]"
            )
    first, end = (
        x if x is None else astype(reshape(x, (-1,)), ary.dtype, copy=False) for x in ends
    )
    between = utilities.diff(reshape(ary, (-1,)))
    return concat([x for x in (first, between, end) if x is not None])


def numpy_sort(
    a: ArrayLike, axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None,
) -> Array:  # fmt: skip
    """Compute ``numpy.sort``; equal elements always keep their order."""
    check_order("sort", kind, order, stable, descending)
    x, at = on_axis("sort", array_of(a), axis)
    if not descending:
        return sort(x, axis=at)
    return lay_out_like(take_along_axis(x, places_in_order(x, at, True), axis=at), x)


def places_in_order(x: Array, axis: int, descending: bool) -> Array:
    """Return the indices that sort x along an axis; NaN comes last, also in descending order."""
    places = argsort(x, axis=axis, descending=descending)
    if not descending or x.dtype.kind not in "fc":
        return places
    missing = astype(elementwise.isnan(elementwise.real(x)), np.int8)
    if x.dtype.kind == "c":
        missing = 2 * missing + astype(elementwise.isnan(elementwise.imag(x)), np.int8)
    last = argsort(take_along_axis(missing, places, axis=axis), axis=axis)
    return take_along_axis(places, last, axis=axis)


def check_order(
    name: str,
    kind: str | None,
    order: str | Sequence[str] | None,
    stable: bool | None,
    descending: bool | None,
) -> None:
    """Check the options of ``np.sort`` or ``np.argsort``; ``name`` is the function, for messages.

    Raise ValueError for ``order``, since no Array has fields, and for ``kind`` together with ``stable``
    or ``descending``.
    """
    without_fields(order)
    if kind is not None and (stable is not None or descending is not None):
        raise ValueError(
            f"np.{name}: pass kind={short_repr(kind)}, or stable= and descending=, not both "
            f"[at {user_line()}]"
        )


def without_fields(order: str | Sequence[str] | None) -> None:
    if order is not None:
        raise ValueError(
            f"Cannot specify order when the array has no fields: order={short_repr(order)} [at "
            f"{user_line()}]"
        )


def numpy_partition(
    a: ArrayLike, kth: ArrayLike, axis: int | None = -1, kind: str = "introselect",
    order: None = None,
) -> Array:  # fmt: skip
    """Compute ``numpy.partition``; the result is fully sorted, and so partitioned at each index."""
    without_fields(order)
    a, at = on_axis("partition", array_of(a), axis)
    check_places(a, kth, at)
    return numpy_sort(a, at)


def check_places(a: Array, kth: Any, axis: int) -> None:
    """Raise an error unless ``kth`` of ``np.partition`` is one or several indices along the axis."""
    places, n = host_values(kth), a.shape[axis] if a.ndim else 1
    if places.dtype.kind not in "iu":
        raise TypeError(f"partition: kth must be integers, got {describe(kth)} [at {user_line()}]")
    if a.size and places.size and (places.min() < -n or places.max() >= n):
        raise ValueError(
            f"partition: kth {kth} is out of range for axis {axis} of {describe(a)} [at {user_line()}]"
        )


def round_decimals(a: ArrayLike, decimals: int = 0, out: Array | None = None) -> Array:
    """Round to decimals, as ``numpy.round`` does.

    Parameters
    ----------
    a : Array
        The array.
    decimals : int, default: 0
        The number of decimals; -1 rounds to tens, -2 to hundreds and so on.
    out : Array | None, default: None
        The Array to write the result into.

    Returns
    -------
    Array
        An Array of the shape and dtype of a, or out, if it is given.

    Notes
    -----
    Derivative: none; the gradient is None.
    """
    a = array_of(a)
    if out is not None:
        return write_into(out, round_decimals(a, decimals), "unsafe")
    data = current(a)[1]
    if type(data) is np.ndarray:
        y = asarray_like(a, np.round(data, decimals))
        return y if y.ndim else mark_as_scalar(y)
    value = storage_of(data).numpys_value(np.round, (data, decimals), {})
    if value is not None:
        return wrap(value)
    if a.dtype.kind == "c":
        parts = elementwise.real(a), elementwise.imag(a)
        return complex_from_parts(*[round_decimals(part, decimals) for part in parts])
    unit = 10.0 ** abs(decimals)
    if a.dtype.kind not in "fc":
        return astype(elementwise.round(a / unit) * unit if decimals < 0 else a, a.dtype)
    if decimals > 0:
        return elementwise.round(a * unit) / unit
    return elementwise.round(a / unit) * unit if decimals else elementwise.round(a)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.all: all,
    np.amax: amax,
    np.amin: amin,
    np.any: any,
    np.around: round_decimals,
    np.average: average,
    np.diff: diff,
    np.ediff1d: ediff1d,
    np.max: amax,
    np.mean: mean,
    np.median: median,
    np.min: amin,
    np.nancumprod: without_nan(cumprod, 1.0),
    np.nancumsum: without_nan(cumsum, 0.0),
    np.nanprod: without_nan(prod, 1.0),
    np.nansum: without_nan(sum, 0.0),
    np.partition: numpy_partition,
    np.prod: prod,
    np.ptp: ptp,
    np.round: round_decimals,
    np.sort: numpy_sort,
    np.std: std,
    np.sum: sum,
    np.var: var,
}
