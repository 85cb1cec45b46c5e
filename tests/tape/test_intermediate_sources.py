"""Gradients by values that a tape made itself, which go on through views and writes."""

import numpy as np
import pytest

import arraytape as xp

pytestmark = pytest.mark.any_storage

W = np.asarray([0.5, -1.0, 2.0])


def reads(h):
    """Views of h, and h itself."""
    return xp.sum(h[1:] * h[1:]) + xp.sum(h * h) + xp.sum(h[:2])


def reads_of_reads(h):
    v = h[::-1]
    return xp.sum(v[1:] ** 3) + xp.sum(xp.reshape(h, (3, 1)) * xp.asarray(W)) + h[0]


def writes(h):
    """h moves on to other values; the source is the one that was watched."""
    h[1] = h[0] * h[2]
    h[2:] += h[:1]
    return xp.sum(h * h)


def sums(h):
    h += h
    h -= xp.asarray(W)
    return xp.sum(h[:2] ** 2) + xp.sum(h)


USES = [reads, reads_of_reads, writes, sums]


def slope(f, h):
    """The gradient by the complex step."""
    steps = np.eye(3) * 1e-30j
    return np.asarray([np.imag(f(h + step)) / 1e-30 for step in steps])


def in_numpy(f, h):
    """The use as NumPy computes it, on complex data."""
    space = {"asarray": np.asarray, "reshape": np.reshape, "sum": np.sum}
    scope = dict(
        f.__globals__, xp=type("NumPy", (), {k: staticmethod(v) for k, v in space.items()})
    )
    return type(f)(f.__code__, scope)(h)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("f", USES)
def test_a_made_value_gets_its_gradient_and_hands_it_on(f, persistent):
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        h = x * xp.asarray(W)
        tape.watch(h)
        y = f(h)
    to_x, to_h = tape.gradient(y, [x, h])
    expected = slope(lambda h: in_numpy(f, h), np.asarray(x) * W)
    np.testing.assert_allclose(to_h, expected, rtol=1e-14)
    np.testing.assert_allclose(to_x, expected * W, rtol=1e-14)
    if persistent:
        np.testing.assert_array_equal(tape.gradient(y, h), to_h)
        np.testing.assert_array_equal(tape.gradient(y, x), to_x)


@pytest.mark.parametrize("f", USES)
def test_it_does_so_to_second_order(f):
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            h = x * xp.asarray(W)
            inner.watch(h)
            y = f(h)
        to_x, to_h = inner.gradient(y, [x, h])
        total = xp.sum(to_h * xp.asarray(W)) + xp.sum(to_x)
    found = outer.gradient(total, x, unconnected_gradients="zero")

    def first(x):
        g = slope(lambda h: in_numpy(f, h), x * W)
        return 2 * np.sum(g * W)

    step = 1e-6 * np.eye(3)
    expected = [(first(np.asarray(x) + s) - first(np.asarray(x) - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_a_view_of_a_made_value_is_a_source_beside_it():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 2.0
        v = h[1:]
        y = xp.sum(v * v) + xp.sum(h)
    to_v, to_h, to_x = tape.gradient(y, [v, h, x])
    np.testing.assert_array_equal(to_v, [8.0, 12.0])  # what reads of v alone give
    np.testing.assert_array_equal(to_h, [1.0, 9.0, 13.0])
    np.testing.assert_array_equal(to_x, [2.0, 18.0, 26.0])


def test_a_nan_that_a_selection_left_out_stays_out_of_a_made_values_gradient():
    x = xp.asarray([-1.0, 4.0])
    with xp.GradientTape() as tape, np.errstate(invalid="ignore"):
        tape.watch(x)
        h = x * 1.0
        y = xp.sum(xp.where(h > 0, xp.sqrt(h), 0.0)) + xp.sum(h[1:] * h[1:])
    to_x, to_h = tape.gradient(y, [x, h])
    np.testing.assert_array_equal(to_h, [0.0, 8.25])
    np.testing.assert_array_equal(to_x, [0.0, 8.25])


def test_a_guarded_pass_goes_through_sums_and_writes_of_complex_values():
    z = xp.asarray([1.0 + 1.0j, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(z)
        h = z * 2.0
        h += h
        h -= z
        h[0] += 1.0
        h[1:] = h[:1] * z[1:]
        size = xp.sum(xp.real(h) ** 2)
        y = size + xp.sum(xp.where(xp.abs(z) > 9.0, xp.log(xp.abs(z) * 0.0 + 1.0) ** 0.5, 0.0))
    to_z, to_h = tape.gradient(y, [z, h])
    h0 = 3.0 * (1.0 + 1.0j) + 1.0
    h1 = h0 * 2.0
    np.testing.assert_allclose(to_h, [2 * h0.real, 2 * h1.real])
    to_h0 = 2 * h0.real + 2 * h1.real * 2.0
    np.testing.assert_allclose(to_z, [3 * to_h0, 2 * h1.real * np.conj(h0)])


def test_a_guarded_pass_knows_the_parts_of_a_difference_apart():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape, np.errstate(invalid="ignore"):
        tape.watch(x)
        a, b = xp.zeros((2, 2)), xp.zeros((2, 2))
        for i in range(2):
            a[i] = 3.0 * x
            b[i] = x
        a -= b
        y = xp.sum(a * a) + xp.sum(xp.where(x > 9.0, xp.sqrt(x - 9.0), 0.0))
    np.testing.assert_array_equal(tape.gradient(y, x), [16.0, 32.0])
