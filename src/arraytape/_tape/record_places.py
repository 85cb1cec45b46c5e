"""Where records are made: the user's line, function and Modules.

``Places`` is an observer of a ``Recording``; a tape without this observer walks no frames.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from .._record.plan import Record, results_of
from .._util.errors import foreign, user_frame

UNKNOWN = "an unknown line"


class Place(NamedTuple):
    """The source location of a record.

    line : ``file:line`` of the innermost line that is neither arraytape's nor NumPy's.  file : the file
    of that line.  caller : the innermost such line outside installed packages.  function : the function
    of ``line``, with the class of its ``self``.  modules : the names of the running Modules, outermost
    first.  scope : ``modules``; without any, the function, or the function of an installed package that
    the user's code called.
    """

    line: str
    file: str
    caller: str
    function: str
    modules: str
    scope: str


NOWHERE = Place(UNKNOWN, "", UNKNOWN, "", "", "")


class Places:
    """An observer that notes the place of each record, by the ids of its results."""

    def __init__(self) -> None:
        self.by_id: dict[int, Place] = {}

    def __call__(self, record: Record) -> None:
        place = here()
        for value_id in results_of(record):
            self.by_id[value_id] = place

    def place_of_record(self, record: Record) -> Place:
        """Return the place of a record; NOWHERE if it was made without the observer."""
        return self.by_id.get(results_of(record)[0], NOWHERE)


def here() -> Place:
    frame = user_frame()
    if frame is None:
        return NOWHERE
    stack = [one for one in outwards(frame) if foreign(one)]
    own = next((one for one in stack if not is_installed_frame(one)), frame)
    modules = " / ".join(module_names(sys._getframe(1)))
    scope = modules or function_name(entry(stack))
    return Place(
        line_of_frame(frame),
        frame.f_code.co_filename,
        line_of_frame(own),
        function_name(frame),
        modules,
        scope,
    )


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def entry(stack: list[FrameType]) -> FrameType:
    """Return the innermost frame, or the outermost named one of the installed package that it is in."""
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
    """Return the first argument of a function whose first parameter is called ``self``."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return frame.f_locals.get("self") if names[:1] == ("self",) else None


def function_name(frame: FrameType) -> str:
    """Return ``Class.method`` by the class of ``self``, a function's name, or a script's file name."""
    owner, name = self_of(frame), frame.f_code.co_qualname
    if owner is not None and "<" not in name:
        return f"{type(owner).__name__}.{frame.f_code.co_name}"
    if name == "<module>":
        return os.path.basename(frame.f_code.co_filename)
    return name.replace("<locals>.", "")


def module_names(frame: FrameType) -> list[str]:
    """Return the names of the Modules that are running, outermost first.

    The name of an inner Module is the attribute of the outer one that holds it, or else its own name.
    """
    owners: list[Any] = []
    for one in reversed(
        [*outwards(frame)]
    ):  # also arraytape's frames: some of its classes are Modules
        owner = self_of(one)
        if owner is not None and is_module(owner) and not any(owner is other for other in owners):
            owners.append(owner)
    pairs = zip([None, *owners], owners, strict=False)
    return [attribute_of(inner, outer) or str(inner.name) for outer, inner in pairs]


def is_module(x: Any) -> bool:
    """Return True for a Module, known by an attribute: its class is of a higher room."""
    return hasattr(type(x), "_module_name")


def attribute_of(x: Any, owner: Any) -> str:
    """Return the attribute that holds ``x``, also in a list or tuple; "" if there is none."""
    for name, value in vars(owner).items() if owner is not None else ():
        if value is x:
            return str(name)
        if isinstance(value, list | tuple):
            for i, part in enumerate(value):
                if part is x:
                    return f"{name}[{i}]"
    return ""
