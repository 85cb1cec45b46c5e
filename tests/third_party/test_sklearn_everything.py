"""All of scikit-learn's estimators, with and without array API support: none is wrong in silence.

Most of them have no such support and refuse Arrays, or convert them.  What does give Arrays must have
the gradient that differences on NumPy arrays find, or say that a part of it left, and where.
"""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.utils import all_estimators
from sklearn.utils._test_common.instance_generator import _construct_instances

import arraytape as xp
from arraytape.testing.derivatives import differences, directions, inner

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(8, 3)), np.abs(RNG.normal(size=8))
CLASSES = np.asarray([0, 1, 0, 1, 1, 0, 1, 0])
METHODS = (
    "transform",
    "decision_function",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "score_samples",
)
SEARCHES = {"HalvingGridSearchCV", "HalvingRandomSearchCV", "RandomizedSearchCV", "GridSearchCV"}
SLOW = {"LogisticRegressionCV", "TunedThresholdClassifierCV"}
# They fit what has a row of its own, often, or search at length.
NIGHTLY = {
    "CCA",
    "EllipticEnvelope",
    "FixedThresholdClassifier",
    "LogisticRegressionCV",
    "PLSRegression",
    "PowerTransformer",
    "RANSACRegressor",
    "RFE",
    "RFECV",
    "SelfTrainingClassifier",
    "TunedThresholdClassifierCV",
}


def fitted(estimator, X, y):
    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator.fit(X, y)


def instances():
    for name, kind in all_estimators():
        if name in SEARCHES:  # see test_sklearn_composition
            continue
        try:
            estimator = next(iter(_construct_instances(kind)))
        except Exception:  # not everything can be made without arguments
            continue
        marks = [pytest.mark.slow] * (name in SLOW) + [pytest.mark.nightly] * (name in NIGHTLY)
        yield pytest.param(estimator, marks=marks)


@pytest.fixture(params=[True, False], ids=["dispatching", "not dispatching"])
def either_way(request):
    """Both with array API support and without: who forgets to switch it on must not be misled."""
    with sklearn.config_context(array_api_dispatch=request.param):
        yield


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("estimator", list(instances()), ids=lambda e: type(e).__name__)
def test_no_estimator_is_wrong_in_silence(estimator, uneven_sum):
    y = CLASSES if is_classifier(estimator) else Y
    for method in METHODS:
        if not (hasattr(type(estimator), method) or hasattr(type(estimator), "__getattr__")):
            continue
        # Libraries warn of what they like, and raise what they like when they refuse an Array.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            data = xp.asarray(X)
            try:
                with xp.GradientTape() as tape:
                    tape.watch(data)
                    result = getattr(fitted(estimator, data, xp.asarray(y)), method)(data)
                    target = uneven_sum(result)
            except Exception:
                continue
        if not isinstance(target, xp.Array):
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            g = tape.gradient(target, data, unconnected_gradients="zero")
        if any("left the tape at" in str(warning.message) for warning in said):
            continue
        along = directions([X])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slope = differences(
                lambda X, name=method: uneven_sum(getattr(fitted(estimator, X, y), name)(X)),
                [X],
                along,
                1e-4,
            )
        np.testing.assert_allclose(inner([np.asarray(g)], along), slope, rtol=1e-5, atol=1e-6)
