"""A check that a trace has found ("lifted") each Array that the traced function passes to arraytape."""

import contextlib
import sys

import numpy as np

from arraytape._array.array import PINNED, Array
from arraytape._array.exports import is_shared
from arraytape._array.views import root_of
from arraytape._util.errors import PACKAGE
from arraytape.replay.tracing.lift import Lifter
from arraytape.replay.tracing.traced import ACTIVE

OURS = ("<arraytape", PACKAGE)
DATA_ALONE = tuple(f"{PACKAGE}{room}" for room in ("replay", "_storage", "_record", "_util"))


class Handles:
    """A function for ``sys.settrace`` that collects the Arrays passed to arraytape in one trace."""

    def __init__(self, lifter):
        self.lifter, self.seen = lifter, {}

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        ours = file.startswith(OURS) and not file.startswith(DATA_ALONE)
        if event == "call" and ours and ACTIVE.get() is self.lifter.trace:
            for value in list(frame.f_locals.values()):
                for part in value if type(value) in (list, tuple) else (value,):
                    if isinstance(part, Array):
                        self.see(part, frame.f_code.co_qualname)

    def see(self, x, where):
        if hasattr(x, "_data") and hasattr(x, "_state"):
            root = root_of(x)
            if type(root._data) is np.ndarray and not root._state & PINNED:
                self.seen.setdefault(id(root), (root, where))

    def missed(self):
        """Return the source locations of functions that got an Array which the trace did not lift."""
        return [
            where
            for number, (root, where) in self.seen.items()
            if number not in self.lifter.lifted and not is_shared(root)
        ]


@contextlib.contextmanager
def checked_traces(monkeypatch):
    """Yield two lists that traces fill: reasons against a replay, and the results of ``missed``."""
    traces, missed, open_ones = [], [], []
    start, stop = Lifter.start, Lifter.stop

    def started(lifter):
        if sys.gettrace() is None:
            open_ones.append(Handles(lifter))
            sys.settrace(open_ones[-1])
        start(lifter)

    def stopped(lifter):
        stop(lifter)
        if open_ones and open_ones[-1].lifter is lifter:
            sys.settrace(None)
            traces.append(lifter.trace.spoiled)
            missed.extend(open_ones.pop().missed())

    with monkeypatch.context() as patch:
        patch.setattr(Lifter, "start", started)
        patch.setattr(Lifter, "stop", stopped)
        yield traces, missed
