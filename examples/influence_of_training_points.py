"""Find influential training points.

They are the points on which the test loss of scikit-learn's LogisticRegression depends most.

    python examples/influence_of_training_points.py --out influence_of_training_points.png

A classifier distinguishes benign from malignant tumours. One gradient of its test loss, through its own
fit, has the derivatives with respect to the weights of 284 training points. They predict the loss
without each point. The gradient also has the derivatives with respect to the 30 measurements of each
point. As a check, each point is left out in turn, and the classifier is fitted again.

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
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import arraytape as xp
from arraytape import interop

SHOWN = 8  # the number of points in the table and the picture
PENALTY = (
    0.1  # C: with a weaker penalty, single points matter more, and slopes predict refits less well
)
FLIPPED = 12  # the number of labels that the second part makes wrong on purpose
DIFFERENCE = 1e-4  # the step of the central finite differences
TOLERANCE = 1e-5  # for the largest relative difference between the two gradients


class Problem:
    """A fit to half of the data, with a weight for each point, and the loss on the other half."""

    def __init__(self, seed: int) -> None:
        bunch = load_breast_cancer()
        self.names = [str(name) for name in bunch.feature_names]
        order = np.random.default_rng(seed).permutation(len(bunch.target))
        train, test = np.array_split(order, [len(order) // 2])
        scaler = StandardScaler().fit(bunch.data[train])
        self.x, self.labels = scaler.transform(bunch.data[train]), bunch.target[train]
        self.test = scaler.transform(bunch.data[test]), bunch.target[test]
        self.weights = np.ones(len(train))

    def loss(self, weights, x, labels):
        """Return the mean log loss on the test data.  weights, x: NumPy arrays or Arrays."""
        model = LogisticRegression(C=PENALTY, solver="newton-cholesky", tol=1e-10)
        model.fit(x, labels, sample_weight=weights)
        x_test, y_test = self.test
        margins = (2.0 * y_test - 1.0) * model.decision_function(x_test)
        return np.mean(np.logaddexp(0.0, -margins))

    def gradients(self, labels):
        """Return the loss, and its slopes with respect to each weight and each measurement."""
        with interop.sklearn():
            value, (by_weight, by_x) = xp.value_and_grad(self.loss, (0, 1))(
                xp.asarray(self.weights), xp.asarray(self.x), labels
            )
        return float(value), np.asarray(by_weight), np.asarray(by_x)

    def without(self, labels):
        """Return the losses of refits, each of which leaves out one point."""
        ones = np.ones_like(self.weights)
        return np.array([self.loss(ones - e, self.x, labels) for e in np.eye(len(ones))])


def flipped(problem: Problem, seed: int):
    """Return the labels with some of them made wrong, and the indices of the wrong ones."""
    wrong = np.random.default_rng(seed).choice(len(problem.labels), FLIPPED, replace=False)
    labels = problem.labels.copy()
    labels[wrong] = 1 - labels[wrong]
    return labels, wrong


def worst_difference(problem: Problem, by_weight, by_x, count: int) -> float:
    """Return the largest relative error of the ``count`` steepest slopes, by central differences."""
    errors = []
    for place in np.argsort(-np.abs(by_weight))[:count]:
        e = DIFFERENCE * np.eye(len(by_weight))[place]
        above, below = (
            problem.loss(w, problem.x, problem.labels)
            for w in (problem.weights + e, problem.weights - e)
        )
        slope = (above - below) / (2 * DIFFERENCE)
        errors.append(abs(slope - by_weight[place]) / np.max(np.abs(by_weight)))
    for place in np.argsort(-np.abs(by_x), axis=None)[:count]:
        e = np.zeros(by_x.size)
        e[place] = DIFFERENCE
        e = e.reshape(by_x.shape)
        above, below = (
            problem.loss(problem.weights, x, problem.labels) for x in (problem.x + e, problem.x - e)
        )
        slope = (above - below) / (2 * DIFFERENCE)
        errors.append(abs(slope - by_x.flat[place]) / np.max(np.abs(by_x)))
    return max(errors)


def report(said, refitted, loss, labels, seconds) -> None:
    print(f"test loss {loss:.4f}; its change in percent when a training point is left out:")
    print(f"{'point':<22}{'gradient':>12}{'refit':>12}")
    kinds = ("malignant", "benign")
    for point in np.argsort(-np.abs(refitted))[:SHOWN]:
        name = f"{point} ({kinds[labels[point]]})"
        print(f"{name:<22}{said[point]:>+12.2f}{refitted[point]:>+12.2f}")
    print(f"correlation of gradient and refits: {np.corrcoef(said, refitted)[0, 1]:.4f}")
    print(f"time: gradient {seconds[0]:.2f} s, {len(said)} refits {seconds[1]:.2f} s")


def draw(problem: Problem, said, refitted, by_x, search, out) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(18, 6), layout="constrained")
    left.axline((0, 0), slope=1, color="black", linewidth=0.8, label="what is said is found")
    for label, name, color in ((1, "benign", "tab:blue"), (0, "malignant", "tab:red")):
        chosen = problem.labels == label
        left.scatter(said[chosen], refitted[chosen], s=18, alpha=0.7, color=color, label=name)
    for point in np.argsort(-np.abs(refitted))[:4]:
        place = (said[point], refitted[point])
        left.annotate(str(point), place, (-7, 3), textcoords="offset points", ha="right")
    left.set(title=f"One gradient says what {len(said)} refits find", ylabel="found by a refit")
    left.set(xlabel="change of the test loss without a point, said by the gradient (%)")
    left.legend()

    points = np.argsort(-np.abs(refitted))[:SHOWN]
    rows = by_x[points]
    features = np.argsort(-np.max(np.abs(rows), axis=0))[:14]
    limit = np.max(np.abs(rows))
    image = middle.imshow(rows[:, features], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    middle.set_xticks(range(len(features)), [problem.names[i] for i in features], rotation=60)
    plt.setp(middle.get_xticklabels(), ha="right", rotation_mode="anchor")
    middle.set_yticks(range(len(points)), [f"point {p}" for p in points])
    middle.set(title="... and which of their measurements matter")
    figure.colorbar(image, ax=middle, label="% of the loss for one standard deviation")

    checked = np.arange(1, len(said) + 1)
    for name, found, style in search:
        right.plot(checked, found, style, label=name)
    right.plot(checked, np.minimum(checked, FLIPPED), ":", color="gray", label="the best possible")
    right.set(title=f"{FLIPPED} labels were made wrong: who finds them?", xlim=(0, 100))
    right.set(xlabel="training points looked at, in this order", ylabel="wrong labels found")
    right.legend(loc="lower right")
    figure.savefig(out, dpi=110)
    plt.close(figure)


def found_by(order, wrong):
    """Return for each n how many of the first n points of ``order`` have a wrong label."""
    return np.cumsum(np.isin(order, wrong))


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "influence_of_training_points.png")
    text = "how many slopes of each kind to check by differences (%(default)s)"
    parser.add_argument("--checks", type=integer(1), default=5, help=text)
    text = "seed of the split (%(default)s)"
    parser.add_argument("--seed", type=integer(0), default=0, help=text)
    options = parser.parse_args(arguments)

    problem = Problem(options.seed)
    problem.gradients(problem.labels)  # the first call imports what interop needs
    start = time.perf_counter()
    loss, by_weight, by_x = problem.gradients(problem.labels)
    middle = time.perf_counter()
    refitted = 100.0 * (problem.without(problem.labels) / loss - 1.0)
    seconds = middle - start, time.perf_counter() - middle
    said = -100.0 * by_weight / loss
    report(said, refitted, loss, problem.labels, seconds)

    labels, wrong = flipped(problem, options.seed)
    _, by_weight_then, _ = problem.gradients(labels)
    # Points without which the loss would fall come first, because their labels may be wrong.
    by_influence = found_by(np.argsort(-by_weight_then), wrong)
    at_random = np.arange(1, len(said) + 1) * FLIPPED / len(said)
    search = [("by influence on the test loss", by_influence, "-"), ("at random", at_random, "--")]
    count = by_influence[2 * FLIPPED - 1]
    print(f"{FLIPPED} labels made wrong: {count} are among the {2 * FLIPPED} worst by influence")
    draw(problem, said, refitted, 100.0 * by_x / loss, search, options.out)
    worst = worst_difference(problem, by_weight, by_x, options.checks)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
