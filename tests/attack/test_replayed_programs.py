"""A short run of the attack by replayed programs."""

from .replayed_programs import run


def test_a_program_of_each_kind():
    assert run(200) + run(203) == 2
