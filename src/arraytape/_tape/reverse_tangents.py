"""Tangents of functions of coinciding eigenvalues, which reverse mode computes for forward mode.

Where eigenvalues coincide, the tangents of their vectors are undefined, but those of later values may be
defined: the limits of ``limits.py`` need the records from the factorisation to the target.  So forward
mode keeps all records from such a factorisation on.  The derivative of a target is then computed from
the VJP, which is linear in the cotangent of the target: its transpose is the JVP.
"""

from __future__ import annotations

from collections.abc import Collection

from .._array.array import KEPT, Array, wrap
from .._array.views import current
from .._record.plan import Record, results_of
from .._record.stack import entered
from .._storage.storage import storage_of
from .activity import ActivityData
from .backward import BackwardPass, backward
from .data import ArrayData
from .guard import GuardedPass
from .limits import TailRecorder
from .tangents import Tangents


class KeptTail:
    """The records of a forward pass since the first factorisation whose tangent is undefined.

    sources : ids of the values whose tangents the pass had computed before that factorisation.
    """

    def __init__(self, sources: Collection[int]) -> None:
        self.sources, self.records = set(sources), list[Record]()

    def tangent_of(self, y: Array, value_id: int, tangents: Tangents) -> Array | None:
        """Return the tangent of y; None if y does not depend on ``sources``.

        value_id : the id of the value of y.  tangents : a mapping with the tangents of ``sources``.
        """
        data = ArrayData(storage_of(y._data))
        reached = self.sources.union(*map(results_of, self.records))
        # Only the linearity of the VJP matters, so any cotangent will do.  It is generic, because rules
        # compare numbers that are linear in it, and zeros would hide differences.
        seed = wrap(ActivityData(data.storage).generic_values(current(y)[1], 1.0), 0, KEPT)
        seed_id = seed._ensure_id()
        recorder = TailRecorder((), {seed_id})
        with entered(recorder):
            vjp = GuardedPass(data, reached)
            vjp.records, vjp.wanted = self.records, self.sources
            vjp.seed_target(value_id, seed)
            backward(vjp, self.records, True)
            found = {
                i: current(g)[0] for i in self.sources if (g := vjp.cotangents.get(i)) is not None
            }
        transpose = BackwardPass(data, recorder.followed)
        transpose.wanted = {seed_id}
        for source, part in found.items():
            if part in recorder.followed:
                transpose.seed_target(part, tangents[source])
        backward(transpose, recorder.records, True)
        return transpose.cotangents.get(seed_id)
