"""Products of vectors: cotangents that are one number, repeated without memory."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape.ops.linear_algebra_functions import without_zero_strides

ROWS = 5000  # more than are written out


@pytest.mark.parametrize("dtype", [xp.float32, xp.float64, xp.complex128])
@pytest.mark.parametrize("reduce", [xp.sum, xp.mean])
def test_a_sum_of_a_product_with_a_vector_has_its_gradient(dtype, reduce):
    random = np.random.default_rng(0)
    matrix = random.standard_normal((ROWS, 7)).astype(dtype)
    x = xp.asarray(random.standard_normal(7).astype(dtype))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.real(reduce(matrix @ x))
        z = xp.real(reduce(x @ np.ascontiguousarray(matrix.T)))
    scale = 1 if reduce is xp.sum else ROWS
    expected = np.conj(matrix).sum(0) / scale
    tolerance = 1e-4 if dtype == xp.float32 else 1e-11
    for value in (y, z):
        np.testing.assert_allclose(
            tape.gradient(value, x).to_numpy(), expected, rtol=tolerance, atol=tolerance
        )


def test_it_is_written_out_for_the_product():
    repeated = np.broadcast_to(np.float64(2.0), (ROWS,))
    assert without_zero_strides(repeated).flags.c_contiguous
    np.testing.assert_array_equal(without_zero_strides(repeated), repeated)
    own = np.ones(3)
    assert without_zero_strides(own) is own
    array = xp.asarray(own)
    assert without_zero_strides(array) is array
