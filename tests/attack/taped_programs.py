"""Random programs under ``xp.function`` on tapes around them: derivatives are eager code's."""

from helpers import replayed_programs
from random_numpy_programs.runs import Skipped

from .attack import Attack


def run(seed):
    """One program, in NumPy's terms or in the standard's."""
    try:
        replayed_programs.replay(
            "array" if seed % 2 else "numpy", seed // 2, replayed_programs.check_on_tapes
        )
    except Skipped:
        return 0
    return 1


ATTACK = Attack(run, "programs")
