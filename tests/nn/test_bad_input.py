"""Bad input of layers, activations and losses."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn

X = xp.asarray([[1.0, 2.0]])


def built():
    layer = nn.Dense(3, name="head")
    layer(X)
    return layer


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
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
