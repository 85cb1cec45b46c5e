"""Tune a scikit-learn pipeline by gradients.

The gradients pass through scikit-learn's installed code.

    python examples/differentiate_sklearn.py --steps 60 --out differentiate_sklearn.png --seed 0

The pipeline predicts the progress of diabetes from ten measurements of a patient.  It consists of
unmodified estimators of scikit-learn:

    StandardScaler -> weights -> PolynomialFeatures(2) -> Ridge(alpha=penalty, solver="svd")

Eleven numbers are tuned: a weight for each measurement and the penalty.  The objective is the error of
cross-validation on three quarters of the patients.  A grid search over eleven numbers is hopeless, but
one gradient through the five fits has the derivatives with respect to all.  The remaining quarter of
the patients shows what was gained: neither the fits nor the tuning see it.

The pipeline is written for the array API and runs on NumPy arrays and on Arrays.  With NumPy arrays it
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
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tqdm import tqdm

import arraytape as xp

sklearn.set_config(array_api_dispatch=True)  # scikit-learn uses the namespace of its input

Array = Any  # a NumPy or an arraytape array
Split = tuple[Array, Array, Array, Array]  # features and targets to learn from, and to predict

FOLDS = 5
SUFFIXES = (".png", ".pdf", ".svg")
LEARNING_RATE = 0.1
DIFFERENCE = 1e-5  # the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients
GRID = 10.0 ** np.arange(-2, 5)  # the penalties of the grid search


def load(seed: int) -> tuple[list[Split], Split, list[str]]:
    """Return the splits of cross-validation, the split that tests, and the names of the features."""
    bunch = load_diabetes()
    order = np.random.default_rng(seed).permutation(len(bunch.data))
    held_out, known = np.split(order, [len(order) // 4])

    def split(learned: np.ndarray, predicted: np.ndarray) -> Split:
        return (
            bunch.data[learned], bunch.target[learned],
            bunch.data[predicted], bunch.target[predicted],
        )  # fmt: skip

    folds = np.array_split(known, FOLDS)
    splits = [split(np.setdiff1d(known, fold), fold) for fold in folds]
    return splits, split(known, held_out), list(bunch.feature_names)


# StandardScaler divides 0 by 0 on its first batch and overwrites the NaN; the warning is ignored.
@np.errstate(invalid="ignore")
def error(parameters: Array, split: Split) -> Array:
    """Fit the pipeline to the first part of a split; return the mean squared error on the second."""
    namespace = array_namespace(parameters)
    weights, penalty = namespace.exp(parameters[:-1]), namespace.exp(parameters[-1])
    features, target, others, expected = split
    scaler, products = StandardScaler(), PolynomialFeatures(2, include_bias=False)
    scaled = scaler.fit_transform(features)
    # alpha may be an array: Ridge accepts any array-like and converts it with the `asarray` of
    # the features' namespace, which keeps the gradient. float(penalty) would cut it.
    model = Ridge(alpha=penalty, solver="svd")
    model.fit(products.fit_transform(scaled * weights), target)
    found = model.predict(products.transform(scaler.transform(others) * weights))
    return namespace.mean((found - expected) ** 2)


def cross_validation(parameters: Array, splits: list[Split]) -> Array:
    """Return the mean of the errors on the splits."""
    return sum(error(parameters, split) for split in splits) / len(splits)


def to_arraytape(splits: list[Split]) -> list[Split]:
    return [tuple(map(xp.asarray, split)) for split in splits]


@xp.function  # traced twice, then replayed without scikit-learn's Python: docs/tutorials/replay.md
def gradient(parameters: Array, splits: list[Split]) -> tuple[Array, Array]:
    """Run cross-validation on a tape; return its error and the gradient."""
    with xp.GradientTape() as tape:
        tape.watch(parameters)
        value = cross_validation(parameters, splits)
    return value, tape.gradient(value, parameters)


def tape_gradient(parameters: np.ndarray, splits: list[Split]) -> tuple[float, np.ndarray]:
    """Return the error and the gradient as NumPy values.  splits: arraytape arrays."""
    value, slope = gradient(xp.asarray(parameters), splits)
    return float(value), np.asarray(slope)


def difference_gradient(parameters: np.ndarray, splits: list[Split]) -> np.ndarray:
    """Return the gradient by central differences.  splits: NumPy arrays."""
    steps = DIFFERENCE * np.eye(len(parameters))
    above = [cross_validation(parameters + step, splits) for step in steps]
    below = [cross_validation(parameters - step, splits) for step in steps]
    return (np.asarray(above) - below) / (2 * DIFFERENCE)


def tune(parameters: np.ndarray, splits: list[Split], steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the error of cross-validation; return the parameters after each step, and the errors.

    The parameters have shape (steps + 1, 11), the errors (steps + 1,): before the first step and after
    each.
    """
    traced = to_arraytape(splits)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    visited, errors = [parameters], []
    progress = tqdm(range(1, steps + 1), desc="tuning", unit="step")
    for step in progress:
        value, slope = tape_gradient(parameters, traced)
        errors.append(value)
        # Source: Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 1.
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        parameters = parameters - LEARNING_RATE * change
        visited.append(parameters)
        progress.set_postfix_str(f"error of cross-validation {value:.0f}")
    errors.append(float(cross_validation(parameters, splits)))
    return np.asarray(visited), np.asarray(errors)


def best_of_grid(splits: list[Split], count: int) -> np.ndarray:
    """Return the parameters with weights of 1 and the penalty of GRID that has the least error."""
    candidates = [np.append(np.zeros(count), np.log(penalty)) for penalty in GRID]
    return min(candidates, key=lambda parameters: cross_validation(parameters, splits))


def report_gradient(parameters: np.ndarray, splits: list[Split], names: list[str]) -> float:
    """Print both gradients and their times; return the largest relative difference.

    Differences are relative to the largest component, because a component may happen to be near 0.
    """
    (_, tape), tape_time = timed(tape_gradient, parameters, to_arraytape(splits), calls=5)
    central, central_time = timed(difference_gradient, parameters, splits, calls=1)
    relative = np.abs(tape - central) / np.max(np.abs(central))

    print("\nThe gradient of the error through five fits, by the tape and by finite differences:")
    print(f"{'':<16}{'tape':>16}{'differences':>16}{'rel. diff.':>12}")
    for name, *row in zip(names, tape, central, relative, strict=True):
        print("{:<16}{:>16.6f}{:>16.6f}{:>12.1e}".format(name, *row))
    print(f"{'time':<16}{tape_time:>13.1f} ms{central_time:>13.1f} ms", end="")
    print(f"   the tape is {central_time / tape_time:.0f} times as fast")
    return float(np.max(relative))


def timed(function: Callable[..., Any], *arguments: Any, calls: int) -> tuple[Any, float]:
    """Return the function's result and the median time of some calls, in milliseconds."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(1e3 * (time.perf_counter() - start))
    return result, float(np.median(times))


def report_errors(settings: dict[str, np.ndarray], splits: list[Split], test: Split) -> None:
    """Print the errors of each setting, on the folds and on the patients that were held out."""
    print("\nThe mean squared error of the pipeline:")
    print(f"{'':<40}{'cross-validation':>18}{'held-out patients':>20}")
    for name, parameters in settings.items():
        print(f"{name:<40}{cross_validation(parameters, splits):>18.0f}", end="")
        print(f"{error(parameters, test):>20.0f}")


def draw(
    errors: np.ndarray, tests: np.ndarray, grid: float, learned: np.ndarray, names: list[str], out: Path
) -> None:  # fmt: skip
    """Plot the errors at each step, and the learned weights.

    tests : the errors on held-out patients, at each step.  grid : that of the best penalty of the grid.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    left.plot(errors, label="cross-validation (minimised)")
    left.plot(tests, label="held-out patients", linewidth=2.5)
    left.axhline(
        grid, color="gray", linestyle="--", label="held-out patients, best penalty of a grid"
    )
    left.set(title="The error falls, also for new patients", xlabel="step")
    left.set(ylabel="mean squared error")
    left.legend()

    right.bar(np.arange(len(names)), np.exp(learned[:-1]))
    right.axhline(1.0, color="black", linewidth=0.8)
    right.set(title=f"The weight of each measurement (and a penalty of {np.exp(learned[-1]):.2f})")
    right.set(xlabel="measurement", ylabel="weight (all start at 1)")
    right.set_xticks(np.arange(len(names)), names)
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
    option("--steps", type=integer(1), default=60, help="steps of gradient descent (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the random split (%(default)s)")
    default = Path("differentiate_sklearn.png")
    option("--out", type=Path, default=default, help="plot: .png, .pdf or .svg (%(default)s)")
    options = parser.parse_args(arguments)
    if problem := prepare_output(options.out):
        parser.error(f"argument --out: {problem}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    splits, test, features = load(options.seed)
    start = np.zeros(len(features) + 1)  # scikit-learn's defaults: every weight 1 and penalty 1
    visited, errors = tune(start, splits, options.steps)
    learned, grid = visited[-1], best_of_grid(splits, len(features))
    tests = np.asarray([error(parameters, test) for parameters in visited])
    draw(errors, tests, error(grid, test), learned, features, options.out)

    # The gradients are compared at a random point, where no parameter is 0 and no gradient is tiny.
    somewhere = np.random.default_rng(options.seed).normal(scale=0.3, size=len(start))
    names = [*(f"log weight {name}" for name in features), "log penalty"]
    worst = report_gradient(somewhere, splits, names)
    settings = {
        "scikit-learn's defaults": start,
        f"best of {len(GRID)} penalties": grid,
        "weights and penalty tuned by gradients": learned,
    }
    report_errors(settings, splits, test)
    agree = worst <= TOLERANCE
    print(f"\nlargest relative difference of gradients: {worst:.1e} ", end="")
    print(f"({'' if agree else 'NOT '}<= {TOLERANCE:.0e})")
    print(f"held-out error: {1 - tests[-1] / tests[0]:.1%} lower than with scikit-learn's defaults")
    print(f"plot: {options.out}")
    print(
        "\nNo line of scikit-learn was changed. README.md says how to do this with your own pipeline."
    )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
