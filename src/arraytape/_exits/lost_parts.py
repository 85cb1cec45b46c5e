"""Warn or raise if a derivative lacks a part because a value was converted to untracked data."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from typing import NamedTuple

from .._record.plan import Record, ids_made_of, ids_needed_for
from .._util.errors import LostGradientError, TapeWarning, see, stacklevel, user_line
from .._util.source_locations import stack_key
from .constant_entries import Journal
from .messages import exit_text, lost_message
from .suspected_exits import (
    Exit,
    exits_between,
    find_suspected,
    is_written_copy,
    records_on_the_way,
)


class Finding(NamedTuple):
    """A message that a derivative lacks a part, because values were converted, as by ``float(x)``.

    text : the message.  is_error : True to raise it as an error, False to warn.
    """

    text: str
    is_error: bool


class Doubt(NamedTuple):
    """The findings on one derivative that are not reported yet, because they may be false alarms.

    ``xp.grad`` and similar functions can run the user's function again, compare the derivative with
    differences, and report the findings only if it is wrong.

    findings : messages on missing parts.  written : messages on lost writes, to NumPy copies of Arrays.
    what : the name of the derivative in messages, such as "gradient".
    exits : the conversions (such as ``float(x)``) of values that depend on the sources.
    places : keys of the source lines of these conversions, and of the ops that got constants.
    """

    findings: tuple[Finding, ...]
    written: tuple[Finding, ...]
    what: str
    exits: tuple[Exit, ...]
    places: frozenset[object]


def report_findings(found: Sequence[Finding]) -> None:
    for text, is_error in found:
        if is_error:
            raise LostGradientError(f"{text} [at {user_line()}]")
        warnings.warn(text, TapeWarning, stacklevel=stacklevel())


# Conversions to text, mostly for readers: they count as the cause of None only if the value came back.
TEXTS = frozenset(("format()", "repr()", "str()"))


class LostParts:
    """The untracked conversions, such as ``float(x)``, that may make a requested derivative incomplete.

    They are collected before the backward pass, and reported after it by ``report``.

    records : those of the recorder (a tape or an accumulator) that computes the derivative.
    journal : its conversions, and the constants that entered ops after them.
    sources, targets : value ids.
    between : pairs (record number, LEFT record) of the conversions of values that depend on a source.
    Conversions after the last record of a target are left out.
    """

    def __init__(
        self,
        records: Sequence[Record],
        journal: Journal,
        sources: Sequence[int],
        targets: Sequence[int],
    ) -> None:
        # A copy of the records, because a backward pass may add records to the tape's own list.
        self.records, self.journal = [*records], journal
        self.sources, self.targets = frozenset(sources), targets
        self.between = exits_between(self.records, self.sources, targets)

    def converted_sources(self) -> set[int]:
        """Return the ids of the converted values and of all values from which they were computed.

        A source among them may lose a part of its derivative.
        """
        return ids_needed_for(self.records, [left.value for _, left in self.between])

    def describe_exits(self, absent: Container[int]) -> list[tuple[int, Exit]]:
        """Return pairs (record number, Exit) for the conversions (such as ``float(x)``) in ``between``.

        An Exit tells whether the value depends on a source whose derivative is None, and whether it
        depends on a source that has a derivative.  absent : the ids of the former sources.
        """
        gone = {value_id for value_id in self.sources if value_id in absent}
        without, others = (
            ids_made_of(self.records, gone),
            ids_made_of(self.records, self.sources - gone),
        )
        return [
            (i, Exit(left.stack, left.how, left.value in without, left.value in others))
            for i, left in self.between
        ]

    def suspected(self, left: list[tuple[int, Exit]]) -> list[Exit]:
        """Return the conversions whose values may have reached a target as constants.

        left : the conversions (such as ``float(x)``) to check, in pairs (record number, Exit).
        """
        return find_suspected(self.records, self.journal, left, self.targets)

    def report(
        self,
        absent: Container[int],
        what: str,
        mode: str,
        *,
        never_zeros: bool,
        unseen: bool,
        doubts: list[Doubt] | None = None,
    ) -> None:
        """Warn or raise, according to ``mode``, if the derivative may lack a part.

        absent : the ids of sources whose derivative is None.  what : the derivative, such as "gradient".
        mode : "warn" or "raise".  never_zeros : True if the caller returns zeros in place of None; zeros
        that may be wrong are then an error.  unseen : True if a target was not computed on the tape, so
        that it may depend on any value.  doubts : a list to which a Doubt is added in place of a warning
        or error; None to report at once.
        """
        if not self.between:
            return
        left = self.describe_exits(absent)
        suspected = self.suspected(left)
        found = findings(left, suspected, what, mode, never_zeros, unseen)
        exits = [exit_ for _, exit_ in left]
        written = written_copies(exits, mode)
        if doubts is None:
            report_findings([*found, *written])
        elif found or written or self.entered:
            places = self.places(exits)
            doubts.append(Doubt(tuple(found), tuple(written), what, tuple(exits), places))

    def places(self, exits: Sequence[Exit]) -> frozenset[object]:
        """Return keys of the source lines of conversions, and of the ops that later got constants.

        Calls with the same keys share one check of the derivative by differences, which is slow.
        exits : the conversions (such as ``float(x)``).
        """
        back = [(stack_key(entry.stack), entry.op) for _, entry, _ in self.journal.entries]
        return frozenset([*back, *[stack_key(exit_.stack) for exit_ in exits]])

    @property
    def entered(self) -> bool:
        """Return True if an op on which a target depends got a constant after the first conversion.

        Otherwise no converted value (such as ``float(x)``) can have come back, and the derivative is
        whole.
        """
        first = self.between[0][0]
        on_the_way = records_on_the_way(self.records, self.targets, first)
        return any(i in on_the_way for i, _, _ in self.journal.entries)


def findings(
    left: Sequence[tuple[int, Exit]], suspected: Sequence[Exit], what: str, mode: str,
    never_zeros: bool, unseen: bool,
) -> list[Finding]:  # fmt: skip
    """Return the messages on a derivative that is None, would be wrong zeros, or may lack a part.

    left : all conversions (such as ``float(x)``), in pairs (record number, Exit).
    suspected : the conversions whose values may have come back as constants.
    what : the derivative, such as "gradient".  mode : "warn" or "raise".
    never_zeros : True if the caller returns zeros for None; then None is an error if it may be wrong.
    unseen : True if a target was not computed on the tape, so that it may depend on any value.
    """
    places: dict[object, Exit] = {}  # one conversion for each source line
    for _, exit_ in left:
        if exit_.absent:
            places.setdefault((stack_key(exit_.stack), exit_.how), exit_)
    nothing = [*places.values()]
    partly = [exit_ for exit_ in suspected if exit_.present]
    if never_zeros and nothing:
        if unseen or may_have_come_back(nothing, suspected):
            return [Finding(lost_message(nothing, f"the {what} would be zeros"), True)]
        nothing = []  # no converted value came back, so the zeros are correct
    nothing = [e for e in nothing if e.how not in TEXTS or may_have_come_back([e], suspected)]
    rows = (nothing, f"{what} is None"), (partly, f"a part of the {what} may be missing")
    return [Finding(lost_message(exits, said), mode == "raise") for exits, said in rows if exits]


def written_copies(exits: Sequence[Exit], mode: str) -> list[Finding]:
    """Return a list with a message if user code writes to a NumPy copy of a followed value, else [].

    An example is ``np.asarray(y)[0] = 1``: y does not change, which the user hardly means.

    exits : the conversions to check. mode : "warn" or "raise".
    """
    lines = [exit_text(e) for e in exits if "asarray" in e.how and is_written_copy(e.stack)]
    if not lines:
        return []
    text = (
        f"write to the Array itself (y[0] = 1): np.asarray() of a value that is followed is a copy, and "
        f"what was written to it did not arrive, at {', '.join(dict.fromkeys(lines[:2]))} "
        f"{see('value-left-the-tape')}"
    )
    return [Finding(text, mode == "raise")]


def may_have_come_back(exits: Sequence[Exit], suspected: Sequence[Exit]) -> bool:
    """Return True if a conversion in ``exits`` has the source location of one in ``suspected``.

    The values of suspected conversions, such as ``float(x)``, may have come back as constants.
    """
    places = {stack_key(exit_.stack) for exit_ in suspected}
    return any(stack_key(exit_.stack) in places for exit_ in exits)
