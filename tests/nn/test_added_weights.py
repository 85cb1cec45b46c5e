"""Variables that layers make when they are built, and what layers accept in calls."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn


def test_variables_made_in_init_begin_with_different_values():
    class Two(nn.Layer):
        def __init__(self, seed):
            super().__init__(seed=seed)
            self.first = self.add_weight(shape=(3, 3))
            self.second = self.add_weight(shape=(3, 3))

    layer, again = Two(0), Two(0)
    assert not np.array_equal(layer.first.to_numpy(), layer.second.to_numpy())
    assert np.array_equal(layer.second.to_numpy(), again.second.to_numpy())


def test_variables_of_init_and_of_build_differ():
    class Two(nn.Layer):
        def __init__(self):
            super().__init__(seed=0)
            self.first = self.add_weight(shape=(3, 3))

        def build(self, input_shape):
            self.second = self.add_weight(shape=(3, 3))

    layer = Two()
    layer.build((1, 3))
    assert not np.array_equal(layer.first.to_numpy(), layer.second.to_numpy())


def test_a_name_that_is_taken_is_an_error():
    class Scaled(nn.Layer):
        def __init__(self):
            super().__init__()
            self.scale = 0.5

        def build(self, input_shape):
            self.add_weight("scale", (), initializer="ones")

        def call(self, x):
            return x * self.scale

    with pytest.raises(ValueError, match="choose another name than 'scale'"):
        Scaled()(xp.ones((2, 3)))


def test_a_variable_that_is_there_is_taken_if_it_has_the_shape():
    layer = nn.Layer()
    layer.scale = xp.Variable([1.0, 2.0])
    assert layer.add_weight("scale", (2,)) is layer.scale
    with pytest.raises(ValueError, match="choose another name"):
        layer.add_weight("scale", (3,))


def test_a_layer_is_frozen_by_leaving_out_its_variables():
    layer = nn.Dense(2)
    layer.trainable = True
    with pytest.raises(AttributeError, match="leave the layer's Variables out"):
        layer.trainable = False


def test_a_mask_that_is_added_to_scores_is_refused():
    layer, x = nn.MultiHeadAttention(1, 4, seed=0), xp.ones((1, 2, 3))
    mask = np.asarray([[True, False], [True, True]])
    y = layer(x, x, attention_mask=mask)
    assert np.array_equal(y.to_numpy(), layer(x, x, attention_mask=1.0 * mask).to_numpy())
    with pytest.raises(ValueError, match="give mask == 0"):
        layer(x, x, attention_mask=np.where(mask, 0.0, -np.inf))


def test_attention_is_built_for_the_shapes_of_query_and_value():
    built, called = (nn.MultiHeadAttention(2, 4, seed=0) for _ in range(2))
    built.build((None, 5, 6), (None, 7, 8))
    called(np.ones((3, 5, 6)), np.ones((3, 7, 8)))
    assert [v.shape for v in built.weights] == [v.shape for v in called.weights]
    for one, other in zip(built.get_weights(), called.get_weights(), strict=True):
        assert np.array_equal(one, other)
    assert built(np.ones((3, 5, 6)), np.ones((3, 7, 8))).shape == (3, 5, 6)


def test_attention_is_built_for_itself_by_one_shape():
    layer = nn.MultiHeadAttention(2, 4, value_dim=3, output_shape=5, seed=0)
    layer.build((None, None, 6))
    shapes = [(6, 2, 4), (2, 4), (6, 2, 4), (2, 4), (6, 2, 3), (2, 3), (2, 3, 5), (5,)]
    assert [v.shape for v in layer.weights] == shapes


def test_a_convolution_is_built_without_its_lengths():
    def model():
        first = nn.Conv2D(2, 3, seed=0), nn.MaxPooling2D(2), nn.Conv2D(3, 5, seed=0)
        return nn.Sequential([*first, nn.GlobalAveragePooling2D(), nn.Dense(1, seed=0)])

    known, unknown = model(), model()
    known.build((None, 28, 28, 1))
    unknown.build((None, None, None, 1))
    for one, other in zip(known.get_weights(), unknown.get_weights(), strict=True):
        assert np.array_equal(one, other)
    assert unknown(np.ones((2, 40, 30, 1))).shape == (2, 1)


@pytest.mark.parametrize("pool", [1, 2, 7])
def test_a_length_that_decides_a_shape_has_to_be_given(pool):
    layers = nn.Conv2D(2, 3, padding="same", seed=0), nn.MaxPooling2D(pool, padding="same")
    model = nn.Sequential([*layers, nn.Flatten(), nn.Dense(1, seed=0)])
    with pytest.raises(ValueError, match="give the lengths instead of None"):
        model.build((None, None, 28, 1))
    assert not model.weights
    model.build((None, 28, 28, 1))
    assert model(np.ones((2, 28, 28, 1))).shape == (2, 1)


def test_a_layer_works_without_the_init_of_its_base():
    class Scaled(nn.Layer):
        def __init__(self, factor):
            self.factor = factor
            self.shift = self.add_weight(shape=(3,), initializer="zeros")

        def build(self, input_shape):
            self.add_weight("scale", input_shape[-1:], initializer="ones")

        def call(self, x):
            return x * self.scale * self.factor + self.shift

    layer = Scaled(2.0)
    assert np.array_equal(np.asarray(layer(np.ones((2, 3)))), np.full((2, 3), 2.0))
    assert [v.name for v in layer.weights] == ["scaled/variable", "scaled/scale"]


LAYERS = {
    "Dropout": lambda: nn.Dropout(0.5, seed=0),
    "BatchNormalization": lambda: nn.BatchNormalization(),
    "LSTM": lambda: nn.LSTM(4, seed=0),
    "GRU": lambda: nn.GRU(4, seed=0),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(2, 4, dropout=0.5, seed=0),
    "Sequential": lambda: nn.Sequential([nn.Dropout(0.5, seed=0)]),
}


def test_the_list_has_all_layers_that_take_training():
    classes = [v for v in vars(nn).values() if isinstance(v, type) and issubclass(v, nn.Module)]
    own = [v.call if issubclass(v, nn.Layer) else v.__call__ for v in classes if v is not nn.Module]
    taking = [f for f in own if "training" in inspect.signature(f).parameters]
    assert {f.__qualname__.split(".")[0] for f in taking} - {"Recurrent"} == {*LAYERS} - {
        "LSTM",
        "GRU",
    }


@pytest.mark.parametrize("name", LAYERS)
def test_training_none_is_false(name):
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    layer = LAYERS[name]()
    args = (x, x) if name == "MultiHeadAttention" else (x,)
    assert np.array_equal(layer(*args, training=None), layer(*args, training=False))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_first_state_may_be_a_list_of_lists(kind):
    layer, x = kind(4, seed=0), np.ones((2, 5, 3))
    states = [np.full((2, 4), 0.5)] * layer._states
    expected = layer(x, initial_state=states)
    found = layer(x, initial_state=[state.tolist() for state in states])
    assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match="give initial_state as a list of"):
        layer(x, initial_state=[[0.0, 0.0]])


@pytest.mark.parametrize("bad", [3, -1])
def test_a_class_that_does_not_exist_is_an_error_in_a_replay(bad):
    logits, table = xp.zeros((2, 3)), nn.Embedding(3, 2, seed=0)
    for used in (lambda i: nn.softmax_cross_entropy(i, logits), table):
        function = xp.function(lambda i, used=used: xp.sum(used(i)))
        for _ in range(4):
            function(xp.asarray([0, 2]))
        with pytest.raises(ValueError, match="are not all"):
            function(xp.asarray([0, bad]))
        assert np.isfinite(float(function(xp.asarray([1, 1]))))
