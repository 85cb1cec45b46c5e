"""Clusters that lack workers, memory or arraytape: an error in time, and the next step goes on."""

import contextlib
import os
import signal
import socket
import threading
import time

import dask
import numpy as np
import pytest

import arraytape as xp
from arraytape import distributed
from distributed import Client, Status

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

LACKING = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "arraytape":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""
OLDER = "import arraytape._version; arraytape._version.__version__ = '0.0.1'"


def loss(w, X):
    return xp.sum(xp.log1p((X @ w) ** 2))


def slow_loss(w, X):
    time.sleep(0.05)
    return loss(w, X)


@pytest.fixture
def w():
    return xp.asarray([0.5, -1.0, 2.0, 0.1])


@pytest.fixture
def blocks():
    return [np.random.default_rng(i).normal(size=(5, 4)) for i in range(6)]


@pytest.fixture
def right(blocks, w):
    return bits(xp.value_and_grad(distributed.map_sum(loss, distributed.partitions(blocks)))(w))


def no_workers_for(seconds):
    """Dask's option, of this process alone: clusters that exist already do not look at it."""
    return dask.config.set({"distributed.scheduler.no-workers-timeout": f"{seconds}s"})


def bits(found):
    return [np.asarray(x).tobytes() for x in found]


def lazy(blocks):
    return distributed.partitions([dask.delayed(np.copy)(x) for x in blocks])


# --- workers ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.every(2)
def test_a_cluster_that_has_given_up_its_workers(private_cluster, blocks, w, right, order):
    """What came of kills under load: a step that waits for workers that nobody starts again."""
    with private_cluster() as cluster, Client(cluster):
        data = lazy(blocks).persist()
        total = distributed.map_sum(slow_loss, data)
        step = {1: xp.value_and_grad(total), 2: lambda w: xp.hvp(total, (w,), (w,))}[order]
        before = bits(step(w))
        # A restart takes longer than 50 ms, as longer than Dask's 15 s under load.
        given_up = dask.config.set({"distributed.deploy.lost-worker-timeout": "50ms"})
        pid = cluster.workers[0].pid
        with given_up, no_workers_for(2):
            threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
            start = time.monotonic()
            with pytest.raises(
                distributed.PartitionError,
                match=r"slow_loss: .*cluster\.scale\(n\).* no worker .* for 2 s: there is none",
            ) as caught:
                step(w)
        assert time.monotonic() - start < 20
        assert caught.value.function == "slow_loss"
        assert "test_spoiled_clusters.py" in str(caught.value)
        assert not cluster.workers
        cluster.scale(1)
        assert bits(step(w)) == before
        assert bits(xp.value_and_grad(total)(w)) == right


def test_dasks_own_limit_says_the_same(private_cluster, blocks, w, right):
    with no_workers_for(1), private_cluster(n_workers=0) as cluster, Client(cluster) as client:
        step = distributed.value_and_grad(loss, lazy(blocks))
        with pytest.raises(distributed.PartitionError, match=r"loss: .* no worker .* for 1 s"):
            step(w)
        cluster.scale(1)
        client.wait_for_workers(1)
        assert bits(step(w)) == right


def test_workers_that_are_paused_for_want_of_memory(private_cluster, blocks, w, right):
    def pause(status, dask_worker):
        dask_worker.status = status

    with private_cluster(memory_limit=0) as cluster, Client(cluster) as client:
        step = distributed.value_and_grad(loss, lazy(blocks).persist())
        assert bits(step(w)) == right
        client.run(pause, Status.paused)
        time.sleep(1.0)  # until the scheduler has heard of it
        paused = pytest.raises(distributed.PartitionError, match=r"loss: .*: all are paused")
        with no_workers_for(1), paused:
            step(w)
        client.run(pause, Status.running)
        assert bits(step(w)) == right


def test_an_error_of_the_function_that_is_a_timeout(private_cluster, w, blocks):
    def of(w, X):
        time.sleep(0.5)
        raise TimeoutError("of the function's own")

    with private_cluster(processes=False) as cluster, Client(cluster), no_workers_for(0.8):
        with pytest.raises(TimeoutError, match="the function's own") as caught:
            distributed.map_sum(of, distributed.partitions(blocks))(w)
        assert "of 6 (blocks of shapes (5, 4))" in caught.value.__notes__[0]


@pytest.mark.nightly
def test_a_worker_that_answers_no_more(private_cluster, blocks, w, right):
    """A machine that is frozen, or cut off: given up after Dask's worker-ttl."""
    quick = dask.config.set({"distributed.scheduler.worker-ttl": "2s"})  # heartbeats make it 5 s
    with quick, private_cluster(n_workers=2) as cluster, Client(cluster):
        data = lazy(blocks).persist()
        assert bits(distributed.value_and_grad(loss, data)(w)) == right
        pid = cluster.workers[0].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            assert bits(distributed.value_and_grad(loss, data)(w)) == right
            assert time.monotonic() - start < 60
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.every(2)
def test_reading_a_partition_kills_until_it_does_not(
    private_cluster, blocks, w, right, tmp_path, persisted
):
    """The error is held, as a notebook holds the last one, and the same data are read again."""
    (tmp_path / "kills").touch()

    def read(i):
        if i == 3 and (tmp_path / "kills").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return np.copy(blocks[i])

    with private_cluster() as cluster, Client(cluster):
        cluster.scheduler.allowed_failures = 0
        data = distributed.partitions([dask.delayed(read)(i) for i in range(6)])
        step = distributed.value_and_grad(loss, data.persist() if persisted else data)
        with pytest.raises(distributed.PartitionError, match=r"loss: make the partitions") as held:
            step(w)
        assert held.value.partition in (None, *range(6))  # 3, or what waited beside it
        (tmp_path / "kills").unlink()
        for _ in range(6):  # a worker that dies takes others with it: each is given up once
            try:
                assert bits(step(w)) == right
                break
            except distributed.PartitionError as error:
                held = error, held
        else:
            raise AssertionError("the cluster does not go on") from held[0]


# --- schedulers ---------------------------------------------------------------------------------------
def test_a_cluster_that_is_restarted(private_cluster, blocks, w, right):
    with private_cluster() as cluster, Client(cluster) as client:
        given = lazy(blocks)
        kept = given.persist()
        assert bits(distributed.value_and_grad(slow_loss, kept)(w)) == right
        restarting = threading.Timer(0.1, client.restart)
        restarting.start()
        for _ in range(2):  # in mid-step, and before one
            with pytest.raises(
                distributed.PartitionError,
                match=r"slow_loss: make the partitions again.* data is lost",
            ):
                distributed.value_and_grad(slow_loss, kept)(w)
            restarting.join()
        assert bits(distributed.value_and_grad(loss, given)(w)) == right
        assert bits(distributed.value_and_grad(loss, given.persist())(w)) == right


@pytest.mark.nightly
def test_a_scheduler_that_comes_back(started, blocks, w, right):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    options = "--host", "127.0.0.1", "--port", port, "--no-dashboard"
    with started("dask_scheduler", *options) as first, Client(address, timeout=30) as client:
        given = lazy(blocks)
        with started("dask_worker", address, "--no-nanny", "--no-dashboard"):
            kept = given.persist()
            assert bits(distributed.value_and_grad(loss, kept)(w)) == right
            first.kill()
            first.wait()
            wait_until(lambda: client.status != "running")
            with pytest.raises(RuntimeError, match="its scheduler is lost"):
                distributed.value_and_grad(loss, given)(w)
        with started("dask_scheduler", *options), \
                started("dask_worker", address, "--no-nanny", "--no-dashboard"):  # fmt: skip
            wait_until(lambda: client.status == "running")
            with pytest.raises(distributed.PartitionError, match="make the partitions again"):
                distributed.value_and_grad(loss, kept)(w)
            assert bits(distributed.value_and_grad(loss, given)(w)) == right


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- what is installed --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("scheduler", "worker", "words"),
    [
        ("", LACKING, r"tcp://.*: .*No module named .*arraytape"),
        (LACKING, "", r"the scheduler: No module named .*arraytape"),
        ("", OLDER, r"tcp://[^;]*: 0\.0\.1"),
    ],
)
@pytest.mark.every(3)
def test_a_process_without_arraytape_or_with_another(
    started, tmp_path, blocks, w, right, scheduler, worker, words
):
    here = "--scheduler-file", tmp_path / "scheduler.json", "--no-dashboard"
    with started("dask_scheduler", *here, "--port", 0, prelude=scheduler), \
            started("dask_worker", *here, "--no-nanny", prelude=worker), \
            Client(scheduler_file=str(here[1])) as client:  # fmt: skip
        client.wait_for_workers(1)
        data = distributed.partitions(blocks)
        for given in (data, data.persist()):
            with pytest.raises(RuntimeError, match=f"loss: not all of the cluster .*{words}") as c:
                distributed.value_and_grad(loss, given)(w)
            assert "install the same version everywhere" in str(c.value)
            assert "test_spoiled_clusters.py" in str(c.value)
        assert len(client.nthreads()) == 1  # it lives
