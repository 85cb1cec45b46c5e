"""Properties of calls of NumPy's ufuncs in a program."""

from __future__ import annotations

import functools
import operator

import numpy as np

from ..._storage import numpy_namespace
from ..program import Node


def ufunc_of(node: Node) -> np.ufunc | None:
    """Return the ufunc of NumPy that computes a node, or None.

    The node may call the ufunc, or a function of arraytape or Python operator that does the same on the
    node's dtype.  Return None for calls with keywords or several results.
    """
    if node.keywords or node.shape is None:
        return None
    found = node.call if isinstance(node.call, np.ufunc) else vars(np).get(node.op)
    known = node.op in numpy_namespace.FLOAT64 and node.dtype.kind == "f"
    known = known or getattr(node.call, "__module__", "") == PYTHONS
    if not isinstance(found, np.ufunc) or (found is not node.call and not known):
        return None
    return found if found.nin == len(node.args) and found.nout == 1 else None


def call_into(ufunc: np.ufunc | None, function: str, args: str, into: str) -> str:
    """Return the text of a ufunc call with an output array.

    For maximum and minimum, ``out`` is a keyword, since NumPy deprecates a third positional argument.
    function, args, into : texts: the function's name, the operands and the output array.
    """
    named = "out=" if ufunc in (np.maximum, np.minimum) else ""
    return f"{function}({args}, {named}{into})"


@functools.cache
def same_beside_numbers() -> bool:
    """Return True if ``maximum(x, 2)`` has the bits of ``maximum(x, full_like(x, 2))``, for all x.

    ``minimum`` is tested, too.  In some versions of NumPy, signed zeros and NaN differ.  Only then a
    number may replace an array of equal elements.
    """
    special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 5e-324]
    for dtype in (np.float32, np.float64):
        x = np.resize(np.asarray(special, dtype), 101)
        for number in np.asarray(special, dtype):
            for ufunc in (np.maximum, np.minimum):
                for few in (x, x[:3]):
                    beside = ufunc(few, number), ufunc(number, few)
                    spread = np.full_like(few, number)
                    found = ufunc(few, spread), ufunc(spread, few)
                    if [y.tobytes() for y in beside] != [y.tobytes() for y in found]:
                        return False
    return True


CASTS = ("astype", "cast")

# Ufuncs that take twice as long with a number as with an array filled with the number.
SLOW_BESIDE_NUMBERS = frozenset(("maximum", "minimum"))

# Ufuncs that are several times slower if they write into the memory of their operand.
SLOW_IN_PLACE = frozenset(("sign",))
PYTHONS = operator.add.__module__  # the module of Python's operators, which call ufuncs on arrays

# Ufuncs of one complex number whose last bits differ if the output is the memory of an operand: NumPy
# then computes without fused multiplications.
ROUNDED_IN_PLACE = frozenset(("multiply", "square"))


def may_overwrite_operands(node: Node) -> bool:
    """Return True if a ufunc call may write its result over its operand, as fast and with equal bits."""
    rounded = node.dtype.kind == "c" and node.size == 1 and node.op in ROUNDED_IN_PLACE
    return node.op not in SLOW_IN_PLACE and not rounded
