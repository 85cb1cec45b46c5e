"""map_sum and value_and_grad: sums over partitions as recorded functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._array.array import Array, wrap
from .._array.views import current
from .._custom.calls import FORWARD
from .._custom.gradient import custom_gradient
from .._record.stack import recorders
from .._storage.batched.data import Batched
from .._tape.accumulator import ForwardAccumulator
from .._tape.arguments import differentiable
from .._util import nest
from .._util.errors import describe, user_line
from ..functional.arguments import ArgNums, positions
from ..module import Module
from ..ops.data_type_functions import astype
from ..variable import Variable
from ._engine import sum_of
from ._errors import name_of
from ._message import Message, Place, is_followed, is_mapped, leaves_of, taken_apart
from ._partitions import Partitions
from ._worker import pulled, pushed, sums


def map_sum(f: Callable[..., Any], data: Partitions) -> Callable[..., Any]:
    """The sum over partitions of a function, as a function of the parameters alone.

        def statistics(w, X, y):
            r = X @ w - y
            return {"loss": xp.sum(r * r), "n": X.shape[0]}

        s = map_sum(statistics, data)(w)
        loss = s["loss"] / s["n"] + penalty(w)

    Parameters
    ----------
    f : Callable
        ``f(*params, *blocks)`` gives a nesting of Arrays and numbers, with the same shapes for all
        partitions.  It is sent to workers, and runs there once more for each derivative: what is drawn
        at random has to be the same then (see ``Partitions.seeded``).
    data : Partitions
        What ``partitions`` gave.

    Returns
    -------
    Callable
        Takes the parameters: Arrays, nestings of Arrays, Modules, and what else can be pickled.  It
        gives the sum in the nesting of f's results.  To tapes, accumulators and vmap it is one op, with
        derivatives of any order, which are computed on the workers as well.

    Raises
    ------
    TypeError, ValueError
        When f or data are no such things, f uses Variables or followed Arrays that are no parameters or
        cannot be pickled, or partitions give what cannot be summed.
    LostGradientError
        When a value that the gradient needs leaves the tape inside f.
    PartitionError
        When the workers of a partition die, or its data is lost.
    Exception
        What f raises, with a note that names the partition.

    Notes
    -----
    The same partitions give the same bits, in any order of arrival, on machines of one kind.
    """
    check(f, data, "map_sum")

    @functools.wraps(f)
    def total(*params: Any) -> Any:
        return evaluated(f, data, params, leaves_of(params))

    return total


def value_and_grad(
    f: Callable[..., Any], data: Partitions, argnums: ArgNums = 0
) -> Callable[..., tuple[Array, Any]]:
    """The sum over partitions of a loss, and its gradient: one task for each partition.

    Parameters
    ----------
    f : Callable
        ``f(*params, *blocks)`` gives one real Array of shape ().
    data : Partitions
        What ``partitions`` gave.
    argnums : int | Sequence[int], default: 0
        The position of the parameter to differentiate, or a sequence of positions.

    Returns
    -------
    Callable
        Takes the parameters and gives ``(value, gradient)``.  The gradient has the nesting of the
        parameter; for a Module it is a list with one for each trainable Variable, in their order.

    Raises
    ------
    TypeError, ValueError
        As of ``map_sum``, and when f gives anything but one real Array of shape (), or the parameter
        holds nothing to differentiate.
    """
    check(f, data, "value_and_grad")

    @functools.wraps(f)
    def both(*params: Any) -> tuple[Array, Any]:
        leaves, wanted, pack = chosen(params, argnums)
        if any(is_followed(x) or is_mapped(x) for x in leaves):
            return differentiated(f, data, params, leaves, wanted, pack)
        part = run(f, data, params, leaves, wanted)
        check_loss(part.y)
        assert part.slopes is not None
        return part.y, pack(part.slopes[0])

    return both


def differentiated(
    f: Callable[..., Any], data: Partitions, params: tuple[Any, ...], leaves: Sequence[Array],
    wanted: Sequence[int], pack: Callable[[Sequence[Array]], Any],
) -> tuple[Array, Any]:  # fmt: skip
    """Value and gradient as recorded values, inside another derivative."""
    y = evaluated(f, data, params, leaves)
    check_loss(y)
    ones = [wrap(storage_ones(y))]
    by_place = dict(zip(smooth(leaves), pulled_back(f, data, params, leaves, ones), strict=True))
    return y, pack([by_place[i] for i in wanted])


def storage_ones(y: Array) -> Any:
    """Raw data of ones like a value's."""
    return current(y.__array_namespace__().ones_like(y))[1]


# --- one sum as one op --------------------------------------------------------------------------------
def evaluated(
    f: Callable[..., Any], data: Partitions, params: tuple[Any, ...], leaves: Sequence[Array]
) -> Any:
    """The sum as one recorded op of the leaves of its parameters."""
    followers = [r for r in recorders() if any(current(x)[0] in r.followed for x in leaves)]
    single = len(followers) == 1 and not isinstance(followers[0], ForwardAccumulator)
    ahead = smooth(leaves) if single else ()

    def op(*values: Array) -> tuple[Any, Callable[..., Any]]:
        part = run(f, data, params, values, ahead)

        def pull(*cotangents: Array) -> list[Array | None]:
            if part.slopes is not None and not recorders():
                found = iter(weighted(part.slopes, cotangents))
            else:
                found = iter(pulled_back(f, data, params, values, cotangents))
            return [next(found) if differentiable(x) else None for x in values]

        def forward(tangents: Sequence[Array | None]) -> list[Array]:
            some = [t for t, x in zip(tangents, values, strict=True) if differentiable(x)]
            push = functools.partial(pushed, f, len(params))
            more = [t for t in some if t is not None]
            found: list[Array] = evaluated(push, data, (*params, some), [*values, *more])
            return found

        setattr(pull, FORWARD, forward)
        return part.y, pull

    op.__name__ = getattr(f, "__name__", "map_sum")
    return custom_gradient(op)(*leaves)


def pulled_back(
    f: Callable[..., Any], data: Partitions, params: tuple[Any, ...], leaves: Sequence[Array],
    cotangents: Sequence[Array],
) -> list[Array]:  # fmt: skip
    """The cotangents of the differentiable leaves: again a sum over the partitions."""
    back = functools.partial(pulled, f, len(params))
    found: list[Array] = evaluated(back, data, (*params, list(cotangents)), [*leaves, *cotangents])
    return found


def weighted(slopes: Sequence[Sequence[Array]], cotangents: Sequence[Array]) -> list[Array]:
    """The cotangents of leaves, from the gradients of scalars that were computed ahead."""
    rows = [
        [astype(slope * g, slope.dtype) for slope in row]
        for row, g in zip(slopes, cotangents, strict=True)
    ]
    return sums(rows)


def run(
    f: Callable[..., Any], data: Partitions, params: tuple[Any, ...], leaves: Sequence[Array],
    ahead: Sequence[int],
) -> Any:  # fmt: skip
    """The sum, computed, with the gradients of scalars with respect to the leaves at some places.

    Hidden axes of the leaves are those of the results.
    """
    check_blocks(f, data)
    message = Message(f, params, leaves)
    part = sum_of(
        data._blocks, message, () if message.axis_ids else ahead, data._fan_in, data._retries
    )
    if not message.axis_ids:
        return part
    results = [wrap(Batched(current(y)[1], message.axis_ids)) for y in nest.leaves(part.y)]
    return part._replace(y=nest.pack(part.y, results))


# --- parameters ---------------------------------------------------------------------------------------
def smooth(leaves: Sequence[Array]) -> list[int]:
    """The places of the differentiable leaves."""
    return [i for i, x in enumerate(leaves) if differentiable(x)]


def chosen(
    params: tuple[Any, ...], argnums: ArgNums
) -> tuple[list[Array], list[int], Callable[[Sequence[Array]], Any]]:
    """The leaves, the places of those to differentiate, and how their gradients are put together."""
    leaves, skeleton, places = taken_apart(params)
    trees = []
    for n in positions("value_and_grad", argnums, len(params)):
        parts = nest.leaves([skeleton[n]])
        shape = [
            [places[id(v)] for v in p.trainable_variables] if isinstance(p, Module) else p
            for p in parts
        ]
        trees.append(nest.pack([skeleton[n]], shape)[0])
    wanted = nest.leaves(trees)
    for leaf in wanted:
        x = leaves[leaf.index] if isinstance(leaf, Place) else leaf
        if not isinstance(x, Array) or not differentiable(x):
            raise TypeError(
                f"value_and_grad: only floating-point Arrays and Modules have gradients, got "
                f"{describe(x)}{nest.place_of(leaf, trees)} [at {user_line()}]"
            )
    if not wanted:
        raise ValueError(
            f"value_and_grad: the parameter holds nothing to differentiate [at {user_line()}]; layers "
            "make their Variables on the first call"
        )
    at = list(dict.fromkeys(leaf.index for leaf in wanted))  # Modules may share Variables

    def pack(found: Sequence[Array]) -> Any:
        by_place = dict(zip(at, found, strict=True))
        packed = nest.pack(trees, [by_place[leaf.index] for leaf in wanted])
        return packed[0] if isinstance(argnums, int) else tuple(packed)

    return leaves, at, pack


# --- checks -------------------------------------------------------------------------------------------
def check(f: Any, data: Any, caller: str) -> None:
    """TypeError for what is no function, or no partitions."""
    if not callable(f):
        raise TypeError(f"{caller}: takes a function, got {describe(f)} [at {user_line()}]")
    if not isinstance(data, Partitions):
        raise TypeError(
            f"{caller}: data must be what partitions() gives, got {describe(data)} [at {user_line()}]"
        )


def check_blocks(f: Callable[..., Any], data: Partitions) -> None:
    """TypeError for Arrays among the blocks that a tape follows, or a vmap maps."""
    for x in data._arrays:
        if isinstance(x, Variable) or is_followed(x) or is_mapped(x):
            raise TypeError(
                f"{name_of(f)}: a block is {describe(x)}, a Variable or what a tape follows or vmap "
                f"maps [at {user_line()}]: blocks are constants; pass it as a parameter, or "
                "stop_gradient it"
            )


def check_loss(y: Any) -> None:
    """TypeError or ValueError unless a loss is one real Array of shape ()."""
    if not isinstance(y, Array) or y.dtype.kind != "f":
        raise TypeError(
            f"value_and_grad: the function must give one real floating-point Array, got {describe(y)} "
            f"[at {user_line()}]; use map_sum for anything else"
        )
    if y.shape != ():
        raise ValueError(
            f"value_and_grad: the function must give an Array of shape (), got {describe(y)} "
            f"[at {user_line()}]; sum the result, or use map_sum"
        )


__all__ = ["map_sum", "value_and_grad"]
