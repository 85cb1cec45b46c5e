"""Evaluate a user's function again without repeating its side effects."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import gc
import io
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from threading import active_count, current_thread, get_ident, local, main_thread
from types import FrameType, ModuleType
from typing import Any, TypeVar

from .._custom.gradient import custom_gradient
from .._custom.host import HostFunction
from .._define.define_op import stop_gradient
from .._record.stack import only_recorders
from .._tape.recording import Recording
from .._util.blocks import Profiled
from .._util.errors import PACKAGE
from .._util.source_locations import is_installed
from .reachable_state import ReachableState, Unrepeatable

T = TypeVar("T")
# Calls by which a function declares that its derivative differs from that of its values.
MEANT = {stop_gradient.__code__, Recording.stop_recording.__code__, HostFunction.__call__.__code__}
OUTPUT = (
    "sqlite3",
    "_socket",
    "socket",
    "mmap",
    "_queue",
)  # modules of types whose methods act outside
# Audit events (https://docs.python.org/3/library/audit_events.html) of what acts outside of the process.
EVENTS = {
    "os.chmod", "os.chown", "os.exec", "os.fork", "os.kill", "os.link", "os.mkdir",
    "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.spawn",
    "os.symlink", "os.system", "os.truncate", "os.unsetenv", "os.utime", "shutil.copyfile",
    "shutil.move", "shutil.rmtree", "smtplib.send", "socket.bind", "socket.connect",
    "socket.sendto", "subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp",
    "urllib.Request", "webbrowser.open",
}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# Functions of the operating system that change nothing.
READING = {
    "access", "close", "confstr", "cpu_count", "fspath", "fstat", "get_terminal_size", "getcwd",
    "getegid", "geteuid", "getgid", "getloadavg", "getpid", "getppid", "getuid", "isatty", "listdir",
    "lstat", "open", "readlink", "register_at_fork", "scandir", "sched_getaffinity", "stat",
    "statvfs", "strerror", "sysconf", "times", "uname", "urandom",
}  # fmt: skip
WAITING = main_thread.__code__.co_filename  # of the module of threads
SECONDS = 5.0  # that all runs take at most, where Python code runs
RUNNING = local()  # evaluation : the one that runs in this thread
HOOKED: list[bool] = []


class Effect(BaseException):
    """The exception that stops a run before a side effect; a BaseException, which users do not catch."""


class TooLong(Unrepeatable):
    """The error of runs that exceed the time limit ``SECONDS``."""


class Evaluation:
    """Runs of a function whose side effects are undone or prevented.

    is_meant : whether a run said that its derivative is meant to be another one than that of its values
    (``stop_gradient``).  has_changed : whether a run changed state, which was put back.
    """

    def __init__(self, *roots: Any) -> None:
        if sys.getprofile() is not None or getattr(RUNNING, "evaluation", None) is not None:
            raise Unrepeatable("a profiler runs, or another evaluation does")
        if is_code_of_threads():
            raise Unrepeatable("another thread runs")
        self.is_meant = self.has_changed = False
        self.effect = ""
        self.memory_only = False  # whether databases that were opened are in memory
        self.is_restoring = self.is_long = False
        self.state = ReachableState(*roots)
        self.end = time.monotonic() + SECONDS
        self.profiling = self.profile  # one object, to be known again

    def run(self, function: Callable[[], T]) -> T:
        """Return the function's result; raise Unrepeatable if it would have a side effect outside."""
        if not HOOKED:
            HOOKED.append(True)
            sys.addaudithook(audit)
        with self.interrupts_wait():
            try:
                RUNNING.evaluation = self
                self.state.lock_large(True)
                return contextvars.copy_context().run(self.run_watched, function)
            except Effect:
                raise Unrepeatable(self.effect) from None
            finally:
                self.is_restoring = True
                RUNNING.evaluation = None
                with only_recorders():
                    self.has_changed |= self.state.restore()
                if self.effect:
                    raise TooLong() if self.is_long else Unrepeatable(self.effect)

    @contextlib.contextmanager
    def interrupts_wait(self) -> Iterator[None]:
        """Return a context in which Ctrl-C interrupts runs, but is delayed while state is restored."""
        handler = signal.getsignal(signal.SIGINT)
        if current_thread() is not main_thread() or not callable(handler):
            yield
            return
        waiting: list[Any] = []

        def handle(*event: Any) -> Any:
            return waiting.append(event) if self.is_restoring else handler(*event)

        self.is_restoring = False
        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)
            if waiting:
                handler(*waiting[0])

    def run_watched(self, function: Callable[[], T]) -> T:
        streams = (Discarding(sys.stdout), Discarding(sys.stderr))
        with (
            warnings.catch_warnings(),
            only_recorders(),
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):
            warnings.simplefilter("ignore")
            try:
                with Profiled(self.profiling):
                    return function()
            except Effect:
                pass
            # Unfinished coroutines, sockets and loops warn when freed: free them while warnings are off.
            gc.collect(1)
            raise Effect

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Check each call of the run as profile function; stop before a call with a side effect."""
        if time.monotonic() > self.end:
            self.is_long = True
            self.stop("it takes long")
        if event == "c_call":
            owner = getattr(argument, "__self__", None)
            if owner is builtins and argument is not input:
                return
            if argument is input or acts_outside(owner, argument.__name__):
                self.stop(f"{argument.__name__}()")
            elif type(owner).__module__ == "sqlite3" and not self.memory_only:
                self.stop("a database")
        elif event == "call":
            code = frame.f_code
            if (code in MEANT or code.co_filename == RULES or code.co_name == "on_gradient") and (
                frame.f_back is None or not frame.f_back.f_code.co_filename.startswith(PACKAGE)
            ):
                self.is_meant = True

    def stop(self, effect: str) -> None:
        """Stop the run before the side effect described by ``effect``."""
        self.effect = effect
        raise Effect


def waits_for_others(frame: FrameType) -> bool:
    """Return True if a thread waits, without a timeout, until another thread wakes it."""
    return frame.f_code.co_filename == WAITING and frame.f_locals.get("timeout") in (None, -1)


def is_code_of_threads() -> bool:
    """Return True if another thread runs user code, whose writes would be undone, too."""
    if active_count() == 1:
        return False
    for thread, frame in sys._current_frames().items():
        inner: FrameType | None = frame
        if thread == get_ident() or waits_for_others(frame):
            continue
        while inner is not None:
            if not is_installed(inner.f_code.co_filename):
                return True
            inner = inner.f_back
    return False


RULES = custom_gradient.__code__.co_filename


def acts_outside(owner: Any, name: str) -> bool:
    """Return True if calling a method has a side effect outside of the process."""
    if isinstance(owner, ModuleType):
        if owner.__name__ in ("posix", "nt"):
            return name not in READING
        return (owner.__name__, name) in (("time", "sleep"), ("_signal", "signal")) or (
            owner.__name__ == "_thread" and name.startswith("start")
        )
    if isinstance(owner, io.IOBase) and owner in (sys.stdin, getattr(sys.stdin, "buffer", None)):
        return name.startswith(("read", "__next__"))
    if isinstance(owner, io.IOBase):
        in_memory = isinstance(owner, io.StringIO | io.BytesIO | Discarding)
        return name in ("write", "writelines", "truncate") and not in_memory
    return type(owner).__module__ in OUTPUT and type(owner).__module__ != "sqlite3"


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Stop an evaluation of this thread before it acts outside."""
    evaluation = getattr(RUNNING, "evaluation", None)
    if evaluation is None:
        return
    if event == "open":
        _, mode, flags = arguments
        writes = {*"wax+"} & {*mode} if isinstance(mode, str) else (flags or 0) & WRITING
        if writes:
            evaluation.stop("open()")
    elif event == "sqlite3.connect":
        if arguments[0] != ":memory:":
            evaluation.stop("a database")
        evaluation.memory_only = True
    elif event in EVENTS:
        evaluation.stop(event)


class Discarding(io.TextIOBase):
    """A stream that discards the writes of the evaluating thread and forwards all others."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        if getattr(RUNNING, "evaluation", None) is None:
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        if getattr(RUNNING, "evaluation", None) is None and not getattr(
            self.stream, "closed", False
        ):
            self.stream.flush()


__all__ = ["Evaluation", "TooLong"]
