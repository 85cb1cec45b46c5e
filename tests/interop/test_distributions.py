"""scipy.stats' distributions on Arrays: SciPy's values, and derivatives beside central differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import arraytape as xp
from arraytape import interop
from helpers import distributions as table
from helpers.distributions import LOUD, RIGHT, WRONG

pytestmark = pytest.mark.timeout(300)
NAMES = sorted(table.distributions())
# SciPy computes densities of these by quadrature or in C, from which no derivative is known.
WITHOUT = {"kstwo", "landau", "levy_stable", "studentized_range"}
SLOW = {
    "gausshyper",
    "genhyperbolic",
    "geninvgauss",
    "levy_stable",
    "norminvgauss",
    "studentized_range",
}


@pytest.mark.parametrize("method", ["logpdf", "cdf", "logsf"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.every(4)
def test_a_method_is_right_by_everything_or_says_why_not(name, method):
    """By the place, the shapes, loc and scale; nothing is wrong in silence."""
    if name in SLOW and method != "logpdf":
        pytest.skip("SciPy's own quadratures take seconds: tools/status/distributions.py has them")
    found = table.check(name, method, table.distributions()[name], 0.3)
    assert [(by, what) for by, what in found.by.items() if what.startswith(WRONG)] == []
    if name not in WITHOUT:
        assert {by: what for by, what in found.by.items() if what != RIGHT} == {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.every(3)
def test_quantiles(name):
    if name in SLOW:
        pytest.skip(
            "SciPy's own root finding takes seconds: tools/status/distributions.py has them"
        )
    for method in ("ppf", "isf"):
        found = table.check(name, method, table.distributions()[name], 0.8)
        assert [(by, what) for by, what in found.by.items() if what.startswith(WRONG)] == []
        if name not in WITHOUT:
            assert {by: what for by, what in found.by.items() if what != RIGHT} == {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.every(3)
def test_second_order_of_logpdf(name):
    what = table.curvature(name, table.distributions()[name], 0.3)
    assert what == RIGHT or (name in WITHOUT and what.startswith(LOUD)), what


# Parameters at which SciPy's code branches away from a formula that is 0 / 0 there.
SPECIAL = {
    "genextreme": (0.0,), "genpareto": (0.0,), "kappa4": (0.0, 0.0), "ncx2": (3.0, 0.0),
    "pearson3": (0.0,), "rice": (0.0,), "skewnorm": (0.0,), "tukeylambda": (0.0,), "vonmises": (0.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("method", ["logpdf", "cdf", "ppf"])
def test_shapes_at_which_scipy_branches(name, method):
    """The derivative by the shape there is that of either side."""
    distribution, shapes = getattr(stats, name), SPECIAL[name]
    place = 0.3 if method == "ppf" else float(distribution.ppf(0.3, *shapes))
    function = getattr(distribution, method)
    for i, shape in enumerate(shapes):
        slopes = []
        for h in (0.0, 1e-4):
            moved = [*shapes]
            moved[i] += h
            x = xp.asarray(moved[i])
            with interop.scipy(), xp.GradientTape() as tape:
                tape.watch(x)
                given = [x if j == i else s for j, s in enumerate(moved)]
                y = function(place, *given)
            slopes.append(float(tape.gradient(y, x)))
        assert slopes[0] == pytest.approx(slopes[1], rel=5e-3, abs=5e-3), shape


def test_arrays_of_places_and_shapes_broadcast(near):
    x, a = np.array([[0.5], [1.5], [2.5]]), np.array([1.2, 3.4])

    def f(x, a):
        return xp.sum(stats.gamma.logpdf(x, a, scale=1.3) ** 2)

    with interop.scipy():
        by_x, by_a = xp.grad(f, (0, 1))(xp.asarray(x), xp.asarray(a))
    h = 1e-6
    for i in range(2):
        e = np.eye(2)[i] * h
        slope = (np.sum(stats.gamma.logpdf(x, a + e, scale=1.3) ** 2) - np.sum(
            stats.gamma.logpdf(x, a - e, scale=1.3) ** 2)) / (2 * h)  # fmt: skip
        near(by_a[i], slope, rtol=1e-7)
    assert by_x.shape == x.shape


def test_places_outside_the_support_have_no_slope():
    x = xp.asarray([-1.0, 0.5, 2.0])
    with interop.scipy(), xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, density = stats.beta.logpdf(x, 2.0, 3.0), stats.beta.pdf(x, 2.0, 3.0)
        inside = y[1]
    np.testing.assert_array_equal(np.asarray(y), stats.beta.logpdf([-1.0, 0.5, 2.0], 2.0, 3.0))
    for g in (tape.gradient(density, x), tape.gradient(inside, x)):
        assert float(g[0]) == float(g[2]) == 0.0
        assert float(g[1]) != 0.0


DISCRETE = {
    "betabinom": (7.0, 2.3, 0.63), "binom": (12.0, 0.3), "geom": (0.3,), "logser": (0.6,),
    "nbinom": (4.5, 0.4), "nchypergeom_fisher": (14.0, 8.0, 6.0, 0.5), "poisson": (3.2,),
    "skellam": (3.0, 2.0), "zipf": (3.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("method", ["logpmf", "pmf", "cdf", "sf"])
def test_discrete_distributions(name, method):
    """By their real parameters; counts have no derivative."""
    distribution, shapes = getattr(stats, name), DISCRETE[name]
    function, k = getattr(distribution, method), float(distribution.ppf(0.4, *shapes))
    free = [i for i, info in enumerate(distribution._shape_info()) if not info.integrality]
    for i in free:
        x = xp.asarray(shapes[i])
        with interop.scipy(), xp.GradientTape() as tape:
            tape.watch(x)
            y = function(k, *[x if j == i else s for j, s in enumerate(shapes)])
        assert float(y) == function(k, *shapes)
        values = [*shapes]
        slope, error = table.difference(lambda *v: function(k, *v), values, i, 2e-16)
        assert float(tape.gradient(y, x)) == pytest.approx(slope, rel=2e-6, abs=30 * error)


def test_the_new_infrastructure(near):
    """Distributions with transformations: X, 2 X + 1, exp(X), truncated ones, mixtures."""

    def log_density(x, mu, sigma):
        normal = stats.Normal(mu=mu, sigma=sigma)
        shifted, positive = 2 * normal + 1, stats.exp(normal)
        cut = stats.truncate(normal, -1.0, 5.0)
        both = stats.Mixture([normal, stats.Normal(mu=0.0, sigma=2.0)], weights=[0.3, 0.7])
        return sum(d.logpdf(x) for d in (normal, shifted, positive, cut, both))

    point = np.array([0.7, 0.2, 1.5])
    with interop.scipy():
        found = xp.grad(lambda v: log_density(v[0], v[1], v[2]))(xp.asarray(point))
    steps = 1e-5 * np.eye(3)
    slopes = [(log_density(*(point + h)) - log_density(*(point - h))) / 2e-5 for h in steps]
    near(found, slopes, rtol=1e-7)


Gamma = stats.make_distribution(stats.gamma)


def normal(v):
    return stats.Normal(mu=v, sigma=1.3)


OBJECTS = {  # distributions that hold a parameter, of which nothing else is an Array
    "normal": normal,
    "scaled": lambda v: 2 * normal(v) + 1,
    "shifted by the parameter": lambda v: normal(v) + v,
    "exp": lambda v: stats.exp(normal(v)),
    "log": lambda v: stats.log(Gamma(a=v + 1.0)),
    "abs": lambda v: stats.abs(normal(v)),
    "power": lambda v: normal(v) ** 2,
    "reciprocal": lambda v: 1 / Gamma(a=v + 5.0),
    "made": lambda v: Gamma(a=v + 1.0),
    "truncated": lambda v: stats.truncate(normal(v), -1.0, 5.0),
    "truncated at the parameter": lambda v: stats.truncate(stats.Normal(), -v, 5.0),
    "order statistic": lambda v: stats.order_statistic(normal(v), r=2, n=5),
    "uniform": lambda v: stats.Uniform(a=-3.0 * v, b=5.0),
    "mixture": lambda v: stats.Mixture([normal(v), stats.Normal(sigma=2.0)], weights=[0.3, 0.7]),
    "mixture of others": lambda v: stats.Mixture([2 * normal(v) + 1, Gamma(a=v + 1.0)]),
}
MOMENTS = ("mean", "variance", "skewness", "kurtosis")
OF_PLACES = ("pdf", "logpdf", "cdf", "logcdf", "ccdf", "logccdf", "icdf", "iccdf")


@pytest.mark.parametrize("method", [*OF_PLACES, *MOMENTS, "median"])
@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.filterwarnings("ignore")  # SciPy's own, and that a part of a gradient is 0
@pytest.mark.every(7)
def test_methods_of_the_new_infrastructure(name, method):
    """By a parameter that only the distribution holds; moments by a quadrature may be NaN."""

    def value(v):
        return getattr(OBJECTS[name](v), method)(*([0.4] if method in OF_PLACES else []))

    v = xp.asarray(0.7)
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(v)
        y = value(v)
    found = tape.gradient(y, v) if isinstance(y, xp.Array) else None
    assert float(y) == pytest.approx(value(0.7), rel=1e-14)
    slope = (value(0.7 + 1e-5) - value(0.7 - 1e-5)) / 2e-5
    if method not in MOMENTS or not np.isnan(float(found or 0.0)):
        assert float(found or 0.0) == pytest.approx(slope, rel=2e-6, abs=2e-8)


@pytest.mark.parametrize(
    "cov", [np.eye(3), np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 3.0]])]
)
@pytest.mark.parametrize("make", ["function", "frozen"])
def test_multivariate_normal(cov, make, near):
    """By the points, the mean and the triangle of the covariance that SciPy reads.

    Also where eigenvalues coincide.
    """
    x, mean = np.linspace(-1, 1, 12).reshape(4, 3) ** 3, np.array([0.1, -0.2, 0.3])

    def total(x, mean, cov):
        if make == "frozen":
            return stats.multivariate_normal(mean, cov).logpdf(x).sum()
        return stats.multivariate_normal.logpdf(x, mean, cov).sum()

    with interop.scipy():
        arrays = [xp.asarray(v) for v in (x, mean, cov)]
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            y = total(*arrays)
        found = tape.gradient(y, arrays)
    assert float(y) == total(x, mean, cov)
    for g, value, at in zip(found, (x, mean, cov), range(3), strict=True):
        expected = np.empty_like(value)
        for i in np.ndindex(value.shape):
            h = np.zeros_like(value)
            h[i] = 1e-6
            given = [[x, mean, cov], [x, mean, cov]]
            given[0][at], given[1][at] = value + h, value - h
            expected[i] = (total(*given[0]) - total(*given[1])) / 2e-6
        near(g, expected, rtol=1e-6, atol=1e-7)


def test_p_values_of_hypothesis_tests():
    """They follow from the special functions."""
    a, b = np.array([0.3, 1.2, 2.2, 0.1]), np.array([0.3, 0.1, 0.9, 0.1])
    cases = {
        "ttest_1samp": lambda s: stats.ttest_1samp(a * s, 0.2).pvalue,
        "ttest_ind": lambda s: stats.ttest_ind(a * s, b).pvalue,
        "pearsonr": lambda s: stats.pearsonr(a**2 * s + a, b).pvalue,
        "f_oneway": lambda s: stats.f_oneway(a * s, b).pvalue,
        "chisquare": lambda s: stats.chisquare(a * s / 3.8, f_exp=s * np.ones(4) / 4).pvalue,
        "kstest": lambda s: stats.kstest(a * s, stats.norm.cdf).pvalue,
    }
    for name, f in cases.items():
        s = xp.asarray(1.1)
        with interop.scipy(), xp.GradientTape() as tape:
            tape.watch(s)
            y = f(s)
        slope, error = table.difference(lambda v, f=f: float(f(v)), [1.1], 0, 2e-16)
        assert float(tape.gradient(y, s)) == pytest.approx(
            slope, rel=1e-5, abs=30 * error + 1e-9
        ), name


def test_outside_the_context_a_distribution_says_that_its_value_left():
    x = xp.asarray([0.5, 1.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = stats.norm.logpdf(x)
    if isinstance(y, xp.Array):
        with pytest.warns(xp.TapeWarning, match="left the tape"):
            assert tape.gradient(y, x) is None
    else:
        with pytest.raises(TypeError, match="left this tape"):
            tape.gradient(y, x)


def test_numpy_data_in_the_context_is_as_before():
    with interop.scipy(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, shapes in list(table.distributions().items())[::7]:
            if name in SLOW:
                continue
            found = getattr(stats, name).logpdf(np.linspace(0.1, 0.9, 5), *shapes)
            assert type(found) is np.ndarray


@pytest.mark.parametrize("name", ["beta", "gamma", "norm", "pareto", "t", "weibull_min"])
def test_entropy(name):
    """Through SciPy's own formulas."""
    shapes = table.distributions()[name]
    values = [*shapes, 1.7]

    def entropy(*values):
        return getattr(stats, name).entropy(*values[:-1], scale=values[-1])

    for i in range(len(values)):
        arrays = [xp.asarray(v) for v in values]
        with interop.scipy(), xp.GradientTape() as tape:
            tape.watch(arrays[i])
            y = entropy(*arrays)
        assert float(y) == float(entropy(*values))
        slope, error = table.difference(lambda *v: float(entropy(*v)), values, i, 1e-15)
        assert float(tape.gradient(y, arrays[i])) == pytest.approx(slope, rel=1e-6, abs=30 * error)


def test_an_entropy_that_scipy_integrates_is_refused():
    with interop.scipy(), pytest.raises(TypeError, match=r"argus\.entropy has no derivative here"):
        stats.argus.entropy(xp.asarray(1.0))


@pytest.mark.parametrize("quantile", [1e-7, 1e-3, 0.4, 1.0 - 1e-3, 1.0 - 1e-6])
def test_sums_of_uniforms_in_their_tails(quantile):
    """The density's pieces there are those of its support alone."""
    found = table.check("irwinhall", "logpdf", (4.0,), quantile)
    assert set(found.by.values()) == {RIGHT}
    assert table.curvature("irwinhall", (4.0,), quantile) == RIGHT


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["ppf", "isf"])
@pytest.mark.parametrize(("name", "shape"), [
    ("gennorm", 0.8), ("gennorm", 2.0), ("dgamma", 0.7), ("dgamma", 1.3), ("dweibull", 0.7),
    ("dweibull", 2.07), ("skewnorm", 0.0), ("t", 3.2), ("tukeylambda", 0.3),
])  # fmt: skip
def test_the_median_of_a_symmetric_distribution_has_derivatives(name, shape, method):
    """The median is 0 for each shape; the inverse functions in SciPy's formulas have no slope there."""
    function = getattr(getattr(stats, name), method)
    with interop.scipy():
        first = xp.grad(lambda a: function(0.5, a) * 1.0)(shape)
        second = xp.grad(xp.grad(lambda a: function(0.5, a) * 1.0))(shape)
    if name != "skewnorm":  # which is symmetric for the shape 0 alone
        assert (first, second) == (0.0, 0.0)
    assert np.isfinite([first, second]).all()


@pytest.mark.parametrize(("name", "shape"), [("gennorm", 1.3), ("gennorm", 2.0), ("dgamma", 1.0)])
def test_the_slope_of_a_quantile_at_the_median(name, shape):
    distribution = getattr(stats, name)
    with interop.scipy():
        for method, sign in (("ppf", 1.0), ("isf", -1.0)):
            slope = xp.grad(lambda q: getattr(distribution, method)(q, shape) * 1.0)(0.5)  # noqa: B023
            np.testing.assert_allclose(slope, sign / distribution.pdf(0.0, shape), rtol=1e-12)
