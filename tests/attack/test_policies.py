"""A short run of the attack on policies."""

import pytest

from attack import policies

BLOCKS, PROGRAMS = 8, 24


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(8)
def test_what_a_policy_keeps_changes_no_bit(block):
    for seed in range(block, PROGRAMS, BLOCKS):
        policies.run(seed)
