"""Source locations of running frames, for messages that name the user's line later.

A ``Place`` holds a code object and the index of an instruction, from which the line is computed only
when a message needs it.  A ``Place`` holds no frame, so it keeps none of the user's local variables
alive.
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

LIMIT = 100  # the maximum number of places in a stack
FOREIGN: dict[str, bool] = {}  # a cache from file names to ``outside(file)``


class Place(NamedTuple):
    """An instruction that a frame runs, from which a line is computed when a message needs it.

    code, instruction : the code object of the frame, and the index of the instruction in its bytecode.
    frame : the ``id`` of the frame; after the frame has ended, another one may get this ``id``.
    names : the globals of the frame if they are those of a module, or else NO_NAMES.
    """

    code: CodeType
    instruction: int
    frame: int
    names: dict[str, Any]

    @property
    def line_number(self) -> int:
        """Return the instruction's line in the file, or the function's first line if it has no line."""
        lines = [*self.code.co_positions()][self.instruction // 2][0]
        return lines or self.code.co_firstlineno

    @property
    def lies_in_library(self) -> bool:
        """Return True if the file of the code belongs to Python or to an installed package."""
        return is_installed(self.code.co_filename)

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line_number}"


Stack = tuple[Place, ...]
# The stacks that ``shared_stack`` returned last.  The keys contain the ``id`` of code
# objects; the stacks keep these code objects alive, so that no ``id`` is used again.
STACKS: dict[tuple[int, ...], Stack] = {}
MANY = 4096  # the maximum number of stacks in STACKS, which is cleared beyond
NO_NAMES: dict[str, Any] = {}  # the ``names`` of a Place whose globals are not those of a module
# True if places also hold globals that are not those of a module.  It is set in tasks on worker
# processes, to which functions are sent together with their globals.  No place outlives such a task.
ALL_NAMES: ContextVar[bool] = ContextVar("arraytape all names", default=False)


@functools.lru_cache(maxsize=8)
def installed_prefixes(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return prefixes of the paths of all files of Python and of installed packages.

    A file whose path begins with one of them is not the user's.

    path : ``sys.path`` as a tuple.
    """
    folders = {*map(folder_of, ("stdlib", "purelib", "platlib"))}
    others = [
        entry for entry in path if entry and entry not in folders and "-packages" not in entry
    ]
    packages = itertools.chain(*map(packages_in, others))
    return PACKAGE, NUMPY, "<frozen", *sorted(folders), *packages


def packages_in(folder: str) -> Iterator[str]:
    """Yield the prefixes of files that ``pip install --target`` put into a folder.

    Pip lists these files in the file RECORD of each package.
    """
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
    """Return True if a frame runs code outside of arraytape and NumPy; the answer is cached by file."""
    file = frame.f_code.co_filename
    known = FOREIGN.get(file)
    if known is None:
        known = FOREIGN[file] = foreign(frame)
    return known


def stack_here(*until: Container[int]) -> Stack:
    """Return a Place for each running frame outside of arraytape and NumPy, innermost first.

    until : for each recorder, such as a tape, the ``id`` of each frame that runs its ``with`` block.
    The stack ends when it has a frame of each recorder: frames further out are not needed.
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
    return tuple(found) if ALL_NAMES.get() else shared_stack(tuple(found))


def module_globals(frame: FrameType) -> dict[str, Any]:
    """Return a frame's globals if a Place may hold them: those of a module, or any if ALL_NAMES is set.

    Else return NO_NAMES, because a dict that was passed to ``exec``, for example, would stay alive.
    """
    names = frame.f_globals
    module = sys.modules.get(names.get("__name__", ""))
    kept = getattr(module, "__dict__", None) is names or ALL_NAMES.get()
    return names if kept else NO_NAMES


def shared_stack(stack: Stack) -> Stack:
    """Return the stack in STACKS that equals ``stack``; add ``stack`` if there is none.

    So the iterations of a loop share one stack.  Stacks of different frames are not equal, because
    ``cut_stack`` searches for frames by ``id``.
    """
    key = (*stack_key(stack), stack[-1].frame if stack else 0)
    if len(STACKS) > MANY:
        STACKS.clear()
    known = STACKS.get(key)
    if known is None or any(a.frame != b.frame for a, b in zip(known, stack, strict=True)):
        known = STACKS[key] = stack
    return known


def cut_stack(stack: Stack, frames: Container[int]) -> Stack:
    """Return a stack up to the first frame, from the inside, that runs a tape's ``with`` block.

    frames : the ``id`` of each frame that runs the block.  A stack with none of them is returned whole.
    """
    for i, place in enumerate(stack):
        if place.frame in frames:
            return stack[: i + 1]
    return stack


def innermost_outside_frame() -> FrameType | None:
    """Return the innermost running frame that is neither arraytape's nor NumPy's, or None."""
    frame: FrameType | None = sys._getframe(2)  # skips the caller, a function of arraytape
    while frame is not None:
        # Inlined from ``is_foreign_frame``, since each op may call this function.
        known = FOREIGN.get(frame.f_code.co_filename)
        if known or (known is None and is_foreign_frame(frame)):
            break
        frame = frame.f_back
    return frame


def innermost_user_place(stack: Stack) -> Place | None:
    """Return the innermost source location outside of installed packages, for a message.

    If there is none, return the innermost location, or None for an empty stack.
    """
    own = [place for place in stack if not place.lies_in_library]
    return next(iter([*own, *stack]), None)


def stack_key(stack: Stack) -> tuple[int, ...]:
    """Return a dict key for a stack of source locations: a flat tuple, two items for each location.

    The items are the id of the code object and the index of the instruction.
    """
    return tuple([part for place in stack for part in (id(place.code), place.instruction)])
