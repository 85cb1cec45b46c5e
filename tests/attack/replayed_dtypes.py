"""Random programs on Arrays of all dtypes under ``xp.function``, also on special values."""

from collections import Counter

from helpers import dtype_programs
from helpers.replaying import fared

from .attack import Attack

COUNTS = Counter()


def run(seed):
    """One program; every second one runs as machine code."""
    COUNTS.update(fared(dtype_programs.replay(seed, compiled=bool(seed % 2))))
    return 1


ATTACK = Attack(run, "programs", COUNTS)
