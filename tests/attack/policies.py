"""Random programs in recompute_grad, nested, with random policies: what is kept changes no bit."""

import random

import arraytape as xp
from arraytape._record.mode_stack import MODES
from helpers.wrapped_programs import RULES, forward_slopes, inputs, program, slopes

from .attack import Attack

OPS = [
    xp.matmul,
    xp.linalg.solve,
    xp.multiply,
    xp.add,
    xp.sin,
    xp.exp,
    xp.tanh,
    xp.where,
    xp.sum,
    xp.max,
]
SCRIPT = """import sys; sys.path.insert(0, "tests")
from attack import policies
policies.run({})"""


def at_random(seed):
    """A policy that keeps about half of all results, whichever ops they are of."""
    rng = random.Random(seed)
    return lambda op, result, *operands: rng.random() < 0.5


def policy(rng):
    """A random policy: no results, all, those of some ops, those of small size, or any."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.sample(OPS, rng.randint(1, 4))
    if kind == 1:
        size = rng.choice([1, 3, 9])
        return lambda op, result, *operands: isinstance(result, tuple) or result.size <= size
    if kind == 2:
        return lambda op, result, *operands: True
    return at_random(rng.random()) if kind == 3 else []


def run(seed):
    """One program, to the third order in reverse and to the second in forward mode."""
    rng = random.Random(seed)
    kept = [policy(rng) for _ in range(4)]
    wraps = [xp.recompute_grad] * len(kept)
    with_policies = [lambda f, one=one: xp.recompute_grad(f, policy=one) for one in kept]
    found = []
    for some in (wraps, with_policies):
        variables, x = inputs()
        f = program(random.Random(seed), variables, [None, None, *RULES, *some])
        found.append([*slopes(f, variables, x), *forward_slopes(f, variables, x)])
    assert found[0] == found[1], f"a policy changes a derivative: {found}\n{SCRIPT.format(seed)}"
    assert not MODES, f"modes are still there\n{SCRIPT.format(seed)}"
    return 1


ATTACK = Attack(run, "programs")
