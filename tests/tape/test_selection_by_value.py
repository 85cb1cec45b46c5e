"""Selections that the values decide."""

import numpy as np
import pytest

import arraytape as xp
from helpers.selections import gradients, inf, orders, uneven

pytestmark = pytest.mark.any_storage

CHOICES = {
    "max": lambda x: xp.max(xp.log(x)) ** 2,
    "min": lambda x: xp.min(xp.reciprocal(x)) ** 2,
    "maximum": lambda x: xp.maximum(xp.log(x), -5.0) ** 2,
    "minimum": lambda x: xp.minimum(xp.reciprocal(x), 50.0) ** 2,
    "clip": lambda x: xp.clip(xp.log(x), -5.0, 5.0) ** 2,
    "clip of roots": lambda x: xp.clip(xp.sqrt(x), 0.1, 5.0) ** 2,
    "sort": lambda x: xp.sort(xp.log(x))[-3:] ** 2 * xp.asarray(uneven((3,))),
    "argsort and take": lambda x: (
        xp.take(xp.log(x), xp.argsort(x)[-3:]) ** 2 * xp.asarray(uneven((3,)))
    ),
    "mask": lambda x: xp.log(x)[x > 0] ** 2,
    "write by a condition": lambda x: overwritten(xp.log(x)) ** 2,
    "where on the result": lambda x: finite(xp.log(x)) ** 2,
    "nested where": lambda x: (
        xp.where(x > 0, xp.where(x > 1, xp.log(x), xp.sqrt(x)), 0.0) ** 2 * x.shape[0] / x.shape[0]
    ),
}


def overwritten(z):
    z[z < -5.0] = 0.0
    return z


def finite(z):
    return xp.where(xp.isfinite(z), z, 0.0)


@orders
@pytest.mark.parametrize("name", CHOICES)
def test_what_the_values_leave_out_contributes_zero(name, agree):
    f = CHOICES[name]
    live = np.asarray([True, False, True, False, True])
    agree(f, f, live, np.asarray([0.5, 0.0, 2.5, 0.0, 1.5]))


def test_a_negative_number_set_to_zero_by_a_mask_contributes_zero():
    def f(x):
        z = xp.sqrt(x)
        z[z < 0.5] = 0.0
        z[xp.isnan(z)] = 0.0
        return z

    np.testing.assert_array_equal(gradients(f, np.asarray([-1.0, 0.0, 4.0]))[0], [0.0, 0.0, 0.25])


def test_an_element_that_one_use_takes_and_another_does_not_is_taken():
    def f(x):
        y = xp.sqrt(x)
        return xp.where(x > 0, y, 0.0) + 3.0 * y

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 4.0]))[0], [inf, 1.0])


def test_an_intermediate_result_as_source_does_not_change_the_gradient():
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
        loss = xp.sum(xp.where(x > 0, y, 0.0) ** 2)
    to_y, to_x = tape.gradient(loss, [y, x])
    np.testing.assert_array_equal(np.asarray(to_y), [0.0, 4.0])
    np.testing.assert_array_equal(np.asarray(to_x), [0.0, 1.0])


def test_a_selection_on_an_inner_tape_alone_holds_for_the_outer_one():
    x, scale = xp.asarray([0.0, 4.0]), xp.asarray(3.0)
    with xp.GradientTape() as outer:
        outer.watch(scale)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(scale**2 * xp.where(x > 0, xp.sqrt(x), 0.0))
        first = inner.gradient(y, x)
    np.testing.assert_array_equal(np.asarray(first), [0.0, 2.25])
    assert float(outer.gradient(first, scale)) == 1.5


def test_single_precision_selects_as_double_precision_does():
    x = np.asarray([0.0, 4.0], dtype=np.float32)
    found = gradients(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), x)[0]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.0, 0.25])


def test_complex_elements_that_are_not_selected_contribute_zero():
    def f(z):
        return xp.real(xp.where(xp.abs(z) > 0, xp.log(z), 0.0))

    found = gradients(f, np.asarray([0.0j, 1.0 + 1.0j]))[0]
    np.testing.assert_array_equal(found, [0.0, 0.5 + 0.5j])


@pytest.mark.parametrize("ord", [np.inf, -np.inf])
def test_the_greatest_of_a_row_keeps_its_gradient_beside_rows_that_are_not_taken(ord):
    x, zeros = np.asarray([[0.5, -3.0, 1.0], [2.0, 1.0, -1.0], [1.0, 2.0, 4.0]]), np.zeros(2)

    def f(x, zeros):
        norms = xp.linalg.vector_norm(x, axis=1, ord=ord)
        taken = xp.where(xp.asarray([True, False, True]), norms, 0.0)
        return xp.sum(taken) + xp.sum(xp.where(zeros > 0, xp.sqrt(zeros), 0.0))  # NaN: guarded

    size = np.abs(x) if ord > 0 else -np.abs(x)
    expected = np.sign(x) * (size == size.max(axis=1, keepdims=True)) * [[1.0], [0.0], [1.0]]
    found = gradients(f, x, zeros)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], zeros)
