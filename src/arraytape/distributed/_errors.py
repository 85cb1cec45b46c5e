"""Errors of workers, with notes that name the function, the partition and the line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .._util.errors import outside, user_line


class PartitionError(RuntimeError):
    """A partition could not be computed: its workers died, or its data was lost.

    Parameters
    ----------
    message : str
        The message: what happened, and what to do.
    function : str
        The name of the user's function.
    partition : int or None
        The index of the partition in the data; None if it is not known.  If a worker died, it is the
        index of a partition that the worker computed, or that waited for this worker.

    Examples
    --------
    >>> import arraytape as xp
    >>> data = xp.distributed.partitions([[1.0], [2.0]])
    >>> step = xp.distributed.value_and_grad(lambda w, x: xp.sum(w * xp.asarray(x)), data)
    >>> try:
    ...     value, gradient = step(xp.asarray(3.0))
    ... except xp.distributed.PartitionError as error:  # the workers of a partition died
    ...     print(f"partition {error.partition} is lost")
    ... else:
    ...     print(value, gradient)
    9.0 3.0
    """

    def __init__(self, message: str, function: str = "", partition: int | None = None) -> None:
        super().__init__(message)
        self.function, self.partition = function, partition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.function, self.partition)


def import_installed(package: str, called: str) -> Any:
    """Import a package that comes with Dask; raise ImportError with the command to install it.

    called : the name of the package in the message.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"arraytape.distributed needs {called} [at {user_line()}]: "
            "pip install 'arraytape[distributed]'"
        ) from error


def function_label(f: Callable[..., Any]) -> str:
    """Return the name of a user's function in messages and on Dask's dashboard."""
    while isinstance(f, functools.partial):
        f = next((one for one in f.args if callable(one)), f.func)
    return str(getattr(f, "__name__", type(f).__name__))


def annotate(error: BaseException, index: int, count: int, blocks: tuple[Any, ...]) -> None:
    """Add a note to an error: the partition, and the user's line in which the error was raised.

    index, count : the index of the partition, and the number of partitions.
    blocks : the data of the partition.
    """
    shapes = ", ".join(str(tuple(x.shape)) for x in blocks if hasattr(x, "shape"))
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if outside(file):
            place = f" [at {file}:{trace.tb_lineno}]"
        trace = trace.tb_next
    error.add_note(f"in partition {index} of {count} (blocks of shapes {shapes}){place}")


def annotate_data(error: BaseException, name: str) -> None:
    """Add a note that an error arose while Dask computed or moved the data, and not in f.

    Errors that arose in f already have a note, from ``annotate``, and get no other.
    name : the name of the user's function f.
    """
    if isinstance(error, Exception) and not hasattr(error, "__notes__"):
        error.add_note(
            f"{name}: while its partitions were computed or moved, not inside the function"
        )


def workers_died(function: str, index: int | None, count: int) -> PartitionError:
    """Return the error for a task whose workers died again and again.

    index, count : the index of the partition, or None, and the number of partitions.
    """
    which = f"partition {index} of {count}" if index is not None else "a task of the sum"
    return PartitionError(
        f"{function}: make the partitions smaller, or give the workers more memory: the workers died "
        f"that had {which}, or one that waited next to it, most likely for want of memory; their logs "
        f"say more [at {user_line()}]",
        function, index,
    )  # fmt: skip


def data_lost(function: str, error: BaseException) -> PartitionError:
    """Return the error for lost data that the scheduler has no task to compute again."""
    why = " ".join(str(error).split()).rstrip(".")
    return PartitionError(
        f"{function}: make the partitions again, by Dask's readers or delayed functions, so that lost "
        f"blocks can be computed again: their data is lost ({why}). Scattered data is lost with its "
        f"worker, persisted data by a restart or cancel [at {user_line()}]",
        function,
    )  # fmt: skip


def no_workers(function: str, state: str, seconds: float) -> PartitionError:
    """Return the error for a cluster of which no worker ran tasks for some seconds.

    state : the reason why no worker runs tasks.
    """
    return PartitionError(
        f"{function}: start workers by cluster.scale(n); if they start slowly, call "
        "client.wait_for_workers(n) first, or set Dask's option "
        "distributed.scheduler.no-workers-timeout: no worker of the cluster ran tasks for "
        f"{seconds:g} s: {state} [at {user_line()}]",
        function,
    )  # fmt: skip
