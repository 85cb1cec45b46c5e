"""What derivatives lack for exits, and how a recorder says so."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence

from .._record.plan import Record
from .._util.errors import LostGradientError, TapeWarning, stacklevel, user_line
from .._util.places import key_of
from .journal import Journal
from .messages import lost
from .suspicions import Exit, exits_between, suspicions


class Lacks:
    """What the derivatives of targets by sources lack.

    exits : where values that depend on the sources left.  suspected : those of which the targets may be
    made.
    """

    def __init__(
        self,
        records: Sequence[Record],
        journal: Journal,
        sources: Sequence[int],
        targets: Sequence[int],
    ) -> None:
        self.sources = frozenset(sources)
        self.exits = [exit_ for _, exit_ in exits_between(records, sources, targets)]
        self.suspected = suspicions(records, journal, sources, targets)

    def tell(
        self, absent: Container[int], what: str, mode: str, *, never_zeros: bool, unseen: bool
    ) -> None:
        """Warn or raise, as the recorder is told to.

        absent : the sources by which there is no derivative.  what : what is asked for.  never_zeros :
        whether zeros in place of what left are an error.  unseen : whether the recorder knows nothing of
        a target, which may then be made of anything.
        """
        gone = frozenset(tid for tid in self.sources if tid in absent)
        nothing = [exit_ for exit_ in self.exits if exit_.origins & gone]
        partly = [exit_ for exit_ in self.suspected if exit_.origins - gone]
        if never_zeros and nothing:
            if unseen or self.come_back(nothing):
                message = lost(nothing, f"the {what} would be zeros")
                raise LostGradientError(f"{message} [at {user_line()}]")
            nothing = []  # zeros, and rightly
        for exits, said in (
            (nothing, f"{what} is None"),
            (partly, f"a part of the {what} may be missing"),
        ):
            if exits and mode == "raise":
                raise LostGradientError(f"{lost(exits, said)} [at {user_line()}]")
            if exits:
                warnings.warn(lost(exits, said), TapeWarning, stacklevel=stacklevel())

    def come_back(self, exits: Sequence[Exit]) -> bool:
        """Whether a target may be made of what left at one of these exits."""
        suspected = {key_of(exit_.stack) for exit_ in self.suspected}
        return any(key_of(exit_.stack) in suspected for exit_ in exits)
