"""The tasks of a sum on Dask: one for each partition, then a tree of sums in a fixed order.

Parameters with these names are the same in all functions:
blocks : for each partition its blocks of data: futures on a cluster, else Dask objects or plain data.
message : the user's function f with its parameters; ``name`` is the name of f.
ahead : the indices of those leaves (Arrays and Variables) of the parameters with respect to which the
    tasks compute gradients, too.
fan_in : the number of results that one task adds.
retries : how often a task that raised is run again.
key : the start of the names of the tasks.
"""

from __future__ import annotations

import functools
import sys
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._cluster import await_result, check_installed, check_running, client_of
from ._errors import annotate_data, data_lost, import_installed, no_workers, workers_died
from ._message import Message
from ._worker import PartialSum, add_parts, run_partition

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from ._cluster import Client, Future

NO_WORKERS = "NoWorkerError", "NoValidWorkerError"  # Dask's errors after its no-workers-timeout
LARGE = 65_536  # a message of more bytes is sent to each worker once, not with every task


def sum_of(
    blocks: Sequence[tuple[Any, ...]], message: Message, ahead: Sequence[int], fan_in: int,
    retries: int,
) -> PartialSum:  # fmt: skip
    """Return the sum of ``f(*params, *blocks)`` over the partitions, computed by Dask.

    The result has the same bits in whichever order the tasks run.
    """
    client = client_of(blocks)
    # The names of the tasks begin with this key, and Dask's dashboard shows them.
    key = f"{message.name}-{uuid.uuid4().hex[:12]}"
    if client is None:
        return compute_graph(sum_graph(blocks, message, ahead, fan_in, key), message.name)
    check_installed(client, message.name)
    if any(is_lazy(block) for row in blocks for block in row):
        # One graph loads, uses and releases block after block, so that memory never holds all of them.
        total = client.compute(
            sum_graph(blocks, message_for(client, message), ahead, fan_in, key), retries=retries
        )
    else:
        total = map_partitions(client, blocks, message, ahead, fan_in, retries, key)
    return result_of_future(client, total, message.name, key, blocks)


def import_dask() -> Any:
    return import_installed("dask", "Dask")


def is_lazy(block: Any) -> bool:
    """Return True if a block is a Dask object that is not computed yet."""
    return hasattr(block, "__dask_graph__")


def persist_blocks(blocks: Sequence[tuple[Any, ...]], retries: int) -> list[tuple[Any, ...]]:
    """Compute the blocks of data and return them; on a cluster as futures, recomputed if lost."""
    dask, client = import_dask(), client_of(blocks)
    futures = sys.modules["distributed"].Future if client is not None else ()
    lazy = [
        block if is_lazy(block) or isinstance(block, futures) else dask.delayed(block, traverse=False)
        for row in blocks for block in row
    ]  # fmt: skip
    flat = dask.persist(*lazy) if client is None else client.compute(lazy, retries=retries)
    count = len(blocks[0])
    return [tuple(flat[i : i + count]) for i in range(0, len(flat), count)]


# --- two ways to run a sum on Dask --------------------------------------------------------------------
def sum_graph(
    blocks: Sequence[tuple[Any, ...]], given: Any, ahead: Sequence[int], fan_in: int,
    key: str,
) -> Any:  # fmt: skip
    """Return the sum as one graph of Dask's delayed calls, for lazy blocks or without a cluster.

    given : the message, or a future of it.
    """
    delayed, count = import_dask().delayed, len(blocks)
    if isinstance(given, Message):
        given = delayed(given, traverse=False)
    call = delayed(run_partition, pure=False, traverse=False)
    parts = [
        call(i, count, given, ahead, *row, dask_key_name=f"{key}-{i}")
        for i, row in enumerate(blocks)
    ]
    add = delayed(functools.partial(add_parts, key.rpartition("-")[0]), pure=False)
    for level, groups in sum_levels(parts, fan_in):
        parts[:] = [
            add(group, dask_key_name=f"sum{level}-{key}-{i}") for i, group in enumerate(groups)
        ]
    return parts[0]


def map_partitions(
    client: Client, blocks: Sequence[tuple[Any, ...]], message: Message, ahead: Sequence[int],
    fan_in: int, retries: int, key: str,
) -> Future:  # fmt: skip
    """Submit a task for each partition and tasks that add the results; return a future of the sum."""
    retry_killed(client, blocks)
    count = len(blocks)
    options = {"retries": retries, "pure": False}
    parts = client.map(  # each list has the values of one parameter for all partitions
        run_partition, range(count), [count] * count, [message_for(client, message)] * count,
        [ahead] * count, *zip(*blocks, strict=True), key=[f"{key}-{i}" for i in range(count)], **options,
    )  # fmt: skip
    add = functools.partial(add_parts, message.name)
    for level, groups in sum_levels(parts, fan_in):
        keys = [f"sum{level}-{key}-{i}" for i in range(len(groups))]
        parts[:] = client.map(add, groups, key=keys, **options)
    return parts[0]


def sum_levels(parts: list[Any], fan_in: int) -> Iterator[tuple[int, list[list[Any]]]]:
    """Yield the groups of results that the tasks of a tree of sums add, level by level.

    Each item is a pair (level, groups); a group is a list of up to ``fan_in`` results.  The caller
    replaces ``parts`` by the groups' sums before it asks for the next level.  The levels end when one
    result is left.
    parts : the results of the partitions, in order.
    """
    level = 0
    while len(parts) > 1 or not level:
        level += 1
        yield level, [parts[i : i + fan_in] for i in range(0, len(parts), fan_in)]


def message_for(client: Client, message: Message) -> Any:
    """Return a small message itself, or a future of a large message, which each worker fetches once."""
    if message.nbytes <= LARGE:
        return message
    return client.submit(return_message, message, pure=False, key=f"parameters-{uuid.uuid4().hex}")


def return_message(message: Message) -> Message:  # no lambda: workers import it by name
    """Return the message; a task that calls this function stores the message on a worker."""
    return message


def retry_killed(client: Client, blocks: Sequence[tuple[Any, ...]]) -> None:
    """Make Dask compute blocks again that have an error because the workers that held them died."""
    killed = sys.modules["distributed"].KilledWorker
    erred = [b for row in blocks for b in row if getattr(b, "status", "") == "error"]
    given_up = [block for block in erred if isinstance(block.exception(), killed)]
    if given_up:
        client.retry(given_up)


# --- results ------------------------------------------------------------------------------------------
def compute_graph(total: Delayed, name: str) -> PartialSum:
    """Compute the graph of a sum without a cluster.

    An error that arises in Dask's collections, and not in f, gets a note that says so.
    """
    try:
        return import_dask().compute(total)[0]  # type: ignore[no-any-return]
    except Exception as error:
        annotate_data(error, name)
        raise


def result_of_future(
    client: Client, total: Future, name: str, key: str, blocks: Sequence[tuple[Any, ...]]
) -> PartialSum:
    """Return the result of the future ``total``; cancel its tasks after an error or an interruption."""
    distributed = sys.modules["distributed"]
    try:
        return await_result(client, total, name)  # type: ignore[no-any-return]
    except distributed.CancelledError as error:
        check_running(client)
        raise data_lost(name, error) from error
    except BaseException as error:
        client.cancel([total], force=True)
        if isinstance(error, distributed.KilledWorker):
            check_installed(client, name, again=True)
            raise workers_died(name, partition_of(error.task, key, blocks), len(blocks)) from error
        if type(error).__name__ in NO_WORKERS:
            raise no_workers(name, "there is none", error.args[-1]) from error
        annotate_data(error, name)
        raise


def partition_of(task: str, key: str, blocks: Sequence[tuple[Any, ...]]) -> int | None:
    """Return the index of the partition of which a task or block has the key ``task``, or None."""
    for i, row in enumerate(blocks):
        if task == f"{key}-{i}" or any(getattr(block, "key", None) == task for block in row):
            return i
    return None
