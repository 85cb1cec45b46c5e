"""Call NumPy's Python code under ``vmap`` separately for each example, where a joint call fails.

An example is one of the arrays that batched data represents along a hidden axis.  The examples need
separate calls if a branch or a shape in the code depends on a value that differs between them.
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
from .._tape.jacobian import lacks_batched_form
from .._util.container_kinds import mapped_leaves
from .._util.errors import user_line
from ..ops.creation_functions import asarray
from ..ops.manipulation_functions import stack


def iterate_arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iterate_arrays(part)


def together_or_one_by_one(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a function once for all examples of a ``vmap``, or, if that fails, once for each example.

    The call for all examples may raise NoBatchedForm, for example at a branch on a value.
    name : the function's name, for messages.  args, options : the arguments, which may be batched.
    """
    try:
        return function(*args, **options)
    except TypeError as error:
        data = [current(x)[1] for x in iterate_arrays((args, options))]
        if not (axis_ids := axis_ids_of(data)) or not lacks_batched_form(error):
            raise
    return one_by_one(name, function, args, options, axis_ids[0], lengths_of(data)[axis_ids[0]])


def one_by_one(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any],
    axis_id: int, size: int,
) -> Any:  # fmt: skip
    """Call a function for each example of ``vmap``, and stack the results, which must have one shape.

    axis_id, size : the id and the length of the hidden axis that numbers the examples.  An argument that
    all examples share is repeated for each example if a tape inside the ``vmap`` follows it.  Otherwise
    the tape would sum the cotangents of different examples.
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

            def example(x: Any, i: int = i) -> Any:
                return shown[id(x)][i] if id(x) in shown else x

            given, named = mapped_leaves((args, options), example)
            found.append(together_or_one_by_one(name, function, given, named))
    # A result with this hidden axis (of vmap) depends on a mapped Array that was no argument.
    if axis_id in axis_ids_of([current(x)[1] for each in found for x in iterate_arrays(each)]):
        raise captured_value_error(name, "a mapped Array")
    if not found:
        raise NoBatchedForm(
            f"{name}: the mapped axis has length 0, so that the shape of a result is unknown "
            f"[at {user_line()}]"
        )
    return stack_examples(found, axis_id)


def stack_examples(found: Sequence[Any], axis_id: int) -> Any:
    """Stack the results of separate calls for the examples of ``vmap`` into one batched result.

    found : the result of each call.  axis_id : the id of the hidden axis that numbers the examples.

    Arrays in nested containers are stacked one by one.  NumPy values and numbers that are equal for all
    examples are returned unstacked.
    """
    first = found[0]
    if isinstance(first, Array):
        return batched(stack(found), axis_id)
    if type(first) is dict:
        return {key: stack_examples([each[key] for each in found], axis_id) for key in first}
    if isinstance(first, list | tuple):
        parts = [stack_examples(column, axis_id) for column in zip(*found, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if not isinstance(first, np.ndarray | np.generic | int | float | complex):
        return first
    if all(np.array_equal(first, each, equal_nan=True) for each in found[1:]):
        return first
    return batched(asarray(np.stack(found)), axis_id)


def is_followed(value_id: int, inside: Sequence[Recorder]) -> bool:
    return bool(value_id) and any(value_id in recorder.followed for recorder in inside)


def captured_value_error(name: str, what: str) -> Exception:
    """Return the error for a user's function that uses a value from an enclosing scope under ``vmap``.

    name : the NumPy function that calls the user's.  what : the kind of the value, for the message.
    """
    return ValueError(
        f"{name}: pass what your function uses to it as an argument, through {name}'s further "
        f"arguments: under vmap your function runs for one example after the other, and must not use "
        f"{what} from an enclosing scope [at {user_line()}]"
    )


class FollowedWithin(set[int]):
    """A stand-in for the set of all value ids that recorders inside a ``vmap`` follow.

    ``value_id in self`` asks the recorders ``inside`` (tapes or accumulators).
    """

    def __init__(self, inside: Sequence[Recorder]) -> None:
        super().__init__()
        self.inside = inside

    def __contains__(self, value_id: Any) -> bool:
        return is_followed(value_id, self.inside)

    def __bool__(self) -> bool:
        return any(recorder.followed for recorder in self.inside)


class Captures(BaseRecorder):
    """A recorder that raises ValueError if a user's function uses a followed value that it captured.

    Such a value is no argument of the function.  The tapes inside the ``vmap`` would sum the cotangents
    that different examples add to it.
    name : the NumPy function, for the message.  inside : the recorders of these tapes.
    given : the Array arguments of the function.
    """

    def __init__(self, name: str, inside: Sequence[Recorder], given: Iterable[Array]) -> None:
        self.name, self.followed = name, FollowedWithin(inside)
        self.given, self.first = {current(x)[0] for x in given}, new_value_id()

    def record(self, record: Record) -> None:
        """Raise ValueError if an op uses a followed value that was captured from an enclosing scope.

        Such a value is no argument of the function, and older than its first call.
        """
        for value_id in inputs_of(record):
            if value_id < self.first and value_id not in self.given and value_id in self.followed:
                raise captured_value_error(self.name, "an Array that a tape follows")
