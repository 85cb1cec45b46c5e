"""Jacobians: the gradient of each element of a target, as rows of one array.

One backward pass computes many rows at a time.  Its cotangents have a hidden axis of rows, which their
``shape`` does not show.  If an op or a user's function cannot compute on such batched data, a separate
pass computes each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .._array.array import Array, namespace, wrap
from .._record.plan import PLANS, Plan, Record
from .._storage.batched import batched_data as raw
from .._storage.batched.batched_data import (
    Batched,
    NoBatchedForm,
    diagonal,
    new_axis_id,
    open_hidden_axis,
)
from .._storage.storage import STORAGES, storage_of
from .._util import nest
from .._util.decision_log import log_decision
from .._util.errors import describe, user_line
from .._util.nest import Nesting
from .arguments import Holes, UnconnectedGradients, around_holes, arrays_of, parse_unconnected
from .differentiation import Differentiation
from .hidden_axes import unbatched
from .packing import Packed
from .recording import Recording

MEMORY = 2**26  # the approximate limit on the bytes of one cotangent in a batched pass
Seed = Callable[[int], Array]


def compute_jacobian(
    recording: Recording,
    target: Nesting,
    sources: Nesting,
    unconnected_gradients: UnconnectedGradients | str,
    chunk_size: int | None = None,
) -> Any:
    """Compute the result of ``GradientTape.jacobian``: the Jacobian with respect to each source.

    chunk_size : the number of rows in a batched pass; None to choose it by the memory that rows need.
    The other parameters are those of ``GradientTape.jacobian``.
    """
    recording.check_usable()
    zero = parse_unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
    y = one_array(target, "jacobian", "target")
    try:
        asked = arrays_of(sources, "source", "jacobian")
    except Holes:
        rest = unconnected_gradients, chunk_size
        return around_holes(sources, lambda some: compute_jacobian(recording, target, some, *rest))
    shapes = [y.shape + x.shape for x in asked]
    with recording.paused():
        request = Differentiation(recording, [y], asked)
        rows = jacobian_rows(request, y, chunk_size=chunk_size)
        found = [reshaped_copy(g, shape) for g, shape in zip(rows, shapes, strict=True)]
        packed = nest.pack_nesting(sources, request.answers(found, zero, shapes))
        recording.use_up()
    return packed


def compute_batch_jacobian(
    recording: Recording,
    target: Nesting,
    source: Nesting,
    unconnected_gradients: UnconnectedGradients | str,
) -> Any:
    recording.check_usable()
    zero = parse_unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
    y = one_array(target, "batch_jacobian", "target")
    x = one_array(source, "batch_jacobian", "source")
    if min(y.ndim, x.ndim) < 2 or y.shape[0] != x.shape[0]:
        raise ValueError(
            "batch_jacobian(): target and source need at least two dimensions, the first of the same "
            f"length; got target {describe(y)}, source {describe(x)} [at {user_line()}]"
        )
    shape = y.shape + x.shape[1:]
    with recording.paused():
        request = Differentiation(recording, [y], [x])
        (found,) = jacobian_rows(request, y, y.shape[0])
        if found is not None:
            found = reshaped_copy(namespace().moveaxis(found, 0, 1), shape)
        (answer,) = request.answers([found], zero, [shape])
        recording.use_up()
    return answer


def one_array(x: Nesting, caller: str, what: str) -> Array:
    """Return ``x`` if it is one Array; raise TypeError if it is not.

    caller, what : the user's function and "target" or "source", for the message.
    """
    parts = nest.parts_of_nesting(x)
    if parts is not None:
        raise TypeError(
            f"{caller}(): the {what} must be one Array, got a {type(x).__name__} of {len(parts)}; call "
            f"it once for each on a persistent tape [at {user_line()}]"
        )
    return arrays_of(x, what, caller)[0]


def unit_seed(y: Array, i: int, batch: int) -> Array:
    """Return the seed of row i of a Jacobian: an Array like y with 1 at element i, and 0 elsewhere.

    batch : 1, or for batch Jacobians the length of the first axis of y.  In the latter case the seed has
    a 1 in each entry of that axis.
    """
    storage = storage_of(y._data)
    size = math.prod(y.shape) // batch if batch else 0
    data = storage.create("zeros", y.device, (batch, size), dtype=y.dtype)
    if size:
        data = storage_of(data).put(data, (slice(None), i), 1)
    return wrap(raw.spread_like(storage.xp.reshape(data, tuple(y.shape)), y._data))


def reshaped_copy(g: Array | None, shape: tuple[int, ...]) -> Any:
    if g is None or g.shape == shape:
        return g
    return namespace().reshape(g, shape, copy=True)


def jacobian_rows(
    request: Differentiation, y: Array, batch: int = 1, chunk_size: int | None = None
) -> list[Any]:
    """Return for each source an array whose row i is the gradient of element i of y.

    The result for a source is None if y does not depend on it.
    request : the target, sources and tape.
    batch : 1, or for batch Jacobians the length of the first axis of y.  In the latter case row i is the
    gradient of ``sum(y.reshape(batch, -1)[:, i])``.
    chunk_size : the number of rows in a pass; None for as many as fit into memory.
    """
    if not request.places:
        return []
    rows = math.prod(y.shape) // batch if batch else math.prod(y.shape[1:])
    recording = request.recording
    # A hook is a user's function, which may fail on batched data.
    largest = (
        largest_kept_size(recording.records) if rows > 1 and batch and not recording.hooks else None
    )
    with storage_of(y._data).at(y._data):
        if largest is not None:
            step = chunk_size or rows_at_once(max(largest, y.size))
            try:
                return rows_in_batches(request, y, rows, batch, step)
            except Exception as error:
                if not lacks_batched_form(error):
                    raise
        return rows_one_by_one(request, rows, lambda i: unit_seed(y, i, batch))


def rows_one_by_one(request: Differentiation, rows: int, seed: Seed) -> list[Any]:
    """Return the Jacobian's rows for each source, along a new first axis, by a pass for each row.

    request : the target, sources and tape.  rows : the number of rows.
    seed : a function from the number of a row to the seed of its pass.
    """
    xp: Any = namespace()
    log_single_passes(rows)
    found = [request.run_pass([seed(i)], picks=True) for i in range(max(rows, 1))]
    return [
        None if column[0] is None
        else xp.stack(column) if rows
        else xp.zeros((0, *column[0].shape), dtype=column[0].dtype, device=column[0].device)
        for column in zip(*found, strict=True)
    ]  # fmt: skip


def log_single_passes(count: int) -> None:
    if count > 1:
        log_decision(
            "a user's function cannot compute %d directions in one batched pass: each takes a pass of "
            "its own [at %s]",
            count,
            user_line,
        )


def rows_at_once(size: int) -> int:
    """Return the number of rows in one pass, so that its largest cotangent takes about 64 MB.

    size : the number of elements of the largest cotangent of one row.
    """
    return max(1, MEMORY // (8 * max(size, 1)))


# --- all rows in one backward pass ------------------------------------------------------------------
def largest_kept_size(records: Iterable[Record]) -> int | None:
    """Return the number of elements of the largest array that a record keeps.

    It bounds the number of Jacobian rows that one batched pass can compute.

    Return None if a user's rule is among the records, since the rule may fail on batched data.
    """
    largest = 0
    for record in records:
        plan = PLANS[record[0]]
        if (type(plan) is Plan and plan.op.checked) or hasattr(record[-1], "missing"):
            return None
        for item in record:
            if (type(item) in STORAGES or type(item) is Packed) and item.size > largest:
                largest = item.size
    return largest


def lacks_batched_form(error: BaseException | None) -> bool:
    """Return True if an error, or one of its causes, is a NoBatchedForm.

    Then an op cannot compute many rows of a Jacobian at once, and the caller computes one by one.
    """
    while error is not None and not isinstance(error, NoBatchedForm):
        error = error.__cause__
    return error is not None


def rows_in_batches(
    request: Differentiation, y: Array, rows: int, batch: int, step: int
) -> list[Any]:
    """Return the Jacobian's rows for each source, along a new first axis, by passes on batched data.

    rows, step : the number of rows, and of those that one pass computes.
    batch : 1, or for batch Jacobians the length of the first axis of y.
    """
    axis_id = new_axis_id()
    chunks = []
    with open_hidden_axis(axis_id):
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            found = request.run_pass([batched_seeds(y, axis_id, start, stop, batch)], picks=True)
            chunks.append([rows_in(g, axis_id, stop - start) for g in found])
    if len(chunks) == 1:
        return chunks[0]
    return [
        None if parts[0] is None else namespace().concat(parts)
        for parts in zip(*chunks, strict=True)
    ]


def rows_in(g: Array | None, axis_id: int, size: int) -> Any:
    """Return g, a gradient with a hidden axis of ``size`` rows, with this axis as its first axis.

    A hidden axis is one that the ``shape`` of an Array does not show.

    axis_id : the number that identifies the hidden axis.
    """
    if g is None:
        return None
    return (
        unbatched(g, axis_id, size) if g._value_id else wrap(raw.unbatched(g._data, axis_id, size))
    )


def batched_seeds(y: Array, axis_id: int, start: int, stop: int, batch: int) -> Array:
    """Return the seeds of rows ``start`` to ``stop``, as one Array with the hidden axis ``axis_id``.

    Each seed has the shape of y and is a row of the identity matrix, 1 at one element and 0 elsewhere.

    batch : 1, or for batch Jacobians the length of the first axis of y, along which a seed is repeated.
    """
    storage, shape = storage_of(y._data), tuple(y.shape)
    if batch == 1:
        ones = storage.create("ones", y.device, shape, dtype=y.dtype)
        return wrap(raw.spread_like(diagonal(ones, axis_id, start, stop), y._data))
    size = math.prod(shape) // batch
    data = storage.create("zeros", y.device, (stop - start, batch, size), dtype=y.dtype)
    for row in range(start, stop):
        data = storage_of(data).put(data, (row - start, slice(None), row), 1)
    rows = Batched(storage.xp.reshape(data, (stop - start, *shape)), (axis_id,))
    return wrap(raw.spread_like(rows, y._data))
