"""Six model programs, written for TensorFlow and for arraytape, from the same weights and data.

    python -m model_programs record        # with TensorFlow: write the losses of ten steps to FACTS
    OPENBLAS_NUM_THREADS=1 python -m model_programs time    # print the table of times

``tests/nn/test_model_programs.py`` compares arraytape's losses with the facts, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FACTS = Path(__file__).resolve().parents[2] / "tests" / "nn" / "model_programs.json"
STEPS = 10
BETAS = {"beta_1": 0.875, "beta_2": 0.96875}  # of Adam
Sizes = dict[str, Any]
Data = list[np.ndarray[Any, Any]]


class Program(NamedTuple):
    """A model program.

    models : its models, each with the shape of its data.  step : the train step, which returns the
    losses before the step.
    """

    models: Sequence[tuple[Any, tuple[int, ...]]]
    step: Callable[..., Any]


class Case(NamedTuple):
    """The name of a program, its sizes in the test and in the timing, and how to draw a step's data."""

    name: str
    small: Sizes
    full: Sizes
    draw: Callable[[np.random.Generator, Sizes], Data]


def images(rng: np.random.Generator, n: Sizes, side: int) -> np.ndarray[Any, Any]:
    return rng.random((n["batch"], side, side, 1))


CASES = [
    Case(
        "dcgan",
        {"batch": 3, "side": 2, "filters": 2, "noise": 4, "dropout": 0.0},
        {"batch": 32, "side": 7, "filters": 64, "noise": 100, "dropout": 0.3},
        lambda rng, n: [images(rng, n, 4 * n["side"]), rng.normal(size=(n["batch"], n["noise"]))],
    ),
    Case(
        "wgan_gp",
        {"batch": 3, "side": 3, "filters": 2, "noise": 4, "dropout": 0.0},
        {"batch": 32, "side": 8, "filters": 32, "noise": 128, "dropout": 0.3},
        lambda rng, n: [
            images(rng, n, 4 * n["side"] - 4),
            rng.normal(size=(n["batch"], n["noise"])),
            rng.random((n["batch"], 1, 1, 1)),
        ],
    ),
    Case(
        "cvae",
        {"batch": 3, "side": 2, "filters": 2, "noise": 2},
        {"batch": 32, "side": 7, "filters": 32, "noise": 2},
        lambda rng, n: [images(rng, n, 4 * n["side"]), rng.normal(size=(n["batch"], n["noise"]))],
    ),
    Case(
        "actor_critic",
        {"times": 6, "units": 5},
        {"times": 20, "units": 128},
        lambda rng, n: [
            rng.normal(size=(n["times"], 4)),
            rng.integers(2, size=n["times"]),
            rng.random(n["times"]),
        ],
    ),
    Case(
        "siamese",
        {"batch": 4, "side": 16, "filters": 2},
        {"batch": 16, "side": 28, "filters": 4},
        lambda rng, n: [
            images(rng, n, n["side"]), images(rng, n, n["side"]),
            rng.integers(2, size=(n["batch"], 1)).astype(float),
        ],
    ),
    Case(
        "music",
        {"batch": 4, "times": 5, "units": 6, "pitches": 8},
        {"batch": 64, "times": 25, "units": 128, "pitches": 128},
        lambda rng, n: [
            rng.random((n["batch"], n["times"], 3)),
            rng.integers(n["pitches"], size=n["batch"]),
            rng.random((n["batch"], 1)), rng.random((n["batch"], 1)),
        ],
    ),
]  # fmt: skip


def data_of_steps(case: Case, n: Sizes, dtype: Any = np.float64) -> list[Data]:
    """Return the arguments of the steps: integers, and floats in the given dtype."""
    rng = np.random.default_rng(len(case.name))
    return [
        [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.draw(rng, n)]
        for _ in range(STEPS)
    ]


def set_kernels(program: Program, dtype: Any = np.float64) -> None:
    """Build the models, and set the weights that a library draws at random to fixed values."""
    rng = np.random.default_rng(0)
    for model, shape in program.models:
        model(np.zeros(shape, dtype))
        scaled = [
            rng.normal(size=w.shape) / np.sqrt(np.prod(w.shape[:-1])) if w.ndim > 1 else w
            for w in model.get_weights()
        ]
        model.set_weights([w.astype(dtype) for w in scaled])


def losses_of(step: Callable[..., Any], steps: Sequence[Sequence[Any]]) -> list[list[float]]:
    """Return the losses of all steps."""
    found = [step(*data) for data in steps]
    return [[float(x) for x in (one if isinstance(one, tuple) else (one,))] for one in found]
