"""scikit-learn and SciPy code that is replayed on other data, in other shapes, and in other states."""

import contextlib
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from helpers.replaying import compare, eagerly, under_function

NEAR = 1e-9


def beside(f, calls, *, replayed):
    """Call f under ``xp.function`` and by itself on the same data; at least so many replays."""
    g = xp.function(f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, data in enumerate(calls):
            given, other = ([xp.asarray(x) for x in data] for _ in "12")
            compare(under_function(g, given), eagerly(f, other), f"call {i}", NEAR)
    assert g.counts["replayed"] >= replayed, g.reasons
    return g


def rows(*shapes, dtype="f8"):
    """Calls with one array each."""
    return [
        [np.random.default_rng(i).random(shape).astype(dtype)] for i, shape in enumerate(shapes)
    ]


# --- scikit-learn -------------------------------------------------------------------------------------
@pytest.fixture
def dispatch(monkeypatch):
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(array_api_dispatch=True), np.errstate(all="ignore"):
        yield


@pytest.mark.usefixtures("dispatch")
def test_a_pipeline_in_other_shapes_and_dtypes():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def f(x):
        reduced = make_pipeline(StandardScaler(), PCA(2, svd_solver="full")).fit_transform(x)
        y = xp.sum(x, axis=1)
        return reduced, Ridge(alpha=0.5, solver="svd").fit(reduced, y).predict(reduced)

    beside(f, [*rows(*[(20, 4)] * 4, *[(15, 4)] * 3), *rows((20, 4), dtype="f4")], replayed=3)


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("before", [contextlib.nullcontext, xp.interop.sklearn])
def test_the_reason_names_the_line_in_the_library_that_looks_at_a_value(before):
    from sklearn.metrics import mean_squared_error

    with before():
        pass  # from here on the module has another ``float``

    def f(x):
        return mean_squared_error(x, x * x) * x

    g = beside(f, rows(*[(5,)] * 9), replayed=0)
    assert any("float() at" in why and "sklearn" in why for why in g.reasons), g.reasons


@pytest.mark.usefixtures("dispatch")
def test_an_estimator_whose_state_changes_between_calls():
    from sklearn.preprocessing import StandardScaler

    scalers = StandardScaler(), StandardScaler()
    f, g = (lambda x, s=s: s.transform(x) for s in scalers)
    step = xp.function(f)
    for i in range(12):
        if i % 4 == 0:
            for scaler in scalers:
                scaler.fit(xp.asarray(np.random.default_rng(i).random((6, 3))))
        if i == 8:
            for scaler in scalers:
                scaler.set_params(with_mean=False)
        (x,) = rows((5, 3))[0]
        x = x + i
        compare(step(xp.asarray(x)), g(xp.asarray(x)), f"call {i}", 0.0)
    assert step.counts["replayed"] == 8, step.reasons


@pytest.mark.usefixtures("dispatch")
def test_an_estimator_that_is_fitted_inside():
    from sklearn.preprocessing import StandardScaler

    ours, theirs = StandardScaler(), StandardScaler()
    step = xp.function(lambda x: ours.fit_transform(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for i, (x,) in enumerate(rows(*[(5, 3)] * 5)):
            found, expected = step(xp.asarray(x)), theirs.fit_transform(xp.asarray(x))
            compare([found, ours.mean_], [expected, theirs.mean_], f"call {i}", 0.0)
    assert step.counts["replayed"] == 0


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("name", ["r2_score", "mean_squared_error", "mean_absolute_error"])
def test_metrics(name):
    from sklearn import metrics

    f = getattr(metrics, name)
    calls = [[*rows((6,))[0], np.random.default_rng(9 + i // 3).random(6)] for i in range(6)]
    beside(lambda x, y: f(x, y), calls, replayed=0)  # they give a float


# --- SciPy --------------------------------------------------------------------------------------------
def scipys():
    from scipy import integrate, special, stats

    return {
        "zscore": stats.zscore,
        "skew": lambda x: stats.skew(x) + stats.kurtosis(x),
        "logsumexp": special.logsumexp,
        "softmax": special.softmax,
        "trapezoid": integrate.trapezoid,
        "simpson": integrate.simpson,
        "pearsonr": lambda x: stats.pearsonr(x, x[::-1]).statistic,
        "ttest_1samp": lambda x: stats.ttest_1samp(x, 0.0).statistic,
        "gmean": stats.gmean,
        "entropy": stats.entropy,
        "rankdata": stats.rankdata,
    }


@pytest.mark.parametrize("name", scipys())
def test_scipys_functions_on_other_data_and_shapes(name):
    calls = [*rows(*[(9,)] * 5, *[(7,)] * 3), [np.ones(9)], [np.full(9, np.nan)]]
    beside(scipys()[name], calls, replayed=0)


def test_a_rank_is_an_int_in_traced_and_replayed_calls_too():
    scipy_linalg = pytest.importorskip("scipy.linalg")

    def f(a, b):
        with xp.interop.scipy():
            return scipy_linalg.lstsq(a, b)

    g = xp.function(f)
    for i in range(4):
        rng = np.random.default_rng(i)
        given = xp.asarray(rng.random((4, 3))), xp.asarray(rng.random(4))
        found, expected = g(*given), f(*given)
        assert [type(part) for part in found] == [type(part) for part in expected]
        assert found[2] == expected[2] == 3
    assert g.counts["replayed"] == 2
