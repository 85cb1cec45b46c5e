"""Memory of tapes, counted by tracemalloc, which includes NumPy's data and Python's objects."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .measure import arrays_within, benchmark, traced
from .workloads import MLP, MemoryChain, step, tape_of

CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "x * y": lambda x, y: x * y,
    "x * 0.9": lambda x, y: x * 0.9,
    "tanh(x)": lambda x, y: xp.tanh(x),
}
RECORDS = 10_000
STEPS = 1000


@benchmark("bytes", exact=True, budget=300, headline="memory of a record", rank=2, op=list(CHAINS))
def track_bytes_per_record(op: str) -> float:
    """Measure the bytes of a record without the arrays that it keeps, as the mean of 10^4 ops."""
    x, y = (xp.asarray(np.full(10, value)) for value in (0.5, 0.99))
    given = {id(array) for array in arrays_within([x, y])}

    def record() -> xp.GradientTape:
        with xp.GradientTape() as tape:
            tape.watch([x, y])
            value = x
            for _ in range(RECORDS):
                value = CHAINS[op](value, y)
        return tape

    record()
    held, _, tape = traced(record)
    kept = sum(sys.getsizeof(array) for array in arrays_within(tape) if id(array) not in given)
    return (held - kept) / RECORDS


def held_by_chain() -> tuple[int, MemoryChain]:
    work = MemoryChain()
    parameters = [xp.asarray(p) for p in work.parameters]
    tape_of(work, parameters)
    held, _, _ = traced(lambda: tape_of(work, parameters)[0])
    return held, work


@benchmark("bytes", exact=True)
def track_kept_bytes() -> int:
    """Measure the bytes that the tape of relu, exp and tanh holds before the backward pass."""
    return held_by_chain()[0]


@benchmark("x minimum", exact=True, budget=1.15)
def track_kept_ratio() -> float:
    """Measure the kept bytes, divided by those of the results of exp and tanh.

    A tape must keep these results.  The bool masks of relu add 1/16.
    """
    held, work = held_by_chain()
    return held / work.results


@benchmark("x minimum", budget=1.15, headline="peak over what must be held", rank=3)
def track_peak_ratio() -> float:
    """Measure the peak of a step, divided by the bytes of exp's and tanh's results and gradients."""
    work = MemoryChain(200_000)
    parameters = [xp.asarray(p) for p in work.parameters]
    step(work, parameters)
    _, peak, _ = traced(lambda: step(work, parameters))
    return peak / (work.results + work.gradients)


def peak_of(loss: Callable[..., Any], *parameters: Any) -> int:
    """Return the peak bytes of a forward and a backward pass."""
    watched = [xp.asarray(p) for p in parameters]

    def both() -> Any:
        with xp.GradientTape() as tape:
            tape.watch(watched)
            y = loss(*watched)
        return tape.gradient(y, watched)

    both()
    return traced(both)[1]


@benchmark("x minimum", budget=1.15)
def track_peak_of_large_elementwise_ops() -> float:
    """Measure the peak of ops on 8 MB, divided by 24 MB (results of tanh and exp, a gradient)."""
    n = 1_000_000

    def loss(x: Any, a: Any, b: Any) -> Any:
        return xp.sum(xp.tanh(a * x + b) * xp.exp(-(x**2)))

    return peak_of(loss, np.linspace(-1, 1, n), np.asarray(0.7), np.asarray(0.1)) / (3 * 8 * n)


@benchmark("x minimum", budget=1.15)
def track_peak_of_a_deep_net() -> float:
    """Measure the peak of 40 layers of matmul and relu, divided by the bytes of results and masks."""
    layers, batch, width = 40, 1024, 96
    random = np.random.default_rng(0)
    weights = [random.standard_normal((width, width)) * (2 / width) ** 0.5 for _ in range(layers)]
    data = xp.asarray(random.standard_normal((batch, width)))

    def loss(*weights: Any) -> Any:
        h = data
        for w in weights:
            h = xp.maximum(h @ w, 0.0)
        return xp.sum(h * h)

    return peak_of(loss, *weights) / (9 * layers * batch * width)


@benchmark("MiB", budget=64)
def track_peak_of_dead_results() -> float:
    """Measure the peak in MiB while a tape records 1000 results of 1 MiB that are dead at once."""

    def loss(x: Any) -> Any:
        for _ in range(1000):
            xp.exp(x)
        return xp.sum(x * 2.0)

    return peak_of(loss, np.linspace(0, 1, 1 << 17)) / 2**20


@benchmark("KiB", exact=True, budget=6.4)
def track_heap_growth() -> float:
    """Measure the growth of the heap in 1000 training steps without the cyclic garbage collector.

    The budget is a tenth of the budget for 10,000 steps.
    """
    work = MLP(8, (8, 16, 16, 4))
    parameters = [xp.asarray(p) for p in work.parameters]

    def train(steps: int) -> None:
        for _ in range(steps):
            for p, g in zip(parameters, step(work, parameters), strict=True):
                p -= 0.01 * g

    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        # Train first until memory is steady.  CPython keeps up to 2000 dead tuples of each size for
        # reuse, and objects from before the start of tracing count only when they are replaced.
        train(2500)
        tracemalloc.start()
        train(100)
        before, _ = tracemalloc.get_traced_memory()
        train(STEPS)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        if enabled:
            gc.enable()
    return (after - before) / 1024
