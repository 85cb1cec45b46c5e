"""Write layers with their own gradients.

One gradient is derived by hand; the other comes from an existing NumPy program.

    python examples/custom_layer.py --steps 150 --out custom_layer.png

`normalise` scales each row to mean 0 and variance 1. As array code it has an automatic gradient. With
`custom_gradient` and a gradient derived by hand, the backward pass is one formula. The program compares
both: first and second derivatives, times, and the networks that they train.

`MaxPool` is a layer of a plain NumPy program, with a forward and a backward pass over NumPy arrays.
`from_numpy` turns it into a function of Arrays with a gradient.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, picture
from sklearn.datasets import load_digits
from tqdm import tqdm

import arraytape as xp
from arraytape import nn, optimizers

EPSILON = 1e-5
TOLERANCE = 1e-9  # for the largest relative difference between derivatives
ROWS = (10, 100, 1000, 10000)


# --- normalise, with an automatic and a hand-written gradient -------------------------------------
def normalise(x: xp.Array) -> xp.Array:
    """Subtract each row's mean and divide by its standard deviation; the gradient is automatic."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred**2, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + EPSILON)


@xp.custom_gradient
def normalise_by_hand(x: xp.Array) -> tuple[xp.Array, Callable[[xp.Array], xp.Array]]:
    """Normalise x, with a hand-written backward pass."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    scale = 1.0 / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + EPSILON)
    y = centred * scale

    def gradient(dy: xp.Array) -> xp.Array:
        # A shift of all elements of a row, or a change along y, changes only mean or variance, and
        # has no effect on y.  Therefore both parts are removed from dy.
        along = xp.mean(dy * y, axis=-1, keepdims=True)
        return scale * (dy - xp.mean(dy, axis=-1, keepdims=True) - y * along)

    return y, gradient


# --- a layer in NumPy -------------------------------------------------------------------------------
class MaxPool:
    """A layer in plain NumPy: the maximum over blocks of 2 x 2 pixels."""

    def forward(self, images: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the result and the values that `backward` needs.  images: (count, height, width)."""
        count, height, width = images.shape
        blocks = images.reshape(count, height // 2, 2, width // 2, 2).transpose(0, 1, 3, 2, 4)
        blocks = blocks.reshape(count, height // 2, width // 2, 4)
        places = blocks.argmax(axis=-1)[..., None]
        return np.take_along_axis(blocks, places, axis=-1)[..., 0], (images.shape, places)

    def backward(self, dy: np.ndarray, cache: Any) -> np.ndarray:
        (count, height, width), places = cache
        blocks = np.zeros((count, height // 2, width // 2, 4))
        np.put_along_axis(blocks, places, dy[..., None], axis=-1)
        blocks = blocks.reshape(count, height // 2, width // 2, 2, 2).transpose(0, 1, 3, 2, 4)
        return blocks.reshape(count, height, width)


def from_numpy(layer: Any) -> Callable[[xp.Array], xp.Array]:
    """Return a function of Arrays made of a layer's forward and backward pass over NumPy arrays.

    NumPy code cannot be recorded, so that the function has no second derivative.  For this, the backward
    pass would have to be array code, as in `normalise_by_hand`.
    """

    @xp.custom_gradient
    def function(x: xp.Array) -> tuple[xp.Array, Callable[[xp.Array], xp.Array]]:
        y, cache = layer.forward(np.asarray(x))
        return xp.asarray(y), lambda dy: xp.asarray(layer.backward(np.asarray(dy), cache))

    return function


max_pool = from_numpy(MaxPool())


# --- comparisons ------------------------------------------------------------------------------------
def derivatives(f: Callable, x: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    """Return the gradient of a weighted sum, and the Hessian's product with the weights."""
    watched, weighing = xp.asarray(x), xp.asarray(weights)
    with xp.GradientTape() as outer:
        outer.watch(watched)
        with xp.GradientTape() as inner:
            inner.watch(watched)
            y = xp.sum(f(watched) * weighing)
        first = inner.gradient(y, watched)
        slope = xp.sum(first * weighing)
    return [np.asarray(first), np.asarray(outer.gradient(slope, watched))]


def report_derivatives(seed: int) -> float:
    """Compare hand-written, automatic and finite-difference derivatives; return the worst difference."""
    x, weights = np.random.default_rng(seed).normal(size=(2, 50, 20))
    pairs = zip(
        derivatives(normalise, x, weights), derivatives(normalise_by_hand, x, weights), strict=True
    )
    differences = [np.max(np.abs(a - b)) / np.max(np.abs(a)) for a, b in pairs]
    print("largest relative difference between hand and tape")
    print(f"  first derivative   {differences[0]:.1e}\n  second derivative  {differences[1]:.1e}")

    images, weights = np.random.default_rng(seed).normal(size=(2, 5, 4, 4))
    watched = xp.asarray(images)
    with xp.GradientTape() as tape:
        tape.watch(watched)
        y = xp.sum(max_pool(watched) ** 2 * xp.asarray(weights[:, :2, :2]))

    def value(step: float) -> float:
        pooled, _ = MaxPool().forward(images + step * weights)
        return float(np.sum(pooled**2 * weights[:, :2, :2]))

    along = float(np.sum(np.asarray(tape.gradient(y, watched)) * weights))
    central = (value(1e-5) - value(-1e-5)) / 2e-5
    off = abs(along - central) / abs(central)
    print(f"  NumPy's max pooling, from central differences  {off:.1e}")
    return float(max(*differences, off / 100))  # finite differences are less precise


def report_times() -> dict[str, list[float]]:
    """Print the milliseconds of a forward and backward pass for each number of rows in ROWS.

    Return a dict from the functions' labels to lists of these times.
    """
    times: dict[str, list[float]] = {"by itself": [], "by hand": []}
    print(f"\n{'rows of 20':<12}{'by itself':>14}{'by hand':>14}")
    for rows in ROWS:
        x = xp.asarray(np.random.default_rng(0).normal(size=(rows, 20)))
        for name, f in (("by itself", normalise), ("by hand", normalise_by_hand)):
            times[name].append(median_time(f, x))
        print(f"{rows:<12}{times['by itself'][-1]:>11.2f} ms{times['by hand'][-1]:>11.2f} ms")
    return times


def median_time(f: Callable, x: xp.Array) -> float:
    times = []
    for _ in range(9):
        start = time.perf_counter()
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times))


class Network(nn.Module):
    """A network of max pooling, a normalised hidden layer, and a logit for each digit."""

    def __init__(self, normalise: Callable, seed: int) -> None:
        super().__init__()
        draw = np.random.default_rng(seed)
        self.normalise = normalise
        self.hidden, self.logits = nn.Dense(32, seed=draw), nn.Dense(10, seed=draw)

    def __call__(self, images: xp.Array) -> xp.Array:
        x = xp.reshape(max_pool(images), (images.shape[0], -1))
        return self.logits(nn.relu(self.normalise(self.hidden(x))))


def train(normalise: Callable, name: str, seed: int, steps: int) -> list[float]:
    """Train a network on batches of 256 digits and return the losses."""
    bunch = load_digits()
    model, optimizer = Network(normalise, seed), optimizers.Adam(0.01)
    draw, losses = np.random.default_rng(seed), []
    for _ in tqdm(range(steps), desc=f"training, {name}", unit="step"):
        chosen = draw.integers(0, len(bunch.target), 256)
        with xp.GradientTape() as tape:
            logits = model(xp.asarray(bunch.images[chosen] / 16.0))
            loss = xp.mean(nn.softmax_cross_entropy(bunch.target[chosen], logits))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    return losses


def draw_plot(curves: dict[str, list[float]], times: dict[str, list[float]], out: str) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for style, width, (name, curve) in zip(("-", ":"), (1.5, 4.0), curves.items(), strict=True):
        left.semilogy(curve, style, linewidth=width, label=f"gradient {name}")
    left.set(title="The same network, with either gradient", xlabel="step", ylabel="cross-entropy")
    left.legend()
    for name, values in times.items():
        right.loglog(ROWS, values, "o-", label=f"gradient {name}")
    right.set(title="Normalising and its gradient", xlabel="rows of 20", ylabel="milliseconds")
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Layers that say themselves what their gradient is."
    )
    option = parser.add_argument
    option("--steps", type=integer(1), default=150, help="steps of training (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of data and weights (%(default)s)")
    default = "custom_layer.png"
    option("--out", type=picture, default=default, help="plot: .png, .pdf or .svg (%(default)s)")
    options = parser.parse_args(arguments)

    worst = report_derivatives(options.seed)
    times = report_times()
    ways = {"by itself": normalise, "by hand": normalise_by_hand}
    curves = {name: train(f, name, options.seed, options.steps) for name, f in ways.items()}
    draw_plot(curves, times, options.out)
    for name, curve in curves.items():
        print(f"loss after {options.steps} steps, gradient {name}: {curve[-1]:.10f}")
    agree = worst <= TOLERANCE
    print(f"largest relative difference: {worst:.1e} ({'' if agree else 'NOT '}<= {TOLERANCE:.0e})")
    print(f"plot: {options.out}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
