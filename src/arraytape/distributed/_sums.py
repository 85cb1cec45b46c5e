"""``map_sum`` and ``value_and_grad``: sums over partitions as recorded functions of their parameters.

Leaves are the Arrays and Variables in the parameters, and ``places`` are indices of leaves.  Slopes are
gradients of scalar results with respect to leaves, which workers compute together with the results.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._array.array import Array, wrap
from .._array.views import current
from .._custom.gradient import custom_gradient
from .._custom.recorded_calls import FORWARD
from .._record.stack import recorders
from .._storage.batched.batched_data import Batched
from .._tape.arguments import differentiable
from .._tape.forward import ForwardPass
from .._tape.recording import Recording
from .._util import nest
from .._util.errors import describe, user_line
from .._util.options import unwrap_option
from ..functional.inputs import ArgNums, positions
from ..module import Module
from ..ops.data_type_functions import astype
from ..variable import Variable
from ._engine import sum_of
from ._errors import function_label
from ._message import LeafPlace, Message, is_followed, is_mapped, parameter_leaves, split_parameters
from ._partitions import Partitions
from ._worker import (
    PartialSum,
    add_columns,
    move_partition,
    pull_partition,
    push_partition,
    slope_partition,
)


def map_sum(f: Callable[..., Any], data: Partitions) -> Callable[..., Any]:
    """Return the sum of a function over partitions, as a function of the parameters alone.

    Parameters
    ----------
    f : Callable
        ``f(*params, *blocks)`` returns a nesting of Arrays and numbers, with the same shapes for all
        partitions.  f is sent to workers, and runs again for each derivative, for which its random
        numbers have to be the same (see ``Partitions.seeded``).
    data : Partitions
        The result of ``partitions``.

    Returns
    -------
    Callable
        Takes the parameters: Arrays, nestings of Arrays, Modules, and anything that can be pickled.
        Returns the sum in the nesting of f's results.  The sum is one op for tapes, accumulators and
        vmap, with derivatives of any order, which are computed on the workers as well.

    Raises
    ------
    TypeError, ValueError
        When f is no function or data no Partitions.  When f cannot be pickled, or uses Variables, or
        Arrays that a tape follows, which are no parameters.  When the results of partitions cannot be
        summed.
    LostGradientError
        When a value that the gradient needs leaves the tape inside f.
    PartitionError
        When the workers of a partition die, or its data is lost.
    Exception
        An error of f, with a note that names the partition.

    Notes
    -----
    The same partitions give the same bits, in any order of their tasks, on machines of one kind.

    Examples
    --------
    >>> import arraytape as xp
    >>> def statistics(w, X, y):
    ...     r = xp.asarray(X) @ w - xp.asarray(y)
    ...     return {"loss": xp.sum(r * r), "n": len(y)}
    >>> data = xp.distributed.partitions([[[1.0], [2.0]], [[3.0]]], [[1.0, 2.0], [4.0]])
    >>> total = xp.distributed.map_sum(statistics, data)
    >>> found = total(xp.asarray([1.0]))
    >>> print(found["loss"], found["n"])
    1.0 3

    The sum is one recorded op, so you can compute with its result:

    >>> def mean_loss(w):
    ...     found = total(w)
    ...     return found["loss"] / found["n"] + 0.1 * xp.sum(w * w)
    >>> print(xp.grad(mean_loss)(xp.asarray([1.0])))
    [-1.8]
    """
    check_arguments(f, data, "map_sum")

    @functools.wraps(f)
    def sum_over_partitions(*params: Any) -> Any:
        return record_sum(SumCall(f, data, params, parameter_leaves(params)))

    return sum_over_partitions


def value_and_grad(
    f: Callable[..., Any], data: Partitions, argnums: ArgNums = 0
) -> Callable[..., tuple[Array, Any]]:
    """Return a function that computes the sum of a loss over partitions, and its gradient.

    One task for each partition computes both.

    Parameters
    ----------
    f : Callable
        ``f(*params, *blocks)`` returns one real Array of shape ().
    data : Partitions
        The result of ``partitions``.
    argnums : int | Sequence[int], default: 0
        The position of the parameter to differentiate, or a sequence of positions.

    Returns
    -------
    Callable
        Takes the parameters and returns ``(value, gradient)``.  The gradient has the nesting of the
        parameter; for a Module it is a list with one Array for each trainable Variable, in their order.

    Raises
    ------
    TypeError, ValueError
        As for ``map_sum``, and when f returns anything but one real Array of shape (), or the parameter
        holds nothing to differentiate.

    Examples
    --------
    >>> import arraytape as xp
    >>> def loss(w, X, y):
    ...     return xp.sum((xp.asarray(X) @ w - xp.asarray(y)) ** 2)
    >>> data = xp.distributed.partitions([[[1.0], [2.0]], [[3.0]]], [[1.0, 2.0], [4.0]])
    >>> value, gradient = xp.distributed.value_and_grad(loss, data)(xp.asarray([1.0]))
    >>> print(value, gradient)
    1.0 [-6.]
    """
    check_arguments(f, data, "value_and_grad")

    @functools.wraps(f)
    def value_with_gradient(*params: Any) -> tuple[Array, Any]:
        leaves, wanted, pack = choose_sources(params, unwrap_option(argnums))
        call = SumCall(f, data, params, leaves)
        if any(is_followed(x) or is_mapped(x) for x in leaves):
            y, slopes = record_value_and_grad(call, wanted)
            return y, pack(slopes)
        part = run_sum(call, wanted)
        check_loss(part.y)
        assert part.slopes is not None
        return part.y, pack(part.slopes[0])

    return value_with_gradient


def record_value_and_grad(call: SumCall, wanted: Sequence[int]) -> tuple[Array, list[Array]]:
    """Return the sum, and its gradients with respect to the leaves with the indices ``wanted``.

    Tapes and accumulators around the call record the sum and the gradients.
    """
    plan, places = (
        choose_plan(call.leaves, slopes=True),
        sorted({*wanted, *followed_leaves(call.leaves)}),
    )
    # Gradients can only be recorded together with their tangents, which these two functions do not
    # compute.  ``cotangents_by_sum`` computes the gradients instead.
    found = None if plan in (sum_alone, sum_with_slopes) else plan(call, places)
    y = record_sum(call, found)
    check_loss(y)
    slopes = None if found is None else record_slopes(call, found)
    if slopes is None:
        one = wrap(current(y.__array_namespace__().ones_like(y))[1])
        return y, cotangents_by_sum(call, wanted, [one])
    by_place = dict(zip(places, slopes[0], strict=True))
    return y, [by_place[i] for i in wanted]


# --- one sum as one op --------------------------------------------------------------------------------
class SumCall(NamedTuple):
    """A sum of ``f(*params, *blocks)`` over the partitions ``data``.

    leaves : the Arrays that f gets in place of the Arrays and Variables in ``params``.
    """

    f: Callable[..., Any]
    data: Partitions
    params: tuple[Any, ...]
    leaves: Sequence[Array]

    def along(self, f: Callable[..., Any], tangents: Sequence[Array | None]) -> SumCall:
        """Return the sum of ``f``, which gets the tangents of differentiable leaves after ``params``.

        tangents : a tangent or None for each leaf.
        """
        some = [t for t, x in zip(tangents, self.leaves, strict=True) if differentiable(x)]
        given = [t for t in some if t is not None]
        return SumCall(f, self.data, (*self.params, some), [*self.leaves, *given])


class SumResult(NamedTuple):
    """A sum over the partitions, with the derivatives that the tasks computed together with it.

    y : the sum, a nesting of Arrays.
    places : indices of the leaves with respect to which ``slopes`` are gradients.
    slopes : for each Array of y a list of gradients; None unless they were requested and y is a few
        scalars.
    tangents : the leaves' tangents that a forward accumulator gave; None if no accumulator needs any.
    dy, dslopes : for these ``tangents``, the tangents of the Arrays of y, and of the slopes.
    """

    y: Any
    slopes: list[list[Array]] | None = None
    tangents: Sequence[Array | None] | None = None
    dy: Sequence[Array] = ()
    dslopes: Sequence[Sequence[Array]] = ()
    places: Sequence[int] = ()


def record_sum(call: SumCall, known: SumResult | None = None) -> Any:
    """Compute a sum over partitions, record it as one op, and return the nesting of its results.

    The op's inputs are ``call.leaves``, the Arrays in the parameters.  The workers' tapes watch only
    leaves that a tape or accumulator of this process follows.  So f may convert other values to NumPy or
    Python numbers without an error.
    known : the results, if they were computed before.
    """
    plan, places = choose_plan(call.leaves), followed_leaves(call.leaves)

    def sum_op(*values: Array) -> tuple[Any, Callable[..., Any]]:
        inner = call._replace(leaves=values)
        here = known or plan(inner, places)

        def pull_sum(*cotangents: Array) -> list[Array | None]:
            slopes = here.slopes
            if slopes is not None and recorders():
                slopes = record_slopes(inner, here)
            if slopes is not None:
                found, at = weigh_slopes(slopes, cotangents), here.places
            else:
                found, at = cotangents_by_sum(inner, places, cotangents), places
            by_place = dict(zip(at, found, strict=True))
            return [by_place.get(i) for i in range(len(values))]

        def push_sum(tangents: Sequence[Array | None]) -> Sequence[Array]:
            if here.tangents is not None and all(map(operator.is_, tangents, here.tangents)):
                return here.dy
            push = functools.partial(push_partition, call.f, len(call.params))
            found: list[Array] = record_sum(inner.along(push, tangents))
            return found

        setattr(pull_sum, FORWARD, push_sum)
        return here.y, pull_sum

    sum_op.__name__ = getattr(call.f, "__name__", "map_sum")
    return custom_gradient(sum_op)(*call.leaves)


def choose_plan(leaves: Sequence[Array], slopes: bool = False) -> Callable[..., SumResult]:
    """Return the function that computes a sum with the derivatives that tapes or accumulators need.

    A tape alone needs gradients, and an accumulator alone needs tangents.  A tape inside an accumulator,
    as in a product with the Hessian, needs both, and tangents of the gradients.  In all other cases
    return ``sum_alone``: derivatives are then computed when they are asked for.
    slopes : True for gradients with the tangents, even without a tape.
    """
    followers = [r for r in recorders() if any(current(x)[0] in r.followed for x in leaves)]
    if len(followers) == 1 and not isinstance(followers[0], ForwardPass):
        return sum_with_slopes
    if not followers or not isinstance(followers[0], ForwardPass) or len(followers) > 2:
        return sum_alone
    tangents = [followers[0].tangent(current(x)[0]) for x in leaves]
    given = [t for t in tangents if t is not None]
    if any(map(is_followed, given)) or any(map(is_mapped, [*leaves, *given])):
        return sum_alone
    return functools.partial(
        sum_with_tangents, tangents, slopes or isinstance(followers[-1], Recording)
    )


def sum_alone(call: SumCall, places: Sequence[int]) -> SumResult:
    """Compute a sum, and no derivatives; ``places`` is not used."""
    return SumResult(run_sum(call).y)


def sum_with_slopes(call: SumCall, places: Sequence[int]) -> SumResult:
    """Compute a sum, and the gradients of scalar results with respect to the leaves ``places``."""
    part = run_sum(call, places)
    return SumResult(part.y, part.slopes, places=places)


def sum_with_tangents(
    tangents: Sequence[Array | None], slopes: bool, call: SumCall, places: Sequence[int]
) -> SumResult:
    """Compute a sum and its tangents along ``tangents``.

    slopes : True to compute also the gradients of scalar results, and the tangents of these gradients.
    tangents : a tangent or None for each leaf.
    """
    wanted = tuple(places) if slopes else None
    move = functools.partial(move_partition, call.f, len(call.params), wanted)
    found = run_sum(call.along(move, tangents)).y
    slopes_found = found["slopes"] or None
    return SumResult(found["y"], slopes_found, tangents, found["dy"], found["dslopes"], places)


def record_slopes(call: SumCall, found: SumResult) -> list[list[Array]] | None:
    """Record one op whose results are the gradients ``found.slopes``, for second derivatives.

    Return the recorded gradients; None if ``found`` has no tangents or no gradients.
    """
    if found.tangents is None or found.slopes is None:
        return None
    slope = functools.partial(slope_partition, call.f, len(call.params), tuple(found.places))
    known = SumResult(found.slopes, None, found.tangents, nest.leaves(found.dslopes))
    slopes: list[list[Array]] = record_sum(call._replace(f=slope), known)
    return slopes


def cotangents_by_sum(
    call: SumCall, places: Sequence[int], cotangents: Sequence[Array]
) -> list[Array]:
    """Return the cotangents of the leaves ``places``, by a sum of VJPs over the partitions.

    cotangents : a cotangent for each Array of the sum.
    """
    back = functools.partial(pull_partition, call.f, len(call.params), tuple(places))
    params, leaves = (*call.params, list(cotangents)), [*call.leaves, *cotangents]
    found: list[Array] = record_sum(SumCall(back, call.data, params, leaves))
    return found


def weigh_slopes(slopes: Sequence[Sequence[Array]], cotangents: Sequence[Array]) -> list[Array]:
    """Return the cotangent of each leaf: the sum of slope times cotangent over the results.

    slopes : for each result, its gradients with respect to the leaves.
    cotangents : for each result, a scalar, its cotangent.
    """
    rows = [
        [astype(slope * g, slope.dtype) for slope in row]
        for row, g in zip(slopes, cotangents, strict=True)
    ]
    return add_columns(rows)


def run_sum(call: SumCall, ahead: Sequence[int] = ()) -> PartialSum:
    """Compute the sum, and the gradients of scalar results with respect to the leaves ``ahead``.

    If vmap maps a leaf, the results are mapped, too, and no gradients are computed.
    """
    data = call.data
    check_blocks(call.f, data)
    message = Message(call.f, call.params, call.leaves)
    ahead = () if message.axis_ids else ahead
    part = sum_of(data._blocks, message, ahead, data._fan_in, data._retries)
    if not message.axis_ids:
        return part
    results = [wrap(Batched(current(y)[1], message.axis_ids)) for y in nest.leaves(part.y)]
    return part._replace(y=nest.pack_nesting(part.y, results))


# --- parameters ---------------------------------------------------------------------------------------
def followed_leaves(leaves: Sequence[Array]) -> list[int]:
    """Return the indices of differentiable leaves that are Variables, or that a tape follows.

    An accumulator counts like a tape.  Workers compute derivatives only for these leaves.
    """
    return [
        i for i, x in enumerate(leaves)
        if differentiable(x) and (isinstance(x, Variable) or is_followed(x))
    ]  # fmt: skip


def choose_sources(
    params: tuple[Any, ...], argnums: ArgNums
) -> tuple[list[Array], list[int], Callable[[Sequence[Array]], Any]]:
    """Choose the leaves with respect to which ``value_and_grad`` differentiates.

    Return (leaves, wanted, pack): all leaves of ``params``, and the indices of those in the parameters
    ``argnums``.  ``pack`` arranges their gradients in nestings like these parameters.
    """
    leaves, skeleton, places = split_parameters(params)
    trees = []
    for n in positions("value_and_grad", argnums, len(params)):
        parts = nest.leaves([skeleton[n]])
        shape = [
            [places[id(v)] for v in p.trainable_variables] if isinstance(p, Module) else p
            for p in parts
        ]
        trees.append(nest.pack_nesting([skeleton[n]], shape)[0])
    wanted = nest.leaves(trees)
    for leaf in wanted:
        x = leaves[leaf.index] if isinstance(leaf, LeafPlace) else leaf
        if not isinstance(x, Array) or not differentiable(x):
            raise TypeError(
                f"value_and_grad: only floating-point Arrays and Modules have gradients, got "
                f"{describe(x)}{nest.place_in_nesting(leaf, trees)} [at {user_line()}]"
            )
    if not wanted:
        raise ValueError(
            f"value_and_grad: the parameter holds nothing to differentiate [at {user_line()}]; layers "
            "make their Variables on the first call"
        )
    at = list(dict.fromkeys(leaf.index for leaf in wanted))  # Modules may share Variables

    def pack_gradients(found: Sequence[Array]) -> Any:
        by_place = dict(zip(at, found, strict=True))
        packed = nest.pack_nesting(trees, [by_place[leaf.index] for leaf in wanted])
        return packed[0] if isinstance(argnums, int) else tuple(packed)

    return leaves, at, pack_gradients


# --- checks -------------------------------------------------------------------------------------------
def check_arguments(f: Any, data: Any, caller: str) -> None:
    """Raise TypeError if f is not callable or ``data`` is no Partitions."""
    if not callable(f):
        raise TypeError(f"{caller}: takes a function, got {describe(f)} [at {user_line()}]")
    if not isinstance(data, Partitions):
        raise TypeError(
            f"{caller}: data must be what partitions() gives, got {describe(data)} [at {user_line()}]"
        )


def check_blocks(f: Callable[..., Any], data: Partitions) -> None:
    """Raise TypeError if a block of data is a Variable, or an Array that a tape follows or vmap maps.

    The data would get no gradient.
    """
    for x in data._arrays:
        if isinstance(x, Variable) or is_followed(x) or is_mapped(x):
            raise TypeError(
                f"{function_label(f)}: the block {describe(x)} is a Variable, or a tape follows it, or "
                f"vmap maps it [at {user_line()}]: blocks are constants; pass it as a parameter, or "
                "stop_gradient it"
            )


def check_loss(y: Any) -> None:
    """Raise an error unless y is one real floating-point Array of shape ()."""
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
