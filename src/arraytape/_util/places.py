"""Places in the user's code: the running frames, as code objects and instructions.

A ``Place`` refers to no frame, so it keeps no local variable of the user's alive.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
from collections.abc import Container, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .errors import NUMPY, PACKAGE, folder_of, foreign

LIMIT = 100  # frames
FOREIGN: dict[str, bool] = {}  # by file: whether its frames are neither arraytape's own nor NumPy's


class Place(NamedTuple):
    """An instruction that ran in a frame of the user's, or of a library's.

    frame : the frame's address, by which it is known as long as it runs.  names : its globals, if they
    are a module's.
    """

    code: CodeType
    instruction: int
    frame: int
    names: dict[str, Any]

    @property
    def line_number(self) -> int:
        """Return the line in the file; the function's first line if the instruction has none."""
        lines = [*self.code.co_positions()][self.instruction // 2][0]
        return lines or self.code.co_firstlineno

    @property
    def lies_in_library(self) -> bool:
        """Return True if the file belongs to Python or to an installed package."""
        return is_installed(self.code.co_filename)

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line_number}"


Stack = tuple[Place, ...]
STACKS: dict[tuple[int, ...], Stack] = {}  # codes are known by their addresses, so they are kept
MANY = 4096
NO_NAMES: dict[str, Any] = {}  # in the place of globals that are no module's
# Whether places have those globals, too: in a task on a worker, whose functions were sent there with
# globals of their own.  No place outlives such a task.
ALL_NAMES: ContextVar[bool] = ContextVar("arraytape all names", default=False)


@functools.lru_cache(maxsize=8)
def installed_prefixes(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return how the files of Python and of packages installed on ``path`` begin.

    Asked for late: see ``folder_of``.
    """
    folders = {*map(folder_of, ("stdlib", "purelib", "platlib"))}
    others = [
        entry for entry in path if entry and entry not in folders and "-packages" not in entry
    ]
    packages = itertools.chain(*map(packages_in, others))
    return PACKAGE, NUMPY, "<frozen", *sorted(folders), *packages


def packages_in(folder: str) -> Iterator[str]:
    """Yield how the files begin that ``pip install --target`` put into a folder, by its own records."""
    for record in Path(folder).glob("*.dist-info/RECORD"):
        with contextlib.suppress(OSError, UnicodeError):
            files = [line.partition(",")[0] for line in record.read_text("utf-8").splitlines()]
            for top in {name.partition("/")[0] for name in files}:
                if not top.endswith((".dist-info", "..")):
                    yield os.path.join(folder, top) + ("" if top.endswith(".py") else os.sep)


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Return True if a file belongs to Python or to an installed package."""
    folders = ("site-packages", "dist-packages")
    return file.startswith(installed_prefixes(tuple(map(str, sys.path)))) or any(
        name in file for name in folders
    )


def is_foreign_frame(frame: FrameType) -> bool:
    """Return True if a frame is neither arraytape's nor NumPy's; by file, in a cache."""
    file = frame.f_code.co_filename
    known = FOREIGN.get(file)
    if known is None:
        known = FOREIGN[file] = foreign(frame)
    return known


def stack_here(*until: Container[int]) -> Stack:
    """Return the running frames that are neither arraytape's nor NumPy's, innermost first.

    until : for each recorder the addresses of the frames of its blocks; frames around all of them are
    left out.
    """
    found: list[Place] = []
    frame: FrameType | None = sys._getframe(1)
    until = until or ((),)
    while frame is not None and len(found) < LIMIT:
        if is_foreign_frame(frame):
            found.append(Place(frame.f_code, frame.f_lasti, id(frame), module_globals(frame)))
            until = tuple([frames for frames in until if id(frame) not in frames])
            if not until:
                break
        frame = frame.f_back
    return tuple(found) if ALL_NAMES.get() else one_of_its_kind(tuple(found))


def module_globals(frame: FrameType) -> dict[str, Any]:
    """Return the globals of a frame, if they are a module's.

    Others, which ``exec`` was given, may be freed with all that they hold: a place must not keep them.
    """
    names = frame.f_globals
    module = sys.modules.get(names.get("__name__", ""))
    kept = getattr(module, "__dict__", None) is names or ALL_NAMES.get()
    return names if kept else NO_NAMES


def one_of_its_kind(stack: Stack) -> Stack:
    """Return the last stack that was like this one: a loop leaves at one place over and over.

    In the very same frames, since ``cut_stack`` searches for one of them.
    """
    key = (*stack_key(stack), stack[-1].frame if stack else 0)
    if len(STACKS) > MANY:
        STACKS.clear()
    known = STACKS.get(key)
    if known is None or any(a.frame != b.frame for a, b in zip(known, stack, strict=True)):
        known = STACKS[key] = stack
    return known


def cut_stack(stack: Stack, frames: Container[int]) -> Stack:
    for i, place in enumerate(stack):
        if place.frame in frames:
            return stack[: i + 1]
    return stack


def frame_that_counts() -> FrameType | None:
    """Return the innermost running frame of neither arraytape nor NumPy, such as that of a block."""
    frame: FrameType | None = sys._getframe(2)  # the caller is arraytape's
    while frame is not None:
        known = FOREIGN.get(frame.f_code.co_filename)  # as ``is_foreign_frame``, without a frame
        if known or (known is None and is_foreign_frame(frame)):
            break
        frame = frame.f_back
    return frame


def own_place(stack: Stack) -> Place | None:
    """Return the innermost place in code that is not installed; else the innermost."""
    own = [place for place in stack if not place.lies_in_library]
    return next(iter([*own, *stack]), None)


def stack_key(stack: Stack) -> tuple[int, ...]:
    """Return code and instruction of each frame, which tell stacks apart."""
    return tuple([part for place in stack for part in (id(place.code), place.instruction)])
