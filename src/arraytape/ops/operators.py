"""The operators of Array: the same ops as the functions, answering NotImplemented to strangers."""

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
# ndarray's power operator computes some scalar exponents by cheaper, exact ops, such as x * x.
RAW = {"pow": "power_operator"}
MATRIX_TRANSPOSE = "Each matrix transposed, as a view; ValueError for fewer than two dimensions."


def dunder_method(op: str, short: str, *operands: str) -> Callable[..., Any]:
    """Return a dunder method that is the op itself, compiled with the operator's order of operands."""
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
    """Return the axes in reverse order, as a view: the transpose of a matrix."""
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
