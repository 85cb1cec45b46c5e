"""scikit-learn's metrics in a context of interop."""

import functools
import inspect

import numpy as np
import pytest
import sklearn
from sklearn import metrics
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import _classification, _ranking
from sklearn.model_selection import cross_val_score

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(0.3, 2.0, (7, 2))
PREDICTION = TRUTH + RNG.uniform(-0.25, 0.25, (7, 2))
LABELS = np.asarray([0, 1, 1, 0, 1, 0, 1])
CHANCES = RNG.uniform(0.1, 0.9, 7)
THREE = np.asarray([0, 1, 2, 0, 1, 2, 2])
SHARES = RNG.dirichlet([2.0, 3.0, 4.0], 7)


@pytest.fixture(autouse=True, params=[True, False], ids=["array_api_dispatch", ""])
def dispatching(request):
    with sklearn.config_context(array_api_dispatch=request.param):
        yield


def number(found):
    """What a metric of NumPy data gives, a float, as 0-d data."""
    return found if isinstance(found, xp.Array) else np.asarray(found)


def shares(p):
    """Rows that sum to 1, also where one number is changed a little."""
    return p / p.sum(axis=1, keepdims=True)


REGRESSION = {
    "mean_absolute_error": metrics.mean_absolute_error,
    "mean_pinball_loss": functools.partial(metrics.mean_pinball_loss, alpha=0.3),
    "mean_absolute_percentage_error": metrics.mean_absolute_percentage_error,
    "mean_squared_error": metrics.mean_squared_error,
    "root_mean_squared_error": metrics.root_mean_squared_error,
    "mean_squared_log_error": metrics.mean_squared_log_error,
    "root_mean_squared_log_error": metrics.root_mean_squared_log_error,
    "median_absolute_error": metrics.median_absolute_error,
    "explained_variance_score": metrics.explained_variance_score,
    "r2_score": metrics.r2_score,
    "d2_pinball_score": functools.partial(metrics.d2_pinball_score, alpha=0.3),
    "d2_absolute_error_score": metrics.d2_absolute_error_score,
}
OF_ONE_COLUMN = {
    "max_error": metrics.max_error,
    "mean_tweedie_deviance": functools.partial(metrics.mean_tweedie_deviance, power=1.5),
    "mean_poisson_deviance": metrics.mean_poisson_deviance,
    "mean_gamma_deviance": metrics.mean_gamma_deviance,
    "d2_tweedie_score": functools.partial(metrics.d2_tweedie_score, power=1.5),
}


@pytest.mark.parametrize("name", REGRESSION)
def test_a_metric_of_regression_is_a_0_d_array(name):
    check(lambda y, p: number(REGRESSION[name](y, p)), TRUTH, PREDICTION, vmap=False, exact=False)


@pytest.mark.parametrize("name", OF_ONE_COLUMN)
def test_a_metric_of_one_column(name):
    def f(y, p):
        return number(OF_ONE_COLUMN[name](y, p))

    check(f, TRUTH[:, 0], PREDICTION[:, 0], vmap=False, exact=False)


CLASSIFICATION = {
    "log_loss": (lambda y, p: metrics.log_loss(y, p), LABELS, CHANCES),
    "log_loss of three": (lambda y, p: metrics.log_loss(y, shares(p)), THREE, SHARES),
    "brier_score_loss": (lambda y, p: metrics.brier_score_loss(y, p), LABELS, CHANCES),
    "d2_brier_score": (lambda y, p: metrics.d2_brier_score(y, p), LABELS, CHANCES),
    "d2_log_loss_score": (lambda y, p: metrics.d2_log_loss_score(y, shares(p)), THREE, SHARES),
}


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_a_metric_of_chances(name):
    f, labels, chances = CLASSIFICATION[name]

    def of_chances(p):
        return number(f(xp.asarray(labels) if isinstance(p, xp.Array) else labels, p))

    check(of_chances, chances, vmap=False, exact=False, order=1)


# --- step functions of scores and labels ----------------------------------------------------------
SCORED = [
    name for name in sorted({*vars(_ranking)} & {*metrics.__all__})
    if "y_score" in inspect.signature(getattr(metrics, name)).parameters
]  # fmt: skip
SEVERAL = np.asarray([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 1]])
OF_LABELS = [
    (name, argument) for name in sorted({*vars(_classification)} & {*metrics.__all__})
    for argument in [*inspect.signature(getattr(metrics, name)).parameters][1:2]
    if argument in ("y_pred", "y2") and "matrix" not in name and "report" not in name  # no floats
]  # fmt: skip


def scored(name, scores, **options):
    """Return what a metric of scores returns, and the index from which on results are scores."""
    metric = getattr(metrics, name)
    if "label" in name or "coverage" in name or "dcg" in name:
        return metric(SEVERAL, scores, **options), None
    if name == "top_k_accuracy_score":
        return metric(THREE, scores, **options), None
    if name == "metric_at_thresholds":
        return metric(LABELS, scores[:, 0], metrics.zero_one_loss)[0], None
    found = metric(LABELS, scores[:, 0], **options)
    return found, -1 if isinstance(found, tuple) else None


def summed(found):
    parts = found if isinstance(found, tuple) else (found,)
    return sum(xp.sum(part) for part in parts if getattr(part, "dtype", np.dtype(int)).kind == "f")


@pytest.mark.parametrize("name", SCORED)
def test_a_metric_of_the_order_of_scores_leads_to_a_smooth_loss(name):
    def steps(scores):
        found, end = scored(name, scores)
        return summed(found[:end] if isinstance(found, tuple) else found)

    message = f"{name} has no derivative with respect to y_score.*such as log_loss"
    plain = scored(name, SHARES)[0]
    plain = plain if isinstance(plain, tuple) else (plain,)
    with interop.sklearn(), xp.GradientTape() as tape:
        scores = xp.asarray(SHARES)
        tape.watch(scores)
        found = scored(name, scores)[0]
    for own, theirs in zip(found if isinstance(found, tuple) else (found,), plain, strict=True):
        np.testing.assert_array_equal(np.asarray(xp.stop_gradient(own)), theirs)
    if name == "confusion_matrix_at_thresholds":  # integers
        return
    with interop.sklearn(), pytest.raises(LookupError, match=message):
        xp.grad(steps)(SHARES)


WEIGHTED = [
    name for name in SCORED
    if "sample_weight" in inspect.signature(getattr(metrics, name)).parameters
    and name not in ("coverage_error", "confusion_matrix_at_thresholds", "metric_at_thresholds")
]  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_metric_of_the_order_of_scores_moves_with_sample_weights(name):
    def f(weights, scores):
        found, end = scored(name, scores, sample_weight=weights)
        parts = found[:end] if end else (found,)
        return sum((i + 1) * xp.sum(part**2) for i, part in enumerate(parts))

    weights = RNG.uniform(0.5, 2.0, 7)
    for scores in (SHARES, xp.asarray(SHARES)):
        with interop.sklearn():
            check(functools.partial(f, scores=scores), weights, vmap=False, exact=False)


@pytest.mark.parametrize(("name", "argument"), OF_LABELS)
def test_a_metric_of_labels_that_a_tape_follows_leads_to_a_smooth_loss(name, argument):
    def f(labels):
        options = {"beta": 0.5} if name == "fbeta_score" else {}
        return summed(getattr(metrics, name)(xp.asarray(LABELS), labels, **options))

    message = f"{name} has no derivative with respect to {argument}.*such as log_loss"
    with interop.sklearn(), pytest.raises(LookupError, match=message):
        xp.grad(f)(np.asarray([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0]))


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_cross_validated_step_function_leads_to_a_smooth_loss(scoring):
    X = RNG.normal(size=(40, 2))
    y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)

    def f(C):
        return cross_val_score(LogisticRegression(C=C), X, y, cv=3, scoring=scoring).mean()

    with interop.sklearn(), pytest.raises(LookupError, match="such as log_loss"):
        xp.grad(f)(1.0)


MODELS = {
    "LogisticRegression": LogisticRegression,
    "StackingClassifier": lambda: StackingClassifier([("one", LogisticRegression())], cv=2),
    "VotingClassifier": lambda: VotingClassifier([("one", LogisticRegression())], voting="soft"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_score_of_a_classifier_leads_to_a_smooth_loss(name):
    X = RNG.normal(size=(40, 2))
    y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)

    def f(x):
        return MODELS[name]().fit(x, y).score(x, y)

    message = rf"{name}\.score has no derivative.*such as log_loss"
    with interop.sklearn(), pytest.raises(LookupError, match=message):
        xp.grad(f)(X)


def test_numpys_metrics_stay_floats():
    with interop.sklearn():
        assert type(metrics.mean_squared_error(TRUTH, PREDICTION)) is float
        assert type(metrics.accuracy_score(LABELS, LABELS)) is float


# --- weights, and parameters of kernels, beside NumPy data ---------------------------------------------
SAMPLES = np.abs(np.random.default_rng(3).normal(size=(12, 3)))
SIDES = (SAMPLES[:, 0] > 0.6).astype(int)
CHANCES = 1.0 / (1.0 + np.exp(-2.0 * (SAMPLES[:, 0] - 0.6)))


def naive(kind, weights):
    return kind().fit(SAMPLES, SIDES, sample_weight=weights).predict_proba(SAMPLES)[0, 0]


def naive_twice(kind, weights):
    model = kind().partial_fit(SAMPLES, SIDES, [0, 1], sample_weight=weights)
    model.partial_fit(SAMPLES, SIDES, sample_weight=weights**2)
    return model.predict_proba(SAMPLES)[0, 0]


WEIGHTED = {
    **{
        name: lambda w, name=name: getattr(sklearn.metrics, name)(SIDES, CHANCES, sample_weight=w)
        for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score")
    },
    "hinge_loss": lambda w: sklearn.metrics.hinge_loss(SIDES, 2 * CHANCES - 1, sample_weight=w),
    **{
        f"{f.__name__} {kind.__name__}": lambda w, f=f, kind=kind: f(kind, w)
        for f in (naive, naive_twice)
        for kind in (
            sklearn.naive_bayes.BernoulliNB,
            sklearn.naive_bayes.ComplementNB,
            sklearn.naive_bayes.MultinomialNB,
        )
    },
    **{
        name: lambda w, name=name: getattr(sklearn.metrics.pairwise, name)(SAMPLES, gamma=w[0]).sum()
        for name in (
            "chi2_kernel", "laplacian_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel",
        )
    },
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_and_parameters_may_be_arrays_where_the_data_are_numpys(name):
    weights = np.linspace(0.5, 1.5, 12)
    along = np.cos(np.arange(12.0))
    value = WEIGHTED[name](weights)
    with interop.sklearn():
        found, slope = xp.value_and_grad(WEIGHTED[name])(weights)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    ends = [WEIGHTED[name](weights + t * 1e-6 * along) for t in (1, -1)]
    np.testing.assert_allclose(np.sum(slope * along), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def test_labels_that_a_program_rounds_are_constants_for_a_metric():
    with interop.sklearn(), xp.GradientTape() as tape:
        x = xp.asarray(CHANCES)
        tape.watch(x)
        score = sklearn.metrics.accuracy_score(SIDES, xp.round(x))
    assert tape.gradient(score, x) is None
