"""Findings about exits: the parts that a derivative lacks, and the warning or error for them."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from typing import NamedTuple

from .._record.plan import Record, ids_made_of
from .._util.errors import LostGradientError, TapeWarning, see, stacklevel, user_line
from .._util.places import stack_key
from .journal import Journal
from .messages import exit_text, lost
from .suspicions import (
    Exit,
    exits_between,
    is_written_copy,
    records_on_the_way,
    sources_of,
    suspicions,
)


class Finding(NamedTuple):
    """A message about exits, and whether it is an error or a warning."""

    text: str
    is_error: bool


class Doubt(NamedTuple):
    """Exits of one request of a function form, which can run its function again.

    findings : what the analysis of the code says.  written : what it says of writes to copies.
    what : what was asked for ("gradient").  exits : those of values that depend on the sources.
    places : what tells them and the entries from others.
    """

    findings: tuple[Finding, ...]
    written: tuple[Finding, ...]
    what: str
    exits: tuple[Exit, ...]
    places: frozenset[object]


def report_findings(found: Sequence[Finding]) -> None:
    """Raise or warn, at the user's line."""
    for text, is_error in found:
        if is_error:
            raise LostGradientError(f"{text} [at {user_line()}]")
        warnings.warn(text, TapeWarning, stacklevel=stacklevel())


class Lacks:
    """The parts that a derivative lacks: found before the pass, reported after it.

    ``between`` has the exits of values that depend on the sources.
    """

    def __init__(
        self,
        records: Sequence[Record],
        journal: Journal,
        sources: Sequence[int],
        targets: Sequence[int],
    ) -> None:
        self.records, self.journal = [*records], journal  # a pass may add to a tape's own list
        self.sources, self.targets = frozenset(sources), targets
        self.between = exits_between(self.records, self.sources, targets)

    def sources_that_left(self) -> set[int]:
        """Return the sources on which the values that left depend, among other values."""
        return sources_of(self.records, [left.value for _, left in self.between])

    def exits_without(self, absent: Container[int]) -> list[tuple[int, Exit]]:
        """Return the exits with their record numbers, given the sources without a derivative."""
        gone = {tid for tid in self.sources if tid in absent}
        without, others = (
            ids_made_of(self.records, gone),
            ids_made_of(self.records, self.sources - gone),
        )
        return [
            (i, Exit(left.stack, left.how, left.value in without, left.value in others))
            for i, left in self.between
        ]

    def suspected(self, left: list[tuple[int, Exit]]) -> list[Exit]:
        """Return those of these exits of whose values the targets may be made."""
        return suspicions(self.records, self.journal, left, self.targets)

    def tell(
        self,
        absent: Container[int],
        what: str,
        mode: str,
        *,
        never_zeros: bool,
        unseen: bool,
        doubts: list[Doubt] | None = None,
    ) -> None:
        """Warn or raise, as the recorder is told to.

        absent : the sources by which there is no derivative.  what : what is asked for.  never_zeros :
        whether zeros in place of what left are an error.  unseen : whether the recorder knows nothing of
        a target, which may then be made of anything.  doubts : where what would be said is kept instead,
        for a caller that can run the function again.
        """
        if not self.between:
            return
        left = self.exits_without(absent)
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
        """Return what tells the places of these exits and of the entries from others."""
        back = [(stack_key(entry.stack), entry.op) for _, entry, _ in self.journal.entries]
        return frozenset([*back, *[stack_key(exit_.stack) for exit_ in exits]])

    @property
    def entered(self) -> bool:
        """Return True if a constant entered an op on the way to a target after the first exit."""
        first = self.between[0][0]
        on_the_way = records_on_the_way(self.records, self.targets, first)
        return any(i in on_the_way for i, _, _ in self.journal.entries)


def findings(
    left: Sequence[tuple[int, Exit]], suspected: Sequence[Exit], what: str, mode: str,
    never_zeros: bool, unseen: bool,
) -> list[Finding]:  # fmt: skip
    """Return what there is to say of exits: see ``Lacks.tell``."""
    places: dict[object, Exit] = {}
    for _, exit_ in left:
        if exit_.absent:
            places.setdefault((stack_key(exit_.stack), exit_.how), exit_)
    nothing = [*places.values()]
    partly = [exit_ for exit_ in suspected if exit_.present]
    if never_zeros and nothing:
        if unseen or come_back(nothing, suspected):
            return [Finding(lost(nothing, f"the {what} would be zeros"), True)]
        nothing = []  # zeros, and rightly
    rows = (nothing, f"{what} is None"), (partly, f"a part of the {what} may be missing")
    return [Finding(lost(exits, said), mode == "raise") for exits, said in rows if exits]


def written_copies(exits: Sequence[Exit], mode: str) -> list[Finding]:
    """Return what there is to say of copies of followed values that a user's statement writes to."""
    lines = [exit_text(e) for e in exits if "asarray" in e.how and is_written_copy(e.stack)]
    if not lines:
        return []
    text = (
        f"write to the Array itself (y[0] = 1): np.asarray() of a value that is followed is a copy, and "
        f"what was written to it did not arrive, at {', '.join(dict.fromkeys(lines[:2]))} "
        f"{see('value-left-the-tape')}"
    )
    return [Finding(text, mode == "raise")]


def come_back(exits: Sequence[Exit], suspected: Sequence[Exit]) -> bool:
    """Return True if a target may be made of a value that left at one of these exits."""
    places = {stack_key(exit_.stack) for exit_ in suspected}
    return any(stack_key(exit_.stack) in places for exit_ in exits)
