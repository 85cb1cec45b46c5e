"""Keywords of other libraries on the standard's functions: NumPy's, and helpful errors for the others.

``xp.var(x, ddof=1)`` and ``xp.sum(x, out=y)`` run NumPy's function on Arrays, as recorded ops.  For
``dim``, in place of the standard's ``axis``, ``refuse`` raises a TypeError with the standard's name.
Python would raise its own TypeError for an unknown keyword before the function runs.  So a function has
these keywords as hidden parameters, which are not in its ``__signature__``.

Hidden parameters are positional, since Python looks up each missing keyword-only argument in a dict.
(``sum`` of three elements takes 1.5% longer with positional ones, 3% with keyword-only ones.)  The first
hidden parameter, ``extra``, catches arguments that are passed by position.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import Parameter
from typing import Any, NoReturn

import numpy as np

from .._util.errors import user_line
from .source import Source

OURS = {  # the standard's name -> the names of other libraries that are refused
    "axis": ("dim", "dims"),
    "axes": ("dim", "dims"),
    "keepdims": ("keepdim",),
}
EXTRA = "extra"
HOMES = {"": np, "linalg": np.linalg, "fft": np.fft}


class Absent:
    """The type of ABSENT, a default of hidden parameters that differs from a passed ``dim=None``."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def numpys_keywords(name: str, parameters: Sequence[Parameter]) -> list[str]:
    """Return the keywords that NumPy's function has in addition to the parameters of the op ``name``.

    name : such as "sum" or "linalg.eigh".  Return [] for functions that do not dispatch on their arrays,
    such as ``np.zeros``, and for ufuncs: ``xp.exp`` would take 5% longer with hidden parameters.
    """
    home, _, short = name.rpartition(".")
    function: Any = getattr(HOMES.get(home), short, None)
    if not hasattr(function, "_implementation"):
        return []
    try:
        theirs = inspect.signature(function).parameters
    except ValueError:  # in C, such as np.where and np.concatenate before NumPy 2.4
        return []
    if "like" in theirs:
        return []
    required = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
    taken = {p.name for p in parameters}
    return [
        p.name for i, p in enumerate(theirs.values())
        if (i >= required or p.kind is p.KEYWORD_ONLY)
        and p.default is not p.empty and p.name not in taken
    ]  # fmt: skip


class OtherNames:
    """The hidden parameters of an op's function, which catch keywords of other libraries.

    name : the name of one of arraytape's ops, "" for an op of the user.  parameters : the op's own.
    ours : a dict from refused keywords, such as ``dim``, to the standard's names.
    numpys : the keywords that only NumPy's function has.  A call with one of them runs that function.
    default : the default of the hidden parameters, None or ABSENT.
    all : the parameters of the generated function, with the hidden ones.
    """

    def __init__(self, name: str, parameters: Sequence[Parameter]) -> None:
        self.given = list(parameters)
        taken = {p.name for p in parameters}
        reduces = "keepdims" in taken  # in other libraries no reduction has the keyword "dims"
        self.ours = {
            other: ours
            for ours, others in OURS.items() if ours in taken
            for other in others if other not in taken and not (other == "dims" and reduces)
        }  # fmt: skip
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if EXTRA in taken or self.variadic or any(p.kind is p.VAR_KEYWORD for p in parameters):
            self.ours = {}
        self.numpys = numpys_keywords(name, parameters) if name else []
        # None is quicker to check than ABSENT, but cannot be distinguished from a passed ``dim=None``.
        # That is harmless if the standard's parameters are None or False by default.
        defaults = [p.default for p in parameters if p.name in OURS]
        quick = all(default is None or default is False for default in defaults)
        self.default = None if quick else ABSENT
        self.all = self.and_hidden() if self.hidden else self.given

    @property
    def hidden(self) -> list[str]:
        names = [*self.ours, *self.numpys]
        return [EXTRA, *names] if names and not self.variadic else names

    def and_hidden(self) -> list[Parameter]:
        """Return the op's parameters, with the hidden ones after the last positional parameter."""
        kind = Parameter.KEYWORD_ONLY if self.variadic else Parameter.POSITIONAL_OR_KEYWORD
        hidden = [Parameter(name, kind, default=self.default) for name in self.hidden]
        positional = [p for p in self.given if p.kind is not p.KEYWORD_ONLY]
        last = positional[-1]
        # A required axis gets a default, since a parameter with a default may not precede one without,
        # and since Python would report it as missing where the user passed ``dim``.  ``check`` reports
        # it.
        if last.name in OURS and last.default is last.empty:
            positional[-1] = last.replace(default=ABSENT)
        return [*positional, *hidden, *(p for p in self.given if p.kind is p.KEYWORD_ONLY)]

    def check(self, s: Source, name: str) -> None:
        """Write the lines that handle keywords of other libraries, such as ``dim`` for ``axis``.

        The lines call ``refuse``, which raises TypeError, or ``call_numpys``, which calls NumPy's
        function.  The line with ``refuse`` runs also if a required axis was not passed.

        name : the source text of an expression for the name of the function.
        """
        if not self.hidden:
            return
        absent = repr(self.default)
        if refused := [*([] if self.variadic else [EXTRA]), *self.ours]:
            tests = [f"{p} is not {absent}" for p in refused]
            tests += [
                f"{p.name} is ABSENT" for p in self.all if p.name in OURS and p.default is ABSENT
            ]
            given = ", ".join(f"{p}={p}" for p in refused)
            with s.block(f"if {' or '.join(tests)}:"):
                s.line(f"refuse({name}, {self.ours}, {absent}, {given})")
        if self.numpys:
            args = "".join(
                f"*{p.name}, " if p.kind is p.VAR_POSITIONAL else f"{p.name}, "
                for p in self.given if p.kind is not p.KEYWORD_ONLY and p.default is p.empty
            )  # fmt: skip
            own = ", ".join(
                f"{p.name!r}: ({p.name}, {default_text(p)})"
                for p in self.given if p.default is not p.empty
            )  # fmt: skip
            theirs = ", ".join(f"{p!r}: ({p}, {absent})" for p in self.numpys)
            with s.block(f"if {' or '.join(f'{p} is not {absent}' for p in self.numpys)}:"):
                s.line(f"return call_numpys({name}, ({args}), {{{own}}}, {{{theirs}}})")


def default_text(parameter: Parameter) -> str:
    """Return the source text of a parameter's default: its repr, or the name of a global variable."""
    plain = parameter.default is ABSENT or parameter.default is None
    return repr(parameter.default) if plain else f"DEFAULT_{parameter.name}"


def call_numpys(
    name: str,
    args: tuple[Any, ...],
    own: Mapping[str, tuple[Any, Any]],
    theirs: Mapping[str, tuple[Any, Any]],
) -> Any:
    """Call NumPy's function ``name`` on Arrays, because the user passed keywords that only NumPy has.

    args : the positional arguments.
    own, theirs : dicts from the names of the op's parameters, and of NumPy's further keywords, to pairs
    (argument, default).  Arguments that are the default are not passed on.
    """
    given = {key: x for key, (x, default) in (*own.items(), *theirs.items()) if x is not default}
    chapter, _, short = name.rpartition(".")
    return import_module("arraytape._numpy_api.names").call_numpys_function(
        getattr(HOMES[chapter], short), args, given
    )


def refuse(
    name: str, ours: dict[str, str], absent: object, /, *, extra: object, **others: object
) -> NoReturn:
    """Raise TypeError for an unknown keyword, too many positional arguments, or a missing axis.

    absent : the default of the hidden parameters, which catch keywords of other libraries.
    extra, others : the values of the hidden parameters.
    """
    names = " and ".join(dict.fromkeys(ours.values()))
    if extra is not absent:
        by_name = f"; give {names} by name" if names else ""
        raise TypeError(f"{name}() takes fewer positional arguments [at {user_line()}]{by_name}")
    for other, value in others.items():
        if value is not absent:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {other!r} [at {user_line()}]; "
                f"arraytape's name is {ours[other]}"
            )
    raise TypeError(f"{name}() misses a required argument [at {user_line()}]: {names}")
