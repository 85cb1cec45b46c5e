"""How the text of a program has calls that a wrapper of NumPy's would make slower."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..._storage import numpy_namespace
from ..._util.blocks import Quiet
from ..passes.simplify import broadcasts_exactly
from ..program import Node


class Spelling(NamedTuple):
    """A cheaper text for a call that a wrapper of NumPy's would make slower.

    text : with a place for each argument.  arguments : of a node, in their order; None where it does not
    fit.  arrays : whether NumPy's scalars will not do.  scalar : whether 0-d results are such.
    """

    text: str
    arguments: Callable[[Node], Sequence[Any]]
    fits: Callable[[Node], bool] = lambda node: True
    arrays: bool = True
    scalar: bool = False
    names: Mapping[str, Any] = MappingProxyType({})


def reduction(name: str, ufunc: np.ufunc) -> Spelling:
    """``sum`` and its kin as the method of the ufunc that they end in."""

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


def plain(node: Node) -> bool:
    return not node.keywords


SPELLINGS: dict[tuple[str, Any], Spelling] = {
    ("sum", numpy_namespace.sum): reduction("add_reduce", np.add),
    ("prod", numpy_namespace.prod): reduction("multiply_reduce", np.multiply),
    ("max", numpy_namespace.max): reduction("maximum_reduce", np.maximum),
    ("min", numpy_namespace.min): reduction("minimum_reduce", np.minimum),
    ("any", numpy_namespace.any): Spelling(
        "bool_(count_nonzero({}))",
        lambda node: node.args,
        lambda node: not node.keywords and node.args[0].dtype == np.bool_,
        scalar=True,
        names={"bool_": np.bool_, "count_nonzero": np.count_nonzero},
    ),
    ("reshape", numpy_namespace.reshape): Spelling("{}.reshape({})", lambda node: node.args, plain),
    ("astype", numpy_namespace.astype): Spelling("{}.astype({})", lambda node: node.args, plain),
    ("cast", numpy_namespace.cast): Spelling("{}.astype({})", lambda node: node.args, plain),
    ("permute_dims", np.permute_dims): Spelling("{}.transpose({})", lambda node: node.args, plain),
    ("matrix_transpose", numpy_namespace.matrix_transpose): Spelling(
        "{}.mT", lambda node: node.args, plain
    ),
}


def as_operand(x: Any, node: Node) -> np.ndarray[Any, Any] | None:
    """A number as the array that NumPy makes of it beside an operand of floats; None for an overflow."""
    if type(x) not in (int, float) or not broadcasts_exactly(node.op) or len(node.args) != 2:
        return None
    other = node.args[1] if node.args[0] is x else node.args[0]
    if type(other) is not Node or other.dtype.kind != "f":
        return None
    if type(x) is float and other.dtype == np.float64:
        return np.asarray(x)
    with Quiet():
        array = np.asarray(x, other.dtype)
    return array if np.isfinite(array) == math.isfinite(x) else None


__all__ = ["SPELLINGS", "Spelling", "as_operand"]
