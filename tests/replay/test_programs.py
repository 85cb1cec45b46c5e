"""Random programs with a tape, writes, views and ``out=``, replayed on other inputs: as eagerly."""

import pytest

from helpers import replayed_programs

SEEDS = range(10)


@pytest.mark.parametrize("kind", ["array", "numpy"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.every(3)
def test_random_programs(kind, seed):
    outcome = replayed_programs.replay(kind, seed)
    looks = outcome.traced > 2  # that gave another value in each call
    assert outcome.replayed or outcome.reasons or looks
