"""Calls under ``vmap`` with each argument batched or shared, beside a loop over the examples.

Values, gradients with respect to the batched and the shared arguments, second derivatives, a second
``vmap`` around the first; of drawn calls on 0 to 3 dimensions and of those of the table of good calls.
"""

import random
from collections import Counter

from helpers import batched_calls, call_variants

from .attack import Attack
from .good_calls import CALLS, environment
from .replayed_calls import NAMES

COUNTS = Counter()
# Calls whose results are no Arrays, or depend on what a loop changes: refused, or said in the docs.
APART = (
    "xp.sparse_", "xp.replay.callback", "nn.BatchNormalization training",  # refused
    "np.linalg.eig",  # complex under vmap, since a dtype cannot depend on values
)  # fmt: skip
TABLE = [name for name in NAMES if not name.startswith(APART)]


def run(seed):
    """One call: three of four are drawn, the fourth is one of the table."""
    if seed % 4:
        variant = call_variants.draw(random.Random(seed))
        name, case = f"{variant}", batched_calls.VariantCase(variant)
    else:
        name = TABLE[seed // 4 % len(TABLE)]
        case = batched_calls.TableCase(name, CALLS[name], environment())
    if not case.arrays:
        return 0
    try:
        COUNTS.update(batched_calls.check(name, case, seed))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    return 1


ATTACK = Attack(run, "calls", COUNTS)
