"""Bad input of layers, activations and losses."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn

X = xp.asarray([[1.0, 2.0]])
IMAGE = xp.ones((1, 4, 4, 3))
Labels = nn.losses.SparseCategoricalCrossentropy


def built():
    layer = nn.Dense(3, name="head")
    layer(X)
    return layer


def attention(query=IMAGE[0, ...], mask=None):
    return nn.MultiHeadAttention(1, 2, seed=0)(query, IMAGE[0, ...], attention_mask=mask)


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: nn.relu([1.0, 2.0]), TypeError, "relu takes an Array, got list"),
        (lambda: nn.relu(np.ones(2)), TypeError, r"relu .*ndarray float64\(2,\)"),
        (lambda: nn.sigmoid(None), TypeError, "sigmoid .*None"),
        (lambda: nn.sigmoid(xp.asarray([1j])), TypeError, "sigmoid takes real .*complex128"),
        (lambda: nn.softplus(xp.asarray([True])), TypeError, "softplus takes real .*bool"),
        (lambda: nn.tanh(2.0), TypeError, "tanh takes an Array, got float"),
        (lambda: nn.softmax(X, axis=2), ValueError, r"softmax: .*\(1, 2\).*no axis 2"),
        (lambda: nn.softmax(X, axis=None), ValueError, "no axis None"),
        (lambda: nn.softmax(xp.asarray(1.0)), ValueError, "no axis -1"),
        (lambda: nn.log_softmax(xp.zeros((2, 0))), ValueError, r"log_softmax: .*\(2, 0\) is empty"),
        (lambda: nn.Dense("3"), TypeError, "units must be an integer, got str"),
        (lambda: nn.Dense(2.5), TypeError, "units must be an integer"),
        (lambda: nn.Dense(0), ValueError, "at least 1, got 0"),
        (lambda: nn.Dense(2, activation="rellu"), ValueError, "'rellu'; there are relu"),
        (lambda: nn.Dense(2, activation=3), TypeError, "activation must be"),
        (lambda: nn.Dense(2, seed=-1), ValueError, "non-negative|seed"),
        (lambda: nn.Dense(2, name=3), TypeError, "name must be a str"),
        (lambda: nn.Dense(2)([[1.0]]), TypeError, "dense: takes an Array, got list"),
        (lambda: nn.Dense(2)(xp.asarray(1.0)), ValueError, "at least one axis"),
        (lambda: built()(xp.ones((2, 5))), ValueError, r"head: was made for 2.*\(2, 5\) has 5"),
        (lambda: nn.softmax_cross_entropy([0], [[1.0]]), TypeError, "takes an Array"),
        (lambda: nn.softmax_cross_entropy([2], X), ValueError, "from 2 to 2 .*0 to 1"),
        (lambda: nn.softmax_cross_entropy([-1], X), ValueError, "from -1 to -1"),
        (lambda: nn.softmax_cross_entropy([0, 1], X), ValueError, r"\(2,\).*need the shape \(1,\)"),
        (lambda: nn.softmax_cross_entropy([[1]], X), ValueError, "need the shape"),
        (lambda: nn.softmax_cross_entropy([0.0], X), ValueError, r"float64\(1,\).*probability"),
        (lambda: nn.softmax_cross_entropy([True], X), ValueError, "bool.*neither integers"),
        (lambda: nn.softmax_cross_entropy([0], X, axis=5), ValueError, "no axis 5"),
        (lambda: nn.mean_squared_error([[1.0, 2.0]], 3.0), TypeError, "must be an Array"),
        (lambda: nn.mean_squared_error([1.0, 2.0], X), ValueError, r"\(2,\).*\(1, 2\) differ"),
        (lambda: nn.mean_squared_error("text", X), TypeError, "str"),
        (lambda: nn.elu([1.0]), TypeError, "elu takes an Array, got list"),
        (lambda: nn.one_hot([0.5], 3), TypeError, "one_hot: takes integers"),
        (lambda: nn.one_hot([0], 3, axis=3), ValueError, "no place 3 for an axis"),
        (lambda: nn.one_hot([0], 0), ValueError, "num_classes must be at least 1"),
        (lambda: Labels()([0, 1], X), ValueError, "need the shape"),
        (lambda: Labels()([[0.5]], X), TypeError, "labels must be integers, .*float64"),
        (lambda: nn.losses.MeanSquaredError()([[1.0]], X), ValueError, "need one shape"),
        (lambda: nn.losses.MeanSquaredError()(1.0, 2.0), ValueError, "at least one axis"),
        (
            lambda: nn.losses.MeanSquaredError()(X, X, [1.0, 2.0, 3.0]),
            ValueError,
            "needs their shape",
        ),
        (lambda: nn.losses.MeanSquaredError()(X, X, [[1.0, 2.0]]), ValueError, "needs their shape"),
        (lambda: nn.losses.MeanSquaredError()([[1j, 0.0]], X), TypeError, "must be real numbers"),
        (lambda: nn.losses.Huber(-1.0), ValueError, "delta"),
        (lambda: nn.losses.Huber(reduction="average"), ValueError, "no reduction 'average'"),
        (
            lambda: nn.losses.BinaryCrossentropy("yes"),
            TypeError,
            "from_logits must be True or False",
        ),
        (lambda: nn.losses.BinaryCrossentropy(label_smoothing=2.0), ValueError, r"in \[0, 1\]"),
        (lambda: nn.losses.Loss()([1.0], [1.0]), NotImplementedError, r"Loss has no call\(\)"),
        (lambda: nn.Reshape((2, -1, -1)), ValueError, "only one length of target_shape"),
        (lambda: nn.Reshape((2, 5))(X), ValueError, r"\(1, 2\) do not fit the shape \(2, 5\)"),
        (lambda: nn.ZeroPadding2D((1, 2, 3)), ValueError, "a pair or a pair of pairs"),
        (lambda: nn.Cropping2D(1)(xp.ones((1, 2, 5, 3))), ValueError, "leaves nothing"),
        (lambda: nn.UpSampling2D(0), ValueError, "size must be at least 1"),
        (lambda: nn.LeakyReLU(-0.1), ValueError, "negative_slope"),
        (lambda: nn.LSTM(2)(xp.ones(3)), ValueError, "at least 2 axes"),
        (lambda: nn.LSTM(2)(xp.ones((1, 0, 3))), ValueError, "has no times"),
        (lambda: nn.LSTM(2)(xp.ones((1, 4, 3)), [X]), ValueError, r"a list of 2 of shape \(1, 2\)"),
        (lambda: nn.GRU(2, activation="tan"), ValueError, "no activation 'tan'"),
        (lambda: nn.MultiHeadAttention(0, 2), ValueError, "num_heads must be at least 1"),
        (lambda: attention(xp.ones((1, 2, 3, 4))), ValueError, "batch, times, features"),
        (lambda: attention(mask=np.ones((5, 5))), ValueError, "broadcast|shape"),
        (
            lambda: nn.Conv2DTranspose(1, 2, 2, dilation_rate=2)(IMAGE),
            ValueError,
            "only one of strides",
        ),
        (
            lambda: built().set_weights([1.0]),
            ValueError,
            r"got 1 values for 2 weights \(head/kernel",
        ),
        (lambda: built().set_weights([np.ones(2)] * 2), ValueError, "does not fit"),
        (lambda: nn.Dense(2).set_weights([1.0]), ValueError, "none: build or call it first"),
        (lambda: nn.Dense(2).add_weight((3, 4)), TypeError, "name must be a str, got tuple"),
        (lambda: nn.Dense(2).build((None, "3")), TypeError, "broadcast_to.*shape: tuple"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
