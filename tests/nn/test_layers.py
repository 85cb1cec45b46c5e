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
