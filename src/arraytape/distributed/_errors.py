"""What goes wrong on workers, said with the function and the partition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._util.errors import outside, user_line


class PartitionError(RuntimeError):
    """A partition could not be computed: its workers died, or its data was lost.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    function : str
        The name of the user's function.
    partition : int or None
        The place of the partition in the data; None where it is not known.  Of a worker that died it is
        one of those that it had: the one that it computed, or one that waited there.
    """

    def __init__(self, message: str, function: str = "", partition: int | None = None) -> None:
        super().__init__(message)
        self.function, self.partition = function, partition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.function, self.partition)


def name_of(f: Callable[..., Any]) -> str:
    """How messages and the engine's pages call a user's function."""
    while isinstance(f, functools.partial):
        f = next((one for one in f.args if callable(one)), f.func)
    return str(getattr(f, "__name__", type(f).__name__))


def annotate(error: BaseException, index: int, count: int, blocks: tuple[Any, ...]) -> None:
    """Say with an error in which partition it was, and at which line of the user's."""
    shapes = ", ".join(str(tuple(x.shape)) for x in blocks if hasattr(x, "shape"))
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if outside(file):
            place = f" [at {file}:{trace.tb_lineno}]"
        trace = trace.tb_next
    error.add_note(f"in partition {index} of {count} (blocks of shapes {shapes}){place}")


def died(function: str, key: str, count: int) -> PartitionError:
    """The error for a task whose workers died again and again."""
    number = key.rpartition("-")[2]
    index = int(number) if number.isdigit() else None
    which = f"partition {index} of {count}" if index is not None else "a sum of partitions"
    return PartitionError(
        f"{function}: the workers died that had {which}, or one that waited beside it, most likely for "
        "want of memory: make the partitions smaller, or give the workers more memory; their logs say "
        f"more [at {user_line()}]",
        function, index,
    )  # fmt: skip


def lost(function: str, error: BaseException) -> PartitionError:
    """The error for data that is gone with its worker, and that nobody knows how to compute again."""
    return PartitionError(
        f"{function}: data of the partitions is lost: {error}. What was scattered to workers goes with "
        f"them: load it by Dask's readers or delayed functions, and persist that [at {user_line()}]",
        function,
    )  # fmt: skip


__all__ = ["PartitionError"]
