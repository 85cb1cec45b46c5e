"""Dropout: random numbers from a key and a count."""

import copy
import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import checkpoint, nn

X = xp.ones((200, 50))


def masks(layer, count=3, x=X):
    return [np.asarray(layer(x, training=True)) for _ in range(count)]


def test_elements_are_zero_at_the_rate_and_the_others_scaled():
    (y,) = masks(nn.Dropout(0.3, seed=0), 1)
    assert abs(np.mean(y == 0) - 0.3) < 0.02
    assert np.unique(y).tolist() == [0.0, 1 / 0.7]
    assert abs(y.mean() - 1.0) < 0.02


def test_without_training_data_stay_as_they_are():
    layer = nn.Dropout(0.3, seed=0)
    assert layer(X) is X
    assert layer.seed_generator_state[1] == 0
    assert np.asarray(nn.Dropout(0.0)(X, training=True)).all()


def test_each_call_has_its_own_zeros_and_the_seed_says_which():
    a, b = masks(nn.Dropout(0.5, seed=1)), masks(nn.Dropout(0.5, seed=1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a[0], a[1])
    assert not np.array_equal(a[0], masks(nn.Dropout(0.5, seed=2))[0])
    draw = np.random.default_rng(1)
    both = nn.Dropout(0.5, seed=draw), nn.Dropout(0.5, seed=draw)
    np.testing.assert_array_equal(masks(both[0]), a)
    assert not np.array_equal(masks(both[1])[0], a[0])


def test_a_key_of_ones_own_gives_the_same_zeros_and_leaves_the_state():
    layer = nn.Dropout(0.5, seed=1)
    a = layer(X, training=True, key=7)
    for key in (7, xp.asarray(7), [7, 0], np.int64(7)):
        np.testing.assert_array_equal(np.asarray(layer(X, training=True, key=key)), np.asarray(a))
    assert not np.array_equal(np.asarray(layer(X, training=True, key=[7, 1])), np.asarray(a))
    assert layer.seed_generator_state.tolist()[1] == 0


def test_replays_draw_anew_and_as_eager_calls_do():
    layers = nn.Dropout(0.5, seed=3), nn.Dropout(0.5, seed=3)
    step = xp.function(lambda x: layers[1](x, training=True))
    found = [np.asarray(step(X)) for _ in range(5)]
    np.testing.assert_array_equal(found, masks(layers[0], 5))
    assert step.counts == {"traced": 2, "replayed": 3, "eager": 0}


def test_a_key_may_be_an_argument_of_a_replayed_function():
    layer = nn.Dropout(0.5, seed=3)
    step = xp.function(lambda x, key: layer(x, training=True, key=key))
    for key in range(5):
        expected = layer(X, training=True, key=key)
        np.testing.assert_array_equal(np.asarray(step(X, xp.asarray(key))), np.asarray(expected))
    assert step.counts["replayed"] == 3


def test_a_run_that_is_resumed_goes_on_with_the_same_zeros(tmp_path):
    layer = nn.Dropout(0.5, seed=3)
    masks(layer, 2)
    checkpoint.save(tmp_path / "run.safetensors", layer)
    others = [nn.Dropout(0.5, seed=9), pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)]
    checkpoint.load(tmp_path / "run.safetensors", others[0])
    expected = masks(layer, 2)
    for other in others:
        np.testing.assert_array_equal(masks(other, 2), expected)


def test_the_gradient_is_that_of_the_elements_that_stayed():
    x = xp.asarray([1.0, -2.0, 3.0, 4.0], dtype=xp.float32)
    layer = nn.Dropout(0.5, seed=0)
    for f in (layer, xp.recompute_grad(layer.__call__), xp.function(layer.__call__)):
        for _ in range(4):
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = f(x, training=True)
            g = tape.gradient(y, x)
            np.testing.assert_array_equal(np.asarray(g * x), np.asarray(y))
            assert y.dtype == g.dtype == xp.float32
    assert layer.seed_generator_state.tolist()[1] == 12


def test_infinite_elements_that_are_dropped_are_zero():
    y = nn.Dropout(0.5, seed=0)(xp.full((100,), xp.inf), training=True)
    assert set(np.asarray(y).tolist()) == {0.0, np.inf}


def test_an_axis_of_length_one_is_dropped_as_a_whole():
    y = np.asarray(nn.Dropout(0.5, (None, 1), seed=0)(X, training=True))
    assert np.array_equal(y, np.repeat(y[:, :1], 50, axis=1))
    assert 0 < np.count_nonzero(y[:, 0]) < 200


def test_under_vmap_all_examples_have_the_same_zeros():
    layer = nn.Dropout(0.5, seed=0)
    y = np.asarray(xp.vmap(lambda x: layer(x, training=True))(X))
    assert np.array_equal(y, np.repeat(y[:1], 200, axis=0))
    assert layer.seed_generator_state.tolist()[1] == 1
    assert layer(X, training=True).shape == X.shape


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: nn.Dropout(1.0), ValueError, r"rate must lie in \[0, 1\), got 1.0"),
        (lambda: nn.Dropout(-0.1), ValueError, "rate"),
        (lambda: nn.Dropout("a"), TypeError, "rate must be a number, got str"),
        (lambda: nn.Dropout(0.5, seed="a"), TypeError, "seed"),
        (lambda: nn.Dropout(0.5)(X, training="yes"), TypeError, "training must be True or False"),
        (lambda: nn.Dropout(0.5)(X, True, 0.5), TypeError, "key must be an integer"),
        (lambda: nn.Dropout(0.5)(X, True, [1, 2, 3]), TypeError, "Array of one or two"),
        (lambda: nn.Dropout(0.5, (2, 1))(X, True), ValueError, r"noise_shape \(2, 1\)"),
        (lambda: nn.Dropout(0.5)([1.0], True), TypeError, "takes an Array, got list"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
