"""The tasks of workers: a user's function f on one partition, its derivatives, and sums of its results.

No tape outlives a task: a backward pass runs the function again.  So no data has to stay on a worker,
and the loss of a worker costs only computing time.

Leaves are the Arrays and Variables in f's parameters; ``places`` and ``ahead`` are indices of the leaves
with respect to which gradients are computed.  ``name`` is the name of f, for messages, and ``count`` the
number of f's parameters.  Blocks are the data of one partition.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array, namespace
from .._record.stack import Bystander, new_value_id, only_recorders
from .._storage.batched.batched_data import ACTIVE
from .._tape.accumulator import ForwardAccumulator
from .._tape.arguments import UnconnectedGradients, differentiable
from .._tape.tape import GradientTape
from .._util import nest
from .._util.blocks import Setting
from .._util.errors import describe, user_line
from .._util.source_locations import ALL_NAMES
from .._version import __version__
from ..functional.vmap import vmap
from ..ops.creation_functions import copied
from ..variable import Variable
from ._errors import annotate, function_label
from ._message import Message, block_as_array, block_as_arrays, parameter_leaves

ZERO = UnconnectedGradients.ZERO
DEFAULT_INTEGER = 8  # bytes of the dtype to which ``widen_integers`` casts
SCALARS = 4  # if there are more scalar results, their gradients are not computed with the results


class PartialSum(NamedTuple):
    """The result of one partition, or the sum of several.

    y : a nesting of Arrays.
    slopes : for each Array of y the gradients with respect to leaves; None if they were not requested.
    first : the index of the first partition.
    """

    y: Any
    slopes: list[list[Array]] | None
    first: int


class OnlyParameters(Bystander):
    """An observer of f's reads that raises an error if f reads a Variable that is no parameter.

    Such a Variable would get no gradient.  The pickler refuses Variables that f closes over, but a
    worker imports Python modules, with their Variables, by name.  Their value ids are below ``first``,
    since they are older than the task; parameters are made in the task.
    """

    def __init__(self, name: str) -> None:
        self.name, self.first = name, new_value_id()

    def accessed(self, variable: Variable, /) -> None:
        """Raise TypeError if the Variable is older than the task: its value id is below ``first``."""
        if variable._current_id() < self.first:
            raise TypeError(
                f"{self.name}: the function uses {describe(variable)} of a module [at {user_line()}]; "
                "pass it, or the Module that holds it, as a parameter: a worker has its own, whose "
                "value differs and whose gradient would be lost"
            )


def run_partition(
    index: int, count: int, message: Message, ahead: Sequence[int], *blocks: Any
) -> PartialSum:
    """Run a user's function on partition ``index`` of ``count``, and return its results.

    message : the user's function with its parameters, as a pickle.
    """
    try:
        arrays = tuple(map(block_as_arrays, blocks))
        # ``reads`` keeps the recorder alive: a stack removes recorders to which nothing else refers.
        reads = OnlyParameters(message.name)
        with only_recorders(reads), Setting(ACTIVE, ()), Setting(ALL_NAMES, True):
            if message.version != __version__:
                raise RuntimeError(
                    f"{message.name}: the driver has arraytape {message.version}, and this worker "
                    f"{__version__}: install the same version everywhere"
                )
            return PartialSum(*call_on_values(message, ahead, arrays), index)
    except Exception as error:
        annotate(error, index, count, blocks)
        raise


def call_on_values(
    message: Message, ahead: Sequence[int], blocks: Sequence[Any]
) -> tuple[Any, Any]:
    """Call the user's function that ``message`` holds; return its results and their gradients.

    The gradients are None if ``ahead`` is empty.  If vmap mapped leaves of the message, each mapped axis
    is a leading axis of the results.
    """
    slopes: list[Any] = []

    def on_values(values: list[Any]) -> Any:
        f, params, leaves = message.open(values)
        before = [(x, x._data) for x in leaves if isinstance(x, Variable)]
        if ahead:
            y, found = result_with_slopes(
                message.name, f, params, [leaves[i] for i in ahead], blocks
            )
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
    y = mapped([block_as_array(x) for x in message.values])
    return y, slopes[0] if slopes else None


def results_of(name: str, y: Any) -> Any:
    """Return f's result with numbers converted to Arrays; raise TypeError for anything else in it."""
    leaves = []
    for leaf in nest.leaves(y):
        if isinstance(leaf, bool | np.bool_) or not isinstance(
            leaf, Array | np.ndarray | np.generic | int | float | complex
        ):
            raise TypeError(
                f"{name}: the function must give Arrays and numbers, which can be summed, got "
                f"{describe(leaf)}{nest.place_in_nesting(leaf, y)}"
            )
        leaves.append(
            widen_integers(leaf if isinstance(leaf, Array) else namespace().asarray(leaf))
        )
    return nest.pack_nesting(y, leaves)


def widen_integers(x: Array) -> Array:
    """Cast small integers to 64 bits, as ``sum`` does.

    So the sum over partitions does not overflow.
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize >= DEFAULT_INTEGER:
        return x
    xp = namespace()
    found: Array = xp.astype(x, xp.int64 if x.dtype.kind == "i" else xp.uint64)
    return found


# --- derivatives --------------------------------------------------------------------------------------
def result_with_slopes(
    name: str, f: Callable[..., Any], params: tuple[Any, ...], wanted: Sequence[Array],
    blocks: Sequence[Any],
) -> tuple[Any, Any]:  # fmt: skip
    """Return f's results, and the gradients of each result with respect to the leaves ``wanted``.

    The gradients are None if f has more than SCALARS results, or a result that is no real scalar.
    """
    with GradientTape(persistent=True, watch_accessed_variables=False, exits="raise") as tape:
        tape.watch(wanted)
        y = results_of(name, f(*params, *blocks))
    parts = nest.leaves(y)
    if len(parts) > SCALARS or any(part.shape != () or part.dtype.kind == "c" for part in parts):
        return y, None
    tape._recording.frugal = True  # a worker returns freed memory to the system at once
    tape._recording.persistent = sum(map(differentiable, parts)) > 1
    return y, [
        tape.gradient(part, wanted, unconnected_gradients=ZERO)
        if differentiable(part)
        else [namespace().zeros_like(x) for x in wanted]
        for part in parts
    ]


def pull_partition(
    f: Callable[..., Any], count: int, places: Sequence[int], *args: Any
) -> list[Array]:
    """Return the cotangents of the leaves ``places`` for one partition.

    args : f's parameters, a list with a cotangent for each Array of f's result, and the blocks.
    """
    given, leaves = copy_parameters(args[:count])
    wanted = [leaves[i] for i in places]
    cotangents, blocks = args[count], args[count + 1 :]
    with GradientTape(watch_accessed_variables=False, exits="raise") as tape:
        tape.watch(wanted)
        y = nest.leaves(results_of(function_label(f), f(*given, *blocks)))
    smooth = [(part, g) for part, g in zip(y, cotangents, strict=True) if differentiable(part)]
    found: list[Array] = tape.gradient(
        [part for part, _ in smooth], wanted, [g for _, g in smooth], unconnected_gradients=ZERO
    )
    return found


def slope_partition(
    f: Callable[..., Any], count: int, places: Sequence[int], *args: Any
) -> list[list[Array]]:
    """Return, for one partition, the gradients of each scalar result of f with respect to ``places``.

    args : f's parameters and the blocks.
    """
    given, leaves = copy_parameters(args[:count])
    wanted = [leaves[i] for i in places]
    found: list[list[Array]] = result_with_slopes(
        function_label(f), f, tuple(given), wanted, args[count:]
    )[1]
    return found


def move_partition(
    f: Callable[..., Any], count: int, places: Sequence[int] | None, *args: Any
) -> dict[str, Any]:
    """Return f's results and gradients on one partition, with the tangents of both (forward mode).

    The result is a dict with the keys "y", "slopes", "dy" and "dslopes".
    places : as in the module; None for no gradients.
    args : f's parameters, a list with a tangent or None for each differentiable leaf, and the blocks.
    """
    given, leaves = copy_parameters(args[:count])
    blocks = args[count + 1 :]
    with forward_along(leaves, args[count]) as accumulator:
        if places is not None:
            wanted = [leaves[i] for i in places]
            y, found = result_with_slopes(function_label(f), f, tuple(given), wanted, blocks)
        else:
            y, found = results_of(function_label(f), f(*given, *blocks)), None
    dy = accumulator.jvp(nest.leaves(y), ZERO)
    try:
        moving = accumulator.jvp(found or [], ZERO)
    except LookupError:  # an op has no second derivative, which the driver reports if it needs one
        found = moving = []
    return {"y": y, "dy": dy, "slopes": found or [], "dslopes": moving}


def push_partition(f: Callable[..., Any], count: int, *args: Any) -> list[Array]:
    """Return the tangents of f's results on one partition, given those of f's parameters.

    args : f's parameters, a list with a tangent or None for each differentiable leaf, and the blocks.
    """
    given, leaves = copy_parameters(args[:count])
    with forward_along(leaves, args[count]) as accumulator:
        y = nest.leaves(results_of(function_label(f), f(*given, *args[count + 1 :])))
    found: list[Array] = accumulator.jvp(y, ZERO)
    return found


def forward_along(leaves: Sequence[Array], tangents: Sequence[Array | None]) -> ForwardAccumulator:
    """Return a forward accumulator that starts from these tangents of differentiable leaves.

    A tangent None means zeros.
    """
    smooth = [x for x in leaves if differentiable(x)]
    pairs = [(x, t) for x, t in zip(smooth, tangents, strict=True) if t is not None]
    return ForwardAccumulator([x for x, _ in pairs], [t for _, t in pairs], exits="raise")


def copy_parameters(params: Sequence[Any]) -> tuple[list[Any], list[Array]]:
    """Copy the Arrays among parameters; return the parameters, and a list of these copies.

    Without copies, nested derivatives could take one Array for two different variables.
    """
    fresh = [copied(x) if type(x) is Array else x for x in nest.leaves(list(params))]
    given = nest.pack_nesting(list(params), fresh)
    return given, parameter_leaves(given)


# --- sums ---------------------------------------------------------------------------------------------
def add_parts(name: str, parts: Sequence[PartialSum]) -> PartialSum:
    """Return the sum of the results of several partitions; raise ValueError if they cannot be summed."""
    first, *rest = parts
    columns = [nest.leaves(first.y)]
    for part in rest:
        try:
            columns.append(nest.leaves_like(first.y, part.y, "the result"))
        except ValueError as error:
            raise unequal_results(name, first, part, str(error)) from None
        for a, b in zip(columns[0], columns[-1], strict=True):
            if a.shape != b.shape:
                raise unequal_results(name, first, part, f"shapes {a.shape} and {b.shape}")
            if {a.dtype.kind, b.dtype.kind} == {"c", "f"}:
                raise unequal_results(name, first, part, f"dtypes {a.dtype} and {b.dtype}")
    y = nest.pack_nesting(first.y, add_columns(columns))
    if any(part.slopes is None for part in parts):
        return PartialSum(y, None, first.first)
    rows = [part.slopes or [] for part in parts]
    return PartialSum(y, [add_columns(row) for row in zip(*rows, strict=True)], first.first)


def add_columns(columns: Sequence[Sequence[Array]]) -> list[Array]:
    """Return a list whose element i is the sum of the columns' elements i, added in order."""
    return [functools.reduce(operator.add, parts) for parts in zip(*columns, strict=True)]


def unequal_results(name: str, a: PartialSum, b: PartialSum, how: str) -> ValueError:
    """Return the error for two partitions whose results ``a`` and ``b`` cannot be summed.

    how : the difference, for the message.
    """
    return ValueError(
        f"{name}: partitions {a.first} and {b.first} give different results: {how}; what is to be "
        "summed has one nesting, the same shapes, and one kind of numbers for all of them"
    )
