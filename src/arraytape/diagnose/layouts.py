"""Shapes and dtypes of values on a tape, inferred from its records, for the boxes of ``graph``.

Records keep only the shapes and dtypes that their rules need.  The others are inferred from properties
of ops: from inputs to results and back, in turns, until nothing new is found.  They are only displayed.
A *layout* is a pair (shape, dtype), in which None stands for what is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.aliasing import ADD, PUT, VIEW, ViewRecord, write_of
from .._array.paths import IMAG, REAL, walk_path
from .._custom.recorded_calls import SAME
from .._record.plan import Plan, Record, Structural, inputs_of, plan_of, results_of
from .._storage import numpy_namespace
from .._util.array_types import HasLayout

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Layout = tuple[Any, Any]  # shape and dtype, None if unknown
UNKNOWN: Layout = (None, None)
PROBED = 100_000  # a linear op is run on zeros of at most this size, to find its result's shape


def layouts_of(records: Sequence[Record], known: dict[int, Layout]) -> dict[int, Layout]:
    """Return a dict from value ids to (shape, dtype): ``known`` and all that can be inferred from it.

    known : the shapes and dtypes of some values, such as the watched ones.
    """
    found = dict(known)
    for record in records:
        for value_id, layout in stored_layouts(record):
            fill_layout(found, value_id, layout)
    changed = True
    while changed:
        # Walk forwards and backwards, since an elementwise op's result has the shape of its inputs.
        passes = (inferred_layouts(record, found) for record in (*records, *reversed(records)))
        changed = (
            sum(
                fill_layout(found, value_id, layout)
                for pairs in passes
                for value_id, layout in pairs
            )
            > 0
        )
    return found


def fill_layout(found: dict[int, Layout], value_id: int, layout: Layout) -> bool:
    """Fill in what is unknown of a value's shape and dtype; return True if anything was filled in.

    found : dict from value ids to the (shape, dtype) found so far; None for what is unknown.
    """
    shape, dtype = found.get(value_id, UNKNOWN)
    new_shape, new_dtype = shape is None is not layout[0], dtype is None is not layout[1]
    if not value_id or not (new_shape or new_dtype):
        return False
    found[value_id] = (layout[0] if new_shape else shape, layout[1] if new_dtype else dtype)
    return True


def stored_layouts(record: Record) -> Iterator[tuple[int, Layout]]:
    """Yield pairs (value id, layout) for inputs and results whose shape or dtype the record stores."""
    plan = plan_of(record)
    if isinstance(plan, Plan):
        yield from zip(results_of(record), (plan.result_layout(record, y) for y in plan.op.outputs),
                       strict=False)  # fmt: skip
        names = plan.op.inputs
        if plan.op.variadic:
            yield from variadic_layouts(plan, record)
            return
        for name, value_id in zip(names, inputs_of(record), strict=True):
            if value_id:  # 0: not followed, perhaps a Python number
                yield value_id, plan.result_layout(record, name)
    elif plan is VIEW:
        view = ViewRecord(*record)
        yield view.root, (tuple(view.shape), None)
    elif plan in (PUT, ADD):
        write = write_of(record)
        yield from (
            (value_id, (write.root_shape, write.root_dtype)) for value_id in (write.new, write.old)
        )
        yield write.value, (write.shape, write.dtype)
    else:  # a call of a user's function keeps the layouts of its results
        results = getattr(record[-1], "results", ())
        for value_id, layout in zip(results_of(record), results, strict=False):
            yield value_id, (layout.shape, layout.dtype)


def variadic_layouts(plan: Plan, record: Record) -> Iterator[tuple[int, Layout]]:
    """Yield pairs (value id, layout) for the inputs of an op that takes any number of arrays."""
    (name,) = plan.op.inputs
    value_ids = inputs_of(record)
    kept = plan.kept_value(record, name) if plan.keeps_value(name) else None
    if isinstance(kept, tuple | list) and len(kept) == len(value_ids):
        for value_id, data in zip(value_ids, kept, strict=True):
            yield value_id, (getattr(data, "shape", None), getattr(data, "dtype", None))
        return
    shapes, dtypes = (
        plan.kept_value(record, f"{what} {name}")
        if plan.keeps_value(f"{what} {name}")
        else [None] * len(value_ids)
        for what in ("shape", "dtype")
    )
    yield from (
        (value_id, (s, d)) for value_id, s, d in zip(value_ids, shapes, dtypes, strict=False)
    )


def inferred_layouts(record: Record, found: dict[int, Layout]) -> Iterable[tuple[int, Layout]]:
    """Return pairs (value id, layout) for values of a record, inferred from the layouts in ``found``."""
    plan, value_ids = plan_of(record), (*results_of(record), *inputs_of(record))
    if isinstance(plan, Structural):
        return structural_layouts(plan, record, found)
    if plan.op.kind == "elementwise" and not plan.needs_fit:
        shapes = [found.get(value_id, UNKNOWN)[0] for value_id in value_ids]
        dtypes = [found.get(value_id, UNKNOWN)[1] for value_id in value_ids]
        one = next((s for s in shapes if s is not None), None)
        dtype = None if plan.op.own_dtype else next((d for d in dtypes if d is not None), None)
        return [(value_id, (one, dtype)) for value_id in value_ids]
    if plan.op.kind == "linear" and not plan.op.variadic:
        return linear_layouts(plan, record, found)
    return ()


def structural_layouts(
    plan: Structural, record: Record, found: dict[int, Layout]
) -> Iterable[tuple[int, Layout]]:
    """Return pairs (value id, layout) for a view or another record that no op made.

    found : dict from value ids to the layouts known so far.
    """
    if plan is SAME:
        return [
            (record[1], found.get(record[2], UNKNOWN)),
            (record[2], found.get(record[1], UNKNOWN)),
        ]
    if plan is not VIEW:
        return ()
    view = ViewRecord(*record)
    (shape, dtype), (_, end) = found.get(view.root, UNKNOWN), found.get(view.view, UNKNOWN)
    real = any(kind in (REAL, IMAG) for kind, _ in view.path)
    tried = next(one for one in (dtype, end, complex if real else float) if one is not None)
    part = layout_of_result(shape, tried, lambda data: walk_path(data, view.path, numpy_namespace))
    return [
        (view.view, (part[0], part[1] if dtype is not None else None)),
        (view.root, (None, None if real else end)),
    ]


def linear_layouts(
    plan: Plan, record: Record, found: dict[int, Layout]
) -> list[tuple[int, Layout]]:
    """Infer the layout of a linear op's result, from its parameters or by a run on zeros.

    Return [(value id, layout)], or [] if the layout is known already or cannot be found.
    """
    inputs = inputs_of(record)
    shape, dtype = found.get(inputs[0], UNKNOWN)
    function = getattr(numpy_namespace, plan.name, None)
    (out,) = results_of(record)[:1]
    if found.get(out, UNKNOWN)[0] is not None or len(inputs) > 1 or function is None:
        return []
    if plan.keeps_value("dtype") and plan.kept_value(record, "dtype") is not None:
        return [(out, (shape if plan.op.per_element else None, plan.kept_value(record, "dtype")))]
    if shape is None or dtype is None or np.prod(shape, dtype=float) > PROBED:
        return []
    return [
        (out, layout_of_result(shape, dtype, lambda x: function(x, **plan.kept_parameters(record))))
    ]


def layout_of_result(
    shape: tuple[int, ...] | None, dtype: DTypeLike, function: Callable[[np.ndarray], HasLayout]
) -> Layout:
    """Run a function on zeros, and return the (shape, dtype) of its result.

    The zeros are one element that is broadcast, so they need no memory.  If ``shape`` is None, or the
    function raises, return UNKNOWN.
    """
    if shape is None:
        return UNKNOWN
    try:
        given = function(np.broadcast_to(np.zeros((), dtype=dtype), shape))
    except Exception:  # NumPy may reject another library's parameters; the shape is only displayed
        return UNKNOWN
    return given.shape, given.dtype
