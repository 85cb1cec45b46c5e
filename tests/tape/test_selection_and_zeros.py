"""Zero by value is not zero by selection."""

import numpy as np
import pytest

import arraytape as xp
from helpers.selections import by_where_on_rows, gradients, nan, near, products

pytestmark = pytest.mark.any_storage


def test_an_honest_nan_stays_beside_what_was_not_selected():
    def f(x):
        return xp.where(xp.asarray([False, True, True]), xp.sqrt(x) ** 2, 0.0)

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 0.0, 4.0]))[0], [0.0, nan, 1.0])


def test_an_honest_nan_of_one_source_does_not_reach_another():
    def f(x, w):
        return xp.where(x > 0, xp.sqrt(x), 0.0) + xp.sqrt(w) ** 2

    to_x, to_w = gradients(f, np.asarray([0.0, 4.0]), np.asarray([0.0, 4.0]))
    np.testing.assert_array_equal(to_x, [0.0, 0.25])
    np.testing.assert_array_equal(to_w, [nan, 1.0])


def test_multiplying_by_a_mask_is_no_selection():
    def f(x):
        return xp.sqrt(x) * xp.astype(x > 0, xp.float64)

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 4.0]))[0], [nan, 0.25])


def test_an_output_gradient_that_is_zero_by_value_is_no_selection():
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
    found = tape.gradient(y, x, output_gradients=xp.asarray([0.0, 2.0]))
    np.testing.assert_array_equal(np.asarray(found), [nan, 0.5])


def test_a_zero_weight_in_a_matrix_product_is_no_selection():
    weights = xp.asarray([[0.0], [2.0]])
    found = gradients(lambda x: xp.sqrt(x) @ weights, np.asarray([[0.0, 4.0]]))[0]
    np.testing.assert_array_equal(found, [[nan, 0.5]])


def test_an_honest_nan_in_a_live_row_of_a_matrix_product_stays():
    weights, live = xp.asarray([[0.0], [2.0]]), np.asarray([True, False])

    def f(x):
        return by_where_on_rows(xp.sqrt(x) @ weights, live)

    found = gradients(f, np.asarray([[0.0, 4.0], [0.0, 0.0]]))[0]
    np.testing.assert_array_equal(found, [[nan, 0.5], [0.0, 0.0]])


def test_an_honest_nan_of_a_matrix_comes_from_the_live_row_alone():
    x, live = np.asarray([[0.0, 1.0], [0.0, 0.0]]), np.asarray([True, False])

    def f(w):
        return by_where_on_rows(xp.log(xp.asarray(x)) @ w, live) * 0.0

    np.testing.assert_array_equal(gradients(f, np.asarray([[2.0], [3.0]]))[0], [[nan], [0.0]])


def test_an_honest_nan_of_a_factor_for_every_column_comes_from_the_live_row_alone():
    x, live = np.asarray([[0.0, 1.0], [0.0, 0.0]]), np.asarray([True, False])

    def f(w):
        return by_where_on_rows(xp.log(xp.asarray(x)) * w, live) * 0.0

    np.testing.assert_array_equal(gradients(f, np.asarray([2.0, 3.0]))[0], [nan, 0.0])


GUARDS = {
    "plain": lambda w: 0.0,
    "beside a dead element": lambda w: xp.sum(xp.where(w > 0, xp.sqrt(w), 0.0)),
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(
    ("of", "to", "expected"),
    [
        (1, 0, np.cos(0.7)),  # the gradient to x1 is x0 cos(x1): 0 at x0 = 0, but its slope is not
        (0, 1, np.cos(0.7)),
        (1, 1, 0.0),
        (0, 0, 0.0),
    ],
)
def test_a_cotangent_that_is_zero_by_value_keeps_its_slope(guard, of, to, expected):
    x = [xp.asarray(0.0), xp.asarray(0.7)]
    w = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as outer:
        outer.watch([x, w])
        with xp.GradientTape() as inner:
            inner.watch([x, w])
            y = x[0] * xp.sin(x[1]) + GUARDS[guard](w)
        first = inner.gradient(y, [*x, w], unconnected_gradients="zero")
    found = outer.gradient([first[of], first[2]], x, unconnected_gradients="zero")[to]
    near(np.asarray(found), expected)


def test_a_dead_element_does_not_cut_the_slope_of_another_that_is_zero_by_value():
    def f(x):
        return xp.where(xp.asarray([True, False]), x * xp.sqrt(xp.asarray([4.0, 0.0]) + x), 0.0)

    found = products(f, [np.asarray([1.0, 1.0])], np.asarray([0.0, 0.0]))[0]
    near(found, [0.5, 0.0])
