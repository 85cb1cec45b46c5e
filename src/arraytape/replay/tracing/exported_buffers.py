"""Memory of an Array that a traced function exports to NumPy code: ``np.asarray(x)``.

In eager code, NumPy code gets the memory of x, so that each side sees the writes of the other.  Traced
data has no such memory, so NumPy code gets a copy.  While the copy exists, each access to an Array first
applies writes that NumPy code made to the copy.  Each write to an Array is applied to the copy at once.
After such a write, the trace has no program; the writes are applied so that the traced call is right.
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

# The result of getrefcount if only the Loan refers to a copy: its attribute, and the call's argument.
OWN = 2


class Loan:
    """An exported copy of the data of an Array.

    x : the Array.  copy : the ndarray that NumPy code has.  known : the raw data that x had when x and
    copy were last equal.
    """

    __slots__ = ("copy", "known", "x")

    def __init__(self, x: Array, copy: np.ndarray[Any, Any]) -> None:
        self.x, self.copy, self.known = x, copy, current(x)[1]

    @property
    def lives(self) -> bool:
        """Return True if NumPy code still refers to the copy, or to a view of the copy."""
        return getrefcount(self.copy) > OWN


class Loans:
    """All copies of Arrays' data that NumPy code received during one trace.

    spoil : ``Trace.spoil``, called with a reason why there is no program.  live : a ``Loan`` for each
    copy that may still exist.
    """

    def __init__(self, spoil: Callable[[str], None]) -> None:
        self.spoil = spoil
        self.live: list[Loan] = []

    def lend(self, x: Array, value: np.ndarray[Any, Any]) -> None:
        """Register ``value``, the copy of the traced data of x that NumPy code receives."""
        if type(x._data) is Traced:
            self.live.append(Loan(x, value))

    def collect(self) -> None:
        """Write the changes that NumPy code made to copies back to the Arrays; release dead copies."""
        for loan in [*self.live]:
            if not same_data(loan.copy, untraced(loan.known)):
                self.spoil("NumPy code writes to memory of an Array that it uses")
                loan.x[...] = wrap(loan.copy.copy(), 0, 0)
                loan.known = current(loan.x)[1]
            # The write above calls ``collect`` again, which may have removed the copy.
            if not loan.lives and loan in self.live:
                self.live.remove(loan)

    def give(self) -> None:
        """Update each copy whose Array has new values, so that NumPy code sees the write."""
        for loan in self.live:
            now = current(loan.x)[1]
            if now is not loan.known:
                if not same_data(untraced(now), untraced(loan.known)):
                    self.spoil("it writes to an Array whose memory NumPy code shares")
                    loan.copy[...] = untraced(now)
                loan.known = now

    def end(self) -> None:
        """Make each copy that NumPy code still holds the data of its Array, as after an eager call."""
        for loan in self.live:
            if not loan.lives:
                continue
            x = loan.x
            self.spoil("NumPy code keeps memory of an Array that it uses")
            if not x._state & IS_VIEW:
                x._data = loan.copy
                x._state |= PINNED
        self.live.clear()
