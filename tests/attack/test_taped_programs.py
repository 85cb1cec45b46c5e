"""A short run of the attack by programs on tapes."""

from .taped_programs import run


def test_programs_of_each_kind():
    assert sum(map(run, range(100, 108))) >= 6
