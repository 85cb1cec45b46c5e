"""Keywords of other libraries for keywords of the standard: ``dim`` for ``axis``.

Python raises its own TypeError for an unknown keyword before any code of ours runs.  So a function that
has one of OURS also takes the other names, as hidden parameters that are not in ``__signature__``, and
raises TypeError with the standard's name.  Hidden parameters are positional, since Python looks up each
missing keyword-only argument in a dict (``sum`` of three elements takes 1.5% longer, in place of 3%).
The first of them, ``extra``, catches an axis that is given by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter
from typing import NoReturn

from .._util.errors import user_line
from .source import Source

OURS = {
    "axis": ("dim", "dims"),
    "axes": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "correction": ("ddof",),
}
EXTRA = "extra"


class Absent:
    """The default of hidden parameters where None could be meant."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class OtherNames:
    """The hidden parameters of a function with these parameters; none without one of OURS."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        taken = {p.name for p in parameters}
        reduces = "keepdims" in taken  # "dims" is for flip, roll and their like alone
        self.ours = {
            other: ours
            for ours, others in OURS.items() if ours in taken
            for other in others if other not in taken and not (other == "dims" and reduces)
        }  # fmt: skip
        if EXTRA in taken or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            self.ours = {}
        # None is quicker to check than ABSENT.  It will do where our parameters are None or False by
        # default, since ``dim=None`` then changes nothing.
        defaults = [p.default for p in parameters if p.name in OURS]
        quick = all(default is None or default is False for default in defaults)
        self.default = None if quick else ABSENT
        self.parameters = self.and_hidden(parameters) if self.ours else list(parameters)

    def and_hidden(self, parameters: Sequence[Parameter]) -> list[Parameter]:
        """Return the parameters, with the hidden ones after the last positional one."""
        hidden = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=self.default)
            for name in (EXTRA, *self.ours)
        ]
        positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        last = positional[-1]
        if (
            last.name in OURS and last.default is last.empty
        ):  # else Python raises when it is missing
            positional[-1] = last.replace(default=ABSENT)
        return [*positional, *hidden, *(p for p in parameters if p.kind is p.KEYWORD_ONLY)]

    def check(self, s: Source, name: str) -> None:
        """Write the check that no hidden parameter was given, and none of OURS is missing."""
        if not self.ours:
            return
        tests = [f"{p} is not {self.default!r}" for p in (EXTRA, *self.ours)]
        tests += [
            f"{p.name} is ABSENT" for p in self.parameters if p.name in OURS and p.default is ABSENT
        ]
        given = ", ".join(f"{p}={p}" for p in (EXTRA, *self.ours))
        with s.block(f"if {' or '.join(tests)}:"):
            s.line(f"refuse({name}, {self.ours}, {self.default!r}, {given})")


def refuse(
    name: str, ours: dict[str, str], absent: object, /, *, extra: object, **others: object
) -> NoReturn:
    """Raise TypeError for a hidden parameter that was given, or one of OURS that is missing."""
    names = " and ".join(dict.fromkeys(ours.values()))
    if extra is not absent:
        raise TypeError(
            f"{name}() takes fewer positional arguments [at {user_line()}]; give {names} by name"
        )
    for other, value in others.items():
        if value is not absent:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {other!r} [at {user_line()}]; "
                f"arraytape's name is {ours[other]}"
            )
    raise TypeError(f"{name}() misses a required argument [at {user_line()}]: {names}")
