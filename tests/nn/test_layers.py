"""Layers."""

import math

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable, nn, optimizers
from arraytape.testing import storages
from helpers.nets import ACTIVATIONS, CLASSES, LOGITS, near


def test_case_19_the_gradients_of_a_linear_layer():
    w, b = Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Variable([0.0, 0.0])
    x = xp.asarray([[1.0, 2.0, 3.0]])
    with GradientTape(persistent=True) as tape:
        loss = xp.mean((x @ w + b) ** 2)
    near(loss, 634.0)
    for dw, db in (tape.gradient(loss, [w, b]), tape.gradient(loss, {"w": w, "b": b}).values()):
        near(dw, [[22.0, 28.0], [44.0, 56.0], [66.0, 84.0]])
        near(db, [22.0, 28.0])


def test_case_20_a_layer_is_trained_by_one_step():
    layer = nn.Dense(2, activation="relu", seed=0)
    x = xp.asarray([[1.0, 2.0, 3.0]])
    with GradientTape() as tape:
        loss = xp.mean(layer(x) ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    assert [g.shape for g in gradients] == [(3, 2), (2,)]
    before = [np.asarray(v).copy() for v in layer.trainable_variables]
    optimizers.SGD(0.1).apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
    for v, old, g in zip(layer.trainable_variables, before, gradients, strict=True):
        near(v, old - 0.1 * np.asarray(g))
    assert float(xp.mean(layer(x) ** 2)) < float(loss)


def test_dense_makes_its_variables_on_the_first_call():
    layer = nn.Dense(4, seed=3, name="hidden")
    assert layer.variables == ()
    x = xp.ones((2, 5, 3), dtype=xp.float32)
    assert layer(x).shape == (2, 5, 4)
    kernel, bias = layer.variables
    assert (kernel.name, bias.name) == ("hidden/kernel", "hidden/bias")
    assert (kernel.shape, bias.shape) == ((3, 4), (4,))
    assert kernel.dtype == bias.dtype == layer(x).dtype == xp.float32
    layer(x)
    assert layer.kernel is kernel
    assert list(layer.named_variables()) == ["kernel", "bias"]


def test_dense_computes_the_activation_of_the_sum():
    x = xp.asarray([[1.0, -2.0]])
    for activation, f in ((None, lambda y: y), ("relu", nn.relu), (xp.sin, xp.sin)):
        layer = nn.Dense(3, activation, seed=0)
        y = layer(x)
        layer.bias.assign([1.0, 2.0, 3.0])
        y = layer(x)
        near(y, f(x @ layer.kernel + layer.bias))
    assert nn.Dense(3, use_bias=False)(x).shape == (1, 3)
    assert nn.Dense(3)(x[0, :]).shape == (3,)


def test_the_kernel_is_glorots_and_follows_the_seed():
    x = xp.ones((1, 300))
    kernels = []
    for seed in (1, 1, 2, np.random.default_rng(1)):
        layer = nn.Dense(200, seed=seed)
        layer(x)
        kernels.append(np.asarray(layer.kernel))
    limit = math.sqrt(6.0 / 500.0)
    assert 0.99 * limit < np.max(np.abs(kernels[0])) <= limit
    assert abs(np.mean(kernels[0])) < 0.01 * limit
    near(np.var(kernels[0]), limit**2 / 3.0, 0.02)
    np.testing.assert_array_equal(kernels[0], kernels[1])
    np.testing.assert_array_equal(kernels[0], kernels[3])
    assert not np.any(kernels[0] == kernels[2])


def test_dense_takes_integers_and_complex_numbers():
    near_integers = nn.Dense(2, seed=0)(xp.asarray([[1, 2]]))
    near(near_integers, np.asarray(nn.Dense(2, seed=0)(xp.asarray([[1.0, 2.0]]))))
    layer = nn.Dense(2, seed=0)
    assert layer(xp.asarray([[1j, 2.0]], dtype=xp.complex64)).dtype == xp.complex64
    assert layer.kernel.dtype == xp.float32
    assert nn.Dense(2)(xp.asarray([[True, False]])).dtype == xp.float64


@pytest.mark.parametrize("storage", [storages.hostile, storages.strict], ids=lambda s: s.__name__)
def test_a_step_can_be_taken_on_another_device(storage):
    device = storage().devices()[-1]
    found = []
    for place in ("cpu", device):
        layer, optimizer = nn.Dense(2, "softplus", seed=0), optimizers.Adam(0.1)
        x = xp.asarray([[1.0, 2.0], [0.5, -1.0]], device=place)
        with GradientTape() as tape:
            loss = nn.mean_squared_error(xp.zeros_like(x), layer(x))
        gradients = tape.gradient(loss, layer.variables)
        optimizer.apply_gradients(zip(gradients, layer.variables, strict=True))
        assert layer.kernel.device == place
        found.append([np.asarray(v.to_device("cpu")) for v in layer.variables])
    for a, b in zip(*found, strict=True):
        near(a, b)


@pytest.mark.parametrize("f", ACTIVATIONS, ids=lambda f: f.__name__)
def test_the_rows_of_a_layers_jacobian_are_gradients(f):
    layer, x = nn.Dense(2, f, seed=0), xp.asarray([[1.0, 2.0, -1.0], [0.5, -1.0, 0.0]])
    layer(x)
    with GradientTape(persistent=True) as tape:
        y = layer(x)
    found = tape.jacobian(y, layer.variables)
    for i in np.ndindex(y.shape):
        seed = np.zeros(y.shape)
        seed[i] = 1.0
        rows = tape.gradient(y, layer.variables, output_gradients=xp.asarray(seed))
        for jacobian, row in zip(found, rows, strict=True):
            near(jacobian[i], np.asarray(row), 1e-12)


def test_gradients_for_each_example_by_vmap():
    layer, x = nn.Dense(3, "softplus", seed=0), xp.asarray(LOGITS)
    layer(x)

    def gradient(x, label):
        with GradientTape() as tape:
            loss = nn.softmax_cross_entropy(label, layer(x))
        return tape.gradient(loss, layer.kernel)

    found = xp.vmap(gradient)(x, xp.asarray(CLASSES))
    for i in range(4):
        near(found[i, ...], np.asarray(gradient(x[i, :], int(CLASSES[i]))), 1e-10)


def test_the_hessian_of_cross_entropy_is_the_covariance_of_the_classes():
    logits = xp.asarray(LOGITS[0])
    p = np.asarray(nn.softmax(logits))
    expected = np.diag(p) - np.outer(p, p)
    near(xp.hessian(lambda x: nn.softmax_cross_entropy(1, x))(logits), expected, 1e-10)


def test_a_layer_is_recomputed_in_the_backward_pass():
    layer, x = nn.Dense(2, "sigmoid", seed=0), xp.asarray([[1.0, 2.0, 3.0]])
    layer(x)
    found = []
    for f in (layer, xp.recompute_grad(layer.__call__)):
        with GradientTape() as tape:
            y = xp.sum(f(x) ** 2)
        found.append(tape.gradient(y, layer.variables))
    for a, b in zip(*found, strict=True):
        near(a, np.asarray(b))


class KerasDense(nn.Layer):
    """A layer as the guides of Keras write it."""

    def __init__(self, units):
        super().__init__()
        self.units, self.builds = units, 0

    def build(self, input_shape):
        self.builds += 1
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
        )
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, inputs, training=False):
        return inputs @ self.w + self.b + (1.0 if training else 0.0)


class KerasDouble(KerasDense):
    def build(self, input_shape):
        super().build(input_shape)
        self.factor = self.add_weight(shape=(), initializer="ones")

    def call(self, inputs, training=False):
        return self.factor * super().call(inputs, training)


def test_a_layer_written_for_keras_builds_once_from_a_shape():
    layer = KerasDense(3)
    layer.build((None, 4))
    before = layer.get_weights()
    layer.build((None, 4))
    layer(xp.ones((2, 4)))
    assert layer.built
    assert layer.builds == 1
    np.testing.assert_array_equal(layer.get_weights()[0], before[0])
    assert [v.shape for v in layer.trainable_weights] == [(4, 3), (3,)]


def test_a_layer_written_for_keras_takes_the_dtype_of_its_first_data():
    layer = KerasDouble(3)
    y = layer(xp.ones((2, 4), dtype=xp.float32))
    assert y.dtype == layer.w.dtype == layer.factor.dtype == xp.float32
    assert layer.builds == 1
    assert len(layer.weights) == 3
    model = nn.Sequential([layer])  # which finds the parameter ``training`` of ``call``
    near(model(xp.ones((2, 4)), training=True), np.asarray(model(xp.ones((2, 4)))) + 1.0, 1e-6)


def test_a_failed_build_leaves_no_trace():
    layer = KerasDense("three")
    with pytest.raises(TypeError):
        layer(xp.ones((2, 4)))
    assert not layer.built
    assert not layer.variables
    assert layer.builds == 0


def test_weights_made_in_the_constructor_are_float64():
    class Shift(nn.Layer):
        def __init__(self):
            super().__init__()
            self.by = self.add_weight(shape=(2,), initializer="ones")

        def call(self, x):
            return x + self.by

    near(Shift()(xp.zeros(2)), [1.0, 1.0])


@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.Dense(2, seed=0),
        lambda: nn.Sequential([nn.relu, nn.Dense(2, seed=0)]),
        lambda: nn.LSTM(2, seed=0),
        lambda: nn.Dropout(0.5),
        nn.BatchNormalization,
    ],
)
def test_layers_take_numpys_arrays(layer):
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    layer = layer()
    found = layer(x)
    assert isinstance(found, xp.Array)
    near(found, np.asarray(layer(xp.asarray(x))))


def test_sequential_builds_all_layers_from_a_shape():
    model = nn.Sequential([nn.Dense(4, seed=0), nn.BatchNormalization(), nn.Dense(2, seed=1)])
    model.build((None, 3))
    assert [v.shape for v in model.weights] == [(3, 4), (4,), (4,), (4,), (4,), (4,), (4, 2), (2,)]


def test_recurrent_layers_continue_from_a_state():
    x = xp.asarray(np.random.default_rng(1).normal(size=(2, 6, 3)))
    for layer in (nn.LSTM(4, return_state=True, seed=0), nn.GRU(4, return_state=True, seed=0)):
        whole, *last = layer(x)
        _, *state = layer(x[:, :2, :])
        y, *found = layer(x[:, 2:, :], initial_state=state)
        near(y, np.asarray(whole))
        for one, other in zip(found, last, strict=True):
            near(one, np.asarray(other))


def test_layers_run_under_vmap_and_replays():
    x = xp.asarray(np.random.default_rng(2).normal(size=(3, 4, 5)))
    attention = nn.MultiHeadAttention(2, 3, seed=0)
    for layer in (nn.LSTM(2, seed=0), nn.GRU(2, seed=0), lambda x: attention(x, x)):
        expected = np.asarray(layer(x))
        np.testing.assert_allclose(np.asarray(xp.vmap(layer)(x)), expected, rtol=1e-12)
        replayed = xp.function(layer)
        for _ in range(4):
            np.testing.assert_allclose(np.asarray(replayed(x)), expected, rtol=1e-12)


def test_attention_drops_weights_in_training():
    layer = nn.MultiHeadAttention(2, 3, dropout=0.5, seed=0)
    x = xp.asarray(np.random.default_rng(3).normal(size=(2, 4, 5)))
    quiet, loud = layer(x, x), layer(x, x, training=True)
    assert not np.allclose(np.asarray(quiet), np.asarray(loud))
    near(layer(x, x), np.asarray(quiet))
    assert len(layer.weights) == 8
    assert len(layer.variables) == 9
