"""scikit-learn's metrics, exactly as installed: which keep the gradient, and where others leave it."""

import functools

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics import cluster

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(0.3, 2.0, (7, 2))
PREDICTION = TRUTH + RNG.uniform(-0.25, 0.25, (7, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, 7)

# --- regression ---------------------------------------------------------------------------------
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
    "r2_score, not made finite": functools.partial(metrics.r2_score, force_finite=False),
    "d2_pinball_score": functools.partial(metrics.d2_pinball_score, alpha=0.3),
    "d2_absolute_error_score": metrics.d2_absolute_error_score,
}


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.every(3)
def test_raw_values_keep_the_gradient(differentiates, name):
    def f(truth, prediction):
        return REGRESSION[name](truth, prediction, multioutput="raw_values")

    differentiates(f, TRUTH, PREDICTION)


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.every(3)
def test_raw_values_with_sample_weights(differentiates, name):
    def f(truth, prediction, weights):
        return REGRESSION[name](truth, prediction, sample_weight=weights, multioutput="raw_values")

    if name == "median_absolute_error":  # its weights only choose
        differentiates(f, TRUTH, PREDICTION, constants=(WEIGHTS,))
    else:
        differentiates(f, TRUTH, PREDICTION, WEIGHTS)


@pytest.mark.parametrize("name", ["r2_score", "explained_variance_score"])
def test_a_constant_target_has_a_score_that_does_not_move(differentiates, name):
    def f(prediction, truth):
        return REGRESSION[name](truth, prediction, multioutput="raw_values")

    constant = np.stack([np.full(7, 0.7), TRUTH[:, 1]], axis=1)
    differentiates(f, PREDICTION, constants=(constant,))


DEVIANCES = {
    "Poisson": metrics.mean_poisson_deviance,
    "gamma": metrics.mean_gamma_deviance,
    "Tweedie": functools.partial(metrics.mean_tweedie_deviance, power=1.5),
    "D2 of Tweedie": functools.partial(metrics.d2_tweedie_score, power=1.5),
    "largest error": metrics.max_error,
}


@pytest.mark.parametrize("name", [*REGRESSION, *DEVIANCES])
def test_a_single_score_is_a_float_and_says_where_it_became_one(leaves, name):
    f = (REGRESSION | DEVIANCES)[name]
    inputs = (TRUTH[:, 0], PREDICTION[:, 0])
    assert leaves(f, *inputs, at="sklearn/metrics/_regression.py", how="float") is None


def test_averages_of_ones_own_keep_the_gradient(differentiates):
    def f(truth, prediction):
        errors = metrics.mean_squared_error(truth, prediction, multioutput="raw_values")
        return errors @ errors

    differentiates(f, TRUTH, PREDICTION, order=2)


# --- classification: scores are counts, and losses of probabilities are floats --------------------
LABELS = np.asarray([0, 1, 2, 0, 1, 2, 1, 0])
GUESSES = np.asarray([0, 2, 2, 0, 1, 1, 1, 2])
MANY = np.asarray([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
MANY_GUESSES = np.asarray([[1, 0, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]])
COUNTS = {
    "accuracy": metrics.accuracy_score,
    "balanced accuracy": metrics.balanced_accuracy_score,
    "kappa": metrics.cohen_kappa_score,
    "confusion matrix": metrics.confusion_matrix,
    "normalized": functools.partial(metrics.confusion_matrix, normalize="true"),
    "multilabel confusion matrix": metrics.multilabel_confusion_matrix,
    "hamming": metrics.hamming_loss,
    "zero one": metrics.zero_one_loss,
    "f1 per class": functools.partial(metrics.f1_score, average=None),
    "f1": functools.partial(metrics.f1_score, average="macro"),
    "fbeta": functools.partial(metrics.fbeta_score, beta=0.5, average="weighted"),
    "jaccard": functools.partial(metrics.jaccard_score, average="micro"),
    "precision": functools.partial(metrics.precision_score, average=None),
    "recall": functools.partial(metrics.recall_score, average=None),
    "all of these": functools.partial(metrics.precision_recall_fscore_support, average=None),
}
OF_MANY_LABELS = ("accuracy", "hamming", "zero one", "f1 per class", "precision", "recall")


@pytest.mark.parametrize("name", COUNTS)
def test_scores_of_labels(has_values, name):
    has_values(COUNTS[name], LABELS, GUESSES)


@pytest.mark.parametrize("name", OF_MANY_LABELS)
def test_scores_of_several_labels_at_once(has_values, name):
    has_values(COUNTS[name], MANY, MANY_GUESSES)


@pytest.mark.parametrize("name", ["f1 per class", "precision", "recall", "all of these"])
def test_scores_per_class_move_with_sample_weights(differentiates, name):
    def f(weights, labels, guesses):
        return COUNTS[name](labels, guesses, sample_weight=weights)

    differentiates(f, RNG.uniform(0.5, 2.0, 8), constants=(LABELS, GUESSES))


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_a_confusion_matrix_moves_with_sample_weights(normalize):
    weights = xp.asarray(RNG.uniform(0.5, 2.0, 8))
    labels, guesses = xp.asarray(LABELS), xp.asarray(GUESSES)
    with xp.GradientTape() as tape:
        tape.watch(weights)
        matrix = metrics.confusion_matrix(
            labels, guesses, sample_weight=weights, normalize=normalize
        )
    with pytest.warns(xp.TapeWarning, match=r"metrics._classification\.py|_array_api\.py"):
        assert tape.gradient(matrix, weights) is None


PROBABILITIES = RNG.uniform(0.1, 0.9, 6)
BINARY = np.asarray([0, 1, 1, 0, 1, 0])
PROPER = {
    "log loss": metrics.log_loss,
    "Brier": metrics.brier_score_loss,
    "D2 of Brier": metrics.d2_brier_score,
    "D2 of log loss": metrics.d2_log_loss_score,
}


@pytest.mark.parametrize("name", PROPER)
def test_losses_of_probabilities_are_floats_that_say_where(leaves, name):
    def f(probabilities, labels):
        return PROPER[name](labels, probabilities)

    at = "sklearn/metrics/_classification.py"
    assert leaves(f, PROBABILITIES, at=at, how="float", constants=(BINARY,)) is None


CURVES = {
    "ROC": metrics.roc_curve,
    "DET": metrics.det_curve,
    "precision and recall": metrics.precision_recall_curve,
    "counts": metrics.confusion_matrix_at_thresholds,
}


@pytest.mark.parametrize("name", CURVES)
def test_thresholds_of_curves_are_scores_and_move_with_them(differentiates, name):
    def f(scores, labels):
        thresholds = CURVES[name](labels, scores)[-1]
        return thresholds[1:-1]  # those at the ends may be infinite

    differentiates(f, PROBABILITIES, constants=(BINARY,))


@pytest.mark.parametrize("name", CURVES)
def test_curves_move_with_sample_weights(differentiates, name):
    def f(weights, labels, scores):
        return list(CURVES[name](labels, scores, sample_weight=weights))[:2]

    inputs = RNG.uniform(0.5, 2.0, 6)
    differentiates(f, inputs, constants=(BINARY, PROBABILITIES))


def test_the_average_precision_depends_on_the_order_of_scores_alone(has_values):
    has_values(lambda y, z: [metrics.average_precision_score(y, z)], BINARY, PROBABILITIES)


# --- clusters -----------------------------------------------------------------------------------
POINTS = RNG.normal(size=(8, 2))
CLUSTERS = {
    "Calinski-Harabasz": cluster.calinski_harabasz_score,
    "Davies-Bouldin": cluster.davies_bouldin_score,
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_scores_of_clusters_are_floats_that_say_where(leaves, name):
    at = "sklearn/metrics/cluster/_unsupervised.py"
    assert leaves(CLUSTERS[name], POINTS, at=at, how="float", constants=(LABELS,)) is None


def test_scores_of_two_labellings(has_values):
    has_values(lambda a, b: [metrics.mutual_info_score(a, b)], LABELS, GUESSES)
