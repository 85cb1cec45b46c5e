"""Calls of a function for one example after the other, under ``vmap``.

An example is one of the arrays that batched data represents along a hidden axis.  The examples need
separate calls if a branch or a shape in the function depends on a value that differs between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.views import current, stable_handle
from .._record.plan import Record, inputs_of
from .._record.stack import BaseRecorder, Recorder, entered, new_value_id
from .._storage.batched.batched_data import NoBatchedForm, axis_ids_of, lengths_of, recorders_within
from .._storage.storage import HERE
from .._tape.hidden_axes import batched, unbatched
from .._util.errors import user_line
from ..ops.creation_functions import asarray
from ..ops.manipulation_functions import stack


def iterate_arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iterate_arrays(part)


def map_nested_arrays(value: Any, function: Callable[[Array], Any]) -> Any:
    if isinstance(value, Array):
        return function(value)
    if type(value) is dict:
        return {key: map_nested_arrays(part, function) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)([map_nested_arrays(part, function) for part in value])
    return value


def asks_for_a_value(error: BaseException | None) -> bool:
    """Return True if an error or one of its causes is NoBatchedForm, such as ``float(x)`` raises."""
    while error is not None and not isinstance(error, NoBatchedForm):
        error = error.__cause__
    return error is not None


def together_or_one_by_one(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a function once for all examples of a vmap; if that raises NoBatchedForm, once for each."""
    try:
        return function(*args, **options)
    except TypeError as error:
        data = [current(x)[1] for x in iterate_arrays((args, options))]
        if not (axis_ids := axis_ids_of(data)) or not asks_for_a_value(error):
            raise
    return one_by_one(name, function, args, options, axis_ids[0], lengths_of(data)[axis_ids[0]])


def one_by_one(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any],
    axis_id: int, size: int,
) -> Any:  # fmt: skip
    """Call the function for each example of a vmap's hidden axis; stack the results along that axis.

    The results must have the same shape.  An argument that all examples share is repeated for each
    example if a tape inside the ``vmap`` follows it: the tape must not sum cotangents of different
    examples.

    axis_id, size : the id and the length of the hidden axis.
    """
    inside = recorders_within(axis_id)
    shown = {
        id(x): unbatched(stable_handle(x), axis_id, size)
        for x in iterate_arrays((args, options))
        if axis_id in axis_ids_of((current(x)[1],)) or is_followed(current(x)[0], inside)
    }
    found = []
    with entered(Captures(name, inside, shown.values())) if inside else HERE:
        for i in range(size):

            def example(x: Array, i: int = i) -> Array:
                return shown[id(x)][i] if id(x) in shown else x

            given, named = map_nested_arrays((args, options), example)
            found.append(together_or_one_by_one(name, function, given, named))
    # A result with this hidden axis (of vmap) depends on a mapped Array that was no argument.
    if axis_id in axis_ids_of([current(x)[1] for each in found for x in iterate_arrays(each)]):
        raise captured(name, "a mapped Array")
    if not found:
        raise NoBatchedForm(
            f"{name}: the mapped axis has length 0, so that the shape of a result is unknown "
            f"[at {user_line()}]"
        )
    return together(found, axis_id)


def together(found: Sequence[Any], axis_id: int) -> Any:
    """Stack the results of all examples; NumPy values and numbers only if the examples differ."""
    first = found[0]
    if isinstance(first, Array):
        return batched(stack(found), axis_id)
    if type(first) is dict:
        return {key: together([each[key] for each in found], axis_id) for key in first}
    if isinstance(first, list | tuple):
        parts = [together(column, axis_id) for column in zip(*found, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if not isinstance(first, np.ndarray | np.generic | int | float | complex):
        return first
    if all(np.array_equal(first, each, equal_nan=True) for each in found[1:]):
        return first
    return batched(asarray(np.stack(found)), axis_id)


def is_followed(value_id: int, inside: Sequence[Recorder]) -> bool:
    return bool(value_id) and any(value_id in recorder.followed for recorder in inside)


def captured(name: str, what: str) -> Exception:
    """Return the error for a function that uses ``what`` without getting it as an argument."""
    return ValueError(
        f"{name}: pass what your function uses to it as an argument, through {name}'s further "
        f"arguments: under vmap your function runs for one example after the other, and must not use "
        f"{what} from an enclosing scope [at {user_line()}]"
    )


class FollowedWithin(set[int]):
    """The value ids that a recorder inside the vmap follows now; each test asks all these recorders."""

    def __init__(self, inside: Sequence[Recorder]) -> None:
        super().__init__()
        self.inside = inside

    def __contains__(self, value_id: Any) -> bool:
        return is_followed(value_id, self.inside)

    def __bool__(self) -> bool:
        return any(recorder.followed for recorder in self.inside)


class Captures(BaseRecorder):
    """A recorder that raises ValueError if the function uses a captured value that a tape follows.

    A captured value is one that is no argument.

    The tapes inside the ``vmap`` would sum the cotangents that different examples add to such a value.
    given : the Array arguments of the function.
    """

    def __init__(self, name: str, inside: Sequence[Recorder], given: Iterable[Array]) -> None:
        self.name, self.followed = name, FollowedWithin(inside)
        self.given, self.first = {current(x)[0] for x in given}, new_value_id()

    def record(self, record: Record) -> None:
        """Raise ValueError for a followed input made before the first call, unless it is an argument."""
        for value_id in inputs_of(record):
            if value_id < self.first and value_id not in self.given and value_id in self.followed:
                raise captured(self.name, "an Array that a tape follows")
