"""The correlation of data with a kernel, and its two adjoints: array-API code over a namespace.

The three arrays are the data (..., *lengths, channels), the kernel (*sizes, channels, filters) and the
result (..., *counts, filters).  Along each axis, element k of the kernel multiplies element
``place * stride + k * rate - margin`` of the data into the result's element ``place``; data beyond the
ends are zeros.  The sum of all products data * kernel * result is linear in each of the three, and each
of them, as a gradient of that sum, is a function of the other two: see ``PARTS``.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._util.array_types import Namespace, RawArray

Sizes = tuple[int, ...]


# The strides, rates (dilations) and margins (elements before the data): a number for each axis.
Geometry = tuple[Sizes, Sizes, Sizes]


def window_correlation(
    x1: RawArray, x2: RawArray, part: str, lengths: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the data, kernel or result (``part``) that follows from the other two, x1 and x2.

    lengths : the lengths of the part along the axes of the correlation.
    """
    return PARTS[part](x1, x2, lengths, geometry, xp)


def result_part(
    data: RawArray, kernel: RawArray, counts: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the sum over each window of the data times the kernel."""
    sizes, (width, filters) = kernel.shape[:-2], kernel.shape[-2:]
    if not math.prod(sizes):  # products of matrices without columns are zeros
        sizes, width, data = (1,) * len(sizes), 0, data[..., :0]
    lines, width = math.prod(sizes[:-1]), sizes[-1] * width
    weights = xp.reshape(kernel, (lines, width, filters))
    batch = tuple(data.shape[: -1 - len(counts)])
    # A single row for all batches is one product, but would be a copy for each of several lines.
    rows = (math.prod((*batch, *counts)),) if lines == 1 else (*batch, math.prod(counts))
    products = [
        xp.reshape(elements, (*rows, width)) @ weights[line, :, :]
        for line, elements in enumerate(window_lines(data, sizes, counts, geometry, xp))
    ]
    return xp.reshape(functools.reduce(operator.add, products), (*batch, *counts, filters))


def kernel_part(
    data: RawArray, result: RawArray, sizes: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the sum over all windows of the outer product of their data and the result."""
    counts = tuple(result.shape[-1 - len(sizes) : -1])
    width, filters = sizes[-1] * data.shape[-1], result.shape[-1]
    stacks, places = math.prod(result.shape[: -1 - len(sizes)]), math.prod(counts)
    # A product for all batches needs no copy for a single line.  For several lines, a product for each
    # batch needs none, and its results are smaller than the copies if there are few filters.
    if math.prod(sizes[:-1]) == 1 or filters > places:
        stacks, places = 1, stacks * places
    result = xp.reshape(result, (stacks, places, filters))
    products = [
        xp.sum(xp.matrix_transpose(xp.reshape(elements, (stacks, places, width))) @ result, axis=0)
        for elements in window_lines(data, sizes, counts, geometry, xp)
    ]
    return xp.reshape(xp.stack(products), (*sizes, data.shape[-1], filters))


def window_lines(
    data: RawArray, sizes: Sizes, counts: Sizes, geometry: Geometry, xp: Namespace
) -> Iterator[Any]:
    """Yield, for each position in a window but along its last axis, the data there in all windows.

    The last axis of what is yielded holds all elements along the last axis of a window, with their
    channels.  Copies are made only along this axis.
    """
    strides, rates, margins = geometry
    first = len(data.shape) - 1 - len(sizes)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        length = (count - 1) * strides[axis] + (size - 1) * rates[axis] + 1
        data = framed(data, first + axis, margins[axis], length, xp)

    def elements_at(axis: int, position: int) -> slice:
        start = position * rates[axis]
        return slice(start, start + (counts[axis] - 1) * strides[axis] + 1, strides[axis])

    parts = [data[(..., elements_at(-1, k), slice(None))] for k in range(sizes[-1])]
    joined = parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)
    for position in itertools.product(*map(range, sizes[:-1])):
        rows = itertools.starmap(elements_at, enumerate(position))
        yield joined[(..., *rows, slice(None), slice(None))]


def framed(x: RawArray, axis: int, before: int, length: int, xp: Namespace) -> Any:
    """Return ``length`` elements of x along an axis, from index ``-before``; zeros beyond its ends."""
    there = x.shape[axis]
    start, stop = min(max(-before, 0), there), max(min(length - before, there), 0)
    start = min(start, stop)
    if (start, stop) != (0, there):
        x = x[(*(slice(None),) * axis, slice(start, stop), ...)]
    ahead = min(max(before, 0), length)
    after = length - ahead - (stop - start)

    def zeros(count: int) -> list[Any]:
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        # Arrays that JAX traces have no device; JAX chooses the right one.
        place = {"device": x.device} if hasattr(x, "device") else {}
        return [xp.zeros(shape, dtype=x.dtype, **place)] if count else []

    parts = [*zeros(ahead), x, *zeros(after)]
    return x if len(parts) == 1 else xp.concat(parts, axis=axis)


class Phase(NamedTuple):
    """Elements of the data, along an axis, to which the same places of the result contribute.

    first, step, taps : element ``q * stride + r`` of the padded data, for each of the ``remainders`` r,
    gets contributions of the places ``q - first - t * step``, for t below ``taps``.
    elements : the kernel's elements that multiply these, by falling t, then by remainder.
    """

    first: int
    step: int
    taps: int
    remainders: Sizes
    elements: Sizes


@functools.cache
def phases(size: int, stride: int, rate: int) -> tuple[Phase, ...]:
    """Return the phases of the data along an axis: only one if the stride is 1."""
    of_remainder: dict[int, list[int]] = {r: [] for r in range(stride)}
    for k in range(size):
        of_remainder[k * rate % stride].append(k)
    alike: dict[tuple[int, ...], list[int]] = {}
    for r, elements in of_remainder.items():
        alike.setdefault(tuple(k * rate // stride for k in elements), []).append(r)
    step = rate // math.gcd(rate, stride)
    return tuple(
        Phase(
            places[0] if places else 0, step, len(places), tuple(remainders),
            tuple(of_remainder[r][t] for t in reversed(range(len(places))) for r in remainders),
        )
        for places, remainders in alike.items()
    )  # fmt: skip


def data_part(
    kernel: RawArray, result: RawArray, lengths: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the sum, for each element of the data, of the kernel times the result of its windows.

    With strides of 1 this is the correlation of the result with the reversed kernel.  Else there is a
    correlation for each combination of phases, which gives their remainders as channels.
    """
    strides, rates, margins = geometry
    axes, channels = len(lengths), kernel.shape[-2]
    batch = tuple(result.shape[: -1 - axes])
    starts = [margin // stride for margin, stride in zip(margins, strides, strict=True)]
    counts = tuple(
        -(-(length + margin) // stride) - start
        for length, margin, stride, start in zip(lengths, margins, strides, starts, strict=True)
    )

    def found(axis: int, chosen: tuple[Phase, ...]) -> Any:
        if axis < axes:
            of_axis = phases(kernel.shape[axis], strides[axis], rates[axis])
            parts = [found(axis + 1, (*chosen, phase)) for phase in of_axis]
            return in_order(parts, of_axis, axis - axes - 1, xp)
        inner = (
            (1,) * axes, tuple(p.step for p in chosen),
            tuple(p.first + (p.taps - 1) * p.step - q for p, q in zip(chosen, starts, strict=True)),
        )  # fmt: skip
        y = result_part(result, phase_kernel(kernel, chosen, xp), counts, inner, xp)
        return xp.reshape(y, (*batch, *counts, *(len(p.remainders) for p in chosen), channels))

    y = found(0, ())
    k = len(batch)
    if math.prod(strides) > 1:
        pairs = [at for axis in range(k, k + axes) for at in (axis, axis + axes)]
        y = xp.permute_dims(y, (*range(k), *pairs, k + 2 * axes))
    y = xp.reshape(y, (*batch, *map(operator.mul, counts, strides), channels))
    for axis in range(axes):
        y = framed(y, k + axis, starts[axis] * strides[axis] - margins[axis], lengths[axis], xp)
    return y


def in_order(parts: list[Any], of_axis: tuple[Phase, ...], axis: int, xp: Namespace) -> Any:
    """Return the parts for the phases along an axis, joined so that their remainders rise."""
    if len(parts) == 1:
        return parts[0]
    rest = (slice(None),) * (-axis - 1)
    owners = sorted(
        (r, part, at)
        for part, phase in enumerate(of_axis) for at, r in enumerate(phase.remainders)
    )  # fmt: skip
    return xp.concat(
        [parts[part][(..., slice(at, at + 1), *rest)] for _, part, at in owners], axis=axis
    )


def phase_kernel(kernel: RawArray, chosen: tuple[Phase, ...], xp: Namespace) -> Any:
    """Return the elements of the kernel for phases along all axes, with their remainders as filters."""
    axes = len(chosen)
    for axis, phase in enumerate(chosen):
        before = (slice(None),) * axis
        kernel = xp.concat(
            [kernel[(*before, slice(k, k + 1), ...)] for k in phase.elements]
            or [kernel[(*before, slice(0, 0), ...)]],
            axis=axis,
        )
    channels, filters = kernel.shape[-2:]
    shape = [n for p in chosen for n in (p.taps, len(p.remainders))]
    split = xp.reshape(kernel, (*shape, channels, filters))
    places, remainders = range(0, 2 * axes, 2), range(1, 2 * axes, 2)
    split = xp.permute_dims(split, (*places, 2 * axes + 1, *remainders, 2 * axes))
    return xp.reshape(split, (*shape[::2], filters, math.prod(shape[1::2]) * channels))


# The name of each array -> the function that returns it, given the other two in this order.
PARTS = {"data": data_part, "kernel": kernel_part, "result": result_part}


def multiplied(shapes: dict[str, Sizes], geometry: Geometry) -> dict[str, Any]:
    """Return the flat indices of the elements in each product data * kernel * result, by their names.

    shapes : the shapes of the three arrays.
    """
    data, kernel, result = (shapes[name] for name in PARTS)
    axes = len(kernel) - 2
    lengths, sizes, counts = data[-1 - axes : -1], kernel[:-2], result[-1 - axes : -1]
    whole = (math.prod(data[: -1 - axes]), *counts, *sizes, *kernel[-2:])
    batch, *at, channel, filter_ = np.indices(whole, sparse=True)
    places, elements = at[:axes], at[axes:]
    found = [
        place * stride + k * rate - margin
        for place, k, stride, rate, margin in zip(places, elements, *geometry, strict=True)
    ]
    inside = np.ones(whole, np.bool_)
    for index, length in zip(found, lengths, strict=True):
        inside &= (index >= 0) & (index < length)

    def flat(indices: list[Any], shape: Sizes) -> Any:
        total: Any = 0
        for index, length in zip(indices, shape, strict=True):
            total = total * length + index
        return np.broadcast_to(total, whole)[inside]

    return {
        "data": flat([batch, *found, channel], (whole[0], *lengths, data[-1])),
        "kernel": flat([*elements, channel, filter_], kernel),
        "result": flat([batch, *places, filter_], (whole[0], *counts, result[-1])),
    }
