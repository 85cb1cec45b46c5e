"""Convolutions and pooling over one or two axes, by slices, one product and reductions.

Data have the axes (..., places, channels) or (..., rows, columns, channels): Keras's "channels_last".
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .._util.errors import describe, short_repr, user_line
from .initializers import named_option
from .layers import Affine, Initial, Layer, Seed, boolean_option, integer_option
from .libraries import as_library_floats, library_constant, library_of

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

    def make(self, x: Any) -> None:
        self._make_kernel((*self.kernel_size, x.shape[-1], self.filters), x)

    def call(self, x: Any) -> Any:
        library, x, kernel = self._operands(x)
        windows = Windows(self, self.kernel_size, self.strides, self.dilation_rate, self.padding)
        pieces = list(windows.window_elements(library, x, 0.0))
        # One product for all places: channels of all elements under the kernel side by side.
        shape = tuple(pieces[0].shape[:-1])
        width = math.prod(kernel.shape[:-1])
        patches = library.reshape(library.concat(pieces, axis=-1), (math.prod(shape), width))
        y = patches @ library.reshape(kernel, (width, self.filters))
        return self._activated(library.reshape(y, (*shape, self.filters)), x)


CONVOLUTION = """{title}

    Data have the axes ``{axes}``; kernel and bias are made on the first call.  What is computed is
    the correlation, as in Keras and PyTorch: the kernel is not turned around.

    Parameters
    ----------
    filters : int
        The number of the result's channels.
    kernel_size : int{or_pair}
        The number of places that the kernel spans.
    strides : int{or_pair}, default 1
        The distance between places at which the result is computed.
    padding : {{{paddings}}}
        "valid": where the whole kernel fits.  "same": zeros around, so that with strides of 1 the result
        is as long as the data; an odd one comes after the data, as in TensorFlow.{causal}
    dilation_rate : int{or_pair}, default 1
        The distance between places that the kernel meets.
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
        causal='\n        "causal": zeros before the data alone: no result depends on later places.',
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


class Pooling(Layer):
    """Base class of layers that pool windows."""

    _axes = 0

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: str = "valid",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        owner = type(self).__name__
        self.least_axes = self._axes + 1
        self.pool_size = axis_sizes(owner, "pool_size", pool_size, self._axes)
        given = self.pool_size if strides is None else strides
        self.strides = axis_sizes(owner, "strides", given, self._axes)
        self.padding = named_option(owner, "padding", padding, ("valid", "same"))

    def _windows(self) -> Windows:
        return Windows(self, self.pool_size, self.strides, (1,) * self._axes, self.padding)


class MaxPooling(Pooling):
    """Base class of layers that take the greatest element of each window."""

    def call(self, x: Any) -> Any:
        """Compute the result.

        Parameters
        ----------
        x : Array
            The data.

        Returns
        -------
        Array
            With as many channels.  Elements that are all the greatest of a window share its gradient.
        """
        library = library_of(self.name, x)
        pieces = list(
            self._windows().window_elements(library, as_library_floats(library, x), -math.inf)
        )
        return library.max(library.stack(pieces, axis=0), axis=0)


class AveragePooling(Pooling):
    """Base class of layers that take the mean of each window."""

    def call(self, x: Any) -> Any:
        """Compute the result.

        Parameters
        ----------
        x : Array
            The data.

        Returns
        -------
        Array
            With as many channels; what lies outside of the data does not count.
        """
        library = library_of(self.name, x)
        x, windows = as_library_floats(library, x), self._windows()
        total = functools.reduce(operator.add, windows.window_elements(library, x, 0.0))
        lengths = tuple(x.shape[-1 - self._axes : -1])
        there: Any = np.ones((*lengths, 1))
        counts = functools.reduce(operator.add, windows.window_elements(np, there, 0.0))
        return total / library.astype(library_constant(library, counts, x), x.dtype)


POOLING = """{title}

    Data have the axes ``{axes}``.

    Parameters
    ----------
    pool_size : int{or_pair}, default 2
        The length of a window.
    strides : int{or_pair}, optional
        The distance between windows; by default their length.
    padding : {{"valid", "same"}}
        "valid": windows that lie within the data.  "same": also those that do in part.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> {example}
    """
ONE = {"axes": "(..., places, channels)", "or_pair": ""}
TWO = {"axes": "(..., rows, columns, channels)", "or_pair": " or pair of int"}


class MaxPooling1D(MaxPooling):
    __doc__ = POOLING.format(
        title="The greatest element of each window along one axis.", **ONE,
        example="xp.nn.MaxPooling1D(3)(xp.ones((2, 9, 4))).shape\n    (2, 3, 4)",
    )  # fmt: skip
    _axes = 1


class MaxPooling2D(MaxPooling):
    __doc__ = POOLING.format(
        title="The greatest element of each window along two axes.", **TWO,
        example="xp.nn.MaxPooling2D()(xp.ones((2, 8, 6, 4))).shape\n    (2, 4, 3, 4)",
    )  # fmt: skip
    _axes = 2


class AveragePooling1D(AveragePooling):
    __doc__ = POOLING.format(
        title="The mean of each window along one axis.", **ONE,
        example="xp.nn.AveragePooling1D(3)(xp.ones((2, 9, 4))).shape\n    (2, 3, 4)",
    )  # fmt: skip
    _axes = 1


class AveragePooling2D(AveragePooling):
    __doc__ = POOLING.format(
        title="The mean of each window along two axes.", **TWO,
        example="xp.nn.AveragePooling2D()(xp.ones((2, 8, 6, 4))).shape\n    (2, 4, 3, 4)",
    )  # fmt: skip
    _axes = 2


class GlobalPooling(Layer):
    """Base class of layers that pool all places."""

    _axes, _reduction = 0, ""

    def __init__(self, keepdims: bool = False, name: str | None = None) -> None:
        super().__init__(name)
        self.least_axes = self._axes + 1
        self.keepdims = boolean_option(type(self).__name__, "keepdims", keepdims)

    def call(self, x: Any) -> Any:
        """Compute the result.

        Parameters
        ----------
        x : Array
            The data.

        Returns
        -------
        Array
            One number for each channel.
        """
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


class Windows:
    """The windows of a layer along the axes before the last one."""

    def __init__(
        self, layer: Layer, sizes: tuple[int, ...], strides: tuple[int, ...],
        dilations: tuple[int, ...], padding: str,
    ) -> None:  # fmt: skip
        self.layer, self.sizes, self.strides = layer, sizes, strides
        self.dilations, self.padding = dilations, padding

    def window_elements(self, library: ModuleType, x: Any, outside: float) -> Iterator[Any]:
        """Yield the elements of x at each place in a window, one of each window at a time.

        Beyond the data every element is ``outside``.
        """
        first = x.ndim - 1 - len(self.sizes)
        spans = [
            (size - 1) * rate + 1 for size, rate in zip(self.sizes, self.dilations, strict=True)
        ]
        for axis, span in enumerate(spans):
            before, after = self.margins(x.shape[first + axis], span, self.strides[axis])
            x = pad_axis(library, x, first + axis, before, after, outside)
        counts = [
            (x.shape[first + axis] - span) // self.strides[axis] + 1
            for axis, span in enumerate(spans)
        ]
        if min(counts) < 1:
            raise ValueError(
                f"{self.layer.name}: a window of {' x '.join(map(str, spans))} does not fit into "
                f"{describe(x)} [at {user_line()}]"
            )
        steps = zip(self.strides, self.dilations, counts, strict=True)
        ways = list(steps)
        for place in itertools.product(*map(range, self.sizes)):
            slices = [
                slice(at * rate, at * rate + (count - 1) * stride + 1, stride)
                for at, (stride, rate, count) in zip(place, ways, strict=True)
            ]
            yield x[(..., *slices, slice(None))]

    def margins(self, length: int, span: int, stride: int) -> tuple[int, int]:
        """Return the number of elements to add before and after the data along an axis."""
        if self.padding == "causal":
            return span - 1, 0
        if self.padding == "valid":
            return 0, 0
        total = max((-(-length // stride) - 1) * stride + span - length, 0)
        return total // 2, total - total // 2


def pad_axis(library: ModuleType, x: Any, axis: int, before: int, after: int, value: float) -> Any:
    """Return x with elements of one value added before and after the data along an axis."""
    if not before and not after:
        return x

    def margin(length: int) -> Any:
        shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        if isinstance(x, np.ndarray):
            return np.full(shape, value)
        return library.astype(library_constant(library, np.full(shape, value), x), x.dtype)

    parts = [margin(before)] if before else []
    parts += [x] + ([margin(after)] if after else [])
    return library.concat(parts, axis=axis)


def axis_sizes(owner: str, name: str, given: Sizes, axes: int) -> tuple[int, ...]:
    """Return an integer for each axis; raise TypeError or ValueError for anything else."""
    several: Any = given if isinstance(given, list | tuple) else (given,) * axes
    if len(several) != axes:
        raise ValueError(
            f"{owner}: {name} must be an integer or {axes} of them, got {short_repr(given)} "
            f"[at {user_line()}]"
        )
    return tuple(integer_option(owner, name, one) for one in several)
