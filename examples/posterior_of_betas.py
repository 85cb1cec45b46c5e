"""Estimate betas of shares.

Variational inference through scipy.stats finds their posterior.

    python examples/posterior_of_betas.py --out posterior_of_betas.png

The monthly return of a share is a constant level, plus a multiple (beta) of the market's return, plus a
residual. Residuals are mostly small and sometimes huge, so they have Student's t distribution. For five
shares since 1990 there are 20 unknown numbers, including the degrees of freedom. Variational inference
approximates their posterior by the most similar Gaussian, which has 230 parameters. They maximise the
lower bound of the evidence, with its gradient through `scipy.stats.t.logpdf` and
`scipy.stats.norm.logpdf` inside `arraytape.interop.scipy()`. The draws are points of scipy.stats.qmc,
the same in each step, so that SciPy's L-BFGS converges.

For Gaussian residuals of known width, the exact posterior is known, and the same code finds its means
and covariances. With Student's t, importance sampling corrects the Gaussian's draws by weights. Their
effective number is 80 of 100, so the Gaussian is close to the posterior. The baseline is least squares.
Its betas have larger errors, and it gives a lower density to months that were not used for the fit.

Source: Kucukelbir, Tran, Ranganath, Gelman and Blei 2017, "Automatic differentiation variational
inference", JMLR 18(14). The returns are those of matplotlib's Stocks.csv.
"""

import csv
import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from matplotlib.cbook import get_sample_data
from scipy import stats

import arraytape as xp
from arraytape import interop
from arraytape.optimizers import minimize_scipy

SHARES = ("IBM", "AAPL", "MSFT", "XRX", "ADBE")
MARKET = "^GSPC"
POINTS = 32  # the number of draws in the lower bound
# Mean and width of the priors of level, beta, log width and log degrees of freedom.
PRIOR = np.array([[0.0, 2.0], [1.0, 1.0], [np.log(8.0), 1.0], [np.log(8.0), 1.0]])
TOLERANCE = 1e-5  # for the largest relative difference from the exact posterior


def returns():
    """Return the returns of the market, (months,), and of the shares, (shares, months), in percent."""
    with get_sample_data("Stocks.csv") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")]
    place = [rows[0].index(name) for name in (MARKET, *SHARES)]
    # Rows that do not begin on the first of a month are dividends.
    months = [[row[i] for i in place] for row in rows if row[0].endswith("-01")]
    prices = np.array([month for month in months if all(month)], dtype=float).T
    changes = 100.0 * np.diff(np.log(prices), axis=1)
    return changes[0], changes[1:]


class Model:
    """The log density of the parameters, up to a constant.

    Parameters have the shape (draws, shares, numbers of a share).
    widths: the known widths of Gaussian residuals, or None for Student's t.
    """

    def __init__(self, market, shares, widths=None) -> None:
        self.market, self.shares, self.widths = market, shares, widths
        self.numbers = 4 if widths is None else 2

    def log_likelihood(self, p):
        """Return the log density of each draw, share and month."""
        middle = p[..., 0:1] + p[..., 1:2] * self.market
        with interop.scipy():
            if self.widths is not None:
                return stats.norm.logpdf(self.shares, middle, self.widths[:, None])
            width, degrees = xp.exp(p[..., 2:3]), xp.exp(p[..., 3:4])
            return stats.t.logpdf(self.shares, degrees, middle, width)

    def log_density(self, p):
        with interop.scipy():
            prior = stats.norm.logpdf(p, *PRIOR[: self.numbers].T)
        return xp.sum(self.log_likelihood(p), axis=(1, 2)) + xp.sum(prior, axis=(1, 2))


class Gaussian:
    """The most similar Gaussian, given by its mean and a lower triangular factor of its covariance."""

    def __init__(self, model, steps, seed) -> None:
        self.model, self.size = model, len(SHARES) * model.numbers
        points = stats.qmc.MultivariateNormalQMC(np.zeros(self.size), rng=seed).random(POINTS)
        # Exactly mean 0 and covariance 1, so that quadratic log densities are averaged exactly.
        points -= points.mean(axis=0)
        self.points = points @ np.linalg.inv(np.linalg.cholesky(np.cov(points.T, ddof=0))).T
        self.below = np.tril(np.ones((self.size, self.size)), -1)
        start = {
            "mean": xp.asarray(np.tile(PRIOR[: model.numbers, 0], len(SHARES))),
            "log diagonal": xp.asarray(np.full(self.size, -2.0)),
            "below": xp.zeros((self.size, self.size)),
        }
        how = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 50, "ftol": 1e-15, "gtol": 1e-9}
        self.start = start
        self.found = minimize_scipy(self.loss, start, method="L-BFGS-B", options=how)

    def triangle(self, q):
        return q["below"] * self.below + xp.exp(q["log diagonal"]) * xp.eye(self.size)

    def draws(self, q, standard):
        flat = q["mean"] + standard @ self.triangle(q).T
        return xp.reshape(flat, (-1, len(SHARES), self.model.numbers))

    def loss(self, q):
        """Return the negative lower bound of the evidence per share."""
        density = xp.mean(self.model.log_density(self.draws(q, xp.asarray(self.points))))
        return -(density + xp.sum(q["log diagonal"])) / len(SHARES)

    @property
    def mean(self):
        return np.asarray(self.found.x["mean"])

    @property
    def covariance(self):
        triangle = np.asarray(self.triangle(self.found.x))
        return triangle @ triangle.T

    def weighed_draws(self, count, seed):
        """Return draws of the Gaussian, with importance weights for the posterior."""
        standard = np.random.default_rng(seed).normal(size=(count, self.size))
        draws = self.draws(self.found.x, xp.asarray(standard))
        logs = np.asarray(self.model.log_density(draws)) + 0.5 * np.sum(standard**2, axis=1)
        weights = np.exp(logs - logs.max())
        return np.asarray(draws), weights / weights.sum()


def exact_posterior(market, shares, widths):
    """Return the exact mean and covariance of levels and betas for known widths of the residuals."""
    design = np.stack([np.ones_like(market), market], axis=1)
    known = np.diag(PRIOR[:2, 1] ** -2.0)
    size = 2 * len(SHARES)
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for i, (share, width) in enumerate(zip(shares, widths, strict=True)):
        part = slice(2 * i, 2 * i + 2)
        covariance[part, part] = np.linalg.inv(known + design.T @ design / width**2)
        information = known @ PRIOR[:2, 0] + design.T @ share / width**2
        mean[part] = covariance[part, part] @ information
    return mean, covariance


def least_squares(market, shares):
    """Return levels and betas, (shares, 2), and the widths of the residuals."""
    design = np.stack([np.ones_like(market), market], axis=1)
    numbers = np.linalg.lstsq(design, shares.T)[0].T
    return numbers, np.std(shares - numbers @ design.T, axis=1, ddof=2)


def unseen_density(gaussian, market, shares, seed):
    """Return the mean log densities of unused months, by the posterior and by least squares."""
    draws, weights = gaussian.weighed_draws(500, seed)
    later = Model(market, shares)
    logs = np.asarray(later.log_likelihood(xp.asarray(draws)))
    robust = np.log(np.einsum("d,dsm->sm", weights, np.exp(logs)))
    model = gaussian.model
    numbers, widths = least_squares(model.market, model.shares)
    middle = numbers[:, :1] + numbers[:, 1:] * market
    return robust.mean(), stats.norm.logpdf(shares, middle, widths[:, None]).mean()


def draw(market, shares, table, draws, weights, out) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    name = "XRX"
    i = SHARES.index(name)
    left.scatter(market, shares[i], s=10, color="tab:gray", label="a month")
    ends = np.array([market.min(), market.max()])
    numbers, _ = least_squares(market, shares)
    left.plot(ends, numbers[i, 0] + numbers[i, 1] * ends, "k--", label="least squares")
    level, beta = weights @ draws[:, i, 0], weights @ draws[:, i, 1]
    left.plot(ends, level + beta * ends, color="tab:red", label="posterior mean")
    left.set(title=f"{name} and the market", xlabel="return of the market (%)")
    left.set(ylabel="return of the share (%)")
    left.legend(loc="upper left")
    places = np.arange(len(SHARES))
    ols, errors, mean, deviation = table
    middle.errorbar(places - 0.12, ols, 2 * errors, fmt="ko", label="least squares, two errors")
    middle.errorbar(places + 0.12, mean, 2 * deviation, fmt="s", color="tab:red",
                    label="posterior, two deviations")  # fmt: skip
    middle.set(title="Betas", ylabel="beta", ylim=(0.75, 2.1))
    middle.set_xticks(places, SHARES)
    middle.legend(loc="upper left")
    parts = right.violinplot(np.exp(draws[:, :, 3]), places, showextrema=False, points=300)
    for body in parts["bodies"]:
        body.set(facecolor="tab:red", alpha=0.5)
    right.set(title="How heavy the tails are", ylabel="degrees of freedom", ylim=(0, 10))
    right.set_xticks(places, SHARES)
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "posterior_of_betas.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=400, help="most steps of L-BFGS (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of points and draws (%(default)s)")
    options = parser.parse_args(arguments)
    steps, seed = options.steps, options.seed
    market, shares = returns()

    numbers, widths = least_squares(market, shares)
    known = Gaussian(Model(market, shares, widths), steps, seed)
    mean, covariance = exact_posterior(market, shares, widths)
    scale = np.sqrt(np.diag(covariance))
    worst = np.max(np.abs(known.mean - mean) / scale)
    worst = max(worst, np.max(np.abs(known.covariance - covariance) / np.outer(scale, scale)))

    robust = Gaussian(Model(market, shares), steps, seed)
    draws, weights = robust.weighed_draws(2000, seed)
    weighed = np.einsum("d,dsn->sn", weights, draws)
    around = np.sqrt(np.einsum("d,dsn->sn", weights, (draws - weighed) ** 2))
    means = robust.mean.reshape(len(SHARES), -1)
    spread = np.sqrt(np.diag(robust.covariance)).reshape(means.shape)
    errors = widths / np.sqrt(np.sum((market - market.mean()) ** 2))
    print(
        f"{market.size} months, {robust.found.nit} steps of L-BFGS, {robust.found.nfev} gradients\n"
    )
    print(f"{'beta':<10}{'least squares':>20}{'Gaussian':>20}{'weighed draws':>20}{'degrees':>10}")
    for i, name in enumerate(SHARES):
        print(f"{name:<10}{numbers[i, 1]:>12.3f} +- {errors[i]:.3f}", end="")
        print(f"{means[i, 1]:>12.3f} +- {spread[i, 1]:.3f}", end="")
        print(f"{weighed[i, 1]:>12.3f} +- {around[i, 1]:.3f}{np.exp(weighed[i, 3]):>10.1f}")
    effective = 1.0 / (len(weights) * np.sum(weights**2))
    print(f"\n{'draws that count, of 100':<44}{100.0 * effective:>8.1f}")
    half = market.size // 2
    early = Gaussian(Model(market[:half], shares[:, :half]), steps, seed)
    after = unseen_density(early, market[half:], shares[:, half:], seed)
    print(f"{'log density of a later month, posterior':<44}{after[0]:>8.3f}")
    print(f"{'... least squares':<44}{after[1]:>8.3f}")
    table = numbers[:, 1], errors, weighed[:, 1], around[:, 1]
    draw(market, shares, table, draws, weights, options.out)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
