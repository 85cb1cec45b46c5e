"""Learn a metric for digits.

Its gradients pass through scikit-learn's distances.

    python examples/metric_learning.py --out metric_learning.png

A linear map projects the 64 pixels of a digit to a plane, so that equal digits are close together. In
neighbourhood components analysis, each digit draws a neighbour, with higher probabilities for near
ones. Its chance is the probability that the neighbour has the same label. scikit-learn's
NeighborhoodComponentsAnalysis maximises the mean chance with a hand-written gradient. Here a tape
computes gradients through the installed sklearn.metrics.pairwise.euclidean_distances and
scipy.special.softmax.

The first objective is scikit-learn's, and ends at the same value. The others are not in scikit-learn.
The mean logarithm of the chance penalises digits without a near equal, and overfits 600 digits. With a
penalty that removes pixels, it is better than the others on unseen digits, and uses 37 of 64 pixels.

Source: Goldberger, Roweis, Hinton and Salakhutdinov 2005, "Neighbourhood components analysis", NIPS
17. The maps are compared by a KNeighborsClassifier on 1197 digits that were not used for learning.
"""

import os
import sys
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from command_line import integer, parser_with_out, verdict
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

import arraytape as xp
from arraytape.optimizers import minimize_scipy

DIGITS = 600  # the number of digits for learning
PENALTY = 1e-2  # penalty on the length of a pixel's row of the map
DIFFERENCE = 1e-5  # the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients


class Neighbours:
    """Losses of a linear map to the plane: an array ``plane`` of shape (pixels, 2).

    The losses depend on each digit's chance that the neighbour which it draws has the same label.
    """

    def __init__(self, pixels, labels) -> None:
        self.pixels = xp.asarray(pixels)
        equal = np.equal.outer(labels, labels)
        np.fill_diagonal(equal, False)
        self.equal = xp.asarray(equal, dtype=xp.float64)
        self.itself = xp.asarray(np.where(np.eye(labels.size), np.inf, 0.0))

    def chances(self, plane):
        places = self.pixels @ plane
        distances = euclidean_distances(places, squared=True) + self.itself
        return xp.sum(softmax(-distances, axis=1) * self.equal, axis=1)

    def mean(self, plane):
        """Return the negative of NeighborhoodComponentsAnalysis's objective."""
        return -xp.mean(self.chances(plane))

    def logarithm(self, plane):
        return -xp.mean(xp.log(self.chances(plane) + 1e-12))

    def few_pixels(self, plane):
        """Return a loss with a group lasso, which makes rows of pixels 0.  Source: Yuan and Lin 2006."""
        return self.logarithm(plane) + PENALTY * xp.sum(xp.sqrt(xp.sum(plane**2, axis=1) + 1e-6))


def worst_difference(losses, plane, seed):
    """Return the largest error of the tape's slopes, compared with central differences of the losses."""
    errors = []
    for loss in losses:
        gradient = np.asarray(xp.grad(loss)(xp.asarray(plane)))
        for direction in np.random.default_rng(seed).normal(size=(5, *plane.shape)):
            step = DIFFERENCE * direction / np.linalg.norm(direction)
            values = [float(loss(xp.asarray(plane + one))) for one in (step, -step)]
            errors.append(abs(np.sum(gradient * step) - 0.5 * (values[0] - values[1])))
        scale = DIFFERENCE * np.linalg.norm(gradient)
    return max(errors) / scale


def draw(planes, data, accuracies, out) -> None:
    train, test, labels, truth = data
    shown = "PCA", "few pixels, by tape"
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), width_ratios=(1, 1, 0.85))
    for axis, name in zip(axes, shown, strict=False):
        axis.scatter(*(test @ planes[name]).T, c=truth, cmap="tab10", s=7)
        axis.set(xticks=[], yticks=[])
        axis.set(
            title=f"{name}: {accuracies[name]:.1%} right", xlabel="digits that no map has seen"
        )
        for digit in range(10):
            middle = np.median((train @ planes[name])[labels == digit], axis=0)
            box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "alpha": 0.8}
            axis.annotate(str(digit), middle, ha="center", va="center", bbox=box)
    lengths = np.linalg.norm(planes["few pixels, by tape"], axis=1).reshape(8, 8)
    image = axes[2].imshow(lengths, cmap="Greys")
    axes[2].set(title="Which pixels the penalised map reads", xticks=[], yticks=[])
    figure.colorbar(image, ax=axes[2], label="length of the pixel's row of the map")
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "metric_learning.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=100, help="most steps of each fit (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the split (%(default)s)")
    options = parser.parse_args(arguments)

    pixels, labels = load_digits(return_X_y=True)
    seed = options.seed
    data = train_test_split(pixels / 16.0, labels, train_size=DIGITS, random_state=seed)
    train, test, learned, truth = data
    start = PCA(2, svd_solver="full").fit(train).components_.T
    planes, seconds = {"PCA": start}, {"PCA": 0.0}

    begin = time.perf_counter()
    model = NeighborhoodComponentsAnalysis(2, init=start.T, max_iter=options.steps, tol=1e-9)
    planes["mean, scikit-learn's NCA"] = model.fit(train, learned).components_.T
    seconds["mean, scikit-learn's NCA"] = time.perf_counter() - begin

    with sklearn.config_context(array_api_dispatch=True):  # lets scikit-learn compute with Arrays
        neighbours = Neighbours(train, learned)
        losses = {
            "mean, by tape": neighbours.mean,
            "mean of logarithms, by tape": neighbours.logarithm,
            "few pixels, by tape": neighbours.few_pixels,
        }
        for name, loss in losses.items():
            begin = time.perf_counter()
            how = {"method": "L-BFGS-B", "options": {"maxiter": options.steps, "ftol": 1e-9}}
            planes[name] = np.asarray(minimize_scipy(loss, xp.asarray(start), **how).x)
            seconds[name] = time.perf_counter() - begin
        chances = {
            name: np.asarray(neighbours.chances(xp.asarray(plane)))
            for name, plane in planes.items()
        }
        worst = worst_difference(losses.values(), start, seed)

    accuracies = {}
    print(f"{'map of 64 pixels to a plane':<30}{'chance':>9}{'log':>9}{'right':>9}", end="")
    print(f"{'pixels':>9}{'seconds':>9}")
    for name, plane in planes.items():
        nearest = KNeighborsClassifier(5).fit(train @ plane, learned)
        accuracies[name] = nearest.score(test @ plane, truth)
        lengths = np.linalg.norm(plane, axis=1)
        read = np.sum(lengths > 0.02 * lengths.max())
        means = np.mean(chances[name]), np.mean(np.log(chances[name] + 1e-12))
        print("{:<30}{:>9.4f}{:>9.4f}".format(name, *means), end="")
        print(f"{accuracies[name]:>9.1%}{read:>9}{seconds[name]:>9.2f}")
    whole = KNeighborsClassifier(5).fit(train, learned).score(test, truth)
    print(f"{'all 64 pixels, no map':<48}{whole:>9.1%}{64:>9}")
    draw(planes, data, accuracies, options.out)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
