"""A short run of the attack on gradients that are None."""

import pytest

from attack import none_causes

BLOCKS, PROGRAMS = 8, 800


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_none_says_the_cause_that_explain_gives(block):
    for seed in range(block, PROGRAMS, BLOCKS):
        none_causes.run(seed)
