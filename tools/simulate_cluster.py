"""Predict the time of a step of arraytape.distributed on a cluster, from a few costs.

    python tools/simulate_cluster.py --partitions 512 --workers 64 --task 1.5 --parameters 2
    python tools/simulate_cluster.py --check     # against measured steps on two processes

The model: the scheduler hands out tasks one after the other, ``overhead`` seconds each.  A worker runs
one at a time, ``task`` seconds for a partition, and fetches the parameters before its first; a sum waits
for the results of ``fan_in`` neighbours, fetches those that other workers have, and adds them.  Bytes
take ``latency`` and their number over ``bandwidth``; the driver waits for the last sum.  Where driver,
scheduler and workers share ``cores``, a step takes no less than all their CPU time over these.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))


class Costs(NamedTuple):
    """Seconds and bytes.

    task : computing one partition.  overhead : driver and scheduler, for each task.  start : of a step.
    parameters : bytes that each worker gets, and each sum moves.  add : adding two results.
    cores : those that driver, scheduler and workers share; none where each has its own.
    """

    task: float
    overhead: float
    start: float = 0.0
    parameters: float = 0.0
    latency: float = 0.0005
    bandwidth: float = 1e9
    add: float = 0.0
    cores: float = math.inf


def step_time(partitions: int, workers: int, costs: Costs, fan_in: int = 8) -> float:
    """The seconds of one step: events in order of time."""
    sending = costs.latency + costs.parameters / costs.bandwidth
    free = [(costs.start, w) for w in range(workers)]
    heapq.heapify(free)
    fetched = [False] * workers
    scheduler = costs.start
    done: list[tuple[float, int]] = []  # of each task of a level: when, and on which worker
    for _ in range(partitions):
        scheduler += costs.overhead
        at, worker = heapq.heappop(free)
        begin = max(at, scheduler) + (0.0 if fetched[worker] else sending)
        fetched[worker] = True
        end = begin + costs.task
        heapq.heappush(free, (end, worker))
        done.append((end, worker))
    available = {w: at for at, w in free}
    busy = costs.start + partitions * (costs.task + costs.overhead)
    while True:
        level = []
        for first in range(0, len(done), fan_in):
            group = done[first : first + fan_in]
            worker = group[0][1]
            moved = sum(1 for _, other in group if other != worker)
            scheduler = max(scheduler, max(at for at, _ in group)) + costs.overhead
            begin = max(scheduler, available[worker]) + (sending if moved else 0.0)
            begin += max(0, moved - 1) * costs.parameters / costs.bandwidth
            end = begin + costs.add * len(group)
            available[worker] = end
            busy += costs.overhead + costs.add * len(group)
            level.append((end, worker))
        done = level
        if len(done) == 1:
            return max(done[0][0] + sending, busy / costs.cores)


# --- against measurement ------------------------------------------------------------------------------
ROWS = 4_000


class Measured(NamedTuple):
    """Seconds of a step: of wall time, and of the CPU of the workers and of driver and scheduler."""

    wall: float
    workers: float
    driver: float


def measured(counts: list[int], repeat: int = 15) -> dict[int, Measured]:
    """For each number of partitions the medians of steps, on two processes."""
    import arraytape as xp
    import distributed_figures as figures
    from arraytape import distributed
    from distributed import Client, LocalCluster

    options = {"processes": True, "dashboard_address": ":0", "memory_limit": 0}
    x = xp.zeros(figures.COLUMNS)
    steps, rounds = {}, {count: [] for count in counts}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        for count in counts:
            futures = client.map(figures.block, range(count), [ROWS] * count, pure=False)
            steps[count] = distributed.value_and_grad(figures.loss, distributed.partitions(futures))
            steps[count](x)
        for count in counts * repeat:  # in turns, so that what else the machine does hits all alike
            before, here = client.run(time.process_time), time.process_time()
            start = time.perf_counter()
            steps[count](x)
            wall, driver = time.perf_counter() - start, time.process_time() - here
            after = client.run(time.process_time)
            rounds[count].append((wall, sum(after[k] - before[k] for k in after), driver))
    return {
        count: Measured(*[sorted(column)[repeat // 2] for column in zip(*rows, strict=True)])
        for count, rows in rounds.items()
    }


def fitted(found: dict[int, Measured]) -> Costs:
    """The costs of this machine: CPU as measured at the extreme counts, and the cores that it gave.

    Driver, scheduler and two workers share the cores with whatever else runs: how much of them a step
    gets is the one number that is fitted to wall times.
    """
    least, most = min(found), max(found)
    a, b = found[least], found[most]
    task = (b.workers - a.workers) / (most - least)
    overhead = (b.driver - a.driver) / (tasks_of(most) - tasks_of(least))
    start = a.workers + a.driver - least * task - tasks_of(least) * overhead
    costs = Costs(task, overhead, max(0.0, start))

    def error(cores: float) -> float:
        ratios = [
            step_time(n, 2, costs._replace(cores=cores)) / found[n].wall for n in (least, most)
        ]
        return sum(math.log(ratio) ** 2 for ratio in ratios)

    return costs._replace(cores=min([i / 50 for i in range(5, 151)], key=error))


def tasks_of(partitions: int, fan_in: int = 8) -> int:
    """The tasks of a step: of partitions, and of sums."""
    total, left = partitions, partitions
    while left > 1 or total == partitions:
        left = -(-left // fan_in)
        total += left
    return total


def check() -> None:
    """Predict the steps between the least and the greatest number of partitions."""
    found = measured([2, 16, 64, 256])
    costs = fitted(found)
    print(
        f"task {1000 * costs.task:.2f} ms, overhead {1000 * costs.overhead:.2f} ms, start "
        f"{1000 * costs.start:.1f} ms of CPU at {min(found)} and {max(found)} partitions, on "
        f"{costs.cores:.2f} cores"
    )
    print(f"{'partitions':>10}{'measured ms':>13}{'predicted ms':>14}{'ratio':>7}")
    for count, (wall, _, _) in found.items():
        predicted = step_time(count, 2, costs)
        print(f"{count:10}{1000 * wall:13.1f}{1000 * predicted:14.1f}{predicted / wall:7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="measure on two processes, and compare"
    )
    parser.add_argument("--partitions", type=int, default=512)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--task", type=float, default=1.0, help="seconds to compute a partition")
    parser.add_argument("--overhead", type=float, default=0.0015, help="seconds for each task")
    parser.add_argument("--parameters", type=float, default=0.1, help="MB")
    parser.add_argument("--latency", type=float, default=0.0005, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=1.0, help="GB/s")
    options = parser.parse_args()
    if options.check:
        check()
        return
    costs = Costs(
        options.task, options.overhead, 0.0, options.parameters * 1e6, options.latency,
        options.bandwidth * 1e9, options.parameters * 1e-3,
    )  # fmt: skip
    seconds = step_time(options.partitions, options.workers, costs)
    ideal = options.task * options.partitions / options.workers
    print(f"step {seconds:.3f} s; computing alone {ideal:.3f} s, {ideal / seconds:.0%} of it")


if __name__ == "__main__":
    main()
