"""Summary statistics and transformations of scipy.stats, exactly as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import stats

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, (9, 2)), RNG.uniform(-1.5, 1.5, (9, 2))
P, Q, W = (RNG.uniform(0.2, 2.0, (9, 2)) for _ in range(3))
AXIS = {"axis": 0}
CASES = {
    "boxcox_llf": (lambda x: stats.boxcox_llf(0.7, x, **AXIS), P),
    "boxcox_llf at 0": (lambda x: stats.boxcox_llf(0.0, x, **AXIS), P),
    "circmean": (lambda x: stats.circmean(x, **AXIS), X),
    "circmean in bounds": (lambda x: stats.circmean(x, high=2.0, low=-2.0, **AXIS), X),
    "circstd": (lambda x: stats.circstd(x, **AXIS), X),
    "circstd, normalized": (lambda x: stats.circstd(x, normalize=True, **AXIS), X),
    "circvar": (lambda x: stats.circvar(x, axis=None), X),
    "describe": (lambda x: list(stats.describe(x, **AXIS))[1:], X),
    "describe with bias": (lambda x: list(stats.describe(x, ddof=0, bias=False))[1:], X[:, 0]),
    "differential_entropy": (lambda x: stats.differential_entropy(x, **AXIS), X),
    "differential_entropy, another base": (
        lambda x: stats.differential_entropy(x, window_length=2, base=2.0, method="vasicek"),
        X[:, 0],
    ),
    "directional_stats": (lambda x: of_directions(stats.directional_stats(x)), X),
    "directional_stats of units": (
        lambda x: of_directions(stats.directional_stats(x, normalize=False)),
        X,
    ),
    "entropy of two": (lambda p, q: stats.entropy(p, q, **AXIS), P, Q),
    "entropy of two, another base": (lambda p, q: stats.entropy(p, q, base=2.0, axis=1), P, Q),
    "gmean": (lambda x: stats.gmean(x, **AXIS), P),
    "gmean with weights": (lambda x, w: stats.gmean(x, weights=w, **AXIS), P, W),
    "gstd": (lambda x: stats.gstd(x, ddof=0, **AXIS), P),
    "gzscore": (lambda x: stats.gzscore(x, ddof=1, **AXIS), P),
    "hmean": (lambda x: stats.hmean(x, axis=None), P),
    "hmean with weights": (lambda x, w: stats.hmean(x, weights=w, **AXIS), P, W),
    "iqr": (lambda x: stats.iqr(x, **AXIS), X),
    "iqr, scaled": (
        lambda x: stats.iqr(x, rng=(10, 60), scale="normal", interpolation="midpoint", **AXIS),
        X,
    ),
    "kstat": (lambda x: [stats.kstat(x, n, **AXIS) for n in (1, 2, 3, 4)], X),
    "kstatvar": (lambda x: [stats.kstatvar(x, n, **AXIS) for n in (1, 2)], X),
    "kurtosis": (lambda x: stats.kurtosis(x, **AXIS), X),
    "kurtosis without bias": (lambda x: stats.kurtosis(x, fisher=False, bias=False, **AXIS), X),
    "lmoment": (lambda x: stats.lmoment(x, **AXIS), X),
    "lmoment of one order": (lambda x: stats.lmoment(x, 3, standardize=False, **AXIS), X),
    "median_abs_deviation": (lambda x: stats.median_abs_deviation(x, **AXIS), X),
    "median_abs_deviation, scaled": (
        lambda x: stats.median_abs_deviation(x, center=mean, scale="normal", **AXIS),
        X,
    ),
    "mode": (lambda x: stats.mode(x, **AXIS).mode, X),
    "moment": (lambda x: [stats.moment(x, order, **AXIS) for order in (2, 3)], X),
    "moments about a center": (lambda x: stats.moment(x, [1, 2, 4], center=0.3, **AXIS), X),
    "pmean": (lambda x: [stats.pmean(x, p, **AXIS) for p in (-1.5, 0, 2.5)], P),
    "pmean with weights": (lambda x, w: stats.pmean(x, 0.7, weights=w, **AXIS), P, W),
    "quantile": (lambda x: stats.quantile(x, 0.37, **AXIS), X),
    "quantile with probabilities": (lambda x, p: stats.quantile(x, p), X[:, 0], P[:3, 0] / 2.5),
    "sem": (lambda x: stats.sem(x, ddof=0, **AXIS), X),
    "sigmaclip": (lambda x: list(stats.sigmaclip(x, low=1.3, high=1.3)), X[:, 0]),
    "skew": (lambda x: stats.skew(x, **AXIS), X),
    "skew without bias": (lambda x: stats.skew(x, bias=False, **AXIS), X),
    "tmax": (lambda x: stats.tmax(x, 1.0, **AXIS), X),
    "tmean": (lambda x: stats.tmean(x, (-1.0, 1.0), inclusive=(True, False), **AXIS), X),
    "tmin": (lambda x: stats.tmin(x, -1.0, **AXIS), X),
    "trim_mean": (lambda x: stats.trim_mean(x, 0.2, **AXIS), X),
    "tsem": (lambda x: stats.tsem(x, (-1.0, None), **AXIS), X),
    "tstd": (lambda x: stats.tstd(x, (None, 1.0), **AXIS), X),
    "tvar": (lambda x: stats.tvar(x, (-1.0, 1.0), **AXIS), X),
    "variation": (lambda x: stats.variation(x, ddof=1, **AXIS), P),
    "yeojohnson_llf": (lambda x: [stats.yeojohnson_llf(a, x, **AXIS) for a in (0, 0.7, 2)], X),
    "zmap": (lambda x, y: stats.zmap(x, y, ddof=1, **AXIS), X, Y),
    "zscore": (lambda x: stats.zscore(x, **AXIS), X),
    "false_discovery_control": (lambda p: stats.false_discovery_control(p, **AXIS), P / 2.5),
    "false_discovery_control by": (
        lambda p: stats.false_discovery_control(p, method="by", axis=1),
        P / 4.0,
    ),
}
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
    "weibull", "linear", "median_unbiased", "normal_unbiased", "harrell-davis",
]  # fmt: skip


def of_directions(result):
    return [result.mean_direction, result.mean_resultant_length]


def mean(x, axis):
    return array_namespace(x).mean(x, axis=axis)


@pytest.mark.parametrize("name", CASES)
def test_a_summary_differentiates(differentiates, name):
    function, *inputs = CASES[name]
    differentiates(function, *inputs, order=2)


@pytest.mark.parametrize("method", METHODS)
def test_a_quantile_differentiates_by_every_method(differentiates, method):
    def f(x):
        p = array_namespace(x).asarray([0.2, 0.5, 0.9])
        return stats.quantile(x, p, method=method)

    differentiates(f, X[:, 0], order=2)


def test_constant_columns_that_scipy_overwrites_do_not_spoil_the_others(differentiates):
    """scipy.stats divides by a variance of 0 and writes NaN or the constant over it."""

    def f(x):
        here = array_namespace(x)
        x = x * here.asarray([1.0, 0.0])
        values = [stats.zscore(x, axis=0), stats.skew(x, axis=0), stats.variation(x + 3.0, axis=0)]
        return [here.where(here.isnan(v), 0.0, v) for v in values]

    differentiates(f, X)


def test_what_rounding_takes_out_of_bounds_has_second_derivatives(differentiates):
    """SciPy clips a correlation that is more than 1, and a mean resultant length."""
    for seed in range(4):
        x, v = np.random.default_rng(seed).normal(size=(2, 7))
        differentiates(lambda x, v=v: stats.pearsonr(x, here_of(x, v)).statistic, v, order=2)
        differentiates(lambda x: stats.circvar(x, axis=0), np.full(5, x[0]), order=2)


def here_of(x, v):
    return array_namespace(x).asarray(3.0 * v)


# --- what leaves, and what has no slope ---------------------------------------------------------
def test_the_entropy_of_one_distribution_differentiates(differentiates):
    differentiates(lambda p: stats.entropy(p, axis=0), P, order=2)


@pytest.mark.parametrize("likelihood", [stats.boxcox_llf, stats.yeojohnson_llf])
@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 2.0])
def test_likelihoods_differentiate_by_their_exponent(differentiates, likelihood, exponent):
    """SciPy makes it a number, or asks whether it is 0."""
    differentiates(lambda a, x: likelihood(a, x, axis=0), np.asarray(exponent), P, order=2)


def test_ranks_have_no_gradient(has_values):
    for method in ("average", "min", "max", "dense", "ordinal"):
        has_values(lambda x, method=method: stats.rankdata(x, method=method, axis=0), X)
