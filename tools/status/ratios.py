"""README's table of ratios: times of steps as multiples of a hand-written gradient in NumPy.

    make ratios                                  # arraytape alone: a minute
    PY_PEERS=/path/to/python make ratios         # PyTorch and JAX, too

Times are CPU times of one thread; freed memory stays in the process.  Bursts of steps of all libraries
run in turn, and the quickest burst of each counts.  Before the timing, every gradient is compared with
the hand-written one.  The interpreter PY_PEERS needs NumPy, array-api-compat, PyTorch and JAX.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from math import inf
from time import process_time
from typing import Any

import numpy as np

import arraytape as xp
import pages

sys.path[:0] = [str(pages.ROOT / "asv_bench")]

from benchmarks import jacobians, replay  # noqa: E402
from benchmarks.workloads import (  # noqa: E402
    MLP,
    Curvature,
    LogisticRegression,
    Rows,
    ScalarChain,
    step,
)
from run import with_settings  # noqa: E402

PEERS = {"torch": "PyTorch", "jax": "JAX, compiled"}
BURST, SECONDS = 0.02, 1.5
Step = Callable[[], Sequence[Any]]


class Net:
    """The workload of a Jacobian: a network of three layers, and inputs."""

    def __init__(self) -> None:
        self.weights = jacobians.layers(50, 50, 50, 50)
        self.parameters = [np.random.default_rng(1).standard_normal(50)]
        self.data = tuple(xp.asarray(w) for w in self.weights)

    def f(self, xp: Any, x: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = self.data
        return xp.tanh(xp.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


# By the name in the table: the workload, and "gradient", "hessian" or "jacobian".
STEPS: dict[str, Callable[[], tuple[Any, str]]] = {
    "1,000 ops on 10 elements": lambda: (ScalarChain((10,)), "gradient"),
    "1,000 ops on 1,000 elements": lambda: (ScalarChain((1000,)), "gradient"),
    "multilayer perceptron, batches of 32": lambda: (MLP(), "gradient"),
    "logistic regression, 20,000 rows": lambda: (LogisticRegression(), "gradient"),
    "elementwise, 2 million elements": lambda: (replay.Elementwise(2_000_000), "gradient"),
    "Hessian-vector product of the perceptron": lambda: (Curvature(), "hessian"),
    "Jacobian of a net, 50 by 50": lambda: (Net(), "jacobian"),
    "100 rows written in place in a loop": lambda: (Rows(100), "writes"),
}


def digest(gradients: Sequence[Any]) -> list[float]:
    """Return for each gradient one number that depends on all its elements, for comparisons."""
    return [float(np.sum(np.cos(np.arange(g.size)) * np.ravel(g))) for g in gradients]


def steps_of(name: str) -> tuple[Step, Step]:
    """Return two functions that compute one derivative: in hand-written NumPy, and by arraytape."""
    work, order = STEPS[name]()
    parameters = [xp.asarray(p) for p in work.parameters]
    if order == "hessian":
        return lambda: work.product(*work.parameters), lambda: work.reverse(parameters)
    if order == "jacobian":
        _, hand = jacobians.net()
        return lambda: [hand()], lambda: [
            jacobians.jacobian_of(lambda x: work.f(xp, x), parameters[0])
        ]
    ours = replay.without_raw(work)
    return lambda: work.hand(*work.parameters), lambda: step(ours, parameters)


def replayed(name: str) -> Step:
    """Return a function that computes the derivative ``name`` by a replay of ``xp.function``.

    The parameters are arguments of the replayed program.
    """
    work, order = STEPS[name]()
    arguments = [xp.asarray(p) for p in work.parameters]
    ours = replay.without_raw(work)
    traced = xp.function(
        {
            "hessian": lambda *given: ours.reverse([*given]),
            "jacobian": lambda x: [jacobians.jacobian_of(lambda x: ours.f(xp, x), x)],
        }.get(order, lambda *given: step(ours, [*given])),
        compile=True,  # as soon as there is a program, where llvmlite is installed
    )
    for _ in range(5):
        traced(*arguments)
    if not traced.counts["replayed"]:
        raise RuntimeError(f"{name} is not replayed: {traced.reasons}")
    return lambda: traced(*arguments)


# --- the measurement ------------------------------------------------------------------------------
class Peer:
    """A process that runs the steps of another library (tools/peer_steps.py)."""

    def __init__(self, python: str, library: str) -> None:
        environment = {**os.environ, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        environment["PYTHONPATH"] = os.pathsep.join(
            str(pages.ROOT / folder) for folder in ("src", "asv_bench", "tools")
        )
        self.process = subprocess.Popen(
            [python, str(pages.ROOT / "tools/peer_steps.py"), library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def ask(self, *question: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"ratios: a process of {self.process.args} ended")
        return json.loads(line)

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()


Burst = Callable[[int], float]  # number of steps -> CPU seconds of one step


def burst_of(run: Step) -> Burst:
    def burst(count: int) -> float:
        start = process_time()
        for _ in range(count):
            run()
        return (process_time() - start) / count

    return burst


def least(bursts: Sequence[Burst]) -> list[float]:
    """Run the bursts in turn; return for each the least CPU seconds of one step."""
    for burst in bursts:
        burst(1)
    counts = [max(1, round(BURST / max(burst(2), 1e-6))) for burst in bursts]
    found = [inf] * len(bursts)
    taken = 0.0
    while taken < SECONDS * len(bursts):
        for i, burst in enumerate(bursts):
            burst(1)  # loads the step's data into the caches again
            one = burst(counts[i])
            found[i] = min(found[i], one)
            taken += one * counts[i]
    return found


def row_of(name: str, peers: dict[str, Peer]) -> str:
    """Check and time the computation of one derivative in all libraries; return its row of the table."""
    hand, ours = steps_of(name)
    expected = digest([np.asarray(g) for g in hand()])
    runs = {"hand": hand, "arraytape": ours, "replayed": replayed(name)}
    for run in runs.values():
        np.testing.assert_allclose(
            digest([np.asarray(g) for g in run()]), expected, rtol=1e-6, atol=1e-8
        )
    bursts = {key: burst_of(run) for key, run in runs.items()}
    for library, peer in peers.items():
        said = peer.ask("start", name)
        if "none" in said:
            print(f"ratios: {name}: {said['none']}", file=sys.stderr)
            continue
        np.testing.assert_allclose(said["digest"], expected, rtol=1e-6, atol=1e-8, err_msg=library)
        bursts[library] = lambda count, peer=peer: peer.ask("burst", count)
    seconds = dict(zip(bursts, least(list(bursts.values())), strict=True))
    columns = ["arraytape", "replayed", *PEERS]
    cells = [f"{seconds[key] / seconds['hand']:.2g}" if key in seconds else "" for key in columns]
    return pages.row([name, *cells])


def table(rows: Sequence[str]) -> str:
    heads = ["step", "arraytape", "`xp.function`", *PEERS.values()]
    return "\n".join([pages.table(heads, []), *rows])


def page(old: str, *only: str) -> str:
    """Return README with new rows for all steps, or for those whose names contain a text in ``only``."""
    ends = pages.ends_of("ratios")
    written = old.partition(ends[0])[2].partition(ends[1])[0].strip().splitlines()[2:]
    rows = {line.split("|")[1].strip(): line for line in written}
    with_settings()
    python = os.environ.get("PY_PEERS")
    peers = {library: Peer(python, library) for library in PEERS} if python else {}
    for name in STEPS:
        if not only or any(text in name for text in only):
            rows[name] = row_of(name, peers)
            print(rows[name], flush=True)
    for peer in peers.values():
        peer.close()
    return pages.between(old, ends, table([rows[name] for name in STEPS if name in rows]))
