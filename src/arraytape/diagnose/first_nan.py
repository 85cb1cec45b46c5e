"""``nans``: the search for the first op that computed a NaN or an infinity.

The forward pass is searched in the data that the records keep.  If that data is finite, a backward pass
runs with a check of each rule's result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from .._array.array import KEPT, Array, wrap
from .._array.views import current
from .._record.plan import Plan, Record, ids_needed_for, inputs_of, plan_of, results_of
from .._record.stack import only_recorders
from .._storage.storage import storage_of
from .._tape.arguments import arrays_of, seeds_of
from .._tape.data import RawData
from .._tape.differentiation import Differentiation
from .._tape.none_causes import public_op_name
from .._tape.numerics import (
    CheckedGuardedPass,
    NonFiniteError,
    Range,
    is_finite,
    join_ranges,
    made_first_nonfinite,
    name_nonfinite,
    range_of,
)
from .._tape.recording import USED_UP, Recording
from .._tape.tape import GradientTape
from .._util.blocks import Quiet
from .._util.errors import entrance, user_line
from .explanation import NEVER_ENTERED, recording_of
from .facts import copy_of, name_of
from .line_recorder import Lines

CHECKING = "GradientTape(check_numerics=True) checks each op as it runs."
FINE = "No NaN and no infinity: in what the tape kept, and in the backward pass."


@entrance
def nans(tape: GradientTape, target: Any, sources: Any, seen: Lines | None = None) -> str:
    """Return the first op, forward or backward, that made a NaN or an infinity from finite values.

    Parameters
    ----------
    tape : GradientTape
        A tape that recorded; nothing on it changes, and a one-shot tape is not used up.
    target : Array or nesting
        The values that the backward pass differentiates.
    sources : Array or nesting
        The values with respect to which they are differentiated.
    seen : Lines | None, default: None
        The result of `lines` from the run, for the source lines of ops.

    Returns
    -------
    str
        One paragraph.  It begins with "In the forward pass", "In the gradient", or "No NaN".

    Raises
    ------
    RuntimeError
        When the tape was used up or never entered.
    TypeError
        When targets or sources are no Arrays.

    Notes
    -----
    A tape keeps the values that its rules need, not every value; the paragraph says where values are
    missing.  ``GradientTape(check_numerics=True)`` checks each op as it runs.  The backward pass is the
    guarded one: elements that ``where`` or indexing did not select contribute 0.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([0.0, 1.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.sum(xp.sqrt(x))
    >>> print(xp.diagnose.nans(tape, y, x).partition(":")[0])
    In the gradient, the rule of sqrt made an infinity
    """
    recording = recording_of(tape)
    if recording.used_up or not recording.entered:
        why = USED_UP if recording.used_up else NEVER_ENTERED
        raise RuntimeError(f"nans(): {why} [at {user_line()}]")
    made_at = {} if recording.numerics is None else recording.numerics.lines
    made_at = made_at if seen is None else seen.made_at
    recording = copy_of(recording)
    targets, asked = arrays_of(target, "target", "nans"), arrays_of(sources, "source", "nans")
    with only_recorders():
        request = Differentiation(recording, targets, asked)
        forward = ForwardSearch(recording, request, made_at)
        forward.find_nonfinite([*targets, *asked])
        likely = "" if all(is_finite(y) for y in targets) else forward.likely
        backward = backward_report(request, seeds_of(target, targets, None), made_at)
        return forward.certain or likely or backward or FINE


class ForwardSearch:
    """The search for the first op of the forward pass that made a NaN or infinity from finite operands.

    The search reads the data that records keep.  ``certain`` is the paragraph about the first such op
    whose operands are all known; ``likely`` about the first with an operand that no record keeps.
    """

    certain = likely = ""

    def __init__(
        self, recording: Recording, request: Differentiation, made_at: dict[int, str]
    ) -> None:
        self.made_at = made_at
        needed = ids_needed_for(recording.records, request.starts)
        self.records = [r for r in recording.records if not needed.isdisjoint(results_of(r))]
        self.values: dict[int, Any] = {}  # raw data by value id
        for record in self.records:
            self.values.update(kept_values(record))

    def find_nonfinite(self, arrays: Sequence[Array]) -> None:
        """Search the records, in order, until an op certainly made the first NaN or infinity.

        The known values are the kept data, ``arrays``, and results that can be computed again.  The
        paragraphs are stored in ``certain`` and ``likely``.
        """
        held = [current(x) for x in arrays]
        self.values = {value_id: data for value_id, data in held if value_id} | self.values
        for record in self.records:
            self.recompute(record)
            results = [
                self.values[value_id] for value_id in results_of(record) if value_id in self.values
            ]
            if not all(is_finite(y) for y in results):
                ys, operands, unknown = self.ranges(record)
                if not made_first_nonfinite(ys, operands, []):
                    continue
                said = self.nan_paragraph(record, ys, operands, unknown)
                self.likely = self.likely or said
                if not unknown:
                    self.certain = said
                    return

    def recompute(self, record: Record) -> None:
        """Compute an op's result again, if it is unknown, and store it in ``values``.

        Nothing is stored if an operand is unknown, or if ``can_recompute`` is False.
        """
        plan = plan_of(record)
        (out, *more), ins = results_of(record), inputs_of(record)
        if out in self.values or more or not isinstance(plan, Plan) or not can_recompute(plan):
            return
        pairs = zip(plan.op.inputs, ins, strict=True)
        operands = [
            plan.kept_value(record, x) if plan.keeps_value(x) else self.values.get(t)
            for x, t in pairs
        ]
        function = plan.op.public
        if function is None or any(operand is None for operand in operands):
            return
        with Quiet(), suppress(Exception):
            made = function(*[wrap(x, 0, KEPT) if hasattr(x, "dtype") else x for x in operands])
            self.values[out] = current(made)[1]

    def ranges(self, record: Record) -> tuple[list[Range], list[Range], list[str]]:
        """Return the ranges of a record's known results and operands, and the names of unknown operands.

        A range has the least and greatest finite element, and counts of NaN and infinities.
        """
        plan = plan_of(record)
        outs, ins = results_of(record), inputs_of(record)
        named = isinstance(plan, Plan) and not plan.op.variadic
        names = plan.op.inputs if isinstance(plan, Plan) and named else ("x",) * len(ins)
        ys = [range_of("y", self.values[value_id]) for value_id in outs if value_id in self.values]
        operands, unknown = [], []
        for name, value_id in zip(names, ins, strict=True):
            if isinstance(plan, Plan) and named and plan.keeps_value(name):
                operands.append(range_of(name, plan.kept_value(record, name)))
            elif value_id in self.values:
                operands.append(range_of(name, self.values[value_id]))
            else:
                unknown.append(name)
        return ys, operands, unknown

    def nan_paragraph(
        self, record: Record, ys: list[Range], operands: list[Range], unknown: list[str]
    ) -> str:
        """Return the paragraph about a record whose results are the first that are not finite.

        ys, operands : the ranges of the results and of the known operands.
        unknown : the names of the unknown operands.
        """
        line = self.made_at.get(results_of(record)[0], "")
        where = public_op_name(name_of(record)) + (f" at {line}" if line else "")
        of = f", of {join_ranges(operands)}" if operands else ""
        text = f"In the forward pass, {where} gave {name_nonfinite(ys)}: {join_ranges(ys)}{of}."
        if not unknown:
            return text
        names = " and ".join(dict.fromkeys(unknown))
        return (
            f"{text} The tape did not keep {names}, so an op before it may have made it: {CHECKING}"
        )


def can_recompute(plan: Plan) -> bool:
    """Return True if the search can compute the op's result again, from its operands alone.

    Ops of users and ops with parameters cannot be computed again.
    """
    op = plan.op
    return not (op.checked or op.variadic or op.parameters or op.moves)


def kept_values(record: Record) -> Iterator[tuple[int, Any]]:
    """Yield (value id, data) for each followed operand or result whose data the record keeps.

    The search for the first NaN uses this data.
    """
    plan = plan_of(record)
    for place, source, output in plan.lifts if isinstance(plan, Plan) else ():
        value_id = record[source]
        if hasattr(record[place], "dtype") and value_id:
            yield (value_id[output] if type(value_id) is tuple else value_id), record[place]


def backward_report(
    request: Differentiation, seeds: Sequence[Array], made_at: dict[int, str]
) -> str:
    """Return the paragraph on the first rule that made a NaN or infinity; "" if there is none.

    request : the differentiation, of which a backward pass is run.
    seeds : the cotangents of the targets.
    made_at : dict from value ids to the "file:line" that made the value.
    """
    if not seeds:
        return ""
    storage = storage_of(seeds[0]._data)
    pass_ = CheckedGuardedPass(RawData(storage), request.recording.known)
    pass_.lines = made_at
    try:
        with Quiet(), storage.at(seeds[0]._data):
            request.gradients_through(pass_, seeds)
    except NonFiniteError as error:
        return f"{error.what[0].upper()}{error.what[1:]}: {error.ranges}."
    return ""
