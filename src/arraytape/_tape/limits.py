"""Limits of the quotients 0 / 0 in derivatives of ``eigh`` and ``svd`` where eigenvalues coincide.

The rule of ``eigh`` divides ``turn_ij``, the derivative of the target for a rotation of the vectors i
and j, by the gap w_j - w_i.  Where the values coincide, the quotient is 0 / 0.  If the target does not
depend on the choice of the vectors, turn_ij is 0 wherever w_i = w_j.  Then the quotient has a limit, by
L'Hopital's rule the derivative of turn_ij with respect to w_j, and minus that with respect to w_i.

The cotangents of values and vectors do not determine the limit: see decision 0005.  The records of the
program between the factorisation and the target do.  ``QuotientLimits`` computes the cotangents from
these records once more, while a recorder records the pass.  Further passes through both sets of records
differentiate turn_ij.  The gradients also show whether the target depends on the choice of the vectors.
If an outer recorder may differentiate the limit, terms of higher order are needed: see ``series``.

All passes are guarded, so that a factorisation among the records gets limits of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.array import Array
from .._array.views import current
from .._record.plan import Plan, Record, inputs_of, results_of
from .._record.stack import BaseRecorder, entered, recorders
from .._storage.batched.batched_data import REPLAY, open_hidden_axis
from .._storage.storage import HERE, is_complex, storage_of
from .activity import ActivityData, raw_of
from .backward import backward
from .data import ArrayData, RawData

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from .guard import GuardedPass

NAN = float("nan")
# The number of nested limits that are computed.  Each level repeats the passes of the levels below.
DEPTH = 3
# The bound on the work that the passes for all limits of one gradient repeat: about so many records of
# a pass on raw arrays, which take a few seconds.  Pairs of values without a limit then give NaN with a
# warning.  A chain of n factorisations with coinciding values would need about n ** DEPTH passes.
REPEATED = 1_000_000
# A record of a pass on Arrays takes about ten times as long, and again ten times for each recorder that
# follows beyond the first.
PER_RECORDER = 10


class EndOfPasses(Exception):
    """The exception that ends the computation of limits, because it would repeat too many records.

    Limits replace quotients 0 / 0 in derivatives of ``eigh`` and ``svd`` where eigenvalues coincide.
    """


class Turns(NamedTuple):
    """The derivatives of a target with respect to the results of a factorisation (``eigh`` or ``svd``).

    values : the derivative with respect to the eigenvalues or singular values.
    turn : a matrix; element (i, j) is the derivative for a rotation of the vectors i and j.
    moved : a bound on the derivatives for all changes of the vectors that keep them orthonormal.
    scale : the largest magnitude in the vectors' cotangents; for singular vectors, left plus right.
    ``moved`` and ``scale`` have shape (..., 1, 1).
    """

    values: Any
    turn: Any
    moved: Any
    scale: Any


class Slopes(NamedTuple):
    """The derivatives of a sum of ``weight * turn_ij`` over some pairs (i, j) of coinciding eigenvalues.

    ``turn_ij`` is the derivative of the target for a rotation of the vectors i and j; its derivatives
    give the limit of turn_ij / gap, a quotient 0 / 0.  No index is in two pairs.

    pairs : a mask of the pairs.
    factors : 1 / weight for each pair; 1j / weight if the sum is over the imaginary parts of turn.
    turns : the derivatives with respect to the results of the factorisation.
    others : the derivatives with respect to values that do not depend on the factorised matrix.
    further : the later terms of ``QuotientLimits.series``, to be multiplied by ``factors``.
    bends : the second derivatives with respect to half of the gaps.
    """

    pairs: Any
    factors: Any
    turns: Turns
    others: list[Any]
    further: Any
    bends: Any


# A function that returns Turns.  Its arguments are the cotangents of the factorisation's results, a
# further cotangent of the factorised matrix or None, the list of the results, and a namespace.
TurnOf = Callable[[Any, Any, Any, Any], Turns]


class TailRecorder(BaseRecorder):
    """A recorder that appends the ops of a backward pass to the records of the program (``tail``).

    Both together are differentiated once more, for limits of quotients 0 / 0.

    known : the ids that the recorder follows.
    """

    def __init__(self, tail: Sequence[Record], known: set[int]) -> None:
        self.records = list(tail)
        self.followed = known
        self.record = self.records.append


class QuotientLimits:
    """The object that computes limits of quotients 0 / 0 in the derivative of one factorisation.

    The rule of ``eigh`` or ``svd`` divides by the gap between two eigenvalues or singular values, and
    gets this object as ``limits``.  Where the values coincide, derivatives of the numerator give the
    limit.

    pass_ : the guarded pass (the rerun after a NaN) that calls the rule.
    """

    def __init__(self, pass_: GuardedPass, plan: Plan, record: Record) -> None:
        self.pass_, self.plan, self.record = pass_, plan, record

    def __bool__(self) -> bool:
        """Return True if limits of quotients 0 / 0 can be computed where eigenvalues coincide.

        Return False if the pass has no records, itself computes a limit within a limit, or would repeat
        too many records.
        """
        pass_ = self.pass_
        if pass_.records is None or pass_.depth >= DEPTH:
            return False
        return pass_.repeated[0] + len(pass_.records) <= REPEATED

    def slopes_of(
        self, turn_of: TurnOf, pairs: RawArray, gap: RawArray, straight: RawArray
    ) -> list[Slopes]:
        """Return the derivatives that give the limits of ``turn_ij`` / gap, for pairs (i, j) in a mask.

        turn_ij is the derivative of the target for a rotation of the vectors i and j.  A Slopes serves
        many pairs without a common index, or one pair if second derivatives matter.  Pairs are missing
        if the passes would repeat too many records.

        turn_of : a function from cotangents to the Turns, the derivatives for rotations of the vectors.
        pairs : a mask of shape (..., n, n); only its elements with i < j are used.
        gap : the differences of values, of the same shape.
        straight : the bound below which relative second derivatives count as 0.
        """
        found = list[Slopes]()
        # Records may have data with hidden axes of a vmap that has ended.  REPLAY permits their use.
        with open_hidden_axis(REPLAY), suppress(EndOfPasses):
            for slopes in self.all_slopes(turn_of, pairs, gap, straight):
                found.append(slopes)  # one by one: those before the end count
        return found

    def all_slopes(
        self, turn_of: TurnOf, pairs: RawArray, gap: RawArray, straight: RawArray
    ) -> Iterator[Slopes]:
        """Yield what ``slopes_of`` returns; raise EndOfPasses before too many records are repeated."""
        recorder, turn = self.recorded_turn(turn_of)
        orders, xp = self.orders_to_come(), self.pass_.data.xp
        units = (1.0, 1j) if is_complex(turn) else (1.0,)
        for round_ in disjoint_pairs(pairs.shape[-1], pairs, xp):
            mask = pairs & round_
            if not has_true(mask, xp):
                continue
            found = []
            if orders < 2:
                found = [self.series(recorder, turn_of, turn, u, mask, gap, orders) for u in units]
            # Later terms of one pair may depend on the gaps of others.  If the weighted sums of second
            # derivatives are 0, as they are for a function f(A) of the matrix, no such terms exist.
            if found and not any(is_bent(slopes, straight, xp) for slopes in found):
                yield from found
                continue
            for one in single_pairs(mask, xp):
                yield from [
                    self.series(recorder, turn_of, turn, u, one, gap, orders) for u in units
                ]

    def deeper_pass(
        self, data: RawData, followed: Container[int], records: Sequence[Record]
    ) -> GuardedPass:
        """Return a guarded pass (as after a NaN) for ``records``; raise EndOfPasses beyond the limit.

        The limit REPEATED is on the number of records that all passes for limits repeat.

        data : the operations on cotangents.  followed : the ids of values that get a cotangent.
        """
        repeated, cost = self.pass_.repeated, len(records)
        if data.recorded:
            cost *= PER_RECORDER ** max(1, self.orders_to_come())
        repeated[0] += cost
        if repeated[0] > REPEATED:
            raise EndOfPasses
        return self.pass_.pass_for_limit(data, followed, records)

    def orders_to_come(self) -> int:
        """Return the number of tapes that follow the factorisation and may differentiate limits.

        Each of them needs one more term of the Taylor series from which a limit is computed.
        """
        results = results_of(self.record)
        if not self.pass_.data.recorded:
            return 0
        return sum(not other.followed.isdisjoint(results) for other in recorders())

    def series(
        self, recorder: TailRecorder, turn_of: TurnOf, turn: Array, unit: complex, pairs: RawArray,
        gap: RawArray, orders: int,
    ) -> Slopes:  # fmt: skip
        """Return the derivatives of ``turn`` for pairs in a mask, and terms of the series of turn / gap.

        Element (i, j) of turn is the derivative of the target for a rotation of the vectors i and j.
        Let h be half the gap, and D_k the k-th derivative of turn with respect to h.  As turn is 0 for h
        = 0, Taylor's series gives turn / (2 h) = (D_1 - D_2 h / 2 + D_3 h ** 2 / 6 - ...) / 2.  The
        first term is the limit.  A derivative of the limit of order m needs m + 1 terms.

        recorder : has the records of the pass that computed ``turn``.
        turn_of : a function from cotangents to the Turns.
        unit : 1, or 1j for the imaginary parts of turn.
        pairs, gap : a mask of pairs of eigenvalues, and their differences.
        orders : the number of terms after the first.
        """
        xp, place = self.pass_.data.xp, current(turn)[0]
        weights = self.generic_weights(gap, 1.0)
        seed = xp.astype(pairs, turn.dtype) * weights * unit
        later: Any = 1.0
        factor: Any = 0.5
        further, bends = xp.zeros_like(gap), xp.zeros_like(gap)
        found = list[tuple[Turns, list[Any]]]()
        for order in range(orders + 1):
            outer = TailRecorder(recorder.records, set(recorder.followed))
            with entered(outer) if order < orders else HERE:
                found.append(self.turns_in(recorder, turn_of, place, seed))
                values = found[-1][0].values
                rate = xp.where(pairs, values[..., None, :] - values[..., :, None], 0.0)
                if order < orders:
                    place, _ = current(rate)
            if order == 1:
                bends = rate
            if order:
                further = further + rate / later * factor
            if order == orders or place not in outer.followed:
                break
            seed = xp.astype(pairs, rate.dtype) * self.generic_weights(gap, order + 2.0)
            recorder, later = outer, later * self.generic_weights(gap, order + 2.0)
            factor = factor * gap / (-2.0 * (order + 2))
        turns, others = found[0]
        return Slopes(pairs, unit / weights, turns, others, further, bends)

    def generic_weights(self, like: RawArray, start: float) -> Any:
        """Return weights for pairs of eigenvalues, so that a weighted sum is 0 only if each term is 0.

        The weights are powers of 2, from 1/4 to 4: products with them have no rounding errors, so that
        the parts of a term which cancel still do.

        like : raw data with the dtype and device of the weights.
        start : any number; another one gives other weights.
        """
        data = self.pass_.data
        values = ActivityData(data.storage).generic_values(raw_of(like), start)
        weights = data.storage.xp.ones_like(values)
        for bound in (1.2, 1.6, 2.4, 2.8):  # the values lie between 1 and 3
            weights = data.storage.xp.where(values > bound, 2.0 * weights, weights)
        return data.of_raw(data.storage.xp.astype(weights / 4.0, values.dtype))

    def turns_in(
        self, recorder: TailRecorder, turn_of: TurnOf, value_id: int, seed: RawArray
    ) -> tuple[Turns, list[Any]]:
        """Differentiate a recorded value with respect to the results of the factorisation, by a pass.

        Return these derivatives (Turns), and those with respect to values that do not depend on the
        matrix.

        recorder : has the records of the pass that computed the value.
        turn_of : a function from cotangents to the Turns.
        value_id, seed : the value, and its cotangent.
        """
        pass_, record = self.pass_, self.record
        (x,), kept = inputs_of(record), self.kept_results(pass_.data)
        outer = self.deeper_pass(pass_.data.renewed(), recorder.followed, recorder.records)
        outer.wanted = {x, *results_of(record)}
        outer.seed_target(value_id, seed)
        backward(outer, recorder.records, True)
        g = self.cotangents_in(outer, kept)
        others = [g for i, g in outer.cotangents.items() if i not in outer.wanted]
        return turn_of(g, outer.cotangents.get(x), kept, pass_.data.xp), others

    def recorded_turn(self, turn_of: TurnOf) -> tuple[TailRecorder, Array]:
        """Repeat the backward pass from the target to the factorisation, on Arrays, and record it.

        Return the recorder with the records of the pass, and the Array ``turn``, which can then be
        differentiated.  Its element (i, j) is the derivative of the target for a rotation of the vectors
        i and j.

        turn_of : a function from the cotangents to the Turns.
        """
        pass_, record, data = self.pass_, self.record, ArrayData(self.pass_.data.storage)
        assert pass_.records is not None
        x, results = inputs_of(record), results_of(record)
        tail, reached = dependents_of(results, pass_.records, record)
        rest, known = dependents_of((*x, *results), pass_.records, record)
        recorder = TailRecorder(rest, known | set(followed_inputs(rest, pass_.followed)))
        inner = self.deeper_pass(data, reached, tail)
        inner.wanted = results
        with entered(recorder):
            for value_id, seed in pass_.seeds:
                if value_id in reached:
                    inner.seed_target(value_id, pass_.data.array_of(seed))
            backward(inner, list(tail), True)
            kept = self.kept_results(data)
            found = turn_of(self.cotangents_in(inner, kept), None, kept, data.xp)
            current(found.turn)
        return recorder, found.turn

    def kept_results(self, data: RawData) -> list[Any]:
        """Return the results of the factorisation: raw data, or Arrays if ``data`` is ArrayData."""
        lifted = data.lift(self.plan, self.record)
        return [self.plan.kept_value(lifted, y) for y in self.plan.op.outputs]

    def cotangents_in(self, pass_: GuardedPass, kept: Sequence[Any]) -> list[Any]:
        """Return the cotangents that a pass has for the factorisation's results, with zeros for None.

        kept : the results themselves, for the shapes of the zeros.
        """
        found = [pass_.cotangents.get(value_id) for value_id in results_of(self.record)]
        xp = pass_.data.xp
        return [xp.zeros_like(y) if g is None else g for g, y in zip(found, kept, strict=True)]


def has_true(mask: RawArray, xp: Namespace) -> bool:
    """Return True if an element of ``mask`` is True.

    The function makes an array that is NaN where the mask is True, and checks it for NaN.  If a function
    is being traced, a read of the mask would make the trace valid only for inputs with the same mask.
    """
    marked = raw_of(xp.where(mask, NAN, xp.zeros_like(mask, dtype=xp.float64)))
    return storage_of(marked).has_nan(marked)


def dependents_of(
    value_ids: Iterable[int], records: Sequence[Record], record: Record
) -> tuple[list[Record], set[int]]:
    """Return the records, other than ``record``, that compute on ``value_ids`` or on their results.

    These are the part of a program that follows a factorisation.  The second result is the set of
    ``value_ids`` and of the ids of all values that depend on these.
    """
    reached, found = set(value_ids), []
    for other in records:
        if other is not record and not reached.isdisjoint(inputs_of(other)):
            found.append(other)
            reached.update(results_of(other))
    return found, reached


def followed_inputs(records: Sequence[Record], followed: Container[int]) -> Iterator[int]:
    """Yield the ids of the records' inputs that are in ``followed``."""
    for record in records:
        yield from (value_id for value_id in inputs_of(record) if value_id in followed)


def is_bent(found: Slopes, straight: RawArray, xp: Namespace) -> bool:
    """Return True if the numerator of a quotient 0 / 0 is not nearly linear in the gaps.

    Pairs of eigenvalues then have to be differentiated one by one.

    found : the first derivatives of the numerator, and its second ones (``bends``).
    straight : the bound below which second derivatives, relative to the first, count as 0.
    """
    steepest = xp.max(xp.abs(found.turns.values), axis=-1, keepdims=True)[..., None]
    return has_true(xp.abs(found.bends) > steepest * straight, xp)


def single_pairs(pairs: RawArray, xp: Namespace) -> Iterator[Any]:
    """Yield, for each True element of the mask ``pairs``, a mask that is True at that element alone.

    In a stack of matrices, an element (i, j) that is False in all of them takes only one check.
    """
    *stack, n, _ = pairs.shape
    count = math.prod(stack)
    matrix = xp.reshape(xp.arange(count, device=pairs.device), (*stack, 1, 1))
    place = xp.reshape(xp.arange(n * n, device=pairs.device), (n, n))
    for i in range(n * n):
        in_stack = pairs & (place == i)
        if count > 1 and not has_true(in_stack, xp):
            continue
        for k in range(count):
            one = in_stack & (matrix == k)
            if has_true(one, xp):
                yield one


def disjoint_pairs(n: int, like: RawArray, xp: Namespace) -> Iterator[Any]:
    """Yield masks of shape (n, n), which are True at some pairs i < j of the indices below n.

    One backward pass can then differentiate a sum over all pairs of a mask.  Each pair is in one mask,
    and no index is in two pairs of a mask, as in a round-robin tournament.

    like : raw data with the device of the masks.
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
