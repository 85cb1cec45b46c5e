"""scipy.stats' tests, regressions and kernel densities, and rules for samples, on Arrays."""

import numpy as np
import pytest
from scipy import integrate, ndimage, signal, sparse, stats
from scipy.sparse import linalg as sparse_linalg

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(3)
X = RNG.normal(size=12)
Y = np.sort(RNG.uniform(0.0, 3.0, size=12))
POINTS = RNG.normal(size=(2, 9))
WEIGHTS = RNG.uniform(0.5, 1.5, size=9)

FUNCTIONS = {
    "simpson": (lambda y: integrate.simpson(y, x=Y), X),
    "simpson by x": (lambda x: integrate.simpson(X, x=x), Y),
    "romb": (lambda y: integrate.romb(y[:9]), X),
    "linregress": (lambda x, y: tuple(stats.linregress(x, y)), Y, X),
    "theilslopes": (lambda y: tuple(stats.theilslopes(y, Y))[:2], X),
    "pearsonr": (lambda x, y: tuple(stats.pearsonr(x, y)), X, Y),
    "ttest_ind": (lambda x, y: tuple(stats.ttest_ind(x, y, equal_var=False))[:2], X, Y),
    "wasserstein": (stats.wasserstein_distance, X, Y),
    "wasserstein of one": (lambda x: stats.wasserstein_distance(x, Y[:7]), X),
    "wasserstein by weights": (lambda w: stats.wasserstein_distance(X, Y, u_weights=w), Y + 0.1),
    "energy": (stats.energy_distance, X, Y),
    "bootstrap": (
        lambda x: stats.bootstrap(
            (x,), np.mean, n_resamples=9, rng=np.random.default_rng(0)
        ).standard_error,
        X,
    ),
    "kde": (lambda x, p: stats.gaussian_kde(x)(p), POINTS, POINTS[:, :3] * 0.4),
    "kde by weights": (lambda w: stats.gaussian_kde(POINTS, weights=w)(POINTS[:, :2]), WEIGHTS),
    "kde by bandwidth": (lambda h: stats.gaussian_kde(POINTS, bw_method=h[0])(POINTS[:, :2]), [0.7]),
    "kde's logarithm": (lambda x: stats.gaussian_kde(x, "silverman").logpdf(POINTS[:, :2]), POINTS),
    "kde of one row": (lambda x: stats.gaussian_kde(x).integrate_box_1d(-1.0, 0.3), X),
    "czt": (lambda x: np.abs(signal.czt(x, 5)), X),
    "zoom_fft": (lambda x: np.abs(signal.zoom_fft(x, [0.1, 0.3], 5)), X),
}  # fmt: skip
IN_ARRAYS = hasattr(stats._morestats, "_swilk")  # from SciPy 1.18 on
if IN_ARRAYS:
    FUNCTIONS |= {
        "shapiro": (lambda x: tuple(stats.shapiro(x)), X),
        "siegelslopes": (lambda y: tuple(stats.siegelslopes(y, Y)), X),
    }
ROUNDED = ("linregress", "theilslopes", "pearsonr", "ttest_ind", "wasserstein", "energy", "kde", "czt",
           "zoom_fft", "bootstrap", "simpson", "romb", "shapiro", "siegelslopes")  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_samples_differentiates(name):
    f, *inputs = FUNCTIONS[name]
    exact = name.split()[0].removesuffix("'s") not in ROUNDED
    order = 1 if name == "wasserstein by weights" else 2
    check(f, *inputs, vmap=False, exact=exact, order=order)


@pytest.mark.parametrize("transform", [stats.boxcox, stats.yeojohnson])
def test_a_power_transformation_follows_its_likelihood(transform):
    """Brent's method ends 1e-8 off, so the differences are wide."""
    data, along = np.exp(0.4 * X), np.cos(np.arange(12.0))

    def f(x):
        y, lam = transform(x)
        return (y * along).sum() + lam

    with interop.scipy():
        value, slope = xp.value_and_grad(f)(data)
    np.testing.assert_allclose(value, f(data), rtol=1e-12)
    h = 1e-2
    ends = [f(data + t * h * along) for t in (1, -1, 2, -2)]
    expected = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)
    np.testing.assert_allclose(np.sum(slope * along), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "lam", [0.5, 0, 2, True, np.float32(0.5), np.float64(0.5), np.asarray(0.5)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_power_transformation_by_a_lambda_has_the_dtype_of_scipys(dtype, lam):
    data = np.asarray([1.0, 2.5, -3.0, 0.0]).astype(dtype)
    expected = stats.yeojohnson(data, lam)
    with interop.scipy():
        found = np.asarray(stats.yeojohnson(xp.asarray(data), lam))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("error")
def test_ranks_are_constant():
    with interop.scipy():
        x = xp.asarray(X)
        for statistic in (stats.kendalltau, stats.weightedtau, stats.spearmanr):
            found = statistic(x, Y)
            np.testing.assert_allclose(np.asarray(found.statistic), statistic(X, Y).statistic)
            g = xp.grad(lambda x, f=statistic: xp.sum(x) * float(f(x, Y).statistic))(x)
            np.testing.assert_allclose(g, np.full(12, float(found.statistic)))


REFUSED = {
    **({} if IN_ARRAYS else {"shapiro": stats.shapiro, "siegelslopes": stats.siegelslopes}),
    "boxcox_normmax with method": lambda x: stats.boxcox_normmax(x * x + 0.1),
    "cdf of scipy.stats.multivariate_normal": lambda x: stats.multivariate_normal.cdf(x[:2]),
    "cdf of scipy.stats.multivariate_t": lambda x: stats.multivariate_t.cdf(x[:2], shape=np.eye(2)),
    "cg": lambda x: sparse_linalg.cg(sparse.eye_array(12), x),
    "gmres": lambda x: sparse_linalg.gmres(x[:, None] * x, X),
    "eigsh": lambda x: sparse_linalg.eigsh(x[:, None] * x, k=1),
    "generic_filter": lambda x: ndimage.generic_filter(x, np.mean, 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_says_so_with_the_line(name):
    message = rf"{name}.* has no derivative here.*test_statistics\.py"
    with interop.scipy(), pytest.raises(TypeError, match=message):
        REFUSED[name](xp.asarray(X))
