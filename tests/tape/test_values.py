"""The gradient's shape and dtype, complex numbers, and programs with branches and loops."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- shape and dtype --------------------------------------------------------------------------
def test_indexing_gives_zeros_elsewhere(near, gradient):
    near(gradient(lambda x: x[0], [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])


def test_one_of_several_results_is_enough(near, gradient):
    a = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    U, _, Vh = np.linalg.svd(a)
    near(gradient(lambda x: xp.linalg.svd(x)[1], a), U @ Vh)
    near(gradient(lambda x: xp.unstack(x)[1], a), [[0.0, 0.0], [1.0, 1.0]])


def test_an_empty_source_has_an_empty_gradient(gradient):
    g = gradient(xp.sum, np.zeros((2, 0)))
    assert g.shape == (2, 0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 1), (0,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_gradient_has_the_shape_and_dtype_of_its_source(shape, dtype):
    x = xp.ones(shape, dtype=getattr(xp, dtype))
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.exp(x) * x + 2.0 * x)
    g = tape.gradient(y, x)
    assert g.shape == shape
    assert g.dtype == x.dtype


def test_a_broadcast_source_gets_the_sum(near, gradient):
    near(gradient(lambda x: x * xp.ones((3, 2)), [1.0, 2.0]), [3.0, 3.0])


def test_mixed_precision_casts_each_gradient_back(near):
    a = xp.asarray([1.0, 2.0], dtype=xp.float32)
    b = xp.asarray([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch([a, b])
        y = xp.sum(a * b)
    da, db = tape.gradient(y, [a, b])
    assert da.dtype == xp.float32
    assert db.dtype == xp.float64
    near(da, [3.0, 4.0])
    near(db, [1.0, 2.0])


def test_python_numbers_keep_float32(near):
    x = xp.asarray(2.0, dtype=xp.float32)
    with GradientTape() as tape:
        tape.watch(x)
        y = 3.0 * x * x + 1
    assert y.dtype == xp.float32
    g = tape.gradient(y, x)
    assert g.dtype == xp.float32
    near(g, 12.0)


def test_a_cast_gives_the_gradient_in_the_narrow_dtype(near):
    x = xp.asarray(2.0, dtype=xp.float32)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.astype(x, xp.float64) ** 2
    g = tape.gradient(y, x)
    assert g.dtype == xp.float32
    near(g, 4.0)


# --- complex numbers --------------------------------------------------------------------------
def test_a_complex_gradient_is_the_direction_of_steepest_ascent(near, gradient):
    near(gradient(lambda z: xp.real(z * xp.conj(z)), 2 + 3j), 4 + 6j)
    near(gradient(lambda z: xp.real(z * z), 2 + 3j), 4 - 6j)
    near(gradient(lambda z: xp.imag(z * z), 2 + 3j), 6 + 4j)


def test_a_complex_target_counts_its_real_part(near, gradient):
    near(gradient(lambda z: z * z, 2 + 3j), 4 - 6j)


def test_a_real_source_of_a_complex_computation_has_a_real_gradient(near, gradient):
    g = gradient(lambda x: xp.abs(x * (1 + 2j)) ** 2, 2.0)
    assert g.dtype == xp.float64
    near(g, 20.0)


def test_complex_ops_after_a_write_into_a_complex_array_are_conjugated(near, gradient):
    def f(x):
        z = xp.zeros((1,), dtype=xp.complex128)
        z[0] = x
        return xp.sum(xp.imag(z * xp.asarray([1 + 2j])))

    g = gradient(f, 2.0)
    assert g.dtype == xp.float64
    near(g, 2.0)


# --- Python control flow ----------------------------------------------------------------------
def test_a_branch_that_was_not_taken_is_unconnected(near):
    x, v0, v1 = xp.asarray(1.0), xp.asarray(2.0), xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch([x, v0, v1])
        result = v0 if x > 0 else v1**2
    dx, dv0, dv1 = tape.gradient(result, [x, v0, v1])
    near(dv0, 1.0)
    assert dv1 is None
    assert dx is None


def test_a_loop_is_recorded_as_it_ran(near, gradient):
    def power(x):
        y = x
        while xp.sum(y) < 100:
            y = y * x
        return y

    near(gradient(power, 3.0), 5 * 3.0**4)


def test_a_recursion_is_recorded_as_it_ran(near, gradient):
    def horner(x, n):
        return x if n == 1 else x * (1 + horner(x, n - 1))

    near(gradient(lambda x: horner(x, 3), 2.0), 1 + 2 * 2 + 3 * 4)


def test_a_name_that_is_rebound_means_the_new_array(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        first = x
        x = x + 1
        y = x * x
    dx, dfirst = tape.gradient(y, [x, first])
    near(dx, 8.0)
    near(dfirst, 8.0)


# --- leaving the tape -------------------------------------------------------------------------
def test_a_value_that_left_through_numpy_gives_none_and_names_the_line():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.mean(np.asarray(x * x)))
        line = inspect.currentframe().f_lineno - 1
    with pytest.warns(TapeWarning, match=rf"test_values\.py:{line} \(np\.asarray\(\)\)") as found:
        assert tape.gradient(y, x) is None
    assert found[0].filename == __file__
