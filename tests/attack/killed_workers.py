"""Workers of a cluster are killed in mid-step: the step comes back in time, with the same bits."""

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
    """A cluster of two processes, of which one is killed at a random time of each step."""
    from distributed import Client, LocalCluster

    rng = random.Random(seed)
    draw = np.random.default_rng(seed)
    X, y = [draw.normal(size=(5, 4)) for _ in range(12)], [draw.normal(size=5) for _ in range(12)]
    w = xp.asarray(draw.normal(size=4))
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster,
        Client(cluster) as client,
    ):
        data = distributed.partitions(X, y)
        steps = steps_on(data.persist() if rng.random() < 0.7 else data)
        right = {name: bits(step(w)) for name, step in steps.items()}
        for _ in range(KILLS):
            name = rng.choice(list(steps))
            victim = rng.choice(alive(cluster, client))
            delay = rng.uniform(0.0, 0.6)
            killer = threading.Timer(delay, kill, (victim,))
            start = time.monotonic()
            killer.start()
            found = bits(steps[name](w))
            took = time.monotonic() - start
            killer.join()
            script = f"attack.killed_workers.run({seed}): {name}, killed after {delay:.3f} s"
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


def kill(pid):
    """Kill a process, unless it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        COUNTS["gone already"] += 1


ATTACK = Attack(run, "kills", COUNTS)
