"""Estimators fitted to NumPy data, asked at Arrays: the slope of the answer, or why there is none."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import interop
from arraytape.testing.derivatives import differences

pytest.importorskip("sklearn")

from sklearn.utils import all_estimators

ASKED = (
    "decision_function", "inverse_transform", "predict", "predict_log_proba", "predict_proba",
    "score_samples", "transform",
)  # fmt: skip
RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 4))) + 0.1
Y = X @ [1.0, 2.0, 3.0, 4.0]
LABELS = (X[:, 0] > X[:, 1]).astype(int)
AT = 0.97 * X[:5] + 0.013  # away from where fits have their corners
RANDOM = {("BernoulliRBM", "score_samples")}  # draws anew in each call
STEPS = {("OrdinalEncoder", "inverse_transform")}  # asked where it jumps


def fitted(kind):
    """An estimator that was fitted to NumPy data; None where it needs other arguments or data."""
    for y in (LABELS, Y) if "Classifier" in kind.__name__ else (Y, LABELS):
        try:
            return kind().fit(X, y)
        except Exception:  # it needs parameters, or labels, or other data
            continue
    return None


def dense(y):
    """What a question gives as one array, of numbers."""
    y = y.toarray() if hasattr(y, "toarray") else y
    return np.asarray(y) if not isinstance(y, xp.Array) else y


def asked_of(estimator):
    """The questions that it answers of NumPy data, with what they are asked at."""
    for name in ASKED:
        try:
            at = AT
            if name == "inverse_transform":  # an encoder knows the samples alone
                encodes = "Encoder" in type(estimator).__name__
                at = dense(estimator.transform(X[:5] if encodes else AT))
            yield name, np.asarray(at, dtype=np.float64), dense(getattr(estimator, name)(at))
        except Exception:  # what it cannot say of NumPy data, it cannot say of Arrays
            continue


def answer(ask, at):
    """What a question gives at an Array, the gradient of its sum, and what was said of it."""
    x = xp.asarray(at)
    with interop.sklearn(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = dense(ask(x))
            total = xp.sum(xp.asarray(y) * 1.0)
        g = tape.gradient(total, x)
    return y, g, any(issubclass(w.category, xp.TapeWarning) for w in caught)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), all_estimators())
@pytest.mark.every(3)
def test_answers_have_their_slopes_or_a_reason(name, kind):
    estimator = fitted(kind)
    if estimator is None:
        return
    for question, at, expected in asked_of(estimator):
        ask = getattr(estimator, question)
        if (name, question) in RANDOM:
            continue
        try:
            y, g, said = answer(ask, at)
        except TypeError as error:
            assert f"[at {__file__}" in str(error), question  # noqa: PT017
            continue
        scale = np.max(np.abs(expected), initial=1.0)
        np.testing.assert_allclose(y, expected, rtol=0.0, atol=1e-11 * scale)
        if (name, question) in STEPS:
            continue
        along = np.random.default_rng(1).normal(size=at.shape)
        slope = differences(lambda z, ask=ask: np.sum(dense(ask(z))), [at], [along], h=1e-4)
        if g is None:
            assert said or abs(slope) < 1e-6, question
            continue
        parts = np.asarray(g) * along
        assert abs(np.sum(parts) - slope) <= 1e-5 * np.sum(np.abs(parts)) + 1e-6, question
