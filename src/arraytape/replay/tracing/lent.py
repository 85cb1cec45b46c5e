"""Memory that a traced function hands to NumPy code: ``np.asarray(x)``.

In eager code that is the memory of x: each side sees the other's writes.  Traced data has none, so NumPy
is handed a copy.  As long as it lives, whatever reads or writes an Array looks for writes of NumPy code
first, and each write to an Array is brought to the copy at once.
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

OWN = 2  # references to a copy without other holders: the loan's, and that of the count itself


class Loan:
    """One copy that was handed out; known: the value of x that it has."""

    __slots__ = ("copy", "known", "x")

    def __init__(self, x: Array, copy: np.ndarray[Any, Any]) -> None:
        self.x, self.copy, self.known = x, copy, current(x)[1]

    @property
    def lives(self) -> bool:
        """Return True if NumPy code has the copy, or a view of it."""
        return getrefcount(self.copy) > OWN


class Loans:
    """All copies that a trace handed out; spoil: says why there is no program."""

    def __init__(self, spoil: Callable[[str], None]) -> None:
        self.spoil = spoil
        self.live: list[Loan] = []

    def lend(self, x: Array, value: Any) -> None:
        """Note what NumPy was handed, where eager code would share memory."""
        if type(x._data) is Traced:
            self.live.append(Loan(x, value))

    def collect(self) -> None:
        """Bring what NumPy code has written to the Arrays."""
        for loan in [*self.live]:
            if not same_data(loan.copy, untraced(loan.known)):
                self.spoil("NumPy code writes to memory of an Array that it uses")
                loan.x[...] = wrap(loan.copy.copy(), 0, 0)
                loan.known = current(loan.x)[1]
            if not loan.lives and loan in self.live:  # the write above looks, too
                self.live.remove(loan)

    def give(self) -> None:
        """Bring what was written to the Arrays to NumPy code."""
        for loan in self.live:
            now = current(loan.x)[1]
            if now is not loan.known:
                if not same_data(untraced(now), untraced(loan.known)):
                    self.spoil("an Array is written whose memory NumPy code has")
                    loan.copy[...] = untraced(now)
                loan.known = now

    def end(self) -> None:
        """After the call: an Array whose memory NumPy code still has lies there from now on."""
        for loan in self.live:
            if not loan.lives:
                continue
            x = loan.x
            self.spoil("NumPy code keeps memory of an Array that it uses")
            if not x._state & IS_VIEW:
                x._data = loan.copy
                x._state |= PINNED
        self.live.clear()
