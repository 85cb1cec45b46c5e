"""Gradients of the workloads, compared with hand-written NumPy."""

from __future__ import annotations

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated
from .workloads import MLP, Curvature, LogisticRegression, pair, step, tape_of

WORKLOADS = {"mlp": MLP, "logistic regression": LogisticRegression}


# The aim of the MLP is the ratio of PyTorch, the fastest other library that runs eagerly.
@benchmark(
    "x hand",
    budget={"mlp": 4.5, "logistic regression": 2.0},
    aim={"mlp": 2.88, "logistic regression": 1.2},
    headline="training step over hand-written NumPy",
    rank=4,
    workload=list(WORKLOADS),
)
def track_gradient(workload: str) -> float:
    """Measure value and gradient with a new tape in each run, divided by hand-written NumPy."""
    ours, hand = pair(WORKLOADS[workload]())
    return ratio(repeated(ours), repeated(hand))


@benchmark("x hand", workload=list(WORKLOADS))
def track_backward(workload: str) -> float:
    """Measure the time of the backward pass, divided by that of hand-written value and gradient."""
    work = WORKLOADS[workload]()
    parameters = [xp.asarray(p) for p in work.parameters]
    tape, y = tape_of(work, parameters, persistent=True)
    _, hand = pair(work)
    return ratio(repeated(lambda: tape.gradient(y, parameters)), repeated(hand))


# The aim is the ratio of PyTorch, the fastest other library that runs eagerly.
@benchmark(
    "x hand",
    budget={"reverse": 8.0, "forward": 20.0},
    aim={"reverse": 5.7},
    mode=["reverse", "forward"],
)
def track_hessian_vector_product(mode: str) -> float:
    """Measure a Hessian-vector product by reverse-over-reverse or forward-over-reverse mode."""
    work = Curvature()
    parameters = [xp.asarray(p) for p in work.parameters]
    ours = {"reverse": work.reverse, "forward": work.forward}[mode]
    for found, expected in zip(ours(parameters), work.product(*work.parameters), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-8, atol=1e-10)
    return ratio(
        repeated(lambda: ours(parameters)), repeated(lambda: work.product(*work.parameters))
    )


class Model:
    """The time in seconds of value and gradient of a workload, and of the backward pass alone."""

    params = (list(WORKLOADS),)
    param_names = ("workload",)

    def setup(self, workload: str) -> None:
        self.work = WORKLOADS[workload]()
        self.parameters = [xp.asarray(p) for p in self.work.parameters]
        self.tape, self.y = tape_of(self.work, self.parameters, persistent=True)

    def time_gradient(self, workload: str) -> None:
        step(self.work, self.parameters)

    def time_backward(self, workload: str) -> None:
        self.tape.gradient(self.y, self.parameters)
