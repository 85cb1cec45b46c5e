"""Convolutions and pooling against loops over windows."""

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arraytape as xp
from arraytape import nn
from arraytape._record.plan import plan_of
from arraytape._storage import correlations as ways
from arraytape.testing import check_gradients

RNG = np.random.default_rng(5)


def margins(n, size, stride, dilation, padding):
    span = (size - 1) * dilation + 1
    if padding == "causal":
        return span - 1, 0
    if padding == "valid":
        return 0, 0
    total = max((-(-n // stride) - 1) * stride + span - n, 0)
    return total // 2, total - total // 2


def by_loops(x, sizes, strides, dilations, padding, at, outside=0.0):
    """``at`` of each window, with the elements of NumPy data that lie in it."""
    axes = len(sizes)
    pads = [
        margins(*one, padding)
        for one in zip(x.shape[-1 - axes : -1], sizes, strides, dilations, strict=True)
    ]
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=outside)
    spans = [(k - 1) * d + 1 for k, d in zip(sizes, dilations, strict=True)]
    counts = [(n - s) // t + 1 for n, s, t in zip(x.shape[1:-1], spans, strides, strict=True)]
    places = itertools.product(*map(range, counts))
    found = [
        at(
            x[
                (
                    slice(None),
                    *[
                        slice(p * t, p * t + s, d)
                        for p, t, s, d in zip(place, strides, spans, dilations, strict=True)
                    ],
                )
            ]
        )
        for place in places
    ]
    return np.stack(found, axis=1).reshape(x.shape[0], *counts, -1)


CONVOLUTIONS = [
    (1, (3,), (1,), "valid", (1,)),
    (1, (3,), (2,), "same", (1,)),
    (1, (2,), (1,), "causal", (3,)),
    (1, (4,), (3,), "same", (1,)),
    (2, (3, 2), (1, 1), "valid", (1, 1)),
    (2, (3, 3), (2, 2), "same", (1, 1)),
    (2, (2, 3), (1, 2), "valid", (2, 1)),
    (2, (1, 1), (1, 1), "same", (1, 1)),
    (2, (3, 2), (2, 3), "same", (2, 1)),
    (1, (3,), (4,), "valid", (2,)),
    (1, (2,), (3,), "same", (1,)),
]  # fmt: skip


def layer_of(axes, sizes, strides, padding, dilations):
    kind = nn.Conv1D if axes == 1 else nn.Conv2D
    return kind(
        4, sizes, strides=strides, padding=padding, dilation_rate=dilations, seed=1,
        bias_initializer="uniform",
    )  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_a_convolution_is_the_sum_over_each_window(case):
    axes, sizes, strides, padding, dilations = case
    x = RNG.normal(size=(*(2, 9, 7, 3)[: axes + 1], 3))
    layer = layer_of(*case)
    found = np.asarray(layer(xp.asarray(x)))
    kernel, bias = np.asarray(layer.kernel), np.asarray(layer.bias)

    def at(window):
        return np.tensordot(window, kernel, axes=axes + 1) + bias

    np.testing.assert_allclose(
        found, by_loops(x, sizes, strides, dilations, padding, at), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("case", [*CONVOLUTIONS[1:7:2], *CONVOLUTIONS[8:]], ids=str)
def test_gradients_of_a_convolution_to_second_order_in_both_modes(case):
    axes = case[0]
    x = RNG.normal(size=(*(1, 5, 4, 2)[: axes + 1], 2))
    layer = layer_of(*case)
    layer(xp.asarray(x))

    def loss(x, kernel, bias):
        values = {"kernel": kernel, "bias": bias}
        return xp.sum(xp.tanh(nn.functional_call(layer, values, x)))

    check_gradients(loss, [x, np.asarray(layer.kernel), np.asarray(layer.bias)], seeds=1)


INSIDE = {"LEAST_SHARE": 0.0, "LEAST_NUMBER": 0, "LEAST_DATA": 1 << 60}
FEW_FILTERS = {"LEAST_SHARE": 1.1, "LEAST_DATA": 0}


@pytest.mark.parametrize(("limits", "channels", "filters"), [(INSIDE, 2, 3), (FEW_FILTERS, 40, 1)])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_each_way_has_the_gradients_of_padded_data(case, limits, channels, filters):
    """To second order, replayed, and under vmap, where the kernels may differ between examples."""
    axes, sizes, strides, padding, dilations = case
    kind = nn.Conv1D if axes == 1 else nn.Conv2D
    layer = kind(filters, sizes, strides, padding, dilations, use_bias=False, seed=1)
    xs = xp.asarray(RNG.normal(size=(3, 1, *(5, 4)[:axes], channels)))
    layer(xs[0])
    kernels = xp.stack([layer.kernel * k for k in (1.0, 2.0, -1.0)])

    def loss(x, kernel):
        return xp.sum(xp.tanh(nn.functional_call(layer, {"kernel": kernel}, x)))

    grad = xp.grad(loss, argnums=(0, 1))
    expected = [grad(x, kernel) for x, kernel in zip(xs, kernels, strict=True)]
    with mock.patch.multiple(ways, **limits):
        step = xp.function(xp.grad(loss, argnums=(0, 1)))
        found = [step(x, kernel) for x, kernel in zip(xs, kernels, strict=True)]
        mapped = xp.vmap(grad)(xs, kernels)
        check_gradients(loss, [xs[0], kernels[0]], seeds=1)
    for i, parts in enumerate(expected):
        for part, replayed, examples in zip(parts, found[i], mapped, strict=True):
            np.testing.assert_allclose(replayed, part, 1e-11, 1e-12)
            np.testing.assert_allclose(examples[i], part, 1e-11, 1e-12)


def whole_numbers(draw, least, most, count):
    return tuple(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)))


@st.composite
def correlations(draw):
    """The geometry of a correlation, and its three arrays, of small whole numbers."""
    axes = draw(st.integers(1, 2))
    strides, rates, sizes = (whole_numbers(draw, 1, 4, axes) for _ in range(3))
    margins = whole_numbers(draw, 0, 5, axes)
    counts, lengths = (whole_numbers(draw, 1, 6, axes) for _ in range(2))
    batch, filters = draw(st.sampled_from([(), (2,), (1, 3)])), draw(st.integers(1, 9))
    channels = draw(st.sampled_from([2, 40]))  # 40 are many next to a kernel's elements and filters
    shapes = {
        "data": (*batch, *lengths, channels), "kernel": (*sizes, channels, filters),
        "result": (*batch, *counts, filters),
    }  # fmt: skip
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = {name: rng.integers(-3, 4, shape) * 1.0 for name, shape in shapes.items()}
    return (strides, rates, margins), arrays


def summed_products(part, arrays, geometry):
    """The part of a correlation as a loop over its elements, by their places alone."""
    found, axes = np.zeros(arrays[part].shape), len(geometry[0])
    data, kernel, result = (found if name == part else x for name, x in arrays.items())
    lengths, sizes = data.shape[-1 - axes : -1], kernel.shape[:axes]
    for place in np.ndindex(*result.shape[-1 - axes : -1]):
        for k in np.ndindex(*sizes):
            at = [o * s + i * r - m for o, i, s, r, m in zip(place, k, *geometry, strict=True)]
            if all(0 <= i < n for i, n in zip(at, lengths, strict=True)):
                x, y = data[(..., *at, slice(None))], result[(..., *place, slice(None))]
                if part == "data":
                    x += y @ kernel[k].T
                elif part == "result":
                    y += x @ kernel[k]
                else:
                    kernel[k] += x.reshape(-1, x.shape[-1]).T @ y.reshape(-1, y.shape[-1])
    return found


@st.composite
def fastest_ways(draw):
    """Limits with which small arrays take each way that is the fastest for some sizes."""
    return {
        "LEAST_SHARE": draw(st.sampled_from([0.0, 1.1])),
        "LEAST_NUMBER": 0,
        "LEAST_DATA": draw(st.sampled_from([0, 1 << 60])),
    }


@given(correlations(), st.sampled_from(["data", "kernel", "result"]), fastest_ways())
def test_each_part_of_a_correlation_is_a_sum_of_products(drawn, part, limits):
    geometry, arrays = drawn
    axes = len(geometry[0])
    x1, x2 = (xp.asarray(x) for name, x in arrays.items() if name != part)
    shape = arrays[part].shape
    lengths = shape[:axes] if part == "kernel" else shape[-1 - axes : -1]
    with mock.patch.multiple(ways, **limits):
        found = np.asarray(xp.window_correlation(x1, x2, part, lengths, geometry))
    np.testing.assert_array_equal(found, summed_products(part, arrays, geometry))
    assert part == "data" or found.flags.c_contiguous


def test_a_convolution_and_each_of_its_gradients_is_one_record():
    layer, x = nn.Conv2D(2, 3, 2, "same", use_bias=False, seed=0), xp.ones((1, 5, 5, 1))
    layer(x)
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = layer(x)
        inner.gradient(y, [x, layer.kernel], output_gradients=xp.ones_like(y))
    names = [plan_of(record).name for record in outer._recording.records]
    assert names == ["window_correlation"] * 3


def test_an_infinite_gradient_reaches_only_the_data_of_its_window():
    layer, x = nn.Conv1D(1, 3, strides=2, use_bias=False, seed=0), xp.ones((1, 9, 1))
    weights = xp.asarray([1.0, math.inf, 1.0, 1.0])[:, None]
    found = np.asarray(xp.grad(lambda x: xp.sum(layer(x) * weights))(x))[0, :, 0]
    assert list(np.flatnonzero(np.isinf(found))) == [2, 3, 4]
    assert not np.isnan(found).any()


def test_the_structure_of_a_jacobian_is_that_of_the_windows():
    layer, x = nn.Conv1D(1, 3, use_bias=False, seed=0), xp.asarray(RNG.normal(size=(1, 6, 1)))
    layer(x)
    found = xp.sparse_jacobian(lambda x: layer(x) ** 2)(x)
    assert found.nnz == 4 * 3


POOLS = [
    (nn.MaxPooling1D, (3,), (3,), "valid"), (nn.MaxPooling1D, (3,), (2,), "same"),
    (nn.MaxPooling2D, (2, 3), (2, 2), "same"), (nn.AveragePooling1D, (2,), (1,), "same"),
    (nn.AveragePooling2D, (3, 2), (2, 2), "same"), (nn.AveragePooling2D, (2, 2), (2, 2), "valid"),
]  # fmt: skip


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_pooling_takes_the_greatest_or_the_mean_of_each_window(case):
    kind, sizes, strides, padding = case
    shape = (*(2, 8, 7, 3)[: len(sizes) + 1], 3)
    x = RNG.permutation(np.linspace(-2.0, 2.0, np.prod(shape))).reshape(shape)  # all far apart
    greatest = kind.__name__.startswith("Max")
    reduce = np.nanmax if greatest else np.nanmean

    def at(window):  # what lies outside does not count
        return reduce(window, axis=tuple(range(1, window.ndim - 1)))

    ones = (1,) * len(sizes)
    expected = by_loops(x, sizes, strides, ones, padding, at, outside=np.nan)
    layer = kind(sizes, strides, padding)
    np.testing.assert_allclose(np.asarray(layer(xp.asarray(x))), expected, rtol=1e-13)
    check_gradients(lambda x: xp.sum(layer(x) ** 2), [x], seeds=1, h=1e-4, rtol=1e-6)
    assert layer(xp.asarray(x, dtype=xp.float32)).dtype == xp.float32


def test_global_pooling_leaves_the_channels():
    x = RNG.normal(size=(2, 4, 3, 5))
    for kind, f in ((nn.GlobalAveragePooling2D, np.mean), (nn.GlobalMaxPooling2D, np.max)):
        np.testing.assert_allclose(np.asarray(kind()(xp.asarray(x))), f(x, axis=(1, 2)))
        assert kind(keepdims=True)(xp.asarray(x)).shape == (2, 1, 1, 5)
    for kind, f in ((nn.GlobalAveragePooling1D, np.mean), (nn.GlobalMaxPooling1D, np.max)):
        np.testing.assert_allclose(np.asarray(kind()(xp.asarray(x[0]))), f(x[0], axis=1))


def test_gradients_for_each_example_of_a_convolution():
    layer, x = nn.Conv2D(2, 3, seed=0), xp.asarray(RNG.normal(size=(4, 5, 5, 1)))
    layer(x)

    def gradient(x):
        with xp.GradientTape() as tape:
            loss = xp.sum(layer(x) ** 2)
        return tape.gradient(loss, layer.variables)

    found = xp.vmap(gradient)(x)
    for i in range(4):
        for a, b in zip(found, gradient(x[i, ...]), strict=True):
            np.testing.assert_allclose(np.asarray(a)[i], np.asarray(b), rtol=1e-12)


def test_single_precision_stays_and_integers_and_no_examples_are_taken():
    layer = nn.Conv1D(2, 2, seed=0)
    assert layer(xp.ones((1, 4, 3), dtype=xp.float32)).dtype == xp.float32
    assert layer(xp.ones((0, 4, 3), dtype=xp.float32)).shape == (0, 3, 2)
    assert nn.Conv1D(2, 2)(xp.ones((1, 4, 3), dtype=xp.int64)).dtype == xp.float64
    assert nn.MaxPooling1D()(xp.ones((1, 4, 3), dtype=xp.int64)).dtype == xp.float64
    assert nn.Conv1D(2, 2)(xp.ones((4, 3))).shape == (3, 2)  # without an axis of examples


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: nn.Conv1D(0, 3), ValueError, "Conv1D: filters must be at least 1, got 0"),
        (lambda: nn.Conv2D(2, (3, 3, 3)), ValueError, "kernel_size must be an integer or 2"),
        (lambda: nn.Conv2D(2, 3, padding="causal"), ValueError, "no padding 'causal'; there are valid"),
        (lambda: nn.Conv2D(2, 2.5), TypeError, "kernel_size must be an integer, got float"),
        (lambda: nn.Conv2D(2, 3)(xp.ones((4, 3))), ValueError, "conv2d: needs at least 3 axes"),
        (lambda: nn.Conv1D(2, 5)(xp.ones((1, 4, 3))), ValueError, "window of 5 does not fit"),
        (lambda: nn.MaxPooling2D(3)(xp.ones((2, 9, 1))), ValueError, "window of 3 x 3 does not fit"),
        (lambda: nn.MaxPooling2D(strides=0), ValueError, "strides must be at least 1"),
        (lambda: nn.Conv1D(2, 2)([[[1.0]]]), TypeError, "takes an Array, got list"),
        (lambda: nn.GlobalMaxPooling1D(keepdims=1), TypeError, "keepdims must be True or False"),
        (lambda: nn.Conv1D(2, 2, kernel_initializer="he"), ValueError, "no name 'he'; there are"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()


def test_a_call_with_other_channels_is_an_error():
    layer = nn.Conv1D(2, 2)
    layer(xp.ones((1, 4, 3)))
    with pytest.raises(ValueError, match=r"was made for 3 inputs.*\(1, 4, 2\) has 2"):
        layer(xp.ones((1, 4, 2)))


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(
    ("size", "strides", "rate"), [(3, 1, 2), ((2, 3), 1, (3, 1)), (3, 2, 1), ((2, 5), (3, 2), 1)]
)
def test_a_transposed_convolution_is_the_adjoint(padding, size, strides, rate):
    rng = np.random.default_rng(8)
    down = nn.Conv2D(4, size, strides, padding, rate, use_bias=False, seed=0)
    up = nn.Conv2DTranspose(3, size, strides, padding, rate, use_bias=False, seed=0)
    y = xp.asarray(rng.normal(size=(2, 4, 3, 4)))
    x = xp.asarray(rng.normal(size=up(y).shape))
    down(x)
    up.set_weights(down.get_weights())
    assert down(x).shape == y.shape
    np.testing.assert_allclose(float(xp.sum(down(x) * y)), float(xp.sum(x * up(y))), rtol=1e-12)
