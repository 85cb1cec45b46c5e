"""Give a library's value the derivatives of a formula, or none, so that a gradient raises an error.

``with_slope(value, formula)`` is for functions whose derivative is easier to state as a formula of
recorded ops than as a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import arraytape

from .._array.array import Array
from ._ops import library_op
from ._plain import NumpyData


def broadcast_value(value: Array, formula: Array) -> Any:
    """Return ``value``, broadcast to the common shape of ``value`` and ``formula``, for ``with_slope``.

    value : a library's result.  formula : the same result, computed by recorded ops.  In the backward
    pass only ``formula`` gets the cotangent, so the returned value has the formula's derivatives.
    """
    both: list[Any] = [value, formula]
    return np.broadcast_arrays(*both)[0]


with_slope = library_op("scipy.value_of", broadcast_value, None, lambda g: g, cores=(0, 0))


def result_without_rule(
    name: str, value: float | NumpyData, arrays: Sequence[Array], reason: tuple[str, ...] = ()
) -> Array:
    """Return ``value`` as the result of an op on ``arrays`` that has no derivative rule.

    A gradient that needs this result raises an error with the text ``name``; a constant would silently
    give a wrong gradient.

    reason : an argument and the reason why there is no derivative, for the error.
    """
    # Not at the top: an import of ``_custom`` may read this module, if SciPy was imported before.
    from .._custom.gradient import call_with_rule

    def give_value(*_: Array) -> tuple[Array, None]:
        return arraytape.asarray(np.asarray(value)), None

    found: Array = call_with_rule(
        name, give_value, tuple(arrays), {}, signature_of=give_value, missing=name, reason=reason
    )
    return found


def refuse_slope(name: str, value: Any, arrays: Sequence[Array], reason: tuple[str, ...]) -> Any:
    """Return a result so that a gradient with respect to ``arrays`` raises an error.

    An Array keeps its other derivatives.  A value that is no floating-point number is returned as it is.
    name, reason : the function, and an argument and the reason, for the error.
    """
    if isinstance(value, Array) and value.dtype.kind == "f":
        nothing = np.zeros((), dtype=value.dtype)
        return value + result_without_rule(name, nothing, arrays, reason)
    if isinstance(value, float) or getattr(value, "dtype", np.dtype(bool)).kind == "f":
        return result_without_rule(name, value, arrays, reason)
    return value
