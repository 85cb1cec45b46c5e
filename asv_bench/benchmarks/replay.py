"""Replayed functions, compared with hand-written NumPy, and the cost of tracing."""

from __future__ import annotations

import gc
from copy import copy
from time import process_time
from typing import Any

import numpy as np

import arraytape as xp

from .measure import QUICK, benchmark, ratio, repeated
from .workloads import MLP, LogisticRegression, ScalarChain, Workload, step

Raw = np.ndarray[Any, Any]


class Rosenbrock:
    """Rosenbrock's function: a few ops on parts of one vector."""

    def __init__(self, size: int) -> None:
        self.parameters = [np.random.default_rng(0).uniform(-1.0, 1.0, size)]

    def f(self, xp: Any, x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def hand(self, x: Raw) -> list[Raw]:
        u, d = x[:-1], x[1:] - x[:-1] * x[:-1]
        e = 1.0 - u
        _ = 100.0 * np.dot(d, d) + np.dot(e, e)
        g = np.zeros_like(x)
        np.multiply(d, 200.0, out=g[1:])
        d *= u
        d *= 400.0
        e *= 2.0
        d += e
        g[:-1] -= d
        return [g]


class Elementwise:
    """Elementwise ops on arrays larger than the caches."""

    def __init__(self, size: int) -> None:
        random = np.random.default_rng(0)
        self.parameters = [random.standard_normal(size), np.asarray(0.7), np.asarray(0.1)]

    def f(self, xp: Any, x: Any, a: Any, b: Any) -> Any:
        return xp.sum(xp.tanh(a * x + b) * xp.exp(-(x**2)))

    def hand(self, x: Raw, a: Raw, b: Raw) -> list[Raw]:
        t = np.tanh(a * x + b)
        e = np.exp(-x * x)
        _ = np.dot(t, e)
        g = 1.0 - t * t
        g *= e
        gb, ga = g.sum(), np.dot(g, x)
        g *= a
        t *= e
        t *= x
        t *= 2.0
        g -= t
        return [g, ga, gb]


class InBlocks(Elementwise):
    """The same ops with a hand-written gradient that computes blocks which fit in the caches.

    Replays compute such blocks, too.  So the ratio of both hardly depends on other programs, which take
    the caches and the memory's bandwidth from a gradient of whole arrays.
    """

    BLOCK = 4096  # elements

    def hand(self, x: Raw, a: Raw, b: Raw) -> list[Raw]:
        g, ga, gb = np.empty_like(x), 0.0, 0.0
        for start in range(0, x.size, self.BLOCK):
            block = slice(start, start + self.BLOCK)
            g[block], of_a, of_b = super().hand(x[block], a, b)
            ga += of_a
            gb += of_b
        return [g, np.asarray(ga), np.asarray(gb)]


WORKLOADS: dict[str, Workload] = {
    "1,000 ops on scalars": ScalarChain(()),
    "1,000 ops on 10 elements": ScalarChain((10,)),
    "Rosenbrock, 100": Rosenbrock(100),
    "MLP": MLP(),
    "logistic regression": LogisticRegression(),
    "elementwise, large": Elementwise(100_000 if QUICK else 2_000_000),
    # Above the size up to which freed memory stays in the process: each call gets new pages.
    "elementwise, 17 MiB": Elementwise(2_200_000),
}


def arrays(work: Workload) -> list[xp.Array]:
    return [xp.asarray(p) for p in work.parameters]


def without_raw(work: Workload) -> Workload:
    """Return the workload without the ndarrays that the hand-written gradient reads.

    A replay compares every ndarray that the function can reach with its contents at the trace.  For the
    8 MB of the logistic regression this took as long as the rest of the call, for the MLP's parameters a
    third of it.  The function reads Arrays with the same values instead.
    """
    ours = copy(work)
    for name in ("x", "y", "parameters"):
        vars(ours).pop(name, None)
    return ours


def ratio_to_hand(workload: str, compile: bool) -> float:
    """Return the time of value and gradient, replayed, as a multiple of hand-written NumPy's."""
    return ratio_of(WORKLOADS[workload], compile)


def ratio_of(work: Workload, compile: bool) -> float:
    ours = without_raw(work)
    parameters = arrays(work)
    replayed = xp.function(lambda *given: step(ours, [*given]), compile=compile)
    step(ours, parameters)
    for _ in range(4):
        found = replayed(*parameters)
    for one, theirs in zip(found, work.hand(*work.parameters), strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), theirs, rtol=1e-6, atol=1e-9)
    assert replayed.counts["replayed"] == 2, replayed.reasons
    if compile and not replayed.compiled:
        raise NotImplementedError(replayed.explain())  # asv skips the benchmark
    return ratio(
        repeated(lambda: replayed(*parameters)),
        repeated(lambda: work.hand(*work.parameters)),
    )


# The budgets are measured ratios, with room for noise.
@benchmark(
    "x hand",
    budget={
        "1,000 ops on scalars": 0.3, "1,000 ops on 10 elements": 0.8, "Rosenbrock, 100": 1.4, "MLP": 1.5,
        "logistic regression": 1.3,
    },
    aim={"elementwise, large": 0.6, "elementwise, 17 MiB": 0.6},
    workload=list(WORKLOADS),
)  # fmt: skip
def track_replayed(workload: str) -> float:
    """Measure a replay of value and gradient that runs a program of NumPy calls, not machine code."""
    return ratio_to_hand(workload, False)


@benchmark(
    "x hand",
    budget={
        "1,000 ops on scalars": 0.06, "1,000 ops on 10 elements": 0.06, "Rosenbrock, 100": 0.8,
        "MLP": 0.9,
        "logistic regression": 1.3,
    },
    aim={"elementwise, large": 0.6, "elementwise, 17 MiB": 0.6},
    workload=list(WORKLOADS),
)  # fmt: skip
def track_compiled(workload: str) -> float:
    """Measure a replay of value and gradient that runs machine code (``compile=True``)."""
    return ratio_to_hand(workload, True)


@benchmark(
    "x hand in blocks",
    budget={"NumPy's calls": 0.9, "machine code": 0.75},
    runs=["NumPy's calls", "machine code"],
)
def track_replayed_in_blocks(runs: str) -> float:
    """Measure a replay of ops on large arrays; on a busy machine, whole arrays say nothing."""
    return ratio_of(InBlocks(100_000 if QUICK else 2_000_000), runs == "machine code")


@benchmark(
    "eager calls",
    budget={"1,000 ops on 10 elements": 120.0, "MLP": 400.0},
    workload=["1,000 ops on 10 elements", "MLP"],
)
def track_compiling(workload: str) -> float:
    """Measure the time that compilation adds to the first two calls, divided by an eager call."""
    work = WORKLOADS[workload]
    parameters = arrays(work)

    def first_two(compile: bool) -> float:
        replayed = xp.function(lambda *given: step(work, [*given]), compile=compile)
        gc.collect()
        start = process_time()
        replayed(*parameters)
        replayed(*parameters)
        seconds = process_time() - start
        if compile and not replayed.compiled:
            raise NotImplementedError(replayed.explain())
        return seconds

    return ratio(
        lambda: first_two(True) - first_two(False), repeated(lambda: step(work, parameters))
    )


# A tape keeps the values for the backward pass in new memory, so that replays of large arrays are not
# faster than eager calls.
@benchmark(
    "x hand",
    budget={
        "1,000 ops on scalars": 1.0, "1,000 ops on 10 elements": 1.6, "Rosenbrock, 100": 16.0,
        "MLP": 4.5, "logistic regression": 2.0, "elementwise, large": 3.0, "elementwise, 17 MiB": 3.0,
    },
    workload=list(WORKLOADS),
)  # fmt: skip
def track_replayed_under_a_tape(workload: str) -> float:
    """Measure a replayed function on a tape, with its gradient, divided by hand-written NumPy.

    The call is one record on the tape, and its backward pass is a program of its own.
    """
    work = WORKLOADS[workload]
    ours = without_raw(work)
    parameters = arrays(work)
    replayed = xp.function(lambda *given: ours.f(xp, *given), compile=False)

    def on_a_tape() -> Any:
        with xp.GradientTape() as tape:
            tape.watch(parameters)
            y = replayed(*parameters)
        return tape.gradient(y, parameters)

    on_a_tape()
    for _ in range(4):
        found = on_a_tape()
    for one, theirs in zip(found, work.hand(*work.parameters), strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), theirs, rtol=1e-6, atol=1e-9)
    assert replayed.counts["replayed"] == 3, replayed.reasons
    return ratio(repeated(on_a_tape), repeated(lambda: work.hand(*work.parameters)))


@benchmark(
    "eager calls",
    budget={"1,000 ops on 10 elements": 120.0, "MLP": 120.0, "elementwise, 17 MiB": 10.0},
    workload=["1,000 ops on 10 elements", "MLP", "elementwise, 17 MiB"],
)
def track_first_two_calls(workload: str) -> float:
    """Measure the first two calls, which are traced and build the program, divided by an eager call."""
    work = WORKLOADS[workload]
    parameters = arrays(work)

    def first_two() -> float:
        replayed = xp.function(lambda *given: step(work, [*given]), compile=False)
        gc.collect()
        start = process_time()
        replayed(*parameters)
        replayed(*parameters)
        return process_time() - start

    return ratio(first_two, repeated(lambda: step(work, parameters)))
