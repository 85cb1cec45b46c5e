"""Which calls of a program are NumPy's ufuncs."""

from __future__ import annotations

import numpy as np

from ..._storage import numpy_namespace
from ..program import Node


def ufunc_of(node: Node) -> np.ufunc | None:
    """NumPy's ufunc for a node, where it is a plain call of one with one result."""
    if node.keywords or node.shape is None:
        return None
    found = node.call if isinstance(node.call, np.ufunc) else getattr(np, node.op, None)
    known = node.op in OPERATORS or (node.op in numpy_namespace.FLOAT64 and node.dtype.kind == "f")
    if not isinstance(found, np.ufunc) or (found is not node.call and not known):
        return None
    return found if found.nin == len(node.args) and found.nout == 1 else None


def call_into(ufunc: np.ufunc | None, function: str, args: str, into: str) -> str:
    """A call that writes to memory; NumPy wants ``out`` named for maximum and minimum alone."""
    named = "out=" if ufunc in (np.maximum, np.minimum) else ""
    return f"{function}({args}, {named}{into})"


# What NumPy computes several times as slowly in the memory of its operand as elsewhere.
SLOW_IN_PLACE = frozenset(("sign",))

# Ops that Python's operators compute by ufuncs of the same name.
OPERATORS = frozenset(
    ("abs", "add", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
     "bitwise_right_shift", "bitwise_xor", "divide", "equal", "greater", "greater_equal", "less",
     "less_equal", "matmul", "multiply", "negative", "not_equal", "subtract")
)  # fmt: skip
