"""Each piece of advice about interop that a message gives is followed, and true.

A table of calls outside of a context and inside: where the message says to enter, entering gives the
gradient, and inside no message says to enter.
"""

import contextlib
import importlib
import math
import re
import sys
import warnings

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import sklearn.linear_model
import sklearn.metrics
from scipy import cluster, fft, integrate, interpolate, ndimage, optimize, signal, spatial, stats

import arraytape as xp
from arraytape import interop

DATA = np.random.default_rng(0).normal(size=5)
X = np.abs(DATA) + 0.5
PLACES = np.arange(5.0)


def total(y):
    return xp.sum(xp.asarray(y) * 1.0)


LINEAR = sklearn.linear_model
CALLS = {  # what is called, and at what
    "norm.logpdf": (lambda m: -np.sum(stats.norm.logpdf(DATA, m)), 0.7),
    "gamma.logpdf": (lambda m: -total(stats.gamma.logpdf(X, m)), 0.7),
    "frozen": (lambda m: -total(stats.norm(m).logpdf(DATA)), 0.7),
    "norm.ppf": (lambda m: total(stats.norm.ppf([0.2, 0.4], m)), 0.7),
    "multivariate": (
        lambda m: total(stats.multivariate_normal.logpdf(DATA, m * np.ones(5))), 0.7),
    "Normal": (lambda m: -total(stats.Normal(mu=m).logpdf(DATA)), 0.7),
    "poisson.logpmf": (lambda m: -total(stats.poisson.logpmf([1, 2], m)), 0.7),
    "gaussian_kde": (lambda x: total(stats.gaussian_kde(x)(0.3)), X),
    "yeojohnson": (lambda x: total(stats.yeojohnson(x)[0]), X),
    "butter": (lambda w: total(signal.butter(2, w)[0]), 0.3),
    "cheby1": (lambda rp: total(signal.cheby1(3, rp, 0.3)[1]), 0.7),
    "bilinear": (lambda a: total(signal.bilinear([1.0], a)[1]), X),
    "lsim": (lambda a: total(signal.lsim(([1.0], a), DATA, PLACES)[1]), X),
    "kaiser": (lambda b: total(signal.windows.kaiser(5, b)), 3.0),
    "savgol_filter": (lambda x: total(signal.savgol_filter(x, 3, 1)), X),
    "cspline1d": (lambda x: total(signal.cspline1d(x)), X),
    "schur": (lambda x: total(scipy.linalg.schur(xp.diag(x))[0]), X),
    "solve": (lambda x: total(scipy.linalg.solve(xp.diag(x), DATA)), X),
    "gaussian_filter": (lambda x: total(ndimage.gaussian_filter(x, 1.0)), X),
    "griddata": (lambda x: total(interpolate.griddata(PLACES, x, 0.3)), X),
    "UnivariateSpline": (lambda x: total(interpolate.UnivariateSpline(PLACES, x)(0.3)), X),
    "splrep": (lambda x: total(interpolate.splrep(PLACES, x)[1]), X),
    "dblquad": (lambda w: total(integrate.dblquad(lambda t, s: w * t, 0, 1, 0, 1)[0]), 3.0),
    "odeint": (lambda w: total(integrate.odeint(lambda y, t: -w * y, 1.0, [0, 1.0])), 3.0),
    "solve_ivp": (
        lambda w: integrate.solve_ivp(lambda t, y: -w * y, (0, 1.0), [1.0]).y[0, -1] * 1.0, 3.0),
    "nnls": (lambda x: total(optimize.nnls(np.eye(5), x)[0]), X),
    "cdist": (lambda x: total(spatial.distance.cdist(x[:, None], x[:, None])), X),
    "KDTree": (lambda x: total(spatial.KDTree(x[:, None]).query([[0.3]])[0]), X),
    "kmeans2": (lambda x: total(cluster.vq.kmeans2(x[:, None], 2, rng=0)[0]), X),
    "linkage": (lambda x: total(cluster.hierarchy.linkage(x[:, None])), X),
    "dct": (lambda x: total(abs(fft.dct(x))), X),
    "spherical_jn": (lambda x: total(scipy.special.spherical_jn(1, x)), X),
    "legendre_p": (lambda x: total(scipy.special.legendre_p(2, x)), X),
    "Ridge": (lambda x: total(LINEAR.Ridge().fit(PLACES[:, None], x).coef_), X),
    "SGDRegressor": (lambda x: total(LINEAR.SGDRegressor().fit(PLACES[:, None], x).coef_), X),
    "mean_squared_error": (lambda x: sklearn.metrics.mean_squared_error(x, DATA) * x[0], X),
    "r2_score": (lambda x: sklearn.metrics.r2_score(x, DATA) * x[0], X),
}  # fmt: skip
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18):  # which needs no interop for it
    CALLS["simpson"] = lambda x: total(integrate.simpson(x)), X
REFUSED = {"schur", "griddata", "dblquad", "odeint", "SGDRegressor"}  # with errors of their own
UNKNOWN = {"kaiser", "UnivariateSpline", "splrep", "nnls", "KDTree", "kmeans2",
           "legendre_p"}  # fmt: skip
IN_PART = {"linkage"}  # of what is called inside of it
ENTER, GIVE = "inside `with arraytape.interop.", "of which arraytape.interop knows no derivative"


def gradient(name):
    """The gradient of a call, or the message that comes in its place."""
    f, x = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "divide|invalid|overflow")
        try:
            return np.asarray(xp.grad(f)(xp.asarray(x)))
        except (TypeError, RuntimeError, UserWarning, ArithmeticError) as error:
            return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CALLS)
def test_advice_about_interop_is_true(name):
    with interop.sklearn():
        inside = gradient(name)
    outside = gradient(name)
    assert isinstance(outside, str)
    if name in REFUSED | UNKNOWN:
        assert isinstance(inside, str)
        assert GIVE in outside
        assert ENTER not in inside
    elif name in IN_PART:
        assert "which has the derivatives of scipy.spatial.distance.pdist in it" in outside
        assert GIVE in inside
    else:
        assert ENTER in outside
        assert np.isfinite(inside).all()
        f, x = CALLS[name]
        h, along = 1e-3, np.cos(np.arange(5.0))[: np.size(x)].reshape(np.shape(x))
        ends = [float(f(x + s * h * along)) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * h)  # of solvers with the tolerances of their own
        np.testing.assert_allclose(np.sum(inside * along), slope, rtol=1e-2)


@pytest.mark.parametrize(
    ("solve", "old", "new"),
    [
        (lambda f, w: optimize.fsolve(f, [1.0], (w,)), "fsolve", "root"),
        (lambda f, w: optimize.leastsq(f, [1.0], (w,))[0], "leastsq", "least_squares"),
    ],
)
def test_solvers_without_a_rule_lead_to_those_that_have_one(solve, old, new):
    says = (
        f"all scipy.optimize.{new} in place of scipy.optimize.{old}, inside `with arraytape.interop"
    )
    for context in (contextlib.nullcontext(), interop.scipy()):
        with context, pytest.raises((TypeError, xp.LostGradientError), match=says):
            xp.grad(lambda w: total(solve(lambda y, w: y**2 - w, w)))(3.0)
    with interop.scipy():
        slope = xp.grad(
            lambda w: total(getattr(optimize, new)(lambda y, w: y**2 - w, [1.0], args=(w,)).x)
        )(3.0)
    np.testing.assert_allclose(slope, 0.5 / np.sqrt(3.0), rtol=1e-6)


@pytest.mark.parametrize("search", [
    lambda f, w: optimize.differential_evolution(f, [(0, 3)], (w,), seed=0).x,
    lambda f, w: optimize.dual_annealing(f, [(0, 3)], (w,), maxiter=20, rng=0).x,
    lambda f, w: optimize.shgo(f, [(0, 3)], args=(w,)).x,
], ids=["differential_evolution", "dual_annealing", "shgo"])  # fmt: skip
def test_what_a_search_finds_is_given_to_implicit(search):
    def f(y, w):
        return (y[0] ** 2 - w) ** 2 + 0.1 * y[0]

    with interop.scipy():
        with pytest.raises(
            (TypeError, xp.LostGradientError), match=r"minimum\(f, x, \*args, solver="
        ):
            xp.grad(lambda w: total(search(f, w)))(3.0)
        start = search(f, 3.0)

        def solution(w, **options):
            return total(xp.implicit.minimum(f, start, w, **options))

        given = xp.grad(lambda w: solution(w, solver=xp.implicit.as_given))(3.0)
        np.testing.assert_allclose(given, xp.grad(solution)(3.0), rtol=1e-2)


def test_a_local_name_is_not_taken_for_the_global_that_it_shadows():
    def as_numpy(x):
        np = math  # shadows the module's np
        return np.sin(x[0]) + x[1]

    def as_math(x):
        math = np  # shadows the module's math
        return math.asarray(x)[0] + x[1]

    for f in (as_numpy, as_math):
        x = xp.asarray([1.0, 2.0])
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.warns(
            xp.TapeWarning, match="Keep the computation in arraytape's own functions"
        ):
            tape.gradient(y, x)


def test_a_gradient_of_ones_own_is_what_the_advice_says():
    def butter(w):
        return signal.butter(2, np.asarray(w).item())[0]

    def slopes(g, b, w):
        h = 1e-6
        step = (butter(w + h) - butter(w - h)) / (2 * h)
        return np.sum(np.asarray(g) * step)

    f = xp.host_function(butter, slopes)
    with interop.scipy():
        found = xp.grad(lambda w: total(f(w)))(xp.asarray(0.3))
    wanted = (butter(0.3 + 1e-5) - butter(0.3 - 1e-5)).sum() / 2e-5
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


def test_a_method_has_the_name_that_the_users_line_has():
    assert "call stats.norm.logpdf inside `with arraytape.interop.scipy():`" in gradient(
        "norm.logpdf"
    )
    assert "Call stats.norm(m).logpdf inside" in gradient("frozen")


def test_tables_of_pandas_and_polars():
    pandas = pytest.importorskip("pandas", reason="pandas is in the extra dev")
    polars = pytest.importorskip("polars", reason="polars is in the extra dev")
    places = pandas.DataFrame({"a": PLACES})
    scaler = sklearn.preprocessing.MinMaxScaler().set_output(transform="polars")
    transformed = {
        "Take columns by .to_numpy() and compute with Arrays": lambda x: pandas.DataFrame(x)[0],
        "Pass the Array itself on: tables of polars": lambda x: xp.asarray(polars.Series(x)),
        "scaler.fit_transform return tables of pandas, by set_output(transform='pandas')":
            lambda x: xp.asarray(scaler.fit_transform(x[:, None])["x0"]) * x,
    }  # fmt: skip
    with interop.sklearn():
        for said, f in transformed.items():
            with xp.GradientTape() as tape:
                tape.watch(x := xp.asarray(X))
                y = total(f(x))
            with pytest.warns(xp.TapeWarning, match=re.escape(said)):
                tape.gradient(y, x)
        scaler.set_output(transform="default")
        for f in (
            lambda x: scaler.fit_transform(x[:, None]) * x,
            lambda x: LINEAR.Ridge().fit(places, x).coef_,
        ):
            assert np.any(np.asarray(xp.grad(lambda x, f=f: total(f(x)))(xp.asarray(X))))


def test_what_leaves_in_another_package_is_said_of_that(tmp_path, monkeypatch):
    """A table of pandas' takes values, whatever function of scikit-learn makes it."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "tablemaker.py").write_text("def table(x):\n    return float(x.sum())\n")
    monkeypatch.syspath_prepend(folder)
    table = importlib.import_module("tablemaker").table
    transformer = sklearn.preprocessing.FunctionTransformer(
        lambda x: xp.asarray(table(x)), validate=False
    )
    transformer.func = table
    with pytest.raises((TypeError, RuntimeError)) as raised, interop.sklearn():
        xp.grad(lambda x: x[0, 0] * transformer.transform(x))(xp.asarray(X[:, None]))
    del sys.modules["tablemaker"]
    assert "in a way that does not use tablemaker, " in str(raised.value)
    assert ENTER not in str(raised.value)
