"""Report each call of a Python function outside arraytape before its body runs.

A trace uses the reports to find the functions whose state it has to compare before replays.
``CallReporter`` passes the frame of each call to a function ``see``.  ``Lifter.register_call`` is that
function.  From Python 3.12 on, ``sys.monitoring`` reports the calls, which does not disturb debuggers,
coverage tools or profilers.  On older versions, or if no tool id is free, ``sys.settrace`` is used.  The
trace function that was set before is then called, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from ..._util.errors import PACKAGE, STANDARD_LIBRARY
from ..._util.locks import reentrant_lock

See = Callable[[FrameType], bool]  # called with the frame of a call; True requests ``returned``
Returned = Callable[[Any], None]  # called with the result of a call for which ``see`` returned True
monitoring: Any = getattr(sys, "monitoring", None)
OWN_FILES = ("<arraytape", PACKAGE)  # prefixes of the file names of arraytape's code
# The files of the standard library whose functions start threads.
THREADS = frozenset(
    f"{STANDARD_LIBRARY}{file}"
    for file in ("threading.py", os.path.join("concurrent", "futures", "thread.py"))
)


@lru_cache(maxsize=4096)
def is_reported_file(file: str) -> bool:
    return not file.startswith(OWN_FILES)


class TraceFunction:
    """A function for ``sys.settrace`` that calls ``see`` with the frame of each call.

    see, returned : the functions that get the frame of a call, and its result.
    before : the trace function of a debugger or other tool, which was set before, or None.
    on : True between ``start`` and ``stop``.
    function : the trace function, which is the bound method ``called``.
    """

    def __init__(self, see: See, returned: Returned) -> None:
        self.see, self.returned = see, returned
        self.before, self.on = sys.gettrace(), False
        self.function = self.called  # kept, because each access makes another bound method

    @property
    def suspendable(self) -> Any:
        """Return the trace function if no other tool has one; else None.

        The caller suspends it during NumPy calls, because it slows down each Python call.  The trace
        function of a debugger must not be suspended.
        """
        return self.function if self.before is None else None

    def install(self, function: Any) -> None:
        sys.settrace(function)

    def start(self) -> None:
        self.before, self.on = sys.gettrace(), True
        self.install(self.function)

    def stop(self) -> bool:
        """Restore the trace function from before ``start``.

        Return False, without a change, if other code has set a trace function since ``start``.
        """
        ours = not self.on or sys.gettrace() is self.function
        if self.on and ours:
            self.install(self.before)
        self.on = False
        return ours

    def called(self, frame: FrameType, event: Any, argument: Any) -> Any:
        """Handle the event "call" of ``sys.settrace``: pass the frame to ``see``.

        Return the trace function for the events within the frame, or None.
        frame, event, argument : what Python passes to a trace function.
        """
        seen = is_reported_file(frame.f_code.co_filename) and self.see(frame)
        returns = self.trace_locally if seen else None
        if self.before is None:
            if returns is not None:
                frame.f_trace_lines = False
            return returns
        local = self.before(frame, event, argument)
        now = sys.gettrace()
        if now is not self.function:  # the function ``before`` has set another trace function
            self.before = now
            self.install(self.function)
        if local is None and returns is not None:
            frame.f_trace_lines = False
            return returns
        return local

    def trace_locally(self, frame: FrameType, event: Any, argument: Any) -> Any:
        """Handle the events within a frame: at "return", report the result of the call."""
        if event == "return":
            self.returned(argument)
        return self.trace_locally


class Monitor:
    """A tool of ``sys.monitoring`` that reports the calls in each thread that traces a function.

    Each of these threads passes its own functions ``see`` and ``returned`` to ``start``.  For
    ``sys.monitoring``, all threads together are one tool.
    tool : the id of the tool, or -1 before the first use.
    """

    def __init__(self) -> None:
        self.tool = -1
        self.observers: dict[int, tuple[See, Returned]] = {}  # thread id -> its functions
        # Thread id -> ids of running frames whose results are to be passed to ``returned``.
        self.awaited: dict[int, set[int]] = {}
        self.lock = reentrant_lock()

    def start(self, see: See, returned: Returned) -> bool:
        """Begin to report the calls of the current thread; return False if no tool id is free."""
        with self.lock:
            if self.tool < 0 and not self.reserve_tool():
                return False
            self.observers[get_ident()] = see, returned
            self.awaited[get_ident()] = set()
            events = monitoring.events
            monitoring.set_events(self.tool, events.PY_START | events.PY_RETURN)
            return True

    def stop(self) -> None:
        with self.lock:
            self.observers.pop(get_ident(), None)
            self.awaited.pop(get_ident(), None)
            if not self.observers:
                monitoring.set_events(self.tool, 0)

    def reserve_tool(self) -> bool:
        """Reserve a free tool id and register the callbacks; return False if no id is free.

        The id is never released, so that code for which ``started`` returned DISABLE stays disabled.
        """
        for tool in (3, 4):  # ids that ``sys.monitoring`` reserves for no kind of tool
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "arraytape")
                events = monitoring.events
                monitoring.register_callback(tool, events.PY_START, self.started)
                monitoring.register_callback(tool, events.PY_RETURN, self.ended)
                self.tool = tool
                return True
        return False

    def started(self, code: CodeType, offset: int) -> Any:
        """Handle the start of a function, before its body runs: pass its frame to this thread's ``see``.

        Return DISABLE for arraytape's own code, so that Python does not report this code again.
        """
        if not is_reported_file(code.co_filename):
            return monitoring.DISABLE
        me = get_ident()
        seeing = self.observers.get(me)
        if seeing is not None:
            frame = sys._getframe(1)
            if seeing[0](frame):
                self.awaited[me].add(id(frame))
        return None

    def ended(self, code: CodeType, offset: int, value: Any) -> Any:
        """Handle the return of a function: pass its result to ``returned``, if ``see`` asked for it."""
        if not is_reported_file(code.co_filename):
            return monitoring.DISABLE
        me = get_ident()
        seeing, number = self.observers.get(me), id(sys._getframe(1))
        if seeing is not None and number in self.awaited[me]:
            self.awaited[me].discard(number)
            seeing[1](value)
        return None


MONITOR = Monitor() if monitoring is not None else None


class CallReporter:
    """A switch: from ``start`` to ``stop``, the function ``see`` gets the frame of each Python call.

    If ``see`` returns True for a frame, ``returned`` gets the result of the call.  Only calls in this
    thread, of functions outside arraytape, are reported.
    """

    def __init__(self, see: See, returned: Returned) -> None:
        self.see, self.returned = see, returned
        self.function = TraceFunction(see, returned)
        self.monitored = False

    @property
    def suspendable(self) -> Any:
        """Return the trace function if it may be suspended while NumPy runs, to save time; else None.

        The result is None if ``sys.monitoring`` is used, or if another tool has a trace function.
        """
        return self.function.suspendable if self.function.on else None

    def start(self) -> None:
        self.monitored = MONITOR is not None and MONITOR.start(self.see, self.returned)
        if not self.monitored:
            self.function.start()

    def stop(self) -> bool:
        """End the reports; may be called repeatedly.

        Return False if another tool has replaced the trace function, so that calls were missed.
        """
        if self.monitored and MONITOR is not None:
            MONITOR.stop()
        return self.function.stop()
