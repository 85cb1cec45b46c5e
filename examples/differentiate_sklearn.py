"""Learn weights, quadratic terms and a penalty by gradients through scikit-learn's installed code.

    python examples/differentiate_sklearn.py --steps 150 --out differentiate_sklearn.png --seed 0

The pipeline has two unmodified estimators of scikit-learn:

    bend -> StandardScaler().fit_transform -> weight -> Ridge(alpha=penalty, solver="svd").fit

Ridge finds its coefficients on the training data. Gradient descent on the validation error learns one
weight and one bend (a quadratic term) for each feature, and the penalty. So each gradient is the
derivative of "fit to the training data, then measure the error on the validation data".

The pipeline is written for the array API and runs on NumPy arrays and on Arrays. With NumPy arrays it
computes finite differences, which check the gradient; with Arrays it computes the gradient.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from array_api_compat import array_namespace
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

import arraytape as xp

sklearn.set_config(array_api_dispatch=True)  # scikit-learn uses the namespace of its input

Array = Any  # a NumPy or an arraytape array
Data = dict[str, tuple[Array, Array]]  # name of the set -> (features, target)

SETS = ("train", "validation", "test")
SUFFIXES = (".png", ".pdf", ".svg")
LEARNING_RATE = 0.03
DIFFERENCE = 1e-5  # the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients


def load(seed: int) -> tuple[Data, list[str]]:
    """Return the diabetes data, split at random into SETS (1/2, 1/4, 1/4), and its features' names."""
    bunch = load_diabetes()
    # The columns have mean 0 and length 1. Scale them to variance 1, so that bends b are of order 1.
    features = bunch.data * np.sqrt(len(bunch.data))
    order = np.random.default_rng(seed).permutation(len(features))
    parts = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    data = {name: (features[i], bunch.target[i]) for name, i in zip(SETS, parts, strict=True)}
    return data, list(bunch.feature_names)


def unpack(parameters: Array) -> tuple[Array, Array, Array]:
    """Split the parameter vector into log weights, bends and the log penalty."""
    count = parameters.shape[0] // 2
    return parameters[:count], parameters[count : 2 * count], parameters[2 * count]


# StandardScaler divides 0 by 0 on its first batch and overwrites the NaN; the warning is ignored.
@np.errstate(invalid="ignore")
def errors(parameters: Array, data: Data, *names: str) -> list[Array]:
    """Fit on data["train"]; return the mean squared error on each of the named sets."""
    namespace = array_namespace(parameters)
    log_weights, bends, log_penalty = unpack(parameters)
    weights, penalty = namespace.exp(log_weights), namespace.exp(log_penalty)

    # StandardScaler cancels any factor of a column, so the weights are applied after it. It cannot
    # cancel a bend, x + b x**2, so the bends are applied before it, and their gradient passes through
    # its mean and variance. (In the column "sex", which has two values, it cancels the bend, too.)
    scaler = StandardScaler()
    features, target = data["train"]
    scaled = scaler.fit_transform(features + bends * features**2)

    # alpha may be an array: Ridge accepts any array-like and converts it with the `asarray` of
    # the features' namespace, which keeps the gradient. float(penalty) would cut it.
    model = Ridge(alpha=penalty, solver="svd").fit(scaled * weights, target)

    def error(features: Array, target: Array) -> Array:
        scaled = scaler.transform(features + bends * features**2)
        return namespace.mean((model.predict(scaled * weights) - target) ** 2)

    return [error(*data[name]) for name in names]


def to_arraytape(data: Data) -> Data:
    return {name: (xp.asarray(x), xp.asarray(y)) for name, (x, y) in data.items()}


@xp.function  # traced twice, then replayed without scikit-learn's Python: docs/tutorials/replay.md
def gradient(parameters: Array, data: Data) -> Array:
    """Run the pipeline on a tape and return the gradient of the validation error."""
    with xp.GradientTape() as tape:
        tape.watch(parameters)
        [error] = errors(parameters, data, "validation")
    return tape.gradient(error, parameters)


def tape_gradient(parameters: np.ndarray, data: Data) -> np.ndarray:
    """Return the gradient as a NumPy array.  data: arraytape arrays."""
    return np.asarray(gradient(xp.asarray(parameters), data))


def difference_gradient(parameters: np.ndarray, data: Data) -> np.ndarray:
    """Return the gradient by central differences.  data: NumPy arrays."""
    gradient = np.empty_like(parameters)
    for i, step in enumerate(DIFFERENCE * np.eye(len(parameters))):
        [above] = errors(parameters + step, data, "validation")
        [below] = errors(parameters - step, data, "validation")
        gradient[i] = (above - below) / (2 * DIFFERENCE)
    return gradient


def learn(parameters: np.ndarray, data: Data, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the validation error; return the learned parameters and the history of the errors.

    The errors have shape (steps + 1, 3): a row before the first step and after each, a column for each
    set in SETS.
    """
    traced = to_arraytape(data)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    history = [errors(parameters, data, *SETS)]
    progress = tqdm(range(1, steps + 1), desc="learning", unit="step")
    for step in progress:
        slope = tape_gradient(parameters, traced)
        # Source: Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 1.
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        parameters = parameters - LEARNING_RATE * change
        history.append(errors(parameters, data, *SETS))
        progress.set_postfix_str(f"validation error {history[-1][1]:.1f}")
    return parameters, np.asarray(history)


def report_gradient(parameters: np.ndarray, data: Data, names: list[str]) -> float:
    """Print both gradients and their times; return the largest relative difference.

    Differences are relative to the largest component, because a component may happen to be near 0.
    """
    tape, tape_time = timed(tape_gradient, parameters, to_arraytape(data))
    central, central_time = timed(difference_gradient, parameters, data)
    relative = np.abs(tape - central) / np.max(np.abs(central))

    print(f"\n{'gradient':<16}{'tape':>16}{'differences':>16}{'rel. diff.':>12}")
    for name, *row in zip(names, tape, central, relative, strict=True):
        print("{:<16}{:>16.6f}{:>16.6f}{:>12.1e}".format(name, *row))
    print(f"{'time':<16}{tape_time:>13.1f} ms{central_time:>13.1f} ms", end="")
    print(f"   tape {central_time / tape_time:.1f} times as fast")
    return float(np.max(relative))


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return the function's result and the median time of five calls, in milliseconds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(1e3 * (time.perf_counter() - start))
    return result, float(np.median(times))


def report_errors(history: np.ndarray) -> None:
    print(f"\n{'mean sq. error':<16}{'before':>16}{'after':>16}{'fall':>12}")
    for name, before, after in zip(SETS, history[0], history[-1], strict=True):
        print(f"{name:<16}{before:>16.1f}{after:>16.1f}{1 - after / before:>12.1%}")


def draw(history: np.ndarray, parameters: np.ndarray, features: list[str], out: Path) -> None:
    """Plot the errors at each step, and the learned weights and bends."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for name, curve in zip(SETS, history.T, strict=True):
        left.plot(curve, label=name, linewidth=2.5 if name == "validation" else 1.2)
    left.set(title="Error while learning", xlabel="step", ylabel="mean squared error")
    left.legend()

    log_weights, bends, log_penalty = unpack(parameters)
    place = np.arange(len(features))
    right.bar(place - 0.2, log_weights, width=0.4, label="log weight, behind StandardScaler")
    right.bar(place + 0.2, bends, width=0.4, label="bend, in front of StandardScaler")
    right.axhline(0.0, color="black", linewidth=0.8)
    right.set(title=f"Learned for each feature (and a penalty of {np.exp(log_penalty):.2f})")
    right.set(xlabel="feature", ylabel="value (all start at 0)")
    right.set_xticks(place, features)
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def integer(least: int) -> Callable[[str], int]:
    """Return a type for argparse that accepts integers of at least `least`."""

    def parse(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() else None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {least}")
        return value

    return parse


def prepare_output(out: Path) -> str | None:
    """Make the folder of the plot; return an error message, or None if the plot can be written."""
    if out.suffix.lower() not in SUFFIXES:
        return f"'{out}' must end in one of {', '.join(SUFFIXES)}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(out if out.exists() else out.parent, os.W_OK) and not out.is_dir()
    except OSError as error:
        return f"cannot write to '{out}': {error.strerror}"
    return None if writable else f"cannot write to '{out}': a folder, or no permission"


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Gradient descent through scikit-learn's code.")
    option = parser.add_argument
    option("--steps", type=integer(1), default=150, help="steps of gradient descent (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the random split (%(default)s)")
    default = Path("differentiate_sklearn.png")
    option("--out", type=Path, default=default, help="plot: .png, .pdf or .svg (%(default)s)")
    options = parser.parse_args(arguments)
    if problem := prepare_output(options.out):
        parser.error(f"argument --out: {problem}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    data, features = load(options.seed)
    # Zeros are scikit-learn's defaults: no bend, every weight 1 and penalty 1.
    start = np.zeros(2 * len(features) + 1)
    learned, history = learn(start, data, options.steps)
    draw(history, learned, features, options.out)

    # The gradients are compared at a random point, where no parameter is 0 and no gradient is tiny.
    somewhere = np.random.default_rng(options.seed).normal(scale=0.3, size=len(start))
    names = [f"{kind} {name}" for kind in ("log weight", "bend") for name in features]
    worst = report_gradient(somewhere, data, [*names, "log penalty"])
    report_errors(history)
    agree = worst <= TOLERANCE
    print(f"\nvalidation error: {1 - history[-1, 1] / history[0, 1]:.1%} lower")
    print(f"largest relative difference: {worst:.1e} ({'' if agree else 'NOT '}<= {TOLERANCE:.0e})")
    print(f"plot: {options.out}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
