"""On a cluster of processes: the same bits, whatever happens to the workers."""

import importlib
import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest

import arraytape as xp
from arraytape import distributed, interop
from distributed import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def loss(w, X, y):
    r = X @ w - y
    return xp.sum(xp.log1p(r * r))


def slow_loss(w, X, y):
    time.sleep(0.03)
    return loss(w, X, y)


@pytest.fixture
def w():
    return xp.asarray([0.5, -1.0, 2.0, 0.1])


@pytest.fixture
def data(client, host):
    X, y = host
    return distributed.partitions(da.from_array(X, chunks=(5, -1)), da.from_array(y, chunks=5))


def bits(*found):
    return [np.asarray(x).tobytes() for x in found]


def second_order(f):
    return lambda w: xp.hvp(distributed.map_sum(f[0], f[1]), (w,), (w,))


def test_values_derivatives_and_bits(data, host, w, near):
    X, y = (xp.asarray(x) for x in host)
    value, slope = xp.value_and_grad(lambda w: loss(w, X, y))(w)
    found = set()
    for given in (data, data.persist()):
        for _ in range(5):
            both = distributed.value_and_grad(loss, given)(w)
            found.add(tuple(bits(*both)))
    near(both[0], value)
    near(both[1], slope)
    assert len(found) == 1
    near(xp.hvp(distributed.map_sum(loss, data), (w,), (w,))[0],
         xp.hvp(lambda w: loss(w, X, y), (w,), (w,))[0])  # fmt: skip


def test_large_parameters_go_to_workers_once(data, near):
    w = xp.zeros((4, 50_000))
    _, slope = distributed.value_and_grad(lambda w, X, y: xp.sum((X @ w)[:, 0] + y), data)(w)
    assert slope.shape == w.shape
    assert float(xp.sum(xp.abs(slope[:, 1:]))) == 0.0


def test_an_error_on_a_worker(data, w):
    def f(w, X, y):
        if float(xp.stop_gradient(y[0])) == float(first):
            raise KeyError("missing")
        return loss(w, X, y)

    first = data.persist()._blocks[3][1].result()[0]
    with pytest.raises(KeyError) as caught:
        distributed.value_and_grad(f, data)(w)
    assert "in partition 3 of 10 (blocks of shapes (5, 4), (5,))" in caught.value.__notes__[0]
    assert "test_cluster.py" in caught.value.__notes__[0]


def test_workers_that_die_of_a_partition(cluster, data, w, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)  # of 3, each with a restart

    def f(w, X, y):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(
        distributed.PartitionError, match=r"f: make the partitions smaller.*the workers died"
    ) as caught:
        distributed.map_sum(f, data)(w)
    assert caught.value.function == "f"
    assert caught.value.partition in (None, *range(10))  # or one that waited beside it
    assert distributed.map_sum(loss, data)(w).shape == ()  # the cluster goes on


@pytest.mark.nightly
def test_memory_that_is_exhausted(w, private_cluster):
    def f(w, X, y):
        kept = []
        for _ in range(200 if len(y) == 3 else 0):
            kept.append(np.ones(2_000_000))
            time.sleep(0.02)
        return loss(w, X, y)

    with private_cluster(memory_limit="300MB") as cluster, Client(cluster):
        cluster.scheduler.allowed_failures = 1
        data = distributed.partitions(
            *[[np.ones((n, *more)) for n in (2, 3)] for more in ((4,), ())]
        )
        start = time.monotonic()
        # The task that is named may be one that waited on the worker beside it, or held its data.
        with pytest.raises(distributed.PartitionError, match=r"f: .*want of memory") as caught:
            distributed.value_and_grad(f, data.persist())(w)
        assert caught.value.function == "f"
        assert time.monotonic() - start < 30
        assert distributed.map_sum(loss, data)(w).shape == ()


def test_a_scheduler_that_is_lost(started, tmp_path, w):
    here = str(tmp_path / "scheduler.json")
    options = "--scheduler-file", here, "--no-dashboard"
    with started("dask_scheduler", *options, "--port", "0") as scheduler, \
            started("dask_worker", *options, "--no-nanny"), Client(scheduler_file=here):  # fmt: skip
        data = distributed.partitions([np.ones((2, 4))] * 8, [np.ones(2)] * 8).persist()
        step = distributed.value_and_grad(slow_loss, data)
        step(w)
        threading.Timer(0.1, scheduler.kill).start()
        start = time.monotonic()
        for _ in range(2):  # in mid-step, and before one
            with pytest.raises(
                RuntimeError, match=r"its scheduler is lost .* make the partitions again"
            ):
                step(w)
        assert time.monotonic() - start < 30


def test_a_slow_worker(cluster, client, data, w):
    def of(w, X, y):
        if os.getpid() == slow:
            time.sleep(0.2)
        return loss(w, X, y)

    right = bits(*distributed.value_and_grad(loss, data)(w))
    slow = next(iter(cluster.workers.values())).pid
    assert bits(*distributed.value_and_grad(of, data)(w)) == right


@pytest.mark.parametrize("order", [1, 2])
def test_a_worker_that_is_killed_in_mid_step(cluster, data, w, order):
    step = distributed.value_and_grad(slow_loss, data.persist())
    if order == 2:
        total = distributed.map_sum(slow_loss, data.persist())
        step = lambda w: xp.hvp(total, (w,), (w,))  # noqa: E731
    right = bits(*step(w))
    pids = [worker.pid for worker in cluster.workers.values()]
    killer = threading.Timer(0.15, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    start = time.perf_counter()
    assert bits(*step(w)) == right
    assert time.perf_counter() - start < 30
    killer.join()


def test_a_worker_that_leaves_and_one_that_joins(cluster, client, data, w):
    step = distributed.value_and_grad(slow_loss, data.persist())
    right = bits(*step(w))
    mover = threading.Timer(0.1, lambda: (cluster.scale(3), cluster.scale(2)))
    mover.start()
    assert bits(*step(w)) == right
    mover.join()


def test_ctrl_c_leaves_no_tasks(client, data, w):
    step = distributed.value_and_grad(slow_loss, data.persist())
    right = bits(*step(w))
    # What a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.15, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        again_and_again(step, w)
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())
    assert bits(*step(w)) == right


@pytest.mark.parametrize("persisted", [False, True])
def test_a_reader_that_fails_now_and_then(client, host, w, tmp_path, persisted):
    X, y = host

    def read(block):
        (tmp_path / f"{os.getpid()}-{time.time_ns()}").touch()
        if len(os.listdir(tmp_path)) < 3:
            raise OSError("the disk is away")
        return block

    def step(retries):
        for file in tmp_path.iterdir():
            file.unlink()
        blocks = [dask.delayed(read)(x) for x in np.split(X, 5)]
        data = distributed.partitions(blocks, np.split(y, 5), retries=retries)
        return distributed.value_and_grad(loss, data.persist() if persisted else data)(w)

    with pytest.raises(OSError, match="the disk is away") as caught:
        step(0)
    (note,) = caught.value.__notes__
    assert note.startswith("loss: while its partitions were computed or moved, not inside")
    blocks = distributed.partitions(np.split(X, 5), np.split(y, 5))
    assert bits(*step(3)) == bits(*distributed.value_and_grad(loss, blocks)(w))


def test_a_function_that_fails_now_and_then(client, data, w, tmp_path):
    def f(w, X, y):
        (tmp_path / f"{os.getpid()}-{time.time_ns()}").touch()
        if len(os.listdir(tmp_path)) < 3:
            raise OSError("the licence server is away")
        return loss(w, X, y)

    with pytest.raises(OSError, match="licence server") as caught:
        distributed.value_and_grad(f, data)(w)
    assert "of 10 (blocks of shapes (5, 4), (5,))" in caught.value.__notes__[0]
    for file in tmp_path.iterdir():
        file.unlink()
    again = distributed.Partitions(data._blocks, retries=3)
    right = bits(*distributed.value_and_grad(loss, data)(w))
    assert bits(*distributed.value_and_grad(f, again)(w)) == right


def test_a_worker_that_computes_at_length_is_no_idle_one(client, data, w):
    def of(w, X, y):
        time.sleep(2.0 if len(y) == 3 else 0.0)
        return loss(w, X, y)

    blocks = distributed.partitions([np.ones((3, 4))], [np.ones(3)])
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"}):
        assert distributed.map_sum(of, blocks)(w).shape == ()


def test_a_module_that_workers_do_not_have(client, data, w, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def of(w, X, y):\n    return (X @ w).sum()\n")
    monkeypatch.syspath_prepend(tmp_path)
    of = importlib.import_module("only_here").of
    with pytest.raises(ModuleNotFoundError, match="only_here") as caught:
        distributed.map_sum(of, data)(w)
    assert "of 10 (blocks of shapes (5, 4), (5,))" in caught.value.__notes__[0]
    assert distributed.map_sum(loss, data)(w).shape == ()


def test_a_context_around_the_call_is_not_on_the_workers(client, data, w):
    expm = pytest.importorskip("scipy.linalg").expm

    def bare(w, X, y):
        return xp.sum(expm(xp.linalg.outer(w, w)) @ X.T)

    def inside(w, X, y):
        with interop.scipy():
            return bare(w, X, y)

    lost = pytest.raises(xp.LostGradientError, match=r"test_cluster\.py.* Call scipy")
    with interop.scipy(), lost as caught:
        distributed.value_and_grad(bare, data)(w)
    assert "of 10 (blocks of shapes (5, 4), (5,))" in caught.value.__notes__[0]
    assert distributed.value_and_grad(inside, data)(w)[1].shape == (4,)


def again_and_again(step, w):
    for _ in range(20):
        step(w)


def test_a_cluster_that_is_closed(data, cluster, w):
    from distributed import Client

    other = Client(cluster)
    persisted = data.persist()
    futures = distributed.partitions(other.scatter([np.ones((2, 4))]), other.scatter([np.ones(2)]))
    other.close()
    with pytest.raises(RuntimeError, match="was closed"):
        distributed.map_sum(loss, futures)(w)
    assert distributed.map_sum(loss, persisted)(w).shape == ()


def test_data_that_nobody_can_compute_again(cluster, client, w):
    futures = (
        client.scatter([np.ones((2, 4)), np.ones((3, 4))]),
        client.scatter([np.ones(2), np.ones(3)]),
    )
    data = distributed.partitions(*futures)
    assert distributed.map_sum(loss, data)(w).shape == ()
    for worker in list(cluster.workers.values()):
        os.kill(worker.pid, signal.SIGKILL)
    time.sleep(1.0)
    with pytest.raises(
        distributed.PartitionError, match=r"make the partitions again.*data is lost"
    ):
        distributed.map_sum(loss, data)(w)
