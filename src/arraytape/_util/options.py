"""Options as Python's own numbers: rules, records and replays know no other spelling of an axis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

PLAIN = frozenset((bool, int, float))


def unwrap_option(value: Any, depth: int = 4) -> Any:
    """Return an option in Python's spelling: an integer, a truth value, a float, or a tuple of them.

    NumPy's scalars, 0-d arrays, lists and whatever is an integer by ``__index__`` are converted.  Any
    other value is returned as it is: the function that takes the option says what it does not take.
    """
    if type(value) in PLAIN or value is None:
        return value
    if type(value) is tuple and PLAIN.issuperset(map(type, value)):
        return value
    if isinstance(value, list | tuple):  # tensordot's axes are nested twice
        return tuple([unwrap_option(part, depth - 1) for part in value]) if depth else value
    if isinstance(value, np.ndarray):
        return unwrap_option(value.tolist()) if value.dtype.kind in "biuf" else value
    if isinstance(value, np.generic | float):
        return value.item() if isinstance(value, np.generic) else float(value)
    try:
        return operator.index(value)  # an Array of shape (), an IntEnum
    except Exception:
        return value
