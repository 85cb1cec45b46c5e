"""Ops that programs define, which are in the registry only while programs run."""

from contextlib import contextmanager

from arraytape import Array, define_op
from arraytape._record.op import REGISTRY

OPS = {}  # by name, made when a program first runs
ENTRIES = {}


def squash(x: Array, xp=None):
    """Half a hyperbolic tangent."""
    return xp.tanh(x) * 0.5


def blend(x1: Array, x2: Array, xp=None):
    """A product and a sine."""
    return x1 * x2 + xp.sin(x2)


def make():
    """Define them, and take them out of the registry."""
    made = {
        "attack_squash": (squash, lambda t, y: t * (0.5 - 2.0 * y * y)),
        "attack_blend": (
            blend, lambda t, x2: t * x2, lambda t, x1, x2, xp: t * (x1 + xp.cos(x2)),
        ),
    }  # fmt: skip
    for name, (forward, *rules) in made.items():
        OPS[name] = define_op(name, forward, "elementwise", *rules)
        ENTRIES[name] = REGISTRY.pop(name)


@contextmanager
def registered():
    """Within it the ops may run."""
    if not OPS:
        make()
    try:
        REGISTRY.update(ENTRIES)
        yield
    finally:
        for name in ENTRIES:
            REGISTRY.pop(name, None)
