"""Random programs in which functions, state, tapes and transforms are nested, to second order.

They have closures, objects whose attributes are bound anew, errors that are caught halfway, Variables,
functions with rules of their own, and gradients, Jacobians, tangents and vmaps inside, with writes
before and after.

PYTHONPATH=src:tests python -c "from attack.nested_programs import replay; replay(7)"
PYTHONPATH=src:tests python -m attack nested-programs --minutes 5
"""

from ..attack import Attack
from .checks import COUNTS, NESTINGS, Skipped, check
from .program import Program
from .replay import Given, replay


def run(seed):
    """One program; a skipped one counts as none."""
    return int(not replay(seed))


ATTACK = Attack(run, "programs")

__all__ = ["ATTACK", "COUNTS", "NESTINGS", "Given", "Program", "Skipped", "check", "replay", "run"]
