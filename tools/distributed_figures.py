"""Measure arraytape.distributed against a hand-written map-reduce, on two processes of this machine.

    python tools/distributed_figures.py                 # 400 MB in 20 MB blocks, four losses
    python tools/distributed_figures.py --losses logistic --partitions 64 --megabytes 64

A step is computed in several ways, such as by hand and by ``value_and_grad``. For each way, the
output has the CPU seconds of the workers and of the driver with the scheduler, and the ratio to the
hand-written step. The ways run in turn, and the least of several times is printed, because other
work of the machine makes some of them longer.
"""

from __future__ import annotations

import argparse
import functools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp
from arraytape import distributed

COLUMNS, UNITS, CLASSES = 50, 16, 10


def block(seed: int, rows: int) -> Any:
    """Return the columns, labels and classes of one partition; workers call this function."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    classes = np.eye(CLASSES)[rng.integers(0, CLASSES, rows)]
    return X, (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(float), classes


# --- losses, and hand-written functions of their values and gradients ---------------------------------
def logistic(w: Any, data: Any) -> Any:
    """Return the loss of logistic regression."""
    X, y, _ = data
    z = X @ w
    return xp.sum(xp.logaddexp(z, xp.zeros_like(z)) - y * z)


def logistic_by_hand(w: np.ndarray, data: Any) -> tuple[float, np.ndarray]:
    X, y, _ = data
    z = X @ w
    return float(np.sum(np.logaddexp(z, 0) - y * z)), X.T @ (1 / (1 + np.exp(-z)) - y)


def squares(w: Any, data: Any) -> Any:
    """Return the loss of least squares."""
    X, y, _ = data
    r = X @ w - y
    return xp.sum(r * r)


def squares_by_hand(w: np.ndarray, data: Any) -> tuple[float, np.ndarray]:
    X, y, _ = data
    r = X @ w - y
    return float(np.sum(r * r)), X.T @ (2 * r)


def net(p: Any, data: Any) -> Any:
    """Return the squared error of a net with one hidden layer."""
    X, y, _ = data
    W, b, v = p
    r = xp.tanh(X @ W + b) @ v - y
    return xp.sum(r * r)


def net_by_hand(p: Any, data: Any) -> tuple[float, Any]:
    X, y, _ = data
    W, b, v = p
    h = np.tanh(X @ W + b)
    r = h @ v - y
    g = 2 * r
    into = np.outer(g, v) * (1 - h * h)
    return float(np.sum(r * r)), [X.T @ into, np.sum(into, axis=0), h.T @ g]


def softmax(W: Any, data: Any) -> Any:
    """Return the loss of softmax regression."""
    X, _, classes = data
    z = X @ W
    shifted = z - xp.stop_gradient(xp.max(z, axis=1, keepdims=True))
    sums = xp.sum(xp.exp(shifted), axis=1, keepdims=True)
    return xp.sum((xp.log(sums) - shifted) * classes)


def softmax_by_hand(W: np.ndarray, data: Any) -> tuple[float, np.ndarray]:
    X, _, classes = data
    z = X @ W
    shifted = z - np.max(z, axis=1, keepdims=True)
    e = np.exp(shifted)
    sums = np.sum(e, axis=1, keepdims=True)
    return float(np.sum((np.log(sums) - shifted) * classes)), X.T @ (e / sums - classes)


class Loss(NamedTuple):
    """A loss f, a hand-written function of its value and gradient, and parameters."""

    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    params: Any


def losses() -> dict[str, Loss]:
    """Return the losses by name, with random parameters."""
    rng = np.random.default_rng(0)
    w, W = rng.normal(size=COLUMNS), rng.normal(size=(COLUMNS, UNITS))
    return {
        "logistic": Loss(logistic, logistic_by_hand, 0.1 * w),
        "squares": Loss(squares, squares_by_hand, 0.1 * w),
        "net": Loss(net, net_by_hand, [0.1 * W, 0.1 * W[0], W[1]]),
        "softmax": Loss(softmax, softmax_by_hand, 0.1 * W[:, :CLASSES]),
    }


def mapped(function: Callable[..., Any], x: Any) -> Any:
    """Apply a function to each array of a list, or to one array."""
    return [function(one) for one in x] if isinstance(x, list) else function(x)


def added(parts: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
    """Return the sums of the values and of the gradients of several partitions."""
    values, gradients = zip(*parts, strict=True)
    if isinstance(gradients[0], list):
        columns = zip(*gradients, strict=True)
        return sum(values), [functools.reduce(operator.add, column) for column in columns]
    return sum(values), functools.reduce(operator.add, gradients)


def by_hand_on(client: Any, futures: Sequence[Any], by_hand: Any, params: Any) -> Any:
    """Return value and gradient, summed by a hand-written map-reduce in groups of eight."""
    parts = client.map(by_hand, [params] * len(futures), futures, pure=False)
    while len(parts) > 1:
        groups = [parts[i : i + 8] for i in range(0, len(parts), 8)]
        parts = client.map(added, groups, pure=False)
    return parts[0].result()


# --- costs --------------------------------------------------------------------------------------------
Cost = tuple[float, float, float]


def cost(client: Any, step: Callable[[], Any]) -> Cost:
    """Return CPU seconds of the workers and of this process, and wall-clock seconds, of one step."""
    before, here = client.run(time.process_time), time.process_time()
    start = time.perf_counter()
    step()
    wall, driver = time.perf_counter() - start, time.process_time() - here
    after = client.run(time.process_time)
    return sum(after[k] - before[k] for k in after), driver, wall


def costs(client: Any, ways: dict[str, Callable[[], Any]], repeat: int) -> dict[str, Cost]:
    """Run the named functions ``ways`` in turn, ``repeat`` times; return the least costs by name."""
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for turn in range(repeat + 1):
        for name, way in ways.items():
            here = cost(client, way)
            if turn:
                found[name].append(here)
    least = {name: np.min(rows, axis=0) for name, rows in found.items()}
    return {name: tuple(map(float, row)) for name, row in least.items()}


def ways_of(client: Any, futures: Sequence[Any], loss: Loss) -> dict[str, Callable[[], Any]]:
    """Return named functions that compute a loss's derivative; check that the first two agree."""
    data = distributed.partitions(futures)
    both, total = (
        distributed.value_and_grad(loss.f, data),
        distributed.map_sum(loss.f, data),
    )
    x = mapped(xp.asarray, loss.params)
    v = mapped(xp.ones_like, x)
    here, there = by_hand_on(client, futures, loss.by_hand, loss.params), both(x)
    assert np.allclose(there[0], here[0], rtol=1e-12), "the values differ"
    gradients = (there[1], here[1]) if isinstance(x, list) else ([there[1]], [here[1]])
    for a, b in zip(*gradients, strict=True):
        scale = float(np.abs(b).max())
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12 * scale), "the gradients differ"
    return {
        "by hand": lambda: by_hand_on(client, futures, loss.by_hand, loss.params),
        "value_and_grad": lambda: both(x),
        "map_sum under a tape": lambda: xp.value_and_grad(total)(x),
        "hvp of map_sum": lambda: xp.hvp(total, (x,), (v,)),
    }


def measure(
    megabytes: int, count: int, repeat: int, names: Sequence[str] = ("logistic",)
) -> dict[str, dict[str, Cost]]:
    """Return the least cost of a step: a dict from the loss's name to a dict by the way of ``ways_of``.

    megabytes : the size of the data.  count : the number of partitions.
    """
    from distributed import Client, LocalCluster

    rows = int(megabytes * 1e6 / count / 8 / (COLUMNS + 1))
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
        return {
            name: costs(client, ways_of(client, futures, losses()[name]), repeat) for name in names
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--losses", nargs="+", default=list(losses()), choices=list(losses()))
    options = parser.parse_args()
    found = measure(options.megabytes, options.partitions, options.repeat, options.losses)
    tasks = 1.14 * options.partitions
    print(f"{options.megabytes} MB in {options.partitions} partitions, 2 processes")
    print(f"{'':31}{'workers s':>10}{'x hand':>8}{'driver ms':>11}{'ms a task':>11}{'wall s':>8}")
    for loss, rows in found.items():
        for name, (workers, driver, wall) in rows.items():
            print(
                f"{loss:9} {name:21}{workers:10.3f}{workers / rows['by hand'][0]:8.2f}"
                f"{1000 * driver:11.1f}{1000 * driver / tasks:11.2f}{wall:8.3f}"
            )


if __name__ == "__main__":
    main()
