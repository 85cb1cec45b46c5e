"""Activity: masks of the elements of each cotangent on which the target of a gradient depends.

A guarded pass (a second backward pass after a NaN, ``guard.py``) needs a mask for each cotangent.  An
element is inactive if selections, such as ``where`` or indexing, left it out on each path to the target.
A mask is ALL, or an array with the number of paths of each element that no selection cut.  The rule of
an op that only selects, moves and adds elements computes these numbers as it computes cotangents.  The
rule of any other op is probed: it runs on made-up data, with a cotangent that is 0 at inactive elements.
Where its result is 0, the input is inactive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._array.array import Array
from .._record.plan import Plan, Record
from .._storage.storage import COMPLEX, inexact, is_complex, storage_of
from .backward import BackwardPass, Gradients
from .data import RawData

if TYPE_CHECKING:
    import numpy as np

    from .._util.array_types import RawArray, RawOperand, ResultCotangents


ALL: Any = "all"  # the mask of a cotangent all of whose elements are active
# The mask of a record's result, or a tuple with a mask for each result.  The ``str`` is ALL.
Masks: TypeAlias = "RawArray | str | tuple[RawArray | str | None, ...]"


class ActivityData(RawData):
    """The array operations that an ActivityPass applies to masks in place of cotangents.

    A mask marks the elements of a cotangent on which the target depends.  An ActivityPass is a backward
    pass that computes masks.
    """

    def move_to(self, data: RawArray) -> None:
        if data is not ALL:
            super().move_to(data)

    negated = staticmethod(lambda g: g)  # counts of paths only add up

    def fit_contribution(
        self, part: RawArray, shape: tuple[int, ...], dtype: np.dtype[Any], op: str = "an op"
    ) -> Any:
        """Sum the mask ``part`` of an op's result over the axes along which the op broadcast its input.

        The dtype stays, but the imaginary part is dropped if the input is real.

        part : for each element, the number of paths to the target on which every selection took it.
        shape, dtype : those of the input.  op : the op's name, for messages.
        """
        cut = is_complex(part) and not self.xp.isdtype(dtype, COMPLEX)
        return super().fit_contribution(part, shape, dtype if cut else part.dtype, op)

    def mask_of_ones(self, data: RawArray) -> Any:
        """Return float64 ones in the shape of ``data``, or 1 + 1j in each element if data is complex.

        With this mask, all elements of ``data``, a cotangent, are active: the target depends on them.
        """
        raw = raw_of(data)
        self.move_to(raw)
        ones = self.xp.ones(raw.shape, dtype=self.xp.float64, device=raw.device)
        return self.for_parts_of(raw, ones)

    def for_parts_of(self, data: RawArray, mask: RawArray) -> Any:
        """Return ``mask`` as a complex array if ``data`` is complex, else as float64; ALL unchanged.

        A complex mask marks real and imaginary parts separately: a view may read the real part alone.
        ALL is the constant for a mask without inactive elements.
        """
        if mask is ALL or is_complex(mask) == is_complex(data):
            return mask
        if is_complex(data):
            return mask * (1 + 1j)
        return self.xp.astype(mask != 0, self.xp.float64)

    def as_mask(self, counts: RawArray) -> Any:
        """Return a mask with 1 where ``counts``, numbers of paths, are not 0; ALL if no count is 0.

        A pass calls this after each record, because the numbers of paths would overflow otherwise.
        """
        self.move_to(counts)
        with self.on_device_of(counts):
            inactive = storage_of(counts).unless_none(counts == 0)
            if inactive is None:
                return ALL
            return self.xp.where(inactive, 0.0, self.mask_of_ones(counts))

    def as_counts(self, active: Any, g: Any) -> Any:
        """Return the mask ``active`` as an array of counts: ones in the shape of ``g`` for the mask ALL.

        Rules that only select, move and add elements are applied to this array as to a cotangent.

        g : the cotangent of a record's result, to which the mask belongs.  For several results,
        ``active``, ``g`` and the return value are tuples.
        """
        if type(g) is tuple:
            pairs = zip(active, g, strict=True)
            return tuple([p if p is None else self.as_counts(a, p) for a, p in pairs])
        return self.mask_of_ones(g) if active is ALL else active

    def generic_values(self, data: RawArray, start: float) -> Any:
        """Return made-up values in the shape and dtype of ``data``: no two alike, none 0.

        A rule that returns 0 for them passes nothing on.  The values form matrices of full rank, which
        the rules of solve and inv need.  So the angles are not evenly spaced: cosines of evenly spaced
        angles, plus 2, form matrices of rank 3.

        start : any number; another one gives other values.
        """
        xp, count = self.xp, math.prod(data.shape)
        turns = xp.arange(count, dtype=xp.float64, device=data.device)
        angles = (0.7 + 0.31 * turns) * turns
        line = 2.0 + xp.cos(angles + start)
        if data.dtype.kind == "c":
            line = line + 1j * (2.0 + xp.sin(1.3 * angles + start))
        return xp.astype(xp.reshape(line, data.shape), data.dtype)

    def generic_cotangent(self, active: Any, g: Any) -> Any:
        """Return made-up values in the shape of the cotangent ``g``, with 0 where the mask is 0.

        Where a rule returns 0 for them, an input element has no influence on active elements of the
        result.

        active : the mask of g, 0 at elements on which the target does not depend.  For several results,
        ``active``, ``g`` and the return value are tuples.
        """
        if type(g) is tuple:
            pairs = zip(active, g, strict=True)
            return tuple([p if p is None else self.generic_cotangent(a, p) for a, p in pairs])
        g = raw_of(g)
        return self.xp.astype(active != 0, g.dtype) * self.generic_values(g, 3.0)


class ActivityPass(BackwardPass):
    """A backward pass on masks in place of cotangents, which finds the inactive elements.

    It accompanies a guarded pass, which sets a rule's results to 0 at inactive elements.  An element is
    inactive if selections (``where``, indexing) left it out, so that the target does not depend on it.
    """

    data: ActivityData

    def add_contribution(self, value_id: int, contribution: RawArray) -> None:
        held = self.cotangents.get(value_id)
        if held is None or contribution is ALL:
            self.cotangents[value_id] = contribution
        elif held is not ALL:
            self.cotangents[value_id] = held + contribution
        self.borrowed.discard(value_id)

    def lend_contribution(self, value_id: int, contribution: RawArray) -> None:
        first = self.cotangents.get(value_id) is None
        self.add_contribution(value_id, contribution)
        if first and contribution is not ALL:
            self.borrowed.add(value_id)

    def pull_users_rule(
        self, outs: Sequence[int], value_ids: Sequence[int], gradients: Gradients
    ) -> None:
        """Give all inputs the mask ALL if a result has a mask, because users' rules never run on masks.

        A mask marks elements on which the target depends; ALL marks each element.

        outs, value_ids : the ids of the results and inputs of a call of a user's function.
        gradients : the user's rule, not called.
        """
        held = [self.take_cotangent(out) for out in outs]
        if any(mask is not None for mask in held):
            for value_id in value_ids:
                self.add_contribution(value_id, ALL)


class Probe(NamedTuple):
    """The results of a record's rules on two sets of made-up values in place of the kept data.

    A guarded pass (the rerun after a NaN) learns from zeros in the results which elements depend on no
    active element, since the cotangent is 0 at inactive ones.  The sets differ only where the kept data
    is NaN or infinite (spoilt).  So the results differ at the elements that depend on a spoilt value.

    spoilt : dict of boolean arrays by the name of kept data, True at NaN and infinities.
    values : the first set of made-up values, by the name of the kept data.
    first, second : the results on each set: for each rule a sequence of contributions, one, or one to
    each input if the rule is joint.
    """

    spoilt: dict[str, Any]
    values: dict[str, Any]
    first: list[Sequence[Any]]
    second: list[Sequence[Any]]


def probe(
    data: ActivityData, plan: Plan, active: Masks, g: ResultCotangents, record: Record
) -> Probe | None:
    """Run a record's rules on made-up values; zeros in the results show what the rules do not pass on.

    Return None if a rule raises an error on such values.

    plan : describes the record and the rules.  record : the tape's entry for one call of an op.
    active : the mask of the cotangent ``g`` of the record's result; a tuple for several results.
    """
    xp = data.xp
    kept = {name: plan.kept_value(record, name) for name in plan.kept_data()}
    kept = {name: x for name, x in kept.items() if hasattr(x, "shape") and inexact(x)}
    spoilt = {name: ~xp.isfinite(x) for name, x in kept.items()}
    values = {name: data.generic_values(x, 1.0) for name, x in kept.items()}
    others = {
        name: xp.where(spoilt[name], data.generic_values(x, 2.0), values[name])
        for name, x in kept.items()
    }
    cotangent = data.generic_cotangent(active, g)
    records = plan.with_kept(record, values), plan.with_kept(record, others)
    try:
        first, second = (
            [data.apply(plan, pull, cotangent, given) for pull in plan.pulls] for given in records
        )
    except (ArithmeticError, ValueError):
        return None
    if not plan.op.joint:
        first, second = [[found] for found in first], [[found] for found in second]
    return Probe(spoilt, values, first, second)


def raw_of(data: RawOperand) -> Any:
    """Return the raw data of an Array, or ``data`` itself if it is raw data.

    Masks are computed on raw data, also if the pass that they accompany runs on Arrays.
    """
    return data._data if type(data) is Array else data
