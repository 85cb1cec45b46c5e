"""The op ``with_slope(value, formula)``: a library's value with the derivatives of a formula.

It is for functions whose derivative is easier to state as a formula of recorded ops than as a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.array import Array
from ._ops import library_op


def broadcast_value(value: Array, formula: Array) -> Any:
    """Return ``value``, broadcast to the common shape of ``value`` and ``formula``, for ``with_slope``.

    value : a library's result.  formula : the same result, computed by recorded ops.  In the backward
    pass only ``formula`` gets the cotangent, so the returned value has the formula's derivatives.
    """
    both: list[Any] = [value, formula]
    return np.broadcast_arrays(*both)[0]


with_slope = library_op("scipy.value_of", broadcast_value, None, lambda g: g, cores=(0, 0))
