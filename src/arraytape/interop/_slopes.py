"""An op whose result has the bits of a library's value and the derivatives of a formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.array import Array
from ._ops import library_op


def broadcast_value(value: Array, formula: Array) -> Any:
    """Return ``value``, broadcast to the common shape of ``value`` and ``formula``.

    In the backward pass only ``formula`` gets the cotangent, so the result has the formula's
    derivatives.
    """
    both: list[Any] = [value, formula]
    return np.broadcast_arrays(*both)[0]


with_slope = library_op("scipy.value_of", broadcast_value, None, lambda g: g, cores=(0, 0))
