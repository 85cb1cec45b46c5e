"""Cost of one op relative to NumPy's, with and without a tape, and of a chain of 1,000 ops."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated, statement
from .workloads import ScalarChain, pair, step

STATEMENTS = ["x + y", "x * y", "x * 0.9", "xp.tanh(x)"]
SHAPES: list[tuple[int, ...]] = [(), (10,), (1000,)]


def operands(shape: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the variables of a statement for arraytape, and those for NumPy."""
    random = np.random.default_rng(0)
    raw = {name: np.asarray(random.uniform(0.5, 1.0, shape)) for name in "xy"}
    ours = {name: xp.asarray(value) for name, value in raw.items()}
    return {"xp": xp, **ours}, {"xp": np, **raw}


def number_for(shape: tuple[int, ...]) -> int:
    return 100 if shape == (1000,) else 500


@benchmark("x NumPy", op=STATEMENTS, shape=SHAPES)
def track_unrecorded(op: str, shape: tuple[int, ...]) -> float:
    """Measure an op without a tape, divided by NumPy's op."""
    ours, theirs = operands(shape)
    number = number_for(shape)
    return ratio(statement(op, ours, number), statement(op, theirs, number))


@benchmark("x NumPy", headline="an op on a tape", rank=1, op=STATEMENTS, shape=SHAPES)
def track_recorded(op: str, shape: tuple[int, ...]) -> float:
    """Measure an op recorded on a tape, divided by NumPy's op.

    Each burst has a new tape.  The time to free the tape's records is not measured.
    """
    ours, theirs = operands(shape)
    number = number_for(shape)
    record = statement(op, ours, number)

    def burst() -> float:
        with xp.GradientTape() as tape:
            tape.watch([ours["x"], ours["y"]])
            return record()

    return ratio(burst, statement(op, theirs, number))


@benchmark(
    "x NumPy",
    budget={(): 3.5, (10,): 2.5, (1000,): 1.9},
    aim={(10,): 1.9, (1000,): 1.4},
    shape=SHAPES,
)
def track_chain_forward(shape: tuple[int, ...]) -> float:
    """Measure a thousand chained ops without a tape, divided by NumPy's."""
    work = ScalarChain(shape)
    parameters = [xp.asarray(p) for p in work.parameters]
    return ratio(
        repeated(lambda: work.f(xp, *parameters)),
        repeated(lambda: work.f(np, *work.parameters)),
    )


@benchmark(
    "x hand",
    budget={(): 3.5, (10,): 3.0, (1000,): 2.2},
    aim={(): 2.0, (10,): 2.0, (1000,): 1.5},
    shape=SHAPES,
)
def track_chain_gradient(shape: tuple[int, ...]) -> float:
    """Measure value and gradient of 1,000 chained ops, divided by a hand-written gradient."""
    ours, hand = pair(ScalarChain(shape))
    return ratio(repeated(ours), repeated(hand))


class Chain:
    """The time in seconds of 1,000 chained ops, and of their gradient."""

    params = (SHAPES,)
    param_names = ("shape",)

    def setup(self, shape: tuple[int, ...]) -> None:
        self.work = ScalarChain(shape)
        self.parameters = [xp.asarray(p) for p in self.work.parameters]

    def time_forward(self, shape: tuple[int, ...]) -> None:
        self.work.f(xp, *self.parameters)

    def time_gradient(self, shape: tuple[int, ...]) -> None:
        step(self.work, self.parameters)
