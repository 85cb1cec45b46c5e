"""Each call into the package, or to start a thread, seen before its body runs.

From Python 3.12 on ``sys.monitoring`` tells of them, which disturbs no debugger, coverage or profiler:
these have tools of their own.  Before, or where no tool is free, a trace function does, which calls
the one that was there.
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

See = Callable[[FrameType], None]
monitoring: Any = getattr(sys, "monitoring", None)
# Rooms that see data alone.
RAW = tuple(f"{PACKAGE}{room}" for room in ("replay", "_storage", "_record", "_util"))
OURS = ("<arraytape", PACKAGE)  # beginnings of the names of our files
THREADS = frozenset(
    f"{STANDARD_LIBRARY}{file}"
    for file in ("threading.py", os.path.join("concurrent", "futures", "thread.py"))
)


@lru_cache(maxsize=4096)
def is_seen(file: str) -> bool:
    """Whether the functions of a file may be given Arrays that are to be lifted, or start threads."""
    return (file.startswith(OURS) and not file.startswith(RAW)) or file in THREADS


class TraceFunction:
    """Calls ``see`` with the frame of each call.

    only : the trace function, where no other one was there; None otherwise.
    """

    def __init__(self, see: See) -> None:
        self.see, self.before, self.on = see, sys.gettrace(), False
        self.function = self.called  # one object, to be known again

    @property
    def only(self) -> Any:
        return self.function if self.before is None else None

    def start(self) -> None:
        self.before, self.on = sys.gettrace(), True
        sys.settrace(self.function)

    def stop(self) -> bool:
        """End it: whether it was still the trace function."""
        ours = not self.on or sys.gettrace() is self.function
        if self.on and ours:
            sys.settrace(self.before)
        self.on = False
        return ours

    def called(self, frame: FrameType, event: Any, argument: Any) -> Any:
        """What Python calls for each call."""
        if is_seen(frame.f_code.co_filename):
            self.see(frame)
        if self.before is None:
            return None
        local = self.before(frame, event, argument)
        now = sys.gettrace()
        if now is not self.function:  # one written in C takes our place, a debugger goes
            self.before = now
            sys.settrace(self.function)
        return local


class Monitor:
    """The tool of ``sys.monitoring`` that calls ``see`` of the threads that trace."""

    def __init__(self) -> None:
        self.tool = -1
        self.seeing: dict[int, See] = {}  # by thread
        self.lock = reentrant_lock()

    def start(self, see: See) -> bool:
        """Begin to see the calls of this thread: whether there is a tool for it."""
        with self.lock:
            if self.tool < 0 and not self.take():
                return False
            self.seeing[get_ident()] = see
            monitoring.set_events(self.tool, monitoring.events.PY_START)
            return True

    def stop(self) -> None:
        with self.lock:
            self.seeing.pop(get_ident(), None)
            if not self.seeing:
                monitoring.set_events(self.tool, 0)

    def take(self) -> bool:
        """Take a tool that is free, for good: what it is told not to see it never sees again."""
        for tool in (3, 4):  # those that have no purpose by convention
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "arraytape")
                monitoring.register_callback(tool, monitoring.events.PY_START, self.started)
                self.tool = tool
                return True
        return False

    def started(self, code: CodeType, offset: int) -> Any:
        """What Python calls for each call in any thread."""
        if not is_seen(code.co_filename):
            return monitoring.DISABLE
        see = self.seeing.get(get_ident())
        return see(sys._getframe(1)) if see is not None else None


MONITOR = Monitor() if monitoring is not None else None


class Calls:
    """Calls ``see`` with the frame of each call into the package, in this thread."""

    def __init__(self, see: See) -> None:
        self.see = see
        self.function = TraceFunction(see)
        self.monitored = False

    @property
    def only(self) -> Any:
        """The trace function that sees them, where it does nothing else."""
        return self.function.only if self.function.on else None

    def start(self) -> None:
        self.monitored = MONITOR is not None and MONITOR.start(self.see)
        if not self.monitored:
            self.function.start()

    def stop(self) -> bool:
        """End it: whether all calls were seen.  Twice is as good as once."""
        if self.monitored and MONITOR is not None:
            MONITOR.stop()
        return self.function.stop()
