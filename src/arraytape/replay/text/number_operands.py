"""Numbers in calls as arrays of shape (), which NumPy would else make in each call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._util.blocks import Quiet
from ..passes.simplify import broadcasts_exactly
from ..program import Node, Operand


def as_operand(x: Operand, node: Node) -> np.ndarray[Any, Any] | None:
    """Return the array of shape () to which NumPy converts a number next to a float array.

    Return None if x is no Python number, if the conversion overflows, or if the call is no binary
    function with correctly rounded results.  The array is made once, not in each replay.
    node : the call that has x as an operand.
    """
    if not (type(x) is int or type(x) is float):
        return None
    if not broadcasts_exactly(node.op) or len(node.args) != 2:
        return None
    other = node.args[1] if node.args[0] is x else node.args[0]
    if type(other) is not Node or other.dtype.kind != "f":
        return None
    if type(x) is float and other.dtype == np.float64:
        return np.asarray(x)
    with Quiet():
        array = np.asarray(x, other.dtype)
    return array if np.isfinite(array) == math.isfinite(x) else None
