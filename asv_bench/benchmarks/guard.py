"""Cost of the NaN check of a finite gradient, and of the guarded rerun of a gradient with a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated
from .workloads import MLP, LogisticRegression, tape_of

WORKLOADS = {"mlp": MLP, "logistic regression": LogisticRegression}


@benchmark(
    "x unguarded",
    budget={"logistic regression": 1.15},
    aim={"logistic regression": 1.02},
    workload=list(WORKLOADS),
)
def track_guard_on_finite_data(workload: str) -> float:
    """Measure the backward pass with its NaN check, divided by the pass with nan="keep"."""
    work = WORKLOADS[workload]()
    parameters = [xp.asarray(p) for p in work.parameters]
    tape, y = tape_of(work, parameters, persistent=True)

    def backward(nan: str) -> Any:
        return repeated(lambda: tape.gradient(y, parameters, nan=nan))

    return ratio(backward("guard"), backward("keep"))


@benchmark("x unguarded", size=[1_000, 100_000])
def track_guarded_rerun(size: int) -> float:
    """Measure a gradient that needs a guarded rerun, divided by its time with nan="keep".

    The first pass returns NaN, because ``sqrt`` has an infinite slope at the zeros of x, which
    ``where`` leaves out. With nan="keep" there is no second pass.
    """
    x = xp.asarray(np.maximum(np.random.default_rng(0).standard_normal((size // 10, 10)), 0.0))
    w = xp.asarray(np.random.default_rng(1).standard_normal((10, 10)))
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0) @ w)

    def backward(nan: str) -> Any:
        return repeated(lambda: tape.gradient(y, [x, w], nan=nan))

    assert np.isfinite(np.asarray(tape.gradient(y, x))).all()
    return ratio(backward("guard"), backward("keep"))
