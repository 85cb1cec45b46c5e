"""Calls of all public names under ``xp.function``, replayed on other values than those of the trace.

The values are near those of a table of calls.  Optionally, some are replaced by NaN, infinities, zeros
of both signs, or the least subnormal number.
"""

import numpy as np

import arraytape as xp
from arraytape._util import nest

from .replayed_programs import copies, moved, total
from .replaying import replayed

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.0, -1.0)
CALLS = 5  # the first two calls are traced, on ordinary values
NEAR = 1e-9


class Case:
    """One call as a function of its Arrays; a method's own Array is the first argument."""

    def __init__(self, name, make, environment):
        function, args, keywords = make(environment)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, xp.Array):
            args, function = [owner, *args], by_name(function.__name__)
        self.name, self.function = name, function
        self.given = [args, keywords]
        self.leaves = nest.leaves(self.given)
        self.arrays = [x for x in self.leaves if is_ours(x)]

    def step(self, tape):
        function, given, leaves = self.function, self.given, self.leaves
        ours = [*map(is_ours, leaves)]

        def plain(*arrays):
            fresh = iter(arrays)
            found = [next(fresh) if one else x for one, x in zip(ours, leaves, strict=True)]
            args, keywords = nest.pack_nesting(given, found)
            return outputs(function(*args, **keywords))

        def step(*arrays):
            watched = [x for x in arrays if x.dtype.kind in "fc"]
            with xp.GradientTape() as recorder:
                recorder.watch(watched)
                found = plain(*arrays)
                y = total(found)
            return found, recorder.gradient(y, watched, unconnected_gradients="zero")

        return step if tape else plain

    def arguments(self, number, special, rng_of):
        rng = rng_of(max(number, 1))
        return [
            xp.asarray(value_of(np.asarray(x), rng, special and number >= 2)) for x in self.arrays
        ]


def by_name(name):
    return lambda x, *args, **keywords: getattr(x, name)(*args, **keywords)


def is_ours(x):
    return isinstance(x, xp.Array) and not isinstance(x, xp.Variable)


def outputs(found):
    """Return copies of the Arrays in the result of a call."""
    leaves = [x for x in nest.leaves(found) if isinstance(x, xp.Array)]
    return copies(leaves)


def value_of(x, rng, special):
    """Return values near those of x; if ``special`` is set, some are replaced by special values."""
    x = moved(x, rng)
    if special and x.dtype.kind in "fc" and x.size:
        chosen = rng.random(x.shape) < 0.4
        x = np.where(chosen, rng.choice(SPECIAL, x.shape), x).astype(x.dtype)
    return x


def check(name, make, environment, seed, special, tape):
    """Replay the call of the Case ``(name, make, environment)``; compare it with eager calls.

    Return the Outcome.  special : True if some operands have infinities, NaN and zeros.
    """
    case = Case(name, make, environment)

    def call(number):
        return lambda: case.arguments(number, special, lambda n: np.random.default_rng([seed, n]))

    with np.errstate(all="ignore"):
        return replayed(case.step(tape), [call(number) for number in range(CALLS)], NEAR)
