"""Kinks, infinite slopes and values far out."""

import numpy as np
import pytest

import arraytape as xp
from helpers.numerics import (
    derivative,
    equal,
    gradient,
    inf,
    logsumexp,
    nan,
    near,
    norm,
    relu,
    sigmoid,
    weighted,
)

pytestmark = pytest.mark.any_storage


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(xp.sqrt, 0.0, inf, id="57-sqrt"),
        pytest.param(xp.log, 0.0, inf, id="57-log"),
        pytest.param(xp.acos, 1.0, -inf, id="57-arccos"),
    ],
)
def test_a_vertical_tangent_has_an_infinite_slope(f, x, expected):
    equal(gradient(f, x), expected)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(lambda x: xp.where(x > 0, xp.sqrt(x), 0), 0.0, id="58"),
        pytest.param(lambda x: xp.where(x < 1, x, xp.sqrt(x)), 1.0, id="59"),
    ],
)
def test_the_branch_that_where_did_not_take_contributes_zero(f, expected):
    equal(gradient(f, 0.0), expected)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        pytest.param(xp.abs, [0.0], [0.0], id="61-abs"),
        pytest.param(xp.maximum, [2.0, 2.0], [0.5, 0.5], id="62-maximum"),
        pytest.param(xp.minimum, [2.0, 2.0], [0.5, 0.5], id="62-minimum"),
        pytest.param(xp.maximum, [nan, 1.0], [1.0, 0.0], id="63-maximum"),
        pytest.param(xp.maximum, [1.0, nan], [0.0, 1.0], id="63-maximum, second"),
        pytest.param(xp.minimum, [nan, 1.0], [1.0, 0.0], id="63-minimum"),
        pytest.param(xp.max, [[1.0, 3.0, 3.0]], [[0.0, 0.5, 0.5]], id="64-max"),
        pytest.param(xp.max, [[2.0, 2.0, 2.0, 2.0]], [[0.25] * 4], id="64-max of four"),
        pytest.param(relu, [0.0], [0.0], id="65-relu"),
        pytest.param(lambda x: xp.maximum(x, 0), [0.0], [0.5], id="65-maximum with a constant"),
        pytest.param(xp.sign, [0.0], [0.0], id="65-sign"),
        pytest.param(
            lambda x: xp.clip(x, 0, 1), [[-1.0, 0.0, 0.5, 1.0, 2.0]], [[0, 1, 1, 1, 0]], id="66"
        ),
        pytest.param(lambda x: xp.remainder(x, 3.0), [5.0], [1.0], id="83-remainder by a number"),
        pytest.param(xp.remainder, [5.0, 3.0], [1.0, -1.0], id="83-remainder"),
        pytest.param(xp.remainder, [-5.0, 3.0], [1.0, 2.0], id="83-remainder, negative"),
        pytest.param(xp.floor_divide, [5.0, 3.0], [0.0, 0.0], id="83-floor_divide"),
    ],
)
def test_a_kink_has_the_slope_of_its_convention(f, values, expected):
    found = gradient(f, *values)
    for g, e in zip(found if len(values) > 1 else [found], expected, strict=True):
        equal(g, e)


@pytest.mark.parametrize("power", [pow, xp.pow], ids=["operator", "function"])
@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        pytest.param(2, 0.0, id="67-2"),
        pytest.param(1, 1.0, id="67-1"),
        pytest.param(0, 0.0, id="67-int 0"),
        pytest.param(0.0, 0.0, id="67-float 0"),
    ],
)
def test_a_power_of_zero_has_the_slope_of_its_exponent(power, exponent, expected):
    equal(gradient(lambda x: power(x, exponent), 0.0), expected)


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        pytest.param(0.0, 0.0, [0.0, 0.0], id="68-0 0"),
        pytest.param(0.0, 0.5, [inf, 0.0], id="68-0 0.5"),
        pytest.param(0.0, 2.0, [0.0, 0.0], id="68-0 2"),
        pytest.param(-2.0, 3.0, [12.0, nan], id="68-negative 3"),
    ],
)
def test_a_power_of_two_arrays_has_the_slopes_of_its_convention(x1, x2, expected):
    to_base, to_exponent = gradient(xp.pow, x1, x2)
    equal(to_base, expected[0])
    equal(to_exponent, expected[1])


@pytest.mark.parametrize("square", [lambda x: x * x, lambda x: x**2, xp.square])
def test_case_70_the_root_of_a_square_at_zero_is_nan(square):
    equal(gradient(lambda x: xp.sqrt(square(x)), 0.0), nan)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(norm, [3.0, 4.0], [0.6, 0.8], id="71-norm"),
        pytest.param(norm, [0.0, 0.0], [0.0, 0.0], id="71-norm at 0"),
        pytest.param(lambda x: norm(x) ** 2, [0.0, 0.0], [0.0, 0.0], id="71-squared norm at 0"),
        pytest.param(xp.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], id="73-std of equal elements"),
        pytest.param(xp.std, [1.0, 3.0], [-0.5, 0.5], id="73-std"),
        pytest.param(xp.var, [1.0, 3.0], [-1.0, 1.0], id="73-var"),
        pytest.param(
            lambda x: xp.var(x, correction=1), [1.0, 3.0], [-2.0, 2.0], id="73-var, corrected"
        ),
        pytest.param(xp.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0], id="74-one zero"),
        pytest.param(xp.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], id="74-two zeros"),
    ],
)
def test_a_reduction_has_the_gradient_of_its_convention(f, x, expected):
    near(gradient(f, x), expected)


LOGSUMEXP = [
    pytest.param([-inf, 0.0], [0.0, 1.0], id="76-minus infinity"),
    pytest.param([1000.0, 1000.0], [0.5, 0.5], id="76-large"),
    pytest.param([-inf, -inf], [nan, nan], id="76-nothing"),
    pytest.param([inf, 0.0], [nan, 0.0], id="76-infinity"),
    pytest.param([nan, 0.0], [nan, nan], id="76-NaN"),
    pytest.param([-inf, nan], [nan, nan], id="76-minus infinity and NaN"),
]


@pytest.mark.parametrize(("x", "expected"), LOGSUMEXP)
def test_logsumexp_has_a_softmax_or_nan_as_gradient(x, expected):
    equal(gradient(logsumexp, x), expected)


@pytest.mark.parametrize(("x", "expected"), LOGSUMEXP)
def test_scipys_own_logsumexp_has_a_softmax_or_nan_as_gradient(x, expected):
    import scipy.special

    equal(gradient(scipy.special.logsumexp, x), expected)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        pytest.param(xp.logaddexp, (0.0, 0.0), [0.5, 0.5], id="77-logaddexp"),
        pytest.param(xp.logaddexp, (1000.0, 0.0), [1.0, 0.0], id="77-logaddexp, large"),
        pytest.param(xp.logaddexp, (-inf, -inf), [nan, nan], id="77-logaddexp of nothing"),
        pytest.param(xp.logaddexp, (inf, 0.0), [1.0, 0.0], id="77-logaddexp of infinity"),
        pytest.param(xp.logaddexp, (inf, -inf), [1.0, 0.0], id="77-logaddexp of both infinities"),
        pytest.param(xp.logaddexp, (inf, inf), [0.5, 0.5], id="77-logaddexp of two infinities"),
        pytest.param(xp.logaddexp, (inf, nan), [nan, nan], id="77-logaddexp of infinity and NaN"),
        pytest.param(xp.atan2, (1.0, 1.0), [0.5, -0.5], id="78-atan2"),
        pytest.param(xp.atan2, (0.0, 0.0), [0.0, 0.0], id="78-atan2 at 0"),
        pytest.param(xp.hypot, (3.0, 4.0), [0.6, 0.8], id="79-hypot"),
        pytest.param(xp.hypot, (0.0, 0.0), [0.0, 0.0], id="79-hypot at 0"),
        pytest.param(xp.divide, (0.0, 0.0), [inf, nan], id="84-divide"),
    ],
)
def test_a_function_of_two_arrays_has_the_slopes_of_its_convention(f, values, expected):
    near(gradient(f, *values), expected)


SOFTPLUS = {
    "logaddexp": lambda x: xp.logaddexp(x, xp.asarray(0.0)),
    "log1p": lambda x: xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0.0),
}
SIGMOID = {
    "where": sigmoid,
    "tanh": lambda x: 0.5 * (xp.tanh(0.5 * x) + 1.0),
}


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(lambda x: xp.log(1.0 + xp.exp(x)), 100.0, 1.0, id="82-naive softplus at 100"),
        pytest.param(lambda x: xp.log(1.0 + xp.exp(x)), 1000.0, nan, id="82-naive at 1000"),
        *(
            pytest.param(SOFTPLUS[how], x, expected, id=f"82-softplus by {how} at {x}")
            for how in SOFTPLUS
            for x, expected in ((1000.0, 1.0), (inf, 1.0), (0.0, 0.5))
        ),
        *(pytest.param(SIGMOID[how], -1000.0, 0.0, id=f"82-sigmoid by {how}") for how in SIGMOID),
        pytest.param(xp.tanh, 1000.0, 0.0, id="82-tanh"),
    ],
)
def test_the_slope_far_out_is_the_limit_or_nan(f, x, expected):
    equal(gradient(f, x), expected)


def test_case_81_the_slope_of_array_api_extras_own_sinc_at_zero_is_zero():
    import array_api_extra

    equal(gradient(lambda x: array_api_extra.sinc(x, xp=xp), 0.0), 0.0)


def test_case_84_the_sixth_derivative_of_a_reciprocal_is_exact():
    found = derivative(lambda x: 1 / x, xp.asarray(4.0), 6)
    near(np.asarray(found), 0.0439453125)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(xp.mean, np.arange(6.0).reshape(2, 3), np.full((2, 3), 1 / 6), id="85-mean"),
        pytest.param(lambda x: x * xp.ones((3, 2)), [1.0, 2.0], [3, 3], id="85-broadcast"),
        pytest.param(
            lambda x: xp.cumulative_sum(x) * weighted([1, 10, 100]),
            [1.0, 2.0, 3.0],
            [111, 110, 100],
            id="85-cumulative_sum",
        ),
        pytest.param(
            lambda x: xp.repeat(x, 2) * weighted(range(6)),
            [1.0, 2.0, 3.0],
            [1, 5, 9],
            id="85-repeat",
        ),
        pytest.param(
            lambda x: xp.tile(x, (2,)) * weighted(range(6)),
            [1.0, 2.0, 3.0],
            [3, 5, 7],
            id="85-tile",
        ),
        pytest.param(
            lambda x: xp.diff(x) * weighted([1, 10]), [1.0, 2.0, 3.0], [-1, -9, 10], id="85-diff"
        ),
        pytest.param(
            lambda x: x[xp.asarray([0, 0, 2])] * weighted([1, 2, 3]),
            [1.0, 2.0, 3.0],
            [3, 0, 3],
            id="85-gather",
        ),
        pytest.param(lambda x: x[x > 1], [1.0, 2.0, 3.0], [0, 1, 1], id="85-mask"),
    ],
)
def test_what_is_used_several_times_adds_up(f, x, expected):
    equal(gradient(f, x), expected)
