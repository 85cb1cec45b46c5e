"""Differentiate filters of scipy.ndimage: correlations, selections (minimum, rank), Fourier filters.

Ops here call SciPy's functions, whose C code needs NumPy data.  The rules compute the cotangents of the
image, and for correlations also of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.ndimage
from scipy._lib._util import normalize_axis_index
from scipy.ndimage import _filters, _fourier, _nd_image, _ni_support

import arraytape

from ..._array.array import Array
from ..._storage.storage import conjugate
from ..._util.array_types import Namespace, RawArray
from .._borders import Output, append_zeros, compute_into, extend_lines, fold_lines, window
from .._context import has_array
from .._facades import asarray, no_rule
from .._hooks import original_of
from .._ops import library_op
from .._plain import ArrayInput, DTypeInput, NumpyData, Shape, plain_data
from .._statements import hooks, stands_in

Function = Callable[..., Any]


# --- correlations ------------------------------------------------------------------------------------
# y[i] = sum over k of w[k] * x[i + k - before], where x is continued beyond its border.  The image's
# cotangent is the correlation of the padded cotangent of y with the reversed weights.  Its elements
# beyond the border are added to the elements that the continuation copies there (``fold_lines``).
def pad_cotangent(
    g: RawArray, sizes: Sequence[int], axes: Sequence[int], xp: Namespace
) -> tuple[Any, list[int]]:
    """Return the arguments with which SciPy's ``correlate`` computes the adjoint of a correlation.

    They are g, the cotangent of the correlation, padded with zeros at the end of each axis, and
    origins.  Correlated with the reversed weights, g gives the cotangent of the padded image.
    sizes : the lengths of the weights along ``axes``.
    """
    for axis, size in zip(axes, sizes, strict=True):
        g = append_zeros(g, axis, size - 1, xp)
    return g, [(size - 1) // 2 for size in sizes]


def fold_all_axes(
    full: RawArray, shape: Shape, sizes: Sequence[int], axes: Sequence[int], modes: Sequence[str],
    origins: Sequence[int], xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of an image of this shape, given that of the padded image, ``full``.

    The padding repeats elements of the image, whose cotangents are added up.

    sizes, modes, origins : those of the filter along each of ``axes``.
    """
    for axis, size, mode, origin in zip(axes, sizes, modes, origins, strict=True):
        full = fold_lines(full, axis, shape[axis], mode, size // 2 + origin, xp)
    return full


def extend_all_axes(
    x: RawArray, sizes: Sequence[int], axes: Sequence[int], modes: Sequence[str], cval: complex,
    origins: Sequence[int], xp: Namespace,
) -> Any:  # fmt: skip
    """Return the image x padded along ``axes``, as a filter of these sizes reads it.

    modes, origins : the filter's options along each axis.  cval : the value for the constant modes.
    """
    for axis, size, mode, origin in zip(axes, sizes, modes, origins, strict=True):
        before = size // 2 + origin
        x = extend_lines(x, axis, mode, before, size - 1 - before, cval, xp)
    return x


def reverse(w: RawArray, xp: Namespace) -> Any:
    """Return the weights w reversed along all axes and conjugated, for the adjoint of a correlation."""
    return conjugate(xp.flip(w), xp)


def weights_adjoint(
    g: RawArray, x: RawArray, shape: Shape, axes: Sequence[int], modes: Sequence[str], cval: complex,
    origins: Sequence[int], xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of a correlation's weights, given the cotangent g of its result.

    Each element is the inner product of g and the elements of the image x that the weight multiplies.
    modes, cval, origins : SciPy's options of the padding.  shape : that of the weights along ``axes``.
    """
    wide = extend_all_axes(x, shape, axes, modes, cval, origins, xp)
    starts = np.zeros(len(x.shape), int)
    found = []
    for tap in np.ndindex(*shape):
        starts[list(axes)] = tap
        found.append(xp.sum(conjugate(g, xp) * wide[window(starts, x.shape)]))
    return xp.reshape(xp.stack(found), shape)


def correlate1d_image(
    g: RawArray, w: RawArray, shape: Shape, axis: int, mode: str, origin: int, xp: Namespace
) -> Any:
    at, size = (axis % len(shape),), w.shape
    wide, (middle,) = pad_cotangent(g, size, at, xp)
    full = correlate1d_op(wide, reverse(w, xp), at[0], "constant", 0.0, middle)
    return fold_all_axes(full, shape, size, at, (mode,), (origin,), xp)


correlate1d_op = library_op(
    "scipy.ndimage.correlate1d",
    lambda x, w, axis=-1, mode="reflect", cval=0.0, origin=0, output=None: (
        scipy.ndimage.correlate1d(x, w, axis, output, mode, cval, origin)
    ),
    correlate1d_image,
    lambda g, x, shape, axis, mode, cval, origin, xp: weights_adjoint(
        g, x, shape, (axis % len(x.shape),), (mode,), cval, (origin,), xp
    ),
)  # fmt: skip


@hooks("scipy.ndimage._filters", "correlate1d")
def correlate1d(
    input: ArrayInput, weights: ArrayInput, axis: int = -1, output: Output = None,
    mode: str = "reflect", cval: complex = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    x, w = asarray(input), asarray(weights)
    return compute_into(output, lambda dtype: correlate1d_op(x, w, axis, mode, cval, origin, dtype))


def correlate_image(
    g: RawArray, w: RawArray, shape: Shape, mode: str, origins: Sequence[int], xp: Namespace
) -> Any:
    axes = range(len(shape))
    wide, middle = pad_cotangent(g, w.shape, axes, xp)
    full = correlate_op(wide, reverse(w, xp), "constant", 0.0, middle)
    return fold_all_axes(full, shape, w.shape, axes, [mode] * len(shape), origins, xp)


correlate_op = library_op(
    "scipy.ndimage.correlate",
    lambda x, w, mode="reflect", cval=0.0, origins=(), output=None: (
        scipy.ndimage.correlate(x, w, output, mode, cval, list(origins))
    ),
    correlate_image,
    lambda g, x, shape, mode, cval, origins, xp: weights_adjoint(
        g, x, shape, range(len(shape)), [mode] * len(shape), cval, origins, xp
    ),
)  # fmt: skip


@hooks("scipy.ndimage._filters", "_correlate_or_convolve")
def correlate(
    input: ArrayInput, weights: ArrayInput, output: Output, mode: str | Sequence[str], cval: complex,
    origin: int | Sequence[int], convolution: bool, axes: int | Sequence[int] | None,
) -> Any:  # fmt: skip
    x = asarray(input)
    w: Any = asarray(weights)
    at = _ni_support._check_axes(axes, x.ndim)
    if w.ndim != len(at):
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(at)})")
    origins = _filters._expand_origin(x.ndim, at, origin)
    w = np.expand_dims(w, [axis for axis in range(x.ndim) if axis not in at])
    if convolution:
        w = reverse(w, np)
        origins = [-o - 1 + size % 2 for o, size in zip(origins, w.shape, strict=True)]
    return compute_into(output, lambda dtype: correlate_op(x, w, mode, cval, origins, dtype))


def uniform_image(
    g: RawArray, shape: Shape, size: int, axis: int, mode: str, origin: int, xp: Namespace
) -> Any:
    at = (axis % len(shape),)
    wide, (middle,) = pad_cotangent(g, (size,), at, xp)
    full = uniform_op(wide, size, at[0], "constant", 0.0, middle)
    return fold_all_axes(full, shape, (size,), at, (mode,), (origin,), xp)


uniform_op = library_op(
    "scipy.ndimage.uniform_filter1d",
    lambda x, size=1, axis=-1, mode="reflect", cval=0.0, origin=0, output=None: (
        scipy.ndimage.uniform_filter1d(x, size, axis, output, mode, cval, origin)
    ),
    uniform_image,
)


@hooks("scipy.ndimage._filters", "uniform_filter1d")
def uniform_filter1d(
    input: ArrayInput, size: int, axis: int = -1, output: Output = None, mode: str = "reflect",
    cval: complex = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    x = asarray(input)
    return compute_into(output, lambda dtype: uniform_op(x, size, axis, mode, cval, origin, dtype))


@hooks("scipy.ndimage._filters", "_gaussian_kernel1d")
def gaussian_kernel(sigma: Any, order: int, radius: int) -> Any:
    """Compute the weights of a Gaussian filter on Arrays, so that tapes follow ``sigma``.

    For ``order`` > 0 they are those of the derivative of this order.

    The steps are SciPy's.  SciPy writes into NumPy data, which would convert an Array sigma to a number.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    places, powers = np.arange(-radius, radius + 1), np.arange(order + 1)
    square = sigma * sigma
    phi = np.exp(-0.5 / square * places**2)
    phi = phi / np.sum(phi)
    if order == 0:
        return phi
    # phi' = -x / square * phi.  So the n-th derivative of phi is q * phi with a polynomial q.  The
    # matrix ``step`` maps the coefficients of q to those of (q * phi)' / phi.
    step = np.diag(powers[1:], 1) + np.diag(np.ones(order) / -square, -1)
    q = np.eye(order + 1)[0]
    for _ in range(order):
        q = step @ q
    return places[:, None] ** powers @ q * phi


@hooks("scipy.ndimage._filters", "generic_gradient_magnitude")
def gradient_magnitude(
    input: ArrayInput, derivative: Function, output: Output = None,
    mode: str | Sequence[str] = "reflect", cval: complex = 0.0, extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None, *, axes: int | Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Compute SciPy's ``generic_gradient_magnitude``, but with the derivative 0 where the result is 0.

    The derivative of the square root would be infinite there.
    """
    x = asarray(input)
    made = _ni_support._get_output(output, x)
    at = _ni_support._check_axes(axes, x.ndim)
    if not at:
        made[...] = x
        return made
    modes = _ni_support._normalize_sequence(mode, len(at))
    more, named = tuple(extra_arguments), extra_keywords or {}
    slopes = [
        asarray(derivative(x, axis, made.dtype, one, cval, *more, **named))
        for axis, one in zip(at, modes, strict=True)
    ]
    square = slopes[0] * slopes[0]
    for slope in slopes[1:]:
        square = square + slope * slope
    some = square != 0
    apart: Any = arraytape.where(some, square, 1)
    root = arraytape.where(some, np.sqrt(apart), 0)  # sqrt returns a float for integers, too
    return compute_into(made, lambda dtype: arraytape.astype(root, dtype, copy=False))


# --- selections --------------------------------------------------------------------------------------
def selection_adjoint(
    g: RawArray, x: RawArray, y: RawArray, footprint: NumpyData, heights: NumpyData | None,
    modes: Sequence[str], cval: complex, origins: Sequence[int], shape: Shape, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the image x for a filter that selects elements, such as a minimum.

    g, the cotangent of the result y, is shared evenly by the elements that equal the selected one.

    footprint : mask of the elements around each point from which the filter selects.  heights : numbers
    that a grey morphology adds to these elements, or None.  modes, cval, origins : SciPy's options along
    each axis.  shape : that of x.
    """
    axes, sizes = range(len(shape)), footprint.shape
    wide = extend_all_axes(x, sizes, axes, modes, cval, origins, xp)
    taps = [tap for tap in np.ndindex(*sizes) if footprint[tap]]
    hits = [is_selected(wide[window(tap, shape)], y, heights, tap, xp) for tap in taps]
    count = sum(xp.astype(hit, g.dtype) for hit in hits)
    parts = [
        xp.scatter_add(xp.where(hit, g / count, 0.0), wide.shape, window(tap, shape))
        for tap, hit in zip(taps, hits, strict=True)
    ]
    return fold_all_axes(sum(parts[1:], parts[0]), shape, sizes, axes, modes, origins, xp)


def is_selected(
    x: RawArray, y: RawArray, heights: NumpyData | None, tap: Shape, xp: Namespace
) -> Any:
    """Return a mask of the results for which a filter, such as a minimum, selected the element ``tap``.

    tap : a position in the footprint.  x : for each result, the element of the image at this position.
    y : the results.  heights : what a grey morphology adds to the image before it selects, or None.
    """
    if heights is None:
        return xp.astype(x, y.dtype, copy=False) == y
    raised = xp.astype(x, xp.float64) + float(heights[tap])
    if y.dtype == np.float64 or y.dtype.kind not in "f":
        return xp.astype(raised, y.dtype, copy=False) == y
    # SciPy's C code rounds the sum once for the first element of the footprint, and twice for all
    # others.
    rounding = 2.0 * float(np.finfo(y.dtype).eps)
    return xp.abs(raised - y) <= rounding * (xp.abs(raised) + abs(float(heights[tap])))


selection_op = library_op(
    "scipy.ndimage.rank_filter",
    lambda x, function="", given=(), footprint=None, heights=None, modes=(), cval=0.0, origins=(): (
        getattr(_filters, function)(x, *given)
    ),
    selection_adjoint,
)


def apply_selection(
    name: str, arguments_for: Function, x: Array, output: Output, footprint: NumpyData,
    mode: str | Sequence[str], cval: complex, origin: int | Sequence[int], axes: Sequence[int],
    heights: NumpyData | None = None,
) -> Any:  # fmt: skip
    """Run a filter of SciPy that selects elements of the Array x, such as a minimum, as a recorded op.

    name : SciPy's function.  arguments_for : maps the result's dtype to its arguments after x.
    output, mode, cval, origin : SciPy's options.  axes : the axes of x that the footprint spans.
    heights : numbers that a grey morphology adds to the elements, or None.
    """
    others = [axis for axis in range(x.ndim) if axis not in axes]
    modes = ["constant"] * x.ndim
    for axis, one in zip(axes, _ni_support._normalize_sequence(mode, len(axes)), strict=True):
        modes[axis] = one
    origins = _filters._expand_origin(x.ndim, axes, origin)
    whole = np.expand_dims(footprint, others)
    tall = None if heights is None else np.expand_dims(heights, others)
    return compute_into(
        output,
        lambda dtype: selection_op(
            x, name, arguments_for(dtype), whole, tall, modes, cval, origins
        ),
    )


def state_line_filter(name: str) -> None:
    @hooks("scipy.ndimage._filters", name)
    def line_filter(
        input: ArrayInput, size: int, axis: int = -1, output: Output = None, mode: str = "reflect",
        cval: complex = 0.0, origin: int = 0,
    ) -> Any:  # fmt: skip
        x, footprint = asarray(input), np.ones(max(size, 0), bool)
        at = (normalize_axis_index(axis, x.ndim),)
        return apply_selection(
            name, lambda dtype: (size, axis, dtype, mode, cval, origin), x, output, footprint, mode,
            cval, origin, at,
        )  # fmt: skip


state_line_filter("minimum_filter1d")
state_line_filter("maximum_filter1d")


def footprint_of(
    size: ArrayInput | None, footprint: ArrayInput | None, structure: NumpyData | None, count: int
) -> Any:
    if footprint is not None:
        return np.asarray(footprint, bool)
    if structure is not None:
        return np.ones(structure.shape, bool)
    if size is None:
        raise RuntimeError("no footprint provided")
    return np.ones([max(int(n), 1) for n in _ni_support._normalize_sequence(size, count)], bool)


@hooks("scipy.ndimage._filters", "_min_or_max_filter")
def min_or_max_filter(
    input: ArrayInput, size: ArrayInput | None, footprint: ArrayInput | None,
    structure: ArrayInput | None, output: Output, mode: str | Sequence[str], cval: complex,
    origin: int | Sequence[int], minimum: bool, axes: int | Sequence[int] | None = None,
) -> Any:  # fmt: skip
    if has_array((structure,)):
        raise no_rule("scipy.ndimage's grey morphology", "its structure as an Array")
    # Sizes and footprints have no derivative.
    x, size, footprint = asarray(input), plain_data(size), plain_data(footprint)
    at = _ni_support._check_axes(axes, x.ndim)
    tall = None if structure is None else np.asarray(structure, np.float64)
    return apply_selection(
        "_min_or_max_filter",
        lambda dtype: (size, footprint, structure, dtype, mode, cval, origin, minimum, axes),
        x, output, footprint_of(size, footprint, tall, len(at)), mode, cval, origin, at,
        None if tall is None else -tall if minimum else tall,
    )  # fmt: skip


@hooks("scipy.ndimage._filters", "_rank_filter")
def rank_filter(
    input: ArrayInput, rank: int, size: ArrayInput | None = None, footprint: ArrayInput | None = None,
    output: Output = None, mode: str | Sequence[str] = "reflect", cval: complex = 0.0,
    origin: int | Sequence[int] = 0, operation: str = "rank", axes: int | Sequence[int] | None = None,
) -> Any:  # fmt: skip
    x, size, footprint = asarray(input), plain_data(size), plain_data(footprint)
    at = _ni_support._check_axes(axes, x.ndim)
    return apply_selection(
        "_rank_filter",
        lambda dtype: (rank, size, footprint, dtype, mode, cval, origin, operation, axes),
        x, output, footprint_of(size, footprint, None, len(at)), mode, cval, origin, at,
    )  # fmt: skip


# --- filters of transformed images -------------------------------------------------------------------
# A Fourier filter multiplies each element by a factor.  The factor is real, or for fourier_shift a
# complex number of absolute value 1.  The adjoint multiplies by the conjugate: for a shift, a shift by
# the opposite.
def fourier_forward(
    x: Array, function: str = "", parameters: tuple[float, ...] | np.ndarray[Any, Any] = (),
    n: int = -1, axis: int = -1, kind_of_filter: Shape = (), output: DTypeInput = None,
) -> Any:  # fmt: skip
    found = np.zeros(x.shape, output)
    getattr(_nd_image, function)(x, parameters, n, axis, found, *kind_of_filter)
    return found


def fourier_adjoint(
    g: RawArray, function: str, parameters: np.ndarray[Any, Any], n: int, axis: int,
    kind_of_filter: Shape, dtype: np.dtype[Any], xp: Namespace,
) -> Any:  # fmt: skip
    parameters = -parameters if function == "fourier_shift" else parameters
    back = fourier_op(g, function, parameters, n, axis, kind_of_filter, g.dtype)
    return back if xp.isdtype(dtype, "complex floating") else xp.real(back)


fourier_op = library_op(
    "scipy.ndimage.fourier_filter", fourier_forward, fourier_adjoint, word="linear"
)


def fourier_rule(function: str) -> Function:
    def filter_image(
        input: ArrayInput, parameters: ArrayInput, n: int, axis: int, output: Output,
        *kind_of_filter: Any,
    ) -> None:  # fmt: skip
        x = asarray(input)
        compute_into(
            output,
            lambda dtype: fourier_op(x, function, parameters, n, axis, kind_of_filter, dtype),
        )

    return filter_image


stands_in(
    "scipy.ndimage._fourier", "_nd_image",
    **{name: fourier_rule(name) for name in ("fourier_filter", "fourier_shift")},
)  # fmt: skip


def state_fourier_filter(name: str, parameter: str) -> None:
    @hooks("scipy.ndimage._fourier", name)
    def fourier_filter(*args: Any, **keywords: Any) -> Any:
        """Raise TypeError if the parameter is an Array: SciPy's error would not name the cause."""
        if has_array((*args[1:2], keywords.get(parameter))):
            raise no_rule(f"scipy.ndimage.{name}", "its parameters as an Array")
        return original_of(getattr(_fourier, name))(*args, **keywords)


state_fourier_filter("fourier_ellipsoid", "size")
state_fourier_filter("fourier_gaussian", "sigma")
state_fourier_filter("fourier_shift", "shift")
state_fourier_filter("fourier_uniform", "size")
