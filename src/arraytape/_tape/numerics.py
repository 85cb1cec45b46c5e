"""``check_numerics`` of a tape: an error at the op or backward rule that makes the first NaN.

An observer of the recording checks each op as it runs, and special passes check each rule.  So tapes
without ``check_numerics`` do not get slower.

A forward op is at fault if its result has a NaN, and no operand that the tape follows has a NaN.  The op
is also at fault if its result has an infinity, and no operand has an infinity or a NaN.  So a NaN among
constants is reported at the first op that uses it, but a constant -inf, as in masks, is allowed.  A
backward rule is at fault if the cotangent of its result is finite, and its contribution is not.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array.aliasing import ADD, write_of
from .._record.plan import Plan, Record, Structural, inputs_of, plan_of, results_of
from .._storage.batched.batched_data import Batched
from .._storage.storage import storage_of
from .._util.errors import see, user_line
from . import recording
from .activity import raw_of
from .backward import BackwardPass
from .data import RawData
from .guard import GuardedPass

if TYPE_CHECKING:
    from .._util.array_types import RawOperand

COMPILED = "<arraytape "  # the beginning of the file name of a compiled op
OURS = {__file__, recording.__file__}  # files whose frames ``frame_calling_record`` skips
WAY_OUT = see("value-that-is-not-finite")


class NonFiniteError(FloatingPointError):
    """The error that an op, or a backward rule, made a NaN or an infinity.

    Parameters
    ----------
    what : str
        The op or rule, and what it made.
    ranges : str
        The ranges of results and operands.
    op : str
        The name of the op.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> try:
    ...     with xp.GradientTape(check_numerics=True) as tape:
    ...         tape.watch(x)
    ...         y = x * xp.asarray([1.0, xp.nan])
    ... except xp.diagnose.NonFiniteError as error:
    ...     print(error.op)
    multiply
    """

    def __init__(self, what: str, ranges: str, op: str) -> None:
        super().__init__(what, ranges, op)
        self.what, self.ranges, self.op = what, ranges, op
        self.message = f"{what} [at {user_line()}]: {ranges} {WAY_OUT}"

    def __str__(self) -> str:
        """Return the message.

        Returns
        -------
        str
            What happened, at which line, and the ranges.
        """
        return self.message


# --- ranges -------------------------------------------------------------------------------------------
class Range(NamedTuple):
    """A summary of an array: its finite elements, and counts of NaN and infinite elements.

    low, high : the least and the greatest finite element, or finite magnitude of a complex array.
    finite : the number of finite elements.
    """

    name: str
    layout: str
    low: float
    high: float
    nans: int
    infinities: int
    finite: int

    def __str__(self) -> str:
        counts = [f"{self.nans} NaN"] * bool(self.nans)
        counts += [f"{self.infinities} infinite"] * bool(self.infinities)
        spread = f" from {self.low:.6g} to {self.high:.6g}" if self.finite else ""
        return f"{self.name} {self.layout}{spread}" + (
            f", {' and '.join(counts)}" if counts else ""
        )


# The ranges of an op's results, of the operands that the tape follows, and of the other operands.
Values = tuple[list[Range], list[Range], list[Range]]


def range_of(name: str, value: RawOperand) -> Range:
    """Return the least and greatest finite element, and counts of NaN and infinities (a Range).

    name : the name of the value in the message.  value : raw data, an Array or a number.
    """
    values = values_on_host(value)
    dims = ", ".join(map(str, values.shape)) + ("," if values.ndim == 1 else "")
    if values.dtype.kind not in "fc":
        values = values.astype(float)
    finite = values[np.isfinite(values)]
    sizes = np.abs(finite) if values.dtype.kind == "c" else finite
    ends = (float(sizes.min()), float(sizes.max())) if sizes.size else (0.0, 0.0)
    nans, infinities = (int(np.count_nonzero(test(values))) for test in (np.isnan, np.isinf))
    layout = f"{getattr(value, 'dtype', type(value).__name__)}({dims})"
    return Range(name, layout, *ends, nans, infinities, sizes.size)


def values_on_host(value: RawOperand) -> np.ndarray[Any, Any]:
    """Return raw data, the data of an Array, or a number as a NumPy array."""
    data = raw_of(value)
    if type(data) is Batched:
        data = data.sample
    if isinstance(data, int | float | complex):
        return np.asarray(data)
    return np.asarray(storage_of(data).host(data))


def is_finite(value: RawOperand) -> bool:
    values = values_on_host(value)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def made_first_nonfinite(
    results: Iterable[Range], followed: Iterable[Range], others: Iterable[Range]
) -> bool:
    """Return True if an op made a NaN or infinity that its operands do not explain.

    results, followed, others : the ranges (with counts of NaN and infinities) of the op's results, of
    the operands that the tape follows, and of constants.  A NaN in the results is explained by a NaN in
    a followed operand, an infinity by an infinity or NaN in any operand.
    """
    followed, others, results = [*followed], [*others], [*results]
    if any(y.nans for y in results) and not any(x.nans for x in followed):
        return True
    operands = [*followed, *others]
    infinite = any(y.infinities for y in results)
    return infinite and not any(x.infinities or x.nans for x in operands)


def name_nonfinite(ranges: Iterable[Range]) -> str:
    """Return ``a NaN`` if a range has one, else ``an infinity``.

    A range counts NaN and infinities in an array.
    """
    return "a NaN" if any(y.nans for y in ranges) else "an infinity"


def join_ranges(ranges: Iterable[Range]) -> str:
    return "; ".join(map(str, ranges))


# --- forward ------------------------------------------------------------------------------------------
class Checks:
    """The checks of one tape for NaN and infinities (``check_numerics``).

    ``observe`` is the observer of the tape's records, and ``pass_of`` returns passes that check rules.

    lines : dict from value ids to the user's line that made the value.
    finite : ids of values that an op made and that are finite.
    """

    def __init__(self) -> None:
        self.restart_checks()

    def restart_checks(self) -> None:
        self.lines: dict[int, str] = {}
        self.finite: set[int] = set()

    def observe(self, record: Record) -> None:
        """Check the values of an op for a tape with ``check_numerics``, before its record is kept.

        Raise NonFiniteError for the first NaN or infinity.  Operands and results that the record lacks
        are read from the local variables of the frame that calls ``record``.
        """
        self.lines.update(dict.fromkeys(results_of(record), user_line()))
        plan, frame = plan_of(record), frame_calling_record()
        if frame.f_code.co_filename.startswith(COMPILED):
            assert isinstance(plan, Plan)
            results, followed, others = values_of_op(plan, frame.f_locals)
        elif record[0] == ADD.number:
            results, followed, others = self.values_of_addition(record, frame)
        elif hasattr(record[-1], "missing"):
            results, followed, others = values_of_call(frame)
        else:
            return  # for a view, a write, or a conversion to untracked data: nothing is computed
        if not any(y.nans or y.infinities for y in results):
            self.finite.update(results_of(record))
        elif made_first_nonfinite(results, followed, others):
            name = name_of_record(plan, record)
            ranges = [join_ranges(results), join_ranges([*followed, *others])]
            what = f"{name} made {name_nonfinite(results)}"
            raise NonFiniteError(what, ", of ".join(filter(None, ranges)), name)

    def values_of_addition(self, record: Record, frame: FrameType | None) -> Values:
        """Return the ranges of ``x += y``, read from local variables of the frames that execute it.

        Return empty lists if x may have been NaN or infinite before.
        """
        write = write_of(record)
        while frame is not None and not {"x", "value"} <= set(frame.f_locals):
            frame = frame.f_back
        if frame is None or write.old not in self.finite:
            return [], [], []
        x, value = frame.f_locals["x"], frame.f_locals["value"]
        added = [] if value is x._data else [range_of("what was added", value)]
        return [range_of("x", x)], added, []

    # --- backward -------------------------------------------------------------------------------------
    def pass_of(self, data: RawData, followed: Collection[int], guard: bool) -> BackwardPass:
        """Return a backward pass that raises at the first rule which makes a NaN or infinity.

        data : the operations on cotangents.  followed : the ids of values that get a cotangent.
        guard : True for a guarded pass, in which elements that selections did not take contribute 0.
        """
        pass_ = CheckedGuardedPass(data, followed) if guard else CheckedPass(data, followed)
        pass_.lines = self.lines
        return pass_


def frame_calling_record() -> FrameType:
    """Return the frame of the op that called ``record``: the innermost one outside of the files OURS.

    Its local variables hold the op's operands and results, which the NaN checks need.
    """
    frame = sys._getframe(1)
    while frame.f_code.co_filename in OURS and frame.f_back is not None:
        frame = frame.f_back
    return frame


def values_of_op(plan: Plan, seen: dict[str, Any]) -> Values:
    """Return the ranges of an op's results, of the operands that the tape follows, and of the others.

    plan : the description of the op's records.
    seen : the local variables of the op's compiled function, while it calls ``record``.
    """
    ys = seen["ys"] if len(plan.op.outputs) > 1 else [seen["result"]]
    results = [range_of(name, y) for name, y in zip(plan.op.outputs, ys, strict=True)]
    return results, *operands_in(plan, seen)


def values_of_call(frame: FrameType | None) -> Values:
    """Return the ranges of the results and of the arguments of a call of a user's function.

    They are read from the local variables ``results`` and ``trace`` of the nearest frame that has both.
    Without such a frame, return three empty lists.
    """
    while frame is not None and not {"trace", "results"} <= set(frame.f_locals):
        frame = frame.f_back
    if frame is None:
        return [], [], []
    arrays = frame.f_locals["trace"].arrays
    results = [range_of("y", y) for y in frame.f_locals["results"] if y._data.dtype.kind in "fc"]
    return results, [range_of("x", x) for x in arrays], []


def operands_in(plan: Plan, seen: dict[str, Any]) -> tuple[list[Range], list[Range]]:
    """Return the ranges of the operands that the tape follows, and of the others.

    plan : the description of the op's records, with the names of its operands.
    seen : the local variables of the compiled op: ``t_x`` is the value id of the operand x, ``d_x`` its
    data.
    """
    found: tuple[list[Range], list[Range]] = ([], [])
    for x in plan.op.inputs:
        value_ids, values = seen[f"t_{x}"], seen[f"d_{x}"]
        pairs = zip(value_ids, values, strict=True) if plan.op.variadic else [(value_ids, values)]
        for value_id, value in pairs:
            constant = value_id not in seen["followed"]
            if value is not None:
                found[constant].append(range_of(f"{x} (a constant)" if constant else x, value))
    return found


# --- backward -----------------------------------------------------------------------------------------
class Checking(BackwardPass):
    """A mixin for backward passes that checks the cotangents of inputs before and after each record.

    It raises NonFiniteError if a record's rule made the first NaN or infinity.

    lines : dict from value ids to the user's line that made the value.
    """

    lines: dict[int, str] = {}  # noqa: RUF012  (set by ``Checks.pass_of``)

    def go_back(self, plan: Plan | Structural, record: Record) -> None:
        came = [
            range_of("the cotangent", self.cotangents[value_id])
            for value_id in results_of(record)
            if self.cotangents.get(value_id) is not None
        ]
        fine = {value_id for value_id in inputs_of(record) if self.has_finite(value_id)}
        super().go_back(plan, record)
        if not came or any(g.nans or g.infinities for g in came):
            return
        spoilt = [value_id for value_id in fine if not self.has_finite(value_id)]
        if spoilt:
            gave = [range_of("the gradient", self.cotangents[value_id]) for value_id in spoilt]
            raise self.error(plan, record, came, gave)

    def has_finite(self, value_id: int) -> bool:
        """Return True if the cotangent of a value, as far as it was computed, is finite or absent."""
        held = self.cotangents.get(value_id)
        return held is None or is_finite(held)

    def error(
        self, plan: Plan | Structural, record: Record, came: list[Range], gave: list[Range]
    ) -> NonFiniteError:
        """Return the error for a record whose rule made the first NaN or infinity of a backward pass.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        came, gave : the ranges of the cotangents of its results and of its inputs.
        """
        line, name = self.lines.get(results_of(record)[0]), name_of_record(plan, record)
        where = f", which ran at {line}," if line else ""
        kept = join_ranges(kept_ranges(plan, record))
        return NonFiniteError(
            f"in the gradient, the rule of {name}{where} made {name_nonfinite(gave)}",
            f"{join_ranges(gave)}, of {join_ranges(came)}"
            + (f"; the tape kept {kept}" if kept else ""),
            name,
        )


def kept_ranges(plan: Plan | Structural, record: Record) -> list[Range]:
    if not isinstance(plan, Plan):
        return []
    names = [x for x in (*plan.op.inputs, *plan.op.outputs) if plan.keeps_value(x)]
    kept = [(x, plan.kept_value(record, x)) for x in names]
    return [range_of(x, value) for x, value in kept if hasattr(value, "dtype")]


def name_of_record(plan: Plan | Structural, record: Record) -> str:
    return str(record[-1].name) if hasattr(record[-1], "missing") else plan.name


class CheckedPass(Checking):
    """A plain backward pass that raises an error at the first rule that makes a NaN or infinity."""


class CheckedGuardedPass(Checking, GuardedPass):
    """A guarded pass that raises an error at the first rule that makes a NaN or infinity.

    In a guarded pass, elements that a selection such as ``where`` left out contribute 0.
    """
