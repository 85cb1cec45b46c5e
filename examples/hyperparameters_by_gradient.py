"""Choose hyperparameters by gradient.

The gradient passes through the fit of scikit-learn's LogisticRegression.

    python examples/hyperparameters_by_gradient.py --out hyperparameters_by_gradient.png

A classifier distinguishes odd from even handwritten digits. It is fitted to 400 digits. Its loss on 900
others is a function of its hyperparameters: C, and a scale for each of the 64 pixels, which acts as a
separate penalty for each pixel. A grid search can find C. For all 65 numbers, a grid of two values each
would have 37 billion billion points, while a gradient through the fit costs a few fits. The result is
measured on the remaining 497 digits.

LogisticRegression is scikit-learn's, unmodified. Inside `arraytape.interop.sklearn()` its own solver
fits, and the derivative of the solution follows from the equation that the solution solves.
"""

import os
import sys
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from matplotlib.colors import LogNorm
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import arraytape as xp
from arraytape import interop

SIZES = {"train": 400, "validation": 900, "test": 497}
GRID = np.linspace(-7.0, 5.0, 49)  # the values of log C in the grid search
LIMITS = (-3.0, 3.0)  # bounds of the logarithm of a scale
DIFFERENCE = 1e-4  # the step of the central finite differences
TOLERANCE = 1e-5  # for the largest relative difference between the two gradients


class Problem:
    """The losses of a fit as functions of a vector: log C, then the logs of the scales, if any."""

    def __init__(self, seed: int) -> None:
        bunch = load_digits()
        order = np.random.default_rng(seed).permutation(len(bunch.target))
        parts = np.split(order, np.cumsum([*SIZES.values()])[:-1])
        pixels, odd = bunch.data / 16.0 - 0.5, bunch.target % 2
        self.data = {name: (pixels[i], odd[i]) for name, i in zip(SIZES, parts, strict=True)}
        self.numbers, self.fits = 1 + pixels.shape[1], 0

    def loss(self, parameters, measured_on="validation"):
        """Fit to the training data; return the mean log loss on another set.

        parameters: a NumPy array or an Array.
        """
        self.fits += 1
        C, scales = np.exp(parameters[0]), np.exp(parameters[1:])
        scales = scales if len(parameters) > 1 else 1.0
        (x, y), (x_new, y_new) = self.data["train"], self.data[measured_on]
        model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-9)
        model.fit(x * scales, y)
        # log(1 + exp(-margin)); predict_log_proba would round it to infinity for very negative margins
        margins = (2.0 * y_new - 1.0) * model.decision_function(x_new * scales)
        return np.mean(np.logaddexp(0.0, -margins))

    def loss_and_gradient(self, parameters):
        """Return the loss and its gradient as NumPy data, for scipy.optimize."""
        with interop.sklearn():
            value, gradient = xp.value_and_grad(self.loss)(xp.asarray(parameters))
        return float(value), np.asarray(gradient)


class Search:
    """The history of a search: points, losses, seconds, and the number of fits."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.name, self.problem, self.start = name, problem, time.perf_counter()
        self.points, self.losses, self.seconds, problem.fits = [], [], [], 0

    def saw(self, point, loss) -> None:
        self.points.append(np.array(point))
        self.losses.append(float(loss))
        self.seconds.append(time.perf_counter() - self.start)
        self.fits = self.problem.fits

    @property
    def best(self):
        return self.points[int(np.argmin(self.losses))]


def by_grid(problem: Problem) -> Search:
    search = Search("grid of C", problem)
    for log_c in GRID:
        point = np.array([log_c])
        search.saw(point, problem.loss(point))
    return search


def at_random(problem: Problem, seconds: float, seed: int) -> Search:
    """Return a Search at random points that takes ``seconds``, like the search by gradient."""
    search, rng = Search("at random", problem), np.random.default_rng(seed)
    while not search.seconds or search.seconds[-1] < seconds:
        scales = rng.normal(size=problem.numbers - 1)
        point = np.concat([rng.uniform(GRID[0], GRID[-1], 1), scales])
        search.saw(point, problem.loss(point))
    return search


def by_gradient(problem: Problem, start, steps: int, name: str) -> Search:
    search = Search(name, problem)

    def seen(point):
        value, gradient = problem.loss_and_gradient(point)
        search.saw(point, value)
        return value, gradient

    bounds = [(GRID[0], GRID[-1])] + [LIMITS] * (len(start) - 1)
    options = {"maxiter": steps}
    minimize(seen, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return search


def report(problem: Problem, searches: list[Search], untuned: np.ndarray) -> None:
    heads = ("numbers", "fits", "seconds", *SIZES)
    print(f"{'log loss':<22}" + "".join(f"{head:>12}" for head in heads))
    rows = [("C = 1, as it comes", untuned, 0, 0.0)]
    rows += [(s.name, s.best, s.fits, s.seconds[-1]) for s in searches]
    for name, point, fits, seconds in rows:
        found = [problem.loss(point, name) for name in SIZES]
        print(f"{name:<22}{len(point):>12}{fits:>12}{seconds:>12.1f}", end="")
        print("".join(f"{loss:>12.4f}" for loss in found))


def worst_difference(problem: Problem, point: np.ndarray, count: int) -> float:
    """Return the largest difference between some elements of the gradient and central differences.

    It is relative to the largest element of the gradient.
    """
    _, gradient = problem.loss_and_gradient(point)
    errors = []
    for i in np.argsort(-np.abs(gradient))[:count]:
        step = DIFFERENCE * np.eye(len(point))[i]
        slope = (problem.loss(point + step) - problem.loss(point - step)) / (2 * DIFFERENCE)
        errors.append(abs(gradient[i] - slope) / np.max(np.abs(gradient)))
    return max(errors)


def draw(problem: Problem, searches: list[Search], out) -> None:
    grid, one, chance, every = searches
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(17, 6), layout="constrained")

    left.plot(
        np.exp([p[0] for p in grid.points]), grid.losses, ".-", label=f"grid, {grid.fits} fits"
    )
    path = np.exp([p[0] for p in one.points])
    left.plot(path, one.losses, "o", color="tab:red", label=f"by gradient, {one.fits} fits")
    for step, place in enumerate(zip(path[:4], one.losses, strict=False)):
        left.annotate(str(step), place, (6, 6), textcoords="offset points", color="tab:red")
    left.set(xscale="log", ylim=(0.9 * min(grid.losses), 1.02 * max(grid.losses)))
    left.set(title="One number: C", xlabel="C", ylabel="validation loss")
    left.legend()

    for search, color in ((chance, "tab:gray"), (every, "tab:red")):
        label = f"{search.name}, {search.fits} fits"
        best = np.minimum.accumulate(search.losses)
        middle.step(search.seconds, best, where="post", label=label, color=color)
    middle.axhline(min(grid.losses), ls="--", color="tab:blue", label="best on the grid of C")
    middle.set(title=f"{len(every.best)} numbers: C and all scales", xlabel="seconds")
    middle.set(ylabel="best validation loss so far", ylim=(0.8 * min(every.losses), None))
    middle.legend()

    scales = every.best[1:].reshape(8, 8)
    limit = np.max(np.abs(scales))
    image = right.imshow(np.exp(scales), cmap="RdBu_r", norm=LogNorm(np.exp(-limit), np.exp(limit)))
    right.set(title="What was learned: a scale for each pixel", xticks=[], yticks=[])
    right.set(xlabel="red: weighed more than before; blue: nearly left out")
    figure.colorbar(image, ax=right, label="scale (1 at first)")
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "hyperparameters_by_gradient.png")
    text = "steps of L-BFGS (%(default)s)"
    parser.add_argument("--steps", type=integer(1), default=40, help=text)
    text = "how many slopes to check by differences (%(default)s)"
    parser.add_argument("--checks", type=integer(1), default=5, help=text)
    text = "seed of the split (%(default)s)"
    parser.add_argument("--seed", type=integer(0), default=0, help=text)
    options = parser.parse_args(arguments)

    problem = Problem(options.seed)
    start = np.zeros(problem.numbers)  # logarithms: C and all scales are 1, scikit-learn's defaults
    one = by_gradient(problem, start[:1] - 4.0, options.steps, "C by gradient")
    grid = by_grid(problem)
    every = by_gradient(problem, start, options.steps, "all by gradient")
    chance = at_random(problem, every.seconds[-1], options.seed)
    searches = [grid, one, chance, every]
    report(problem, searches, start[:1])
    draw(problem, searches, options.out)
    return verdict(worst_difference(problem, start + 0.1, options.checks), TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
