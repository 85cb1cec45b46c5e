"""Resize images, with the same numbers as TensorFlow.

>>> import arraytape as xp
>>> xp.nn.image.resize(xp.ones((4, 5, 5, 3)), (10, 8)).shape
(4, 10, 8, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import describe, missing_from, raise_documented, user_line
from .convolution import axis_sizes
from .initializers import named_option
from .layers import array_from_numpy
from .libraries import as_library_floats, library_constant, library_of

if TYPE_CHECKING:
    from .._util.array_types import RawArray

__all__ = ["resize"]
METHODS = ("bilinear", "nearest")


def resize(images: Any, size: Sequence[int], method: str = "bilinear") -> Any:
    """Return images with other numbers of rows and columns, interpolated between pixels.

    The numbers are those of ``tf.image.resize``.  The centre of row i of n lies at ``(i + 0.5) / n`` of
    the height.  Beyond the outermost centres, images are constant.  Pixels are not averaged where an
    image becomes smaller.

    Parameters
    ----------
    images : Array or array_like
        Data with the axes ``(..., rows, columns, channels)``.
    size : pair of int
        The new numbers of rows and columns.
    method : {"bilinear", "nearest"}
        Interpolate linearly along both axes, or take the nearest pixel.

    Returns
    -------
    Array
        The new images.  Of integers, "bilinear" returns float64.

    Raises
    ------
    TypeError
        When ``images`` is no array, or ``size`` has no integers.
    ValueError
        When an axis is missing or has no pixels, or an option does not exist.

    Examples
    --------
    >>> import arraytape as xp
    >>> image = xp.asarray([[0.0], [1.0]])[:, None, :]  # two rows, one column
    >>> print(xp.nn.image.resize(image, (4, 1))[:, 0, 0])
    [0.   0.25 0.75 1.  ]
    >>> print(xp.nn.image.resize(image, (4, 1), "nearest")[:, 0, 0])
    [0. 0. 1. 1.]
    """
    try:
        images = array_from_numpy(images)
        library = library_of("resize: images", images, "must be an Array")
        sizes = axis_sizes("resize", "size", size, 2)
        method = named_option("resize", "method", method, METHODS)
        if images.ndim < 3 or not all(images.shape[-3:-1]):
            raise ValueError(
                f"resize: images need rows, columns and channels, got {describe(images)} "
                f"[at {user_line()}]"
            )
        if method == "bilinear":
            images = as_library_floats(library, images)
        for axis, length in zip((images.ndim - 3, images.ndim - 2), sizes, strict=True):
            images = resize_axis(library, images, axis, length, method)
        return images
    except Exception as error:
        raise_documented(error, "resize", images, size, method)


def resize_axis(library: ModuleType, x: RawArray, axis: int, length: int, method: str) -> Any:
    """Return x with ``length`` elements along an axis, interpolated between its elements."""
    there, places = x.shape[axis], np.arange(length)
    if there == length:
        return x

    def elements(indices: Any) -> Any:
        inside = np.clip(indices, 0, there - 1)
        return library.take(x, library_constant(library, inside, x), axis=axis)

    if method == "nearest":  # in integers, because quotients of floats are rounded at the border
        return elements((2 * places + 1) * there // (2 * length))
    positions = (places + 0.5) * there / length - 0.5
    before = np.floor(positions).astype(np.int64)
    share = np.reshape(positions - before, (-1,) + (1,) * (x.ndim - 1 - axis))
    shares = library.astype(library_constant(library, share, x), x.dtype)
    first = elements(before)
    return first + (elements(before + 1) - first) * shares


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "nn")
