"""Arrays as NumPy data, for what has no derivative and for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape

from .._array.array import Array


def plain_data(x: Any) -> Any:
    """Return the value of an Array as NumPy data; anything else as it is."""
    return np.asarray(arraytape.stop_gradient(x)) if isinstance(x, Array) else x
