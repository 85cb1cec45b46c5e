"""A short run of the attack by calls that are replayed on other values."""

from .replayed_calls import KINDS, NAMES, run


def test_a_call_of_each_kind():
    names = len(NAMES)
    assert names > 1500
    assert sum(run(kind * names + 17 * kind) for kind in range(len(KINDS))) == len(KINDS)
