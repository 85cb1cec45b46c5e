"""Fits of scikit-learn's linear models in a context of interop, against refits with tight tolerances."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as lm
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR

import arraytape as xp
from arraytape import implicit, interop
from helpers.fit_checks import check_fit, same_attributes

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4))
Y = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=40) + 0.5
TWO = np.stack([Y, X @ [0.0, 0.5, -1.0, 1.0] + 0.3 * RNG.normal(size=40)], axis=1)
WEIGHTS = RNG.uniform(0.5, 2.0, size=40)
LABELS = (Y > 0.3).astype(int)
THREE = LABELS + (X[:, 0] > 0.5)
MIXED = RNG.integers(0, 3, 40)
COUNTS = 1.0 + RNG.poisson(np.exp(0.3 * Y))
SIZES = np.exp(0.3 * Y + 0.2 * RNG.normal(size=40))
NEW = RNG.normal(size=(5, 4))

OF_NUMBERS = {"X": X, "y": Y, "sample_weight": WEIGHTS}
OF_TWO = {"X": X, "y": TWO}
OF_LABELS = {"X": X, "y": LABELS, "sample_weight": WEIGHTS}
OF_THREE = {"X": X, "y": THREE, "sample_weight": WEIGHTS}
OF_COUNTS = {"X": X, "y": COUNTS, "sample_weight": WEIGHTS}
OF_SIZES = {"X": X, "y": SIZES, "sample_weight": WEIGHTS}
UNWEIGHTED = {"X": X, "y": Y}
ALPHAS = np.asarray([0.1, 1.0, 3.0])
TIGHT = {"tol": 1e-14, "max_iter": 100_000}
RANDOM = {**TIGHT, "random_state": 0}
NEWTON = {"solver": "newton-cholesky", "tol": 1e-12}
LIBLINEAR = {"solver": "liblinear", **RANDOM}


def check(kind, data, hyper=(), method="predict", options=None, **parameters):
    check_fit(
        partial(kind, **parameters), lambda m: getattr(m, method)(NEW), data, hyper,
        **{"h": 1e-4, **(options or {})},
    )  # fmt: skip


LEAST_SQUARES = {
    "linear regression": (lm.LinearRegression, OF_NUMBERS, {}, {}),
    "of two outputs": (lm.LinearRegression, OF_TWO, {}, {}),
    "without an intercept": (lm.LinearRegression, OF_NUMBERS, {}, {"fit_intercept": False}),
    "of positive coefficients": (lm.LinearRegression, OF_NUMBERS, {}, {"positive": True}),
    "ridge of two": (lm.Ridge, OF_TWO, {"alpha": np.asarray([0.3, 0.7])}, {}),
    "positive ridge": (lm.Ridge, OF_NUMBERS, {"alpha": 0.7}, {"positive": True, "tol": 1e-14}),
    "ridge, alpha chosen": (lm.RidgeCV, OF_NUMBERS, {"alphas": ALPHAS}, {}),
    "an alpha for each": (lm.RidgeCV, OF_TWO, {"alphas": ALPHAS}, {"alpha_per_target": True}),
    "lars": (lm.Lars, UNWEIGHTED, {}, {}),
    "matching pursuit": (lm.OrthogonalMatchingPursuit, UNWEIGHTED, {}, {"n_nonzero_coefs": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAST_SQUARES)
@pytest.mark.every(3)
def test_least_squares(name):
    kind, data, hyper, parameters = LEAST_SQUARES[name]
    check(kind, data, hyper, **parameters)


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
def test_ridge_with_each_solver(solver):
    check(lm.Ridge, OF_NUMBERS, {"alpha": 0.7}, solver=solver, **RANDOM)


RIDGE_CLASSIFIERS = {
    "two classes": (lm.RidgeClassifier, OF_LABELS, {"alpha": 0.7}, {"class_weight": "balanced"}),
    "three classes": (lm.RidgeClassifier, OF_THREE, {"alpha": 0.7}, {"class_weight": {0: 2.0}}),
    "alpha chosen": (lm.RidgeClassifierCV, OF_THREE, {"alphas": ALPHAS}, {}),
}


@pytest.mark.parametrize("name", RIDGE_CLASSIFIERS)
def test_ridge_classifiers(name):
    kind, data, hyper, parameters = RIDGE_CLASSIFIERS[name]
    check(kind, data, hyper, "decision_function", **parameters)


MIX = {"alpha": 0.15, "l1_ratio": 0.6}
ACTIVE_SETS = {
    "lasso": (lm.Lasso, OF_NUMBERS, {"alpha": 0.15}, TIGHT),
    "lasso of two outputs": (lm.Lasso, OF_TWO, {"alpha": 0.15}, TIGHT),
    "elastic net": (lm.ElasticNet, OF_NUMBERS, MIX, TIGHT),
    "of positive coefficients": (lm.ElasticNet, OF_NUMBERS, MIX, {**TIGHT, "positive": True}),
    "multi-task lasso": (lm.MultiTaskLasso, OF_TWO, {"alpha": 0.4}, TIGHT),
    "multi-task elastic net": (lm.MultiTaskElasticNet, OF_TWO, {"alpha": 0.4, "l1_ratio": 0.6}, TIGHT),
    "lars": (lm.LassoLars, UNWEIGHTED, {"alpha": 0.15}, {}),
    "alpha chosen of the data's": (lm.LassoCV, OF_NUMBERS, {}, {**TIGHT, "alphas": 5, "cv": 3}),
    "alpha chosen of those given": (
        lm.ElasticNetCV, UNWEIGHTED, {"alphas": ALPHAS / 10.0, "l1_ratio": np.asarray([0.3, 0.9])},
        {**TIGHT, "cv": 3},
    ),
    "multi-task, chosen": (lm.MultiTaskLassoCV, OF_TWO, {}, {**TIGHT, "alphas": 5, "cv": 3}),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVE_SETS)
@pytest.mark.every(3)
def test_the_lasso_and_its_kin_by_their_active_set(name):
    kind, data, hyper, parameters = ACTIVE_SETS[name]
    check(kind, data, hyper, **parameters)


LOGISTIC = {
    "newton-cholesky": (OF_LABELS, {"C": 0.7}, {**NEWTON, "class_weight": "balanced"}),
    "newton-cg": (OF_LABELS, {"C": 0.7}, {"solver": "newton-cg", "tol": 1e-10}),
    "sag": (OF_LABELS, {"C": 0.7}, {"solver": "sag", **RANDOM}),
    "three classes": (OF_THREE, {"C": 0.7}, {**NEWTON, "class_weight": "balanced"}),
    "elastic net": (OF_LABELS, {"C": 0.2, "l1_ratio": 0.7}, {"solver": "saga", **RANDOM}),
    "lasso of three": (OF_THREE, {"C": 0.2}, {"solver": "saga", "l1_ratio": 1.0, **RANDOM}),
    "no penalty": ({"X": X, "y": MIXED}, {}, {**NEWTON, "C": np.inf}),
    "liblinear": (OF_LABELS, {"C": 0.7}, LIBLINEAR),
    "liblinear's lasso": (
        OF_LABELS, {"C": 0.7, "intercept_scaling": 2.0}, {**LIBLINEAR, "l1_ratio": 1.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGISTIC)
@pytest.mark.every(2)
def test_logistic_regression(name):
    data, hyper, parameters = LOGISTIC[name]
    method = "predict_proba" if name == "no penalty" else "decision_function"
    # liblinear's own refits are exact to 1e-8.
    options = {"rtol": 1e-4, "h": 1e-3} if name == "liblinear" else {}
    check(lm.LogisticRegression, data, hyper, method, options, **parameters)


def test_liblinears_intercept_is_penalised_as_its_coefficient():
    options = {"rtol": 1e-4, "h": 1e-3}
    hyper = {"C": 0.7, "intercept_scaling": 2.0}
    check(lm.LogisticRegression, OF_LABELS, hyper, "decision_function", options, **LIBLINEAR)


@pytest.mark.slow
def test_logistic_regression_whose_c_was_chosen():
    check(
        lm.LogisticRegressionCV, OF_LABELS, {"Cs": np.asarray([0.1, 1.0])}, "decision_function",
        l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss", cv=3, **NEWTON,
    )  # fmt: skip


GENERALIZED = {
    "poisson": (lm.PoissonRegressor, OF_COUNTS, {"alpha": 0.3}, {}),
    "gamma": (lm.GammaRegressor, OF_SIZES, {"alpha": 0.3}, {}),
    "tweedie": (lm.TweedieRegressor, OF_SIZES, {"alpha": 0.3, "power": 1.5}, {}),
    "normal": (lm.TweedieRegressor, OF_SIZES, {"alpha": 0.3}, {"power": 0}),
    "of the logarithm": (lm.TweedieRegressor, OF_SIZES, {"alpha": 0.3}, {"power": 1, "link": "log"}),
    "of the mean itself": (
        lm.TweedieRegressor, {**OF_SIZES, "X": 0.1 * X, "y": 1.0 + 0.1 * SIZES}, {"alpha": 0.3},
        {"power": 3, "link": "identity"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERALIZED)
@pytest.mark.every(3)
def test_generalized_linear_models(name):
    kind, data, hyper, parameters = GENERALIZED[name]
    check(kind, data, hyper, **{**NEWTON, "tol": 1e-14, **parameters})


def test_the_score_of_a_generalized_linear_model():
    model = lm.PoissonRegressor().fit(X, COUNTS)
    with interop.sklearn():
        score = lm.PoissonRegressor().fit(xp.asarray(X), COUNTS).score(X, COUNTS)
    assert isinstance(score, xp.Array)
    np.testing.assert_allclose(float(score), model.score(X, COUNTS), rtol=1e-12)


def newton_of_huber(X, y, epsilon, alpha):
    """HuberRegressor's coefficients, to rounding: its own solver stops at 1e-8 of them."""
    model = lm.HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-12, max_iter=10_000).fit(X, y)
    v = np.concatenate([model.coef_, [model.intercept_, model.scale_]])
    A = np.concatenate([X, np.ones((len(y), 1))], axis=1)
    penalty = 2.0 * alpha * np.concatenate([np.ones(X.shape[1]), [0.0]])
    for _ in range(20):
        scale, r = v[-1], y - A @ v[:-1]
        inner = np.abs(r) <= epsilon * scale
        slope = np.where(inner, 2.0 * r / scale, 2.0 * epsilon * np.sign(r))
        g = np.append(
            penalty * v[:-1] - A.T @ slope, np.sum(1.0 - np.where(inner, r / scale, epsilon) ** 2)
        )
        cross = A.T @ np.where(inner, 2.0 * r / scale**2, 0.0)
        H = np.block([
            [A.T @ (A * (2.0 * inner / scale)[:, None]) + np.diag(penalty), cross[:, None]],
            [cross[None, :], np.sum(2.0 * np.where(inner, r, 0.0) ** 2) / scale**3],
        ])  # fmt: skip
        v = v - np.linalg.solve(H, g)
    return v


def test_huber_regression():
    along = RNG.normal(size=X.shape)
    h = 1e-5

    def fitted(X, epsilon, alpha):
        model = lm.HuberRegressor(epsilon=epsilon, alpha=alpha, max_iter=1000).fit(X, Y)
        return xp.concat(
            [model.coef_, xp.reshape(model.intercept_, (1,)), xp.reshape(model.scale_, (1,))]
        )

    given = (xp.asarray(X), xp.asarray(1.3), xp.asarray(0.3))
    with interop.sklearn():
        same_attributes(
            lm.HuberRegressor(alpha=given[2]).fit(given[0], Y),
            lm.HuberRegressor(alpha=0.3).fit(X, Y),
        )
        for i, tangent in enumerate([along, np.asarray(1.0), np.asarray(1.0)]):
            tangents = [xp.zeros_like(x) for x in given]
            tangents[i] = xp.asarray(tangent)
            found = xp.jvp(fitted, given, tuple(tangents))[1]
            ends = []
            for step in (h, -h):
                plain = [X, 1.3, 0.3]
                plain[i] = plain[i] + step * tangent
                ends.append(newton_of_huber(plain[0], Y, *plain[1:]))
            expected = (ends[0] - ends[1]) / (2.0 * h)
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-7)


LIBLINEARS = {
    "two classes": (LinearSVC, OF_LABELS, {"C": 0.3, "intercept_scaling": 2.0}, {"dual": False}),
    "three classes": (LinearSVC, OF_THREE, {"C": 0.3}, {"dual": False, "class_weight": "balanced"}),
    "lasso": (LinearSVC, OF_LABELS, {"C": 0.3}, {"dual": False, "penalty": "l1"}),
    "regression": (
        LinearSVR, OF_NUMBERS, {"C": 0.3, "epsilon": 0.1},
        {"dual": False, "loss": "squared_epsilon_insensitive"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBLINEARS)
def test_support_vectors_of_liblinear(name):
    kind, data, hyper, parameters = LIBLINEARS[name]
    method = "predict" if name == "regression" else "decision_function"
    options = {"h": 3e-4, "rtol": 1e-4, "forward": False}
    check(kind, data, hyper, method, options, **{**RANDOM, "tol": 1e-12, **parameters})


# --- what is refused -------------------------------------------------------------------------------
REFUSED = {
    "stochastic descent": (lm.SGDRegressor(), "stochastic descent"),
    "stochastic classifier": (lm.SGDClassifier(), "stochastic descent"),
    "perceptron": (lm.Perceptron(), "stochastic descent"),
    "random samples": (lm.RANSACRegressor(), "random samples"),
    "medians": (lm.TheilSenRegressor(), "random samples"),
    "corners of a path": (lm.LassoLarsIC(), "corner"),
    "a linear program": (lm.QuantileRegressor(), "linear program"),
    "jitter": (lm.LassoLars(jitter=0.1), "random numbers"),
    "an unfinished path": (lm.Lars(n_nonzero_coefs=1), "ends before"),
    "hinge": (LinearSVC(loss="hinge"), "kinks"),
    "epsilon-insensitive": (LinearSVR(), "kinks"),
    "averages": (
        lm.LogisticRegressionCV(refit=False, l1_ratios=(0,), use_legacy_attributes=False), "averages",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused_with_its_reason(name):
    model, why = REFUSED[name]
    before = dict(vars(model))
    with interop.sklearn(), pytest.raises(TypeError, match=why):
        model.fit(xp.asarray(X), LABELS)
    assert vars(model) == before


def test_a_coefficient_that_is_about_to_enter_is_refused():
    slope = np.abs((X - X.mean(axis=0)).T @ (Y - Y.mean())) / len(Y)
    with interop.sklearn(), pytest.raises(implicit.NotASolution, match="about to enter"):
        lm.Lasso(alpha=xp.asarray(np.max(slope) * (1.0 + 1e-9))).fit(X, Y)


def test_dependent_features_without_a_penalty_are_refused():
    twice = np.concatenate([X, X[:, :1]], axis=1)
    with interop.sklearn():
        with pytest.raises(implicit.NotASolution, match="singular"):
            lm.LinearRegression().fit(xp.asarray(twice), Y)
        assert isinstance(lm.Ridge().fit(xp.asarray(twice), Y).coef_, xp.Array)


def test_a_descent_that_stopped_early_is_refused():
    with interop.sklearn(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(implicit.NotASolution):
            lm.Lasso(alpha=0.01, max_iter=1).fit(xp.asarray(X + 3.0 * X[:, ::-1]), Y)


def test_sparse_data_that_are_constant():
    C = xp.asarray(0.7)
    with interop.sklearn(), xp.GradientTape() as tape:
        tape.watch(C)
        model = lm.LogisticRegression(C=C, **NEWTON).fit(sparse.csr_array(X), LABELS)
        total = xp.sum(model.coef_)
    ends = [
        lm.LogisticRegression(C=c, **NEWTON).fit(X, LABELS).coef_.sum()
        for c in (0.7 + 1e-5, 0.7 - 1e-5)
    ]
    np.testing.assert_allclose(
        float(tape.gradient(total, C)), (ends[0] - ends[1]) / 2e-5, rtol=1e-5
    )


EVIDENCE = {
    "one precision": (lm.BayesianRidge, OF_NUMBERS, {"alpha_1": 0.1, "lambda_1": 0.3}),
    "one for each": (lm.ARDRegression, {"X": X, "y": Y + X[:, 3]}, {"lambda_1": 0.3, "lambda_2": 0.1}),
}  # fmt: skip


@pytest.mark.parametrize("name", EVIDENCE)
def test_precisions_by_their_evidence(name):
    kind, data, hyper = EVIDENCE[name]

    def answers(model):
        mean, deviation = model.predict(NEW, return_std=True)
        return mean + deviation + xp.sum(xp.asarray(model.lambda_))

    check_fit(
        partial(kind, tol=1e-13, max_iter=100_000), answers, data, hyper, h=1e-4, forward=False
    )
