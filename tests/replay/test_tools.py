"""Tracing beside debuggers, coverage and profilers: each of them sees what it would see without."""

import gc
import io
import pdb
import sys
import warnings
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from arraytape.replay.tracing import frames
from arraytape.replay.tracing.trace import Trace
from arraytape.replay.tracing.traced import ACTIVE, foreign_call


def x_of():
    return xp.asarray([3.0, 5.0])


STATE = xp.asarray([1.0, 2.0])


def computed(x):
    y = x * 2
    if y[0] > 0:
        y = y + STATE
    return y


FIRST = computed.__code__.co_firstlineno


def debugger(*commands):
    """A debugger that is told what to do, and what it has said."""
    said = io.StringIO()
    return pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=said, nosigint=True), said


# --- debuggers ----------------------------------------------------------------------------------------
def test_a_debugger_that_runs_the_call_stops_in_it():
    g = xp.function(computed)
    tool, said = debugger(f"b {__file__}:{FIRST + 3}", "c", "p y", "n", "p y", "c")
    before = sys.gettrace()
    try:
        assert tool.runcall(g, x_of()).tolist() == [7.0, 12.0]
    finally:
        sys.settrace(before)
    assert "([ 6., 10.]" in said.getvalue()
    assert "([ 7., 12.]" in said.getvalue()
    for _ in range(3):
        assert g(x_of()).tolist() == [7.0, 12.0]
    assert g.counts["replayed"] >= 1  # what it printed were looks at values


def test_a_debugger_that_is_started_inside_stops_there():
    said = []

    def stopping(x):
        tool, words = debugger("p x", "n", "n", "p y", "c")
        said.append(words)
        tool.set_trace()
        y = x * 2
        return y + STATE

    g = xp.function(stopping)
    before = sys.gettrace()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for _ in range(4):
            try:
                assert g(x_of()).tolist() == [7.0, 12.0]
            finally:
                sys.settrace(before)
    assert len(said) == 4  # it acts on the world: the list grows
    for words in said:
        assert "([3., 5.]" in words.getvalue()
        assert "([ 6., 10.]" in words.getvalue()


@pytest.mark.skipif(frames.MONITOR is not None, reason="sys.monitoring sees the calls")
def test_who_takes_the_trace_functions_place_ends_the_trace():
    def taking(x):
        sys.settrace(None)
        return x * STATE

    g = xp.function(taking)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for factor in (1.0, 2.0, 3.0):
            STATE[...] = xp.asarray([factor, factor])
            assert g(x_of()).tolist() == [3.0 * factor, 5.0 * factor]
    STATE[...] = xp.asarray([1.0, 2.0])
    assert any("a debugger or another tracing tool" in why for why in g.reasons)
    assert sys.gettrace() is None


# --- lines --------------------------------------------------------------------------------------------
class Lines:
    """What a line-by-line tool sees, as the Python form of coverage.py does."""

    def __init__(self):
        self.seen = set()

    def __call__(self, frame, event, argument):
        if frame.f_code is not computed.__code__:
            return None
        self.seen.add(frame.f_lineno - FIRST)
        return self


def test_a_trace_function_sees_all_lines():
    g, lines = xp.function(computed), Lines()
    before = sys.gettrace()
    try:
        sys.settrace(lines)
        g(x_of())
        assert sys.gettrace() is lines
    finally:
        sys.settrace(before)
    assert lines.seen == {0, 1, 2, 3, 4}


@pytest.mark.skipif(frames.MONITOR is None, reason="sys.monitoring is there from Python 3.12 on")
@pytest.mark.parametrize("taken", [(), (3,), (3, 4)])
def test_tools_of_the_monitoring_that_others_have(monkeypatch, taken):
    monitoring = sys.monitoring
    monkeypatch.setattr(frames, "MONITOR", frames.Monitor())
    free = [tool for tool in (3, 4) if monitoring.get_tool(tool) is None]
    for tool in taken:
        if tool in free:
            monitoring.use_tool_id(tool, "another")
    try:
        g = xp.function(computed)
        for factor in (1.0, 2.0, 3.0):
            STATE[...] = xp.asarray([factor, factor])
            assert g(x_of()).tolist() == [6.0 + factor, 10.0 + factor]
        assert g.counts["replayed"] == 1
    finally:
        STATE[...] = xp.asarray([1.0, 2.0])
        for tool in free:
            if monitoring.get_tool(tool) is not None:
                monitoring.set_events(tool, 0)
                monitoring.free_tool_id(tool)


# --- what a trace leaves ------------------------------------------------------------------------------
def test_functions_of_others_are_not_kept():
    def theirs(x):
        return x[::-1]

    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        found = foreign_call("theirs", theirs, (trace.input(np.ones(2)),), {})
    finally:
        ACTIVE.reset(token)
    assert found.value.tolist() == [1.0, 1.0]
    gone = weakref.ref(theirs)
    del theirs, trace, found
    gc.collect()
    assert gone() is None
