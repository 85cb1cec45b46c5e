"""Random programs under ``xp.function``, replayed on other inputs than they were traced on."""

from collections import Counter

from arraytape.replay.passes import block_by_block
from helpers import replayed_programs
from helpers.replaying import fared

from .attack import Attack

COUNTS = Counter()
SMALL = {"LEAST": 4, "BLOCK": 7}  # so that small programs are computed in blocks


def run(seed):
    """One program, in NumPy's terms or in the standard's; now and then in blocks."""
    before = {name: getattr(block_by_block, name) for name in SMALL}
    vars(block_by_block).update(SMALL if seed % 8 > 5 else {})
    try:
        outcome = replayed_programs.replay("array" if seed % 2 else "numpy", seed // 2)
    finally:
        vars(block_by_block).update(before)
    COUNTS.update(fared(outcome))
    return 1


ATTACK = Attack(run, "programs", COUNTS)
