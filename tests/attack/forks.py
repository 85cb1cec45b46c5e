"""Forks beside threads that hold locks: each child does what the threads did, and must end.

A lock that a thread of the parent held is held for ever in the child, which has no such thread, unless
it was renewed there.
"""

import faulthandler
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager

import numpy as np

import arraytape as xp
from arraytape import GradientTape, Variable, diagnose
from arraytape._record.op import REGISTRY

from .attack import Attack
from .threads import tiny_switch_interval

FORKS = 5  # of a seed
PATIENCE = 20.0  # seconds until a child counts as hung; it says before that where it hangs


# --- what threads and children do: all that takes a lock ---------------------------------------------
def write_to_what_is_kept(rng):
    """A first write copies what a record keeps: here much, so that it takes long."""
    x = xp.asarray(np.ones(rng.choice([10, 200_000])))
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
    x[0] = 2.0
    assert float(tape.gradient(y, x)[0]) == 2.0


SHARED = xp.asarray(np.ones(50_000))
VIEW = SHARED[1:]
TOTAL = Variable(np.zeros(100))


def export_and_watch(rng):
    """NumPy's memory of one array is taken, and taken back."""
    held = np.asarray(SHARED)
    with GradientTape() as tape:
        tape.watch(SHARED)
        y = xp.sum(VIEW * VIEW)
    assert held.size == 50_000
    assert float(tape.gradient(y, SHARED)[1]) == 2.0


def call_what_is_new(rng):
    """The first call of an op plans and compiles it."""
    name = f"forked_{threading.get_ident()}_{rng.getrandbits(60)}"
    try:
        op = xp.define_op(name, lambda x: x * 2.0, "elementwise", lambda t: t * 2.0)
        x = xp.asarray([1.0, 2.0])
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(op(x))
        assert float(tape.gradient(y, x)[0]) == 2.0
    finally:
        REGISTRY.pop(name, None)


def add_to_a_variable(rng):
    """Threads add to one Variable."""
    TOTAL.assign_add(1.0)
    TOTAL[0] = 0.0


def record_within_limits(rng):
    """A tape that counts, notes exits and explains."""
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True, memory_limit=1 << 30, profile=True, exits="ignore") as tape:
        tape.watch(x)
        y = xp.sum(x * x) * float(xp.sum(x))
    assert float(tape.gradient(y, x)[0]) == 6.0
    assert str(diagnose.explain(tape, y, x))


WORKS = [
    write_to_what_is_kept, export_and_watch, call_what_is_new, add_to_a_variable, record_within_limits,
]  # fmt: skip


@contextmanager
def busy_threads(seed):
    """Within it each work runs over and over in a thread of its own."""
    stop, failed = threading.Event(), []

    def go_on(work, rng):
        try:
            while not stop.is_set():
                work(rng)
        except Exception as error:
            failed.append(error)

    threads = [
        threading.Thread(target=go_on, args=(work, random.Random(f"{seed} {WORKS.index(work)}")))
        for work in WORKS
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not failed, failed


# --- forking -----------------------------------------------------------------------------------------
def fork(child, said):
    """The process id of a child that runs ``child()``; its status is 0 if that returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, on purpose
        process = os.fork()
    if process:
        return process
    status = 1
    try:
        faulthandler.dump_traceback_later(PATIENCE / 2, exit=True, file=said)
        child()
        status = 0
    except BaseException as error:
        said.write(f"{error!r}\n")
        said.flush()
    finally:
        os._exit(status)


def ended(process):
    """The exit status of a child, or "hung": then it is ended here."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return "hung"


def run(seed):
    """Some forks beside busy threads."""
    if not hasattr(os, "fork"):
        return 0
    rng = random.Random(seed)

    def child():
        sys.setswitchinterval(0.005)
        for work in rng.sample(WORKS, len(WORKS)):
            work(rng)

    with tiny_switch_interval(), busy_threads(seed):
        for number in range(FORKS):
            time.sleep(0.003 * rng.random())
            with tempfile.TemporaryFile("w+") as said:
                status = ended(fork(child, said))
                said.seek(0)
                assert status == 0, (
                    f"forks, seed {seed}, fork {number}: the child's status is {status}\n"
                    f"{said.read()}\npython -c 'from attack import forks; forks.run({seed})'"
                )
    return FORKS


ATTACK = Attack(run, "forks")
