"""minimize_scipy and LBFGS: the bridge to scipy.optimize."""

import gc
import sys
import warnings
from collections import namedtuple

import numpy as np
import pytest
import scipy.optimize

import arraytape as xp
from arraytape import Variable, nn
from arraytape.optimizers import LBFGS, minimize_scipy
from arraytape.optimizers.scipy import REPLAYED, Problem
from arraytape.testing import storages
from helpers.descents import near, rosenbrock

METHODS = {
    "BFGS": 1e-4, "L-BFGS-B": 1e-4, "CG": 1e-4, "Newton-CG": 1e-6, "trust-ncg": 1e-6,
    "trust-krylov": 1e-6, "trust-constr": 1e-6, "trust-exact": 1e-3, "SLSQP": 1e-2, "TNC": 1e-2,
    "Nelder-Mead": 1e-3, "Powell": 1e-6, "COBYQA": 1e-3,
}  # fmt: skip


@pytest.mark.parametrize("method", [None, *METHODS])
def test_every_method_finds_the_minimum(method):
    result = minimize_scipy(rosenbrock, xp.asarray([1.2, 0.8, 1.1]), method=method)
    assert isinstance(result, scipy.optimize.OptimizeResult)
    assert isinstance(result.x, xp.Array)
    near(result.x, np.ones(3), METHODS.get(method, 1e-4))


def test_the_hessian_is_exact():
    """Newton's steps solve a quadratic problem, as soon as the trusted region lets them."""
    matrix = xp.asarray([[3.0, 1.0], [1.0, 2.0]])
    right = xp.asarray([1.0, -1.0])
    for method in ("trust-exact", "Newton-CG", "dogleg"):
        result = minimize_scipy(
            lambda x: xp.sum(x * (matrix @ x)) / 2.0 - xp.sum(right * x),
            xp.asarray([0.1, 0.2]),
            method=method,
        )
        near(result.x, np.linalg.solve([[3.0, 1.0], [1.0, 2.0]], [1.0, -1.0]), 1e-8)
        assert result.nit <= 5


Pair = namedtuple("Pair", ["a", "b"])


def test_any_nesting_keeps_its_shape_dtypes_and_places():
    device = storages.hostile().devices()[0]
    start = {
        "m": xp.asarray([[0.0, 1.0], [2.0, 3.0]]),
        "pair": Pair(xp.asarray(0.0, dtype=xp.float32), [xp.asarray([1j, 2.0])]),
        "away": xp.zeros(2, device=device),
        "number": 1,
        "host": np.zeros(1),
    }
    expected = {"m": 1.0, "a": 2.0, "b": np.asarray([1.0 - 1.0j, 3.0j]), "away": -1.0}

    def f(p):
        assert p["pair"]._fields == ("a", "b")
        real = xp.sum((p["m"] - 1.0) ** 2) + xp.astype(p["pair"].a - 2.0, xp.float64) ** 2
        away = xp.sum((p["away"] + 1.0) ** 2).to_device("cpu")
        rest = p["number"] ** 2 + xp.sum(p["host"] ** 2)
        return real + away + rest + xp.sum(xp.abs(p["pair"].b[0] - expected["b"]) ** 2)

    for method in ("BFGS", "Newton-CG"):
        result = minimize_scipy(f, start, method=method)
        found = result.x
        assert [*found] == [*start]
        assert type(found["pair"]) is Pair
        assert found["pair"].a.dtype == xp.float32
        assert found["away"].device == device
        assert isinstance(found["number"], xp.Array)
        near(found["m"], np.ones((2, 2)), 1e-5)
        near(found["pair"].a, 2.0, 1e-5)
        near(found["pair"].b[0], expected["b"], 1e-5)
        near(found["away"].to_device("cpu"), [-1.0, -1.0], 1e-5)
        assert result.jac["m"].shape == (2, 2)


def test_bounds_callbacks_and_options_are_scipys():
    seen = []
    result = minimize_scipy(
        lambda p: (p[0] - 3.0) ** 2 + p[1] ** 2,
        (xp.asarray(0.0), xp.asarray(1.0)),
        method="L-BFGS-B",
        bounds=[(0.0, 2.0), (None, None)],
        callback=seen.append,
        options={"maxiter": 50},
    )
    near(result.x[0], 2.0)
    assert seen
    assert all(isinstance(point, tuple) and len(point) == 2 for point in seen)


def test_a_part_that_the_function_does_not_use_stays():
    result = minimize_scipy(lambda p: (p[0] - 1.0) ** 2, [xp.asarray(0.0), xp.asarray(5.0)])
    near(result.x, [1.0, 5.0], 1e-6)


def test_the_gradient_is_the_tapes():
    """SciPy's check against differences."""
    x = np.asarray([1.3, -0.2, 0.7])
    problem = Problem(rosenbrock, xp.asarray(x))
    value, gradient = problem.value_and_gradient(x)
    near(value, scipy.optimize.rosen(x))
    near(gradient, scipy.optimize.rosen_der(x))
    near(problem.hessian(x), scipy.optimize.rosen_hess(x), atol=1e-12)
    near(problem.hessian_product(x, x), scipy.optimize.rosen_hess_prod(x, x), 1e-10)


def test_lbfgs_changes_variables_that_the_loss_reads():
    layer, x = nn.Dense(1, seed=0), xp.asarray(np.random.default_rng(0).normal(size=(20, 3)))
    y = x @ xp.asarray([[1.0], [-2.0], [0.5]]) + 3.0
    layer(x)
    result = LBFGS(tolerance=1e-10).minimize(
        lambda: nn.mean_squared_error(y, layer(x)), layer.trainable_variables
    )
    assert result.success
    near(layer.kernel, [[1.0], [-2.0], [0.5]], 1e-8)
    near(layer.bias, [3.0], 1e-8)
    near(result.x[0], np.asarray(layer.kernel))


def test_when_the_loss_raises_the_variables_are_as_they_were():
    v, calls = Variable([1.2, 0.8]), []

    def loss():
        calls.append(v.tolist())
        if len(calls) == 4:
            raise RuntimeError("stop")
        return rosenbrock(v)

    with pytest.raises(RuntimeError, match="stop"):
        LBFGS().minimize(loss, [v])
    assert calls[0] != calls[3]
    near(v, [1.2, 0.8])


def test_variables_in_x0_are_as_before_at_the_end():
    v = Variable([1.2, 0.8])
    result = minimize_scipy(rosenbrock, v, method="trust-ncg")
    near(result.x, [1.0, 1.0], 1e-4)
    near(v, [1.2, 0.8])


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        minimize_scipy(rosenbrock, xp.ones(2))


def test_no_method_makes_scipy_warn_of_what_it_does_not_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (None, "Powell", "CG", "trust-exact", "Newton-CG"):
            minimize_scipy(lambda x: xp.sum(x**2), xp.ones(2), method=method)


# --- functions that are replayed ----------------------------------------------------------------------
@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact", "Nelder-Mead"])
def test_a_replayed_function_gives_the_same_bit_for_bit(method):
    def f(p):
        return xp.sum((p["a"] ** 2 - target) ** 2) + xp.sum(xp.cosh(p["b"] - 0.5))

    target = xp.asarray([1.0, 2.0, 3.0])
    start = {"a": xp.asarray([0.5, 0.6, 0.7]), "b": xp.asarray(0.0)}
    plain = minimize_scipy(f, start, method=method)
    g = xp.function(f)
    for _ in range(2):
        found = minimize_scipy(g, start, method=method)
        assert (found.fun, found.nfev, found.nit) == (plain.fun, plain.nfev, plain.nit)
        for name in start:
            assert np.array_equal(np.asarray(found.x[name]), np.asarray(plain.x[name]))
    functions = [g, *REPLAYED.get(g, {}).values()]
    assert sum(one.counts["traced"] for one in functions) <= 4
    assert sum(one.counts["replayed"] for one in functions) > plain.nfev


def test_a_replayed_loss_of_variables():
    def loss():
        return xp.sum((v * v - 2.0) ** 2) + w**4

    v, w = Variable(np.ones(3)), Variable(0.5)
    plain = LBFGS().minimize(loss, [v, w])
    expected = v.value().tolist()
    v.assign(np.ones(3))
    w.assign(0.5)
    result = LBFGS().minimize(xp.function(loss), [v, w])
    assert (result.fun, result.nfev) == (plain.fun, plain.nfev)
    assert v.value().tolist() == expected


def test_a_function_that_cannot_be_replayed_runs_as_it_is():
    def noisy(x):
        calls.append(1)
        return xp.sum((x - 1.0) ** 2)

    calls = []
    with pytest.warns(xp.TapeWarning, match="noisy, gradient: not replayed, it changes calls"):
        result = minimize_scipy(xp.function(noisy), xp.zeros(2), method="BFGS")
    assert len(calls) == result.nfev
    near(result.x, np.ones(2), 1e-6)


def test_derivatives_of_a_replayed_function_go_with_it():
    g = xp.function(lambda x: xp.sum(x * x))
    minimize_scipy(g, xp.ones(2), method="BFGS")
    before = len(REPLAYED)
    assert g in REPLAYED
    del g
    gc.collect()
    assert len(REPLAYED) == before - 1


# --- progress -----------------------------------------------------------------------------------------
def test_a_callback_gets_scipys_result_and_may_stop():
    points, values = [], []

    def progress(intermediate_result):
        points.append(intermediate_result.x)
        values.append(intermediate_result.fun)
        if len(values) == 3:
            raise StopIteration

    def f(p):
        return rosenbrock(p["x"])

    start = {"x": xp.asarray([-1.0, 2.0, 0.5])}
    for method in ("BFGS", "L-BFGS-B", "trust-constr"):
        result = minimize_scipy(f, start, method=method, callback=progress)
        assert len(values) == 3
        assert not result.success
        for point, value in zip(points, values, strict=True):
            near(f(point), value, 1e-12)
        points.clear()
        values.clear()


def test_lbfgs_calls_its_callback_after_each_step():
    v, seen = xp.Variable([-1.0, 2.0]), []
    result = LBFGS().minimize(
        lambda: rosenbrock(v), [v], callback=lambda point: seen.append(float(rosenbrock(point[0])))
    )
    assert len(seen) == result.nit
    near(seen[-1], 0.0, atol=1e-8)
    with pytest.raises(TypeError, match="callback must be a function, got int 3"):
        LBFGS().minimize(lambda: rosenbrock(v), [v], callback=3)
