"""A short run of the attack by calls under ``vmap`` with some arguments batched and others shared."""

from .batched_arguments import run


def test_calls_beside_a_loop():
    assert sum(run(seed) for seed in range(400)) > 300
