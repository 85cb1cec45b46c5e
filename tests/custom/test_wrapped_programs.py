"""Random programs in recompute_grad and custom_gradient, nested in each other, to the third order.

Wrapped and bare, in reverse and in forward mode, they must agree.
"""

import random

import numpy as np
import pytest

import arraytape as xp
from helpers.wrapped_programs import RULES, forward_slopes, inputs, program, slopes

BLOCKS, PROGRAMS = 8, 160
WRAPS = [None, None, xp.recompute_grad, xp.recompute_grad, *RULES]


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_a_wrapped_program_has_the_derivatives_of_the_bare_one(block):
    for seed in range(block, PROGRAMS, BLOCKS):
        variables, x = inputs()
        bare, wrapped = (
            program(random.Random(seed), variables, wraps) for wraps in ([None] * len(WRAPS), WRAPS)
        )
        expected = slopes(bare, variables, x)
        found = slopes(wrapped, variables, x)
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=str(seed))
        found = forward_slopes(wrapped, variables, x)
        np.testing.assert_allclose(found, expected[1:3], rtol=1e-9, err_msg=str(seed))
