"""Layers without Variables that change the shape of the data, or each element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._util.errors import describe, short_repr, user_line
from . import activations
from .convolution import Sizes, axis_sizes, pad_axis
from .image import METHODS, resize
from .initializers import finite_number, named_option
from .layers import Layer, integer_option
from .libraries import library_of

if TYPE_CHECKING:
    from .._array.array import Array

Pairs = int | Sequence[int | Sequence[int]]


class Reshape(Layer):
    """A layer that gives each example another shape.

    Parameters
    ----------
    target_shape : sequence of int
        The shape of an example, without the first axis of the data.  One length may be -1: it follows
        from the others.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.Reshape((3, -1))(xp.ones((4, 6))).shape
    (4, 3, 2)
    """

    def __init__(self, target_shape: Sequence[int], name: str | None = None) -> None:
        super().__init__(name)
        self.target_shape = tuple(
            integer_option("Reshape", "target_shape", length, -1) for length in target_shape
        )
        if self.target_shape.count(-1) > 1:
            raise ValueError(
                f"Reshape: only one length of target_shape may be -1, got {self.target_shape} "
                f"[at {user_line()}]"
            )

    def call(self, x: Any) -> Array:
        size, known = math.prod(x.shape[1:]), math.prod(n for n in self.target_shape if n != -1)
        if size != known and (-1 not in self.target_shape or not known or size % known):
            raise ValueError(
                f"{self.name}: the examples of {describe(x)} do not fit the shape "
                f"{self.target_shape} [at {user_line()}]"
            )
        # The length is computed here, because -1 has no meaning for data without elements.
        shape = [size // known if n == -1 else n for n in self.target_shape]
        return library_of(self.name, x).reshape(x, (x.shape[0], *shape))


class LeakyReLU(Layer):
    """A layer that multiplies the elements below 0 by a slope.

    Parameters
    ----------
    negative_slope : float, default 0.3
        The slope.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.nn.LeakyReLU()(xp.asarray([-1.0, 2.0])))
    [-0.3  2. ]
    """

    least_axes = 0

    def __init__(self, negative_slope: float = 0.3, name: str | None = None) -> None:
        super().__init__(name)
        self.negative_slope = finite_number("LeakyReLU", "negative_slope", negative_slope, 0.0)

    def call(self, x: Any) -> Array:
        return activations.leaky_relu(x, self.negative_slope)


class Border(Layer):
    """Base class of layers that add or remove elements around the rows and columns."""

    least_axes = 3
    _option = ""

    def _set(self, given: Pairs) -> tuple[tuple[int, int], ...]:
        return axis_pairs(type(self).__name__, self._option, given)


BORDER = """{title}

    Data have the axes ``(..., rows, columns, channels)``.

    Parameters
    ----------
    {option} : int or pair of int or pair of pairs, default {default}
        The number of elements: one for all four sides; one for rows and one for columns; or
        ``((top, bottom), (left, right))``.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> {example}
    """


class ZeroPadding2D(Border):
    __doc__ = BORDER.format(
        title="A layer that adds zeros around the rows and columns.", option="padding", default=1,
        example="xp.nn.ZeroPadding2D((1, 2))(xp.ones((4, 5, 5, 3))).shape\n    (4, 7, 9, 3)",
    )  # fmt: skip
    _option = "padding"

    def __init__(self, padding: Pairs = 1, name: str | None = None) -> None:
        super().__init__(name)
        self.padding = self._set(padding)

    def call(self, x: Any) -> Array:
        library = library_of(self.name, x)
        for axis, (before, after) in zip((x.ndim - 3, x.ndim - 2), self.padding, strict=True):
            x = pad_axis(library, x, axis, before, after, 0.0)
        return x


class Cropping2D(Border):
    __doc__ = BORDER.format(
        title="A layer that removes rows and columns at the border.", option="cropping", default=0,
        example="xp.nn.Cropping2D(((1, 0), (0, 2)))(xp.ones((4, 5, 5, 3))).shape\n    (4, 4, 3, 3)",
    )  # fmt: skip
    _option = "cropping"

    def __init__(self, cropping: Pairs = 0, name: str | None = None) -> None:
        super().__init__(name)
        self.cropping = self._set(cropping)

    def call(self, x: Any) -> Array:
        lengths = x.shape[-3:-1]
        kept = [
            slice(before, length - after)
            for length, (before, after) in zip(lengths, self.cropping, strict=True)
        ]
        if any(one.start >= one.stop for one in kept):
            raise ValueError(
                f"{self.name}: cropping {self.cropping} leaves nothing of {describe(x)} "
                f"[at {user_line()}]"
            )
        return x[(..., *kept, slice(None))]


class UpSampling2D(Layer):
    """A layer that makes images larger by whole factors.

    Data have the axes ``(..., rows, columns, channels)``.

    Parameters
    ----------
    size : int or pair of int, default 2
        The factors of the numbers of rows and columns.
    name : str, optional
        The name in messages.
    interpolation : {"nearest", "bilinear"}
        Repeat each row and column, or interpolate as ``nn.image.resize``.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.UpSampling2D((2, 3))(xp.ones((4, 5, 5, 3))).shape
    (4, 10, 15, 3)
    """

    least_axes = 3

    def __init__(
        self, size: Sizes = 2, name: str | None = None, *, interpolation: str = "nearest"
    ) -> None:
        super().__init__(name)
        self.size = axis_sizes("UpSampling2D", "size", size, 2)
        self.interpolation = named_option("UpSampling2D", "interpolation", interpolation, METHODS)

    def call(self, x: Any) -> Array:
        library = library_of(self.name, x)
        if self.interpolation == "bilinear":
            lengths = (n * count for n, count in zip(x.shape[-3:-1], self.size, strict=True))
            return resize(x, tuple(lengths))
        for axis, count in zip((-3, -2), self.size, strict=True):
            x = library.repeat(x, count, axis=axis)
        return x


def axis_pairs(owner: str, name: str, given: Pairs) -> tuple[tuple[int, int], ...]:
    """Return the option ``name`` of ``owner`` as ((top, bottom), (left, right)).

    given : an integer, or a pair of integers or pairs; anything else raises TypeError or ValueError.
    """
    several: Any = given if isinstance(given, list | tuple) else (given, given)
    pairs = [one if isinstance(one, list | tuple) else (one, one) for one in several]
    if len(pairs) != 2 or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            f"{owner}: {name} must be an integer, a pair or a pair of pairs, got {short_repr(given)} "
            f"[at {user_line()}]"
        )
    (top, bottom), (left, right) = (
        [integer_option(owner, name, one, 0) for one in pair] for pair in pairs
    )
    return (top, bottom), (left, right)
