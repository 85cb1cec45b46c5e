"""Initializers: their distributions, and what layers do with them."""

import math

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn
from arraytape.nn import initializers

SHAPE = (3, 3, 40, 50)  # of a convolution: 360 inputs, 450 outputs
VARIANCES = {
    "glorot_uniform": 2 / 810, "glorot_normal": 2 / 810, "he_uniform": 2 / 360, "he_normal": 2 / 360,
    "lecun_uniform": 1 / 360, "lecun_normal": 1 / 360, "variance_scaling": 1 / 360,
    "random_normal": 0.05**2, "uniform": 0.1**2 / 12,
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANCES)
def test_the_variance_is_that_of_the_paper(name):
    values = initializers.get(name)(SHAPE, np.float32, 0)
    assert values.dtype == np.float32
    assert values.shape == SHAPE
    variance = VARIANCES[name]
    assert abs(values.var() / variance - 1.0) < 0.02
    assert abs(values.mean()) < 0.02 * math.sqrt(variance)
    uniform = "uniform" in name
    most = math.sqrt((3.0 if uniform else 4.0 / 0.879625**2) * variance)
    if name != "random_normal":
        assert 0.98 * most < np.abs(values).max() <= most * (1 + 1e-6)


def test_a_truncated_normal_has_nothing_beyond_two_standard_deviations():
    values = initializers.TruncatedNormal(1.0, 0.5, seed=0)((20000,))
    assert np.abs(values - 1.0).max() <= 1.0
    assert abs(values.std() / (0.5 * 0.879625) - 1.0) < 0.02


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 3, 4)])
def test_orthogonal_matrices_have_orthonormal_columns_or_rows(shape):
    q = initializers.Orthogonal(2.0, seed=0)(shape).reshape(-1, shape[-1])
    gram = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
    np.testing.assert_allclose(gram, 4.0 * np.eye(min(q.shape)), atol=1e-14)


def test_a_seed_of_its_own_comes_before_that_of_the_layer():
    def kernel(seed, own):
        layer = nn.Dense(3, seed=seed, kernel_initializer=initializers.HeNormal(own))
        layer(xp.ones((1, 4)))
        return np.asarray(layer.kernel)

    np.testing.assert_array_equal(kernel(0, 5), kernel(1, 5))
    np.testing.assert_array_equal(kernel(0, None), kernel(0, None))
    assert not np.array_equal(kernel(0, None), kernel(1, None))


def test_constants_functions_and_classes_are_taken():
    layer = nn.Dense(
        2, kernel_initializer=lambda shape, dtype, rng: np.full(shape, 3.0),
        bias_initializer=initializers.Constant(0.5),
    )  # fmt: skip
    assert layer(xp.ones((1, 2))).tolist() == [[6.5, 6.5]]
    assert nn.Dense(1, kernel_initializer=initializers.Ones)(xp.ones((1, 2))).tolist() == [[2.0]]
    assert repr(initializers.get("he_normal")) == "HeNormal(seed=None)"
    assert repr(initializers.Constant(2.0)) == "Constant(seed=None, value=2.0)"


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: initializers.get("xavier"), ValueError, "no name 'xavier'; there are constant"),
        (lambda: initializers.get(3), TypeError, "must be a name or a function, got int"),
        (lambda: initializers.Orthogonal()((3,)), ValueError, "at least two axes"),
        (lambda: initializers.HeNormal("a"), TypeError, "HeNormal.*seed"),
        (lambda: initializers.VarianceScaling(mode="fan"), ValueError, "no mode 'fan'"),
        (lambda: initializers.VarianceScaling(-1.0), ValueError, "at least 0.0, got -1.0"),
        (lambda: initializers.RandomNormal(stddev=None), TypeError, "stddev must be a number"),
        (lambda: initializers.Constant(math.inf), ValueError, "value must be finite"),
        (lambda: initializers.Initializer()((2,)), NotImplementedError, "Initializer has no draw"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
