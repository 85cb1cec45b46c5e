"""``Evaluation``: another run of a user's function, for finite differences, without its side effects.

A second run must not write a file twice, or append to a list twice.
``Evaluation.run`` runs the function under a profile function, which checks each call before it happens.
A call that acts outside of the process (files, sockets) or on other threads stops the run.  The audit
hook ``audit`` does the same for the events in ``EVENTS``.  Objects in memory that the run changed are
restored afterwards (``ReachableState``).  Output to stdout and stderr is discarded.
"""

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
# Code of functions that make constants on the user's request.  After a call of one, the derivative may
# differ from differences of the function on purpose, so that a comparison shows nothing.
MEANT = {stop_gradient.__code__, Recording.stop_recording.__code__, HostFunction.__call__.__code__}
# Modules of types whose methods act outside of the process or on other threads.
OUTPUT = (
    "sqlite3",
    "_socket",
    "socket",
    "mmap",
    "_queue",
)
# Audit events (https://docs.python.org/3/library/audit_events.html) of actions outside of the process.
EVENTS = {
    "os.chmod", "os.chown", "os.exec", "os.fork", "os.kill", "os.link", "os.mkdir",
    "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.spawn",
    "os.symlink", "os.system", "os.truncate", "os.unsetenv", "os.utime", "shutil.copyfile",
    "shutil.move", "shutil.rmtree", "smtplib.send", "socket.bind", "socket.connect",
    "socket.sendto", "subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp",
    "urllib.Request", "webbrowser.open",
}  # fmt: skip
# Flags of ``os.open`` for files that may be written or created.
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# Functions of the module ``posix`` that a run may call, because they change nothing.
READING = {
    "access", "close", "confstr", "cpu_count", "fspath", "fstat", "get_terminal_size", "getcwd",
    "getegid", "geteuid", "getgid", "getloadavg", "getpid", "getppid", "getuid", "isatty", "listdir",
    "lstat", "open", "readlink", "register_at_fork", "scandir", "sched_getaffinity", "stat",
    "statvfs", "strerror", "sysconf", "times", "uname", "urandom",
}  # fmt: skip
# The file of ``threading``.  Its functions wait for other threads, which an Evaluation must not do.
WAITING = main_thread.__code__.co_filename
# The time limit of all runs of one Evaluation together.  It is tested at calls, not inside C functions.
SECONDS = 5.0
# The attribute ``evaluation`` is the Evaluation that runs in this thread, or None.
RUNNING = local()
# [True] once ``audit`` is an audit hook of the process, [] before.  Python cannot remove audit hooks.
HOOKED: list[bool] = []


class Effect(BaseException):
    """The exception raised in a user's function, run for finite differences, to stop a side effect.

    It is a BaseException, so that ``except Exception`` in the user's function does not catch it.
    """


class TooLong(Unrepeatable):
    """The error of runs for finite differences that exceed the time limit ``SECONDS``."""


class Evaluation:
    """An object whose ``run`` calls a user's function again, with side effects undone or prevented.

    Finite differences need further runs, which must not write a file or append to a list again.

    roots : the user's function and its arguments; the state to restore is that of all objects to which
    they refer, directly or through others.
    is_meant : True if the derivative may differ from finite differences on purpose: a run used a custom
    gradient, or called a function in ``MEANT``, such as ``stop_gradient``.
    effect : the side effect that stopped a run, as text for the error; "" if there was none.
    """

    def __init__(self, *roots: Any) -> None:
        if sys.getprofile() is not None or getattr(RUNNING, "evaluation", None) is not None:
            raise Unrepeatable("a profiler runs, or another evaluation does")
        if other_threads_run_code():
            raise Unrepeatable("another thread runs")
        self.is_meant = False
        self.effect = ""
        self.memory_only = False  # True once the run has opened an sqlite3 database in memory
        self.is_restoring = self.is_long = False
        self.state = ReachableState(*roots)
        self.end = time.monotonic() + SECONDS
        self.profiling = self.profile  # ``self.profile`` is a new object at each access

    def run(self, function: Callable[[], T]) -> T:
        """Return the function's result, and restore the state that it changed.

        Raise Unrepeatable if the function would act outside of the process, or if its state cannot be
        restored.  Raise TooLong if the runs exceed ``SECONDS``.
        """
        if not HOOKED:
            HOOKED.append(True)
            sys.addaudithook(audit)
        with self.interrupts_wait():
            try:
                RUNNING.evaluation = self
                self.state.lock_large()
                return contextvars.copy_context().run(self.run_watched, function)
            except Effect:
                raise Unrepeatable(self.effect) from None
            finally:
                self.is_restoring = True
                RUNNING.evaluation = None
                with only_recorders():
                    self.state.restore()
                if self.effect:
                    raise TooLong() if self.is_long else Unrepeatable(self.effect)

    @contextlib.contextmanager
    def interrupts_wait(self) -> Iterator[None]:
        """Return a context in which Ctrl-C interrupts a run, but waits while the state is restored."""
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
        """Return the function's result, with output and warnings discarded and each call checked.

        A call with a side effect, such as a write to a file, stops the run.
        """
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
            # The stopped run may leave unfinished coroutines, open sockets and event loops, which warn
            # when they are freed.  Free them here, where warnings are ignored.
            gc.collect(1)
            raise Effect

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Stop the run before a call with a side effect, or if the time is up.

        Set ``is_meant`` if the user calls a function, such as a custom gradient, whose derivative
        differs from finite differences on purpose.  Python calls this method before each call in the
        run, with the arguments of ``sys.setprofile``.
        """
        if time.monotonic() > self.end:
            self.is_long = True
            self.stop("it takes long")
        if event == "c_call":
            owner = getattr(argument, "__self__", None)
            if owner is builtins and argument is not input:
                return
            if argument is input or has_outside_effect(owner, argument.__name__):
                self.stop(f"{argument.__name__}()")
            elif type(owner).__module__ == "sqlite3" and not self.memory_only:
                self.stop("a database")
        elif event == "call":
            code = frame.f_code
            # Calls by arraytape itself do not set ``is_meant``, because the user did not ask for them.
            if (code in MEANT or code.co_filename == RULES or code.co_name == "on_gradient") and (
                frame.f_back is None or not frame.f_back.f_code.co_filename.startswith(PACKAGE)
            ):
                self.is_meant = True

    def stop(self, effect: str) -> None:
        """Stop the run of a user's function before a side effect, by an exception.

        effect : the side effect, as text for the error.
        """
        self.effect = effect
        raise Effect


def waits_for_others(frame: FrameType) -> bool:
    """Return True if a thread waits in ``threading``, without a timeout, for another thread.

    Such a thread runs no user code that an Evaluation (a run for finite differences) could disturb.

    frame : the innermost frame of the thread.
    """
    return frame.f_code.co_filename == WAITING and frame.f_locals.get("timeout") in (None, -1)


def other_threads_run_code() -> bool:
    """Return True if another thread runs user code, so that no run for finite differences is possible.

    After the run, changed objects are restored; that would undo the writes of the other thread, too.
    """
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


# The file of ``custom_gradient``.  If the user calls a function in it, ``profile`` sets ``is_meant``.
RULES = custom_gradient.__code__.co_filename


def has_outside_effect(owner: Any, name: str) -> bool:
    """Return True if the C function ``name`` of ``owner`` has a side effect that cannot be undone.

    A run of a user's function for finite differences is stopped before such a call.

    owner : the module of a function, or the object of a method.  Databases of sqlite3 are checked by
    ``profile`` and ``audit`` instead, because those in memory are allowed.
    """
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
    """Stop a run for finite differences in this thread, if an audit event acts outside the process.

    Python calls this audit hook for events in all threads, with the name and arguments of the event.
    """
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
    """A stream in place of stdout or stderr that discards the output of a run for finite differences.

    It forwards the writes of all other threads.
    """

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
