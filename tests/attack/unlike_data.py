"""Replays, and examples of a ``vmap``, on data unlike what was traced or stands beside it.

Values and gradients of a call are those of the same call alone.
"""

import random
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from helpers import batched_calls, call_variants
from helpers.replayed_programs import moved
from helpers.replaying import fared, replayed
from helpers.unlike_values import ALL, FINITE, unlike

from .attack import Attack
from .batched_arguments import TABLE
from .good_calls import CALLS, environment

COUNTS = Counter()
CALLS_EACH = 5  # of which two are traced
NEAR = 1e-9
# LAPACK may not return from what is not finite; SciPy's and scikit-learn's functions say what they take.
DECOMPOSED = (
    "linalg", "xp.linalg", "np.linalg", "np.roots", "np.poly", "interop", "nn.", "optimizers.", "np.cov",
)  # fmt: skip
# SciPy's spheroidal functions end the process (segmentation fault) where a parameter is NaN or huge.
CRASHING = ("special.obl_", "special.pro_")


def case_of(seed):
    """A drawn call, or one of the table, by name."""
    if seed % 3:
        variant = call_variants.draw(random.Random(seed))
        return str(variant), variant.name, batched_calls.VariantCase(variant)
    name = TABLE[seed // 3 % len(TABLE)]
    return name, name, batched_calls.TableCase(name, CALLS[name], environment())


def run(seed):
    """One call, replayed or under ``vmap``, with its gradient."""
    text, name, case = case_of(seed)
    rng = np.random.default_rng(seed)
    kinds = FINITE if name.startswith(DECOMPOSED) else ALL
    kind = kinds[rng.integers(len(kinds))]
    if not case.arrays or name.startswith(CRASHING):
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if rng.random() < 0.6:
                check_replays(case, kind, seed, rng.random() < 0.6)
            else:
                check_examples(case, kind, rng)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {text}, {kind.__name__}: {error}") from error
    return 1


def check_replays(case, kind, seed, tape):
    """Compare replays on other values with eager calls."""
    data = [np.asarray(x) for x in case.arrays]
    watched = [i for i, x in enumerate(data) if x.dtype.kind in "fc"]
    gradient = batched_calls.gradients_of(case.run, watched)

    def step(*arrays):
        try:
            return (case.run(*arrays), gradient(*arrays)) if tape else case.run(*arrays)
        except Exception as error:  # which values it shows may differ
            raise RuntimeError(type(error).__name__) from error

    def call(number):
        def arguments():
            rng = np.random.default_rng([seed, number])
            given = [moved(x, rng) for x in data]
            return [xp.asarray(unlike(x, kind, rng) if number >= 2 else x) for x in given]

        return arguments

    with np.errstate(all="ignore"):
        COUNTS.update(fared(replayed(step, [call(number) for number in range(CALLS_EACH)], NEAR)))


def check_examples(case, kind, rng):
    """Compare examples of one vmap, one of them ordinary, with a loop."""
    data = [np.asarray(x) for x in case.arrays]
    watched = [i for i, x in enumerate(data) if x.dtype.kind in "fc"]
    axes = batched_calls.axes_for(len(data), rng)
    arrays = [
        np.stack([x, unlike(x, kind, rng), unlike(x, kind, rng)]) if axis == 0 else x
        for x, axis in zip(data, axes, strict=True)
    ]
    levels = [(case.run, "values")]
    levels += [(batched_calls.gradients_of(case.run, watched), "gradients")] if watched else []
    for f, what in levels:
        what = f"vmap, in_axes={axes}, {what}"
        if not batched_calls.check_against_loop(f, arrays, axes, what, COUNTS):
            return


ATTACK = Attack(run, "calls", COUNTS)
