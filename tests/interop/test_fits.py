"""Fits of scikit-learn's estimators on Arrays in a context of interop: what holds for all of them."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import arraytape as xp
from arraytape import implicit, interop
from helpers.fit_checks import check_fit, same_attributes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X @ [1.0, -1.0, 0.5] + RNG.normal(size=40) > 0).astype(int)
NEW = RNG.normal(size=(5, 3))
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def tight(**parameters):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, **parameters)


@pytest.fixture(params=[False, True], ids=["", "array_api_dispatch"])
def dispatching(request):
    with sklearn.config_context(array_api_dispatch=request.param):
        yield


def test_a_fit_has_the_librarys_bits_and_the_derivatives_of_refits():
    check_fit(tight, lambda m: m.predict_proba(NEW), {"X": X, "y": Y}, {"C": 0.7})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [lambda x: x, xp.asarray], ids=["NumPy", "Array"])
def test_methods_of_a_fitted_estimator_take_both(dispatching, method, make):
    plain = getattr(LogisticRegression().fit(X, Y), method)(NEW)
    with interop.sklearn():
        fitted = LogisticRegression().fit(xp.asarray(X), Y)
        found = getattr(fitted, method)(make(NEW))
    if method != "predict":
        assert isinstance(found, xp.Array)
    np.testing.assert_allclose(np.asarray(found), plain, rtol=1e-14)


def test_without_an_array_nothing_changes():
    before = LogisticRegression().fit(X, Y)
    with interop.sklearn():
        after = LogisticRegression().fit(X, Y)
    assert {k: type(v) for k, v in vars(after).items()} == {
        k: type(v) for k, v in vars(before).items()
    }
    same_attributes(after, before)
    assert type(after.predict_proba(NEW)) is np.ndarray


def test_fit_returns_the_estimator_and_leaves_its_parameters_and_data_alone():
    C, data = xp.asarray(0.7), xp.asarray(X)
    with interop.sklearn():
        model = LogisticRegression(C=C)
        assert model.fit(data, Y) is model
    assert model.C is C
    np.testing.assert_array_equal(np.asarray(data), X)


FAILING = {
    "data that do not fit": lambda model, C: model.fit(xp.asarray(X), Y[:7]),
    "no numbers": lambda model, C: model.fit(xp.asarray(X * np.nan), Y),
    "a parameter out of range": lambda model, C: model.set_params(C=-C).fit(X, Y),
    "an Array that has no derivative": lambda model, C: model.set_params(C=1.0, tol=C * 1e-6).fit(
        X, Y
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name):
    C = xp.asarray(0.7)
    with interop.sklearn():
        model = LogisticRegression(C=C).fit(X, Y)
        fitted = {key: value for key, value in vars(model).items() if key.endswith("_")}
        with pytest.raises((TypeError, ValueError)):
            FAILING[name](model, C)
    assert {key: value for key, value in vars(model).items() if key.endswith("_")} == fitted


def test_an_array_of_which_the_fit_has_no_derivative_is_refused():
    with interop.sklearn(), pytest.raises(TypeError, match="an Array as tol"):
        LogisticRegression(tol=xp.asarray(1e-6)).fit(X, Y)


def test_a_fit_that_stopped_early_is_refused():
    model = LogisticRegression(max_iter=1)
    with interop.sklearn(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(implicit.NotASolution, match="max_iter"):
            model.fit(xp.asarray(X), Y)
    assert not hasattr(model, "coef_")


def test_at_the_default_tolerance_the_derivative_is_that_of_tight_refits():
    C = xp.asarray(0.7)
    found = []
    for solver in ("lbfgs", "newton-cholesky"):
        with interop.sklearn(), xp.GradientTape() as tape:
            tape.watch(C)
            coef = LogisticRegression(C=C, solver=solver).fit(X, Y).coef_
        found.append(np.asarray(tape.jacobian(coef, C)))
        np.testing.assert_array_equal(
            np.asarray(coef), LogisticRegression(C=0.7, solver=solver).fit(X, Y).coef_
        )
    exact = (tight(C=0.7 + 1e-4).fit(X, Y).coef_ - tight(C=0.7 - 1e-4).fit(X, Y).coef_) / 2e-4
    for slope in found:
        np.testing.assert_allclose(slope, exact, rtol=1e-6)


def test_second_derivatives():
    def loss(C):
        return xp.sum(tight(C=C).fit(X, Y).coef_ ** 2)

    with interop.sklearn():
        curvature = xp.hessian(loss)(xp.asarray(0.7))
        upper, lower = (xp.grad(loss)(xp.asarray(C)) for C in (0.7 + 1e-4, 0.7 - 1e-4))
    np.testing.assert_allclose(float(curvature), float(upper - lower) / 2e-4, rtol=1e-6)


def test_single_precision_stays():
    with interop.sklearn(), xp.GradientTape() as tape:
        data = xp.asarray(X.astype(np.float32))
        tape.watch(data)
        model = LogisticRegression().fit(data, Y)
        loss = xp.sum(model.coef_**2)
    assert model.coef_.dtype == np.float32
    assert tape.gradient(loss, data).dtype == np.float32
    same_attributes(model, LogisticRegression().fit(X.astype(np.float32), Y))


def test_estimators_are_cloned_pickled_printed_and_searched():
    C = xp.asarray(0.7)
    with interop.sklearn():
        model = LogisticRegression(C=C).fit(xp.asarray(X), Y)
        assert float(clone(model).C) == 0.7
        assert not hasattr(clone(model), "coef_")
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(np.asarray(copy.coef_), np.asarray(model.coef_))
        assert "C=Array(0.7" in repr(model)
        assert "coef_" in model._repr_html_()
        search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3).fit(xp.asarray(X), Y)
        assert (
            search.best_params_
            == GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3).fit(X, Y).best_params_
        )
        assert isinstance(search.best_estimator_.coef_, xp.Array)


def test_the_error_of_cross_validation_has_a_gradient():
    def chances(C, X):
        model = make_pipeline(StandardScaler(), tight(C=C))
        return cross_val_predict(model, X, Y, cv=3, method="predict_proba")[:, 0]

    C = xp.asarray(0.7)
    with interop.sklearn(), xp.GradientTape() as tape:
        tape.watch(C)
        loss = xp.sum(chances(C, xp.asarray(X)) ** 2)
    upper, lower = (np.sum(chances(C, X) ** 2) for C in (0.7 + 1e-4, 0.7 - 1e-4))
    np.testing.assert_allclose(float(tape.gradient(loss, C)), (upper - lower) / 2e-4, rtol=1e-6)


def test_data_that_the_fit_may_write_to_counts_as_it_was():
    def slope(**parameters):
        alpha = xp.asarray(0.5)
        with interop.sklearn(), xp.GradientTape() as tape:
            tape.watch(alpha)
            total = xp.sum(Ridge(alpha=alpha, **parameters).fit(X + 1.0, X[:, 0]).coef_)
        return float(tape.gradient(total, alpha))

    assert slope(copy_X=False) == slope()


def test_a_class_of_the_users_own_is_fitted_as_the_one_that_it_derives_from():
    class Mine(PoissonRegressor):
        pass

    with interop.sklearn():
        assert isinstance(Mine().fit(xp.asarray(X), Y).coef_, xp.Array)


def test_mapped_data_is_refused():
    with interop.sklearn(), pytest.raises(TypeError, match="no batched form"):
        xp.vmap(lambda C: LogisticRegression(C=C).fit(X, Y).coef_)(xp.asarray([0.1, 1.0]))
