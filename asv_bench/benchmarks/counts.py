"""Counts that are the same on every run: frames per op and per derivative, records per step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, frames
from .workloads import MLP, LogisticRegression, tape_of

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "x * y": lambda x, y: x * y,
    "x * 0.9": lambda x, y: x * 0.9,
    "x @ y": lambda x, y: x @ y,
    "tanh(x)": lambda x, y: xp.tanh(x),
    "sum(x, axis=0)": lambda x, y: xp.sum(x, axis=0),
}
# Ops with more frames: they make masks for the tape, or convert NumPy's scalar results to 0-d arrays.
DEARER: dict[str, Callable[[Any, Any], Any]] = {
    "maximum(x, 0.0)": lambda x, y: xp.maximum(x, 0.0),
    "sum(x)": lambda x, y: xp.sum(x),
    "x * y, 0-d": lambda x, y: x * y,
}
MODES = ["no tape", "not followed", "recorded"]


def frames_of(mode: str, op: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> int:
    """Count the Python frames of ``op(x, y)``.

    mode : "no tape", a tape that does not follow the operands, or "recorded".
    """
    x, y, other = (xp.asarray(np.full(shape, value)) for value in (0.5, 0.7, 0.9))
    if mode == "no tape":
        return frames(lambda: op(x, y)) - 1
    with xp.GradientTape() as tape:
        tape.watch([x, y] if mode == "recorded" else other)
        return frames(lambda: op(x, y)) - 1


@benchmark(
    "frames",
    exact=True,
    budget={"no tape": 1, "not followed": 1, "recorded": 2},
    mode=MODES,
    op=list(OPS),
)
def track_frames(mode: str, op: str) -> int:
    """Count the Python frames of one op beyond those of the raw call."""
    return frames_of(mode, OPS[op], (3, 3))


@benchmark("frames", exact=True, mode=MODES, op=list(DEARER))
def track_frames_dearer(mode: str, op: str) -> int:
    """Count the Python frames of one of the ops in ``DEARER``, which need more frames than others."""
    return frames_of(mode, DEARER[op], () if "0-d" in op else (3, 3))


FORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: xp.grad(square)(x),
    "value_and_grad": lambda x: xp.value_and_grad(square)(x),
    "jacobian": lambda x: xp.jacobian(lambda x: x * x)(x),
    "hessian": lambda x: xp.hessian(square)(x),
    "vjp": lambda x: xp.vjp(square, x),
    "jvp": lambda x: xp.jvp(square, (x,), (x,)),
    "hvp": lambda x: xp.hvp(square, (x,), (x,)),
}


def square(x: Any) -> Any:
    """Return sum(x * x), so short that nearly all frames are those of the derivative's own code."""
    return xp.sum(x * x)


@benchmark("frames", exact=True, given=["Array", "NumPy array"], form=list(FORMS))
def track_frames_of_forms(given: str, form: str) -> int:
    """Count the frames of a function form (``grad``, ...), called with an Array or NumPy data."""
    data = np.full((3,), 0.5)
    x = xp.asarray(data) if given == "Array" else data
    FORMS[form](x)
    return frames(lambda: FORMS[form](x))


@benchmark("records", exact=True, workload=["mlp", "logistic regression"])
def track_records(workload: str) -> int:
    """Count the records of one training step."""
    work = MLP() if workload == "mlp" else LogisticRegression()
    tape, _ = tape_of(work, [xp.asarray(p) for p in work.parameters])
    return tape.summary().total.records
