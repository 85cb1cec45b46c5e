"""Calls of all public names and of NumPy's functions under ``xp.function``, also on special values."""

from collections import Counter

from helpers import replayed_calls
from helpers.replaying import fared

from .attack import Attack
from .good_calls import CALLS, environment

COUNTS = Counter()
KINDS = [(special, tape) for special in (False, True) for tape in (False, True)]
# What acts on the library itself, on objects that a second call finds changed, or has any values.
APART = (
    "xp.GradientTape", "xp.ForwardAccumulator", "xp.Module", "xp.Variable", "xp.define_op",
    "xp.no_gradient", "xp.register_gradient", "xp.set_", "xp.finfo", "xp.iinfo", "tape.", "v.",
    "optimizers.", "diagnose.", "x.to_device", "x.__dlpack__", "xp.from_dlpack", "np.from_dlpack",
    "x.__array__", "xp.empty", "np.empty",
)  # fmt: skip


def names():
    """The calls that are attacked: those with an Array."""
    return [
        name for name, make in CALLS.items()
        if not name.startswith(APART) and replayed_calls.Case(name, make, environment()).arrays
    ]  # fmt: skip


NAMES = names()
# Special values are not for LAPACK, which may not return from them.
ORDINARY = (
    "np.linalg", "xp.linalg", "np.polyfit", "np.roots",
    "interop.scipy interpolate.make_interp_spline",  # gives no Array, so a replay drops it
)  # fmt: skip


def run(seed):
    """One call, on ordinary or special values, alone or with a gradient."""
    name = NAMES[seed % len(NAMES)]
    special, tape = KINDS[seed // len(NAMES) % len(KINDS)]
    special = special and not name.startswith(ORDINARY)
    try:
        outcome = replayed_calls.check(name, CALLS[name], environment(), seed, special, tape)
    except Exception as error:
        raise AssertionError(
            f"{name}, special={special}, tape={tape}: {type(error).__name__}: {error}"
        ) from error
    COUNTS.update(fared(outcome))
    return 1


ATTACK = Attack(run, "calls", COUNTS)
