"""The conventions for derivatives, row by row: complex numbers, ties, zeros, NaN and None."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from helpers.numerics import equal, gradient, inf, nan, near, norm, weighted

pytestmark = pytest.mark.any_storage


def test_a_complex_gradient_is_the_slope_to_the_real_part_plus_i_times_that_to_the_imaginary():
    def loss(z):
        return xp.real(z) * 3.0 + xp.imag(z) * 5.0

    equal(gradient(loss, 1.0 - 2.0j), 3.0 + 5.0j)


def test_a_step_against_a_complex_gradient_descends():
    def loss(z):
        return xp.sum(xp.abs(xp.exp(z) * (1.0 + 2.0j) - z * z) ** 2)

    z = np.asarray([0.3 - 0.7j, 1.1 + 0.4j])
    g = gradient(loss, z)
    step = 1e-6
    change = float(loss(xp.asarray(z - step * g))) - float(loss(xp.asarray(z)))
    np.testing.assert_allclose(change, -step * np.sum(np.abs(g) ** 2), rtol=1e-3)


def test_a_complex_cotangent_is_multiplied_by_the_conjugate_of_the_slope():
    z, g = xp.asarray(2.0 + 3.0j), 0.5 - 1.5j
    with xp.GradientTape() as tape:
        tape.watch(z)
        y = xp.exp(z)
    found = tape.gradient(y, z, output_gradients=g)
    near(np.asarray(found), g * np.conj(np.exp(2.0 + 3.0j)))


def test_a_real_input_of_a_complex_op_has_a_real_gradient():
    found = gradient(lambda x: xp.real(x * (2.0 + 5.0j) * (1.0 + 1.0j)), [1.0, 2.0])
    assert found.dtype == np.float64
    near(found, [-3.0, -3.0])


@pytest.mark.parametrize("extreme", [xp.maximum, xp.minimum])
def test_an_extreme_of_a_value_and_itself_has_gradient_one(extreme):
    equal(gradient(lambda x: extreme(x, x), [2.0, -1.0]), 1.0)


@pytest.mark.parametrize(
    ("extreme", "expected"),
    [
        pytest.param(xp.max, [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]], id="max"),
        pytest.param(xp.min, [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]], id="min"),
    ],
)
def test_ties_along_an_axis_share_the_gradient_of_their_row(extreme, expected):
    equal(gradient(lambda x: extreme(x, axis=1), [[1, 3, 3], [2, 4, 2]]), expected)


@pytest.mark.parametrize(
    ("f", "values"),
    [
        pytest.param(xp.abs, [0.0], id="abs"),
        pytest.param(xp.abs, [0.0 + 0.0j], id="abs of a complex zero"),
        pytest.param(xp.sign, [0.0], id="sign"),
        pytest.param(xp.sign, [0.0 + 0.0j], id="sign of a complex zero"),
        pytest.param(norm, [[0.0, 0.0]], id="norm"),
        pytest.param(norm, [[0.0j, 0.0j]], id="norm of complex zeros"),
        *(
            pytest.param(
                lambda x, ord=ord: xp.linalg.vector_norm(x, ord=ord), [[0.0, 0.0]], id=f"norm{ord}"
            )
            for ord in (0, 0.5, 1, 3, inf, -inf, -1, -2.5)
        ),
        pytest.param(xp.linalg.matrix_norm, [np.zeros((2, 2))], id="matrix norm"),
        pytest.param(xp.std, [[2.0, 2.0, 2.0]], id="std"),
        pytest.param(xp.hypot, [0.0, 0.0], id="hypot"),
        pytest.param(xp.atan2, [0.0, 0.0], id="atan2"),
    ],
)
def test_the_slope_at_zero_is_zero(f, values):
    found = gradient(f, *values)
    for g in found if len(values) > 1 else [found]:
        equal(g, 0.0)


@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_the_slope_of_clip_at_a_bound_is_one_towards_x(bound):
    to_x, to_min, to_max = gradient(xp.clip, bound, 0.0, 1.0)
    assert (to_x, to_min, to_max) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0])
def test_the_slope_of_x_to_the_power_of_zero_is_zero(x):
    equal(gradient(lambda x: x**0, x), 0.0)
    equal(gradient(xp.pow, x, 0.0)[0], 0.0)


@pytest.mark.parametrize("y", [0.5, 1.0, 3.0])
def test_the_slope_of_zero_to_the_power_of_y_is_zero_towards_y(y):
    equal(gradient(xp.pow, 0.0, y)[1], 0.0)
    equal(gradient(lambda y: 0.0**y, y), 0.0)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(xp.sqrt, id="sqrt"),
        pytest.param(xp.log, id="log"),
        pytest.param(xp.log2, id="log2"),
        pytest.param(xp.log10, id="log10"),
        pytest.param(lambda x: x**0.5, id="power"),
        pytest.param(lambda x: xp.pow(x, xp.asarray(0.5)), id="power of arrays"),
        pytest.param(lambda x: xp.log1p(x - 1.0), id="log1p"),
    ],
)
def test_an_infinite_slope_is_infinite(f):
    equal(gradient(f, 0.0), inf)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), [0.0, 0.25], id="where"),
        pytest.param(lambda x: xp.sqrt(x)[x > 0], [0.0, 0.25], id="mask"),
        pytest.param(lambda x: xp.sqrt(x)[1], [0.0, 0.25], id="index"),
        pytest.param(lambda x: xp.sqrt(x)[1:], [0.0, 0.25], id="slice"),
        pytest.param(lambda x: written(xp.sqrt(x)), [0.0, 0.25], id="write"),
        pytest.param(lambda x: xp.max(xp.sqrt(x)), [0.0, 0.25], id="max"),
        pytest.param(lambda x: xp.maximum(xp.sqrt(x), 0.5), [0.0, 0.25], id="maximum"),
        pytest.param(lambda x: xp.clip(xp.sqrt(x), 0.5, 3.0), [0.0, 0.25], id="clip"),
        pytest.param(lambda x: xp.sort(xp.sqrt(x))[1:], [0.0, 0.25], id="sort"),
        pytest.param(
            lambda x: xp.take(xp.sqrt(x), xp.asarray([1, 1])), [0.0, 0.5], id="take, twice"
        ),
    ],
)
def test_what_a_selection_did_not_take_contributes_exactly_zero(f, expected):
    equal(gradient(f, [0.0, 4.0]), expected)


def written(y):
    y[0] = 0.0
    return y


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: xp.sqrt(x) ** 2, id="power"),
        pytest.param(lambda x: xp.square(xp.sqrt(x)), id="square"),
        pytest.param(lambda x: xp.sqrt(x) * 0.0, id="a factor of zero"),
        pytest.param(lambda x: xp.where(x >= 0, xp.sqrt(x), 7.0) ** 2, id="selected"),
    ],
)
def test_a_cotangent_that_is_zero_by_value_times_an_infinite_slope_is_nan(f):
    equal(gradient(f, [0.0]), nan)


@pytest.mark.parametrize("f", [xp.exp, xp.sin, xp.sqrt, xp.square, xp.log])
def test_nan_in_the_value_propagates_to_the_gradient(f):
    assert np.isnan(gradient(f, [nan, 1.0])).tolist() == [True, False]


def test_sort_hands_the_gradient_back_by_the_stable_order():
    weights = weighted([1.0, 10.0, 100.0, 1000.0])
    found = gradient(lambda x: xp.sort(x) * weights, [2.0, 1.0, 2.0, 1.0])
    equal(found, [100.0, 1.0, 1000.0, 10.0])


def test_a_descending_sort_hands_the_gradient_back_by_the_stable_order():
    weights = weighted([1.0, 10.0, 100.0, 1000.0])
    found = gradient(lambda x: xp.sort(x, descending=True) * weights, [2.0, 1.0, 2.0, 1.0])
    equal(found, [1.0, 100.0, 10.0, 1000.0])


def test_gathering_by_argsort_is_sorting():
    weights = weighted([1.0, 10.0, 100.0])
    found = gradient(lambda x: xp.take(x, xp.argsort(x)) * weights, [3.0, 1.0, 1.0])
    equal(found, [100.0, 1.0, 10.0])


@pytest.mark.parametrize(
    "values",
    [
        xp.unique_values,
        lambda x: xp.unique_all(x).values,
        lambda x: xp.unique_counts(x).values,
        lambda x: xp.unique_inverse(x).values,
    ],
    ids=["values", "all", "counts", "inverse"],
)
def test_the_gradient_of_a_repeated_value_goes_to_its_first_occurrence(values):
    weights = weighted([1.0, 10.0])
    equal(gradient(lambda x: values(x) * weights, [2.0, 1.0, 2.0, 1.0]), [10.0, 1.0, 0.0, 0.0])


def test_a_running_product_with_a_zero_is_exact():
    weights = weighted([1.0, 10.0, 100.0])
    found = gradient(lambda x: xp.cumulative_prod(x) * weights, [2.0, 0.0, 3.0])
    equal(found, [1.0, 620.0, 0.0])


def test_a_product_of_several_zeros_is_exact_to_second_order():
    x = xp.asarray([0.0, 0.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.prod(x)
        first = inner.gradient(y, x)[0]
    equal(np.asarray(outer.gradient(first, x)), [0.0, 3.0, 0.0])


@pytest.mark.parametrize(
    "f", [xp.round, xp.floor, xp.ceil, xp.trunc, lambda x: x > 1.0, xp.argmax, xp.isnan]
)
def test_what_has_no_derivative_gives_none(f):
    x = xp.asarray([1.5, 2.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.astype(f(x), xp.float64)
    assert tape.gradient(y, x) is None


def test_an_integer_result_gives_none():
    assert gradient(lambda x: xp.astype(xp.astype(x, xp.int64), xp.float64), [1.5]) is None


@pytest.mark.parametrize("f", [xp.sign, lambda x: xp.floor_divide(x, 2.0)])
def test_what_is_flat_gives_zeros(f):
    equal(gradient(f, [1.5, -2.5]), 0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_a_gradient_has_its_sources_dtype_shape_and_device(dtype, shape):
    x = xp.ones(shape, dtype=getattr(xp, dtype))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.abs(xp.sqrt(x * 2.0 + 1.0)))
    found = tape.gradient(y, x)
    assert (found.dtype, found.shape, found.device) == (x.dtype, x.shape, x.device)


def test_an_integer_source_gives_none_with_a_warning_that_names_the_dtype():
    x = xp.asarray([1, 2])
    with xp.GradientTape() as tape:
        with pytest.warns(TapeWarning, match="int64"):
            tape.watch(x)
        y = x * x
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, x) is None
