"""Limits of quotients x / gap where values of a factorisation coincide, by derivatives of the program.

The rule of ``eigh`` divides ``turn_ij``, the derivative of the target for a rotation of the vectors i
and j, by the gap w_j - w_i.  Where the values coincide, the quotient is 0 / 0.  If the target does not
depend on the choice of the vectors, turn_ij is 0 wherever w_i = w_j.  Then the quotient has a limit, by
L'Hopital's rule the derivative of turn_ij with respect to w_j, and minus that with respect to w_i.

The cotangents of values and vectors do not determine the limit: see decision 0005.  The records of the
program between the factorisation and the target do.  ``QuotientLimits`` computes the cotangents from
these records once more, while a recorder records the pass.  Further passes through both sets of records
differentiate turn_ij.  The gradients also show whether the target depends on the choice of the vectors.

All passes are guarded, so that a factorisation among the records gets limits of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.views import current
from .._record.plan import Plan, Record, inputs_of, results_of
from .._record.stack import BaseRecorder, entered
from .._storage.storage import is_complex, storage_of
from .activity import raw_of
from .backward import backward
from .data import ArrayData, RawData

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from .guard import GuardedPass

NAN = float("nan")
# The number of nested limits that are computed.  Each level repeats the passes of the levels below.
DEPTH = 3


class Turns(NamedTuple):
    """The derivatives of a target with respect to the results of a factorisation.

    values : the derivative with respect to the eigenvalues or singular values.
    turn : a matrix; element (i, j) is the derivative for a rotation of the vectors i and j.
    moved : the largest derivative for any other change of the vectors that keeps them orthonormal.
    scale : the scale of the cotangents of the vectors.  ``moved`` and ``scale`` have shape (..., 1, 1).
    """

    values: Any
    turn: Any
    moved: Any
    scale: Any


class Slopes(NamedTuple):
    """The derivatives of the sum of ``turn_ij`` over disjoint pairs.

    unit : the factor of turn_ij in the sum: 1, or 1j for the imaginary parts.  pairs : their mask.
    turns : the derivatives with respect to the results of the factorisation.
    others : the derivatives with respect to values that do not depend on the factorised matrix.
    """

    unit: complex
    pairs: Any
    turns: Turns
    others: list[Any]


# A function that returns Turns.  Its arguments are the cotangents of the factorisation's results, a
# further cotangent of the factorised matrix or None, the list of the results, and a namespace.
TurnOf = Callable[[Any, Any, Any, Any], Turns]


class TailRecorder(BaseRecorder):
    """A recorder whose records begin with those of ``tail``; new records are appended to them."""

    def __init__(self, tail: Sequence[Record], known: set[int]) -> None:
        self.records = list(tail)
        self.followed = known
        self.record = self.records.append


class QuotientLimits:
    """The limits of quotients x / gap (see the module's docstring) for one record of a factorisation.

    The rule of the factorisation gets the object as its parameter ``limits``.

    pass_ : the guarded pass that calls the rule.
    """

    def __init__(self, pass_: GuardedPass, plan: Plan, record: Record) -> None:
        self.pass_, self.plan, self.record = pass_, plan, record

    def __bool__(self) -> bool:
        """Return True if the records can be differentiated again."""
        return self.pass_.records is not None and self.pass_.depth < DEPTH

    def slopes_of(self, turn_of: TurnOf, pairs: RawArray) -> Iterator[Slopes]:
        """Yield the derivatives of the sum of ``turn_ij`` over pairs (i, j), no two with a common index.

        A pass differentiates the sum for many pairs at once.  All passes together serve all ``pairs``.
        pairs : a mask, True for the pairs whose limits are asked for; those with i < j are used.
        """
        pass_, record, results = self.pass_, self.record, results_of(self.record)
        (x,) = inputs_of(record)
        assert pass_.records is not None
        tail, reached = dependents_of(results, pass_.records, record)
        rest, known = dependents_of((x, *results), pass_.records, record)
        recorder = TailRecorder(rest, known | set(followed_inputs(rest, pass_.followed)))
        value_id, turn = self.recorded_turn(turn_of, tail, reached, recorder)
        kept, xp = self.kept_results(pass_.data), pass_.data.xp
        for round_ in disjoint_pairs(pairs.shape[-1], pairs, xp):
            mask = pairs & round_
            if not has_true(mask, xp):
                continue
            for unit in (1.0, 1j) if is_complex(turn) else (1.0,):
                outer = pass_.deeper(pass_.data.renewed(), recorder.followed, recorder.records)
                outer.wanted = {x, *results}
                outer.seed_target(value_id, xp.astype(mask, turn.dtype) * unit)
                backward(outer, recorder.records, True)
                g = self.cotangents_in(outer, kept)
                others = [g for i, g in outer.cotangents.items() if i not in outer.wanted]
                yield Slopes(unit, mask, turn_of(g, outer.cotangents.get(x), kept, xp), others)

    def recorded_turn(
        self, turn_of: TurnOf, tail: Sequence[Record], reached: set[int], recorder: TailRecorder
    ) -> tuple[int, Any]:
        """Repeat and record the pass through ``tail``; return the pair (value id, data) of ``turn``."""
        pass_, data = self.pass_, ArrayData(self.pass_.data.storage)
        inner = pass_.deeper(data, reached, tail)
        inner.wanted = results_of(self.record)
        with entered(recorder):
            for value_id, seed in pass_.seeds:
                if value_id in reached:
                    inner.seed_target(value_id, pass_.data.array_of(seed))
            backward(inner, list(tail), True)
            kept = self.kept_results(data)
            found = turn_of(self.cotangents_in(inner, kept), None, kept, data.xp)
            return current(found.turn)

    def kept_results(self, data: RawData) -> list[Any]:
        lifted = data.lift(self.plan, self.record)
        return [self.plan.kept_value(lifted, y) for y in self.plan.op.outputs]

    def cotangents_in(self, pass_: GuardedPass, kept: Sequence[Any]) -> list[Any]:
        """Return the cotangents that a pass has for the factorisation's results, with zeros for None."""
        found = [pass_.cotangents.get(value_id) for value_id in results_of(self.record)]
        xp = pass_.data.xp
        return [xp.zeros_like(y) if g is None else g for g, y in zip(found, kept, strict=True)]


def has_true(mask: RawArray, xp: Namespace) -> bool:
    """Return True if an element of ``mask`` is True.

    The mask is turned into NaN and 0, and checked for NaN.  In a traced program a read of the mask would
    be a guard for all elements, but a NaN check is none after a NaN was found.
    """
    marked = raw_of(xp.where(mask, NAN, xp.zeros_like(mask, dtype=xp.float64)))
    return storage_of(marked).has_nan(marked)


def dependents_of(
    value_ids: Iterable[int], records: Sequence[Record], record: Record
) -> tuple[list[Record], set[int]]:
    """Return the records that depend on ``value_ids``, but not ``record``, and all ids reached."""
    reached, found = set(value_ids), []
    for other in records:
        if other is not record and not reached.isdisjoint(inputs_of(other)):
            found.append(other)
            reached.update(results_of(other))
    return found, reached


def followed_inputs(records: Sequence[Record], followed: Container[int]) -> Iterator[int]:
    for record in records:
        yield from (value_id for value_id in inputs_of(record) if value_id in followed)


def disjoint_pairs(n: int, like: RawArray, xp: Namespace) -> Iterator[Any]:
    """Yield masks of shape (n, n), which are True at some pairs i < j of the indices below n.

    Each pair is in one mask, and no index is in two pairs of a mask, as in a round-robin tournament.
    """
    m = n + n % 2
    place = xp.arange(n, device=like.device)
    row, column = place[:, None], place[None, :]
    for turn in range(m - 1):
        # Two indices below m - 1 are a pair if their sum is ``turn`` modulo m - 1.  The index that would
        # be a pair with itself forms a pair with the index m - 1.
        usual = ((row + column) % (m - 1) == turn) & (column < m - 1)
        last = (column == m - 1) & ((2 * row) % (m - 1) == turn)
        yield (usual | last) & (row < column)
