"""How Dask runs a sum: one task for each partition, then a tree of sums in a fixed order."""

from __future__ import annotations

import functools
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from .._util.errors import user_line
from ._errors import died, lost
from ._message import Message
from ._worker import Part, added, run

LARGE = 65_536  # bytes of parameters that go to each worker by themselves, and not with every task


def sum_of(
    blocks: Sequence[tuple[Any, ...]],
    message: Message,
    ahead: Sequence[int],
    fan_in: int,
    retries: int,
) -> Part:
    """The sum over the partitions of what a message's function gives.

    The same partitions give the same bits, in whichever order they are ready.
    """
    client = client_of(blocks)
    if client is None:
        dask = package()
        return dask.compute(tree(blocks, message, ahead, fan_in))[0]  # type: ignore[no-any-return]
    if any(is_lazy(block) for row in blocks for block in row):
        # One graph: blocks are loaded, used and let go, so that never all of them are in memory.
        total = client.compute(
            tree(blocks, given_to(client, message), ahead, fan_in, message.name), retries=retries
        )
    else:
        total = mapped(client, blocks, message, ahead, fan_in, retries)
    return result_of(client, total, message.name, len(blocks))


def package() -> Any:
    """Dask, or an ImportError that says what to install."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(
            f"arraytape.distributed needs Dask [at {user_line()}]: pip install 'arraytape[distributed]'"
        ) from error
    return dask


def client_of(blocks: Sequence[tuple[Any, ...]]) -> Any:
    """The client to which futures among the blocks belong, or the current one; None without."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    for row in blocks:
        for block in row:
            if isinstance(block, distributed.Future):
                return running(block.client)
    try:
        return running(distributed.default_client())
    except ValueError:  # there is none
        return None


def running(client: Any) -> Any:
    """A client that is connected; RuntimeError for one that was closed."""
    if client is None or client.status != "running":
        raise RuntimeError(
            "partitions: the cluster that holds the data was closed, or its scheduler is lost [at "
            f"{user_line()}]; connect a Client, and make the partitions again"
        )
    return client


def is_lazy(block: Any) -> bool:
    """Whether a block is still to be computed."""
    return hasattr(block, "__dask_graph__")


def persisted(blocks: Sequence[tuple[Any, ...]], retries: int) -> list[tuple[Any, ...]]:
    """The blocks, computed: on a cluster as futures, whose lineage its scheduler keeps."""
    dask, client = package(), client_of(blocks)
    futures = sys.modules["distributed"].Future if client is not None else ()
    lazy = [
        block if is_lazy(block) or isinstance(block, futures) else dask.delayed(block, traverse=False)
        for row in blocks for block in row
    ]  # fmt: skip
    flat = dask.persist(*lazy) if client is None else client.compute(lazy, retries=retries)
    count = len(blocks[0])
    return [tuple(flat[i : i + count]) for i in range(0, len(flat), count)]


# --- two ways to give it to Dask ----------------------------------------------------------------------
def tree(
    blocks: Sequence[tuple[Any, ...]], given: Any, ahead: Sequence[int], fan_in: int, name: str = ""
) -> Any:
    """The sum as one graph of delayed calls; given : a Message, or what holds it."""
    delayed, name = package().delayed, name or given.name
    if isinstance(given, Message):
        given = delayed(given, traverse=False)
    key, count = key_of(name), len(blocks)
    call = delayed(run, pure=False, traverse=False)
    parts = [
        call(i, count, given, ahead, *row, dask_key_name=f"{key}-{i}")
        for i, row in enumerate(blocks)
    ]
    add = delayed(functools.partial(added, name), pure=False)
    for level, groups in levels(parts, fan_in):
        parts[:] = [
            add(group, dask_key_name=f"sum{level}-{key}-{i}") for i, group in enumerate(groups)
        ]
    return parts[0]


def mapped(
    client: Any, blocks: Sequence[tuple[Any, ...]], message: Message, ahead: Sequence[int], fan_in: int,
    retries: int,
) -> Any:  # fmt: skip
    """The sum as futures, of blocks that are computed already."""
    key, count = key_of(message.name), len(blocks)
    options = {"retries": retries, "pure": False}
    parts = client.map(
        run, range(count), [count] * count, [given_to(client, message)] * count, [ahead] * count,
        *zip(*blocks, strict=True), key=[f"{key}-{i}" for i in range(count)], **options,
    )  # fmt: skip
    add = functools.partial(added, message.name)
    for level, groups in levels(parts, fan_in):
        keys = [f"sum{level}-{key}-{i}" for i in range(len(groups))]
        parts[:] = client.map(add, groups, key=keys, **options)
    return parts[0]


def levels(parts: list[Any], fan_in: int) -> Any:
    """Groups of neighbours to be added, level by level, until one part is left."""
    level = 0
    while len(parts) > 1 or not level:
        level += 1
        yield level, [parts[i : i + fan_in] for i in range(0, len(parts), fan_in)]


def key_of(name: str) -> str:
    """How the engine's pages call the tasks of one sum."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def given_to(client: Any, message: Message) -> Any:
    """A message, or where it is large a future of it: then workers fetch it once, from each other."""
    if message.nbytes <= LARGE:
        return message
    return client.submit(itself, message, pure=False, key=f"parameters-{uuid.uuid4().hex}")


def itself(message: Message) -> Message:
    return message


# --- what comes back ----------------------------------------------------------------------------------
def result_of(client: Any, total: Any, name: str, count: int) -> Part:
    """What a future gives; the tasks are cancelled where it does not come to that."""
    distributed = sys.modules["distributed"]
    try:
        return total.result()  # type: ignore[no-any-return]
    except distributed.KilledWorker as error:
        raise died(name, str(error.task), count) from error
    except cancelled() as error:
        running(client)
        raise lost(name, error) from error
    except BaseException:
        client.cancel([total], force=True)
        raise


def cancelled() -> tuple[type[BaseException], ...]:
    """The exceptions of futures that no scheduler knows any more."""
    import concurrent.futures

    kinds: list[type[BaseException]] = [concurrent.futures.CancelledError]
    more: Callable[[str], Any] = functools.partial(getattr, sys.modules["distributed"].client)
    with_name = "FutureCancelledError"
    if hasattr(sys.modules["distributed"].client, with_name):
        kinds.append(more(with_name))
    return tuple(kinds)


__all__ = ["persisted", "sum_of"]
