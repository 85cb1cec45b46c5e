"""scikit-learn's loss functions, and the models that SciPy's optimizers fit with them."""

import numpy as np
import pytest
import sklearn._loss.loss as losses
from array_api_compat import array_namespace
from sklearn._loss.link import LogLink, MultinomialLogit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.linear_model._linear_loss import LinearModelLoss
from sklearn.utils._array_api import get_namespace_and_device, move_estimator_to

import arraytape as xp
from arraytape import testing

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
NEW = RNG.normal(size=(4, 3))
WEIGHTS = RNG.uniform(0.5, 2.0, 12)
BINARY = np.asarray([0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0])
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0, 2, 2, 1, 0])
COUNTS = np.asarray([0.0, 2.0, 1.0, 4.0, 1.0, 0.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0])
RAW = RNG.normal(size=12)
SCORES = RNG.normal(size=(12, 3))
LOSSES = {
    "binomial": (losses.HalfBinomialLossArrayAPI, BINARY.astype(float), RAW),
    "multinomial": (losses.HalfMultinomialLossArrayAPI, CLASSES.astype(float), SCORES),
    "Poisson": (losses.HalfPoissonLossArrayAPI, COUNTS, RAW),
}
# Beyond the points at which the losses change their formula, and where exp overflows.
STEEP = np.asarray([-800.0, -40.0, -37.0, -20.0, -2.0, 0.0, 10.0, 18.0, 30.0, 33.0, 50.0, 800.0])


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [True, False])
def test_a_loss_and_its_own_gradient(differentiates, name, weighted):
    kind, target, raw = LOSSES[name]

    def f(raw, weights, target):
        loss = kind(xp=array_namespace(raw), device=None)
        given = weights if weighted else None
        return [*loss.loss_gradient(target, raw, given), weights]

    differentiates(f, raw, WEIGHTS, constants=(target,), order=2)


@pytest.mark.parametrize("name", LOSSES)
def test_the_tapes_gradient_of_a_loss_is_the_librarys_own(name):
    kind, target, raw = LOSSES[name]
    raw, target = xp.asarray(raw), xp.asarray(target)
    with xp.GradientTape() as tape:
        tape.watch(raw)
        value, own = kind(xp=xp, device=None).loss_gradient(target, raw)
    found = tape.gradient(value, raw)
    np.testing.assert_allclose(np.asarray(found), np.asarray(own), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_the_branches_that_a_loss_does_not_take_do_not_count(target):
    raw, y = xp.asarray(STEEP), xp.full(STEEP.shape, target)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        with xp.GradientTape() as tape:
            tape.watch(raw)
            value = losses.HalfBinomialLossArrayAPI(xp=xp, device=None).loss(y, raw)
        expected = np.where(
            STEEP < 0, np.exp(STEEP) / (1 + np.exp(STEEP)), 1 / (1 + np.exp(-STEEP))
        )
    found = np.asarray(tape.gradient(value, raw))
    np.testing.assert_allclose(found, expected - target, rtol=1e-12, atol=1e-14)


def test_links_and_their_inverses(differentiates):
    def f(raw, scores):
        many, one = MultinomialLogit(), LogLink()
        probabilities = many.inverse(scores)
        return [
            probabilities,
            many.link(probabilities),
            many.symmetrize_raw_prediction(scores),
            one.link(one.inverse(raw)),
        ]

    differentiates(f, RAW, SCORES, order=2)


def test_the_gradient_of_a_linear_models_loss_is_its_own(differentiates):
    def raw(X, coef):
        loss = LinearModelLoss(losses.HalfPoissonLossArrayAPI(xp=array_namespace(X)), True)
        return loss.weight_intercept_raw(coef, X)[2]

    differentiates(raw, X, np.asarray([0.3, -0.2, 0.5, 0.1]), order=2)


LINEAR_LOSS, MOVE = ("_linear_loss.py", "float"), ("_array_api.py", "dlpack")
MODELS = {  # and where the last value leaves on its way to SciPy's optimizer
    "logistic, two classes": (LogisticRegression(), BINARY, LINEAR_LOSS),
    "logistic, three classes": (LogisticRegression(fit_intercept=False), CLASSES, MOVE),
    "Poisson": (PoissonRegressor(), COUNTS, LINEAR_LOSS),
}
PREDICTIONS = ("decision_function", "predict", "predict_proba", "predict_log_proba")


def of_fitted(model, y):
    """A function that predicts with the model, fitted once, on the data of any namespace."""
    fitted = model.fit(X, y)

    def predictions(new):
        here, _, device = get_namespace_and_device(new)
        moved = move_estimator_to(fitted, here, device)
        return [getattr(moved, name)(new) for name in PREDICTIONS if hasattr(moved, name)]

    return predictions


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_a_fitted_model(differentiates, name):
    model, target, _ = MODELS[name]
    differentiates(of_fitted(model, target), NEW, order=2)


def test_predictions_with_a_calibrated_temperature():
    model = CalibratedClassifierCV(LogisticRegression(), method="temperature", cv=2)
    model.fit(xp.asarray(X), xp.asarray(BINARY))
    testing.check_gradients(lambda new: xp.sum(model.predict_proba(new)[:, 1] ** 2), [NEW])


@pytest.mark.parametrize("name", MODELS)
def test_the_coefficients_come_from_scipy_and_have_no_gradient(leaves, name):
    model, target, (file, how) = MODELS[name]

    def f(X, y):
        return model.fit(X, y).coef_

    assert leaves(f, X, at=file, how=how, constants=(target,), rtol=1e-6) == [None]


@pytest.mark.parametrize("name", MODELS)
def test_predictions_for_the_fitted_data_miss_a_part_and_say_so(leaves, name):
    model, target, (file, how) = MODELS[name]
    final = PREDICTIONS[0] if hasattr(model, PREDICTIONS[0]) else PREDICTIONS[1]

    def f(X, y):
        return getattr(model.fit(X, y), final)(X)

    (g,) = leaves(f, X, at=file, how=how, constants=(target,), rtol=1e-6)
    data, y = xp.asarray(X), xp.asarray(target)
    fitted = model.fit(data, y)
    with xp.GradientTape() as tape:  # what the tape has: the prediction's part, without the fit's
        tape.watch(data)
        z = getattr(fitted, final)(data)
    np.testing.assert_allclose(np.asarray(g), np.asarray(tape.gradient(z, data)))


def test_one_newton_step_after_a_fit_brings_its_gradient_back():
    def loss(w, X, y):
        raw = X @ w
        return xp.sum(xp.log1p(xp.exp(raw)) - y * raw) + 0.5 * xp.sum(w * w)

    def coefficients(X, y):
        model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12)
        w = xp.reshape(model.fit(X, y).coef_, (-1,))
        slope, curvature = xp.grad(loss)(w, X, y), xp.hessian(loss)(w, X, y)
        return w - xp.linalg.solve(curvature, slope)

    y, along = xp.asarray(BINARY), RNG.normal(size=X.shape)
    data = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(data)
        w = xp.sum(coefficients(data, y) * xp.asarray([1.0, 2.0, 3.0]))
    with pytest.warns(xp.TapeWarning, match="a part of the gradient may be missing"):
        g = np.asarray(tape.gradient(w, data))
    h = 1e-4
    up, down = (
        np.asarray(coefficients(xp.asarray(X + t * along), y)) @ [1.0, 2.0, 3.0] for t in (h, -h)
    )
    np.testing.assert_allclose(np.sum(g * along), (up - down) / (2 * h), rtol=1e-6)
