"""Notification of each call of a Python function outside arraytape, before its body runs.

``Calls`` passes the frame of each such call to a function ``see``, which is ``Lifter.see``.  From Python
3.12 on, ``sys.monitoring`` is used, which does not disturb debuggers, coverage tools or profilers.  On
older versions, or if no tool id is free, ``sys.settrace`` is used; the trace function that was set
before is called, too.
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
OURS = ("<arraytape", PACKAGE)  # prefixes of the file names of arraytape's code
# The files whose functions start threads.
THREADS = frozenset(
    f"{STANDARD_LIBRARY}{file}"
    for file in ("threading.py", os.path.join("concurrent", "futures", "thread.py"))
)


@lru_cache(maxsize=4096)
def is_seen(file: str) -> bool:
    return not file.startswith(OURS)


class TraceFunction:
    """A function for ``sys.settrace`` that calls ``see`` with the frame of each call.

    before : the trace function that was set before, or None.  on : True between start and stop.
    function : the trace function.  only : ``function`` if ``before`` is None, else None.
    """

    def __init__(self, see: See, returned: Returned) -> None:
        self.see, self.returned = see, returned
        self.before, self.on = sys.gettrace(), False
        self.function = self.called  # kept, because each access makes another bound method

    @property
    def only(self) -> Any:
        return self.function if self.before is None else None

    def install(self, function: Any) -> None:
        sys.settrace(function)

    def start(self) -> None:
        self.before, self.on = sys.gettrace(), True
        self.install(self.function)

    def stop(self) -> bool:
        """Restore the previous trace function.

        Return False, without a change, if other code has set a trace function since ``start``.
        """
        ours = not self.on or sys.gettrace() is self.function
        if self.on and ours:
            self.install(self.before)
        self.on = False
        return ours

    def called(self, frame: FrameType, event: Any, argument: Any) -> Any:
        """Handle the event "call"; return the frame's local trace function, as sys.settrace requires."""
        seen = is_seen(frame.f_code.co_filename) and self.see(frame)
        returns = self.ends if seen else None
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

    def ends(self, frame: FrameType, event: Any, argument: Any) -> Any:
        """Handle the events within a frame; at "return", pass the call's result to ``returned``."""
        if event == "return":
            self.returned(argument)
        return self.ends


class Monitor:
    """A tool of ``sys.monitoring`` that reports the calls in the threads that trace.

    Each thread passes its own functions ``see`` and ``returned`` to ``start``.
    tool : the tool id, or -1 before the first use.
    """

    def __init__(self) -> None:
        self.tool = -1
        self.seeing: dict[int, tuple[See, Returned]] = {}  # thread id -> its functions
        # Thread id -> ids of running frames whose results are to be passed to ``returned``.
        self.calls: dict[int, set[int]] = {}
        self.lock = reentrant_lock()

    def start(self, see: See, returned: Returned) -> bool:
        """Begin to report the calls of this thread; return False if no tool id is free."""
        with self.lock:
            if self.tool < 0 and not self.take():
                return False
            self.seeing[get_ident()] = see, returned
            self.calls[get_ident()] = set()
            events = monitoring.events
            monitoring.set_events(self.tool, events.PY_START | events.PY_RETURN)
            return True

    def stop(self) -> None:
        with self.lock:
            self.seeing.pop(get_ident(), None)
            self.calls.pop(get_ident(), None)
            if not self.seeing:
                monitoring.set_events(self.tool, 0)

    def take(self) -> bool:
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
        if not is_seen(code.co_filename):
            return monitoring.DISABLE
        me = get_ident()
        seeing = self.seeing.get(me)
        if seeing is not None:
            frame = sys._getframe(1)
            if seeing[0](frame):
                self.calls[me].add(id(frame))
        return None

    def ended(self, code: CodeType, offset: int, value: Any) -> Any:
        if not is_seen(code.co_filename):
            return monitoring.DISABLE
        me = get_ident()
        seeing, number = self.seeing.get(me), id(sys._getframe(1))
        if seeing is not None and number in self.calls[me]:
            self.calls[me].discard(number)
            seeing[1](value)
        return None


MONITOR = Monitor() if monitoring is not None else None


class Calls:
    """A switch: from ``start`` to ``stop``, ``see`` gets the frame of each call in this thread."""

    def __init__(self, see: See, returned: Returned) -> None:
        self.see, self.returned = see, returned
        self.function = TraceFunction(see, returned)
        self.monitored = False

    @property
    def only(self) -> Any:
        """Return the trace function that ``traced.call_noted`` may suspend during NumPy calls, or None.

        It is None if ``sys.monitoring`` is used, or if another trace function was set before.
        """
        return self.function.only if self.function.on else None

    def start(self) -> None:
        self.monitored = MONITOR is not None and MONITOR.start(self.see, self.returned)
        if not self.monitored:
            self.function.start()

    def stop(self) -> bool:
        """Stop the reports; may be called repeatedly.

        Return False if another tool has replaced the trace function, so that calls were missed.
        """
        if self.monitored and MONITOR is not None:
            MONITOR.stop()
        return self.function.stop()
