"""Operators and indexing against functions and NumPy, on inputs that hypothesis draws."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import arraytape as xp
from helpers.drawn_arrays import FEW, FLOAT, INTEGER, NATURAL, array, arrays, shapes
from helpers.drawn_calls import binary
from helpers.rows import ROWS
from helpers.same_values import assert_same, function_of, ours, quiet

OPERATORS = {
    "+": ("add", lambda a, b: a + b),
    "-": ("subtract", lambda a, b: a - b),
    "*": ("multiply", lambda a, b: a * b),
    "/": ("divide", lambda a, b: a / b),
    "//": ("floor_divide", lambda a, b: a // b),
    "%": ("remainder", lambda a, b: a % b),
    "&": ("bitwise_and", lambda a, b: a & b),
    "|": ("bitwise_or", lambda a, b: a | b),
    "^": ("bitwise_xor", lambda a, b: a ^ b),
    "<<": ("bitwise_left_shift", lambda a, b: a << b),
    ">>": ("bitwise_right_shift", lambda a, b: a >> b),
    "==": ("equal", lambda a, b: a == b),
    "!=": ("not_equal", lambda a, b: a != b),
    "<": ("less", lambda a, b: a < b),
    "<=": ("less_equal", lambda a, b: a <= b),
    ">": ("greater", lambda a, b: a > b),
    ">=": ("greater_equal", lambda a, b: a >= b),
    "@": ("matmul", lambda a, b: a @ b),
    "abs": ("abs", abs),
    "~": ("bitwise_invert", lambda a: ~a),
    "neg": ("negative", lambda a: -a),
    "pos": ("positive", lambda a: +a),
}


@pytest.mark.parametrize(("name", "operate"), OPERATORS.values(), ids=OPERATORS)
def test_an_operator_is_the_function_of_the_same_meaning(name, operate):
    row = next(row for row in ROWS if row.name == name)

    @FEW
    @given(row.calls)
    def check(drawn):
        arguments = ours(drawn.arguments)
        with quiet():
            expected = function_of(xp, name)(*arguments)
            result = operate(*arguments)
        assert_same(result, np.asarray(expected), row.close)

    check()


@FEW
@given(binary(FLOAT) | binary(INTEGER, second=NATURAL))
def test_the_power_operator_is_numpys(drawn):
    # NumPy's operator has its own spelling of some exponents: x ** 2 is x * x.
    with quiet():
        expected = drawn.arguments[0] ** drawn.arguments[1]
        a, b = ours(drawn.arguments)
        assert_same(a**b, expected)


xps = make_strategies_namespace(xp, api_version="2024.12")


@FEW
@given(st.data())
def test_indexing_is_numpys(data):
    x = data.draw(xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=1, max_side=4)))
    key = data.draw(xps.indices(x.shape, allow_newaxis=True))
    assert isinstance(x, xp.Array)
    assert_same(x[key], np.asarray(x)[key])


@FEW
@given(st.data())
def test_writing_at_an_index_is_numpys(data):
    x = data.draw(xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=1, max_side=4)))
    key = data.draw(xps.indices(x.shape))
    y = np.array(x)
    value = data.draw(xps.from_dtype(x.dtype))
    x[key] = value
    y[key] = value
    assert_same(x, y)


@FEW
@given(st.data())
def test_a_boolean_mask_selects_as_in_numpy(data):
    x = data.draw(array(shape=shapes(min_dims=1)))
    mask = data.draw(arrays("bool", x.shape[: data.draw(st.integers(1, x.ndim))]))
    assume(x.ndim)
    assert_same(ours(x)[ours(mask)], x[mask])


def test_matmul_in_place_drops_leading_axes_of_length_1(near):
    data, other = np.eye(2) + 1.0, np.arange(4.0).reshape(1, 2, 2)
    x = xp.asarray(data)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x + 0.0
        y @= xp.asarray(other)
        total = xp.sum(y)
    expected = data.copy()
    expected @= other
    near(y, expected)
    near(tape.gradient(total, x), np.broadcast_to(other[0].sum(axis=1), (2, 2)))


def test_a_number_may_be_written_at_a_key_of_arrays_without_axes():
    x = xp.ones((2, 2))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x + 0.0
        y[np.asarray(-1), 0] = 0.5
        total = xp.sum(y)
    np.testing.assert_array_equal(np.asarray(tape.gradient(total, x)), [[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("function", [xp.prod, xp.cumulative_prod])
def test_products_in_a_real_dtype_have_the_gradient_of_the_real_parts(function, near):
    def gradient(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            total = xp.sum(function(x, dtype="float64"))
        return tape.gradient(total, x)

    x = xp.asarray([0.6 - 0.4j, -1.5 + 1.6j, 2.0 + 1.0j])
    found = gradient(x)
    assert found.dtype == x.dtype
    near(found, np.asarray(gradient(xp.real(x))).astype(complex))
