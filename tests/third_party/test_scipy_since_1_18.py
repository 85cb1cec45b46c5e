"""Functions that SciPy offers for arrays of any namespace from 1.18 on, as installed."""

import numpy as np
import pytest
import scipy
from array_api_compat import array_namespace
from scipy import integrate, signal, stats

import arraytape as xp

if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18):
    pytest.skip(f"SciPy {scipy.__version__}: these came with 1.18", allow_module_level=True)

RNG = np.random.default_rng(0)
X = RNG.normal(size=12)
Y = 0.5 * X + RNG.normal(size=12)
B, A = np.asarray([1.0, 0.5, 0.2]), np.asarray([2.0, 0.4, 0.3])
SECTIONS = np.asarray([[1.0, 0.5, 0.2, 0.4, 0.3], [1.0, -0.3, 0.6, -0.2, 0.1]])


def state_of_sections(free):
    """Return the initial state of second-order sections whose fourth coefficients are 1."""
    ones = array_namespace(free).ones((free.shape[0], 1))
    sections = array_namespace(free).concat([free[:, :3], ones, free[:, 3:]], axis=1)
    return signal.sosfilt_zi(sections)


FOLLOWED = {
    "expectile": (lambda x: stats.expectile(x, 0.3), X),
    "fixed_quad": (lambda p: integrate.fixed_quad(lambda s: s**3 * p, 0.0, 1.5)[0], X[0]),
    "lfilter_zi": (signal.lfilter_zi, B, A),
    "linregress": (lambda x, y: list(stats.linregress(x, y)), X, Y),
    "obrientransform": (lambda x, y: list(stats.obrientransform(x, y)), X, Y),
    "pointbiserialr": (lambda y: list(stats.pointbiserialr(y > 0.0, y)), Y),
    "sawtooth": (lambda t: signal.sawtooth(t, 0.3), np.linspace(0.1, 20.0, 9)),
    "shapiro": (lambda x: stats.shapiro(x).statistic, X),
    "siegelslopes": (lambda x, y: list(stats.siegelslopes(y, x)), X, Y),
    "simpson": (lambda y: integrate.simpson(y, dx=0.3), Y),
    "sosfilt_zi": (state_of_sections, SECTIONS),
    "theilslopes": (lambda x, y: list(stats.theilslopes(y, x)), X, Y),
}
COUNTS = {  # of data, which change in steps
    "binomtest": lambda x: stats.binomtest(3, 10, 0.4).pvalue,
    "bws_test": lambda x: stats.bws_test(x[:6], x[6:]).statistic,
    "cumfreq": lambda x: stats.cumfreq(x, 4)[0],
    "estimated_cdf": lambda x: stats.estimated_cdf(x, x[:3]),
    "findfreqs": lambda x: signal.findfreqs(x[:3], x[3:5], 5),
    "kendalltau": lambda x: stats.kendalltau(x[:6], x[6:]).statistic,
    "ks_2samp": lambda x: stats.ks_2samp(x[:6], x[6:]).statistic,
    "quantile_test": lambda x: stats.quantile_test(x, q=0.1, p=0.5).pvalue,
    "relfreq": lambda x: stats.relfreq(x, 4)[0],
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_function_in_array_api_terms_differentiates(differentiates, name):
    function, *inputs = FOLLOWED[name]
    differentiates(function, *inputs)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.filterwarnings("ignore:gradient is None")
def test_a_count_has_numpys_value_and_no_slope(name):
    x = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.asarray(COUNTS[name](x)) * 1.0)
    np.testing.assert_allclose(float(y), np.sum(COUNTS[name](X)), rtol=1e-12)
    gradient = tape.gradient(y, x)
    assert gradient is None or not np.asarray(gradient).any()


def test_kstest_says_where_the_tape_ends(leaves):
    leaves(
        lambda x: stats.kstest(x, stats.norm.cdf).statistic,
        X, at="stats/_distn_infrastructure.py", how="np.asarray",
    )  # fmt: skip
