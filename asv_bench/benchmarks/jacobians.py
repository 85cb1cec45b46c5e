"""Jacobians and per-example gradients, compared with hand-written NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated

Raw = np.ndarray[Any, Any]
Pair = tuple[Callable[[], Any], Callable[[], Any]]


def layers(*sizes: int) -> list[Raw]:
    """Return the weights and biases of a net with layers of these sizes."""
    random = np.random.default_rng(0)
    made: list[Raw] = []
    for rows, columns in itertools.pairwise(sizes):
        made.append(random.standard_normal((rows, columns)) / math.sqrt(rows))
        made.append(random.standard_normal(columns) * 0.1)
    return made


def jacobian_of(f: Callable[[xp.Array], xp.Array], x: xp.Array) -> xp.Array:
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found: xp.Array = tape.jacobian(y, x)
    return found


def net() -> Pair:
    """Return the Jacobian of a three-layer net with 50 inputs and 50 outputs: ours and hand-written."""
    raw, x = layers(50, 50, 50, 50), np.random.default_rng(1).standard_normal(50)
    w1, b1, w2, b2, w3, b3 = raw
    arrays, start = [xp.asarray(p) for p in raw], xp.asarray(x)

    def f(x: Any) -> Any:
        h = xp.tanh(x @ arrays[0] + arrays[1])
        h = xp.tanh(h @ arrays[2] + arrays[3])
        return h @ arrays[4] + arrays[5]

    def hand() -> Raw:
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        _ = h2 @ w3 + b3  # the value, which counts in the time
        J = w3.T * (1.0 - h2 * h2)
        J = J @ w2.T
        J *= 1.0 - h1 * h1
        found: Raw = J @ w1.T
        return found

    return lambda: jacobian_of(f, start), hand


def chain() -> Pair:
    """Return the diagonal Jacobian of 16 elementwise ops on 2,000 elements: ours and hand-written."""
    random = np.random.default_rng(0)
    x, a = random.uniform(0.5, 1.0, 2000), random.uniform(0.5, 1.0, 2000)
    start, factor = xp.asarray(x), xp.asarray(a)

    def f(y: Any) -> Any:
        for _ in range(4):
            y = xp.sqrt(xp.exp(xp.tanh(y * factor)))
        return y

    def hand() -> Raw:
        y, kept = x, []
        for _ in range(4):
            t = np.tanh(y * a)
            e = np.exp(t)
            y = np.sqrt(e)
            kept.append((t, e, y))
        d = np.ones_like(x)
        for t, e, y in reversed(kept):
            d = d / (2.0 * y)
            d = d * e
            d = d * (1.0 - t * t)
            d = d * a
        return np.diag(d)

    return lambda: jacobian_of(f, start), hand


def per_example() -> Pair:
    """Return the gradients of a net's loss for each of 32 examples: ours and hand-written."""
    raw, random = layers(64, 64, 10), np.random.default_rng(1)
    x, y = random.standard_normal((32, 64)), np.eye(10)[random.integers(0, 10, 32)]
    w1, b1, w2, b2 = raw
    arrays, inputs, targets = [xp.asarray(p) for p in raw], xp.asarray(x), xp.asarray(y)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return xp.sum((xp.tanh(x @ p[0] + p[1]) @ p[2] + p[3] - y) ** 2)

    mapped = xp.vmap(xp.grad(loss), (None, 0, 0))

    def hand() -> Raw:
        h = np.tanh(x @ w1 + b1)
        g = 2.0 * (h @ w2 + b2 - y)
        _ = h[:, :, None] * g[:, None, :]  # with respect to w2; the one with respect to b2 is g
        back = (g @ w2.T) * (1.0 - h * h)
        return x[:, :, None] * back[:, None, :]

    return lambda: mapped(arrays, inputs, targets)[0], hand


WORKLOADS = {"net": net, "16 elementwise ops": chain, "per-example gradients": per_example}


def pair(workload: str) -> Pair:
    """Return arraytape's and the hand-written function of a workload, after a check that they agree."""
    ours, hand = WORKLOADS[workload]()
    np.testing.assert_allclose(np.from_dlpack(ours()), hand(), rtol=1e-6, atol=1e-12)
    return ours, hand


# The aim of per-example gradients is the ratio of PyTorch (torch.func).
@benchmark(
    "x hand",
    budget={"net": 6.5, "16 elementwise ops": 3.0, "per-example gradients": 6.5},
    headline="Jacobian over hand-written NumPy",
    rank=5,
    aim={"net": 4.0, "16 elementwise ops": 2.0, "per-example gradients": 4.5},
    workload=list(WORKLOADS),
)
def track_jacobian(workload: str) -> float:
    """Measure a Jacobian or per-example gradients, including the forward pass, divided by NumPy's."""
    ours, hand = pair(workload)
    return ratio(repeated(ours), repeated(hand))
