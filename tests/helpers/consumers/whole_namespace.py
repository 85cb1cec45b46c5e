"""A program that uses the whole namespace, in which ``mypy --strict`` and pyright find no error.

``tests/project/test_typing.py`` runs both over the files of this folder, from outside the repository,
and then runs the files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

import arraytape as xp
from arraytape import (
    Array,
    ForwardAccumulator,
    GradientTape,
    Module,
    TapeWarning,
    UnconnectedGradients,
    Variable,
    checkpoint,
    nn,
    optimizers,
)
from arraytape.functional import hvp
from arraytape.testing import check_gradients


# --- arrays and ops -------------------------------------------------------------------------------
def standardize(values: npt.NDArray[np.float64]) -> xp.Array:
    x: xp.Array = xp.asarray(values, dtype=xp.float64)
    mean = xp.mean(x, axis=0, keepdims=True)
    spread = xp.std(x, axis=0, keepdims=True)
    return (x - mean) / xp.maximum(spread, 1e-12)


def elementwise(x: Array, y: Array) -> Array:
    a = xp.exp(-xp.square(x)) + xp.sin(y) * xp.log1p(xp.abs(x)) ** 2
    b = xp.where(x > 0.0, xp.tanh(x), xp.clip(y, -1.0, 1.0))
    c = xp.add(x, 1.0) + xp.multiply(2, y) - xp.pow(xp.abs(x), 0.5) + xp.atan2(x, y)
    return a + 0.5 * b - c / 2


def shapes(x: Array) -> list[Array]:
    rows, columns = x.shape
    flat = xp.reshape(x, (-1,))
    stacked = xp.stack([flat, xp.flip(flat)], axis=0)
    joined = xp.concat([stacked, xp.zeros((1, rows * columns), dtype=x.dtype)], axis=0)
    parts = xp.unstack(joined, axis=0)
    picked = xp.take(flat, xp.argsort(flat)[:2], axis=0)
    counted = int(xp.count_nonzero(flat > 0.0)) + x.size + x.ndim
    assert counted >= 0
    assert isinstance(float(xp.sum(x)), float)
    values, counts = xp.unique_counts(flat)
    x[0, ...] = 1.0
    x += 1.0
    return [*parts, picked, x[0], x.T, x.mT, xp.permute_dims(x, (1, 0)), values, counts]


def matrices(a: Array, b: Array) -> Array:
    solution = xp.linalg.solve(a, b)
    q, r = xp.linalg.qr(a)
    eigenvalues, eigenvectors = xp.linalg.eigh(a + a.mT)
    symmetric = eigenvectors @ (eigenvalues[:, None] * eigenvectors.mT)
    spectrum = xp.abs(xp.fft.rfft(solution, axis=0))
    sign, logarithm = xp.linalg.slogdet(a)
    norm: Array = xp.linalg.vector_norm(xp.einsum("ij,jk->ik", q, r) - a)
    return xp.sum(spectrum) + sign * logarithm + norm + xp.sum(symmetric)


# --- tapes and derivatives ------------------------------------------------------------------------
def tapes(x: Array) -> tuple[Array, Array]:
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.sum(x**3)
        with tape.stop_recording():
            xp.sum(x)
    first: Array = tape.gradient(y, x, unconnected_gradients=UnconnectedGradients.ZERO)
    parts: dict[str, Array] = tape.gradient(y, {"x": x}, nan="keep")
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        z = xp.sum(x**3)
    along: Array = accumulator.jvp(z)
    tape.reset()
    return first + parts["x"], along


def derivatives(x: Array) -> Array:
    def energy(p: Array) -> Array:
        return xp.sum(p**2) + xp.prod(p)

    slope: Array = xp.grad(energy)(x)
    value, again = xp.value_and_grad(energy)(x)
    both: Array = again
    matrix: Array = xp.hessian(energy)(x)
    product: Array = hvp(energy, (x,), (slope,))[0]
    y, forward = xp.jvp(energy, (x,), (slope,))
    _, back = xp.vjp(energy, x)
    pulled: Array = back(xp.ones(()))[0]
    rows: Array = xp.vmap(xp.grad(energy))(xp.stack([x, 2.0 * x]))
    totals = xp.vmap(energy, in_axes=0)(xp.stack([x, 2.0 * x]))
    along: Array = y + forward
    check_gradients(energy, [x])
    return slope + both + matrix @ product + value + along + pulled + rows[0] + totals


# --- ops of one's own -----------------------------------------------------------------------------
@xp.custom_gradient
def softplus(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    e = xp.exp(x)

    def grad(dy: Array) -> Array:
        return dy * e / (1.0 + e)

    return xp.log1p(e), grad


@xp.recompute_grad
def block(x: Array, scale: float) -> Array:
    return xp.tanh(x) * scale


@xp.grad_pass_through
def rounded(x: Array) -> Array:
    return xp.round(x)


def cube_rule(t: Any, x: Any) -> Any:
    return 3.0 * t * x**2


cube = xp.define_op("consumer_cube", lambda x: x**3, "elementwise", cube_rule)


def own_ops(x: Array) -> Array:
    smooth: Array = softplus(x)
    cubed: Array = cube(x)
    host: Array = xp.numpy_function(np.cumsum, [x])
    fixed: Array = xp.stop_gradient(x)
    return smooth + block(x, 2.0) + rounded(x) + cubed + fixed + host


# --- replays and NumPy's functions ----------------------------------------------------------------
@xp.function
def step(w: Array, rate: float = 0.1) -> tuple[Array, Array]:
    with GradientTape() as tape:
        tape.watch(w)
        loss = xp.sum(w**2)
    gradient = tape.gradient(loss, w)
    return loss, w - rate * gradient


@xp.function(limit=4)
def doubled(w: Array) -> Array:
    return 2.0 * w


def replays(w: Array) -> Array:
    for _ in range(3):
        loss, w = step(w, rate=0.2)
    with GradientTape() as tape:
        tape.watch(w)
        loss = step(w)[0]
    gradients: list[Array] = tape.gradient(loss, [w])
    counts: dict[str, int] = step.counts
    assert sum(counts.values()) == 4
    waves: Array = np.sin(w)
    return gradients[0] + doubled(w) + waves


# --- models ---------------------------------------------------------------------------------------
class Network(Module):
    def __init__(self, width: int, name: str | None = None) -> None:
        super().__init__(name)
        self.layers = [nn.Dense(width, activation="relu", seed=0), nn.Dense(1, seed=1)]
        self.scale = Variable(1.0, name="scale")

    def __call__(self, x: Array) -> Array:
        for layer in self.layers:
            x = layer(x)
        return xp.squeeze(nn.softplus(x), axis=-1) * self.scale


def train(x: Array, labels: Array) -> float:
    model = Network(4)
    optimizer = optimizers.Adam(learning_rate=1e-2)
    loss = xp.asarray(0.0)
    for _ in range(3):
        with GradientTape() as tape:
            loss = nn.mean_squared_error(labels, model(x))
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    with TemporaryDirectory() as place:
        path = Path(place) / "run.safetensors"
        checkpoint.save(path, {"model": model, "optimizer": optimizer})
        checkpoint.load(path, {"model": model, "optimizer": optimizer})
    named = model.named_variables()
    shapes: dict[str, tuple[int, ...]] = {path: named[path].shape for path in named}
    assert len(shapes) == 5
    model.scale.assign_add(1.0).assign(2.0)
    optimizers.SGD(0.1, momentum=0.9).build(model.variables)
    return float(loss)


# --- the same through the namespace alone ---------------------------------------------------------
class Line(xp.Module):
    slope: xp.Variable

    def __init__(self) -> None:
        super().__init__()
        self.slope = xp.Variable(2.0)


def through_the_namespace(x: xp.Array) -> xp.Array:
    layer: xp.nn.Dense = xp.nn.Dense(2, seed=0)
    optimizer: xp.optimizers.Optimizer = xp.optimizers.SGD(0.1)
    tape: xp.GradientTape
    with xp.GradientTape() as tape:
        y = xp.sum(xp.nn.relu(layer(x))) * Line().slope
    gradients = tape.gradient(y, layer.variables)
    optimizer.apply_gradients(zip(gradients, layer.variables, strict=True))
    xp.testing.check_gradients(lambda p: xp.sum(xp.exp(p)), [x])
    value: xp.Array = xp.functional.grad(lambda p: xp.sum(p * p))(x)
    warning: type[UserWarning] = xp.TapeWarning
    assert issubclass(warning, TapeWarning)
    return value


def main() -> None:
    x = standardize(np.arange(6.0).reshape(3, 2) ** 2)
    a = xp.asarray([[2.0, 1.0], [0.5, 3.0]])
    assert elementwise(x, x).shape == (3, 2)
    assert len(shapes(xp.asarray(x, copy=True))) == 10
    assert matrices(a, a[:, 0]).ndim == 0
    tapes(x)
    assert replays(a[0]).shape == (2,)
    assert derivatives(a[0]).shape == (2,)
    assert own_ops(a[0]).shape == (2,)
    assert train(x, x[:, 0]) >= 0.0
    assert through_the_namespace(a).shape == (2, 2)
    accumulated = xp.cumulative_sum(xp.linspace(0.0, 1.0, 5)) * xp.pi
    assert accumulated.dtype == xp.float64
    information: Any = xp.__array_namespace_info__()
    assert "cpu" in str(information.default_device())
    print("done", xp.__version__)


if __name__ == "__main__":
    main()
