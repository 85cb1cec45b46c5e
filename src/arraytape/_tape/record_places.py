"""The source locations of records, for profiles and diagnostics: the user's line, function and Modules.

A ``Recording`` calls its observers with each record.  ``RecordPlaces`` is an observer, and only tapes
that have it inspect frames.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from .._record.plan import Record, results_of
from .._util.errors import foreign

UNKNOWN = "an unknown line"


class RecordPlace(NamedTuple):
    """The source location of a record.

    line : ``file:line`` of the innermost line that is neither in arraytape nor in NumPy.
    file : the file of that line.
    caller : ``file:line`` of the innermost such line outside of installed packages.
    function : the function that contains ``line``, as ``Class.method`` if it has a ``self``.
    modules : the names of the running Modules, the outermost first, joined by " / ".
    scope : ``modules``.  Without Modules, ``function``; or, for a line in an installed package, the
    function of the package that the user's code called.
    """

    line: str
    file: str
    caller: str
    function: str
    modules: str
    scope: str


NOWHERE = RecordPlace(UNKNOWN, "", UNKNOWN, "", "", "")


class RecordPlaces:
    """The source locations of a tape's records, by the value ids of the results.

    The tape's recorder calls this object with each record, while the frames of the user's code run.
    """

    def __init__(self) -> None:
        self.by_id: dict[int, RecordPlace] = {}

    def __call__(self, record: Record) -> None:
        place = current_place()
        for value_id in results_of(record):
            self.by_id[value_id] = place

    def place_of_record(self, record: Record) -> RecordPlace:
        """Return the source location of a record; NOWHERE if this observer did not see the record."""
        return self.by_id.get(results_of(record)[0], NOWHERE)


def current_place() -> RecordPlace:
    """Return the source location of the running op, from the frames on the Python stack."""
    stack = [one for one in frames_outwards(sys._getframe(1)) if foreign(one)]
    if not stack:
        return NOWHERE
    frame = stack[0]
    own = next((one for one in stack if not is_installed_frame(one)), frame)
    modules = " / ".join(module_names(sys._getframe(1)))
    scope = modules or function_name(entry_frame(stack))
    return RecordPlace(
        line_of_frame(frame),
        frame.f_code.co_filename,
        line_of_frame(own),
        function_name(frame),
        modules,
        scope,
    )


def frames_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, the frame that called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def entry_frame(stack: list[FrameType]) -> FrameType:
    """Return the frame of the function in an installed package that the user's code called.

    Frames of lambdas and comprehensions are skipped if the package has other frames.  If the user's code
    itself ran the op, return its innermost frame.

    stack : the frames outside of arraytape and NumPy, the innermost first.
    """
    inside = []
    for frame in stack:
        if not is_installed_frame(frame):
            break
        inside.append(frame)
    named = [frame for frame in inside if "<" not in frame.f_code.co_qualname]
    return (named or inside or stack)[-1] if inside else stack[0]


def is_installed_frame(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return "site-packages" in file or "dist-packages" in file or file.startswith("<frozen")


def line_of_frame(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def self_of(frame: FrameType) -> Any:
    """Return the object whose method runs in a frame, or None if the first parameter is not ``self``."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return frame.f_locals.get("self") if names[:1] == ("self",) else None


def function_name(frame: FrameType) -> str:
    """Return the name of the function in a frame.

    The name is ``Class.method`` if the function has a ``self``, and the file's name for a script.
    """
    owner, name = self_of(frame), frame.f_code.co_qualname
    if owner is not None and "<" not in name:
        return f"{type(owner).__name__}.{frame.f_code.co_name}"
    if name == "<module>":
        return os.path.basename(frame.f_code.co_filename)
    return name.replace("<locals>.", "")


def module_names(frame: FrameType) -> list[str]:
    """Return the names of the Modules whose methods are running, the outermost first.

    An inner Module is named by the attribute of the outer Module that holds it, or else by its own name.
    """
    owners: list[Any] = []
    # Frames of arraytape count, too, since some of its classes are Modules.
    for one in reversed([*frames_outwards(frame)]):
        owner = self_of(one)
        if owner is not None and is_module(owner) and not any(owner is other for other in owners):
            owners.append(owner)
    pairs = zip([None, *owners], owners, strict=False)
    return [attribute_of(inner, outer) or str(inner.name) for outer, inner in pairs]


def is_module(x: Any) -> bool:
    """Return True if x is a Module.

    The test is by an attribute, since the import contract does not allow ``_tape`` to import Module.
    """
    return hasattr(type(x), "_module_name")


def attribute_of(x: Any, owner: Any) -> str:
    """Return the name of the attribute of ``owner`` that is ``x``, or ``name[i]`` for an item of a list.

    Return "" if no attribute holds x.
    """
    for name, value in vars(owner).items() if owner is not None else ():
        if value is x:
            return str(name)
        if isinstance(value, list | tuple):
            for i, part in enumerate(value):
                if part is x:
                    return f"{name}[{i}]"
    return ""
