"""The docstrings of NumPy's reductions on Arrays, which are made in loops: parameters said once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

AXES = "The axis or axes to reduce, negative ones from the end; None: all of them."
ONE_AXIS = "The axis, a negative one from the end; None: the array is flattened first."
PARAMETERS = {
    "correction": ("float", "What is subtracted from the number of elements in the divisor."),
    "ddof": ("float", "NumPy's name for correction."),
    "dtype": ("dtype | None", "Dtype of the result; None: as of the function of this name."),
    "initial": ("number | None", "What the reduction starts with."),
    "keepdims": ("bool", "Whether the reduced axes stay, with length 1."),
    "where": ("Array | bool", "Which elements take part; True: all of them."),
}


def reducing(function: Callable[..., Any], name: str, op: str | None = None) -> None:
    """Give a reduction (or running reduction) its name and the docstring that says its parameters.

    op : the function of the namespace that it is; None: the one of the same name.
    """
    op = op or name
    _, *parameters = inspect.signature(function).parameters.values()
    entries = []
    for p in parameters:
        kind, text = PARAMETERS.get(p.name) or axis_of(str(p.annotation))
        entries.append(f"{p.name} : {kind}, default: {p.default!r}\n    {text}")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "\n".join([
        f"Reduce as ``numpy.{name}`` does: ``{op}`` with NumPy's parameters.", "",
        "Parameters", "----------", *entries, "",
        "Returns", "-------", "Array",
        f"    That of ``{op}``, whose dtypes and derivative it has.", "",
        "Raises", "------", "IndexError", "    When there is no such axis.",
    ])  # fmt: skip


def axis_of(note: str) -> tuple[str, str]:
    """Type and text of an axis, by its annotation: one axis, or also several."""
    several = note == "Axis"
    return ("int | tuple[int, ...] | None", AXES) if several else ("int | None", ONE_AXIS)
