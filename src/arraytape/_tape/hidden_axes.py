"""Ops on hidden axes, which are axes of raw data that the shape of an Array does not include.

``vmap`` hides the axis of examples, so that the user's function computes on one example.

The op ``batched`` hides the first axis of an Array, and ``shown`` makes a hidden axis the first axis.
``spread`` repeats an Array along new hidden axes, and ``summed`` sums over hidden axes.  The ops are
linear.  They are in no registry, since batched data has no meaning outside of a ``vmap``.  Hiding and
showing an axis copies no memory: result and operand share it until one of them is written to.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._array.array import KEPT, Array
from .._array.views import current, stable_handle
from .._define.compile import compile_function
from .._record.op import Op
from .._record.plan import Rule
from .._storage.batched import batched_data as raw
from .._storage.batched.batched_storage import BATCHED
from .._storage.storage import EVERYWHERE, enter

if TYPE_CHECKING:
    from .._util.array_types import RawArray

enter(BATCHED)


def declare_linear_op(
    transpose: Rule, **saves: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function of raw data a linear op on the hidden axes of Arrays.

    transpose : the VJP of the op.
    saves : functions of the op's inputs, whose results the record keeps for parameters of the VJP.
    """

    def declare_hidden_axis_op(function: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = function.__name__, inspect.signature(function)
        op = Op(
            name, "linear", ("x",), parameters=tuple(signature.parameters)[1:], rules=[transpose],
            saves=saves, moves=True,
        )  # fmt: skip
        EVERYWHERE[name] = function
        op.public = mark_result_shared(compile_function(op, signature))
        return op.public

    return declare_hidden_axis_op


def mark_result_shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an op's function so that a write to its result or operand, which share memory, copies first.

    Hiding or showing an axis copies no data.
    """

    @functools.wraps(function)
    def call_sharing(x: Array, /, *arguments: Any, **keywords: Any) -> Array:
        y: Array = function(stable_handle(x), *arguments, **keywords)
        y._state |= KEPT
        return y

    return call_sharing


ON_ARRAYS: dict[str, Callable[..., Any]] = {}  # the ops below, by the names of their raw functions


def call_on_array_or_raw(name: str, g: RawArray, *arguments: Any) -> Any:
    """Call ``name``, such as "summed": the op if g is an Array, else the function on raw data.

    Rules of ops on hidden axes use this, since a backward pass computes on Arrays or on raw data.
    """
    return (ON_ARRAYS if isinstance(g, Array) else vars(raw))[name](g, *arguments)


batched = declare_linear_op(
    lambda g, axis_id, size: call_on_array_or_raw("unbatched", g, axis_id, size),
    size=lambda x: x.shape[0],
)(raw.batched)
shown = declare_linear_op(lambda g, axis_id: call_on_array_or_raw("batched", g, axis_id))(
    raw.unbatched
)
summed = declare_linear_op(
    lambda g, axis_ids, hidden: call_on_array_or_raw("spread", g, axis_ids, hidden),
    hidden=lambda x, axis_ids: tuple(
        [n for axis_id, n in zip(x.axis_ids, x.hidden, strict=True) if axis_id in axis_ids]
    ),
)(raw.summed)
# The rule of ``spread`` returns g unchanged: the pass itself sums a cotangent over the hidden axes that
# the input does not have.
spread = declare_linear_op(lambda g: g)(raw.spread)


def unbatched(x: Array, axis_id: int, size: int) -> Any:
    """Return x with a hidden axis (of vmap) moved to its first visible axis.

    An Array without that hidden axis is repeated ``size`` times.

    axis_id, size : the number that identifies the vmap's axis, and its length.
    """
    if axis_id not in raw.axis_ids_of((x._data,)):
        x = spread(x, (axis_id,), (size,))  # an op, whose VJP sums the gradient over the axis
    return shown(x, axis_id, size)


def with_hidden_axes(x: Array, *values: Any, copy: bool = False) -> Array:
    """Return x repeated along each hidden axis (of vmap) that only ``values`` have, or x itself.

    values : Arrays, raw data or shapes.  copy : True to give the result memory of its own.
    """
    here = raw.axis_ids_of((current(x)[1],))
    hidden = {n: size for n, size in raw.lengths_of(values).items() if n not in here}
    return spread_over(x, hidden, copy)


def with_ended_axes(x: Array, shape: tuple[int, ...]) -> Array:
    """Return x repeated along the hidden axes in ``shape`` that belong to vmaps which have ended.

    A backward pass may run after the vmap in which its record was made.

    shape : a shape that a record keeps; it includes the hidden axes.
    """
    return spread_over(x, raw.ended_axes(shape))


def spread_over(x: Array, hidden: dict[int, int], copy: bool = True) -> Array:
    """Return x repeated along hidden axes (of vmap); x itself if there are none.

    hidden : dict from axis ids to lengths.
    """
    found: Array = spread(x, tuple(hidden), tuple(hidden.values()), copy) if hidden else x
    return found


def sum_over_surplus(contribution: Any, shape: tuple[int, ...]) -> Any:
    """Sum a contribution over the hidden axes (of vmap) that its input did not have when recorded.

    All examples of the vmap share such an input.  Keep the hidden axes of a ``vmap`` inside which the
    pass runs.  shape : the input's recorded shape.
    """
    gone = surplus_of(contribution, shape)
    return call_on_array_or_raw("summed", contribution, gone) if gone else contribution


def surplus_of(contribution: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ids of those hidden axes (of vmap) of a contribution that its input did not have.

    The contribution is summed over them, because all examples of the vmap share the input.

    shape : the shape of the input when it was recorded, with its hidden axes.
    """
    data = contribution._data if isinstance(contribution, Array) else contribution
    return raw.axes_to_sum(data, shape) if type(data) is raw.Batched else ()


ON_ARRAYS |= {"batched": batched, "unbatched": unbatched, "summed": summed, "spread": spread}
