"""Predict the time of a step of arraytape.distributed on a cluster, from a few costs.

    python tools/simulate_cluster.py --partitions 512 --workers 64 --task 1.5 --parameters 2
    python tools/simulate_cluster.py --check     # against measured steps on two processes

The model does what Dask does. The driver describes all tasks and sends them in one message, each
level of sums in a further one, and a client sends at most one in 10 ms; the scheduler goes through
the whole message before a worker hears of it. A worker computes one task after the other, and tells
the scheduler of each; a sum starts when the scheduler has heard of all its parts, fetches those of
other workers first, and at last the driver is told and asks for the result. Messages between
scheduler and worker go at most once in 2 ms, and take ``latency``. Driver with scheduler, and each
worker, do one thing at a time; where they share ``cores``, those that are busy share them evenly,
with ``others`` that use them.

The check measures what steps cost in CPU time, at the least and the greatest number of partitions,
and how much of the cores busy processes get meanwhile. No wall time of a step goes into a
prediction.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import os
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

CLIENT, STREAM = 0.010, 0.002  # seconds between two messages: of Dask's client, of all others


class Costs(NamedTuple):
    """Seconds and bytes.

    task : of a worker, for a partition.  handle : of a worker, for any task beside: to receive, to tell.
    describe : of driver and scheduler, for each partition before a worker hears of one.  finish : of the
    scheduler, for each task that is done.  start : of driver and scheduler, for each message with tasks.
    answer : of both, for the result.  parameters : bytes that each
    worker gets, and each sum moves.  add : adding two results.  cores : those that driver, scheduler and
    workers share; none where each has its own.  others : busy processes that share them, too.
    """

    task: float
    handle: float
    describe: float
    finish: float
    start: float = 0.0
    answer: float = 0.0
    parameters: float = 0.0
    latency: float = 0.0005
    bandwidth: float = 1e9
    add: float = 0.0
    cores: float = math.inf
    others: float = 0.0


class Machine:
    """Servers that do one job at a time, on cores that those at work share evenly, and a clock."""

    def __init__(self, cores: float, others: float) -> None:
        self.cores, self.others = cores, others
        self.now, self.work = 0.0, 0.0  # work: seconds that each busy one has had
        self.timers: list[Any] = []
        self.jobs: list[Any] = []
        self.waiting: dict[Hashable, deque[Any]] = defaultdict(deque)
        self.busy: set[Hashable] = set()
        self.order = itertools.count()
        self.leaving: dict[Hashable, float] = defaultdict(lambda: -math.inf)  # the last, or next

    def do(
        self, server: Hashable, seconds: float, then: Callable[[], None], first: bool = False
    ) -> None:
        """Have a server work, after what it has to do already, or before what has not begun."""
        if server in self.busy:
            queue = self.waiting[server]
            (queue.appendleft if first else queue.append)((seconds, then))
            return
        self.busy.add(server)
        heapq.heappush(self.jobs, (self.work + seconds, next(self.order), server, then))

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Something at a later time."""
        heapq.heappush(self.timers, (self.now + seconds, next(self.order), then))

    def send(
        self, line: Hashable, interval: float, latency: float, then: Callable[[], None]
    ) -> None:
        """A message: on each line all leave together, an interval after those before."""
        leaves = self.leaving[line]
        if leaves < self.now:
            leaves = self.leaving[line] = max(self.now, leaves + interval)
        self.after(leaves - self.now + latency, then)

    def run(self) -> float:
        """All that there is to do; the time of the end."""
        while self.timers or self.jobs:
            rate = min(1.0, self.cores / max(1.0, len(self.busy) + self.others))
            ready = self.now + (self.jobs[0][0] - self.work) / rate if self.jobs else math.inf
            if self.timers and self.timers[0][0] <= ready:
                at, _, then = heapq.heappop(self.timers)
                self.work += (at - self.now) * rate
                self.now = at
            else:
                self.work, _, server, then = heapq.heappop(self.jobs)
                self.now = ready
                self.busy.discard(server)
                if self.waiting[server]:
                    self.do(server, *self.waiting[server].popleft())
            then()
        return self.now


class Step:
    """One step on such a machine: partitions, then sums of ``fan_in`` neighbours, level by level."""

    def __init__(self, partitions: int, workers: int, costs: Costs, fan_in: int = 8) -> None:
        self.costs, self.machine = costs, Machine(costs.cores, costs.others)
        self.where = [[i % workers for i in range(partitions)]]  # workers, of each level's tasks
        while len(self.where) == 1 or len(self.where[-1]) > 1:
            groups = [
                self.where[-1][first : first + fan_in]
                for first in range(0, len(self.where[-1]), fan_in)
            ]
            self.where.append([group[i % len(group)] for i, group in enumerate(groups)])
        self.fan_in = fan_in
        self.missing = [  # parts of which the scheduler has not heard, and one for the sum's description
            [len(self.where[level][first : first + fan_in]) + 1
             for first in range(0, len(self.where[level]), fan_in)]
            for level in range(len(self.where) - 1)
        ]  # fmt: skip

    def seconds(self) -> float:
        """The time of the step."""
        self.describe(0)
        return self.machine.run()

    def describe(self, level: int) -> None:
        """The driver describes the tasks of a level, and then those of the next."""
        seconds = self.costs.start + self.costs.describe * len(self.where[level])

        def described() -> None:
            self.machine.send("client", CLIENT, 0.0, lambda: self.received(level))
            if level + 1 < len(self.where):
                self.describe(level + 1)

        self.machine.do("driver", seconds, described)

    def received(self, level: int) -> None:
        """The scheduler has a level's tasks: those of partitions go out, sums wait for their parts."""
        if level:
            for i in range(len(self.where[level])):
                self.part_of(level, i)
            return
        of: dict[int, list[int]] = defaultdict(list)
        for i, worker in enumerate(self.where[0]):
            of[worker].append(i)
        sending = self.costs.latency + self.costs.parameters / self.costs.bandwidth
        for worker, tasks in of.items():
            self.machine.send(
                ("to", worker), STREAM, sending, lambda tasks=tasks: self.begin(tasks)
            )

    def begin(self, tasks: list[int]) -> None:
        """A worker has its partitions' tasks."""
        for i in tasks:
            self.compute(0, i, self.costs.handle + self.costs.task)

    def compute(self, level: int, i: int, seconds: float) -> None:
        """A worker computes, and tells; the scheduler hears."""
        worker = self.where[level][i]

        def heard() -> None:
            self.machine.do("driver", self.costs.finish, lambda: self.finished(level, i))

        def computed() -> None:
            self.machine.send(("from", worker), STREAM, self.costs.latency, heard)

        self.machine.do(worker, seconds, computed)

    def finished(self, level: int, i: int) -> None:
        """The scheduler knows of a result."""
        if level + 1 < len(self.where):
            self.part_of(level + 1, i // self.fan_in)
        else:  # the driver is told, and asks for it
            costs, machine = self.costs, self.machine
            back = costs.latency + costs.parameters / costs.bandwidth
            steps = [
                lambda then: machine.do("driver", costs.answer / 2, then),
                lambda then: machine.after(costs.latency, then),
                lambda then: machine.do(self.where[-1][0], costs.handle, then, first=True),
                lambda then: machine.after(back, then),
                lambda then: machine.do("driver", costs.answer / 2, then),
            ]
            one_by_one(steps)

    def part_of(self, level: int, i: int) -> None:
        """One thing less for which a sum waits; with the last it goes to a worker."""
        self.missing[level - 1][i] -= 1
        if self.missing[level - 1][i]:
            return
        worker, costs = self.where[level][i], self.costs
        parts = self.where[level - 1][i * self.fan_in : (i + 1) * self.fan_in]
        others = [other for other in set(parts) if other != worker]
        waits = [len(others)]
        seconds = costs.handle + costs.add * len(parts)
        moved = sum(other != worker for other in parts)
        moving = costs.latency + moved * costs.parameters / costs.bandwidth  # all into one worker

        def arrived() -> None:
            waits[0] -= 1
            if waits[0] <= 0:
                self.compute(level, i, seconds)

        def ask() -> None:
            for other in others:
                self.machine.after(costs.latency, lambda other=other: self.machine.do(
                    other, costs.handle, lambda: self.machine.after(moving, arrived), first=True
                ))  # fmt: skip
            if not others:
                arrived()

        self.machine.send(("to", worker), STREAM, costs.latency, ask)


def one_by_one(steps: list[Callable[[Callable[[], None]], None]]) -> None:
    """Have each step begin when the one before is done."""
    if steps:
        steps[0](lambda: one_by_one(steps[1:]))


def step_time(partitions: int, workers: int, costs: Costs, fan_in: int = 8) -> float:
    """The seconds of one step."""
    return Step(partitions, workers, costs, fan_in).seconds()


# --- against measurement ------------------------------------------------------------------------------
ROWS = 40_000  # of a partition: 20 MB, the least that docs/tutorials/distributed.md advises
SPIN = 0.25  # seconds
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Measured(NamedTuple):
    """Seconds of a step: of wall time, and of CPU.

    workers : of both.  described : of driver and scheduler, until all partitions have gone to workers.
    driver : of driver and scheduler in all.
    """

    wall: float
    workers: float
    described: float
    driver: float


class Watch:
    """The CPU time of this process when the last task of a step first went to a worker."""

    def __init__(self, scheduler: Any) -> None:
        from distributed.diagnostics.plugin import SchedulerPlugin

        seen = set()  # a task that another worker steals goes out once more

        class Plugin(SchedulerPlugin):  # type: ignore[misc]
            name = "watch"

            def transition(_, key: Any, start: str, finish: str, *args: Any, **more: Any) -> None:
                if finish == "processing" and not str(key).startswith("sum") and key not in seen:
                    seen.add(key)
                    self.at = time.process_time()

        self.at = 0.0
        scheduler.add_plugin(Plugin())


def nothing(w: Any, data: Any) -> Any:
    """A loss without computing."""
    return (w * w)[0]


def measured(
    counts: list[int], repeat: int = 15, rows: int = ROWS
) -> tuple[dict[int, Measured], dict[int, Measured], float]:
    """Medians of steps by their partitions, of steps that compute nothing, and the others' processes."""
    import arraytape as xp
    import distributed_figures as figures
    from arraytape import distributed
    from distributed import Client, LocalCluster

    options = {"processes": True, "dashboard_address": ":0", "memory_limit": 0}
    x, small, others = xp.zeros(figures.COLUMNS), xp.zeros(1), []
    steps, rounds = {}, defaultdict(list)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        watch = Watch(cluster.scheduler)
        for count in counts:
            futures = client.map(figures.block, range(count), [rows] * count, pure=False)
            data = distributed.partitions(futures)
            loss = distributed.value_and_grad(figures.logistic, data)
            steps["loss", count] = lambda loss=loss: loss(x)
            if count in (min(counts), max(counts)):
                empty = distributed.value_and_grad(nothing, data)
                steps["nothing", count] = lambda empty=empty: empty(small)
        for step in steps.values():
            step()
        for _ in range(repeat):  # in turns, so that what else the machine does hits all alike
            others.append(others_at_work(client))
            for name, step in steps.items():
                rounds[name].append(cost(client, watch, step))
    found: dict[str, dict[int, Measured]] = {"loss": {}, "nothing": {}}
    for (name, count), rows in rounds.items():
        medians = [sorted(column)[repeat // 2] for column in zip(*rows, strict=True)]
        found[name][count] = Measured(*medians)
    return found["loss"], found["nothing"], sorted(others)[repeat // 2]


def cost(client: Any, watch: Watch, step: Callable[[], Any]) -> Measured:
    """The seconds of one step."""
    before = client.run(time.process_time)
    time.sleep(2 * CLIENT)
    here, start = time.process_time(), time.perf_counter()
    step()
    wall, driver = time.perf_counter() - start, time.process_time() - here
    after = client.run(time.process_time)
    return Measured(wall, sum(after[k] - before[k] for k in after), watch.at - here, driver)


def others_at_work(client: Any) -> float:
    """How many processes share the cores: of what two workers and this one get, when all three spin."""
    found: list[float] = []
    other = threading.Thread(target=lambda: found.extend(client.run(spin).values()))
    other.start()
    found.append(spin())
    other.join()
    return max(0.0, len(found) * CORES / sum(found) - len(found))


def spin() -> float:
    """The share of a core that a busy process gets."""
    start, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < SPIN:
        pass
    return (time.process_time() - cpu) / (time.perf_counter() - start)


def costs_of(loss: dict[int, Measured], nothing: dict[int, Measured], others: float) -> Costs:
    """The costs, by CPU time and what others take of the cores: no wall time of a step is looked at."""
    least, most = min(loss), max(loss)
    a, b, more = loss[least], loss[most], most - least
    tasks = tasks_of(most) - tasks_of(least)
    sums = tasks - more
    # A sum is handled where it runs, and where its parts are.
    handle = (nothing[most].workers - nothing[least].workers) / (tasks + sums)
    task = (b.workers - a.workers - handle * (tasks + sums)) / more
    describe = (b.described - a.described) / more
    start = max(0.0, a.described - least * describe)
    # What comes after: messages with the sums, which are described, what is done, and the answer.
    rest_a = (
        a.driver - a.described - levels_of(least) * start - describe * (tasks_of(least) - least)
    )
    rest_b = b.driver - b.described - levels_of(most) * start - describe * (tasks_of(most) - most)
    finish = (rest_b - rest_a) / tasks
    answer = max(0.0, rest_a - finish * tasks_of(least))
    return Costs(task, handle, describe, finish, start, answer, cores=CORES, others=others)


def tasks_of(partitions: int, fan_in: int = 8) -> int:
    """The tasks of a step: of partitions, and of sums."""
    total, left = partitions, partitions
    while left > 1 or total == partitions:
        left = -(-left // fan_in)
        total += left
    return total


def levels_of(partitions: int, fan_in: int = 8) -> int:
    """The levels of sums."""
    levels = 1
    while partitions > fan_in:
        partitions, levels = -(-partitions // fan_in), levels + 1
    return levels


def check(repeat: int, rows: int) -> None:
    """Predict steps from what they cost in CPU time."""
    loss, nothing, others = measured([2, 16, 64, 256], repeat, rows)
    costs = costs_of(loss, nothing, others)
    named = "task", "handle", "describe", "finish", "start", "answer"
    print(", ".join(f"{name} {1000 * getattr(costs, name):.2f} ms" for name in named), end="; ")
    print(f"{CORES} cores, which {others:.1f} other processes use")
    print(f"{'partitions':>10}{'measured ms':>13}{'predicted ms':>14}{'ratio':>7}")
    for count, found in loss.items():
        predicted = step_time(count, 2, costs)
        print(
            f"{count:10}{1000 * found.wall:13.1f}{1000 * predicted:14.1f}"
            f"{predicted / found.wall:7.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="measure on two processes, and compare"
    )
    parser.add_argument("--repeat", type=int, default=15, help="rounds of the check")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the check's partitions")
    parser.add_argument("--partitions", type=int, default=512)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--task", type=float, default=1.0, help="seconds to compute a partition")
    parser.add_argument(
        "--overhead",
        type=float,
        default=0.0015,
        help="seconds of driver and scheduler for each task",
    )
    parser.add_argument("--handle", type=float, default=0.0015, help="seconds of a worker for each")
    parser.add_argument("--parameters", type=float, default=0.1, help="MB")
    parser.add_argument("--latency", type=float, default=0.0005, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=1.0, help="GB/s")
    options = parser.parse_args()
    if options.check:
        check(options.repeat, options.rows)
        return
    costs = Costs(
        options.task, options.handle, options.overhead / 2, options.overhead / 2, 0.0, 0.0,
        options.parameters * 1e6, options.latency, options.bandwidth * 1e9, options.parameters * 1e-3,
    )  # fmt: skip
    seconds = step_time(options.partitions, options.workers, costs)
    ideal = options.task * options.partitions / options.workers
    print(f"step {seconds:.3f} s; computing alone {ideal:.3f} s, {ideal / seconds:.0%} of it")


if __name__ == "__main__":
    main()
