"""SciPy's tests give a statistic and a p-value: that the p-value leaves costs the statistic nothing."""

from __future__ import annotations

import numpy as np
import pytest

import arraytape as xp

stats = pytest.importorskip("scipy.stats")
rng = np.random.default_rng(0)
OTHER = rng.normal(size=8) + 0.1
AT = rng.normal(size=8) + 1.5


def longer(x):
    return xp.concat([x, x * 1.1 + 0.3, x * 0.7])


TESTS = {
    "alexandergovern": lambda x: stats.alexandergovern(x, xp.asarray(OTHER)),
    "ansari": lambda x: stats.ansari(x, xp.asarray(OTHER)),
    "bartlett": lambda x: stats.bartlett(x, xp.asarray(OTHER)),
    "brunnermunzel": lambda x: stats.brunnermunzel(x, xp.asarray(OTHER)),
    "chisquare": lambda x: stats.chisquare(x**2, xp.sum(x**2) * xp.ones(8) / 8),
    "combine_pvalues": lambda x: stats.combine_pvalues(xp.exp(-(x**2))),
    "f_oneway": lambda x: stats.f_oneway(x, xp.asarray(OTHER)),
    "fligner": lambda x: stats.fligner(x, xp.asarray(OTHER)),
    "jarque_bera": stats.jarque_bera,
    "kruskal": lambda x: stats.kruskal(x, xp.asarray(OTHER)),
    "kurtosistest": lambda x: stats.kurtosistest(longer(x)),
    "levene": lambda x: stats.levene(x, xp.asarray(OTHER)),
    "mannwhitneyu": lambda x: stats.mannwhitneyu(x, xp.asarray(OTHER)),
    "mood": lambda x: stats.mood(x, xp.asarray(OTHER)),
    "normaltest": lambda x: stats.normaltest(longer(x)),
    "pearsonr": lambda x: stats.pearsonr(x, xp.asarray(OTHER)),
    "pointbiserialr": lambda x: stats.pointbiserialr(xp.asarray([0.0, 1.0] * 4), x),
    "power_divergence": lambda x: stats.power_divergence(
        x**2, xp.sum(x**2) * xp.ones(8) / 8, lambda_="log-likelihood"
    ),
    "skewtest": stats.skewtest,
    "ttest_1samp": lambda x: stats.ttest_1samp(x, 0.1),
    "ttest_ind": lambda x: stats.ttest_ind(x, xp.asarray(OTHER)),
    "ttest_rel": lambda x: stats.ttest_rel(x, xp.asarray(OTHER)),
    "wilcoxon": lambda x: stats.wilcoxon(x - OTHER),
}


@pytest.mark.parametrize("name", TESTS)
def test_the_statistic_of_a_test_is_whole_and_nothing_is_said(name):
    def f(x):
        return xp.sum(xp.asarray(TESTS[name](x).statistic)) * 1.5 + 0.1 * xp.sum(x)

    x = xp.asarray(AT)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = np.asarray(tape.gradient(y, x))  # a TapeWarning would be an error
    steps = 1e-6 * np.eye(8)
    expected = [(float(f(xp.asarray(AT + h))) - float(f(xp.asarray(AT - h)))) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
