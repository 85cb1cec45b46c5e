"""Small programs, each with a hand-written gradient in NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import arraytape as xp

from .measure import arrays_within

Raw = np.ndarray[Any, Any]


class Workload(Protocol):
    """A program: ``f`` computes a scalar in any namespace, ``hand`` its gradients in plain NumPy."""

    parameters: list[Raw]

    def f(self, xp: Any, *parameters: Any) -> Any: ...
    def hand(self, *parameters: Raw) -> list[Raw]: ...


def tape_of(
    work: Workload, parameters: list[xp.Array], *, persistent: bool = False
) -> tuple[xp.GradientTape, xp.Array]:
    """Return the tape of one forward pass, and its result."""
    with xp.GradientTape(persistent=persistent) as tape:
        tape.watch(parameters)
        y = work.f(xp, *parameters)
    return tape, y


def step(work: Workload, parameters: list[xp.Array]) -> list[xp.Array]:
    """Run a forward and a backward pass; return the gradients."""
    tape, y = tape_of(work, parameters)
    return tape.gradient(y, parameters)


def pair(work: Workload) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return arraytape's and the hand-written gradient as functions, after a check that they agree."""
    parameters = [xp.asarray(p) for p in work.parameters]
    for ours, theirs in zip(step(work, parameters), work.hand(*work.parameters), strict=True):
        np.testing.assert_allclose(np.from_dlpack(ours), theirs, rtol=1e-6, atol=1e-12)
    return lambda: step(work, parameters), lambda: work.hand(*work.parameters)


class ScalarChain:
    """A chain of 1,000 elementwise ops, which shows the fixed cost of an op."""

    blocks = 250

    def __init__(self, shape: tuple[int, ...]) -> None:
        random = np.random.default_rng(0)
        self.parameters = [np.asarray(random.uniform(0.5, 1.0, shape)) for _ in range(3)]

    def f(self, xp: Any, y: Any, a: Any, b: Any) -> Any:
        for _ in range(self.blocks):
            y = y * a
            y = y + b
            y = xp.tanh(y)
            y = y * 0.9
        return xp.sum(y)

    def hand(self, y: Raw, a: Raw, b: Raw) -> list[Raw]:
        inputs, tanhs = [], []
        for _ in range(self.blocks):
            inputs.append(y)
            t = np.tanh(y * a + b)
            tanhs.append(t)
            y = t * 0.9
        np.sum(y)
        g, ga, gb = np.ones(y.shape), np.zeros(y.shape), np.zeros(y.shape)
        while tanhs:
            t = tanhs.pop()
            g = g * 0.9
            g = g * (1.0 - t * t)
            gb += g
            ga += g * inputs.pop()
            g = g * a
        return [g, ga, gb]


class MLP:
    """A multilayer perceptron with two hidden relu layers and a softmax cross-entropy."""

    def __init__(self, batch: int = 32, sizes: tuple[int, ...] = (64, 64, 64, 10)) -> None:
        random = np.random.default_rng(0)
        self.parameters = []
        for rows, columns in itertools.pairwise(sizes):
            scale = math.sqrt(2.0 / rows)
            self.parameters.append(random.standard_normal((rows, columns)) * scale)
            self.parameters.append(random.standard_normal(columns) * 0.1)
        self.x = random.standard_normal((batch, sizes[0]))
        self.y = np.eye(sizes[-1])[random.integers(0, sizes[-1], batch)]
        self.data = xp.asarray(self.x), xp.asarray(self.y)

    def f(self, xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        x, y = self.data
        h = xp.maximum(x @ w1 + b1, 0.0)
        h = xp.maximum(h @ w2 + b2, 0.0)
        z = h @ w3 + b3
        z = z - xp.max(z, axis=1, keepdims=True)
        return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - xp.sum(z * y, axis=1))

    def hand(self, w1: Raw, b1: Raw, w2: Raw, b2: Raw, w3: Raw, b3: Raw) -> list[Raw]:
        h1 = self.x @ w1
        h1 += b1
        np.maximum(h1, 0.0, out=h1)
        h2 = h1 @ w2
        h2 += b2
        np.maximum(h2, 0.0, out=h2)
        z = h2 @ w3
        z += b3
        z -= z.max(axis=1, keepdims=True)
        e = np.exp(z)
        s = e.sum(axis=1, keepdims=True)
        _ = (np.log(s).sum() - np.vdot(z, self.y)) / len(z)  # the value, which counts in the time
        e /= s
        e -= self.y
        e /= len(z)
        g2 = e @ w3.T
        g2 *= h2 > 0
        g1 = g2 @ w2.T
        g1 *= h1 > 0
        return [self.x.T @ g1, g1.sum(axis=0), h1.T @ g2, g2.sum(axis=0), h2.T @ e, e.sum(axis=0)]


class Curvature(MLP):
    """The Hessian-vector product of the MLP."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(1)
        self.along = [random.standard_normal(p.shape) for p in self.parameters]
        self.tangents = [xp.asarray(v) for v in self.along]

    def reverse(self, parameters: list[xp.Array]) -> list[xp.Array]:
        """Return the Hessian-vector product, computed by reverse-over-reverse mode."""
        with xp.GradientTape() as outer:
            outer.watch(parameters)
            with xp.GradientTape() as inner:
                inner.watch(parameters)
                y = self.f(xp, *parameters)
            gradients = inner.gradient(y, parameters)
        return outer.gradient(gradients, parameters, self.tangents)

    def forward(self, parameters: list[xp.Array]) -> list[xp.Array]:
        """Return the Hessian-vector product, computed by forward-over-reverse mode."""
        with xp.ForwardAccumulator(parameters, self.tangents) as accumulator:
            gradients = step(self, parameters)
        return accumulator.jvp(gradients)

    def product(self, w1: Raw, b1: Raw, w2: Raw, b2: Raw, w3: Raw, b3: Raw) -> list[Raw]:
        """Return the Hessian-vector product, computed by hand-written NumPy code.

        Source: Pearlmutter 1994, "Fast exact multiplication by the Hessian".
        """
        v1, u1, v2, u2, v3, u3 = self.along
        n = len(self.x)
        h1 = np.maximum(self.x @ w1 + b1, 0.0)
        h2 = np.maximum(h1 @ w2 + b2, 0.0)
        z = h2 @ w3 + b3
        z -= z.max(axis=1, keepdims=True)
        e = np.exp(z)
        e /= e.sum(axis=1, keepdims=True)
        m1, m2 = h1 > 0, h2 > 0
        r1 = (self.x @ v1 + u1) * m1
        r2 = (r1 @ w2 + h1 @ v2 + u2) * m2
        rz = r2 @ w3 + h2 @ v3 + u3
        re = (rz - (e * rz).sum(axis=1, keepdims=True)) * e / n
        e = (e - self.y) / n
        g2 = (e @ w3.T) * m2
        rg2 = (re @ w3.T + e @ v3.T) * m2
        rg1 = (rg2 @ w2.T + g2 @ v2.T) * m1
        return [
            self.x.T @ rg1, rg1.sum(axis=0), h1.T @ rg2 + r1.T @ g2, rg2.sum(axis=0),
            h2.T @ re + r2.T @ e, re.sum(axis=0),
        ]  # fmt: skip


class LogisticRegression:
    """A logistic regression with a ridge penalty on 20,000 rows of 50 features."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        rows, columns = 20_000, 50
        self.parameters = [random.standard_normal(columns) * 0.2, np.asarray(0.1)]
        x, y = random.standard_normal((rows, columns)), np.sign(random.standard_normal(rows))
        self.data = xp.asarray(x), xp.asarray(y)
        # Both sides read the same memory, because two copies would evict each other from the cache.
        (self.x,), (self.y,) = map(arrays_within, self.data)

    def f(self, xp: Any, w: Any, b: Any) -> Any:
        x, y = self.data
        margin = y * (x @ w + b)
        return xp.mean(xp.log1p(xp.exp(-margin))) + 0.005 * xp.sum(w * w)

    def hand(self, w: Raw, b: Raw) -> list[Raw]:
        m = self.x @ w
        m += b
        m *= self.y
        np.negative(m, out=m)
        np.exp(m, out=m)
        _ = np.log1p(m).sum() / len(m) + 0.005 * np.dot(w, w)  # the value, which counts in the time
        m /= m + 1.0
        m *= self.y
        m *= -1.0 / len(m)
        gw = self.x.T @ m
        gw += 0.01 * w
        return [gw, m.sum()]


class Rows:
    """A loop that writes rows, each computed from the previous row, and a gather by integer arrays."""

    def __init__(self, rows: int, columns: int = 64) -> None:
        random = np.random.default_rng(0)
        self.rows, self.columns = rows, columns
        self.parameters = [
            random.standard_normal((rows, columns)),
            random.uniform(0.5, 1.5, columns),
        ]
        self.indices = random.integers(0, rows, 5 * rows // 2)
        self.data = xp.asarray(self.indices)

    def f(self, xp: Any, x: Any, w: Any) -> Any:
        out = xp.zeros((self.rows, self.columns), dtype=x.dtype)
        total = xp.zeros((self.columns,), dtype=x.dtype)
        for t in range(self.rows):
            out[t, :] = xp.tanh(x[t, :] * w)
            if t:
                out[t, :] += 0.5 * out[t - 1, :]
            total += out[t, :]
        g = xp.take(out, self.data, axis=0)
        return xp.sum(g * g) + 0.01 * xp.sum(total * total)

    def hand(self, x: Raw, w: Raw) -> list[Raw]:
        tanhs = np.tanh(x * w)
        out = np.empty_like(tanhs)
        out[0] = tanhs[0]
        for t in range(1, self.rows):
            out[t] = tanhs[t] + 0.5 * out[t - 1]
        total = out.sum(axis=0)
        g = out[self.indices]
        _ = np.vdot(g, g) + 0.01 * np.dot(total, total)  # the value, which counts in the time
        gout = np.zeros_like(out)
        np.add.at(gout, self.indices, 2.0 * g)
        gout += 0.02 * total
        for t in range(self.rows - 1, 0, -1):
            gout[t - 1] += 0.5 * gout[t]
        gout *= 1.0 - tanhs * tanhs
        gx = gout * w
        gout *= x
        return [gx, gout.sum(axis=0)]


class Scan:
    """A loop that writes rows, each a function of the previous row."""

    def __init__(self, rows: int, columns: int = 16) -> None:
        random = np.random.default_rng(0)
        self.rows, self.columns = rows, columns
        self.parameters = [random.standard_normal(columns), random.uniform(0.2, 0.5, columns)]
        self.along = [random.standard_normal(columns) for _ in self.parameters]

    def f(self, xp: Any, x: Any, w: Any) -> Any:
        h = xp.zeros((self.rows, self.columns), dtype=x.dtype)
        h[0] = x
        for t in range(1, self.rows):
            h[t] = xp.tanh(h[t - 1] * w) + x
        return xp.sum(h * h)

    def hand(self, x: Raw, w: Raw) -> list[Raw]:
        h = np.zeros((self.rows, self.columns))
        tanhs = np.zeros((self.rows, self.columns))
        h[0] = x
        for t in range(1, self.rows):
            np.tanh(h[t - 1] * w, out=tanhs[t])
            np.add(tanhs[t], x, out=h[t])
        _ = np.vdot(h, h)  # the value, which counts in the time
        gh, gw = 2.0 * h, np.zeros(self.columns)
        gx = np.zeros(self.columns)
        for t in range(self.rows - 1, 0, -1):
            gx += gh[t]
            inner = gh[t] * (1.0 - tanhs[t] * tanhs[t])
            gw += inner * h[t - 1]
            gh[t - 1] += inner * w
        return [gx + gh[0], gw]

    def pushed(self) -> xp.Array:
        """Return the derivative along a direction, computed in forward mode."""
        parameters, along = (
            [xp.asarray(p) for p in group] for group in (self.parameters, self.along)
        )
        with xp.ForwardAccumulator(parameters, along) as accumulator:
            y = self.f(xp, *parameters)
        tangent: xp.Array = accumulator.jvp(y)
        return tangent


class MemoryChain:
    """A chain of 25 times relu, exp, tanh and a product; a tape must keep exp's and tanh's results."""

    blocks = 25

    def __init__(self, n: int = 10_000) -> None:
        random = np.random.default_rng(0)
        self.parameters = [random.uniform(-1, 1, n), random.uniform(-1, 1, n)]
        self.results = 2 * self.blocks * 8 * n  # bytes that every backward pass needs
        self.gradients = 2 * 8 * n

    def f(self, xp: Any, y: Any, w: Any) -> Any:
        for _ in range(self.blocks):
            y = xp.maximum(y, 0.0)
            y = xp.exp(y)
            y = xp.tanh(y)
            y = y * w
        return xp.sum(y)
