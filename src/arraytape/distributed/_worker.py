"""What runs on a worker: a user's function on one partition, and sums of what it gave.

No tape outlives a task: a pass back runs the function again, so that nothing is pinned on a worker, and
losing one costs computing time only.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array, namespace
from .._record.stack import Bystander, new_tid, only_recorders
from .._storage.batched.batched_data import ACTIVE
from .._tape.accumulator import ForwardAccumulator
from .._tape.arguments import UnconnectedGradients, differentiable
from .._tape.tape import GradientTape
from .._util import nest
from .._util.blocks import Setting
from .._util.errors import describe, user_line
from .._util.places import ALL_NAMES
from .._version import __version__
from ..functional.vmap import vmap
from ..ops.creation_functions import copied
from ..variable import Variable
from ._errors import annotate, name_of
from ._message import Message, as_array, as_arrays, leaves_of

ZERO = UnconnectedGradients.ZERO
WIDE = 8  # bytes of the default integers
SCALARS = 4  # results of shape () whose gradients are worth computing beside them


class Part(NamedTuple):
    """What one partition, or the sum of several, gave.

    y : a nesting of Arrays.  slopes : for each of its Arrays the gradients of the differentiable leaves
    of the parameters, None where these were not asked for.  first : the first partition in it.
    """

    y: Any
    slopes: list[list[Array]] | None
    first: int


class OnlyParameters(Bystander):
    """It refuses to read Variables that are older than the task, which are no parameters.

    Those that f closes over do not come so far, but a function of a module is imported by its name.
    """

    def __init__(self, name: str) -> None:
        self.name, self.first = name, new_tid()

    def accessed(self, variable: Any, /) -> None:
        """TypeError for what was there before."""
        if variable._current_id() < self.first:
            raise TypeError(
                f"{self.name}: the function uses {describe(variable)} of a module [at {user_line()}]; "
                "pass it, or the Module that holds it, as a parameter: a worker has its own, whose "
                "value differs and whose gradient would be lost"
            )


def run(index: int, count: int, message: Message, ahead: Sequence[int], *blocks: Any) -> Part:
    """A user's function on one partition.

    ahead : the places of the leaves with respect to which scalars are differentiated with it.
    """
    try:
        arrays = tuple(map(as_arrays, blocks))
        # The name keeps it: a stack drops recorders that nothing else refers to.
        reads = OnlyParameters(message.name)
        with only_recorders(reads), Setting(ACTIVE, ()), Setting(ALL_NAMES, True):
            if message.version != __version__:
                raise RuntimeError(
                    f"{message.name}: the driver has arraytape {message.version}, and this worker "
                    f"{__version__}: install the same version everywhere"
                )
            return Part(*called(message, ahead, arrays), index)
    except Exception as error:
        annotate(error, index, count, blocks)
        raise


def called(message: Message, ahead: Sequence[int], blocks: Sequence[Any]) -> tuple[Any, Any]:
    """The results, with a leading axis for each of the message's hidden ones, and the slopes."""
    slopes: list[Any] = []

    def on_values(values: list[Any]) -> Any:
        f, params, leaves = message.open(values)
        before = [(x, x._data) for x in leaves if isinstance(x, Variable)]
        if ahead:
            y, found = with_slopes(message.name, f, params, [leaves[i] for i in ahead], blocks)
            slopes.append(found)
        else:
            y = results_of(message.name, f(*params, *blocks))
        for variable, data in before:
            if variable._data is not data:
                raise RuntimeError(
                    f"{message.name}: the function assigns to {describe(variable)}: what a worker "
                    "writes to its copy would be lost; give the new value as a result, and assign "
                    "to the Variable where the sum arrives"
                )
        return y

    mapped: Callable[..., Any] = on_values
    for axis_id in reversed(message.axis_ids):
        mapped = vmap(mapped, in_axes=([0 if axis_id in axes else None for axes in message.axes],))
    y = mapped([as_array(x) for x in message.values])
    return y, slopes[0] if slopes else None


def results_of(name: str, y: Any) -> Any:
    """The nesting that f gave, with numbers as Arrays; TypeError for anything else."""
    leaves = []
    for leaf in nest.leaves(y):
        if isinstance(leaf, bool | np.bool_) or not isinstance(
            leaf, Array | np.ndarray | np.generic | int | float | complex
        ):
            raise TypeError(
                f"{name}: the function must give Arrays and numbers, which can be summed, got "
                f"{describe(leaf)}{nest.place_in_nesting(leaf, y)}"
            )
        leaves.append(counted(leaf if isinstance(leaf, Array) else namespace().asarray(leaf)))
    return nest.pack_nesting(y, leaves)


def counted(x: Array) -> Array:
    """Small integers as those of the default width, in which ``sum`` adds them, too."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize >= WIDE:
        return x
    xp = namespace()
    found: Array = xp.astype(x, xp.int64 if x.dtype.kind == "i" else xp.uint64)
    return found


# --- derivatives --------------------------------------------------------------------------------------
def with_slopes(
    name: str, f: Callable[..., Any], params: tuple[Any, ...], wanted: Sequence[Array],
    blocks: Sequence[Any],
) -> tuple[Any, Any]:  # fmt: skip
    """The results, and the gradients of each where they are few scalars."""
    with GradientTape(persistent=True, watch_accessed_variables=False, exits="raise") as tape:
        tape.watch(wanted)
        y = results_of(name, f(*params, *blocks))
    parts = nest.leaves(y)
    if len(parts) > SCALARS or any(part.shape != () or part.dtype.kind == "c" for part in parts):
        return y, None
    tape._recording.frugal = True  # a worker gives freed memory back
    tape._recording.persistent = sum(map(differentiable, parts)) > 1
    return y, [
        tape.gradient(part, wanted, unconnected_gradients=ZERO)
        if differentiable(part)
        else [namespace().zeros_like(x) for x in wanted]
        for part in parts
    ]


def pulled(f: Callable[..., Any], count: int, places: Sequence[int], *args: Any) -> list[Array]:
    """The cotangents of the leaves at some places of f's parameters, from those of its results.

    args : f's parameters, a list with a cotangent for each Array that f gives, and the blocks.
    """
    given, leaves = renewed(args[:count])
    wanted = [leaves[i] for i in places]
    cotangents, blocks = args[count], args[count + 1 :]
    with GradientTape(watch_accessed_variables=False, exits="raise") as tape:
        tape.watch(wanted)
        y = nest.leaves(results_of(name_of(f), f(*given, *blocks)))
    smooth = [(part, g) for part, g in zip(y, cotangents, strict=True) if differentiable(part)]
    found: list[Array] = tape.gradient(
        [part for part, _ in smooth], wanted, [g for _, g in smooth], unconnected_gradients=ZERO
    )
    return found


def sloped(
    f: Callable[..., Any], count: int, places: Sequence[int], *args: Any
) -> list[list[Array]]:
    """The gradients of each scalar that f gives, by the leaves at some places of its parameters.

    args : f's parameters, and the blocks.
    """
    given, leaves = renewed(args[:count])
    wanted = [leaves[i] for i in places]
    found: list[list[Array]] = with_slopes(name_of(f), f, tuple(given), wanted, args[count:])[1]
    return found


def moved(
    f: Callable[..., Any], count: int, places: Sequence[int] | None, *args: Any
) -> dict[str, Any]:
    """The results, with their tangents; if asked for also the gradients of scalars, and theirs.

    places : of the leaves for gradients, None for none.  args : as of ``pushed``.
    """
    given, leaves = renewed(args[:count])
    blocks = args[count + 1 :]
    with along(leaves, args[count]) as accumulator:
        if places is not None:
            wanted = [leaves[i] for i in places]
            y, found = with_slopes(name_of(f), f, tuple(given), wanted, blocks)
        else:
            y, found = results_of(name_of(f), f(*given, *blocks)), None
    dy = accumulator.jvp(nest.leaves(y), ZERO)
    try:
        moving = accumulator.jvp(found or [], ZERO)
    except LookupError:  # an op has no second derivative: an error where one is asked for
        found = moving = []
    return {"y": y, "dy": dy, "slopes": found or [], "dslopes": moving}


def pushed(f: Callable[..., Any], count: int, *args: Any) -> list[Array]:
    """The tangents of f's results, from those of the differentiable leaves of its parameters.

    args : f's parameters, a list with a tangent, or None, for each such leaf, and the blocks.
    """
    given, leaves = renewed(args[:count])
    with along(leaves, args[count]) as accumulator:
        y = nest.leaves(results_of(name_of(f), f(*given, *args[count + 1 :])))
    found: list[Array] = accumulator.jvp(y, ZERO)
    return found


def along(leaves: Sequence[Array], tangents: Sequence[Array | None]) -> ForwardAccumulator:
    """Forward mode along tangents of the differentiable leaves; None stands for one of 0."""
    smooth = [x for x in leaves if differentiable(x)]
    pairs = [(x, t) for x, t in zip(smooth, tangents, strict=True) if t is not None]
    return ForwardAccumulator([x for x, _ in pairs], [t for _, t in pairs], exits="raise")


def renewed(params: Sequence[Any]) -> tuple[list[Any], list[Array]]:
    """Parameters with copies of their Arrays, and their leaves.

    Copies, since one value must not mean two variables where derivatives nest.
    """
    fresh = [copied(x) if type(x) is Array else x for x in nest.leaves(list(params))]
    given = nest.pack_nesting(list(params), fresh)
    return given, leaves_of(given)


# --- sums ---------------------------------------------------------------------------------------------
def added(name: str, parts: Sequence[Part]) -> Part:
    """The sum of what partitions gave, from the left."""
    first, *rest = parts
    columns = [nest.leaves(first.y)]
    for part in rest:
        try:
            columns.append(nest.leaves_like(first.y, part.y, "the result"))
        except ValueError as error:
            raise differ(name, first, part, str(error)) from None
        for a, b in zip(columns[0], columns[-1], strict=True):
            if a.shape != b.shape:
                raise differ(name, first, part, f"shapes {a.shape} and {b.shape}")
            if {a.dtype.kind, b.dtype.kind} == {"c", "f"}:
                raise differ(name, first, part, f"dtypes {a.dtype} and {b.dtype}")
    y = nest.pack_nesting(first.y, sums(columns))
    if any(part.slopes is None for part in parts):
        return Part(y, None, first.first)
    rows = [part.slopes or [] for part in parts]
    return Part(y, [sums(row) for row in zip(*rows, strict=True)], first.first)


def sums(columns: Sequence[Sequence[Array]]) -> list[Array]:
    """Arrays at the same place, added in order."""
    return [functools.reduce(operator.add, parts) for parts in zip(*columns, strict=True)]


def differ(name: str, a: Part, b: Part, how: str) -> ValueError:
    """The error for partitions whose results cannot be summed."""
    return ValueError(
        f"{name}: partitions {a.first} and {b.first} give different results: {how}; what is to be "
        "summed has one nesting, the same shapes, and one kind of numbers for all of them"
    )


__all__ = ["Part", "added", "moved", "pulled", "pushed", "run", "sloped"]
