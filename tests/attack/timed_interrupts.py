"""Signals at any time of a training loop, in a process of its own: nothing is left, nothing is half.

Where ``interrupts`` raises at chosen bytecodes, this asks the system: a timer's signal comes wherever it
comes, in NumPy, in contextlib or in a callback, too.
"""

from __future__ import annotations

import signal
import subprocess
import sys

from .attack import Attack

INTERRUPTS = 500  # for a seed


def run(seed, count=INTERRUPTS):
    """Interrupts of one process."""
    if not hasattr(signal, "setitimer"):
        return 0
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(seed), str(count)],
        timeout=60 + count / 10, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"seed {seed}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return int(done.stdout)


PROGRAM = """
import collections, faulthandler, random, signal, sys, tempfile, traceback
from pathlib import Path

import numpy as np

import arraytape as xp
from arraytape import checkpoint, diagnose, functional, interop, optimizers
from arraytape._record.stack import OPEN, recorders
from arraytape._storage.batched.batched_data import ACTIVE
from arraytape._tape.packing import PACKING
from arraytape.interop._context import ENTERED

seed, count = map(int, sys.argv[1:])
faulthandler.dump_traceback_later(20 + count / 20, exit=True)  # where an interrupt left a lock
rng = random.Random(seed)
x = xp.asarray(np.linspace(0.5, 1.5, 12).reshape(4, 3))
w = xp.Variable(np.ones(3), name="w")
one_shot, lasting = xp.GradientTape(), xp.GradientTape(persistent=True)
accumulator = xp.ForwardAccumulator(x, x)
checkpointed = xp.recompute_grad(lambda x: x * x)
custom = xp.custom_gradient(lambda x: (x * x, lambda dy: dy * 2.0 * x))
file = Path(tempfile.mkdtemp()) / "w.safetensors"

def train():
    with one_shot:
        loss = xp.sum((x @ w) ** 2)
    one_shot.gradient(loss, w)

def second_order():
    with xp.GradientTape() as outer:
        with xp.GradientTape() as tape:
            loss = xp.sum((x @ w) ** 2)
        g = tape.gradient(loss, w)
    outer.gradient(g, w)

def enter_and_leave():
    with lasting, lasting.stop_recording():
        pass
    lasting.reset()

def forward():
    with accumulator:
        y = x * x
    accumulator.jvp(y)

def functions():
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = custom(checkpointed(x))
    tape.gradient(y, x)

def many():
    functional.vmap(functional.grad(lambda row: xp.sum(row**3)))(x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x @ xp.ones(3)
    tape.jacobian(y, x)

def contexts():
    with interop.scipy(), diagnose.saved_data(lambda x: [x], lambda held: held[0]):
        with diagnose.lines(), lasting:
            lasting.watch(x)
            y = xp.exp(x)
    lasting.gradient(y, x)
    lasting.reset()

def steps():
    u, v = xp.Variable([1.0, 2.0], name="u"), xp.Variable([3.0, 4.0], name="v")
    adam = optimizers.Adam()
    trained[:] = u, v, adam, [1]
    while True:
        with xp.GradientTape() as tape:
            loss = xp.sum(u * v * v)
        adam.apply_gradients(zip(tape.gradient(loss, [u, v]), [u, v], strict=True))

def save():
    checkpoint.save(file, {"w": w})

trained = []

def steps_are_whole():
    if not trained:
        return True
    u, v, adam, _ = trained
    a, b, other = xp.Variable([1.0, 2.0]), xp.Variable([3.0, 4.0]), optimizers.Adam()
    for _ in range(int(adam.iterations)):
        with xp.GradientTape() as tape:
            loss = xp.sum(a * b * b)
        other.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b], strict=True))
    other.build([a, b])
    adam.build([u, v])
    one = [u, v, *sum(adam.slots.values(), [])]
    two = [a, b, *sum(other.slots.values(), [])]
    trained.clear()
    return len(one) == len(two) and all(
        np.array_equal(p.value(), q.value()) for p, q in zip(one, two, strict=True)
    )

def inside():
    # Writes that are interrupted in the block of a tape, which goes on.
    v = xp.asarray([0.5, 1.5, 2.5])
    signal.setitimer(signal.ITIMER_REAL, 0)
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = v * 1.0
        part = y[1:]
        written = 0
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 3e-4))
        try:
            while written < 50:
                y += v
                part[0] = v[0] * 2.0
                y[...] = y * 1.0
                written += 1
        except KeyboardInterrupt:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        z = y * 1.0
    try:
        # What is written is linear in v: the derivative along v is the value itself.
        slope = tape.jacobian(z, v)
        along = np.asarray(slope) @ np.asarray(v)
    except LookupError as error:
        assert "did not finish" in str(error), error
        refused[0] += 1
    else:
        assert np.allclose(along, np.asarray(y)), (along, y)
    raise KeyboardInterrupt

refused = [0]

def interrupt(*_):
    raise KeyboardInterrupt

def once(work, seconds):
    try:
        # Again after a while: Python swallows what comes in a callback of the standard library's.
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
        while True:
            work()
    except KeyboardInterrupt:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)

signal.signal(signal.SIGALRM, interrupt)
swallowed = []
sys.unraisablehook = lambda told: swallowed.append(repr(told.object))
errors = np.geterr()
found = collections.Counter()

def facts():
    yield "a recorder is left", recorders() != ()
    yield "an open recorder is left", any(told() is not None for told in OPEN.values())
    yield "a tape thinks that it records", one_shot._recording.active or lasting._recording.active
    yield "a hidden axis is left", ACTIVE.get() != ()
    yield "a context is left", bool(ENTERED.get()) or PACKING.get() is not None
    yield "a profiler is left", sys.getprofile() is not None
    yield "NumPy's errstate is another", np.geterr() != errors
    yield "a step is half done", not steps_are_whole()
    if file.exists():
        yield "the file is half written", checkpoint.load(file)["w"].tolist() != [1.0] * 3

works = (train, second_order, enter_and_leave, forward, functions, many, contexts, steps, save, inside)
for i in range(count):
    work = works[i % len(works)]
    once(work, rng.uniform(2e-5, 3e-3 if work in (save, steps, contexts, many) else 4e-4))
    for what, wrong in facts():
        if wrong:
            found[work.__name__, what] += 1
    for tape in (one_shot, lasting):
        try:
            with tape:
                loss = xp.sum(w * w)
            if tape.gradient(loss, w).tolist() != [2.0, 2.0, 2.0]:
                found[work.__name__, "the next gradient is wrong"] += 1
        except Exception as error:
            traceback.print_exc()
            found[work.__name__, f"{type(error).__name__}: {error}"] += 1
            one_shot, lasting = xp.GradientTape(), xp.GradientTape(persistent=True)
    lasting.reset()
    np.seterr(**errors)
    sys.setprofile(None)
if swallowed:
    print("swallowed by", collections.Counter(swallowed), file=sys.stderr)
if found:
    print(dict(found))
    sys.exit(1)
print(count)
"""


ATTACK = Attack(run, "timed interrupts")
