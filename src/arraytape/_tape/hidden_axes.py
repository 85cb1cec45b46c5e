"""Ops that make an axis hidden or visible, add and sum hidden axes, and what a pass does about them.

The ops are of the linear word but in no registry: their data does not stand by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._array.array import Array
from .._define.compile import compile_function
from .._record.op import Op
from .._record.plan import Rule
from .._storage.batched import data as raw
from .._storage.batched.storage import BATCHED
from .._storage.storage import EVERYWHERE, enter

enter(BATCHED)


def of_hidden_axes(
    transpose: Rule, **saves: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A linear op on Arrays from a raw function of one array."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = function.__name__, inspect.signature(function)
        op = Op(
            name, "linear", ("x",), parameters=tuple(signature.parameters)[1:], rules=[transpose],
            saves=saves, moves=True,
        )  # fmt: skip
        EVERYWHERE[name] = function
        op.public = compile_function(op, signature)
        return op.public

    return declare


ON_ARRAYS: dict[str, Callable[..., Any]] = {}


def either(name: str, g: Any, *arguments: Any) -> Any:
    """The op of this name on an Array, its raw function on data."""
    return (ON_ARRAYS if isinstance(g, Array) else vars(raw))[name](g, *arguments)


batched = of_hidden_axes(
    lambda g, axis_id, size: either("unbatched", g, axis_id, size), size=lambda x: x.shape[0]
)(raw.batched)
shown = of_hidden_axes(lambda g, axis_id: either("batched", g, axis_id))(raw.unbatched)
summed = of_hidden_axes(
    lambda g, axis_ids, hidden: either("spread", g, axis_ids, hidden),
    hidden=lambda x, axis_ids: tuple(
        [n for axis_id, n in zip(x.axis_ids, x.hidden, strict=True) if axis_id in axis_ids]
    ),
)(raw.summed)
spread = of_hidden_axes(lambda g: g)(raw.spread)  # the engine sums what the input lacked


def unbatched(x: Any, axis_id: int, size: int) -> Any:
    """A hidden axis of an Array as its first visible one; an Array without it is repeated."""
    if axis_id not in raw.axis_ids_of((x._data,)):
        x = spread(x, (axis_id,), (size,))  # first, so that its gradient is summed
    return shown(x, axis_id, size)


ON_ARRAYS |= {"batched": batched, "unbatched": unbatched, "summed": summed, "spread": spread}
