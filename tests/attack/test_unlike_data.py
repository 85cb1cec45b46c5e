"""A short run of the attack by replays and examples on data unlike the traced."""

from .unlike_data import run


def test_calls_on_other_values():
    assert sum(run(seed) for seed in range(60)) > 40
