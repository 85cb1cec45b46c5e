"""Find what scikit-learn's PCA depends on.

One gradient shows on which measurements the explained variance depends.

    python examples/pca_influence.py --out pca_influence.png

Two components explain 55% of the variance of 178 wines with 13 measurements each. One gradient through
the installed StandardScaler and PCA has the derivatives of this percentage with respect to all 2314
measurements. They predict the percentage without any single wine. As a check, each wine is left out in
turn, and the pipeline is fitted again.
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
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import arraytape as xp

sklearn.set_config(array_api_dispatch=True)  # scikit-learn uses the namespace of its input

SHOWN = 10  # the number of wines in the table and the picture
TOLERANCE = 1e-6  # for the largest relative difference between tape and finite differences


@np.errstate(
    invalid="ignore"
)  # StandardScaler divides 0 by 0 on its first batch, and overwrites it
def explained(measurements):
    """Return the percentage of the variance that two components explain."""
    scaled = StandardScaler().fit_transform(measurements)
    return 100.0 * PCA(n_components=2).fit(scaled).explained_variance_ratio_.sum()


def tape_gradient(measurements: np.ndarray) -> np.ndarray:
    watched = xp.asarray(measurements)
    with xp.GradientTape() as tape:
        tape.watch(watched)
        percentage = explained(watched)
    return np.asarray(tape.gradient(percentage, watched))


def worst_difference(data: np.ndarray, gradient: np.ndarray, count: int) -> float:
    """Compare the ``count`` steepest elements of ``gradient`` with central differences.

    Return the largest relative error.
    """
    spread = data.std(axis=0)
    steepest = np.argsort(-np.abs(gradient * spread), axis=None)[:count]
    errors = []
    for wine, feature in zip(*np.unravel_index(steepest, data.shape), strict=True):
        step = np.zeros_like(data)
        step[wine, feature] = 1e-4 * spread[feature]
        slope = (explained(data + step) - explained(data - step)) / (2.0 * np.sum(step))
        errors.append(abs(gradient[wine, feature] - slope) / abs(slope))
    return max(errors)


def draw(predicted, refitted, shares, shown, features, out) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    left.axline((0, 0), slope=1, color="black", linewidth=0.8, label="what is said is found")
    left.scatter(predicted, refitted, s=16, color="tab:red", alpha=0.7, label="one wine left out")
    for wine in shown[:3]:
        place = (predicted[wine], refitted[wine])
        left.annotate(f"wine {wine}", place, (-8, 0), textcoords="offset points", ha="right")
    left.set(title="One gradient says what 178 refits find", ylabel="found by a refit")
    left.set(xlabel="change of the explained variance, said by the gradient (percentage points)")
    left.legend()

    limit = np.max(np.abs(shares[shown]))
    image = right.imshow(shares[shown], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    names = [name.split("/")[0].replace("_", " ") for name in features]
    right.set_xticks(range(len(names)), names, rotation=40, ha="right")
    right.set_yticks(range(len(shown)), [f"wine {wine}" for wine in shown])
    right.set_title("The measurements that the change is owing to")
    figure.colorbar(image, label="share of the change (percentage points)")
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out("Which measurements a PCA depends on.", "pca_influence.png")
    option = parser.add_argument
    option("--checks", type=integer(1), default=20, help="finite differences (%(default)s)")
    options = parser.parse_args(arguments)
    bunch = load_wine()
    data, features = bunch.data, bunch.feature_names

    # Moving a wine by a share s towards the mean shrinks its part of the covariance by (1 - s)**2,
    # about 1 - 2s. Reducing its weight by s would shrink it by 1 - s only. Hence half the slope
    # predicts the effect of leaving the wine out.
    started = time.perf_counter()
    gradient = tape_gradient(data)
    shares = 0.5 * gradient * (data.mean(axis=0) - data)
    predicted = shares.sum(axis=1)
    between = time.perf_counter()
    whole = explained(data)
    refitted = np.asarray([explained(np.delete(data, i, axis=0)) - whole for i in range(len(data))])
    times = 1e3 * (between - started), 1e3 * (time.perf_counter() - between)

    shown = np.argsort(-np.abs(predicted))[:SHOWN]
    print(f"explained variance: {whole:.2f}%\n")
    print(f"{'left out':<10}{'gradient':>10}{'refit':>10}   owing to")
    for wine in shown:
        most = np.argsort(-np.abs(shares[wine]))[:3]
        owing = ", ".join(f"{features[i]} {shares[wine, i]:+.2f}" for i in most)
        print(f"wine {wine:<5}{predicted[wine]:>+10.3f}{refitted[wine]:>+10.3f}   {owing}")
    print(f"{'time':<10}{times[0]:>7.0f} ms{times[1]:>7.0f} ms   for all wines")

    draw(predicted, refitted, shares, shown, features, options.out)
    worst = worst_difference(data, gradient, options.checks)
    print(f"\ncorrelation of gradient and refits: {np.corrcoef(predicted, refitted)[0, 1]:.5f}")
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
