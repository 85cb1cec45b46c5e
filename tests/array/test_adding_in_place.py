"""``x += y`` and ``x -= y``: written in place also when a tape follows them, and linear on the tape."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape
from arraytape.testing import check_gradients


def matrix(*shape, dtype=np.float64, seed=0):
    values = np.random.default_rng((seed, *shape)).uniform(0.4, 1.5, shape)
    return xp.asarray(values.astype(dtype))


def rows_added(x, y):
    out = xp.zeros((3, 4))
    for i in range(3):
        out[i, :] = xp.sin(x[i, :])
        out[i, :] += y * x[i, :]
        if i:
            out[i, :] -= 0.5 * out[i - 1, :]
    return out * out


def through_other_aliases(x, y):
    out = x * 1.0
    turned, flat = out.T, xp.reshape(out, (-1,))
    turned[1:3, :] += y[1:3, None]
    flat[::5] -= xp.exp(flat[:3])
    out += turned[0, :][:, None]
    return out * turned.T


def onto_itself(x, y):
    out = x * x
    out[1:, :] += out[:-1, :]
    out += out
    out[:, 1:] -= out[:, :-1]
    return out * y


def scalars_and_broadcasts(x, y):
    out = x * 1.0
    out += 2.0
    out -= y
    out[0, ...] += xp.sum(x)
    out[1, 2, ...] -= 3.0
    return out**3


PROGRAMS = [rows_added, through_other_aliases, onto_itself, scalars_and_broadcasts]


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_place_sums_have_the_gradients_of_sums_in_both_modes_to_second_order(program):
    weights = matrix(3, 4, seed=2)
    inputs = [matrix(3, 4), matrix(4, seed=1)]
    check_gradients(lambda x, y: xp.sum(program(x, y) * weights), inputs, order=2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_place_sums_have_numpys_bits(program):
    x, y = matrix(3, 4), matrix(4, seed=1)
    plain = program(x, y)
    with GradientTape() as tape:
        tape.watch([x, y])
        recorded = program(x, y)
    np.testing.assert_array_equal(np.asarray(recorded), np.asarray(plain))


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_place_sums_under_vmap_equal_a_loop(program):
    xs, y = matrix(5, 3, 4), matrix(4, seed=1)
    slope = xp.grad(lambda x: xp.sum(program(x, y)))
    expected = np.stack([np.asarray(slope(xs[i, ...])) for i in range(5)])
    np.testing.assert_allclose(np.asarray(xp.vmap(slope)(xs)), expected, rtol=1e-12)


def test_a_followed_sum_is_written_into_the_memory_of_its_array():
    x, out = matrix(3), xp.zeros((3,))
    memory = np.asarray(out, copy=False)
    with GradientTape() as tape:
        tape.watch(x)
        out += x
        out -= 2.0 * x
    np.testing.assert_array_equal(memory, -np.asarray(x))
    assert np.asarray(tape.gradient(out, x)).tolist() == [-1.0, -1.0, -1.0]


def test_a_kept_value_survives_an_in_place_sum():
    x = matrix(3)
    with GradientTape() as tape:
        tape.watch(x)
        out = x * 2.0
        y = out * out
        out += x
        z = xp.sum(y) + xp.sum(out)
    np.testing.assert_allclose(np.asarray(tape.gradient(z, x)), 8.0 * np.asarray(x) + 3.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_each_operand_gets_its_gradient_in_its_own_dtype(sign):
    single, double = matrix(3, dtype=np.float32), matrix(3)
    with GradientTape() as tape:
        tape.watch([single, double])
        out = xp.asarray(single, copy=True)
        if sign > 0:
            out += double
        else:
            out -= double
    first, second = tape.gradient(out, [single, double])
    assert out.dtype == first.dtype == xp.float32
    assert second.dtype == xp.float64
    assert np.asarray(second).tolist() == [sign] * 3


def test_a_real_array_added_to_a_complex_one_gets_a_real_gradient():
    x, z = matrix(3), matrix(3, dtype=np.complex128)
    with GradientTape() as tape:
        tape.watch(x)
        out = z * 1j
        out[:2] += x[1:]
        y = xp.sum(xp.real(out * out))
    g = tape.gradient(y, x)
    expected = np.zeros(3)
    expected[1:] = np.real(2 * np.asarray(out))[:2]
    assert g.dtype == xp.float64
    np.testing.assert_allclose(np.asarray(g), expected)


def test_what_was_subtracted_and_added_again_is_alive_to_the_guard():
    # Were aliveness to cancel as the values do, sqrt at 0 would count as unselected.
    x = xp.asarray([0.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        root = xp.sqrt(x)
        out = xp.zeros((2,))
        out -= root
        out += root * 1.0
        y = xp.sum(out)
    assert np.isnan(np.asarray(tape.gradient(y, x))[0])


def test_what_a_mask_replaced_after_an_in_place_sum_contributes_zero():
    x = xp.asarray([0.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        out = xp.zeros((2,))
        out -= xp.sqrt(x)
        out[x == 0.0] = 7.0
        y = xp.sum(out)
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, -0.25]


def test_a_sum_that_does_not_fit_changes_nothing():
    x, out = matrix(3), xp.ones((2,))
    with GradientTape() as tape:
        tape.watch([x, out])
        with pytest.raises(ValueError, match=r"in-place add: shape \(3,\) does not fit"):
            out += x
        with pytest.raises(TypeError, match="in-place subtract: a result of dtype complex128"):
            out -= xp.asarray([1j, 2j])
        y = xp.sum(out)
    assert np.asarray(out).tolist() == [1.0, 1.0]
    assert np.asarray(tape.gradient(y, out)).tolist() == [1.0, 1.0]


def test_the_tangent_of_an_in_place_sum_leaves_the_old_tangent_alone():
    x = matrix(3)
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        out = x * 2.0
        before = out * 1.0
        out[1:] -= x[:-1]
    assert np.asarray(accumulator.jvp(before)).tolist() == [2.0, 2.0, 2.0]
    assert np.asarray(accumulator.jvp(out)).tolist() == [2.0, 1.0, 1.0]


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_adding_outside_of_the_tape_ends_the_following():
    x = matrix(3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        out = x * 1.0
    out += 1.0
    assert tape.gradient(out, x) is None
