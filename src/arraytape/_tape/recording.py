"""When a tape records: entered, left, stopped, reset, handed to worker threads; what it watches."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import TracebackType
from typing import Any, Self
from weakref import ref

import numpy as np

from .._array.array import IS_VIEW, Array
from .._array.exits import LEFT
from .._array.paths import Path
from .._record.plan import Plan, Record, Structural
from .._record.stack import OPEN, Paused, new_tid, push, recorders, remove, replace, tell
from .._storage.storage import inexact
from .._util import nest
from .._util.errors import TapeWarning, describe, stacklevel, user_line
from .missing_rules import missing_rule

NOBODY: Any = frozenset()
ENTERING = threading.Lock()  # two threads must not both find a tape free; not on the op path


class Recording:
    """The recording half of a GradientTape."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        flags = (persistent, watch_accessed_variables)
        if not {bool, np.bool}.issuperset(map(type, flags)):
            raise TypeError(
                "GradientTape: persistent and watch_accessed_variables must be True or False, got "
                f"{describe(persistent)} and {describe(watch_accessed_variables)}"
            )
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self.followed: set[int] = NOBODY  # the tids while recording, else nobody's
        self._active = False  # whether its own block or a worker's is open
        self._open = False  # its own block
        self._home = 0  # the thread of its own block
        self._workers: list[int] = []  # the threads of blocks that in_this_thread opened
        self._entered = False
        self._warned = False
        self._forget()

    def _forget(self) -> None:
        self._known: set[int] = set()
        # id of handle -> handle, the root's tid when it was watched, path from the root to it
        self._watched: dict[int, tuple[Array, int, Path]] = {}
        self._variables: list[Any] = []  # the Variables among them
        self._implied: set[int] = set()  # roots of which only a view is watched
        self._records: list[Record] = []
        self.record = self._records.append
        self._leaves: set[int] = set()  # tids that no record of this tape makes
        self._lost: set[tuple[int, str]] = set()  # what other threads used, and where
        self._used_up = False
        self._careful = self._has_missing_rules = self._left = False

    def _release(self) -> None:
        self._records, self._known, self._watched = [], set(), {}
        self.record = self._records.append
        self._used_up = True

    # --- entering and leaving ---------------------------------------------------------------------
    def __enter__(self) -> Self:
        with ENTERING:
            if self._active:
                raise ValueError(
                    "Tape is already recording; it can be entered again once it is left"
                )
            self._active = self._open = True
        try:
            if self._used_up:
                self._forget()
            self._entered = True
            self._home = get_ident()
            self.followed = self._known
            push(self)
            OPEN[id(self)] = ref(self)
        except BaseException:  # an interruption
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        remove(self)
        with ENTERING:
            self._open = False
            self._rest()

    def _rest(self) -> None:
        """Nobody is followed any more once the last block is left."""
        if not (self._open or self._workers):
            self.followed = NOBODY
            self._active = False
            OPEN.pop(id(self), None)

    def used_elsewhere(self, tids: Sequence[int]) -> None:
        """Values were used in a thread that does not record: an exit, if this tape follows them."""
        if get_ident() == self._home or get_ident() in self._workers:
            return  # another task of this thread, which has nothing to do with this tape
        line = f"{user_line()} (in another thread: see in_this_thread)"
        for tid in tids:
            if tid in self.followed and (tid, line) not in self._lost:
                self._lost.add((tid, line))
                left = (LEFT.number, new_tid(), tid, line)
                tell(self, left)
                self.notice(LEFT, left)

    def _close(self) -> None:
        """Stop recording everywhere."""
        remove(self)
        with ENTERING:
            self._open = False
            self._workers.clear()
            self._rest()

    @contextmanager
    def in_this_thread(self) -> Iterator[Self]:
        """Record in this thread, too, while the tape's own block is open in another.

            with GradientTape() as tape, ThreadPoolExecutor() as pool:
                tape.watch(x)
                parts = list(pool.map(work, pieces))  # work: with tape.in_this_thread(): ...

        Any number of threads may do so at once.  A worker's block goes on recording when the tape's
        own block has been left; a one-shot ``gradient`` waits for nobody: RuntimeError while
        another thread is in such a block.  Raises RuntimeError when the tape is not recording,
        ValueError when it records in this thread already.
        """
        with ENTERING:
            if not self._active:
                raise RuntimeError(
                    "in_this_thread() needs a recording tape: enter it with `with tape:` in the "
                    "thread that hands it on, and keep that block open"
                )
            if self in recorders():
                raise ValueError("Tape is already recording in this thread")
            self._workers.append(get_ident())
        push(self)
        try:
            yield self
        finally:
            remove(self)
            with ENTERING:
                if get_ident() in self._workers:
                    self._workers.remove(get_ident())
                    self._rest()

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Within it this tape records nothing in this thread (or task); others go on.

        What is computed there is a constant to this tape.  Inside another ``stop_recording`` of the
        tape it changes nothing.  Raises ValueError when the tape is not recording.
        """
        if not self._active:
            raise ValueError(
                "Trying to stop recording a tape which is not recording: call it inside `with tape:`"
            )
        # A stand-in keeps the tape's place, in this thread and task only: a generator that is
        # finished elsewhere puts nothing on a stack that is not its own.
        paused = Paused(self)
        replace(self, paused)
        try:
            yield
        finally:
            if self._active:
                replace(paused, self)
            remove(paused)

    def reset(self) -> None:
        """Drop everything that was recorded and watched, and go on recording if it was."""
        self._forget()
        if self._active:
            self.followed = self._known

    # --- watching ---------------------------------------------------------------------------------
    def notice(self, plan: Plan | Structural, values: Record) -> None:
        """What the backward pass must look out for, so that it need not look otherwise."""
        if plan is LEFT:
            self._left = True
        elif missing_rule(plan, values) is not None:
            self._has_missing_rules = True
        else:
            self._careful = True  # complex data, or more than one storage

    def watch(self, x: Any) -> None:
        """Follow ``x`` from here on: an Array, or Arrays in lists, tuples, dicts and dataclasses.

        None leaves are skipped.  Integer and boolean arrays have no gradient: a TapeWarning.
        RuntimeError when the tape is not recording; TypeError for what is not an Array.
        """
        if not self._active:
            raise RuntimeError("watch() needs a recording tape: call it inside `with tape:`")
        found = [leaf for leaf in nest.leaves(x) if leaf is not None]
        for leaf in found:
            if not isinstance(leaf, Array):
                raise TypeError(
                    f"watch() takes Arrays, got {describe(leaf)}{nest.place_of(leaf, x)}; convert it "
                    "with asarray"
                )
        for leaf in found:
            self._watch(leaf)

    def accessed(self, x: Any) -> None:
        """A Variable was read; the trainable ones are watched."""
        new = self._watch_variables and x._trainable and x._current_id() not in self._known
        if new and self.followed is not NOBODY and inexact(x._data):
            self._watch(x)

    def watched_variables(self) -> tuple[Any, ...]:
        """The Variables that the tape watches, in the order in which they were made.

        A gradient leaves them listed; ``reset``, and entering a used tape again, forget them.
        """
        return tuple(sorted(self._variables, key=lambda variable: variable._current_id()))

    def _watch(self, x: Array) -> None:
        kind = x._data.dtype.kind
        if kind != "f" and kind != "c":
            warnings.warn(
                f"watch(): dtype {x.dtype} has no gradient (shape {x.shape}): only real and complex "
                "floating-point arrays do",
                TapeWarning,
                stacklevel=stacklevel(),
            )
            return
        # A view is followed through its root, so what is read through other aliases counts too.
        root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
        tid = root._ensure_id()
        entry = self._watched.get(id(x))
        if entry is not None and entry[1] == tid:
            return
        if tid not in self._known:
            self._known.add(tid)
            self._leaves.add(tid)
            if path:
                self._implied.add(tid)
        elif not path:
            self._implied.discard(tid)
        self._watched[id(x)] = (x, tid, path)
        if x._has_state:
            self._variables.append(x)
        if kind == "c":
            self._careful = True
