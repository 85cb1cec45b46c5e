"""The operators of Array, and the properties T and mT.

An operator is an op, such as add, compiled a second time as a method.  For operands of a type that has
operators of its own, it returns NotImplemented, so that Python calls the operator of that type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._array.array import Array
from .._define.compile import compile_function
from .._define.docstrings import operator_docstring
from .._record.op import REGISTRY
from .._util.attach import attach, read_only_property
from .linear_algebra_functions import matrix_transpose
from .manipulation_functions import permute_dims
from .writing import in_place

BINARY = {
    "add": "add",
    "and": "bitwise_and",
    "floordiv": "floor_divide",
    "lshift": "bitwise_left_shift",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "or": "bitwise_or",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
COMPARISONS = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}
UNARY = {"abs": "abs", "invert": "bitwise_invert", "neg": "negative", "pos": "positive"}
# The name of an operator -> the raw function for it, where that is not the raw function of the op.
# For ``**`` it is the Python operator: unlike ``np.power``, it computes some scalar exponents by cheaper
# and exact ops, such as x * x.
RAW = {"pow": "power_operator"}
MATRIX_TRANSPOSE = "The transpose of each matrix, a view; ValueError for fewer than two dimensions."


def dunder_method(op: str, short: str, *operands: str) -> Callable[..., Any]:
    """Return the method of an operator, compiled from the op.

    op : the name of the op.  short : the name of the method without underscores.  operands : the names
    of the op's inputs in the order of the method's parameters: x2 first for a reflected operator.
    """
    kind = inspect.Parameter.POSITIONAL_ONLY
    compiled = compile_function(
        REGISTRY[op],
        inspect.Signature([inspect.Parameter(x, kind) for x in operands]),
        operator=True,
        raw=RAW.get(op),
        convert=op != "pow",
        name=f"__{'r' if operands[0] == 'x2' else ''}{short}__",
    )
    compiled.__doc__ = operator_docstring(op, short, *operands)
    return compiled


def transpose(x: Array) -> Array:
    """Return a view with the axes in reverse order: the transpose of a matrix."""
    return matrix_transpose(x) if x.ndim == 2 else permute_dims(x, tuple(range(x.ndim)[::-1]))


attach(
    Array,
    {
        "T": read_only_property(transpose, "T", "use x.T[...] = value to write through it"),
        "mT": read_only_property(
            matrix_transpose, "mT", "use x.mT[...] = value to write through it", MATRIX_TRANSPOSE
        ),
    },
)
for short, op in BINARY.items():
    attach(
        Array,
        {
            f"__{short}__": dunder_method(op, short, "x1", "x2"),
            f"__r{short}__": dunder_method(op, short, "x2", "x1"),
            f"__i{short}__": in_place(REGISTRY[op], short),
        },
    )
attach(
    Array,
    {f"__{short}__": dunder_method(op, short, "x1", "x2") for short, op in COMPARISONS.items()},
)
attach(Array, {f"__{short}__": dunder_method(op, short, "x") for short, op in UNARY.items()})
