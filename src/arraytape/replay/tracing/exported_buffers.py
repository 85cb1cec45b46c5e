"""Memory of an Array that a traced function exports to NumPy code: ``np.asarray(x)``.

In eager code this is the memory of x, so that each side sees the writes of the other.  Traced data
has no such memory: NumPy gets a copy.  While the copy exists, each access to an Array first looks
for writes to the copy.  Each write to an Array is applied to the copy at once.
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

OWN = 2  # references to a copy that nobody else holds: the attribute, and getrefcount's argument


class Loan:
    """A copy that was exported; known : the value of x that it holds."""

    __slots__ = ("copy", "known", "x")

    def __init__(self, x: Array, copy: np.ndarray[Any, Any]) -> None:
        self.x, self.copy, self.known = x, copy, current(x)[1]

    @property
    def lives(self) -> bool:
        """Return True if NumPy code still refers to the copy, or to a view of it."""
        return getrefcount(self.copy) > OWN


class Loans:
    """The copies that a trace has exported; spoil : reports why there is no program."""

    def __init__(self, spoil: Callable[[str], None]) -> None:
        self.spoil = spoil
        self.live: list[Loan] = []

    def lend(self, x: Array, value: np.ndarray[Any, Any]) -> None:
        """Register a value that was exported, if eager code would have shared memory."""
        if type(x._data) is Traced:
            self.live.append(Loan(x, value))

    def collect(self) -> None:
        """Apply writes of NumPy code to the Arrays."""
        for loan in [*self.live]:
            if not same_data(loan.copy, untraced(loan.known)):
                self.spoil("NumPy code writes to memory of an Array that it uses")
                loan.x[...] = wrap(loan.copy.copy(), 0, 0)
                loan.known = current(loan.x)[1]
            if not loan.lives and loan in self.live:  # the write above collects, too
                self.live.remove(loan)

    def give(self) -> None:
        """Apply writes to Arrays to the copies."""
        for loan in self.live:
            now = current(loan.x)[1]
            if now is not loan.known:
                if not same_data(untraced(now), untraced(loan.known)):
                    self.spoil("an Array is written whose memory NumPy code has")
                    loan.copy[...] = untraced(now)
                loan.known = now

    def end(self) -> None:
        """Let each Array whose copy still exists own that memory, as after an eager call."""
        for loan in self.live:
            if not loan.lives:
                continue
            x = loan.x
            self.spoil("NumPy code keeps memory of an Array that it uses")
            if not x._state & IS_VIEW:
                x._data = loan.copy
                x._state |= PINNED
        self.live.clear()
