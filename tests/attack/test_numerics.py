"""Short runs of the attacks on derivatives where floating-point numbers are hard."""

import pytest

from . import extreme_magnitudes, matrix_functions

BLOCKS = 4


@pytest.mark.parametrize("block", range(BLOCKS))
def test_functions_of_matrices_near_ties_have_their_gradients_or_warn(block):
    assert sum(matrix_functions.run(seed) for seed in range(block, 160, BLOCKS)) > 0


@pytest.mark.parametrize("block", range(BLOCKS))
def test_derivatives_at_extreme_magnitudes_are_those_of_many_digits(block):
    assert sum(extreme_magnitudes.run(seed) for seed in range(block, 400, BLOCKS)) > 0
