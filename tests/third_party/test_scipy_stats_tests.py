"""Hypothesis tests of scipy.stats, as installed: the statistic differentiates, the p-value leaves.

A p-value is computed by C code before the statistic is used, so the statistic's gradient, which is
complete, comes with the warning that a part may be missing.
"""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import stats

import arraytape as xp

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.uniform(-1.5, 1.5, (9, 2)) for _ in range(3))
PVALUES = RNG.uniform(0.05, 0.9, (5, 2))
LONG = RNG.normal(size=(20, 2))
COUNTS = RNG.uniform(3.0, 9.0, (6, 2))


def logistic(x):
    return 1.0 / (1.0 + array_namespace(x).exp(-x))


def expected(x):
    """Uneven frequencies with the sum of the observed ones."""
    here = array_namespace(x)
    shares = here.asarray([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])[:, None]
    return shares * here.sum(x, axis=0, keepdims=True)


# A function to its result, and the inputs.
TESTS = {
    "alexandergovern": (lambda x, y, z: stats.alexandergovern(x, y, z, axis=0), X, Y, Z),
    "bartlett": (lambda x, y: stats.bartlett(x, y, axis=0), X, Y),
    "chisquare": (lambda x: stats.chisquare(x, expected(x), axis=0), COUNTS),
    "chisquare of even frequencies": (lambda x: stats.chisquare(x, ddof=1, axis=0), COUNTS),
    **{
        f"combine_pvalues by {method}": (
            lambda p, method=method: stats.combine_pvalues(p, method=method, axis=0),
            PVALUES,
        )
        for method in ("fisher", "pearson", "tippett", "mudholkar_george")
    },
    "f_oneway": (lambda x, y, z: stats.f_oneway(x, y, z, axis=0), X, Y, Z),
    "f_oneway by Welch": (lambda x, y: stats.f_oneway(x, y, axis=0, equal_var=False), X, Y),
    "jarque_bera": (lambda x: stats.jarque_bera(x, axis=0), X),
    "kurtosistest": (lambda x: stats.kurtosistest(x, axis=0), LONG),
    "normaltest": (lambda x: stats.normaltest(x, axis=0), LONG),
    **{
        f"levene about the {center}": (
            lambda x, y, center=center: stats.levene(x, y, axis=0, center=center),
            X,
            Y,
        )
        for center in ("mean", "median", "trimmed")
    },
    "pearsonr": (lambda x, y: stats.pearsonr(x, y, axis=0), X, Y),
    "power_divergence": (
        lambda x: stats.power_divergence(x, expected(x), lambda_=-0.5, axis=0),
        COUNTS,
    ),
    "power_divergence by name": (
        lambda x: stats.power_divergence(x, axis=0, lambda_="cressie-read"),
        COUNTS,
    ),
    "skewtest": (lambda x: stats.skewtest(x, alternative="greater", axis=0), X),
    "ttest_1samp": (lambda x: stats.ttest_1samp(x, 0.1, axis=0), X),
    "ttest_1samp about a variable": (lambda x, y: stats.ttest_1samp(x, y, axis=0), X, Y[:1]),
    "ttest_ind": (lambda x, y: stats.ttest_ind(x, y, axis=0), X, Y),
    "ttest_ind by Welch": (lambda x, y: stats.ttest_ind(x, y, axis=0, equal_var=False), X, Y),
    "ttest_ind_from_stats": (
        lambda m, s, n, t: stats.ttest_ind_from_stats(m, s, 9, n, t, 7),
        X[0],
        np.abs(X[1]),
        X[2],
        np.abs(X[3]),
    ),
    "ttest_rel": (lambda x, y: stats.ttest_rel(x, y, axis=0, alternative="less"), X, Y),
}


@pytest.mark.parametrize("name", TESTS)
def test_the_statistic_and_the_p_value_differentiate(differentiates, name):
    function, *inputs = TESTS[name]
    differentiates(lambda *xs: function(*xs).statistic, *inputs)
    differentiates(lambda *xs: function(*xs).pvalue, *inputs)


def test_the_statistics_second_derivative(differentiates):
    for name in ("ttest_ind", "pearsonr", "bartlett", "kurtosistest"):
        function, *inputs = TESTS[name]
        differentiates(lambda *xs, function=function: function(*xs).statistic, *inputs, order=2)


def test_epps_singleton(differentiates):
    def f(x, y):
        return stats.epps_singleton_2samp(x, y, axis=0)

    # Its pseudo-inverse loses digits, in forward mode others than in reverse mode.
    inputs = LONG, RNG.normal(size=(15, 2))
    differentiates(lambda x, y: f(x, y).statistic, *inputs, rtol=1e-6, forward=False)
    differentiates(lambda x, y: f(x, y).pvalue, *inputs, rtol=1e-6, forward=False)


def test_confidence_intervals_differentiate(differentiates):
    """Their ends are the estimate and a quantile, which depends on the degrees of freedom."""
    for f in (
        lambda x, y: stats.ttest_ind(x, y, axis=0).confidence_interval(0.9).low,
        lambda x, y: stats.ttest_rel(x, y, axis=0).confidence_interval(0.9).high,
    ):
        differentiates(f, X, Y)


def test_the_confidence_interval_of_a_t_test_differentiates(differentiates):
    # Its quantile depends on the number of observations alone.
    def f(x):
        return list(stats.ttest_1samp(x, 0.1, axis=0).confidence_interval(0.9))

    differentiates(f, X)


def test_pearsonrs_confidence_interval_differentiates(differentiates):
    def f(x, y):
        return list(stats.pearsonr(x, y, axis=0).confidence_interval(0.9))

    differentiates(f, X, Y)


@pytest.mark.parametrize(
    ("test", "at", "stays"),
    [
        (stats.ks_1samp, "stats/_distn_infrastructure.py", False),
        (
            stats.cramervonmises,
            "stats/_hypotests.py",
            True,
        ),  # the p-value's terms in array API terms
    ],
)
@pytest.mark.every(2)
def test_a_distance_to_a_distribution_differentiates(differentiates, leaves, test, at, stays):
    differentiates(lambda x: test(x, logistic, axis=0).statistic, X, warns=at)
    (found,) = leaves(lambda x: test(x, logistic, axis=0).pvalue, X, at=at, how="np.asarray")
    assert (found is not None) is stays


RANKS = {
    "ansari": lambda x, y: stats.ansari(x, y, axis=0),
    "brunnermunzel": lambda x, y: stats.brunnermunzel(x, y, axis=0),
    "chatterjeexi": lambda x, y: stats.chatterjeexi(x, y, axis=0),
    "cramervonmises_2samp": lambda x, y: stats.cramervonmises_2samp(x, y, axis=0),
    "fligner": lambda x, y: stats.fligner(x, y, axis=0),
    "friedmanchisquare": lambda x, y: stats.friedmanchisquare(x, y, x + 2.0 * y, axis=0),
    "kruskal": lambda x, y: stats.kruskal(x, y, axis=0),
    "mannwhitneyu": lambda x, y: stats.mannwhitneyu(x, y, axis=0),
    "mood": lambda x, y: stats.mood(x, y, axis=0),
    "spearmanrho": lambda x, y: stats.spearmanrho(x, y, axis=0),
    "wilcoxon": lambda x, y: stats.wilcoxon(x, y, axis=0),
}


@pytest.mark.parametrize("name", RANKS)
def test_a_statistic_of_ranks_has_numpys_values_and_no_gradient(has_values, name):
    """It is a step function: ranks are integers, and None says so."""

    def f(x, y):
        result = RANKS[name](x, y)
        return [result.statistic, result.pvalue]

    has_values(f, X, Y)
    x, y = xp.asarray(X), xp.asarray(Y)
    with xp.GradientTape() as tape:
        tape.watch([x, y])
        statistic = f(x, y)[0]
    assert tape.gradient(statistic, [x, y]) == [None, None]
