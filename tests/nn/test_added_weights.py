"""Variables that a layer of one's own makes by ``add_weight``."""

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
