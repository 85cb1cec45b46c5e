"""A 0-d Array takes part in type promotion, as the standard says; a Python number does not."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, nn, optimizers

G = np.asarray([3.0, -4.0], np.float32)
ONES = {
    "Python float": (1.0, "float32"),
    "0-d array of its dtype": (xp.asarray(1.0, dtype=xp.float32), "float32"),
    "0-d array": (xp.asarray(1.0), "float64"),
    "0-d array of NumPy": (np.asarray(1.0), "float64"),
    "NumPy scalar": (np.float64(1.0), "float64"),
}
CLIPS = {
    "by norm": lambda np, g, one: g * np.minimum(one / np.linalg.vector_norm(g), one),
    "by value": lambda np, g, one: np.minimum(np.maximum(g, -one), one),
    "scaled": lambda np, g, one: g * one,
}


@pytest.mark.parametrize("one", ONES)
@pytest.mark.parametrize("clip", CLIPS)
def test_clipping_gives_the_dtype_that_numpy_gives(clip, one):
    value, dtype = ONES[one]
    numpys = np.asarray(value) if isinstance(value, xp.Array) else value
    assert CLIPS[clip](np, G, numpys).dtype == dtype
    assert CLIPS[clip](xp, xp.asarray(G), value).dtype == dtype


@pytest.mark.parametrize("one", ONES)
def test_a_gradient_has_its_sources_dtype_whatever_it_met(one, near):
    x = xp.asarray(G)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(CLIPS["by norm"](xp, x, ONES[one][0]) ** 2)
    assert tape.gradient(y, x).dtype == xp.float32


@pytest.mark.parametrize("kind", [optimizers.SGD, optimizers.Adam])
def test_optimizers_and_layers_stay_in_the_dtype_of_their_variables(kind):
    layer, optimizer = nn.Dense(2, activation="softplus", seed=0), kind(0.1)
    x = xp.asarray(np.ones((4, 3), np.float32))
    layer(x)
    for _ in range(2):
        with GradientTape() as tape:
            loss = nn.mean_squared_error(np.zeros((4, 2), np.float32), layer(x))
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
    slots = [v for name, v in optimizer.named_variables().items() if name.startswith("slots")]
    for value in (loss, *gradients, *layer.variables, *slots):
        assert value.dtype == xp.float32
