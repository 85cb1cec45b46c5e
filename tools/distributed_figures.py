"""Measure arraytape.distributed against a hand-written map-reduce, on two processes of this machine.

    python tools/distributed_figures.py                 # 400 MB in 20 MB blocks
    python tools/distributed_figures.py --partitions 64 --megabytes 64

It prints CPU seconds of the workers and of the driver (with the scheduler) for a step, and the ratios.
"""

from __future__ import annotations

import argparse
import functools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp
from arraytape import distributed

COLUMNS = 50


def block(seed: int, rows: int) -> Any:
    """The columns and labels of one partition, made where it lies."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    return X, (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(float)


def loss(w: Any, data: Any) -> Any:
    """The loss of logistic regression on a block."""
    X, y = data
    z = X @ w
    return xp.sum(xp.logaddexp(z, xp.zeros_like(z)) - y * z)


def by_hand(w: np.ndarray, data: Any) -> tuple[float, np.ndarray]:
    """The same with its gradient, as a person would write it."""
    X, y = data
    z = X @ w
    return float(np.sum(np.logaddexp(z, 0) - y * z)), X.T @ (1 / (1 + np.exp(-z)) - y)


def added(parts: Sequence[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """The sum of values and gradients."""
    return tuple(functools.reduce(operator.add, column) for column in zip(*parts, strict=True))


def by_hand_on(client: Any, futures: Sequence[Any], w: np.ndarray) -> Any:
    """A step of the hand-written map-reduce."""
    parts = client.map(by_hand, [w] * len(futures), futures, pure=False)
    while len(parts) > 1:
        groups = [parts[i : i + 8] for i in range(0, len(parts), 8)]
        parts = client.map(added, groups, pure=False)
    return parts[0].result()


def cost(client: Any, step: Callable[[], Any], repeat: int) -> tuple[float, float, float]:
    """CPU seconds of the workers, of this process, and seconds of wall time, for one step: the least."""
    found = []
    step()
    for _ in range(repeat):
        before, here, start = (
            client.run(time.process_time),
            time.process_time(),
            time.perf_counter(),
        )
        step()
        wall, driver = time.perf_counter() - start, time.process_time() - here
        after = client.run(time.process_time)
        found.append((sum(after[k] - before[k] for k in after), driver, wall))
    return tuple(min(column) for column in zip(*found, strict=True))


def measure(megabytes: int, count: int, repeat: int) -> dict[str, tuple[float, float, float]]:
    """The costs of each way."""
    from distributed import Client, LocalCluster

    rows = int(megabytes * 1e6 / count / 8 / (COLUMNS + 1))
    w = np.zeros(COLUMNS)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(block, range(count), [rows] * count)
        client.gather(client.map(len, futures))
        data = distributed.partitions(futures)
        both = distributed.value_and_grad(loss, data)
        total = distributed.map_sum(loss, data)
        x = xp.asarray(w)
        ways = {
            "by hand": lambda: by_hand_on(client, futures, w),
            "value_and_grad": lambda: both(x),
            "map_sum under a tape": lambda: xp.value_and_grad(total)(x),
            "hvp of map_sum": lambda: xp.hvp(total, (x,), (x + 1.0,)),
        }
        here, there = by_hand_on(client, futures, w), both(x)
        assert np.allclose(there[1], here[1], rtol=1e-12), "the ways differ"
        return {name: cost(client, way, repeat) for name, way in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    found = measure(options.megabytes, options.partitions, options.repeat)
    hand = found["by hand"][0]
    tasks = 1.14 * options.partitions
    print(f"{options.megabytes} MB in {options.partitions} partitions, 2 processes")
    print(f"{'':22}{'workers s':>10}{'x hand':>8}{'driver ms':>11}{'ms a task':>11}{'wall s':>8}")
    for name, (workers, driver, wall) in found.items():
        print(
            f"{name:22}{workers:10.3f}{workers / hand:8.2f}{1000 * driver:11.1f}"
            f"{1000 * driver / tasks:11.2f}{wall:8.3f}"
        )


if __name__ == "__main__":
    main()
