"""Data in partitions, and one small cluster for the tests that need processes."""

import contextlib
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest

from arraytape import distributed

ROWS, COLUMNS, BLOCK = 50, 4, 13


@pytest.fixture(scope="session")
def host():
    """The whole data on this machine."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    return X, X @ np.arange(1.0, COLUMNS + 1) + 0.3 * rng.normal(size=ROWS)


@pytest.fixture(params=["synchronous", "threads"])
def data(request, host):
    """The same in partitions, which a scheduler without a cluster computes."""
    with dask.config.set(scheduler=request.param):
        yield partitions_of(host)


def partitions_of(host):
    X, y = host
    return distributed.partitions(
        da.from_array(X, chunks=(BLOCK, -1)), da.from_array(y, chunks=BLOCK)
    )


@pytest.fixture(scope="module")
def cluster():
    """Two processes with a thread each; its threads here end with the module, for others count bytes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client


@pytest.fixture
def private_cluster():
    """Makes a cluster of one process, or more, that a test may spoil."""
    from distributed import LocalCluster

    quiet = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    return lambda **options: LocalCluster(**(quiet | options))


@pytest.fixture
def started():
    """Starts a process of Dask's by a command's name and options, to be ended by a ``with`` block.

    prelude : lines of Python that it runs first.
    """

    @contextlib.contextmanager
    def start(command, *options, prelude=""):
        line = f"{prelude}\nfrom distributed.cli.{command} import main\nmain()"
        process = subprocess.Popen(
            [sys.executable, "-c", line, *map(str, options)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    return start
