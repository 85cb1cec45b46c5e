"""Functions that find the client of a Dask cluster, check what is installed on it, and await results."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._util.errors import user_line
from .._version import __version__
from ._errors import no_workers

if TYPE_CHECKING:  # classes of the package distributed, most of whose methods have no annotations
    Client: TypeAlias = Any
    Future: TypeAlias = Any

PATIENCE = 60.0  # seconds without a worker that runs tasks, unless Dask's own option says more
CHECKED: weakref.WeakSet[Any] = weakref.WeakSet()  # clients of clusters whose versions were checked


def client_of(blocks: Sequence[tuple[Any, ...]]) -> Client | None:
    """Return the client of a Dask cluster on which the sum is computed, or None.

    It is the client of the futures among the blocks, else the current client.
    blocks : for each partition its blocks (a block is one partition's part of a data collection).
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    for block in itertools.chain.from_iterable(blocks):
        if isinstance(block, distributed.Future):
            return check_running(block.client)
    try:
        return check_running(distributed.default_client())
    except ValueError:  # there is no client
        return None


def check_running(client: Client) -> Client:
    """Return the client if it is connected; else raise RuntimeError.

    Without this check, a closed client would wait for ever.
    """
    if client is None or client.status != "running":
        raise RuntimeError(
            "partitions: the cluster that holds the data was closed, or its scheduler is lost [at "
            f"{user_line()}]; connect a Client, and make the partitions again"
        )
    return client


# --- what is installed --------------------------------------------------------------------------------
def version() -> str:
    """Return the version of arraytape in the process that runs this function."""
    return __version__


def check_installed(client: Client, name: str, again: bool = False) -> None:
    """Raise RuntimeError if a process of the cluster cannot import arraytape, or has another version.

    The check runs once for a client (a connection to a cluster).
    name : the user's function, for the message.
    again : True to repeat the check after workers died, because a worker without arraytape cannot read
        its messages and ends without an error.
    """
    if client in CHECKED and not again:
        return
    found = client.run(version, on_error="return")
    if not found:  # no workers yet
        return
    try:
        found["the scheduler"] = client.run_on_scheduler(version)
    except (ImportError, AttributeError) as error:
        found["the scheduler"] = error
    except Exception:  # a scheduler may be set to run no functions for clients
        pass
    wrong = [where for where, answer in found.items() if is_wrong(answer)]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        said = "; ".join(f"{where}: {found[where]}" for where in wrong[:3])
        raise RuntimeError(
            f"{name}: not all of the cluster can import arraytape {__version__}, which the driver has "
            f"({said}{more}) [at {user_line()}]; install the same version everywhere"
        )
    CHECKED.add(client)


def is_wrong(answer: str | BaseException) -> bool:
    """Return True if a process of the cluster lacks arraytape, or has another version.

    answer : the version in the other process, or the error of the import.  If that process died, return
        False.
    """
    return not isinstance(answer, OSError) and answer != __version__


# --- waiting ------------------------------------------------------------------------------------------
def await_result(client: Client, future: Future, name: str) -> Any:
    """Return the result of a future; raise PartitionError if there is no worker to compute it.

    name : the user's function, for the message.
    """
    most = patience()
    since = time.monotonic()  # the last time at which there were workers
    while True:
        done = future.done()
        try:
            return future.result(timeout=None if done else most / 8)
        except TimeoutError:
            if done:  # the error is a TimeoutError of the user's function, not of this wait
                raise
        state = workers_that_wait(client)
        if state is None:
            since = time.monotonic()
        elif time.monotonic() - since > most:
            raise no_workers(name, state, most)


def patience() -> float:
    """Return the seconds after which a sum gives up a cluster without workers.

    Users set them in Dask's configuration.
    """
    import dask

    given = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return PATIENCE if given is None else float(dask.utils.parse_timedelta(given))


def workers_that_wait(client: Client) -> str | None:
    """Return why no worker of a cluster runs tasks; None if some do, or if that is unknown.

    Workers may all be paused, for example, because their memory is full.
    """
    with contextlib.suppress(OSError):  # if the scheduler is lost, the future raises the error
        workers = client.scheduler_info()["workers"].values()
        if not workers:
            return "there is none"
        if not any(is_at_work(worker) for worker in workers):
            return "all are paused, since their memory is full"
    return None


def is_at_work(worker: Mapping[str, Any]) -> bool:
    """Return True if a worker can start a task, or is paused but still runs one.

    worker : the scheduler's description of the worker.
    """
    executing = worker["metrics"].get("task_counts", {}).get("executing", 0)
    return bool(worker["status"] != "paused" or executing > 0)
