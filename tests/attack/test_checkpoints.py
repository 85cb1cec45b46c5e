"""Damaged checkpoints, for a short time: 20 states, 1,200 files."""

import pytest

from .checkpoints import ATTACK, FILES


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_checkpoint_is_refused_or_gives_what_was_saved(seed):
    assert ATTACK.run(seed) == FILES
