"""Losses."""

import math

import numpy as np

import arraytape as xp
from arraytape import GradientTape, nn
from arraytape.testing import check_gradients, storages
from helpers.nets import CLASSES, INF, LOGITS, near, slopes


def test_cross_entropy_of_classes_and_of_one_hot_rows_agree():
    expected = np.log(np.sum(np.exp(LOGITS), axis=1)) - LOGITS[np.arange(4), CLASSES]
    near(nn.softmax_cross_entropy(CLASSES, xp.asarray(LOGITS)), expected)
    near(
        nn.softmax_cross_entropy(xp.asarray(CLASSES, dtype=xp.uint8), xp.asarray(LOGITS)), expected
    )
    near(nn.softmax_cross_entropy(np.eye(3)[CLASSES], xp.asarray(LOGITS)), expected)
    near(nn.softmax_cross_entropy([0, 2, 1, 1], xp.asarray(LOGITS)), expected)
    near(nn.softmax_cross_entropy(CLASSES, xp.asarray(LOGITS.T), axis=0), expected)


def test_the_gradient_of_cross_entropy_is_softmax_less_labels():
    logits = xp.asarray(LOGITS)
    expected = np.asarray(nn.softmax(logits)) - np.eye(3)[CLASSES]
    for labels in (CLASSES, np.eye(3)[CLASSES]):
        with GradientTape() as tape:
            tape.watch(logits)
            loss = nn.softmax_cross_entropy(labels, logits)
        near(tape.gradient(loss, logits), expected, 1e-10)


def test_cross_entropy_against_differences():
    weights = xp.asarray([1.0, 2.0, 0.5, -1.0])
    labels = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    check_gradients(lambda x: xp.sum(weights * nn.softmax_cross_entropy(CLASSES, x)), [LOGITS])
    check_gradients(lambda p, x: xp.sum(weights * nn.softmax_cross_entropy(p, x)), [labels, LOGITS])


def test_cross_entropy_of_extreme_logits_is_finite():
    y, first, _ = slopes(
        lambda x: nn.softmax_cross_entropy([[1.0, 0.0, 0.0]] * 3, x),
        [[1e4, 0.0, -INF], [-1e4, 0.0, -INF], [0.0, 0.0, 0.0]],
    )
    near(y, [0.0, 1e4, math.log(3.0)])
    near(first, [[0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-2 / 3, 1 / 3, 1 / 3]])


def test_lists_take_the_dtype_of_the_predictions():
    x = xp.asarray([[1.0, 2.0]], dtype=xp.float32)
    assert nn.softmax_cross_entropy([[0.5, 0.5]], x).dtype == xp.float32
    assert nn.mean_squared_error([[0.5, 0.5]], x).dtype == xp.float32


def test_a_class_that_does_not_exist_costs_nan_where_nobody_may_look():
    device = storages.hostile().devices()[0]
    logits = xp.asarray(LOGITS, device=device)
    loss = nn.softmax_cross_entropy(xp.asarray([0, 3, -1, 1], device=device), logits)
    found = np.asarray(loss.to_device("cpu"))
    assert np.isnan(found).tolist() == [False, True, True, False]


def test_mean_squared_error_is_the_mean_of_the_squares():
    y = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    near(nn.mean_squared_error([[1.0, 0.0], [0.0, 5.0]], y), 13.0 / 4.0)
    near(nn.mean_squared_error([[1.0, 0.0], [0.0, 5.0]], y, axis=1), [2.0, 4.5])
    near(nn.mean_squared_error([1 + 1j], xp.asarray([2j])), 2.0)
    near(nn.mean_squared_error([1, 2], xp.asarray([3, 2])), 2.0)
    labels = xp.asarray([[0.5, 1.0], [2.0, 0.0]])
    check_gradients(lambda a: nn.mean_squared_error(labels, a), [np.asarray(y)])
    check_gradients(
        lambda a: nn.mean_squared_error(xp.asarray([1.0, 2j]), a), [np.asarray([2j, 3])]
    )


def test_weights_of_sum_zero_give_the_loss_zero_as_in_keras():
    loss = nn.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    labels, x = xp.zeros((2, 2)), xp.asarray([[1.0, 1.0], [3.0, 3.0]])
    for weights in ([0.0, 0.0], [1.0, -1.0]):
        with GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, x, sample_weight=weights)
        assert float(value) == 0.0
        assert np.array_equal(tape.gradient(value, x), np.zeros((2, 2)))
