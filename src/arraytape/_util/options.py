"""Conversion of options, such as axes, to Python's own numbers, which records and rules require."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

PLAIN = frozenset((bool, int, float))


def unwrap_option(value: Any, depth: int = 4) -> Any:
    """Convert an option to an int, bool or float, or to a tuple of these.

    NumPy's scalars and arrays, lists, and objects with ``__index__`` are converted.  Any other value is
    returned unchanged, so that the function with this option can raise its own error.  None stays None.
    depth : the number of nested lists to convert; deeper lists are returned unchanged.
    """
    if type(value) in PLAIN or value is None:
        return value
    if type(value) is tuple and PLAIN.issuperset(map(type, value)):
        return value
    if isinstance(value, list | tuple):  # for example tensordot's axes, two lists in a list
        return tuple([unwrap_option(part, depth - 1) for part in value]) if depth else value
    if isinstance(value, np.ndarray):
        return unwrap_option(value.tolist()) if value.dtype.kind in "biuf" else value
    if isinstance(value, np.generic | float):
        return value.item() if isinstance(value, np.generic) else float(value)
    try:
        return operator.index(value)  # for example an Array of shape (), or an IntEnum
    except Exception:
        return value
