"""Fit a Gaussian process.

The gradient of its hyperparameters passes through scikit-learn's kernel functions.

    python examples/gaussian_process.py --steps 200 --out gaussian_process.png

GaussianProcessRegressor maximises the marginal likelihood with gradients that are written by hand for
each kernel. Here a tape computes the gradient through the installed sklearn.metrics.pairwise.rbf_kernel.
The first fit has a length scale for each feature, and finds the same hyperparameters as
GaussianProcessRegressor. The second has a kernel that scikit-learn lacks: it depends only on the
projection of the features onto one learned direction.
"""

import os
import sys
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from command_line import integer, parser_with_out, verdict
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

import arraytape as xp
from arraytape.optimizers import minimize_scipy

sklearn.set_config(array_api_dispatch=True)  # scikit-learn uses the namespace of its input

TOLERANCE = 1e-10  # for the largest relative difference from GaussianProcessRegressor's gradient


def by_feature(p, x):
    """Return the features, each divided by its length scale; one with a long scale hardly matters."""
    return x / xp.exp(p["log lengths"])


def by_direction(p, x):
    """Return the projection of each patient's features onto one direction."""
    return x @ xp.reshape(p["direction"], (-1, 1))


def covariance(view, p, a, b):
    return xp.exp(p["log signal"]) * rbf_kernel(view(p, a), view(p, b), gamma=0.5)


def log_likelihood(view, p, x, y):
    """Return the log marginal likelihood.

    Source: Rasmussen and Williams 2006, "Gaussian processes for machine learning", eq. 2.30.
    """
    noise = xp.exp(p["log noise"]) * xp.eye(y.size)
    lower = xp.linalg.cholesky(covariance(view, p, x, x) + noise)
    whitened = xp.linalg.solve(lower, y)
    half_log_determinant = xp.sum(xp.log(xp.linalg.diagonal(lower)))
    return -0.5 * (xp.sum(whitened**2) + y.size * np.log(2.0 * np.pi)) - half_log_determinant


def fit(view, start, x, y, steps):
    """Return the fitted parameters, and the log likelihood at the start and after each L-BFGS step."""

    def loss(p):
        return -log_likelihood(view, p, x, y)

    curve, options = [-float(loss(start))], {"method": "L-BFGS-B", "options": {"maxiter": steps}}
    found = minimize_scipy(loss, start, callback=lambda p: curve.append(-float(loss(p))), **options)
    return found.x, curve


def predict(view, p, x, y, new):
    """Return the means and standard deviations (with noise) of new targets as NumPy arrays."""
    noise, between = xp.exp(p["log noise"]), covariance(view, p, x, xp.asarray(new))
    weights = xp.linalg.solve(covariance(view, p, x, x) + noise * xp.eye(y.size), between)
    variance = xp.exp(p["log signal"]) + noise - xp.sum(between * weights, axis=0)
    return np.asarray(y @ weights), np.sqrt(np.asarray(variance))


def reference(x, y):
    """Return GaussianProcessRegressor's own fit, and its gradient at its starting point."""
    kernel = ConstantKernel(1.0) * RBF(np.full(x.shape[1], np.e)) + WhiteKernel(np.exp(-1.0))
    with warnings.catch_warnings():
        # It warns about length scales at the upper limit, which belong to irrelevant features.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessRegressor(kernel, alpha=0.0).fit(x, y)  # WhiteKernel is the noise
    return model, model.log_marginal_likelihood(kernel.theta, eval_gradient=True)[1]


def draw(curves, best, place, y, along, mean, deviation, out) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    left.axhline(best, color="black", linestyle="--", label="what GaussianProcessRegressor finds")
    for name, curve in curves.items():
        left.plot(curve, label=f"{name}, by tape")
    left.set(title="Two kernels of 12 hyperparameters", xlabel="step of L-BFGS")
    left.set(ylabel="log marginal likelihood", ylim=(best - 30, max(map(max, curves.values())) + 5))
    left.legend(loc="lower right")
    right.scatter(place, y, s=12, color="tab:gray", label="patients who were held out")
    right.plot(along, mean, color="tab:orange", label="mean and two standard deviations")
    band = mean - 2.0 * deviation, mean + 2.0 * deviation
    right.fill_between(along, *band, color="tab:orange", alpha=0.2)
    right.set(title="What the learned direction predicts", xlabel="place along the direction")
    right.set(ylabel="disease progression, standardised", ylim=(-3.0, 4.5))
    right.legend(loc="upper left")
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out("Fit Gaussian processes by tape.", "gaussian_process.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=200, help="most steps of each fit (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the random split (%(default)s)")
    options = parser.parse_args(arguments)
    bunch = load_diabetes(scaled=False)
    table = np.column_stack([bunch.data, bunch.target])
    train, test = train_test_split(table, random_state=options.seed)
    tables = [(part - train.mean(axis=0)) / train.std(axis=0) for part in (train, test)]
    (x, y), (new, target) = ((part[:, :-1], part[:, -1]) for part in tables)
    model, exact = reference(x, y)
    best = model.log_marginal_likelihood_value_

    # The tape starts from the same parameters; the direction starts from least squares.
    data, signal, noise = (xp.asarray(x), xp.asarray(y)), xp.asarray(0.0), xp.asarray(-1.0)
    start = {"log signal": signal, "log lengths": xp.ones(x.shape[1]), "log noise": noise}
    gradient = xp.grad(lambda p: log_likelihood(by_feature, p, *data))(start)
    taped = np.hstack([np.asarray(part) for part in gradient.values()])
    worst = np.max(np.abs(taped - exact)) / np.max(np.abs(exact))
    scales, curve = fit(by_feature, start, *data, options.steps)
    least_squares = xp.asarray(np.linalg.lstsq(x, y)[0])
    start = {"log signal": signal, "direction": least_squares, "log noise": noise}
    seen, higher = fit(by_direction, start, *data, options.steps)

    print(f"{'':<16}{'scikit-learn':>16}{'tape':>16}{'tape':>16}")
    print(f"{'':<16}{'length scale':>16}{'length scale':>16}{'direction':>16}")
    found, direction = np.exp(np.asarray(scales["log lengths"])), np.asarray(seen["direction"])
    rows = zip(bunch.feature_names, model.kernel_.k1.k2.length_scale, found, direction, strict=True)
    for name, *row in rows:
        print("{:<16}{:>16.4g}{:>16.4g}{:>16.3f}".format(name, *row))
    print(f"{'log likelihood':<16}{best:>16.4f}{curve[-1]:>16.4f}{higher[-1]:>16.4f}")
    means = predict(by_feature, scales, *data, new)[0], predict(by_direction, seen, *data, new)[0]
    errors = [np.mean((mean - target) ** 2) for mean in (model.predict(new), *means)]
    print("{:<16}{:>16.4f}{:>16.4f}{:>16.4f}".format("held-out error", *errors))

    place = new @ direction
    along = np.linspace(place.min(), place.max(), 200)
    line = predict(by_direction, seen, *data, np.outer(along, direction / np.sum(direction**2)))
    curves = {"a length scale for each feature": curve, "one direction": higher}
    draw(curves, best, place, target, along, *line, options.out)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
