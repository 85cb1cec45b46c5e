"""Resampling in scipy.stats, as installed: what is drawn is drawn again from the same seed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import stats

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, 7), RNG.uniform(-1.5, 1.5, 6)


def mean(x, axis=-1):
    return array_namespace(x).mean(x, axis=axis)


def difference(x, y, axis=-1):
    return mean(x, axis) - mean(y, axis)


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_the_bootstrap_differentiates(differentiates, method):
    def f(x):
        options = {"n_resamples": 20, "method": method, "rng": 0, "confidence_level": 0.8}
        result = stats.bootstrap((x,), mean, **options)
        interval = result.confidence_interval
        return [interval.low, interval.high, result.standard_error, result.bootstrap_distribution]

    differentiates(f, X, order=2)


def test_the_bootstrap_of_two_samples_in_batches_differentiates(differentiates):
    def f(x, y):
        options = {"n_resamples": 12, "batch": 5, "method": "percentile", "rng": 0}
        return stats.bootstrap((x, y), difference, **options).standard_error

    differentiates(f, X, Y)


def test_a_paired_bootstrap_differentiates(differentiates):
    def f(x, y):
        options = {"n_resamples": 12, "paired": True, "method": "percentile", "rng": 0}
        return stats.bootstrap((x, y), difference, **options).standard_error

    differentiates(f, X[:6], Y)


def test_the_corrected_bootstrap_differentiates(differentiates):
    def f(x):
        result = stats.bootstrap((x,), mean, n_resamples=20, rng=0, confidence_level=0.8)
        return result.confidence_interval.low

    differentiates(f, X)


@pytest.mark.parametrize("kind", ["independent", "samples", "pairings"])
def test_a_permutation_tests_distribution_differentiates(differentiates, kind):
    def f(x, y):
        options = {"n_resamples": 20, "permutation_type": kind, "rng": 0}
        result = stats.permutation_test((x, y), product, **options)
        return [result.statistic, result.null_distribution]

    differentiates(f, X[:6], Y)


def product(x, y, axis=-1):
    return mean(x * y * y, axis)


def test_a_monte_carlo_tests_statistic_differentiates(differentiates):
    def f(x):
        here = array_namespace(x)
        draws = np.random.default_rng(0)

        def variates(size):
            return here.asarray(draws.normal(size=size))

        return stats.monte_carlo_test(x, variates, mean, n_resamples=20).statistic

    differentiates(f, X)


def test_p_values_count_and_have_no_gradient(has_values):
    def f(x, y):
        return stats.permutation_test((x, y), difference, n_resamples=20, rng=0).pvalue

    has_values(f, X, Y)
