"""Messages: what happened, on what, and what to do about it."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class TapeWarning(UserWarning):
    """A gradient may not be what the caller expects: the message says why and where."""


def user_frame() -> FrameType | None:
    """The innermost running frame that is not arraytape's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, "<arraytape")):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """``file:line`` of the innermost running frame that is not arraytape's own."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown line"


def stacklevel() -> int:
    """The ``stacklevel`` with which the caller's warning points at the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, "<arraytape")):
        level, frame = level + 1, frame.f_back
    return level


def describe(value: Any) -> str:
    """What an argument is, in few words: dtype and shape of an array, type and value of the rest."""
    if type(value) in (list, tuple) and any(hasattr(part, "dtype") for part in value):
        return f"[{', '.join(describe(part) for part in value)}]"
    if isinstance(value, type):
        return value.__name__
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        kind = type(value).__name__ if type(value).__module__ != "arraytape._array.array" else ""
        device = str(getattr(value, "device", "cpu"))
        return f"{kind} {dtype}({dims})".strip() + (f" on {device}" if device != "cpu" else "")
    text, _, more = repr(value).partition("\n")
    short = text if len(text) <= 40 and not more else text[:37] + "..."
    return f"{type(value).__name__} {short}"


# The exceptions that an op documents; whatever a storage raises becomes the nearest of these.
DOCUMENTED = (IndexError, OverflowError, ZeroDivisionError, MemoryError, BufferError, ValueError)


def explain(op: str, error: Exception, **arguments: Any) -> Exception:
    """The documented exception for what a storage raised in ``op``: same kind, said with the inputs.

    LinAlgError stays itself; an AttributeError or KeyError from inside becomes a TypeError.
    """
    what = ", ".join(f"{name}: {describe(value)}" for name, value in arguments.items())
    message = f"{op}({what}) failed: {error} [at {user_line()}]"
    if isinstance(error, Warning | FloatingPointError):  # somebody asked for warnings as errors
        return type(error)(message)
    for kind in DOCUMENTED:
        if isinstance(error, kind):
            plain = type(error) if type(error).__name__ == "LinAlgError" else kind
            return plain(message)
    return TypeError(message)
