"""Whether two calls ran the same program: if not, something decides that a trace does not see."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import CONSTANT, Node, Program


def difference(first: Program, second: Program) -> str:
    """What differs between the programs of two calls, in words; "" for nothing."""
    places = [{node: i for i, node in enumerate(program.nodes)} for program in (first, second)]
    for a, b in zip(first.nodes, second.nodes, strict=False):
        if (a.op, a.shape, a.dtype, a.strides) != (b.op, b.shape, b.dtype, b.strides):
            return f"{a.op} of shape {a.shape} in one call, {b.op} of shape {b.shape} in the next"
        if a.op == CONSTANT:
            if not same_data(a.value, b.value):
                return f"data of shape {a.shape}, made outside arraytape, differs (random numbers?)"
        elif text((a.args, a.keywords), places[0]) != text((b.args, b.keywords), places[1]):
            return f"{a.op} of shape {a.shape} has other arguments"
    if len(first.nodes) != len(second.nodes):
        return f"{len(first.nodes)} calls in one call, {len(second.nodes)} in the next"
    for name in ("inputs", "outputs", "writes"):
        ends = [
            [places[i][node] for node in getattr(program, name)]
            for i, program in enumerate((first, second))
        ]
        if ends[0] != ends[1]:
            return f"other {name}"
    return ""


def same_data(a: Any, b: Any) -> bool:
    return (
        a is b
        or bool(a.tobytes() == b.tobytes())
        or bool(a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))
    )


def text(value: Any, places: dict[Node, int]) -> Any:
    """Arguments with the places of nodes."""
    kind = type(value)
    if kind is Node:
        return Node, places[value]
    if kind is tuple or kind is list:
        return kind, tuple([text(part, places) for part in value])
    if kind is dict:
        return kind, tuple([(name, text(part, places)) for name, part in value.items()])
    if callable(value):
        return kind
    return kind, repr(value)
