"""Activations."""

import math
import subprocess
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, nn
from arraytape.testing import check_gradients, storages
from helpers.nets import ACTIVATIONS, INF, NAN, SMOOTH, near, slopes


def test_case_11_sigmoid_over_a_range():
    x = xp.linspace(-10.0, 10.0, 201)
    with GradientTape() as tape:
        tape.watch(x)
        y = nn.sigmoid(x)
    slope = tape.gradient(y, x)
    assert y.shape == slope.shape == (201,)
    assert int(xp.argmax(slope)) == 100
    near(slope[100], 0.25)
    near(slope[0], 4.53958077e-05, 1e-8)
    near(slope[-1], 4.53958077e-05, 1e-8)


def test_case_65_relu_at_zero_has_slope_zero():
    y, first, second = slopes(nn.relu, [-1.0, -0.0, 0.0, 2.0, INF, NAN])
    near(y, [0.0, 0.0, 0.0, 2.0, INF, NAN])
    near(first, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    near(second, np.zeros(6))


def test_case_82_softplus_where_exp_overflows():
    y, first, second = slopes(nn.softplus, [-INF, -1000.0, 0.0, 1000.0, INF, NAN])
    near(y, [0.0, 0.0, math.log(2.0), 1000.0, INF, NAN])
    near(first, [0.0, 0.0, 0.5, 1.0, 1.0, NAN])
    near(second, [0.0, 0.0, 0.25, 0.0, 0.0, NAN])


def test_case_82_sigmoid_and_tanh_where_they_are_flat():
    y, first, second = slopes(nn.sigmoid, [-INF, -1000.0, -40.0, 0.0, 1000.0, INF, NAN])
    near(y, [0.0, 0.0, math.exp(-40.0), 0.5, 1.0, 1.0, NAN])
    near(first, [0.0, 0.0, math.exp(-40.0), 0.25, 0.0, 0.0, NAN])
    near(second, [0.0, 0.0, math.exp(-40.0), 0.0, 0.0, 0.0, NAN])
    y, first, _ = slopes(nn.tanh, [-1000.0, 0.0, 1000.0])
    near(y, [-1.0, 0.0, 1.0])
    near(first, [0.0, 1.0, 0.0])


def test_softplus_to_the_third_order_at_zero():
    x = xp.asarray([0.0, 1.5])
    with GradientTape() as tape:
        tape.watch(x)
        _, _, second = slopes(nn.softplus, x)
    s = 1.0 / (1.0 + np.exp(-np.asarray(x)))
    near(tape.gradient(second, x), s * (1 - s) * (1 - 2 * s))


@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 3)], ids=str)
def test_activations_against_differences(f, shape):
    rng = np.random.default_rng(0)
    weights = xp.asarray(rng.normal(size=shape))
    x = rng.normal(size=shape)
    x.reshape(-1)[0] = 0.0
    check_gradients(lambda x: xp.sum(weights * f(x)), [x], order=2)


def test_relu_against_differences():
    check_gradients(lambda x: xp.sum(nn.relu(x) ** 3), [np.asarray([-1.0, -0.5, 0.7, 2.0])])


@pytest.mark.parametrize("f", [nn.softmax, nn.log_softmax], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [0, 1, -1, np.int64(1)])
def test_softmax_and_its_logarithm_go_along_any_axis(f, axis):
    x = np.random.default_rng(1).normal(size=(3, 4))
    e = np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)
    near(f(xp.asarray(x), axis=axis), e if f is nn.softmax else np.log(e))
    weights = xp.asarray(np.arange(12.0).reshape(3, 4))
    check_gradients(lambda x: xp.sum(weights * f(x, axis=axis)), [x])


def test_softmax_of_large_and_of_masked_logits_is_exact():
    y, first, _ = slopes(
        lambda x: nn.softmax(x)[:, 0], [[1000.0, 1000.0], [-INF, 0.0], [0.0, -INF]]
    )
    near(y, [0.5, 0.0, 1.0])
    near(first, [[0.25, -0.25], [0.0, 0.0], [0.0, 0.0]])
    y, first, _ = slopes(lambda x: nn.log_softmax(x)[..., 0], [-1000.0, 0.0])
    near(y, -1000.0)
    near(first, [1.0, -1.0])


@pytest.mark.parametrize("f", ACTIVATIONS, ids=lambda f: f.__name__)
def test_activations_keep_shape_and_dtype(f):
    for dtype in (xp.float16, xp.float32, xp.float64):
        x = xp.asarray([[-1.0, 0.0, 2.0]], dtype=dtype)
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert tape.gradient(y, x).dtype == x.dtype


@pytest.mark.parametrize("f", ACTIVATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("storage", [storages.hostile, storages.strict], ids=lambda s: s.__name__)
def test_activations_run_where_the_data_lie_and_never_look(f, storage):
    values = np.asarray([[-3.0, 0.0, 2.0], [1.0, 1.0, -1.0]])
    device = storage().devices()[-1]
    found = slopes(f, values)
    x = xp.asarray(values, device=device)
    for a, b in zip(slopes(f, x), found, strict=True):
        assert a.device == device
        near(a.to_device("cpu"), np.asarray(b))


def test_integers_become_floats_but_in_relu():
    x = xp.asarray([-1, 0, 2])
    assert nn.relu(x).dtype == xp.int64
    near(nn.relu(x), [0, 0, 2])
    near(nn.sigmoid(x), nn.sigmoid(xp.asarray([-1.0, 0.0, 2.0])))
    near(nn.softplus(xp.asarray([3], dtype=xp.uint8)), [math.log1p(math.exp(-3.0)) + 3.0])
    near(nn.softmax(xp.asarray([1, 1])), [0.5, 0.5])


def test_nothing_of_this_is_imported_before_it_is_asked_for():
    code = """
import sys, arraytape
wanted = ("arraytape.module", "arraytape.nn", "arraytape.optimizers", "arraytape.checkpoint", "scipy")
assert not [name for name in sys.modules if name.startswith((*wanted, "safetensors"))]
from arraytape import checkpoint, nn, optimizers
assert not [name for name in sys.modules if name.startswith(("scipy", "safetensors"))]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


NEW = [nn.elu, nn.selu, nn.silu, nn.gelu, lambda x: nn.gelu(x, approximate=True)]


@pytest.mark.parametrize("f", NEW)
def test_smooth_activations_at_extreme_inputs(f):
    y, first, second = slopes(f, [-INF, -1e300, -1000.0, 1000.0, 1e300, INF, NAN])
    scale = float(f(xp.asarray(1e3))) / 1e3
    limit = float(f(xp.asarray(-1e4)))
    near(y, [limit] * 3 + [1e3 * scale, 1e300 * scale, INF, NAN])
    near(first, [0.0] * 3 + [scale] * 3 + [NAN] if f not in NEW[:2] else [0.0] * 3 + [scale] * 4)
    near(second, [0.0] * 6 + [NAN] if f not in NEW[:2] else [0.0] * 7)


def test_gelu_is_accurate_far_below_zero():
    # x * erfc(-x / sqrt(2)) / 2 from mpmath
    near(
        nn.gelu(xp.asarray([-8.0, -20.0])), [-4.976768459417427e-15, -5.507248237212467e-88], 1e-12
    )


def test_piecewise_activations_at_their_corners():
    y, first, second = slopes(nn.leaky_relu, [-INF, 0.0, INF])
    near(y, [-INF, 0.0, INF])
    near(first, [0.2, 0.2, 1.0])
    y, first, second = slopes(nn.hard_sigmoid, [-INF, -3.0, 0.0, 3.0, INF])
    near(y, [0.0, 0.0, 0.5, 1.0, 1.0])
    near(first, [0.0, 0.0, 1.0 / 6.0, 0.0, 0.0])
    near(second, np.zeros(5))


@pytest.mark.parametrize("f", [*NEW, nn.leaky_relu, nn.hard_sigmoid])
def test_further_activations_against_differences(f):
    check_gradients(f, [np.array([-4.1, -1.3, -0.2, 0.4, 1.7, 5.2])])
    x = xp.asarray([-1.5, 0.5], dtype=xp.float32)
    assert f(x).dtype == xp.float32
    near(f(x), np.asarray(f(xp.asarray([-1.5, 0.5]))), 1e-5)
    near(f(xp.asarray([-2, 3])), np.asarray(f(xp.asarray([-2.0, 3.0]))))


def test_gelu_of_a_library_without_erfc_says_what_to_write():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="approximate=True"):
        nn.gelu(strict.asarray([1.0]))
