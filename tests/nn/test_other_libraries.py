"""The same layers on arrays of array_api_strict, PyTorch and JAX: values, and their own gradients."""

import copy
import importlib
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn, optimizers

RNG = np.random.default_rng(6)
IMAGES, SERIES = RNG.normal(size=(2, 6, 5, 3)), RNG.normal(size=(2, 7, 3))


class Attention(xp.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiHeadAttention(2, 3, seed=0)

    def call(self, x):
        return self.layer(x, x, use_causal_mask=True)


MODELS = {
    "Dense": (lambda: nn.Dense(4, "softplus", seed=0), SERIES),
    "Dense of integers": (lambda: nn.Dense(2, seed=0), np.array([[1, 2]])),
    "Conv1D": (lambda: nn.Conv1D(4, 3, padding="causal", dilation_rate=2, seed=0), SERIES),
    "Conv2D": (lambda: nn.Conv2D(4, 3, 2, "same", activation="tanh", seed=0), IMAGES),
    "MaxPooling2D": (lambda: nn.MaxPooling2D(2, padding="same"), IMAGES),
    "AveragePooling1D": (lambda: nn.AveragePooling1D(3, 1, "same"), SERIES),
    "GlobalMaxPooling1D": (nn.GlobalMaxPooling1D, SERIES),
    "LayerNormalization": (lambda: nn.LayerNormalization((1, 2)), SERIES),
    "BatchNormalization": (lambda: nn.Sequential([nn.BatchNormalization()]), SERIES),
    "Dropout": (lambda: nn.Sequential([nn.Dropout(0.4, seed=1)]), SERIES),
    "Embedding": (lambda: nn.Embedding(5, 3, seed=0), np.array([[0, 4], [4, 2]])),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(4, 3, 2, "same", seed=0), IMAGES),
    "ZeroPadding2D": (lambda: nn.ZeroPadding2D((1, 2)), IMAGES),
    "Cropping2D": (lambda: nn.Cropping2D((1, 2)), IMAGES),
    "UpSampling2D": (lambda: nn.UpSampling2D((1, 2)), IMAGES),
    "Reshape": (lambda: nn.Reshape((3, -1)), SERIES),
    "LSTM": (lambda: nn.LSTM(3, return_sequences=True, seed=0), SERIES),
    "GRU": (lambda: nn.GRU(3, recurrent_activation="hard_sigmoid", seed=0), SERIES),
    "attention": (lambda: Attention(), SERIES),
    "activations": (
        lambda: nn.Sequential([nn.elu, nn.selu, nn.LeakyReLU(), nn.silu,
                               lambda x: nn.gelu(x, approximate=True)]),
        SERIES,
    ),
    "a network": (
        lambda: nn.Sequential([
            nn.Conv2D(4, 3, padding="same", seed=0), nn.BatchNormalization(), nn.relu,
            nn.MaxPooling2D(), nn.Dropout(0.2, seed=1), nn.Flatten(), nn.Dense(3, seed=2),
            nn.sigmoid, nn.log_softmax,
        ]),
        IMAGES,
    ),
}  # fmt: skip


@pytest.fixture(params=["array_api_strict", "torch", "jax"])
def library(request):
    """A function from NumPy data to the library's arrays."""
    if request.param == "array_api_strict":
        return importlib.import_module("array_api_strict").asarray
    reason = f"{request.param} is not installed here: it is no dependency of the tests"
    module = pytest.importorskip(request.param, reason=reason)
    if request.param == "torch":
        return lambda x: module.from_numpy(np.array(x))
    module.config.update("jax_enable_x64", True)
    return importlib.import_module("jax.numpy").asarray


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_gives_the_same_on_another_librarys_arrays(library, name):
    make, data = MODELS[name]
    model, given = make(), library(data)
    model(xp.asarray(data))
    keywords = {"training": True} if isinstance(model, nn.Sequential) else {}
    other = copy.deepcopy(model)
    expected = np.asarray(model(xp.asarray(data), **keywords))
    found = other(given, **keywords)
    assert type(found) is type(given)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-14)
    for a, b in zip(model.variables, other.variables, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-13)


def test_a_layer_makes_its_variables_on_another_librarys_arrays(library):
    data = RNG.normal(size=(4, 3)).astype(np.float32)
    a, b = nn.Dense(2, seed=0), nn.Dense(2, seed=0)
    y = np.asarray(b(library(data)))
    assert b.kernel.dtype == y.dtype == np.float32
    np.testing.assert_allclose(y, np.asarray(a(xp.asarray(data))), rtol=1e-5)


LOSSES = [
    nn.losses.MeanSquaredError(), nn.losses.MeanAbsoluteError(), nn.losses.Huber(0.5),
    nn.losses.KLDivergence(), nn.losses.CosineSimilarity(), nn.losses.BinaryCrossentropy(),
    nn.losses.BinaryCrossentropy(from_logits=True), nn.losses.CategoricalCrossentropy(),
    nn.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_classes_of_losses_compute_on_other_libraries_arrays(library, loss):
    data, weights = RNG.dirichlet(np.ones(3), size=(2, 4)), np.array([1.0, 2.0, 0.5, 0.0])
    expected = loss(data[0], xp.asarray(data[1]), weights)
    found = loss(library(data[0]), library(data[1]), library(weights))
    assert type(found) is type(library(data[0]))
    np.testing.assert_allclose(float(found), float(expected), rtol=1e-12)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_images_of_other_libraries(library, method):
    x = RNG.normal(size=(2, 3, 4, 1))
    found = nn.image.resize(library(x), (5, 2), method)
    np.testing.assert_allclose(np.asarray(found), nn.image.resize(x, (5, 2), method), rtol=1e-12)


def test_class_numbers_of_other_libraries(library):
    labels = np.array([0, 2, 1])
    np.testing.assert_array_equal(np.asarray(nn.one_hot(library(labels), 3)), np.eye(3)[labels])
    loss, logits = nn.losses.SparseCategoricalCrossentropy(), RNG.dirichlet(np.ones(3), size=3)
    expected = float(loss(labels, logits))
    np.testing.assert_allclose(float(loss(library(labels), library(logits))), expected, rtol=1e-12)


def test_losses_schedules_and_clipping_compute_on_other_libraries_arrays(library):
    logits, labels = RNG.normal(size=(4, 3)), np.array([0, 2, 1, 1])
    for given in (labels, np.eye(3)[labels]):
        found = nn.softmax_cross_entropy(library(given), library(logits))
        expected = nn.softmax_cross_entropy(xp.asarray(given), xp.asarray(logits))
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-13)
    found = nn.mean_squared_error(library(logits), library(2.0 * logits))
    np.testing.assert_allclose(float(found), np.mean(logits**2), rtol=1e-13)
    rate = optimizers.schedules.CosineDecay(0.0, 10, warmup_target=1.0, warmup_steps=5)
    steps = np.arange(20)
    expected = np.asarray(rate(xp.asarray(steps)))
    np.testing.assert_allclose(np.asarray(rate(library(steps))), expected, rtol=1e-13, atol=1e-16)
    plateau = optimizers.schedules.ReduceLROnPlateau(0.5)
    assert np.asarray(plateau(library(steps))).tolist() == [0.5] * 20
    parts, norm = optimizers.clip_by_global_norm([library(logits), None, library(labels)], 1.0)
    np.testing.assert_allclose(float(norm), np.sqrt(np.sum(logits**2) + 6.0), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(parts[0]), logits / float(norm), rtol=1e-13)


def gradients_of(name):
    """A model with its data, and arraytape's gradients of a loss by x and by each trainable Variable."""
    make, data = MODELS[name]
    model, x = make(), xp.asarray(data)
    model(x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        loss = xp.sum(xp.sin(model(x)))
    found = tape.gradient(loss, [x, *model.trainable_variables])
    names = [key for key, v in model.named_variables().items() if v.trainable]
    return model, data, names, [np.asarray(g) for g in found]


INEXACT = [name for name, (_, data) in MODELS.items() if data.dtype.kind == "f"]


@pytest.mark.parametrize("name", INEXACT)
def test_pytorchs_gradients_through_a_layer_are_ours(name):
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    model, data, names, expected = gradients_of(name)
    x = torch.from_numpy(data.copy()).requires_grad_()
    variables = model.named_variables()
    values = {
        key: torch.from_numpy(np.array(np.asarray(variables[key]))).requires_grad_()
        for key in names
    }
    torch.sum(torch.sin(nn.functional_call(model, values, x))).backward()
    for one, g in zip([x, *values.values()], expected, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), g, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", INEXACT)
def test_jaxs_gradients_through_a_layer_are_ours(name):
    jax = pytest.importorskip("jax", reason="jax is not installed here")
    jax.config.update("jax_enable_x64", True)
    model, data, names, expected = gradients_of(name)
    variables = model.named_variables()
    values = {key: jax.numpy.asarray(np.asarray(variables[key])) for key in names}

    def loss(x, values):
        return jax.numpy.sum(jax.numpy.sin(nn.functional_call(model, values, x)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jax.jit(jax.grad(loss, (0, 1)))(jax.numpy.asarray(data), values)
    for one, g in zip([found[0], *[found[1][key] for key in names]], expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), g, rtol=1e-10, atol=1e-12)


def test_random_zeros_within_jit_are_an_error():
    jax = pytest.importorskip("jax", reason="jax is not installed here")
    layer = nn.Dropout(0.5, seed=0)
    with pytest.raises(RuntimeError, match=r"within jax\.jit the random numbers would be the same"):
        jax.jit(lambda x: layer(x, training=True))(jax.numpy.ones(3))
