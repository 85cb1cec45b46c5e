"""Python expressions for calls that avoid the cost of NumPy's wrapper functions, such as np.sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..._storage import numpy_namespace
from ..._util.blocks import Quiet
from ..passes.simplify import broadcasts_exactly
from ..program import Node, Operand


class Spelling(NamedTuple):
    """An expression for a call, faster than the call of NumPy's wrapper function.

    text : the expression, with ``{}`` for each argument, or a single ``{}`` for all.  arguments : a
    function that returns the arguments of a node.  fits : a predicate for the nodes that the
    expression can replace.  arrays : whether arguments must be arrays, not NumPy scalars.  scalar :
    whether a 0-d result is a NumPy scalar.  names : the globals that the expression uses.
    """

    text: str
    arguments: Callable[[Node], Sequence[Any]]
    fits: Callable[[Node], bool] = lambda node: True
    arrays: bool = True
    scalar: bool = False
    names: Mapping[str, Any] = MappingProxyType({})


def reduction(name: str, ufunc: np.ufunc) -> Spelling:
    """Return the Spelling of a reduction as ``ufunc.reduce``, which NumPy's wrapper also calls."""

    def arguments(node: Node) -> Sequence[Any]:
        x, options = node.args[0], node.keywords
        axis, dtype, kept = (options.get(key) for key in ("axis", "dtype", "keepdims"))
        axis = axis[0] if type(axis) is tuple and len(axis) == 1 else axis
        if kept:
            return x, axis, dtype, None, True
        if dtype is not None:
            return x, axis, dtype
        return (x,) if node.shape == () and len(x.shape) == 1 else (x, axis)

    return Spelling(f"{name}({{}})", arguments, scalar=True, names={name: ufunc.reduce})


def direct(text: str) -> Spelling:
    """Return a Spelling for calls without keywords, whose arguments fill ``text`` in order."""
    return Spelling(text, attrgetter("args"), lambda node: not node.keywords)


# (op, raw function) of a node -> its spelling.
SPELLINGS: dict[tuple[str, Any], Spelling] = {
    ("sum", numpy_namespace.sum): reduction("add_reduce", np.add),
    ("prod", numpy_namespace.prod): reduction("multiply_reduce", np.multiply),
    ("max", numpy_namespace.max): reduction("maximum_reduce", np.maximum),
    ("min", numpy_namespace.min): reduction("minimum_reduce", np.minimum),
    ("any", numpy_namespace.any): Spelling(
        "bool_(count_nonzero({}))",
        attrgetter("args"),
        lambda node: not node.keywords and node.args[0].dtype == np.bool_,
        scalar=True,
        names={"bool_": np.bool_, "count_nonzero": np.count_nonzero},
    ),
    ("reshape", numpy_namespace.reshape): direct("{}.reshape({})"),
    ("astype", numpy_namespace.astype): direct("{}.astype({})"),
    ("cast", numpy_namespace.cast): direct("{}.astype({})"),
    ("permute_dims", np.permute_dims): direct("{}.transpose({})"),
    ("matrix_transpose", numpy_namespace.matrix_transpose): direct("{}.mT"),
}
# The spelling of an ``any`` that only guards read: a guard needs no bool, only a nonzero count.
COUNT = SPELLINGS["any", numpy_namespace.any]._replace(text="count_nonzero({})")


def as_operand(x: Operand, node: Node) -> np.ndarray[Any, Any] | None:
    """Return the array of shape () to which NumPy converts a number next to a float array.

    Return None if x is no Python number, if the conversion overflows, or if the call is no binary
    function with correctly rounded results.
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
