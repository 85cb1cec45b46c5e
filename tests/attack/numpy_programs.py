"""Random programs in NumPy's own terms (``random_numpy_programs``)."""

import random_numpy_programs

from .attack import Attack


def run(seed):
    """One program."""
    random_numpy_programs.replay(seed)
    return 1


ATTACK = Attack(run, "programs")
