"""A short run of the attack by nested programs that are replayed."""

from helpers.replayed_nested import MODES

from .replayed_nested import COUNTS, run


def test_a_program_of_each_mode():
    COUNTS.clear()
    assert sum(run(seed) for seed in range(len(MODES))) == len(MODES)
    assert COUNTS["replays"] > 0
