"""A short run of the attack by programs whose state changes between calls."""

import pytest

from .replayed_state import COUNTS, run


@pytest.mark.parametrize("start", range(0, 160, 20))
@pytest.mark.every(8)
def test_programs_that_hold_state_somehow(start):
    COUNTS.clear()
    assert sum(run(seed) for seed in range(start, start + 20)) == 20
    assert COUNTS["right, replayed"] >= 12  # the others were right by running as they are
