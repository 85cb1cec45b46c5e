"""The recorder stack in forked children: it starts empty."""

import os
import warnings

import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._record.stack import recorders


def in_child(work):
    """The bytes that ``work`` returns in a forked child."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numerical libraries have threads
        child = os.fork()
    if not child:
        answer = b"failed"
        try:
            answer = work()
        finally:
            os.write(writing, answer)
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.fixture
def x():
    return xp.asarray(3.0)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no os.fork")


@forks
def test_a_forked_child_starts_with_an_empty_stack(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        assert in_child(lambda: str(len(recorders())).encode()) == b"0"
        y = x * x
        assert recorders() == (tape._recording,)
    near(tape.gradient(y, x), 6.0)


@forks
def test_a_forked_child_records_on_tapes_of_its_own(x):
    def work():
        with GradientTape() as own:
            own.watch(x)
            y = x * x
        return str(float(own.gradient(y, x))).encode()

    with GradientTape() as tape:
        tape.watch(x)
        assert in_child(work) == b"6.0"


@forks
def test_a_forked_child_can_use_what_was_recorded_before(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert in_child(lambda: str(float(tape.gradient(y, x))).encode()) == b"6.0"
    near(tape.gradient(y, x), 6.0)
