"""LayerNormalization and BatchNormalization against their formulas."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn
from arraytape.testing import check_gradients

X = np.random.default_rng(2).normal(2.0, 3.0, size=(5, 4, 3))


def normal(x, axes, epsilon=1e-3):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("axis", [-1, 1, (1, 2), [-1, -2]])
def test_a_layer_normalises_each_example(axis):
    layer = nn.LayerNormalization(axis, gamma_initializer="uniform", beta_initializer="normal")
    axes = tuple(sorted({i % 3 for i in np.atleast_1d(axis)}))
    found = np.asarray(layer(xp.asarray(X)))
    shape = [n if i in axes else 1 for i, n in enumerate(X.shape)]
    gamma, beta = (np.asarray(v).reshape(shape) for v in (layer.gamma, layer.beta))
    np.testing.assert_allclose(found, normal(X, axes) * gamma + beta, rtol=1e-12, atol=1e-13)


def test_gradients_of_normalisation_to_second_order():
    layer = nn.LayerNormalization()
    layer(xp.asarray(X))

    def loss(x, gamma, beta):
        return xp.sum(nn.functional_call(layer, {"gamma": gamma, "beta": beta}, x) ** 3)

    check_gradients(loss, [X[:2], np.arange(1.0, 4.0), np.ones(3)], seeds=1, rtol=1e-6)


def test_gradients_go_through_the_batchs_own_statistics():
    layer = nn.BatchNormalization()
    layer(xp.asarray(X[0]))
    weights = np.cos(np.arange(12.0)).reshape(4, 3)

    def loss(x):
        return xp.sum(layer(x, training=True) * xp.asarray(weights))

    check_gradients(loss, [X[0]], seeds=1)
    with xp.GradientTape() as tape:
        y = xp.sum(layer(xp.asarray(X[0]), training=True))
    assert tape.gradient(y, layer.moving_mean, unconnected_gradients="zero").tolist() == [0.0] * 3


def test_running_statistics_move_while_training_alone():
    layer = nn.BatchNormalization(momentum=0.9)
    layer(xp.asarray(X))
    assert layer.moving_mean.tolist() == [0.0] * 3
    mean, variance = np.zeros(3), np.ones(3)
    for x in (X, 2.0 * X + 1.0, X**2):
        found = np.asarray(layer(xp.asarray(x), training=True))
        np.testing.assert_allclose(found, normal(x, (0, 1)), rtol=1e-12, atol=1e-13)
        mean = 0.9 * mean + 0.1 * x.mean(axis=(0, 1))
        variance = 0.9 * variance + 0.1 * x.var(axis=(0, 1))
    np.testing.assert_allclose(np.asarray(layer.moving_mean), mean, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(layer.moving_variance), variance, rtol=1e-13)
    expected = (X - mean) / np.sqrt(variance + 1e-3)
    np.testing.assert_allclose(np.asarray(layer(xp.asarray(X))), expected, rtol=1e-12)
    assert [v.name for v in layer.trainable_variables] == [
        "batch_normalization/gamma", "batch_normalization/beta",
    ]  # fmt: skip


def test_another_axis_of_channels_and_single_precision():
    layer = nn.BatchNormalization(axis=1, center=False, scale=False)
    y = layer(xp.asarray(X, dtype=xp.float32), training=True)
    assert y.dtype == xp.float32
    assert layer.moving_mean.dtype == xp.float32
    assert layer.moving_mean.shape == (4,)
    np.testing.assert_allclose(np.asarray(y), normal(X, (0, 2)), rtol=1e-5, atol=1e-5)
    assert layer.trainable_variables == ()


def test_running_statistics_move_in_replays_as_they_do_eagerly():
    found = []
    for wrap in (lambda f: f, xp.function):
        layer = nn.BatchNormalization(momentum=0.8)
        layer(xp.asarray(X[0]))
        step = wrap(lambda x, layer=layer: layer(x, training=True))
        ys = [np.asarray(step(xp.asarray(x))) for x in X]
        found.append([*ys, *map(np.asarray, layer.variables)])
        if wrap is xp.function:
            assert step.counts["replayed"] == 3
    for a, b in zip(*found, strict=True):  # but for last bits, which replays may change
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_a_second_run_moves_running_statistics_no_further():
    found = []
    ways = [(f, g) for f in (lambda f: f, xp.recompute_grad) for g in (lambda f: f, xp.function)]
    for again, replayed in ways:
        x, model = (
            xp.asarray(X[0]),
            nn.Sequential([nn.BatchNormalization(), nn.Dropout(0.5, seed=0)]),
        )
        model(x)
        run = again(lambda x, model=model: model(x, training=True))

        @replayed
        def step(x, run=run, gamma=model.layers[0].gamma):
            with xp.GradientTape() as tape:
                tape.watch(x)
                loss = xp.sum(run(x) ** 3)
            return tape.gradient(loss, [x, gamma])

        gradients = [np.asarray(g) for _ in range(4) for g in step(x)]
        found.append([*gradients, *map(np.asarray, model.variables)])
        if replayed is xp.function:
            assert step.counts["replayed"] == 2
    for one in found[1:]:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_under_vmap_there_is_no_batch():
    layer = nn.BatchNormalization()
    layer(xp.asarray(X[0]))
    with pytest.raises(TypeError, match="under vmap there is one for each example"):
        xp.vmap(lambda x: layer(x, training=True))(xp.asarray(X))
    assert layer.moving_mean.tolist() == [0.0] * 3
    y = xp.vmap(layer)(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(y), np.asarray(layer(xp.asarray(X))))


def test_statistics_that_an_error_interrupts_stay_as_they_were(monkeypatch):
    layer = nn.BatchNormalization()
    layer(xp.asarray(X[0]))
    calls, assign = [], xp.Variable.assign

    def failing(self, value):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return assign(self, value)

    monkeypatch.setattr(xp.Variable, "assign", failing)
    with pytest.raises(KeyboardInterrupt):
        layer(xp.asarray(X[0]), training=True)
    assert layer.moving_mean.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: nn.LayerNormalization(axis=5)(xp.asarray(X)), ValueError, "got the axes"),
        (
            lambda: nn.LayerNormalization(axis=(1, -2))(xp.asarray(X)),
            ValueError,
            "none may occur twice",
        ),
        (lambda: nn.LayerNormalization(axis="last"), TypeError, "axis must be an integer"),
        (lambda: nn.BatchNormalization(momentum=2.0), ValueError, r"must lie in \[0, 1\]"),
        (lambda: nn.BatchNormalization(epsilon=-1.0), ValueError, "epsilon"),
        (lambda: nn.BatchNormalization()(xp.asarray(X), training=1), TypeError, "training must be"),
        (lambda: nn.BatchNormalization()(xp.zeros((0, 3)), True), ValueError, "no element"),
        (lambda: nn.BatchNormalization()(X.tolist()), TypeError, "takes an Array, got list"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()


@pytest.mark.parametrize("kind", [nn.LayerNormalization, nn.BatchNormalization])
def test_a_call_with_another_width_is_an_error(kind):
    layer = kind()
    layer(xp.asarray(X))
    with pytest.raises(ValueError, match="was made for"):
        layer(xp.asarray(X[..., :2]))
