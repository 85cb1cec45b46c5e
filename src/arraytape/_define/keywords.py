"""Helpful errors for keywords that other libraries use, such as ``dim`` for the standard's ``axis``.

For an unknown keyword Python raises its own TypeError before the function runs.  So a function that has
a parameter of the table OURS also accepts the names of other libraries, as hidden parameters: they are
not in ``__signature__``.  If one is passed, ``refuse`` raises TypeError with the standard's name.

Hidden parameters are positional, since Python looks up each missing keyword-only argument in a dict.
(``sum`` of three elements takes 1.5% longer with positional ones, 3% with keyword-only ones.)  The first
hidden parameter, ``extra``, catches a surplus positional argument, such as a positional axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter
from typing import NoReturn

from .._util.errors import user_line
from .source import Source

OURS = {  # the standard's name -> the names of other libraries
    "axis": ("dim", "dims"),
    "axes": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "correction": ("ddof",),
}
EXTRA = "extra"


class Absent:
    """The type of ABSENT, the default of hidden parameters where the user may pass None on purpose."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class OtherNames:
    """The hidden parameters to add to a function that has ``parameters``.

    ours : a dict from each hidden name to the standard's name; empty if no parameter is in OURS.
    default : the default of the hidden parameters, None or ABSENT.
    parameters : all parameters of the generated function, with the hidden ones.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        taken = {p.name for p in parameters}
        reduces = "keepdims" in taken  # other libraries have "dims" only in flip, roll and the like
        self.ours = {
            other: ours
            for ours, others in OURS.items() if ours in taken
            for other in others if other not in taken and not (other == "dims" and reduces)
        }  # fmt: skip
        if EXTRA in taken or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            self.ours = {}
        # None is quicker to check than ABSENT, but cannot be distinguished from a passed ``dim=None``.
        # That is harmless if the standard's parameters are None or False by default.
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
        # Give a required axis the default ABSENT: the hidden parameters after it have defaults, and
        # Python would call the axis missing if the user passed ``dim``.  ``check`` raises instead.
        if last.name in OURS and last.default is last.empty:
            positional[-1] = last.replace(default=ABSENT)
        return [*positional, *hidden, *(p for p in parameters if p.kind is p.KEYWORD_ONLY)]

    def check(self, s: Source, name: str) -> None:
        """Write lines that call ``refuse`` if a hidden parameter was passed, or a required one was not.

        name : the source text of an expression for the name of the function.
        """
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
    """Raise TypeError for a hidden parameter that was passed, or for a required axis that is missing.

    absent : the default of the hidden parameters.  extra, others : the values of the hidden parameters.
    """
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
