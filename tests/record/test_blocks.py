"""Blocks end when their ``with`` statement does, whatever interrupts it."""

import contextlib
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, diagnose, interop
from arraytape._record.stack import recorders
from arraytape._tape.recording import Recording
from arraytape._util import blocks
from arraytape._util.blocks import Setting

SOURCE = Path(xp.__file__).parent


@pytest.fixture
def interrupted(monkeypatch):
    """What is called at the end of a block is interrupted once, before it has done anything."""

    def interrupt(owner, name):
        method = getattr(owner, name)

        def once(*arguments):
            monkeypatch.setattr(owner, name, method)
            raise KeyboardInterrupt

        monkeypatch.setattr(owner, name, once)

    return interrupt


def test_a_named_tape_that_was_interrupted_on_leaving_is_left_and_can_be_entered(interrupted, near):
    x, tape = xp.asarray(3.0), GradientTape()
    with pytest.raises(KeyboardInterrupt) as info, tape:  # which keeps the traceback
        interrupted(Recording, "leave_block")
    assert recorders() == ()
    assert not tape._recording.followed
    with tape:
        tape.watch(x)
        y = x * x
    near(tape.gradient(y, x), 6.0)
    del info


def test_a_tape_that_was_interrupted_at_the_end_of_entering_is_left(monkeypatch):
    tape, enter = GradientTape(), Recording.enter_block

    def entered(recording, *arguments):
        enter(recording, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Recording, "enter_block", entered)
    with pytest.raises(KeyboardInterrupt), tape:
        pass
    assert recorders() == ()
    monkeypatch.undo()
    with tape:
        assert recorders() == (tape._recording,)


def test_the_block_inside_ends_before_the_one_around(interrupted):
    outer, inner = GradientTape(), GradientTape()
    with outer:
        with pytest.raises(KeyboardInterrupt), inner, inner.stop_recording():
            interrupted(Recording, "leave_block")
        assert recorders() == (outer._recording,)
    assert recorders() == ()


@pytest.mark.parametrize(
    "context", [interop.scipy, lambda: diagnose.saved_data(print, print), diagnose.lines]
)
def test_contexts_end_when_they_are_interrupted(context, interrupted):
    from arraytape._tape.packing import PACKING
    from arraytape.interop._context import is_active

    block = context()
    with pytest.raises(KeyboardInterrupt), block:
        interrupted(type(block), "_end")
    assert not is_active("scipy")
    assert PACKING.get() is None
    assert recorders() == ()


def test_a_tape_without_a_with_statement_stays_open():
    tape = GradientTape()
    tape.__enter__()
    assert callable(tape.__exit__)
    assert hasattr(tape, "__exit__")
    assert recorders() == (tape._recording,)
    with pytest.raises(ValueError, match="already recording"), tape:
        pass
    assert recorders() == (tape._recording,)
    tape.__exit__(None, None, None)
    assert recorders() == ()


def test_an_open_tape_survives_looks_at_it_and_a_second_with():
    tape = GradientTape()
    with tape:
        assert isinstance(tape, contextlib.AbstractContextManager)
        assert hasattr(tape, "__exit__")
        with pytest.raises(ValueError, match="already recording"), tape:
            pass
        assert recorders() == (tape._recording,)
    assert recorders() == ()


def test_an_exit_stack_enters_and_leaves():
    tape, accumulator = GradientTape(), xp.ForwardAccumulator(xp.ones(2), xp.ones(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(tape)
        stack.enter_context(accumulator)
        stack.enter_context(interop.scipy())
        assert recorders() == (tape._recording, accumulator._pass)
    assert recorders() == ()


def test_a_generator_that_is_dropped_leaves_its_block():
    def inside():
        with GradientTape():
            yield recorders()

    generator = inside()
    assert len(next(generator)) == 1
    del generator
    assert recorders() == ()


def test_a_context_serves_as_a_decorator_of_a_recursive_function():
    variable = ContextVar("variable", default=0)

    @Setting(variable, 1)
    def count(n):
        assert variable.get() == 1
        return n and 1 + count(n - 1)

    assert count(3) == 3
    assert variable.get() == 0


def test_a_setting_gives_back_what_was_there_after_what_was_set_inside():
    variable = ContextVar("variable", default="outside")
    with Setting(variable, "inside"):
        variable.set("deeper")
    assert variable.get() == "outside"


def test_numpys_errstate_is_what_it_was_when_its_own_end_is_interrupted(monkeypatch):
    before = np.geterr()

    def interrupt(_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), blocks.Quiet():
        monkeypatch.setattr(blocks, "set_error_state", interrupt)
    assert np.geterr() == before


def test_a_quiet_block_holds_also_where_numpy_gives_its_settings_by_names_alone(monkeypatch):
    before = np.geterr()
    monkeypatch.setattr(blocks, "error_state", np.geterr)
    monkeypatch.setattr(blocks, "set_error_state", blocks.set_by_names)
    monkeypatch.setattr(blocks, "state_of", dict)
    with blocks.Quiet():
        assert set(np.geterr().values()) == {"ignore"}
        with blocks.Quiet(over="raise"):
            assert np.geterr() == {**dict.fromkeys(before, "ignore"), "over": "raise"}
        assert set(np.geterr().values()) == {"ignore"}
    assert np.geterr() == before


def test_a_quiet_block_that_goes_after_the_one_around_it_changes_nothing():
    before = np.geterr()
    outer, inner = blocks.Quiet(), blocks.Quiet()
    leave_outer, leave_inner = outer.__exit__, inner.__exit__
    outer.__enter__()
    inner.__enter__()
    leave_outer(None, None, None)
    assert np.geterr() == before
    del leave_inner
    assert np.geterr() == before
    assert blocks.QUIET.get() == ()


def test_a_setting_of_errstate_holds_within_a_quiet_block_alone():
    before = np.geterr()
    with blocks.Quiet(over="ignore", invalid="raise"):
        assert np.geterr() == before | {"over": "ignore", "invalid": "raise"}
    assert np.geterr() == before


def test_numpys_errstate_which_an_interruption_may_leave_open_is_nowhere_used():
    """``Quiet`` takes its place."""
    files = [*SOURCE.rglob("*.py")]
    used = [file.name for file in files if "with np.errstate(" in file.read_text()]
    assert len(files) > 100
    assert used == []


def test_what_runs_quietly_leaves_nothing_to_others():
    variable, before = ContextVar("variable", default=0), np.geterr()

    def run(fails):
        variable.set(1)
        assert set(np.geterr().values()) == {"ignore"}
        if fails:
            raise ValueError("on the way")
        return np.seterr(all="raise")

    assert blocks.quietly(run, False) == dict.fromkeys(before, "ignore")
    with pytest.raises(ValueError, match="on the way"):
        blocks.quietly(run, True)
    assert (np.geterr(), variable.get()) == (before, 0)


def test_numpys_settings_in_a_users_rule_end_with_the_pass():
    before, seen = np.geterr(), []

    @xp.custom_gradient
    def square(x):
        def pull(g):
            seen.append(np.seterr(all="raise"))
            return g * 2.0 * x

        return x * x, pull

    with GradientTape() as tape:
        x = xp.asarray(3.0)
        tape.watch(x)
        y = square(x)
    assert float(tape.gradient(y, x)) == 6.0
    assert set(seen[0].values()) == {"ignore"}
    assert np.geterr() == before
