"""Layers, activations and losses."""

import math
import subprocess
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable, nn, optimizers
from arraytape.testing import check_gradients, storages

INF, NAN = math.inf, math.nan
SMOOTH = [nn.sigmoid, nn.softplus, nn.tanh, nn.softmax, nn.log_softmax]
ACTIVATIONS = [nn.relu, *SMOOTH]


def near(found, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol)


def slopes(f, values):
    """The value, the gradient and the second derivative of the sum of f."""
    x = xp.asarray(values)  # itself when it is an Array
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return y, first, outer.gradient(first, x, unconnected_gradients="zero")


# --- activations --------------------------------------------------------------------------------
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
def test_softmax_along_any_axis(f, axis):
    x = np.random.default_rng(1).normal(size=(3, 4))
    e = np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)
    near(f(xp.asarray(x), axis=axis), e if f is nn.softmax else np.log(e))
    weights = xp.asarray(np.arange(12.0).reshape(3, 4))
    check_gradients(lambda x: xp.sum(weights * f(x, axis=axis)), [x])


def test_softmax_of_large_and_of_masked_logits():
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


# --- losses -------------------------------------------------------------------------------------
LOGITS = np.random.default_rng(2).normal(size=(4, 3))
CLASSES = np.asarray([0, 2, 1, 1])


def test_cross_entropy_of_classes_and_of_one_hot_rows_agree():
    expected = np.log(np.sum(np.exp(LOGITS), axis=1)) - LOGITS[np.arange(4), CLASSES]
    near(nn.softmax_cross_entropy(CLASSES, xp.asarray(LOGITS)), expected)
    near(
        nn.softmax_cross_entropy(xp.asarray(CLASSES, dtype=xp.uint8), xp.asarray(LOGITS)), expected
    )
    near(nn.softmax_cross_entropy(np.eye(3)[CLASSES], xp.asarray(LOGITS)), expected)
    near(nn.softmax_cross_entropy([0, 2, 1, 1], xp.asarray(LOGITS)), expected)
    near(nn.softmax_cross_entropy(CLASSES, xp.asarray(LOGITS.T), axis=0), expected)


def test_the_gradient_of_cross_entropy_is_softmax_less_labels():
    logits = xp.asarray(LOGITS)
    expected = np.asarray(nn.softmax(logits)) - np.eye(3)[CLASSES]
    for labels in (CLASSES, np.eye(3)[CLASSES]):
        with GradientTape() as tape:
            tape.watch(logits)
            loss = nn.softmax_cross_entropy(labels, logits)
        near(tape.gradient(loss, logits), expected, 1e-10)


def test_cross_entropy_against_differences():
    weights = xp.asarray([1.0, 2.0, 0.5, -1.0])
    labels = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    check_gradients(lambda x: xp.sum(weights * nn.softmax_cross_entropy(CLASSES, x)), [LOGITS])
    check_gradients(lambda p, x: xp.sum(weights * nn.softmax_cross_entropy(p, x)), [labels, LOGITS])


def test_cross_entropy_of_extreme_logits_is_finite():
    y, first, _ = slopes(
        lambda x: nn.softmax_cross_entropy([[1.0, 0.0, 0.0]] * 3, x),
        [[1e4, 0.0, -INF], [-1e4, 0.0, -INF], [0.0, 0.0, 0.0]],
    )
    near(y, [0.0, 1e4, math.log(3.0)])
    near(first, [[0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-2 / 3, 1 / 3, 1 / 3]])


def test_lists_take_the_dtype_of_the_predictions():
    x = xp.asarray([[1.0, 2.0]], dtype=xp.float32)
    assert nn.softmax_cross_entropy([[0.5, 0.5]], x).dtype == xp.float32
    assert nn.mean_squared_error([[0.5, 0.5]], x).dtype == xp.float32


def test_a_class_that_does_not_exist_costs_nan_where_nobody_may_look():
    device = storages.hostile().devices()[0]
    logits = xp.asarray(LOGITS, device=device)
    loss = nn.softmax_cross_entropy(xp.asarray([0, 3, -1, 1], device=device), logits)
    found = np.asarray(loss.to_device("cpu"))
    assert np.isnan(found).tolist() == [False, True, True, False]


def test_mean_squared_error():
    y = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    near(nn.mean_squared_error([[1.0, 0.0], [0.0, 5.0]], y), 13.0 / 4.0)
    near(nn.mean_squared_error([[1.0, 0.0], [0.0, 5.0]], y, axis=1), [2.0, 4.5])
    near(nn.mean_squared_error([1 + 1j], xp.asarray([2j])), 2.0)
    near(nn.mean_squared_error([1, 2], xp.asarray([3, 2])), 2.0)
    labels = xp.asarray([[0.5, 1.0], [2.0, 0.0]])
    check_gradients(lambda a: nn.mean_squared_error(labels, a), [np.asarray(y)])
    check_gradients(
        lambda a: nn.mean_squared_error(xp.asarray([1.0, 2j]), a), [np.asarray([2j, 3])]
    )


# --- layers -------------------------------------------------------------------------------------
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
def test_a_step_on_another_device(storage):
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
def test_jacobians_of_a_layer(f):
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


# --- bad input ----------------------------------------------------------------------------------
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
