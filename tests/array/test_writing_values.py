"""What can be written: scalars, foreign arrays, other shapes and dtypes."""

import array_api_compat.numpy as numpy
import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample


@pytest.mark.parametrize("value", [2, 2.0, True, np.float64(2.0), np.float32(2.0)])
def test_python_and_numpy_scalars_can_be_written(value):
    def program(xp, x):
        x[1] = value
        x[2:] *= value
        return x

    check(program, sample(4))


def test_a_numpy_array_can_be_written_and_changed_afterwards():
    x, value = xp.asarray([1.0, 2.0, 3.0]), np.asarray([5.0, 6.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        h[:2] = value
        w = x[:2] * value
        value[0] = -1.0
        y = xp.sum(h) + xp.sum(w)
    assert np.asarray(h).tolist() == [5.0, 6.0, 9.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [5.0, 6.0, 6.0]


def test_a_broadcast_value_gets_a_summed_gradient():
    def program(xp, x, v, s):
        x[1:] = v
        x[0] = s
        x[:, 2] += s
        return x

    check(program, sample(3, 4), sample(4, seed=1), sample(seed=2))


@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 3), (1, 1), (1,), ()])
def test_a_value_with_leading_axes_of_length_one_fits(shape):
    def program(xp, x, v):
        x[0] = v
        x[1:, :] = v * v
        return x

    check(program, sample(3, 3), sample(*shape, seed=1))


@pytest.mark.parametrize("shape", [(1, 2), (1, 1)])
def test_a_value_with_leading_axes_of_length_one_fits_an_array_of_integers(shape):
    def program(xp, x, v):
        x[xp.asarray([0, 2])] = v
        return x

    check(program, sample(3), sample(*shape, seed=1))


@pytest.mark.parametrize("shape", [(1, 3), (1, 1), (1, 1, 3), (3,)])
def test_such_a_value_has_a_tangent_where_an_element_is_named_twice(shape):
    v = xp.asarray(sample(*shape))
    with xp.ForwardAccumulator(v, xp.ones(shape)) as acc:
        y = xp.zeros(3)
        y[[0, 2, 0]] = 2.0 * v
    np.testing.assert_array_equal(acc.jvp(y), [2.0, 0.0, 2.0])


def test_a_value_of_the_wrong_shape_that_resembles_its_target_raises():
    def program(space):
        x = space.asarray(np.arange(6.0).reshape(3, 2))
        x[:, [1]] = x[:, 1]

    with pytest.raises(ValueError, match="broadcast"):
        program(numpy)
    with pytest.raises(ValueError, match="broadcast"):
        program(xp)


def test_a_single_precision_array_takes_double_precision_values():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3, dtype=xp.float32)
        z[1:] = x[1:] * x[1:]
        z += x
        z[:1] *= x[:1]
        y = xp.sum(z)
    assert z.dtype == xp.float32
    g = tape.gradient(y, x)
    assert g.dtype == xp.float64
    assert np.asarray(g).tolist() == [2.0, 5.0, 7.0]


def test_a_single_precision_source_keeps_its_precision():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2)
        z[...] = x
        z *= x
        y = xp.sum(z)
    g = tape.gradient(y, x)
    assert g.dtype == xp.float32
    assert np.asarray(g).tolist() == [2.0, 4.0]


def test_a_real_value_written_into_a_complex_array_has_a_real_gradient():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2, dtype=xp.complex128)
        z[...] = x
        z *= xp.asarray([1j, 2 + 1j])
        y = xp.sum(xp.imag(z * z))
    g = tape.gradient(y, x)
    assert g.dtype == xp.float64
    np.testing.assert_allclose(np.asarray(g), [0.0, 16.0])


def test_a_complex_array_made_by_a_write_alone_is_conjugated_right():
    x = xp.asarray([1.0, 2.0])
    c = xp.asarray([1 + 2j, 3 - 1j])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2, dtype=xp.complex128)
        z[...] = x
        y = xp.sum(xp.imag(z * c))
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [2.0, -1.0])


def test_complex_values_are_written_with_their_gradients():
    z = xp.asarray([1 + 2j, 3 - 1j, 0.5 + 0j])
    with xp.GradientTape() as tape:
        tape.watch(z)
        h = z * 1.0
        h[:2] = z[1:] * 2j
        v = h[::-1]
        v *= z
        y = xp.sum(xp.real(h))
    # y = Re(2j z1 z2 + 2j z2 z1 + z2 z0), gradients conjugated
    found = np.asarray(tape.gradient(y, z))
    a = np.asarray([1 + 2j, 3 - 1j, 0.5 + 0j])
    np.testing.assert_allclose(found, np.conj([a[2], 4j * a[2], 4j * a[1] + a[0]]))


def test_a_value_written_into_integers_has_no_gradient():
    x = xp.asarray([1.5, 2.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        n = xp.asarray([0, 0])
        n[...] = x
        y = xp.sum(x * n)
    assert np.asarray(n).tolist() == [1, 2]
    assert np.asarray(tape.gradient(y, x)).tolist() == [1.0, 2.0]
