"""Time whole steps: eager, replayed by ``xp.function``, and in other libraries.

    PYTHONPATH=src python tools/replay_figures.py      # the table of docs/tutorials/replay.md: a minute

Rows that need scikit-learn or PyTorch are left out if these are not installed.  Times are CPU times
of one thread.  The forms of a step run in turn, several times, and the least time counts.  "traced"
is the time of the first two calls, which trace and build the program, as a multiple of an eager
call.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import arraytape as xp
from arraytape import nn, optimizers

ROUNDS, TURN = 12, 0.02  # the number of turns, and the seconds of each
Run = Callable[[], Any]


class Case(NamedTuple):
    """A computation to time, such as a training step, in several forms.

    eager : runs it without replay.  replayed : returns a new function that runs it by ``xp.function``.
    other, theirs : the name of another library and a function that runs it there, or "" and None.
    """

    name: str
    eager: Run
    replayed: Callable[[], Run]
    other: str
    theirs: Run | None


def seconds(run: Run, times: int = 1) -> float:
    start = process_time()
    for _ in range(times):
        run()
    return (process_time() - start) / times


def row(case: Case) -> str:
    """Time a case and return its row of the table."""
    traced = []
    for _ in range(5):
        run = case.replayed()
        gc.collect()
        traced.append(seconds(run) + seconds(run))
    run()
    runs = [case.eager, run] + ([case.theirs] if case.theirs else [])
    times = [1 + int(TURN / max(seconds(one), 1e-6)) for one in runs]
    pairs = [*zip(runs, times, strict=True)]
    turns = [[seconds(one, n) for one, n in pairs] for _ in range(ROUNDS)]
    eager, replayed, *theirs = np.min(turns, axis=0)
    other = f"{case.other}: {1e3 * theirs[0]:.2f} ms" if theirs else ""
    return (
        f"| {case.name} | {1e3 * eager:.2f} ms | {1e3 * replayed:.2f} ms | {other} "
        f"| {min(traced) / eager:.0f} |"
    )


# --- scikit-learn -------------------------------------------------------------------------------------
def pipeline() -> Case:
    """Return the Case of ``make demo``'s step; ``theirs`` computes only the value, on NumPy arrays."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import differentiate_sklearn as demo

    (split, *_), _, features = demo.load(0)
    start = np.random.default_rng(0).normal(scale=0.3, size=len(features) + 1)
    ours, parameters = demo.to_arraytape([split]), xp.asarray(start)

    def replayed() -> Run:
        step = xp.function(demo.gradient.eager)
        return lambda: step(parameters, ours)

    return Case(
        "value and gradient through `StandardScaler`, `PolynomialFeatures` and `Ridge`",
        lambda: demo.gradient.eager(parameters, ours),
        replayed,
        "scikit-learn's value alone, on NumPy",
        lambda: demo.error(start, split),
    )


# --- a network ----------------------------------------------------------------------------------------
SIZES, BATCH = (64, 64, 64, 10), 32


def numbers() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.standard_normal((BATCH, SIZES[0])), random.integers(0, SIZES[-1], BATCH)


def network() -> Case:
    """Return a training step of a network of three Dense layers, with Adam in double precision."""
    x, labels = map(xp.asarray, numbers())

    def made() -> tuple[Any, Any]:
        layers = [nn.Dense(n, activation="relu", seed=i) for i, n in enumerate(SIZES[1:-1])]
        layers.append(nn.Dense(SIZES[-1], seed=len(layers)))
        for layer, size in zip(layers, SIZES, strict=False):
            layer(xp.zeros((1, size)))
        variables = [v for layer in layers for v in layer.trainable_variables]
        optimizer = optimizers.Adam(0.001)
        optimizer.build(variables)
        return layers, optimizer

    def step(layers: Any, optimizer: Any, x: Any, labels: Any) -> Any:
        with xp.GradientTape() as tape:
            for layer in layers:
                x = layer(x)
            loss = xp.mean(nn.softmax_cross_entropy(labels, x))
        variables = [v for layer in layers for v in layer.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    def run_of(step: Any) -> Run:
        parts = made()
        return lambda: step(*parts, x, labels)

    return Case(
        "three `Dense` layers and `Adam`, 32 examples",
        run_of(step),
        lambda: run_of(xp.function(step)),
        "PyTorch",
        torchs_network() if find_spec("torch") else None,
    )


def torchs_network() -> Run:
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    x, labels = map(torch.asarray, numbers())
    layers: list[Any] = []
    for i, (n, m) in enumerate(pairwise(SIZES)):
        layers += [torch.nn.Linear(n, m)] + ([torch.nn.ReLU()] if i + 2 < len(SIZES) else [])
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), 0.001)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


# --- a fit --------------------------------------------------------------------------------------------
def fit() -> Case:
    """Return a Case that fits a logistic regression to 500 rows and 20 columns by BFGS."""
    random = np.random.default_rng(0)
    x = random.standard_normal((500, 20))
    y = xp.asarray(np.sign(random.standard_normal(500) + x[:, 0]))
    x = xp.asarray(x)
    start = {"w": xp.zeros(20), "b": xp.asarray(0.0)}

    def loss(p: Any) -> Any:
        margin = y * (x @ p["w"] + p["b"])
        return xp.mean(xp.log1p(xp.exp(-margin))) + 0.0005 * xp.sum(p["w"] ** 2)

    def run_of(f: Any) -> Run:
        return lambda: optimizers.minimize_scipy(f, start, method="BFGS")

    return Case(
        "`minimize_scipy` with BFGS, 21 evaluations",
        run_of(loss),
        lambda: run_of(xp.function(loss)),
        "",
        None,
    )


def cases() -> Iterator[Case]:
    if find_spec("sklearn"):
        yield pipeline()
    yield network()
    yield fit()


def main() -> int:
    print("| step | eager | replayed | others | traced |")
    print("| --- | --- | --- | --- | --- |")
    for case in cases():
        print(row(case), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
