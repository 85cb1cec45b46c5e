"""The cluster: its client, what is installed on it, and waiting for what it computes."""

from __future__ import annotations

import contextlib
import sys
import time
import weakref
from collections.abc import Sequence
from typing import Any

from .._util.errors import user_line
from .._version import __version__
from ._errors import idle

PATIENCE = 60.0  # seconds without a worker that runs tasks, unless Dask's own option says more
LOOKED: weakref.WeakSet[Any] = weakref.WeakSet()  # clients of clusters that were looked at


def client_of(blocks: Sequence[tuple[Any, ...]]) -> Any:
    """The client to which futures among the blocks belong, or the current one; None without."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    for row in blocks:
        for block in row:
            if isinstance(block, distributed.Future):
                return check_running(block.client)
    try:
        return check_running(distributed.default_client())
    except ValueError:  # there is none
        return None


def check_running(client: Any) -> Any:
    """A client that is connected; RuntimeError for one that was closed."""
    if client is None or client.status != "running":
        raise RuntimeError(
            "partitions: the cluster that holds the data was closed, or its scheduler is lost [at "
            f"{user_line()}]; connect a Client, and make the partitions again"
        )
    return client


# --- what is installed --------------------------------------------------------------------------------
def version() -> str:
    """The version of arraytape of a process, which imports it to answer."""
    return __version__


def check_installed(client: Any, name: str, again: bool = False) -> None:
    """RuntimeError where the scheduler or a worker cannot import arraytape, or has another version.

    They are asked once for a client, and again where workers died: a worker without arraytape cannot
    read its messages, which ends it without a word.
    """
    if client in LOOKED and not again:
        return
    found = client.run(version, on_error="return")
    if not found:  # no workers yet
        return
    try:
        found["the scheduler"] = client.run_on_scheduler(version)
    except (ImportError, AttributeError) as error:
        found["the scheduler"] = error
    except Exception:  # a scheduler that runs no functions for clients does not say
        pass
    wrong = [where for where, answer in found.items() if is_wrong(answer)]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        said = "; ".join(f"{where}: {found[where]}" for where in wrong[:3])
        raise RuntimeError(
            f"{name}: not all of the cluster can import arraytape {__version__}, which the driver has "
            f"({said}{more}) [at {user_line()}]; install the same version everywhere"
        )
    LOOKED.add(client)


def is_wrong(answer: Any) -> bool:
    """Whether a process has no arraytape, or another; one that died in the meantime is not wrong."""
    return not isinstance(answer, OSError) and answer != __version__


# --- waiting ------------------------------------------------------------------------------------------
def awaited(client: Any, future: Any, name: str) -> Any:
    """What a future gives; PartitionError when no worker is there to compute it."""
    most = patience()
    since = time.monotonic()  # when workers were there last
    while True:
        done = future.done()
        try:
            return future.result(timeout=None if done else most / 8)
        except TimeoutError:
            if done:  # the function's own
                raise
        state = workers_that_wait(client)
        if state is None:
            since = time.monotonic()
        elif time.monotonic() - since > most:
            raise idle(name, state, most)


def patience() -> float:
    """The seconds that a cluster may be without workers."""
    import dask

    given = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return PATIENCE if given is None else float(dask.utils.parse_timedelta(given))


def workers_that_wait(client: Any) -> str | None:
    """Why no worker of a cluster runs tasks; None where one does, or the scheduler does not say."""
    with contextlib.suppress(OSError):  # the scheduler is lost: the future hears of it
        workers = client.scheduler_info()["workers"].values()
        if not workers:
            return "there is none"
        if not any(is_at_work(worker) for worker in workers):
            return "all are paused, since their memory is full"
    return None


def is_at_work(worker: Any) -> bool:
    """Whether a worker computes, or will."""
    executing = worker["metrics"].get("task_counts", {}).get("executing", 0)
    return bool(worker["status"] != "paused" or executing > 0)


__all__ = ["awaited", "check_installed", "check_running", "client_of"]
