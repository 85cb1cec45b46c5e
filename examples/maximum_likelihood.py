"""Fit distributions with exact gradients.

They are SciPy's distributions; a hierarchical model made of them is sampled, too.

    python examples/maximum_likelihood.py --draws 200 --out maximum_likelihood.png

scipy.stats fits a distribution by a search without a gradient, and gives no standard errors. Inside
interop.scipy() the installed logpdf and ppf have derivatives, also with respect to the parameters. A fit
uses the Hessian, whose inverse gives the standard errors.

In the second part, the same densities make up the hierarchical model of eight schools (Rubin 1981,
"Estimation in parallel randomized experiments"). Hamiltonian Monte Carlo samples its posterior with the
tape's gradient. The exact posterior is known up to an integral over one number, so that the samples can
be checked.
"""

import os
import sys
from functools import partial
from typing import NamedTuple

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from matplotlib.cbook import get_sample_data
from scipy import stats
from scipy.optimize import fmin
from sklearn.datasets import load_wine

import arraytape as xp
from arraytape import interop
from arraytape.optimizers import minimize_scipy

TOLERANCE = 1e-6  # for the largest relative difference of estimates from SciPy's own
# Limits for the agreement of the samples with the exact posterior.
MOST_ERRORS, MOST_R_HAT = (4.0, 1.02)
RARE = 0.99  # the probability whose quantile is estimated

# The effects of coaching in eight schools in points of a test, and their standard errors.
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
WIDTH = 5.0  # scale of the priors of the schools' mean and of the spread between schools


# --- Maximum likelihood --------------------------------------------------------------------------
class Problem(NamedTuple):
    """Data, and the distribution with one shape parameter that is fitted to them."""

    title: str
    data: np.ndarray
    distribution: stats.rv_continuous
    start: dict[str, float]  # initial values by the names of the parameters
    fixed: dict[str, float]  # arguments that fix parameters in SciPy's fit

    def call(self, method, p, x):
        """Call a method of SciPy's distribution at x.  p: a vector of parameters."""
        with interop.scipy():
            return getattr(self.distribution, method)(x, **dict(zip(self.start, p, strict=True)))

    def loss(self, p):
        """Return the negative log likelihood."""
        return -xp.sum(self.call("logpdf", p, self.data))

    def rare(self, p):
        """Return the quantile of the probability RARE."""
        return self.call("ppf", p, RARE)


def problems():
    """Return the problems: colours of wines (scikit-learn's data), returns of a share (matplotlib's)."""
    wine, days = load_wine(), get_sample_data("goog.npz")["price_data"]
    colours = wine.data[:, wine.feature_names.index("color_intensity")]
    returns, months = 100.0 * np.diff(np.log(days["adj_close"])), days["date"][1:].astype("M8[M]")
    losses = np.array([-returns[months == month].min() for month in np.unique(months)])
    spread = {"loc": 0.0, "scale": 1.0}
    return [
        Problem("colour of a wine", colours, stats.gamma, {"a": 1.0, "scale": 1.0}, {"floc": 0.0}),
        Problem("return of a day (%)", returns, stats.t, {"df": 5.0, **spread}, {}),
        Problem("worst loss of a month (%)", losses, stats.genextreme, {"c": -0.1, **spread}, {}),
    ]


def fit(problem):
    """Return the maximum likelihood estimates, found by Newton steps.

    Positive parameters are replaced by their logarithms.
    """
    positive = np.array([name in {"a", "df", "scale"} for name in problem.start])
    start = np.array([*problem.start.values()])
    start[positive] = np.log(start[positive])

    def loss(free):
        p = xp.where(positive, xp.exp(free), free)
        return problem.loss(p) / problem.data.size

    options = {"method": "trust-exact", "options": {"gtol": 1e-10}}
    found = np.asarray(minimize_scipy(loss, xp.asarray(start), **options).x)
    return np.where(positive, np.exp(found), found)


def scipy_fit(problem, **options):
    """Return SciPy's own estimates of the same parameters."""
    names = problem.distribution.shapes, "loc", "scale"
    values = problem.distribution.fit(problem.data, **problem.fixed, **options)
    found = dict(zip(names, values, strict=True))
    return np.array([found[name] for name in problem.start])


def delta_method(slopes, covariance):
    """Return standard errors of functions of the estimates with the Jacobian ``slopes``."""
    return np.sqrt(np.einsum("...i,ij,...j->...", slopes, covariance, slopes))


def standard_errors(problem, p, covariance):
    """Return standard errors of the parameters and of the quantile.

    covariance: the covariance of the parameters.
    """
    slope = np.asarray(xp.grad(problem.rare)(xp.asarray(p)))
    return delta_method(np.vstack([np.eye(p.size), slope]), covariance)


def errors_by_differences(problem, p):
    """Return the standard errors from central differences of SciPy's functions on NumPy arrays."""
    steps = np.diag(3e-4 * p)
    loss, rare = problem.loss, problem.rare

    def second(a, b):
        changes = loss(p + a + b) - loss(p + a - b) - loss(p - a + b) + loss(p - a - b)
        return float(changes) / (4.0 * np.sum(a) * np.sum(b))

    hessian = np.array([[second(a, b) for b in steps] for a in steps])
    slope = np.array([float(rare(p + a) - rare(p - a)) / (2.0 * np.sum(a)) for a in steps])
    return delta_method(np.vstack([np.eye(p.size), slope]), np.linalg.inv(hessian))


def report(problem, p, covariance):
    """Print a table of the fit; return the largest relative difference of estimates from SciPy's."""
    loose = scipy_fit(problem)
    # SciPy's fit stops at four digits; these options let its search go on to full precision.
    tight = scipy_fit(problem, optimizer=partial(fmin, xtol=1e-10, ftol=1e-14, maxfun=10_000))
    rows = zip(
        [*problem.start, f"{RARE:.0%} quantile"],
        [*loose, float(problem.rare(loose))],
        [*p, float(problem.rare(p))],
        standard_errors(problem, p, covariance),
        errors_by_differences(problem, p),
        strict=True,
    )
    titles = "SciPy's fit", "by tape", "standard error", "by differences"
    print("{:<26}{:>14}{:>14}{:>17}{:>17}".format(problem.title, *titles))
    for name, *row in rows:
        print("{:<26}{:>14.6f}{:>14.6f}{:>17.6f}{:>17.6f}".format(name, *row))
    likelihoods = [-float(problem.loss(q)) for q in (loose, p)]
    print("{:<26}{:>14.6f}{:>14.6f}\n".format("log likelihood", *likelihoods))
    return np.max(np.abs(p - tight)) / np.max(np.abs(tight))


# --- Hierarchical model ------------------------------------------------------------------------------
def schools(q):
    """Return the mean of the schools' effects, the spread between schools, and each school's effect.

    q: (..., 10), scaled so that the posterior has a width of about 1 in each direction.
    """
    mean, spread = WIDTH * q[..., 0], WIDTH * xp.exp(q[..., 1])
    return mean, spread, mean[..., None] + spread[..., None] * q[..., 2:]


def log_posterior(q):
    """Return the log density of the posterior at q, (..., 10), up to a constant."""
    mean, spread, effects = schools(q)
    with interop.scipy():
        likelihood = xp.sum(stats.norm.logpdf(EFFECTS, effects, ERRORS), axis=-1)
        prior = stats.norm.logpdf(mean, 0.0, WIDTH) + stats.halfcauchy.logpdf(spread, 0.0, WIDTH)
        # The spread is sampled as its logarithm, whose density has the factor d spread / d q.
        return likelihood + prior + q[..., 1] + xp.sum(stats.norm.logpdf(q[..., 2:]), axis=-1)


def state_at(q):
    """Return the positions of all chains, (chains, 10), their energies, (chains, 1), and forces.

    One gradient has the forces of all chains.
    """
    watched = xp.asarray(q)
    with xp.GradientTape() as tape:
        tape.watch(watched)
        value = log_posterior(watched)
    # The gradient of the sum, because no chain's density depends on another chain.
    force = tape.gradient(value, watched)
    return q, -np.asarray(value)[:, None], np.asarray(force)


def leapfrog(state, momentum, step, count):
    """Follow Hamilton's equations for ``count`` steps; return the final state and momenta."""
    q, _, force = state
    for _ in range(count):
        momentum = momentum + 0.5 * step * force
        q, energy, force = state_at(q + step * momentum)
        momentum = momentum + 0.5 * step * force
    return (q, energy, force), momentum


def move(state, step, random):
    """Make a proposal for each chain; return the new state and the probabilities of acceptance.

    Source: Neal 2011, "MCMC using Hamiltonian dynamics", sec. 5.3.  The length and the number of steps
    are random, so that no orbit closes, and chains can leave regions where the density is narrow.
    """
    before = random.normal(size=state[0].shape)
    steps = step * random.uniform(0.4, 1.0, size=(len(before), 1))
    proposal, after = leapfrog(state, before, steps, random.integers(3, 12))
    kinetic = 0.5 * np.sum(after**2 - before**2, axis=1, keepdims=True)
    probability = np.exp(np.minimum(state[1] - proposal[1] - kinetic, 0.0))
    accepted = random.uniform(size=probability.shape) < probability
    return [np.where(accepted, *pair) for pair in zip(proposal, state, strict=True)], probability


def sample(chains, draws, seed):
    """Return draws of the posterior, (draws, chains, 10).

    Half as many draws before them adapt the step size, so that 80% of the proposals are accepted.
    """
    random, log_step, warm_up = np.random.default_rng(seed), np.log(0.3), draws // 2
    state = state_at(0.1 * random.normal(size=(chains, 2 + EFFECTS.size)))
    for draw in range(warm_up):
        state, probability = move(state, np.exp(log_step), random)
        log_step += (np.mean(probability) - 0.8) / np.sqrt(draw + 1.0)
    kept = []
    for _ in range(draws):
        state, _ = move(state, np.exp(log_step), random)
        kept.append(state[0])
    return np.stack(kept)


def convergence(values):
    """Return the standard error of the mean of draws, and R-hat.  values: (draws, chains, quantities).

    Both compare independent chains.  Source: Gelman et al. 2013, "Bayesian data analysis", sec. 11.4,
    with each chain split in two.
    """
    draws, chains, _ = values.shape
    error = np.std(np.mean(values, axis=0), axis=0, ddof=1) / np.sqrt(chains)
    halves = np.concatenate([values[: draws // 2], values[-(draws // 2) :]], axis=1)
    within = np.mean(np.var(halves, axis=0, ddof=1), axis=0)
    between = np.var(np.mean(halves, axis=0), axis=0, ddof=1)
    return error, np.sqrt(1.0 - 2.0 / draws + between / within)


def exact_posterior():
    """Return the exact means and standard deviations of the schools' effects, by a sum over the spread.

    For a given spread, all distributions are Gaussian.  With the prior covariance K of the effects and
    the covariance S of the measurements, the posterior covariance is K - K (K + S)^-1 K.
    """
    n, spreads = EFFECTS.size, np.exp(np.linspace(-8.0, 8.0, 801))
    weights, means, squares = [], [], []
    for spread in spreads:
        prior = spread**2 * np.eye(n) + WIDTH**2
        gain = np.linalg.solve(prior + np.diag(ERRORS**2), prior).T
        mean, covariance = gain @ EFFECTS, prior - gain @ prior
        seen = stats.multivariate_normal.pdf(EFFECTS, cov=prior + np.diag(ERRORS**2))
        weights.append(seen * stats.halfcauchy.pdf(spread, 0.0, WIDTH) * spread)
        means.append(mean)
        squares.append(np.diag(covariance) + mean**2)
    mean, square = (np.average(moments, axis=0, weights=weights) for moments in (means, squares))
    return mean, np.sqrt(square - mean**2)


def report_schools(effects):
    """Print a table of the posterior; return True if it agrees with the exact one.

    effects: (draws, chains, 8).
    """
    (error, r_hat), (mean, deviation) = convergence(effects), exact_posterior()
    sampled, around = np.mean(effects, axis=(0, 1)), np.std(effects, axis=(0, 1))
    titles = "measured", "sampled", "exact", "error", "R-hat"
    print("{:<8}{:>16}{:>18}{:>18}{:>10}{:>10}".format("school", *titles))
    columns = EFFECTS, ERRORS, sampled, around, mean, deviation, error, r_hat
    for name, row in zip("ABCDEFGH", zip(*columns, strict=True), strict=True):
        pairs = "{:>8.1f} +- {:>4.1f}{:>10.3f} +- {:>5.3f}{:>9.3f} +- {:>5.3f}".format(*row[:6])
        print("{:<7}{}{:>10.3f}{:>10.4f}".format(name, pairs, *row[6:]))
    away = np.max(np.abs(sampled - mean) / error)
    away, ratio = np.max(np.abs(sampled - mean) / error), np.max(r_hat)
    print(f"\nfurthest from the exact means: {away:.1f} standard errors (at most {MOST_ERRORS})")
    print(f"largest R-hat: {ratio:.4f} (at most {MOST_R_HAT})")
    return away <= MOST_ERRORS and ratio <= MOST_R_HAT


def draw_fit(axes, problem, p, covariance) -> None:
    places = np.linspace(problem.data.min(), problem.data.max(), 200)
    # The band is computed for the logarithm of the density, so that it stays above 0.
    slopes = xp.jacobian(lambda p: problem.call("logpdf", p, places))(xp.asarray(p))
    factor = np.exp(2.0 * delta_method(np.asarray(slopes), covariance))
    middle = problem.call("pdf", p, places)
    bins = int(2.0 * np.sqrt(problem.data.size))
    axes.hist(problem.data, bins, density=True, color="lightgray", label="data")
    axes.plot(places, middle, color="tab:orange", label="most likely density")
    band = middle / factor, middle * factor
    axes.fill_between(places, *band, color="tab:orange", alpha=0.3, label="two standard errors")
    axes.set(title=f"scipy.stats.{problem.distribution.name}", xlabel=problem.title)
    axes.set(ylabel="density")
    axes.legend()


def draw_schools(axes, effects) -> None:
    places = np.arange(EFFECTS.size)
    parts = axes.violinplot(effects.reshape(-1, EFFECTS.size), places - 0.15, showextrema=False)
    parts["bodies"][0].set_label("posterior, sampled")
    mean, deviation = exact_posterior()
    axes.errorbar(places - 0.15, mean, deviation, fmt="k.", label="posterior, exact")
    axes.errorbar(places + 0.15, EFFECTS, ERRORS, fmt="r.", label="measured")
    axes.set(
        title="Eight schools: what was measured, and what one knows then", ylabel="effect (points)"
    )
    axes.set(xlabel="school", ylim=(-25.0, 50.0))
    axes.set_xticks(places, "ABCDEFGH")
    axes.legend()


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out("Fit and sample SciPy's distributions.", "maximum_likelihood.png")
    option = parser.add_argument
    option("--draws", type=integer(20), default=200, help="draws of each chain (%(default)s)")
    option("--chains", type=integer(4), default=100, help="chains side by side (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the sampling (%(default)s)")
    options = parser.parse_args(arguments)

    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    differences = []
    for problem, place in zip(problems(), axes.flat, strict=False):
        p = fit(problem)
        hessian = xp.hessian(problem.loss)(xp.asarray(p))
        covariance = np.linalg.inv(np.asarray(hessian))
        differences.append(report(problem, p, covariance))
        draw_fit(place, problem, p, covariance)

    draws = xp.asarray(sample(options.chains, options.draws, options.seed))
    effects = np.asarray(schools(draws)[-1])
    agree = report_schools(effects)
    draw_schools(axes[1, 1], effects)
    figure.savefig(options.out, dpi=120)
    plt.close(figure)
    code = verdict(max(differences), TOLERANCE, options.out)
    return code if agree else 1


if __name__ == "__main__":
    sys.exit(main())
