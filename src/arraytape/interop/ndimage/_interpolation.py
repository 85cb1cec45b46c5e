"""Differentiate interpolation in scipy.ndimage: the spline filter, and sums of B-splines.

Ops here call SciPy's C functions, which need NumPy data.  The rules write the interpolation out as a
weighted sum of coefficients, and differentiate it with respect to the coefficients and coordinates.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.ndimage
from scipy.ndimage import _interpolation, _nd_image, _ni_support

import arraytape

from ..._array.array import Array
from ..._record.plan import Lazy
from ..._util.array_types import Namespace, RawArray
from .._borders import Output, compute_into
from .._context import has_array
from .._facades import asarray, no_rule
from .._hooks import original_of
from .._ops import library_op
from .._plain import ArrayInput, DTypeInput, NumpyData, Shape
from .._statements import hooks, stands_in
from .._wanted import used_by

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)  # SciPy's codes


# --- the spline filter -------------------------------------------------------------------------------
def spline_forward(
    x: Array, order: int = 3, axis: int = -1, border: int = MIRROR, output: DTypeInput = None
) -> Any:
    found = np.zeros(x.shape, output)
    _nd_image.spline_filter1d(x, order, axis, found, border)
    return found


def spline_adjoint(
    g: RawArray, order: int, axis: int, border: int, shape: Shape, xp: Namespace
) -> Any:
    """Return the cotangent of the input of SciPy's spline filter, given that of its result, g.

    border : SciPy's code of the continuation beyond the ends, such as WRAP.  shape : that of the input.

    The filter multiplies by an inverse matrix, whose transpose is needed.  For GRID_WRAP the matrix is
    symmetric, and the filter itself is applied to g.  For mirrored borders it becomes symmetric if both
    ends are weighted by a half.  For NEAREST and REFLECT, SciPy's inverse is not exact, so the
    cotangent is multiplied by the transpose of the matrix that SciPy applies.
    """
    if border in (NEAREST, REFLECT):
        whole = xp.asarray(
            spline_matrix(shape[axis], order, border), dtype=g.dtype, device=g.device
        )
        return xp.moveaxis(xp.tensordot(g, whole, axes=((axis,), (0,))), -1, axis)
    if border == GRID_WRAP or shape[axis] < 2:
        return spline_op(g, order, axis, border, g.dtype)
    ends = np.ones(shape[axis])
    ends[[0, -1]] = 0.5
    line = xp.asarray(ends, dtype=g.dtype, device=g.device)
    half = xp.reshape(line, (-1,) + (1,) * (len(shape) - axis - 1))
    return spline_op(g / half, order, axis, border, g.dtype) * half


@functools.lru_cache(16)
def spline_matrix(length: int, order: int, border: int) -> Any:
    lines: Any = np.eye(length)
    return spline_forward(lines, order, 0, border, np.float64)


spline_op = library_op(
    "scipy.ndimage.spline_filter1d", spline_forward, spline_adjoint, word="linear"
)


def spline_filter1d(
    input: ArrayInput, order: int, axis: int, output: Array | NumpyData, border: int
) -> None:
    x = asarray(input)
    compute_into(output, lambda dtype: spline_op(x, order, axis, border, dtype))


# --- the coefficients that an interpolation reads, and their weights ---------------------------------
def inner_coordinate(at: RawArray, length: int, border: int, xp: Namespace) -> tuple[Any, Any]:
    """Map coordinates beyond the ends of an axis to coordinates on the axis where the image is the same.

    Return the mapped coordinates and the map's derivative: 1, -1 where ``border`` mirrors the image, 0
    for length 1.  A border that continues by a constant leaves the coordinates as they are.

    at : the coordinates.  length : that of the axis.  border : SciPy's code, such as WRAP.
    """
    one = xp.ones(at.shape, dtype=at.dtype, device=at.device)
    if border in (NEAREST, CONSTANT, GRID_CONSTANT):
        return at, one
    if length < 2:
        return at * 0.0, one * 0.0
    if border == WRAP:
        period = length - 1
        below = xp.where(at < 0, period * (xp.floor(-at / period) + 1), 0.0)
        above = xp.where(at > period, period * xp.floor(at / period), 0.0)
        return at + below - above, one
    period = {GRID_WRAP: length, REFLECT: 2 * length, MIRROR: 2 * length - 2}[border]
    at = at - period * xp.floor(at / period)
    if border == GRID_WRAP:
        return at, one
    back = at >= length if border == REFLECT else at > length - 1
    last = period - 1 if border == REFLECT else period
    return xp.where(back, last - at, at), xp.where(back, -one, one)


def inner_place(place: RawArray, length: int, border: int, xp: Namespace) -> Any:
    """Map indices of spline coefficients beyond the ends of an axis to indices on the axis.

    place : the indices.  length : that of the axis.  border : SciPy's code of the continuation, such as
    WRAP.
    """
    if border in (NEAREST, GRID_CONSTANT):
        return xp.clip(place, 0, length - 1)
    if length < 2:
        return place * 0
    if border == GRID_WRAP:
        return place % length
    if border == REFLECT:
        place = place % (2 * length)
        return xp.where(place >= length, 2 * length - 1 - place, place)
    place = place % (2 * length - 2)  # SciPy mirrors for all other borders
    return xp.where(place >= length, 2 * length - 2 - place, place)


def spline_basis(u: RawArray, degree: int, xp: Namespace) -> list[Any]:
    """Return the values of the ``degree + 1`` B-splines that are nonzero at u, which is between 0 and 1.

    The knots are the integers.  Source: Piegl and Tiller 1997, algorithm A2.2.
    """
    found = [xp.ones(u.shape, dtype=u.dtype, device=u.device)]
    for j in range(1, degree + 1):
        saved, raised = 0.0, []
        for r, value in enumerate(found):
            part = value / j
            raised.append(saved + (r + 1 - u) * part)
            saved = (u + (j - r - 1)) * part
        found = [*raised, saved]
    return found


class Taps:
    """The spline coefficients that interpolation along one axis reads, and their weights.

    at : the coordinates along the axis.  length : that of the axis.  order : that of the splines.
    border : SciPy's code of the continuation beyond the ends, such as WRAP.  npad : the width of the
    padding that SciPy added to the image.

    places, weights and slopes are lists with one array for each of the ``order + 1`` coefficients.

    places : the indices of the coefficients.
    weights : the factors of the coefficients in the interpolated value.
    slopes : the derivatives of the weights with respect to the coordinate.
    inside : a list of masks of the indices that lie on the axis, or None if all indices do.
    within : the mask of the coordinates that lie on the axis; None for borders other than CONSTANT.
    """

    def __init__(
        self, at: RawArray, length: int, order: int, border: int, npad: int, xp: Namespace
    ) -> None:
        at = at + npad
        self.within = (at >= 0) & (at <= length - 1) if border == CONSTANT else None
        if self.within is not None:
            at = xp.where(self.within, at, 0.0)
        at, speed = inner_coordinate(at, length, border, xp)
        shift = 0.0 if order % 2 else 0.5
        first = xp.floor(at + shift)
        u = at + shift - first
        start = xp.astype(first, xp.int64) - order // 2
        raw = [start + k for k in range(order + 1)]
        self.places = [inner_place(place, length, border, xp) for place in raw]
        self.inside = (
            [(place >= 0) & (place < length) for place in raw] if border == GRID_CONSTANT else None
        )
        self.weights = spline_basis(u, order, xp)
        lower = spline_basis(u, order - 1, xp) if order else []
        zero = 0.0 * u
        steps = [b - a for a, b in zip([*lower, zero], [zero, *lower], strict=True)]
        self.slopes = [step * speed for step in steps]


def taps_of(
    at: RawArray, shape: Shape, order: int, border: int, npad: int, xp: Namespace
) -> list[Taps]:
    """Return for each axis of an image which spline coefficients interpolation reads, as Taps.

    at : the coordinates for each axis, stacked along the first axis.  shape : that of the image.
    order : that of the splines.  border : SciPy's code of the continuation, such as WRAP.  npad : the
    width of SciPy's padding.
    """
    at = image_in_double(at, xp)
    return [Taps(at[d], n, order, border, npad, xp) for d, n in enumerate(shape)]


def each_tap(taps: Sequence[Taps], shape: Shape, xp: Namespace) -> Any:
    """Yield (numbers, index, mask) for each of the coefficients from which a value is interpolated.

    taps : the coefficients along each axis.  shape : that of the image.  numbers : for each axis, the
    coefficient's position in ``Taps.places``.  index : its flat indices in the image, for all values.
    mask : True where the index lies on all axes; None if every index does.
    """
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    for numbers in itertools.product(*[range(len(axis.places)) for axis in taps]):
        chosen = [*zip(taps, numbers, strides, strict=True)]
        index = sum(axis.places[k] * stride for axis, k, stride in chosen)
        inside = all_of([axis.inside[k] for axis, k, _ in chosen if axis.inside is not None])
        yield numbers, index, inside


def all_of(masks: Sequence[Any]) -> Any:
    """Return the elementwise "and" of masks, or None if the list is empty."""
    return functools.reduce(operator.and_, masks) if masks else None


def cotangent_within(g: RawArray, taps: Sequence[Taps], xp: Namespace) -> Any:
    """Return the cotangent g of interpolated values, but 0 for points off the image.

    There the value is the constant ``cval``.

    taps : for each axis, the coefficients that are read; it also has the mask of the points on the axis.
    """
    within = all_of([axis.within for axis in taps if axis.within is not None])
    return g if within is None else xp.where(within, g, 0.0)


def image_in_double(x: RawArray, xp: Namespace) -> Any:
    """Return x as float64, in which SciPy interpolates whatever the dtype."""
    return xp.astype(x, xp.float64, copy=False)


def pull_to_coefficients(
    g: RawArray, at: RawArray, shape: Shape, order: int, border: int, npad: int, xp: Namespace
) -> Any:
    """Return the cotangent of the spline coefficients, given that of the interpolated values, g.

    at : the coordinates.  shape : that of the coefficients.  order : that of the splines.
    border : SciPy's code of the continuation, such as WRAP.  npad : the width of SciPy's padding.
    """
    taps = taps_of(at, shape, order, border, npad, xp)
    g, found = cotangent_within(image_in_double(g, xp), taps, xp), []
    for numbers, index, inside in each_tap(taps, shape, xp):
        part = g
        for axis, k in zip(taps, numbers, strict=True):
            part = part * axis.weights[k]
        part = part if inside is None else xp.where(inside, part, 0.0)
        found.append(xp.scatter_add(part, (math.prod(shape),), (index,)))
    return xp.reshape(sum(found[1:], found[0]), shape)


def pull_to_coordinates(
    g: RawArray, c: RawArray, at: RawArray, order: int, border: int, cval: float, npad: int,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the coordinates ``at``, given that of the interpolated values, g.

    c : the spline coefficients.  order : that of the splines.  border : SciPy's code of the
    continuation, such as WRAP.  cval : the value off the image.  npad : the width of SciPy's padding.
    """
    shape = c.shape
    taps = taps_of(at, shape, order, border, npad, xp)
    g, flat = cotangent_within(image_in_double(g, xp), taps, xp), xp.reshape(c, (-1,))
    found = [xp.zeros_like(g) for _ in shape]
    for numbers, index, inside in each_tap(taps, shape, xp):
        value = flat[index]
        value = g * (value if inside is None else xp.where(inside, value, cval))
        for d in range(len(shape)):
            part = value
            for e, (axis, k) in enumerate(zip(taps, numbers, strict=True)):
                part = part * (axis.slopes[k] if e == d else axis.weights[k])
            found[d] = found[d] + part
    return xp.stack(found)


# --- interpolation at coordinates --------------------------------------------------------------------
def interpolate_forward(
    c: Array, coordinates: Array, order: int = 3, border: int = CONSTANT, cval: complex = 0.0,
    npad: int = 0, output: DTypeInput = None,
) -> Any:  # fmt: skip
    found = np.zeros(coordinates.shape[1:], output)
    _nd_image.geometric_transform(
        c, None, coordinates, None, None, found, order, border, cval, npad, None, None
    )
    return found


interpolate = library_op(
    "scipy.ndimage.map_coordinates", interpolate_forward,
    lambda g, coordinates, shape, order, border, npad, xp: pull_to_coefficients(
        g, coordinates, shape, order, border, npad, xp
    ),
    lambda g, c, coordinates, order, border, cval, npad, xp: pull_to_coordinates(
        g, c, coordinates, order, border, cval, npad, xp
    ),
)  # fmt: skip


def grid(shape: Shape, at: RawArray, xp: Namespace) -> Any:
    return xp.asarray(np.indices(shape).astype(float), dtype=at.dtype, device=at.device)


# --- interpolation at an affine function of the indices ----------------------------------------------
def affine_forward(
    c: Array, matrix: Array, offset: Array, shape_out: Shape = (), order: int = 3,
    border: int = CONSTANT, cval: complex = 0.0, npad: int = 0, output: DTypeInput = None,
) -> Any:  # fmt: skip
    found = np.zeros(shape_out, output)
    given = [np.ascontiguousarray(x) for x in (matrix, offset)]
    _nd_image.geometric_transform(
        c, None, None, *given, found, order, border, cval, npad, None, None
    )
    return found


def affine_coordinates(matrix: RawArray, offset: RawArray, shape: Shape, xp: Namespace) -> Any:
    at = xp.tensordot(matrix, grid(shape, matrix, xp), axes=((1,), (0,)))
    return at + xp.reshape(offset, (-1,) + (1,) * len(shape))


def affine_joint(
    g: RawArray, c: RawArray, matrix: RawArray, offset: RawArray, shape_out: Shape, order: int,
    border: int, cval: float, npad: int, xp: Namespace,
) -> Any:  # fmt: skip
    at = affine_coordinates(matrix, offset, shape_out, xp)
    every = tuple(range(1, len(shape_out) + 1))

    @functools.cache
    def affine_slopes() -> Any:
        return pull_to_coordinates(g, c, at, order, border, cval, npad, xp)

    return (
        Lazy(lambda: pull_to_coefficients(g, at, c.shape, order, border, npad, xp)),
        Lazy(lambda: xp.tensordot(affine_slopes(), grid(shape_out, at, xp), axes=(every, every))),
        Lazy(lambda: xp.sum(affine_slopes(), axis=every)),
    )


affine = library_op("scipy.ndimage.affine_transform", affine_forward, joint=affine_joint)


# --- interpolation at shifted and scaled indices -----------------------------------------------------
def zoom_forward(
    c: Array, zoom: Array, shift: Array, shape_out: Shape = (), order: int = 3, border: int = CONSTANT,
    cval: complex = 0.0, npad: int = 0, grid_mode: bool = False,
    given: tuple[bool, bool] = (True, True), output: DTypeInput = None,
) -> Any:  # fmt: skip
    found = np.zeros(shape_out, output)
    both = [np.ascontiguousarray(x) if is_given else None
            for x, is_given in zip((zoom, shift), given, strict=True)]  # fmt: skip
    _nd_image.zoom_shift(c, *both, found, order, border, cval, npad, grid_mode)
    return found


def zoom_joint(
    g: RawArray, c: RawArray, zoom: RawArray, shift: RawArray, shape_out: Shape, order: int,
    border: int, cval: float, npad: int, grid_mode: bool, xp: Namespace,
) -> Any:  # fmt: skip
    column = (-1,) + (1,) * len(shape_out)
    factor, step = xp.reshape(zoom, column), xp.reshape(shift, column)
    # With grid_mode, the coordinate of a pixel is that of its centre.
    half = 0.5 if grid_mode else 0.0
    moved = grid(shape_out, zoom, xp) + step + half
    at = moved * factor - half
    every = tuple(range(1, len(shape_out) + 1))

    @functools.cache
    def zoom_slopes() -> Any:
        return pull_to_coordinates(g, c, at, order, border, cval, npad, xp)

    return (
        Lazy(lambda: pull_to_coefficients(g, at, c.shape, order, border, npad, xp)),
        Lazy(lambda: xp.sum(zoom_slopes() * moved, axis=every)),
        Lazy(lambda: xp.sum(zoom_slopes() * factor, axis=every)),
    )


zoom_op = library_op("scipy.ndimage.zoom", zoom_forward, joint=zoom_joint)


# --- replacements of the extension's functions -------------------------------------------------------
def geometric_transform(
    input: ArrayInput, mapping: Callable[..., Any] | None, coordinates: ArrayInput | None, matrix: Any,
    offset: Any, output: Array | NumpyData, order: int, border: int, cval: complex, npad: int,
    arguments: tuple[Any, ...] | None, keywords: Mapping[str, Any] | None,
) -> None:  # fmt: skip
    c, how = asarray(input), (order, border, cval, npad)
    if mapping is not None:
        points = [
            mapping(place, *(arguments or ()), **(keywords or {}))
            for place in np.ndindex(*output.shape)
        ]
        coordinates = arraytape.reshape(asarray(points).T, (c.ndim, *output.shape))
    if coordinates is not None:
        at = asarray(coordinates)
        compute_into(output, lambda dtype: interpolate(c, at, *how, dtype))
    else:
        both = asarray(matrix, np.float64), asarray(offset, np.float64)
        compute_into(output, lambda dtype: affine(c, *both, output.shape, *how, dtype))


def zoom_shift(
    input: ArrayInput, zoom: ArrayInput | None, shift: ArrayInput | None, output: Array | NumpyData,
    order: int, border: int, cval: complex, npad: int, grid_mode: bool,
) -> None:  # fmt: skip
    c, given = asarray(input), (zoom is not None, shift is not None)
    factor = asarray(np.ones(c.ndim) if zoom is None else zoom, np.float64)
    step = asarray(np.zeros(c.ndim) if shift is None else shift, np.float64)
    compute_into(
        output,
        lambda dtype: zoom_op(
            c, factor, step, output.shape, order, border, cval, npad, grid_mode, given, dtype
        ),
    )


stands_in(
    "scipy.ndimage._interpolation", "_nd_image",
    spline_filter1d=spline_filter1d, geometric_transform=geometric_transform, zoom_shift=zoom_shift,
)  # fmt: skip


# --- derivatives with respect to the transformation --------------------------------------------------
# These hooks replace shift and affine_transform if the matrix, the offset or the shift is an Array:
# SciPy's Python code would convert these arguments to NumPy data.
def spline_coefficients(
    x: Array, order: int, mode: str, cval: complex, prefilter: bool
) -> tuple[Any, int]:
    """Return the spline coefficients of an image x, and the width of the padding that SciPy adds to x.

    If not ``prefilter``, the coefficients are x itself.  The options are those of SciPy's ``shift``.
    """
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    if x.dtype.kind == "c":
        raise no_rule("scipy.ndimage", "a complex image by its transformation")
    if not prefilter or order < 2:
        return x, 0
    padded, npad = _interpolation._prepad_for_spline_filter(x, mode, cval)
    return scipy.ndimage.spline_filter(padded, order, output=np.float64, mode=mode), npad


def vector(given: ArrayInput, count: int) -> Any:
    return arraytape.broadcast_to(asarray(given, np.float64), (count,))


@hooks("scipy.ndimage._interpolation", "shift")
def shift(
    input: ArrayInput, shift: ArrayInput, output: Output = None, order: int = 3, mode: str = "constant",
    cval: complex = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    if not has_array((shift,)):
        return original_of(_interpolation.shift)(input, shift, output, order, mode, cval, prefilter)
    x = asarray(input)
    filtered, npad = spline_coefficients(x, order, mode, cval, prefilter)
    # SciPy, too, negates before it converts to float64.
    steps = vector(-asarray(shift), x.ndim)
    found = _ni_support._get_output(output, x)
    border = _ni_support._extend_mode_to_code(mode)
    zoom_shift(filtered, None, steps, found, order, border, cval, npad, False)
    return found


@hooks("scipy.ndimage._interpolation", "affine_transform")
def affine_transform(
    input: ArrayInput, matrix: ArrayInput, offset: ArrayInput = 0.0,
    output_shape: Sequence[int] | None = None, output: Output = None, order: int = 3,
    mode: str = "constant", cval: complex = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    if not has_array((matrix, offset)):
        return original_of(_interpolation.affine_transform)(
            input, matrix, offset, output_shape, output, order, mode, cval, prefilter
        )
    x, matrix = asarray(input), asarray(matrix, np.float64)
    filtered, npad = spline_coefficients(x, order, mode, cval, prefilter)
    if matrix.ndim == 2 and matrix.shape[1] == x.ndim + 1:  # homogeneous coordinates
        matrix, offset = matrix[: x.ndim, : x.ndim], matrix[: x.ndim, x.ndim]
    if matrix.ndim not in (1, 2) or matrix.shape[0] != x.ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    shape = getattr(output, "shape", x.shape) if output_shape is None else tuple(output_shape)
    found = _ni_support._get_output(output, x, shape)
    start, border = vector(offset, x.ndim), _ni_support._extend_mode_to_code(mode)
    how = (found, order, border, cval, npad)
    if matrix.ndim == 1:
        zoom_shift(filtered, matrix, start / matrix, *how, False)
    else:
        geometric_transform(filtered, None, None, matrix, start, *how, None, None)
    return found


@hooks("scipy.ndimage._interpolation", "geometric_transform", always=True)
def geometric_transform_of(
    input: ArrayInput, mapping: Callable[..., Any], *args: Any, **keywords: Any
) -> Any:
    """Call SciPy's ``geometric_transform``, with an Array as image if ``mapping`` uses Arrays.

    SciPy's function then calls the op of this module, which has a derivative, in place of its compiled
    code.
    """
    if has_array(used_by(mapping)):
        input = asarray(input)
    return original_of(_interpolation.geometric_transform)(input, mapping, *args, **keywords)
