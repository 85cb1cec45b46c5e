"""Memory that NumPy code shares with an Array, for as long as somebody there has it.

What ``np.asarray(x)`` hands out lies on a ``Loan``.  NumPy never looks through a base that is no
ndarray, so whatever is made of it (views, memoryviews, buffers of C code) keeps that loan alive, and
the end of the loan is the end of them all.  Meanwhile the Array's memory does not move, and records
keep a copy of it, the same one until its value changes: a constant that a library holds too (the
points of a KDTree) would else be kept anew by each record.

A value that is followed must not change under its name: when one comes to be followed, what was
handed out of it before is recalled.  A firm loan, which somebody asked for by name (``copy=False``,
dlpack), is not: there the user answers for what is written.
"""

from __future__ import annotations

from threading import RLock
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from .._storage.numpy_storage import NUMPY
from .array import KEPT, LENT, PINNED, Array

LENDING = RLock()  # several threads may read one Array, and it moves when it is lent and returned


class Loan:
    """The base of one ndarray that was handed out; data: the Array's own."""

    __slots__ = ("__weakref__", "data", "firm", "handed")

    def __init__(self, data: np.ndarray[Any, Any], firm: bool) -> None:
        self.data, self.firm = data, firm

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.data.__array_interface__

    def out(self) -> np.ndarray[Any, Any]:
        """The ndarray to hand out; read-only where the data is."""
        array = np.asarray(self)
        self.handed = ref(array)
        return array

    def freeze(self) -> None:
        """Make what was handed out read-only; what was made of it before stays as it is."""
        array = self.handed()
        if array is not None:
            array.flags.writeable = False


class Loans:
    """The loans of a root.

    last : a copy that records have of its data; while the values are the same, they need no other.
    """

    __slots__ = ("last", "out")

    def __init__(self) -> None:
        self.out: WeakSet[Loan] = WeakSet()
        self.last: Any = lambda: None

    def remember(self, data: Any) -> Any:
        """What a record keeps of the root."""
        self.last = ref(data)
        return data

    def kept(self, data: Any) -> Any:
        """The copy that records have of ``data``; None when there is none, or somebody has written.

        Foreign writes leave no trace but the values.
        """
        last = self.last()
        return last if last is not None and identical(last, data) else None


def identical(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays of one layout hold the same bits; False where a look would need a copy."""
    if a.strides != b.strides or not a.size:
        return False
    flat = [x.ravel(order="K") for x in (a, b)]
    if any(one.base is None for one in flat):
        return False
    one, other = (x.view(np.uint64 if x.itemsize % 8 == 0 else np.uint8) for x in flat)
    return np.array_equal(one, other)


def shared(root: Array) -> bool:
    """Whether foreign code may see what is written to a root, or write to it."""
    state = root._state
    return bool(state & PINNED or (state & LENT and root._loans.out))


def unwritten(root: Array, data: Any) -> bool:
    """Whether a root has this data yet, or lent a copy of it to which nobody wrote."""
    if root._data is data:
        return True
    return bool(root._state & LENT) and root._loans.kept(root._data) is data


def returned(root: Array) -> None:
    """All loans of a root have ended; where nothing was written, it has its old memory again."""
    kept = root._loans.kept(root._data)
    root._state &= ~LENT
    if kept is not None:
        root._data = kept
        root._state |= KEPT


def recall(root: Array) -> None:
    """The value of a root comes to be followed: no foreign code writes to its memory any more.

    What was handed out keeps the present value, read-only, and the root moves on to a copy.
    """
    loans = [*root._loans.out]
    for loan in loans:
        if not loan.firm:
            loan.freeze()
    if any(loan.firm for loan in loans):
        return
    root._state &= ~LENT
    if loans:
        root._data = NUMPY.copy(root._data)


__all__ = [
    "LENDING",
    "Loan",
    "Loans",
    "recall",
    "returned",
    "shared",
    "unwritten",
]
