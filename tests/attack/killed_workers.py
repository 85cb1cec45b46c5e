"""Workers of a cluster are killed in mid-step: the step comes back in time, with the same bits.

One worker or both, at a random time, and in part once more while their nannies restart them.
"""

import os
import random
import signal
import threading
import time
from collections import Counter

import numpy as np

import arraytape as xp
from arraytape import distributed

from .attack import Attack

KILLS = 5  # of a seed, each in a step of its own
PATIENCE = 30.0  # seconds until a step counts as lost
COUNTS: Counter[str] = (
    Counter()
)  # steps by their kind; "slowest ms": the longest until one came back


def loss(w, X, y):
    """A partition takes 30 ms, so that kills hit tasks, sums and what lies between."""
    time.sleep(0.03)
    r = X @ w - y
    return xp.sum(xp.log1p(r * r))


def steps_on(data):
    """Steps of first and second order."""
    total = distributed.map_sum(loss, data)
    return {
        "value_and_grad": distributed.value_and_grad(loss, data),
        "grad of map_sum": xp.grad(total),
        "hvp": lambda w: xp.hvp(total, (w,), (w,)),
    }


def bits(found):
    """The bytes of what a step gives."""
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(part).tobytes() for part in parts]


def run(seed):
    """A cluster of two processes, of which one or both are killed at random times of each step."""
    import dask

    from distributed import Client, LocalCluster

    rng = random.Random(seed)
    draw = np.random.default_rng(seed)
    X, y = [draw.normal(size=(5, 4)) for _ in range(12)], [draw.normal(size=5) for _ in range(12)]
    w = xp.asarray(draw.normal(size=4))
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        # Dask gives up a worker that is not there 15 s after its loss: see tests/distributed for that.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster,
        Client(cluster) as client,
    ):
        cluster.scheduler.allowed_failures = 20  # a task may be hit again and again
        data = distributed.partitions(X, y)
        steps = steps_on(data.persist() if rng.random() < 0.7 else data)
        right = {name: bits(step(w)) for name, step in steps.items()}
        for _ in range(KILLS):
            name = rng.choice(list(steps))
            victims = alive(cluster, client)[: rng.choice([1, 1, 2])]
            delays = [rng.uniform(0.0, 0.6)]
            killers = [threading.Timer(delays[0], kill, victims)]
            if rng.random() < 0.4:
                delays.append(delays[0] + rng.uniform(0.0, 1.5))
                killers.append(threading.Timer(delays[1], kill_anew, (cluster,)))
            start = time.monotonic()
            for killer in killers:
                killer.start()
            found = bits(steps[name](w))
            took = time.monotonic() - start
            for killer in killers:
                killer.join()
            script = (
                f"attack.killed_workers.run({seed}): {name}, {len(victims)} killed after {delays} s"
            )
            assert found == right[name], f"{script}: other bits"
            assert took < PATIENCE, f"{script}: back after {took:.1f} s"
            COUNTS[name] += 1
            COUNTS["slowest ms"] = max(COUNTS["slowest ms"], round(1000 * took))
    return KILLS


def alive(cluster, client):
    """The processes of both workers, once the one that was killed has its successor."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        pids = [worker.pid for worker in cluster.workers.values()]
        if None not in pids and len(client.nthreads()) == len(pids):
            return pids
        time.sleep(0.02)
    raise AssertionError(f"no successor of a killed worker after {PATIENCE} s: {pids}")


def kill(*pids):
    """Kill processes that are not gone."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            COUNTS["killed"] += 1
        except ProcessLookupError:
            COUNTS["gone already"] += 1


def kill_anew(cluster):
    """Kill the first worker's process, as it is now: it may just be starting."""
    pid = cluster.workers[0].pid
    kill(*[pid] if pid is not None else [])


ATTACK = Attack(run, "kills", COUNTS)
