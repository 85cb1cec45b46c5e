"""Time of recompute_grad, and the memory that a tape keeps for it, with several policies."""

from __future__ import annotations

from typing import Any

import numpy as np

import arraytape as xp

from .measure import benchmark, ratio, repeated, traced

SIZE, LAYERS, WIDTH = 256, 6, 8
POLICIES: dict[str, Any] = {
    "without": None,
    "matmul": [xp.matmul],
    "a function": lambda op, result, *operands: op is xp.matmul,
}


def layers(x: Any, weights: Any) -> Any:
    """Apply a layer for each matrix in ``weights``: a product with it, then elementwise ops."""
    for w in weights:
        h = x @ w
        x = xp.tanh(h) * xp.exp(-h * h) + 0.1 * h
    return x


class Net:
    """A network of ``LAYERS`` layers, with its data, weights and gradient."""

    def __init__(self, rows: int, size: int) -> None:
        random = np.random.default_rng(0)
        self.x = xp.asarray(random.normal(size=(rows, size)))
        self.weights = [
            xp.asarray(random.normal(size=(size, size)) / size**0.5) for _ in range(LAYERS)
        ]

    def tape_of(self, f: Any) -> tuple[xp.GradientTape, xp.Array]:
        with xp.GradientTape() as tape:
            tape.watch(self.weights)
            y = xp.sum(f(self.x, self.weights))
        return tape, y

    def step(self, f: Any) -> list[xp.Array]:
        tape, y = self.tape_of(f)
        return tape.gradient(y, self.weights)


def checked(net: Net, policy: str) -> Any:
    """Return the function ``layers`` in recompute_grad, after a check that its gradient is the same."""
    f = xp.recompute_grad(layers, policy=POLICIES[policy])
    for found, expected in zip(net.step(f), net.step(layers), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(found), np.from_dlpack(expected))
    return f


@benchmark("x bare", policy=list(POLICIES))
def track_recomputed_gradient(policy: str) -> float:
    """Measure value and gradient of layers of width 256, divided by those without recompute_grad."""
    net = Net(SIZE, SIZE)
    f = checked(net, policy)
    return ratio(repeated(lambda: net.step(f)), repeated(lambda: net.step(layers)))


@benchmark("x bare", policy=list(POLICIES))
def track_gradient_of_small_ops(policy: str) -> float:
    """Measure value and gradient of layers so small that the cost of calls dominates."""
    net = Net(2, WIDTH)
    f = checked(net, policy)
    return ratio(repeated(lambda: net.step(f)), repeated(lambda: net.step(layers)))


# With the policies that keep matrix products, the tape keeps six arrays.
@benchmark("arrays", exact=True, budget={"without": 0.1, "matmul": 6.12, "a function": 6.2},
           policy=list(POLICIES))  # fmt: skip
def track_kept_arrays(policy: str) -> float:
    """Measure the memory that the tape keeps in addition to the inputs, in arrays of layer size."""
    net = Net(SIZE, SIZE)
    f = checked(net, policy)
    held, _, _ = traced(lambda: net.tape_of(f))
    return held / (8 * SIZE * SIZE)
