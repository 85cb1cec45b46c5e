"""Random programs under ``xp.function``, replayed on other inputs than they were traced on."""

from helpers import replayed_programs

from .attack import Attack


def run(seed):
    """One program, in NumPy's terms or in the standard's."""
    replayed_programs.replay("array" if seed % 2 else "numpy", seed // 2)
    return 1


ATTACK = Attack(run, "programs")
