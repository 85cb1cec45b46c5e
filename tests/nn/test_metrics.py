"""Metrics over batches against the same figure of all data at once."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn import metrics as sklearn

import arraytape as xp
from arraytape import checkpoint
from arraytape.nn import metrics

RNG = np.random.default_rng(4)
N, BATCH = 60, 20
BINARY = RNG.integers(0, 2, N)
SCORES = np.round(np.clip(0.4 * BINARY + RNG.uniform(0.0, 0.6, N), 0, 1), 2)
CLASSES, LOGITS = RNG.integers(0, 3, N), RNG.normal(size=(N, 3))
HOT, TRUTH, GUESS = np.eye(3)[CLASSES], RNG.normal(size=N), RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.5, 2.0, N)


def mean(each):
    return lambda w: np.average(each, weights=w)


def auc(curve):
    """The area at the thresholds, and of the ROC curve that of scikit-learn, too: they are on a grid."""

    def area(w):
        if curve == "ROC":
            return sklearn.roc_auc_score(BINARY, SCORES, sample_weight=w)
        w = np.ones(N) if w is None else w
        grid = np.array([-1e-7, *(np.arange(1, 200) / 200 + 1e-9), 1 + 1e-7])
        above = grid[:, None] < SCORES
        tp, fp = above @ (BINARY * w), above @ ((1 - BINARY) * w)
        area, total = 0.0, tp[0]
        for i in range(len(grid) - 1):
            dtp, dp = tp[i] - tp[i + 1], tp[i] + fp[i] - tp[i + 1] - fp[i + 1]
            if dp == 0:
                continue
            slope, p0, p1 = dtp / dp, tp[i + 1] + fp[i + 1], tp[i] + fp[i]
            offset = tp[i + 1] - slope * p0
            area += slope * (dtp + (offset * math.log(p1 / p0) if p0 > 0 else 0.0)) / total
        return area

    return area


def scored(f):
    return lambda w: f(BINARY, SCORES > 0.5, sample_weight=w)


PREDICTED = LOGITS.argmax(axis=1)
CASES = {
    "Mean": (metrics.Mean, (TRUTH,), mean(TRUTH)),
    "Sum": (metrics.Sum, (TRUTH,), lambda w: np.sum(TRUTH * (1 if w is None else w))),
    "Accuracy": (metrics.Accuracy, (CLASSES, PREDICTED), mean(CLASSES == PREDICTED)),
    "BinaryAccuracy": (metrics.BinaryAccuracy, (BINARY, SCORES), mean((SCORES > 0.5) == BINARY)),
    "CategoricalAccuracy": (metrics.CategoricalAccuracy, (HOT, LOGITS), mean(CLASSES == PREDICTED)),
    "SparseCategoricalAccuracy": (
        metrics.SparseCategoricalAccuracy, (CLASSES, LOGITS), mean(CLASSES == PREDICTED)
    ),
    "MeanSquaredError": (metrics.MeanSquaredError, (TRUTH, GUESS), mean((TRUTH - GUESS) ** 2)),
    "MeanAbsoluteError": (metrics.MeanAbsoluteError, (TRUTH, GUESS), mean(abs(TRUTH - GUESS))),
    "RootMeanSquaredError": (
        metrics.RootMeanSquaredError, (TRUTH, GUESS),
        lambda w: math.sqrt(np.average((TRUTH - GUESS) ** 2, weights=w)),
    ),
    "Precision": (metrics.Precision, (BINARY, SCORES), scored(sklearn.precision_score)),
    "Recall": (metrics.Recall, (BINARY, SCORES), scored(sklearn.recall_score)),
    "AUC": (lambda: metrics.AUC(801), (BINARY, SCORES - 1e-3), auc("ROC")),
    "AUC of PR": (lambda: metrics.AUC(801, "PR"), (BINARY, SCORES - 1e-3), auc("PR")),
}  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_batches_add_up_to_the_figure_of_all(name, weighted):
    make, data, expected = CASES[name]
    metric = make()
    wanted = expected(WEIGHTS if weighted else None)
    for _ in range(2):  # a second time after a reset
        for i in range(0, N, BATCH):
            part = [xp.asarray(x[i : i + BATCH]) for x in data]
            weights = WEIGHTS[i : i + BATCH] if weighted else None
            metric.update_state(*part, sample_weight=weights)
        np.testing.assert_allclose(float(metric.result()), wanted, rtol=1e-9)
        metric.reset_state()
        assert all(not np.any(np.asarray(v)) for v in metric.variables)


@pytest.mark.parametrize("name", ["Mean", "SparseCategoricalAccuracy", "AUC"])
def test_replays_add_up_as_eager_calls_do(name):
    make, data, _ = CASES[name]
    both = make(), make()
    step = xp.function(both[1].update_state)
    for i in range(0, N, 10):
        part = [xp.asarray(x[i : i + 10]) for x in data]
        both[0].update_state(*part)
        step(*part)
    assert step.counts["replayed"] == 4
    for a, b in zip(both[0].variables, both[1].variables, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-13)


def test_state_is_copied_pickled_and_saved_and_no_gradient_flows(tmp_path):
    metric, x = metrics.Mean("loss"), xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = metric(x * 2.0)
    assert float(y) == 3.0
    assert tape.gradient(y, x, unconnected_gradients="zero").tolist() == [0.0, 0.0]
    checkpoint.save(tmp_path / "loss.safetensors", metric)
    fresh = metrics.Mean()
    checkpoint.load(tmp_path / "loss.safetensors", fresh)
    for other in (fresh, pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert float(other.result()) == 3.0
    assert math.isnan(metrics.Mean().result())
    assert [v.name for v in metric.variables] == ["loss/total", "loss/count"]


def test_an_update_that_fails_adds_nothing(monkeypatch):
    metric, calls, add = metrics.Mean(), [], xp.Variable.assign_add
    metric.update_state([1.0, 2.0])

    def failing(self, value):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return add(self, value)

    monkeypatch.setattr(xp.Variable, "assign_add", failing)
    with pytest.raises(KeyboardInterrupt):
        metric.update_state([3.0])
    assert [float(v) for v in metric.variables] == [3.0, 2.0]


def test_logits_lists_and_weights_of_rows_are_taken():
    a, b = metrics.AUC(from_logits=True), metrics.AUC()
    a.update_state([0, 1, 1], [-1.0, 0.5, -2.0])
    b.update_state([0, 1, 1], 1 / (1 + np.exp([1.0, -0.5, 2.0])))
    assert float(a.result()) == float(b.result()) == 0.5
    error = metrics.MeanSquaredError()
    error.update_state([[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [2.0, 2.0]], sample_weight=[1.0, 0.0])
    assert float(error.result()) == 1.0


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (
            lambda: metrics.Accuracy()([1, 2], [1]),
            ValueError,
            "accuracy: labels .* differ in shape",
        ),
        (
            lambda: metrics.SparseCategoricalAccuracy()([0], [1.0, 2.0]),
            ValueError,
            "one label for each row",
        ),
        (lambda: metrics.Mean()([1j]), TypeError, "takes real numbers"),
        (lambda: metrics.Mean()([1.0], [1.0, 2.0]), ValueError, "sample_weight"),
        (lambda: metrics.AUC(1), ValueError, "num_thresholds must be at least 2"),
        (lambda: metrics.AUC(curve="roc"), ValueError, "no curve 'roc'; there are ROC, PR"),
        (lambda: metrics.Precision("a"), TypeError, "thresholds must be a number"),
        (lambda: xp.vmap(metrics.Mean())(xp.ones((3, 2))), TypeError, "one for each example"),
        (lambda: metrics.Metric().result(), NotImplementedError, "Metric has no result"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
