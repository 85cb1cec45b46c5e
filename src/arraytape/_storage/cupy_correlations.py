"""The correlation of ``correlations.py`` on a GPU: one kernel copies all windows, one product sums them.

The code there makes many slices, which suits a CPU.  On a GPU the launch of a kernel for each of them
takes longer than the products with the zeros beyond the ends of the data.
"""

from __future__ import annotations

import math
from typing import Any

Sizes = tuple[int, ...]

# The most elements of copied windows.  For more, the copies could fill the memory.
MOST_COPIED = 1 << 26


def windows_source(axes: int) -> tuple[str, str]:
    """Return the parameters and the C++ code of the kernel that copies windows along so many axes.

    Thread i copies the element of the data for ``i = (batch, *places, *elements, channel)``.  Along each
    axis its index is ``(place * scale + element * rate + offset) / divisor``.  An index that is no whole
    number, or lies beyond the data, gives a zero.
    """
    names = ("length", "size", "count", "scale", "rate", "offset", "divisor")
    given = ", ".join(f"int64 {name}{axis}" for axis in range(axes) for name in names)
    split = [
        f"long long {what}{axis} = rest % {of}{axis}; rest /= {of}{axis};"
        for what, of in (("element", "size"), ("place", "count")) for axis in reversed(range(axes))
    ]  # fmt: skip
    found = [
        f"""
        long long at{a} = place{a} * scale{a} + element{a} * rate{a} + offset{a};
        inside = inside && at{a} >= 0 && at{a} % divisor{a} == 0 && at{a} / divisor{a} < length{a};
        from = from * length{a} + at{a} / divisor{a};
        """
        for a in range(axes)
    ]
    code = [
        "long long rest = i; long long channel = rest % channels; rest /= channels;", *split,
        "long long from = rest; bool inside = true;", *found,
        "part = inside ? x[from * channels + channel] : T(0);",
    ]  # fmt: skip
    return f"raw T x, int64 channels, {given}", "\n".join(code)


def correlate_windows(
    x1: Any, x2: Any, part: str, lengths: Sizes, geometry: tuple[Sizes, Sizes, Sizes], xp: Any
) -> Any:
    """Compute what ``correlations.window_correlation`` does; None if the windows are too large to copy.

    xp : the raw namespace of CuPy's data, whose ``kernels`` copy windows.
    """
    axes = len(lengths)
    strides, rates, margins = geometry
    ones, (first, second) = (1,) * axes, (x1, x2)
    back = tuple(-rate for rate in rates)
    if part == "data":  # each element of the data has a window of results, by falling k
        data, places, sizes = second, lengths, first.shape[:-2]
        steps = (ones, back, margins, strides)
    else:
        data, sizes = first, lengths if part == "kernel" else second.shape[:-2]
        places = lengths if part == "result" else second.shape[-1 - axes : -1]
        steps = (strides, rates, tuple(-margin for margin in margins), ones)
    batch, channels = data.shape[: -1 - axes], data.shape[-1]
    rows, width = math.prod((*batch, *places)), math.prod((*sizes, channels))
    if not rows * width or rows * width > MOST_COPIED:
        return None
    single = math.prod(sizes) == 1 and steps == (ones, steps[1], (0,) * axes, ones)
    if not single or tuple(places) != data.shape[-1 - axes : -1]:  # else each window is an element
        data = xp.kernels.windows(data, batch, places, sizes, steps)
    windows = xp.reshape(data, (rows, width))
    if part == "kernel":
        filters = second.shape[-1]
        product = xp.matmul(xp.matrix_transpose(windows), xp.reshape(second, (rows, filters)))
        return xp.reshape(product, (*sizes, channels, filters))
    kernel = second if part == "result" else xp.matrix_transpose(first)
    product = xp.matmul(windows, xp.reshape(kernel, (width, kernel.shape[-1])))
    return xp.reshape(product, (*batch, *places, kernel.shape[-1]))
