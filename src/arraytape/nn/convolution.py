"""Convolutions, computed by the op ``window_correlation``, and pooling, by slices and reductions.

Data have the axes (..., places, channels) or (..., rows, columns, channels): Keras's "channels_last".
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import arraytape as xp

from .._storage.correlations import Geometry, window_correlation
from .._util.errors import describe, short_repr, user_line
from .initializers import named_option
from .layers import Affine, Initial, Layer, Seed, boolean_option, integer_option
from .libraries import as_library_floats, constant_like, library_constant, library_of

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import RawArray

Sizes = int | Sequence[int]


class Convolution(Affine):
    """Base class of ``Conv1D`` and ``Conv2D``."""

    _axes = 0
    _paddings: tuple[str, ...] = ("valid", "same")

    def __init__(
        self, filters: int, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid",
        dilation_rate: Sizes = 1, activation: str | Callable[[Any], Any] | None = None,
        use_bias: bool = True, kernel_initializer: Initial = "glorot_uniform",
        bias_initializer: Initial = "zeros", seed: Seed = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        owner = type(self).__name__
        self.least_axes = self._axes + 1
        self.filters = integer_option(owner, "filters", filters)
        self.kernel_size = axis_sizes(owner, "kernel_size", kernel_size, self._axes)
        self.strides = axis_sizes(owner, "strides", strides, self._axes)
        self.padding = named_option(owner, "padding", padding, self._paddings)
        self.dilation_rate = axis_sizes(owner, "dilation_rate", dilation_rate, self._axes)
        self._set(owner, activation, use_bias, kernel_initializer, bias_initializer)

    def make(self, x: RawArray) -> None:
        self._make_kernel((*self.kernel_size, x.shape[-1], self.filters), x)

    def call(self, x: RawArray) -> Array:
        library, x, kernel = self._operands(x)
        windows = Windows(
            self.name, self.kernel_size, self.strides, self.padding, self.dilation_rate
        )
        margins, counts = windows.layout(x)
        before = tuple(ahead for ahead, _ in margins)
        geometry = (self.strides, self.dilation_rate, before)
        return self._activated(correlated(library, x, kernel, "result", counts, geometry), x)


CONVOLUTION = """{title}

    Data have the axes ``{axes}``; kernel and bias are made on the first call.  The layer computes
    the correlation, as in Keras and PyTorch: the kernel is not reversed.

    Parameters
    ----------
    filters : int
        The number of the result's channels.
    kernel_size : int{or_pair}
        The length of the kernel along each axis.
    strides : int{or_pair}, default 1
        The distance between neighbouring positions of the kernel, in elements of the data.
    padding : {{{paddings}}}
        "valid": only positions where the whole kernel lies within the data.  "same": zeros around the
        data, so that with strides of 1 the result is as long as the data; if their number is odd, the
        last zero comes after the data, as in TensorFlow.{causal}
    dilation_rate : int{or_pair}, default 1
        The distance in the data between neighbouring elements of the kernel.
    activation : str or callable, optional
        A function of an Array, or the name of one in ``arraytape.nn``.
    use_bias : bool, default True
        If True, a bias is added.
    kernel_initializer : str or callable, default "glorot_uniform"
        The first values of the kernel: see ``arraytape.nn.initializers``.
    bias_initializer : str or callable, default "zeros"
        The first values of the bias.
    seed : int, numpy.random.Generator or None
        The seed of the kernel.
    name : str, optional
        The layer's name in messages, and the first part of its Variables' names.

    Examples
    --------
    >>> import arraytape as xp
    >>> {example}
    """


class Conv1D(Convolution):
    __doc__ = CONVOLUTION.format(
        title="A convolution along one axis.", axes="(..., places, channels)", or_pair="",
        paddings='"valid", "same", "causal"',
        causal='\n        "causal": zeros only before the data: no result depends on later elements.',
        example='xp.nn.Conv1D(4, 3, padding="same", seed=0)(xp.ones((2, 10, 3))).shape\n    (2, 10, 4)',
    )  # fmt: skip
    _axes = 1
    _paddings = ("valid", "same", "causal")


class Conv2D(Convolution):
    __doc__ = CONVOLUTION.format(
        title="A convolution along two axes.", axes="(..., rows, columns, channels)",
        or_pair=" or pair of int", paddings='"valid", "same"', causal="",
        example="xp.nn.Conv2D(4, 3, strides=2, seed=0)(xp.ones((2, 9, 9, 3))).shape\n    (2, 4, 4, 4)",
    )  # fmt: skip
    _axes = 2


class Conv2DTranspose(Convolution):
    __doc__ = CONVOLUTION.format(
        title="""A transposed convolution along two axes, the adjoint of ``Conv2D``.

    The kernel has the shape ``(*kernel_size, filters, channels)``, and each element of the data adds its
    product with the kernel to the result.""",
        axes="(..., rows, columns, channels)", or_pair=" or pair of int", paddings='"valid", "same"',
        causal='''  For a
        length n of the data the result has the length ``n * strides`` with "same", and
        ``n * strides + max(kernel_size - strides, 0)`` with "valid".''',
        example="""layer = xp.nn.Conv2DTranspose(4, 3, 2, "same", seed=0)
    >>> layer(xp.ones((2, 5, 5, 3))).shape
    (2, 10, 10, 4)""",
    )  # fmt: skip
    _axes = 2
    _input_axis = -1

    def make(self, x: RawArray) -> None:
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{self.name}: only one of strides and dilation_rate may be greater than 1, got "
                f"{self.strides} and {self.dilation_rate} [at {user_line()}]"
            )
        self.add_weight(
            "kernel", (*self.kernel_size, self.filters, x.shape[-1]), x, self.kernel_initializer
        )
        if self.use_bias:
            self.add_weight("bias", (self.filters,), x, self.bias_initializer)

    def call(self, x: RawArray) -> Array:
        library, x, kernel = self._operands(x)
        found = zip(x.shape[-3:-1], self.kernel_size, self.strides, self.dilation_rate, strict=True)
        lengths, margins = zip(*itertools.starmap(self._result_range, found), strict=True)
        geometry = (self.strides, self.dilation_rate, margins)
        return self._activated(correlated(library, kernel, x, "data", lengths, geometry), x)

    def _result_range(self, length: int, size: int, stride: int, rate: int) -> tuple[int, int]:
        """Return the result's length along an axis, and the number of elements cut off at its start."""
        beyond = max((size - 1) * rate + 1 - stride, 0)
        if self.padding == "valid":
            return length * stride + beyond, 0
        return length * stride, beyond // 2


def correlated(
    library: Any, x1: RawArray, x2: RawArray, part: str, lengths: Sequence[int],
    geometry: Geometry,
) -> Any:  # fmt: skip
    """Compute ``part`` of a correlation, its "data", "kernel" or "result", from the other two arrays.

    Arrays of arraytape need its op, which has a rule for gradients; other libraries run the op's code.
    """
    if library is xp:
        return library.window_correlation(x1, x2, part, tuple(lengths), geometry)
    return window_correlation(x1, x2, part, tuple(lengths), geometry, library)


class Pooling(Layer):
    """Base class of layers that reduce each window of the data to one element."""

    _axes = 0

    def __init__(
        self, pool_size: Sizes = 2, strides: Sizes | None = None, padding: str = "valid",
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        owner = type(self).__name__
        self.least_axes = self._axes + 1
        self.pool_size = axis_sizes(owner, "pool_size", pool_size, self._axes)
        given = self.pool_size if strides is None else strides
        self.strides = axis_sizes(owner, "strides", given, self._axes)
        self.padding = named_option(owner, "padding", padding, ("valid", "same"))

    def _window_elements(self, library: ModuleType, x: RawArray, outside: float) -> Iterator[Any]:
        windows = Windows(self.name, self.pool_size, self.strides, self.padding, (1,) * self._axes)
        return windows.elements(library, x, outside)


class MaxPooling(Pooling):
    """Base class of layers that take the greatest element of each window."""

    def call(self, x: RawArray) -> Array:
        library = library_of(self.name, x)
        pieces = list(self._window_elements(library, as_library_floats(library, x), -math.inf))
        return library.max(library.stack(pieces, axis=0), axis=0)


class AveragePooling(Pooling):
    """Base class of layers that take the mean of each window."""

    def call(self, x: RawArray) -> Array:
        library = library_of(self.name, x)
        x = as_library_floats(library, x)
        total = functools.reduce(operator.add, self._window_elements(library, x, 0.0))
        # The number of elements of each window that lie within the data.
        ones: Any = np.ones((*x.shape[-1 - self._axes : -1], 1))
        counts = functools.reduce(operator.add, self._window_elements(np, ones, 0.0))
        return total / library.astype(library_constant(library, counts, x), x.dtype)


POOLING = """{title}

    Data have the axes ``{axes}``.  {note}

    Parameters
    ----------
    pool_size : int{or_pair}, default 2
        The length of a window.
    strides : int{or_pair}, optional
        The distance between windows; by default their length.
    padding : {{"valid", "same"}}
        "valid": only windows that lie within the data.  "same": also windows that lie partly within.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> {example}
    """
ONE = {"axes": "(..., places, channels)", "or_pair": ""}
TWO = {"axes": "(..., rows, columns, channels)", "or_pair": " or pair of int"}
MAX_NOTE = "Equal greatest elements share the gradient."
MEAN_NOTE = "Only elements within the data count."


class MaxPooling1D(MaxPooling):
    __doc__ = POOLING.format(
        title="The greatest element of each window along one axis.", note=MAX_NOTE, **ONE,
        example="xp.nn.MaxPooling1D(3)(xp.ones((2, 9, 4))).shape\n    (2, 3, 4)",
    )  # fmt: skip
    _axes = 1


class MaxPooling2D(MaxPooling):
    __doc__ = POOLING.format(
        title="The greatest element of each window along two axes.", note=MAX_NOTE, **TWO,
        example="xp.nn.MaxPooling2D()(xp.ones((2, 8, 6, 4))).shape\n    (2, 4, 3, 4)",
    )  # fmt: skip
    _axes = 2


class AveragePooling1D(AveragePooling):
    __doc__ = POOLING.format(
        title="The mean of each window along one axis.", note=MEAN_NOTE, **ONE,
        example="xp.nn.AveragePooling1D(3)(xp.ones((2, 9, 4))).shape\n    (2, 3, 4)",
    )  # fmt: skip
    _axes = 1


class AveragePooling2D(AveragePooling):
    __doc__ = POOLING.format(
        title="The mean of each window along two axes.", note=MEAN_NOTE, **TWO,
        example="xp.nn.AveragePooling2D()(xp.ones((2, 8, 6, 4))).shape\n    (2, 4, 3, 4)",
    )  # fmt: skip
    _axes = 2


class GlobalPooling(Layer):
    """Base class of layers that reduce all places (or rows and columns), separately for each channel."""

    _axes, _reduction = 0, ""

    def __init__(self, keepdims: bool = False, name: str | None = None) -> None:
        super().__init__(name)
        self.least_axes = self._axes + 1
        self.keepdims = boolean_option(type(self).__name__, "keepdims", keepdims)

    def call(self, x: RawArray) -> Array:
        library = library_of(self.name, x)
        over = tuple(range(-1 - self._axes, -1))
        return getattr(library, self._reduction)(
            as_library_floats(library, x), axis=over, keepdims=self.keepdims
        )


GLOBAL = """{title}

    Data have the axes ``{axes}``.

    Parameters
    ----------
    keepdims : bool, default False
        If True, the axes of the places stay, with length 1.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> {example}
    """


class GlobalAveragePooling1D(GlobalPooling):
    __doc__ = GLOBAL.format(
        title="The mean over all places.", axes=ONE["axes"],
        example="xp.nn.GlobalAveragePooling1D()(xp.ones((2, 9, 4))).shape\n    (2, 4)",
    )  # fmt: skip
    _axes, _reduction = 1, "mean"


class GlobalAveragePooling2D(GlobalPooling):
    __doc__ = GLOBAL.format(
        title="The mean over all rows and columns.", axes=TWO["axes"],
        example="xp.nn.GlobalAveragePooling2D()(xp.ones((2, 9, 9, 4))).shape\n    (2, 4)",
    )  # fmt: skip
    _axes, _reduction = 2, "mean"


class GlobalMaxPooling1D(GlobalPooling):
    __doc__ = GLOBAL.format(
        title="The greatest element over all places.", axes=ONE["axes"],
        example="xp.nn.GlobalMaxPooling1D()(xp.ones((2, 9, 4))).shape\n    (2, 4)",
    )  # fmt: skip
    _axes, _reduction = 1, "max"


class GlobalMaxPooling2D(GlobalPooling):
    __doc__ = GLOBAL.format(
        title="The greatest element over all rows and columns.", axes=TWO["axes"],
        example="xp.nn.GlobalMaxPooling2D()(xp.ones((2, 9, 9, 4))).shape\n    (2, 4)",
    )  # fmt: skip
    _axes, _reduction = 2, "max"


class Windows(NamedTuple):
    """The windows of a convolution or pooling, along the axes before the last one (the channels)."""

    owner: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str
    dilations: tuple[int, ...]

    def elements(self, library: ModuleType, x: RawArray, outside: float) -> Iterator[Any]:
        """Yield, for each position in a window, the elements of x at this position in all windows.

        Beyond the data every element is ``outside``.  Raise ValueError if a window does not fit into x.
        """
        margins, counts = self.layout(x)
        for axis, margin in enumerate(margins, x.ndim - 1 - len(margins)):
            x = pad_axis(library, x, axis, *margin, outside)
        for position in itertools.product(*map(range, self.sizes)):
            slices = (self._slice(axis, at, counts) for axis, at in enumerate(position))
            yield x[(..., *slices, slice(None))]

    def layout(self, x: RawArray) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the margins before and after x, and the number of windows, both along each axis."""
        spans = [
            (size - 1) * rate + 1 for size, rate in zip(self.sizes, self.dilations, strict=True)
        ]
        given = list(zip(x.shape[-1 - len(spans) : -1], spans, self.strides, strict=True))
        margins = [margin_lengths(self.padding, *one) for one in given]
        counts = [
            (length + sum(margin) - span) // stride + 1
            for (length, span, stride), margin in zip(given, margins, strict=True)
        ]
        if min(counts) < 1:
            raise ValueError(
                f"{self.owner}: a window of {' x '.join(map(str, spans))} does not fit into "
                f"{describe(x)} [at {user_line()}]"
            )
        return margins, counts

    def _slice(self, axis: int, at: int, counts: list[int]) -> slice:
        """Return the slice along an axis of the elements at one position in all windows."""
        start, stride = at * self.dilations[axis], self.strides[axis]
        return slice(start, start + (counts[axis] - 1) * stride + 1, stride)


def margin_lengths(padding: str, length: int, span: int, stride: int) -> tuple[int, int]:
    """Return the numbers of elements to add before and after the data along an axis."""
    if padding == "causal":
        return span - 1, 0
    if padding == "valid":
        return 0, 0
    total = max((-(-length // stride) - 1) * stride + span - length, 0)
    return total // 2, total - total // 2


def pad_axis(
    library: ModuleType, x: RawArray, axis: int, before: int, after: int, value: float
) -> Any:
    """Return x with elements of one value added before and after the data along an axis."""
    if not before and not after:
        return x

    def margin(length: int) -> Any:
        return constant_like(library, (*x.shape[:axis], length, *x.shape[axis + 1 :]), value, x)

    parts = [margin(before)] if before else []
    parts += [x] + ([margin(after)] if after else [])
    return library.concat(parts, axis=axis)


def axis_sizes(owner: str, name: str, given: Sizes, axes: int) -> tuple[int, ...]:
    """Return the option ``name`` of ``owner``, such as ``kernel_size``, as an integer for each axis.

    given : one integer for all axes, or a sequence; anything else raises TypeError or ValueError.
    """
    several: Any = given if isinstance(given, list | tuple) else (given,) * axes
    if len(several) != axes:
        raise ValueError(
            f"{owner}: {name} must be an integer or {axes} of them, got {short_repr(given)} "
            f"[at {user_line()}]"
        )
    return tuple(integer_option(owner, name, one) for one in several)
