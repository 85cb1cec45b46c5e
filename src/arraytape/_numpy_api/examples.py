"""Functions that look at values, under ``vmap``: one example after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._array.array import Array
from .._array.views import current, stable_handle
from .._storage.batched.data import NoBatchedForm, axis_ids_of, lengths_of
from .._tape.hidden_axes import batched, unbatched
from ..ops.manipulation_functions import stack


def arrays_in(value: Any) -> Iterator[Array]:
    """The Arrays in nested lists, tuples and dicts."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(part)


def mapped(value: Any, function: Callable[[Array], Any]) -> Any:
    """A nesting with the function's answer in the place of each Array."""
    if isinstance(value, Array):
        return function(value)
    if type(value) is dict:
        return {key: mapped(part, function) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)([mapped(part, function) for part in value])
    return value


def asks_for_a_value(error: BaseException | None) -> bool:
    """Whether an error comes from a look at values of which one stands for many."""
    while error is not None and not isinstance(error, NoBatchedForm):
        error = error.__cause__
    return error is not None


def together_or_one_by_one(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """The function of all examples at once, or where it looks at values, of one after the other."""
    try:
        return function(*args, **options)
    except TypeError as error:
        data = [current(x)[1] for x in arrays_in((args, options))]
        if not (axis_ids := axis_ids_of(data)) or not asks_for_a_value(error):
            raise
    return one_by_one(function, args, options, axis_ids[0], lengths_of(data)[axis_ids[0]])


def one_by_one(
    function: Callable[..., Any], args: Any, options: Any, axis_id: int, size: int
) -> Any:  # fmt: skip
    """Results of a function along a hidden axis; they must be of one shape."""
    shown = {
        id(x): unbatched(stable_handle(x), axis_id, size)
        for x in arrays_in((args, options))
        if axis_id in axis_ids_of((current(x)[1],))
    }
    found = []
    for i in range(size):

        def example(x: Array, i: int = i) -> Array:
            return shown[id(x)][i] if id(x) in shown else x

        given, named = mapped((args, options), example)
        found.append(together_or_one_by_one(function, given, named))
    lines = [iter([*arrays_in(each)]) for each in found]
    return mapped(found[0], lambda x: batched(stack([next(line) for line in lines]), axis_id))
