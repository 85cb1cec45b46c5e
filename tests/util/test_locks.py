"""Locks, and what takes one only where Python runs without a GIL."""

import threading

import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._define import compile as compiling
from arraytape._define.define_op import names_in_source
from arraytape._record.op import REGISTRY
from arraytape._util import locks


def taken(lock):
    """Whether another thread finds the lock taken."""
    found = []
    thread = threading.Thread(target=lambda: found.append(not lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    return found[0]


def test_a_step_takes_its_lock_only_where_there_is_no_gil(monkeypatch):
    lock = locks.reentrant_lock()

    def step(value):
        """Say whether the lock is taken."""
        return value, taken(lock)

    monkeypatch.setattr(locks, "FREE_THREADED", False)
    assert locks.in_one_step(lock)(step) is step
    monkeypatch.setattr(locks, "FREE_THREADED", True)
    guarded = locks.in_one_step(lock)(step)
    assert guarded(3) == (3, True)
    assert guarded.__doc__ == step.__doc__
    assert not taken(lock)


@pytest.fixture
def define(monkeypatch):
    monkeypatch.setattr(compiling, "FREE_THREADED", True)
    names_in_source.cache_clear()  # of the other source
    yield lambda *statement: xp.define_op("made_without_a_gil", *statement)
    names_in_source.cache_clear()
    REGISTRY.pop("made_without_a_gil", None)


def test_without_a_gil_ops_ask_for_all_that_they_keep(define, near):
    product = define(
        lambda x1, x2: x1 * x2, "elementwise", lambda t, x2: t * x2, lambda t, x1: t * x1
    )
    x, y = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch([x, y])
        z = product(x, y) * 2.0 + product(x, 5.0)
    gx, gy = tape.gradient(z, [x, y])
    near(gx, [11.0, 13.0])
    near(gy, [2.0, 4.0])
    assert "d_x1 = keep(x1)" in product.__source__
    assert "_state = state |" not in product.__source__


def test_without_a_gil_ops_of_many_inputs_ask_for_all_that_they_keep(define, near):
    rules = [lambda g, b, c: g * b * c, lambda g, a, c: g * a * c, lambda g, a, b: g * a * b]
    product = define(lambda a, b, c: a * b * c, "primitive", *rules)
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = product(x, x, xp.asarray([3.0, 4.0]))
    x[...] = 0.0
    near(tape.gradient(y, tape._recording.watched[id(x)].handle), [6.0, 16.0])
    assert "._state |=" not in product.__source__
