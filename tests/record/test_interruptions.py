"""Exceptions at every op of a program, and interruptions at any moment of it."""

import signal
import subprocess
import sys

import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._record.stack import recorders

OPS = 200


class Planned(Exception):
    """What the tests raise."""


class Counting:
    """Raises at the call of the given number, and never again."""

    def __init__(self):
        self.at, self.calls = None, 0

    def arm(self, at):
        self.at, self.calls = at, 0

    def __call__(self):
        self.calls += 1
        if self.calls - 1 == self.at:
            self.at = None
            raise Planned(self.calls - 1)


@pytest.fixture
def places():
    """A program of 200 ops, and what makes it fail in an op, in a rule or in a user's gradient."""
    forward, rule, own = Counting(), Counting(), Counting()

    def body(x):
        forward()
        return x * 1.01

    def pull(g):
        rule()
        return g * 1.01

    step = xp.define_op("step", body, "linear", pull)

    @xp.custom_gradient
    def custom(x):
        forward()

        def pull(dy):
            own()
            return dy * 1.01

        return x * 1.01, pull

    def program(x):
        y = x
        for i in range(OPS):
            y = custom(y) if i % 2 else step(y)
        return xp.sum(y)

    return program, {"forward": forward, "rule": rule, "custom": own}


def attempt(program, x, inside):
    """The program's gradient, asked for inside the tape's block or after it."""
    with GradientTape() as tape:
        tape.watch(x)
        y = program(x)
        if inside:
            return tape.gradient(y, x)
    return tape.gradient(y, x)


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["after the block", "inside it"])
@pytest.mark.parametrize(
    ("where", "count"), [("forward", OPS), ("rule", OPS // 2), ("custom", OPS // 2)]
)
@pytest.mark.every(3)
def test_an_exception_at_any_op_leaves_the_stack_as_it_was_and_the_next_gradient_right(
    where, count, inside, places, near
):
    program, counters = places
    x = xp.asarray([1.0, 2.0])
    for at in range(count):
        counters[where].arm(at)
        with GradientTape() as outer:
            outer.watch(x)
            with pytest.raises((Planned, TypeError), match=rf"\b{at}\b"):  # an op's is explained
                attempt(program, x, inside)
            assert recorders() == (outer._recording,)
            y = x * x
        near(outer.gradient(y, x), [2.0, 4.0])
        assert recorders() == ()
        if at % 20 == 0:
            near(attempt(program, x, inside), [1.01**OPS] * 2)


def test_a_tape_that_nobody_can_leave_any_more_is_dropped_by_the_next_one(near):
    x = xp.asarray(3.0)

    def interrupted():
        lost = GradientTape()
        lost.__enter__()
        lost.watch(x)

    with GradientTape() as outer:
        outer.watch(x)
        interrupted()
        assert len(recorders()) == 2
        with GradientTape() as tape:
            assert recorders() == (outer._recording, tape._recording)
            tape.watch(x)
            y = x * x
    near(tape.gradient(y, x), 6.0)
    near(outer.gradient(y, x), 6.0)


def test_a_tape_that_was_stopped_when_it_was_interrupted_goes_on(near):
    x = xp.asarray(3.0)

    def interrupted(tape):
        tape.stop_recording().__enter__()

    with GradientTape() as outer:
        outer.watch(x)
        interrupted(outer)
        with GradientTape():
            pass
        y = x * x
    near(outer.gradient(y, x), 6.0)


PROGRAM = """
import random, signal, sys
import numpy as np
import arraytape as xp
from arraytape._record.stack import OPEN, recorders

w, x = xp.Variable(np.ones(3)), xp.asarray(np.ones((4, 3)))
checkpointed = xp.recompute_grad(lambda x: x * x)
custom = xp.custom_gradient(lambda x: (x * x, lambda dy: dy * 2.0 * x))
kept = xp.recompute_grad(lambda x: x * x, policy=[xp.multiply, xp.sum, xp.exp])

def train():
    with xp.GradientTape() as tape:
        loss = xp.sum((x @ w) ** 2)
    tape.gradient(loss, w)

def second_order():
    with xp.GradientTape() as outer:
        with xp.GradientTape() as tape:
            loss = xp.sum((x @ w) ** 2)
        g = tape.gradient(loss, w)
    outer.gradient(g, w)

def enter_and_leave():
    with xp.GradientTape() as tape, tape.stop_recording():
        pass

def forward():
    with xp.ForwardAccumulator(x, x) as accumulator:
        y = x * x
    accumulator.jvp(y)

def functions():
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = custom(checkpointed(x))
    tape.gradient(y, x)

def policies():
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(kept(x))
    tape.gradient(y, x)

def interrupt(*_):
    raise KeyboardInterrupt

def once(work, seconds):
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)  # again: Python drops what a callback raises
        while True:
            work()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.0)

signal.signal(signal.SIGALRM, interrupt)
rng, stale, wrong = random.Random(0), 0, 0
for i in range(10_000):
    work = (train, second_order, enter_and_leave, forward, functions, policies)[i % 6]
    once(work, rng.uniform(2e-5, 3e-4))
    with xp.GradientTape() as tape:
        stale += recorders() != (tape._recording,)
        loss = xp.sum(w * w)
    wrong += tape.gradient(loss, w).tolist() != [2.0, 2.0, 2.0]
    stale += recorders() != () or any(told() is not None for told in OPEN.values())
    del tape, loss
print(stale, wrong)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no timers")
def test_ten_thousand_interruptions_leave_no_tape_behind():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, timeout=110, capture_output=True, text=True
    )
    assert done.stdout.split() == ["0", "0"]


@pytest.mark.parametrize("made_before", range(8))
def test_an_interruption_while_plans_are_made_leaves_them_to_be_made(made_before, monkeypatch):
    from arraytape._record import op as ops

    op = xp.define_op(
        "weighed", lambda x1, x2: x1 * x2, "elementwise",
        lambda t, x2: t * x2, lambda t, x1: t * x1,
    )  # fmt: skip
    plan, made = ops.Plan, []

    def interrupted(*arguments, **keywords):
        if len(made) == made_before:
            raise KeyboardInterrupt
        made.append(1)
        return plan(*arguments, **keywords)

    x, y = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    monkeypatch.setattr(ops, "Plan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        op(x, y)
    monkeypatch.setattr(ops, "Plan", plan)
    wide = xp.asarray([[1.0], [2.0]])  # broadcast: the other half of the plans
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, wide])
        z, w = op(x, y), op(wide, y)
    assert tape.gradient(z, x).tolist() == [3.0, 4.0]
    assert tape.gradient(w, wide).tolist() == [[7.0], [7.0]]
