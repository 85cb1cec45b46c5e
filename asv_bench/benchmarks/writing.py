"""Loops that write row by row, whose cost must be linear in the number of rows in all modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated, traced
from .workloads import Rows, Scan, pair, step, tape_of

FEW, MANY, MOST = 100, 1000, 10_000


def bytes_per_row(rows: int) -> float:
    work = Rows(rows)
    parameters = [xp.asarray(p) for p in work.parameters]
    tape_of(work, parameters)
    held, _, _ = traced(lambda: tape_of(work, parameters)[0])
    return held / rows


@benchmark("bytes", exact=True, rows=[FEW, MANY])
def track_kept_bytes_per_row(rows: int) -> float:
    """Measure the bytes that a tape holds for each row that the loop writes."""
    return bytes_per_row(rows)


@benchmark(f"x at {FEW} rows", exact=True, budget=1.25)
def track_kept_bytes_growth() -> float:
    """Measure bytes per row at 1000 rows, divided by those at 100; 1 means no write copies the array."""
    return bytes_per_row(MANY) / bytes_per_row(FEW)


@benchmark(f"x at {FEW} rows", budget=1.6)
def track_growth() -> float:
    """Measure the time per row of a gradient at 1000 rows, divided by that at 100; 1 means linear."""
    few, _ = pair(Rows(FEW))
    many, _ = pair(Rows(MANY))
    return ratio(repeated(many), repeated(few)) * FEW / MANY


@benchmark("x hand", budget={FEW: 11.0, MANY: 15.0}, aim=4.0, rows=[FEW, MANY])
def track_gradient(rows: int) -> float:
    """Measure value and gradient of a loop that writes rows, divided by hand-written NumPy."""
    ours, hand = pair(Rows(rows))
    return ratio(repeated(ours), repeated(hand))


def scan(mode: str, rows: int) -> Callable[[], Any]:
    """Return a function that computes the gradient of a ``Scan``, or its derivative by forward mode.

    mode : "reverse" or "forward".
    """
    work = Scan(rows)
    ours, _ = pair(work)
    if mode == "reverse":
        return ours
    expected = sum(
        np.vdot(g, v) for g, v in zip(work.hand(*work.parameters), work.along, strict=True)
    )
    np.testing.assert_allclose(float(work.pushed()), expected, rtol=1e-6)
    return work.pushed


@benchmark(f"x at {FEW} rows", budget=1.5, mode=["reverse", "forward"], rows=[MANY, MOST])
def track_scan_growth(mode: str, rows: int) -> float:
    """Measure the time per row of a scan, divided by that at 100 rows; 1 means linear."""
    few, many = scan(mode, FEW), scan(mode, rows)
    return ratio(repeated(many), repeated(few)) * FEW / rows


class Loop:
    """The time in seconds of the gradient of a loop that writes rows."""

    params = ([FEW, MANY],)
    param_names = ("rows",)

    def setup(self, rows: int) -> None:
        self.work = Rows(rows)
        self.parameters = [xp.asarray(p) for p in self.work.parameters]

    def time_gradient(self, rows: int) -> None:
        step(self.work, self.parameters)


def reading(rows: int) -> Callable[[], Any]:
    """Return a function that computes the gradient of a loop that reads an array element by element."""
    x = xp.asarray(np.linspace(0.1, 1.0, rows))

    def total(x: Any) -> Any:
        found = x[0]
        for i in range(1, rows):
            found = found + x[i] * x[i - 1]
        return found

    return lambda: xp.grad(total)(x)


@benchmark(f"x at {FEW} reads", budget=1.5, reads=[MANY, MOST])
def track_reading_growth(reads: int) -> float:
    """Measure the time per read, divided by that at 100 reads; 1 means no read costs the whole array."""
    return ratio(repeated(reading(reads)), repeated(reading(FEW))) * FEW / reads


def logging(losses: int) -> Callable[[], Any]:
    """Return a training step that adds up ``losses`` losses and logs each by ``float``."""
    variables = [xp.Variable(np.ones(2)) for _ in range(losses)]
    log: list[float] = []

    def step() -> None:
        log.clear()
        with xp.GradientTape() as tape:
            total = xp.asarray(0.0)
            for v in variables:
                total = total + xp.sum(v * v)
                log.append(float(total))
        tape.gradient(total, variables)

    return step


@benchmark(f"x at {FEW} floats", budget=1.5, floats=[MANY])
def track_logging_growth(floats: int) -> float:
    """Measure the time per logged loss, divided by that at 100 losses; 1 means linear."""
    return ratio(repeated(logging(floats)), repeated(logging(FEW))) * FEW / floats
