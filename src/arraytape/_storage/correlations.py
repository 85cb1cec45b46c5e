"""The correlation of data with a kernel (a convolution layer of ``nn``) and its two adjoints.

The three arrays are the data (..., *lengths, channels), the kernel (*sizes, channels, filters) and the
result (..., *counts, filters).  Along each axis, element p of the result is the sum over k of kernel[k]
times data[p * stride + k * rate - margin].  Data beyond the ends are zeros.
The functions in ``PARTS`` compute one array from the other two: the result by the correlation, the
cotangents of data and kernel by its adjoints.  They are array-API code for any namespace ``xp``.
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

# The least share of all multiplications that is worth smaller products, and the least number.
LEAST_SHARE, LEAST_NUMBER = 0.1, 1 << 21
LEAST_DATA = 1 << 15  # the least number of elements whose copies are worth more calls


# The strides, rates (dilations) and margins (the padding in front of the data): a number for each axis.
Geometry = tuple[Sizes, Sizes, Sizes]


def window_correlation(
    x1: RawArray, x2: RawArray, part: str, lengths: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Compute the result of a correlation, or the cotangent of its data or kernel, from two arrays.

    part : the name of the computed array, "data", "kernel" or "result".  x1, x2 : the other two, in this
    order.  For "data" and "kernel" the cotangent of the result is given in place of the result.
    lengths : the shape of the computed array along the axes of the correlation.
    geometry : the strides, dilations and margins.
    """
    return PARTS[part](x1, x2, lengths, geometry, xp)


def result_part(
    data: RawArray, kernel: RawArray, counts: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the correlation: for each window of the data, the sum of the window times the kernel.

    counts : the number of windows along each axis.  geometry : the strides, dilations and margins.
    """
    sizes, (width, filters) = kernel.shape[:-2], kernel.shape[-2:]
    if windows := windows_inside(data, filters, tuple(sizes), counts, geometry, xp):
        return windows.correlation(kernel, counts)
    if few_products(data, filters, tuple(sizes), geometry):
        return result_of_few_filters(data, kernel, counts, geometry, xp)
    if not math.prod(sizes):  # products of matrices without columns are zeros
        sizes, width, data = (1,) * len(sizes), 0, data[..., :0]
    lines, width = math.prod(sizes[:-1]), sizes[-1] * width
    weights = xp.reshape(kernel, (lines, width, filters))
    batch = tuple(data.shape[: -1 - len(counts)])
    # One matrix product for all batches is fastest, but for several lines its operands would be copies.
    rows = (math.prod((*batch, *counts)),) if lines == 1 else (*batch, math.prod(counts))
    products = [
        xp.reshape(elements, (*rows, width)) @ weights[line, :, :]
        for line, elements in enumerate(window_lines(data, sizes, counts, geometry, xp))
    ]
    return xp.reshape(functools.reduce(operator.add, products), (*batch, *counts, filters))


def kernel_part(
    data: RawArray, result: RawArray, sizes: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the cotangent of the kernel for the cotangent ``result`` of the correlation.

    It is the sum over all windows of the outer product of the window's data and its result.

    sizes : the kernel's lengths.  geometry : the strides, dilations and margins.
    """
    counts = tuple(result.shape[-1 - len(sizes) : -1])
    width, filters = sizes[-1] * data.shape[-1], result.shape[-1]
    if windows := windows_inside(data, filters, sizes, counts, geometry, xp):
        return windows.kernel_cotangent(result)
    if few_products(data, filters, sizes, geometry):
        return kernel_of_few_filters(data, result, sizes, geometry, xp)
    stacks, places = math.prod(result.shape[: -1 - len(sizes)]), math.prod(counts)
    # If the windows have a single line, one product for all batches needs no copy.  For several lines, a
    # product for each batch needs none, and its results are smaller than the copies if filters are few.
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
    """Yield the data of all windows of a correlation, one line of the windows at a time.

    A line is a run of elements along the last axis of a window: a window of 3 x 5 elements has 3 lines.
    Each yielded array has the shape (..., *counts, elements of a line times channels), so that a matrix
    product combines it with a line of the kernel.  Copies are made only along the last axis.
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


def few_products(data: RawArray, filters: int, sizes: Sizes, geometry: Geometry) -> bool:
    """Return True if an element of the data has far fewer products than a line of its windows elements.

    Then products with all elements of the kernel are formed first, and shifted to their windows, in
    place of copies of the data.
    """
    elements = math.prod(sizes)
    few = 2 * elements * filters <= sizes[-1] * data.shape[-1]
    return few and elements > 1 and set(geometry[0]) == {1} and math.prod(data.shape) >= LEAST_DATA


def result_of_few_filters(
    data: RawArray, kernel: RawArray, counts: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return a correlation with strides of 1 as the sum of shifted products of data and kernel."""
    sizes, (channels, filters) = kernel.shape[:-2], kernel.shape[-2:]
    first, (_, rates, margins) = len(data.shape) - 1 - len(sizes), geometry
    weights = xp.reshape(kernel, (math.prod(sizes), channels, filters))
    rows = xp.reshape(data, (math.prod(data.shape[:-1]), channels))
    weights = xp.reshape(
        xp.permute_dims(weights, (1, 0, 2)), (channels, math.prod(sizes) * filters)
    )
    products = xp.reshape(rows @ weights, (*data.shape[:-1], math.prod(sizes) * filters))
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        length = count + (size - 1) * rates[axis]
        products = framed(products, first + axis, margins[axis], length, xp)
    total = None
    for i, position in enumerate(np.ndindex(*sizes)):
        places = [
            slice(k * rate, k * rate + n)
            for k, rate, n in zip(position, rates, counts, strict=True)
        ]
        part = products[(..., *places, slice(i * filters, (i + 1) * filters))]
        total = part if total is None else total + part
    return total


def kernel_of_few_filters(
    data: RawArray, result: RawArray, sizes: Sizes, geometry: Geometry, xp: Namespace
) -> Any:
    """Return the cotangent of the kernel of a correlation with strides of 1, which shifts the result's.

    Its shifted copies are smaller than those of the data if the filters are few.
    """
    axes, (_, rates, margins) = len(sizes), geometry
    first, channels, filters = len(data.shape) - 1 - axes, data.shape[-1], result.shape[-1]
    parts = [result]
    for axis, size in enumerate(sizes):
        parts = [
            framed(part, first + axis, k * rates[axis] - margins[axis], data.shape[first + axis], xp)
            for part in parts for k in range(size)
        ]  # fmt: skip
    count, width = math.prod(data.shape[:-1]), math.prod(sizes) * filters
    shifted = xp.reshape(xp.concat(parts, axis=-1), (count, width))
    product = xp.matrix_transpose(xp.reshape(data, (count, channels))) @ shifted
    split = xp.reshape(product, (channels, *sizes, filters))
    return contiguous(xp.permute_dims(split, (*range(1, axes + 1), 0, axes + 1)), xp)


def windows_inside(
    data: RawArray, filters: int, sizes: Sizes, counts: Sizes, geometry: Geometry, xp: Namespace
) -> WindowsInside | None:
    """Return the windows without their elements beyond the data, or None if zeros for these are faster.

    Of the elements of 5 x 5 windows of a 7 x 7 image 31% lie beyond it.  A CPU is faster without their
    products, a GPU with fewer and larger ones.

    filters : the number of the result's channels.  sizes : the kernel's lengths.  counts : the number
    of windows along each axis.
    """
    axes = len(sizes)
    batch, lengths = tuple(data.shape[: -1 - axes]), tuple(data.shape[-1 - axes : -1])
    inside = tuple(map(windows_of_elements, lengths, sizes, counts, *geometry))
    everything = math.prod((*sizes, *counts))
    beyond = everything - math.prod(sum(map(len, of_axis)) for of_axis in inside)
    if (
        not beyond
        or beyond < LEAST_SHARE * everything
        or beyond * math.prod((*batch, data.shape[-1], filters)) < LEAST_NUMBER
        or getattr(data, "device", None) != "cpu"
        or not all(elements for _, elements in runs_of_windows(inside[-1], counts[-1]))
    ):
        return None
    return WindowsInside(lines_first(data, len(batch), xp), len(batch), inside, geometry, xp)


@functools.cache
def windows_of_elements(
    length: int, size: int, count: int, stride: int, rate: int, margin: int
) -> tuple[range, ...]:
    """Return, for each element of a window along an axis, the windows in which it lies in the data.

    length, size : the numbers of elements of the data and of a window.  count : that of windows.
    """
    found = []
    for k in range(size):
        first = k * rate - margin  # the index of the data's element in window 0
        start, stop = max(-(first // stride), 0), min((length - 1 - first) // stride + 1, count)
        found.append(range(start, max(start, stop)))
    return tuple(found)


def runs_of_windows(inside: tuple[range, ...], count: int) -> Iterator[tuple[range, range]]:
    """Yield the runs of windows along an axis with the same elements in the data, and these elements.

    inside : for each element of a window, the windows in which it lies in the data.
    count : the number of windows.
    """
    ends = sorted({0, count, *(end for run in inside if run for end in (run.start, run.stop))})
    for start, stop in itertools.pairwise(ends):
        elements = [k for k, run in enumerate(inside) if start in run]
        yield range(start, stop), range(elements[0], elements[-1] + 1) if elements else range(0)


def lines_first(x: RawArray, batch: int, xp: Namespace) -> Any:
    """Move the first ``batch`` axes of x behind all others but the last two."""
    first, last = range(batch), range(len(x.shape) - 2, len(x.shape))
    return xp.permute_dims(x, (*range(batch, len(x.shape) - 2), *first, *last))


class WindowsInside(NamedTuple):
    """The windows of a correlation without their elements beyond the data.

    Lines of windows at the same position have their data in the same columns, and are multiplied
    together, in one product for all batches.

    data : the data, of shape (*lines, *batch, columns, channels).  batch : the number of batch axes.
    inside : for each axis and element of a window, the windows in which it lies in the data.
    """

    data: RawArray
    batch: int
    inside: tuple[tuple[range, ...], ...]
    geometry: Geometry
    xp: Namespace

    def slice_of(self, axis: int, element: int, windows: range) -> slice:
        """Return the slice along an axis of the data that has this element of the ``windows``."""
        stride, rate, margin = (of_axis[axis] for of_axis in self.geometry)
        start = windows.start * stride + element * rate - margin
        return slice(start, start + len(windows) * stride, stride) if windows else slice(0, 0)

    def lines(self) -> Iterator[tuple[Sizes, list[range], tuple[slice, ...]]]:
        """Yield each position of a line in the windows, these windows, and the key of their data."""
        inside = self.inside[:-1]
        for position in itertools.product(*(range(len(of_axis)) for of_axis in inside)):
            rows = [of_axis[k] for of_axis, k in zip(inside, position, strict=True)]
            yield position, rows, tuple(map(self.slice_of, range(len(rows)), position, rows))

    def correlation(self, kernel: RawArray, counts: Sizes) -> Any:
        """Return the correlation with ``kernel``.  counts : the number of windows along each axis."""
        xp, (channels, filters) = self.xp, kernel.shape[-2:]
        results = []
        for windows, elements in runs_of_windows(self.inside[-1], counts[-1]):
            parts = [self.data[..., self.slice_of(-1, k, windows), :] for k in elements]
            joined, width, products = xp.concat(parts, axis=-1), len(parts) * channels, []
            for position, rows, key in self.lines():
                x = joined[key]
                # Rows that are neighbours form one matrix, others a stack: neither is a copy.
                stack = x.shape[:1] if rows and self.geometry[0][0] > 1 else ()
                x = xp.reshape(x, (*stack, math.prod(x.shape[len(stack) : -1]), width))
                weights = kernel[(*position, slice(elements.start, elements.stop), ...)]
                product = x @ xp.reshape(weights, (width, filters))
                shape = (*map(len, rows), *self.data.shape[len(rows) : -2], len(windows), filters)
                product = xp.reshape(product, shape)
                for axis, row in enumerate(rows):
                    product = framed(product, axis, row.start, counts[axis], xp)
                products.append(product)
            results.append(functools.reduce(operator.add, products))
        y = lines_first(xp.concat(results, axis=-2), len(counts) - 1, xp)
        return contiguous(y, xp)

    def kernel_cotangent(self, result: RawArray) -> Any:
        """Return the cotangent of the kernel for the cotangent ``result`` of the correlation."""
        xp, channels, filters = self.xp, self.data.shape[-1], result.shape[-1]
        result, columns = lines_first(result, self.batch, xp), []
        for k, windows in enumerate(self.inside[-1]):
            x = self.data[..., self.slice_of(-1, k, windows), :]
            g = result[..., windows.start : windows.stop, :]
            products = []
            for _, rows, key in self.lines():
                those = g[(*(slice(row.start, row.stop) for row in rows), ...)]
                rows_of_g = (math.prod(those.shape[:-1]), filters)
                products.append(
                    xp.matrix_transpose(xp.reshape(x[key], (rows_of_g[0], channels)))
                    @ xp.reshape(those, rows_of_g)
                )
            columns.append(xp.stack(products))
        sizes = tuple(map(len, self.inside))
        return xp.reshape(xp.stack(columns, axis=1), (*sizes, channels, filters))


def contiguous(x: RawArray, xp: Namespace) -> Any:
    """Return a copy of permuted data in C order, the order of a product of matrices."""
    return xp.reshape(xp.reshape(x, (-1,)), x.shape)


def framed(x: RawArray, axis: int, before: int, length: int, xp: Namespace) -> Any:
    """Return x padded or cropped along an axis: ``length`` elements from index ``-before``.

    Elements beyond the ends of x are zeros.
    """
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
    """The elements of the data along an axis that lie in windows at corresponding places of the result.

    With stride 2 and a kernel of 3 elements, element 2q of the padded data lies in the windows q - 1 and
    q, and element 2q + 1 only in window q: these are two phases.

    remainders : the remainders r of the elements' indices, divided by the stride.
    first, step, taps : element q * stride + r lies in the windows q - first - t * step, 0 <= t < taps.
    elements : the kernel's elements that multiply the results there, by falling t, then by r.
    """

    first: int
    step: int
    taps: int
    remainders: Sizes
    elements: Sizes


@functools.cache
def phases(size: int, stride: int, rate: int) -> tuple[Phase, ...]:
    """Return the phases of the data along an axis, a single one if the stride is 1: see ``Phase``.

    size : the length of the kernel.  rate : its dilation.
    """
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
    """Return the cotangent of the data for the cotangent ``result`` of the correlation.

    Each element of the data gets the sum of kernel times result over the windows that contain it.  With
    strides of 1 this is the correlation of ``result`` with the reversed kernel.  With other strides
    there is a correlation for each combination of phases (see ``Phase``) of the axes.

    lengths : the data's lengths.  geometry : the strides, dilations and margins.
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
            return interleave_phases(parts, of_axis, axis - axes - 1, xp)
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


def interleave_phases(
    parts: list[Any], of_axis: tuple[Phase, ...], axis: int, xp: Namespace
) -> Any:
    """Join the cotangents of all phases to one array, in the order of the data's elements along an axis.

    parts : the cotangents for each phase.  of_axis : these phases.
    """
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
    """Return the kernel of the correlation that computes the cotangents of one phase of the data.

    chosen : the phase for each axis.  The filters of the returned kernel are the pairs of a remainder
    and a channel of the data.
    """
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


def product_indices(shapes: dict[str, Sizes], geometry: Geometry) -> dict[str, Any]:
    """Return which elements a correlation multiplies, for the sparsity patterns of Jacobians.

    The returned dict has arrays of flat indices under the keys "data", "kernel" and "result".  Their
    i-th items are the three elements of the i-th product data * kernel * result.

    shapes : the shapes of the three arrays, by name.
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
