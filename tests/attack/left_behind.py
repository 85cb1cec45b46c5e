"""What an interrupt may leave behind, in this process; and how it goes for the next one."""

from __future__ import annotations

import gc
import sys

import numpy as np

from arraytape._exits import modes
from arraytape._numpy_api import exact, implementations
from arraytape._record.mode_stack import MODE_STACK, MODES, NO_MODES, OP_BUILTINS, update_modes_test
from arraytape._record.stack import EMPTY, OPEN, STACK, recorders
from arraytape._storage.batched.batched_data import ACTIVE
from arraytape._storage.storage import DEFAULT
from arraytape._tape.packing import PACKING
from arraytape._util import locks
from arraytape.interop import _context


def left_behind():
    """What is not as it is outside of every block, in words."""
    gc.collect(0)
    facts = {
        "recorders": (recorders(), ()),
        "open recorders": ([r for r in OPEN.values() if r() is not None], []),
        "modes": ((*MODES.values(), *MODE_STACK.get()[1:]), ((), ())),
        "test for modes": (OP_BUILTINS["MODES"], None),
        "hidden axes": (ACTIVE.get(), ()),
        "interop": (_context.ENTERED.get(), frozenset()),
        "packing": (PACKING.get(), None),
        "device": (implementations.DEVICE.get(), None),
        "warned": (exact.WARNED.get(), False),
        "default device": (DEFAULT, BEFORE["device"]),
        "exits": (modes.DEFAULT, ["warn"]),
        "profiler": (sys.getprofile(), None),
        "errstate": (np.geterr(), BEFORE["errstate"]),
        "locks": (sum(lock._is_owned() for lock in locks.LOCKS), 0),
    }
    return [f"{name}: {now!r}" for name, (now, before) in facts.items() if now != before]


BEFORE = {"device": [*DEFAULT], "errstate": np.geterr()}


def tidy_up():
    """After a finding: what it left behind must not count for the next trial."""
    STACK.set(EMPTY)
    OPEN.clear()
    MODE_STACK.set(NO_MODES)
    MODES.clear()
    update_modes_test()
    ACTIVE.set(())
    _context.ENTERED.set(frozenset())
    PACKING.set(None)
    implementations.DEVICE.set(None)
    exact.WARNED.set(False)
    DEFAULT[:] = BEFORE["device"]
    modes.DEFAULT[:] = ["warn"]
    sys.setprofile(None)
    np.seterr(**BEFORE["errstate"])
    for lock in locks.LOCKS:
        while lock._is_owned():
            lock.release()
