"""Levels on the tape: ops that enter, leave, add and sum hidden axes, and what the engine does there.

The ops are of the linear word but in no registry: their data does not stand by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._array.array import Array
from .._define.compile import compile_function
from .._record.op import Op, Rule
from .._storage.batched import data as raw
from .._storage.batched.data import Batched
from .._storage.batched.storage import BATCHED
from .._storage.storage import EVERYWHERE, enter

enter(BATCHED)


def of_levels(transpose: Rule, **saves: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
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


batched = of_levels(
    lambda g, level, size: either("unbatched", g, level, size), size=lambda x: x.shape[0]
)(raw.batched)
shown = of_levels(lambda g, level: either("batched", g, level))(raw.unbatched)
summed = of_levels(
    lambda g, levels, hidden: either("spread", g, levels, hidden),
    hidden=lambda x, levels: tuple(
        [n for level, n in zip(x.levels, x.hidden, strict=True) if level in levels]
    ),
)(raw.summed)
spread = of_levels(lambda g: g)(raw.spread)  # the engine sums what the input lacked


def unbatched(x: Any, level: int, size: int) -> Any:
    """A hidden axis of an Array as its first visible one; an Array without it is repeated."""
    if level not in raw.levels_of((x._data,)):
        x = spread(x, (level,), (size,))  # first, so that its gradient is summed
    return shown(x, level, size)


ON_ARRAYS |= {"batched": batched, "unbatched": unbatched, "summed": summed, "spread": spread}


class Levelled:
    """What a backward pass on raw data does about levels."""

    def settle(self, contribution: Any, shape: Any) -> Any:
        """A contribution summed over the levels that its input lacked when it was recorded.

        But not over those that are open where the pass was asked for.
        """
        if type(contribution) is Batched and (gone := raw.surplus(contribution, shape)):
            return raw.summed(contribution, gone)
        return contribution

    def widened(self, buffer: Any, g: Any) -> Any:
        """A buffer with the levels of what is to be added to it."""
        return raw.like(buffer, g)


class RecordedLevels:
    """The same on Arrays."""

    def settle(self, contribution: Any, shape: Any) -> Any:
        data = contribution._data
        if type(data) is Batched and (gone := raw.surplus(data, shape)):
            return summed(contribution, gone)
        return contribution

    def widened(self, buffer: Any, g: Any) -> Any:
        data = g._data
        if type(data) is not Batched or set(data.levels) <= set(raw.levels_of((buffer._data,))):
            return buffer
        return spread(buffer, data.levels, data.hidden)
