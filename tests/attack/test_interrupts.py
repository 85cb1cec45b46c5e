"""Interrupts at some bytecodes of every entry and of every write, and a run of timed ones."""

import random

import pytest

from attack import interrupted_writes, interrupts, timed_interrupts

FEW = 6


@pytest.mark.parametrize("name", sorted(interrupts.TABLE))
@pytest.mark.every(4)
def test_an_interrupted_entry_leaves_nothing_and_state_that_is_old_or_new(name):
    count, findings = interrupts.sweep(name, most=FEW)
    assert count
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("recorder", interrupted_writes.RECORDERS)
@pytest.mark.parametrize("name", sorted(interrupted_writes.TABLE))
@pytest.mark.every(5)
def test_an_interrupted_write_leaves_data_and_derivative_old_or_new(name, recorder, monkeypatch):
    monkeypatch.setattr(interrupted_writes, "SAMPLE", FEW)
    count, findings = interrupted_writes.sweep(name, random.Random(name), recorder)
    assert count
    assert not findings, "\n".join(findings)


@pytest.mark.slow
def test_no_bytecode_of_a_write_under_another_errstate_leaves_it_to_what_follows():
    count, findings = interrupted_writes.sweep("numpys where of a root", None, "tape")
    assert count > 1000
    assert not findings, "\n".join(findings)


@pytest.mark.slow
def test_timed_interrupts_leave_nothing():
    assert timed_interrupts.run(0, 200) in (0, 200)
