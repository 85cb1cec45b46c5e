"""Nested random programs with state under ``xp.function``, replayed on other inputs and state."""

from collections import Counter

from helpers import replayed_nested
from helpers.replaying import fared

from .attack import Attack

COUNTS = Counter()


def run(seed):
    """One program: plain, or with derivatives by tapes or forward mode."""
    COUNTS.update(fared(replayed_nested.replay(seed)))
    return 1


ATTACK = Attack(run, "programs", COUNTS)
