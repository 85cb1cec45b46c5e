"""Programs whose gradient is None by mistake, or rightly: the None says the cause that explain gives.

A program is a chain of random ops that is cut somewhere in one of the ways of ``CUTS``; a program of
``WHOLE`` has its gradient, and one of ``APART`` rightly none: both are silent.
"""

import random
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from arraytape import diagnose
from arraytape._array import cuts

from .attack import Attack

SCRIPT = """import sys; sys.path.insert(0, "tests")
from attack import none_causes
none_causes.run({})"""
COUNTS: Counter[str] = Counter()


@xp.custom_gradient
def doubled(y):
    return y * 2.0, lambda g: g * 2.0


weight = xp.asarray([0.5, -1.0, 2.0])
OPS = [
    lambda y: y * 2.0, lambda y: y + 1.0, lambda y: 3.0 - y, lambda y: y * y, lambda y: xp.exp(-y),
    lambda y: y * weight, lambda y: xp.tanh(y), np.sin, lambda y: np.multiply(y, 0.5),
    lambda y: y.clip(-9.0, 9.0), lambda y: xp.where(weight > 0.0, y, -y), lambda y: y[::-1] + y,
    lambda y: y / (1.0 + abs(y)), lambda y: xp.flip(y) * 2.0, lambda y: xp.nn.softmax(y),
    lambda y: xp.mean(y) + y, lambda y: xp.concat([y, y])[:3], lambda y: doubled(y),
    lambda y: np.add(y, [1.0, 2.0, 3.0]),
]  # fmt: skip
ENDS = [lambda y: y, xp.sum, lambda y: xp.mean(y * y), lambda y: xp.sum(y) / 3.0, lambda y: y.sum()]


class Program:
    """What one seed draws.  first, rest : the ops before and after the cut.  said : of the cut."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.first = self.rng.choices(OPS, k=self.rng.randint(1, 3))
        self.rest = self.rng.choices(OPS, k=self.rng.randint(0, 3))
        self.end = self.rng.choice(ENDS)
        self.variable = self.rng.random() < 0.4
        self.x = self.array([1.0, 2.0, 3.0])
        self.other = xp.asarray([0.3, 0.2, 0.1])
        self.persistent = self.rng.random() < 0.7
        self.tape = xp.GradientTape(persistent=self.persistent)
        self.said = ""
        self.held = None  # a generator that is not at its end

    def array(self, values):
        return xp.Variable(values, name="v") if self.variable else xp.asarray(values)

    def begin(self):
        """Ops before the cut."""
        y = self.x
        for op in self.first[:-1]:
            y = op(y)
        return y

    def finish(self, y):
        """Ops after the cut."""
        for op in self.rest:
            y = op(y)
        return self.end(y)


# --- cuts ---------------------------------------------------------------------------------------------
def watched_late(p):
    p.x, p.said = xp.asarray([1.0, 2.0, 3.0]), "before it was watched"
    with p.tape as tape:
        y = p.first[0](p.x)
        tape.watch(p.other)
        early = p.rng.random() < 0.5
        y = p.finish(y) if early else y
        tape.watch(p.x)
        return y if early else p.finish(y)


def watched_late_beside(p):
    """The target is on the tape, by another source."""
    p.x, p.said = xp.asarray([1.0, 2.0, 3.0]), "before it was watched"
    with p.tape as tape:
        y = p.first[0](p.x)
        tape.watch([p.other, p.x])
        return p.finish(y) * p.other


def after_the_block(p):
    p.said = "ran outside the tape's block"
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.begin()
    y = p.first[-1](y)
    return p.finish(y)


def between_two_blocks(p):
    p.said = "ran outside the tape's block"
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.begin()
    y = p.first[-1](y)
    with p.tape:
        return p.finish(y)


def inside_another_tape(p):
    """The op after the block is recorded, by a tape around it."""
    p.said = "ran outside the tape's block"
    with xp.GradientTape() as outer:
        outer.watch(p.x)
        with p.tape as tape:
            tape.watch([p.x, p.other])
            y = p.begin()
        return p.finish(p.first[-1](y))


def derivative_after_the_block(p):
    """Gradients of an inner tape are recorded by the outer one only inside its block."""
    p.said = "gradient at "
    with p.tape as tape:
        tape.watch([p.x, p.other])
        with xp.GradientTape(persistent=p.persistent) as inner:
            inner.watch(p.x)
            y = xp.sum(p.begin() ** 3)
    return p.finish(inner.gradient(y, p.x))


def reset_between(p):
    p.said = "ran before tape.reset() at"
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.finish(p.begin() * 2.0)
        tape.reset()
        tape.watch([p.x, p.other])
        return y


def stopped(p):
    p.said = "ran inside stop_recording"
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.begin()
        with tape.stop_recording():
            y = p.first[-1](y)
        return p.finish(y)


def stopped_by_a_generator(p):
    p.said = "which the generator 'parts'"

    def parts():
        with p.tape.stop_recording():
            yield from range(1, 3)

    with p.tape as tape:
        tape.watch([p.x, p.other])
        total = 0.0
        for part in parts():
            total = total + p.first[-1](p.x) * part
        return p.finish(total)


def left_open_by_a_generator(p):
    p.said = "which the generator 'first'"

    def first():
        with p.tape.stop_recording():
            yield 2.0

    with p.tape as tape:
        tape.watch([p.x, p.other])
        p.held = first()
        part = next(p.held)
        return p.finish(p.first[-1](p.x) * part)


def assigned(p):
    v = xp.Variable([1.0, 1.0, 1.0], name="state")
    p.said = "Variable 'state' was assigned to at"
    how = p.rng.randrange(4)
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.begin()
        if how == 0:
            v.assign(y * 2.0)
        elif how == 1:
            v.assign_add(y)
        elif how == 2:
            v[:] = y
        else:
            v -= y
        return p.finish(v * p.other)


def replaced(p):
    p.said = "now refers to another Array"
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.finish(p.begin() * 1.0)
        p.x = p.x + 1.0
        return y


def not_watched(p):
    p.x, p.said = xp.asarray([1.0, 2.0, 3.0, 4.0])[:3] * 1.0, "float64(3,)"
    with p.tape as tape:
        tape.watch(p.other)
        return p.finish(p.first[-1](p.begin()) * p.other)


def not_trainable(p):
    p.x, p.said = xp.Variable([1.0, 2.0, 3.0], trainable=False), "is not trainable"
    with p.tape:
        return p.finish(p.first[-1](p.begin()))


CUTS = [
    watched_late, watched_late_beside, after_the_block, between_two_blocks, inside_another_tape,
    derivative_after_the_block, reset_between, stopped, stopped_by_a_generator,
    left_open_by_a_generator, assigned, replaced, not_watched,
    not_trainable,
]  # fmt: skip


# --- no cuts ------------------------------------------------------------------------------------------
def connected(p):
    with p.tape as tape:
        tape.watch([p.x, p.other])
        constant = p.finish(xp.asarray([3.0, 2.0, 1.0]))
        return p.finish(p.first[-1](p.begin())) + 0.0 * constant


def connected_beside_a_pause(p):
    with p.tape as tape:
        tape.watch([p.x, p.other])
        with tape.stop_recording():
            p.finish(p.begin())
        return p.finish(p.first[-1](p.begin()))


def another_source(p):
    with p.tape as tape:
        tape.watch([p.x, p.other])
        p.begin()
        return p.finish(p.first[-1](p.other))


def a_branch(p):
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.begin() if xp.sum(p.other) < 0.0 else p.other * 2.0
        return p.finish(y)


def a_constant(p):
    with p.tape as tape:
        tape.watch([p.x, p.other])
        p.begin()
        return p.finish(xp.asarray([1.0, 2.0, 3.0]) * 2.0)


def assigned_afterwards(p):
    v = xp.Variable([1.0, 1.0, 1.0])
    with p.tape as tape:
        tape.watch([p.x, p.other])
        y = p.finish(v * p.other)
        v.assign(p.x * 2.0)
        return y


WHOLE = [connected, connected_beside_a_pause]
APART = [another_source, a_branch, a_constant, assigned_afterwards]


def asked(p, y, sources):
    """The gradient of a target, with the warnings that came with it."""
    derivative = p.rng.choice(["gradient", "gradient", "jacobian"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = getattr(p.tape, derivative)(y, sources)
    return found, [str(w.message) for w in caught], caught


def run(seed):
    """One program: it is None and says why, or silent."""
    cuts.budget[0] = cuts.FIRST
    p = Program(seed)
    try:
        return check(p, seed)
    finally:
        if p.held is not None:
            p.held.close()  # Python 3.11's collector may do that while a context variable is set


def check(p, seed):
    program = p.rng.choice(CUTS * 2 + WHOLE + APART)
    y = program(p)
    alone = p.rng.random() < 0.5
    sources = [p.x] if alone else [p.x, p.other]
    explained = diagnose.explain(p.tape, y, p.x)
    found, said, caught = asked(p, y, sources)
    text = f"{program.__name__}: {found[0]} {said}\nexplain: {explained}\n{SCRIPT.format(seed)}"
    if program in WHOLE:
        assert found[0] is not None, text
        assert not said, text
        COUNTS["right"] += 1
        return 1
    assert found[0] is None, text
    if program in APART:
        assert not said, text
        COUNTS["None, silent"] += 1
        return 1
    if program is not_trainable and any(g is not None for g in found):
        return 0
    about_x = [one for one in said if p.said in one]
    assert about_x, text
    cause = about_x[0].removeprefix("gradient is None: ").partition(" (see ")[0]
    assert explained == f"The gradient is None: {cause}.", text
    assert len(said) <= len(sources), text
    assert len(cause) <= 300, text
    assert all(w.filename == __file__ for w in caught), text
    if " at " in cause:
        assert f" at {__file__}:" in cause, text
    COUNTS[program.__name__.replace("_", " ")] += 1
    return 1


ATTACK = Attack(run, "programs", COUNTS)
