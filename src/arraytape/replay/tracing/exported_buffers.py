"""Keep Arrays equal to the copies that ``np.asarray(x)`` returns while a function is traced.

In eager code, ``np.asarray(x)`` returns the memory of x, so that each side sees the writes of the other.
In a traced function, x holds a ``Traced`` object, so ``np.asarray(x)`` returns a copy of its value.  As
long as NumPy code refers to the copy, two rules imitate shared memory.  Each access to any Array first
applies writes that NumPy code made to the copy.  Each write to an Array is applied to the copy at once.
A program cannot repeat such writes, so the call is not replayed after one.  They are applied all the
same, so that the traced call itself returns the right result.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ..._array.array import IS_VIEW, PINNED, Array, wrap
from ..._array.views import current
from ..reach.sameness import same_data
from .traced import Traced, untraced

# References to ``ExportedCopy.copy`` that are not NumPy's: the attribute, and getrefcount's argument.
OWN_REFERENCES = 2


class ExportedCopy:
    """A copy of the data of a traced Array, which NumPy code received by ``np.asarray(x)``.

    A traced Array holds a stand-in that records NumPy calls, and so cannot share an ndarray.
    x : the Array.
    copy : the ndarray that NumPy code has.
    synced : the raw data of x when x and ``copy`` were last equal.
    """

    __slots__ = ("copy", "synced", "x")

    def __init__(self, x: Array, copy: np.ndarray[Any, Any]) -> None:
        self.x, self.copy, self.synced = x, copy, current(x)[1]

    @property
    def is_in_use(self) -> bool:
        """Return True if NumPy code still refers to the copy, or to a view of the copy."""
        return getrefcount(self.copy) > OWN_REFERENCES


class ExportedCopies:
    """All copies of Arrays' data that NumPy code received while one call was recorded (a trace).

    spoil : ``Trace.spoil``, which makes the call not replayable, for the reason that is its argument.
    copies : an ``ExportedCopy`` for each copy that NumPy code may still use.
    """

    def __init__(self, spoil: Callable[[str], None]) -> None:
        self.spoil = spoil
        self.copies: list[ExportedCopy] = []

    def add_copy(self, x: Array, value: np.ndarray[Any, Any]) -> None:
        """Register ``value``, the copy of the data of x that NumPy code receives."""
        if type(x._data) is Traced:
            self.copies.append(ExportedCopy(x, value))

    def apply_numpy_writes(self) -> None:
        """Write the changes that NumPy code made to copies back to the Arrays; forget unused copies.

        In eager code, an Array and its copy share memory.
        """
        for exported in [*self.copies]:
            if not same_data(exported.copy, untraced(exported.synced)):
                self.spoil("NumPy code writes to memory of an Array that it uses")
                exported.x[...] = wrap(exported.copy.copy(), 0, 0)
                exported.synced = current(exported.x)[1]
            # The write above calls ``apply_numpy_writes`` again, which may have removed the copy.
            if not exported.is_in_use and exported in self.copies:
                self.copies.remove(exported)

    def update_copies(self) -> None:
        """Write the new values of Arrays to their copies, so that NumPy code sees them.

        In eager code, an Array and its copy share memory.
        """
        for exported in self.copies:
            now = current(exported.x)[1]
            if now is not exported.synced:
                if not same_data(untraced(now), untraced(exported.synced)):
                    self.spoil("it writes to an Array whose memory NumPy code shares")
                    exported.copy[...] = untraced(now)
                exported.synced = now

    def end_exports(self) -> None:
        """Let Arrays share memory with the copies that NumPy code still uses, as in eager code."""
        for exported in self.copies:
            if not exported.is_in_use:
                continue
            x = exported.x
            self.spoil("NumPy code keeps memory of an Array that it uses")
            if not x._state & IS_VIEW:
                x._data = exported.copy
                x._state |= PINNED
        self.copies.clear()
