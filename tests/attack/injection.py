"""What raises at the k-th bytecode that arraytape's code runs."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
from pathlib import Path

import arraytape

PACKAGE = str(Path(arraytape.__file__).parent)
# Locks are left by C code that Python does not interrupt: at the few bytecodes that call it no signal is
# handled and no memory asked for, and whoever raised there would leave them locked.
LOCKED = re.compile(r"\s*with ([A-Z_]+|self\.(counting|noting)):")


def traced(code):
    """Whether a function is arraytape's, or contextlib's, which some of its contexts are made with."""
    file = code.co_filename
    return file.startswith((PACKAGE, "<arraytape")) or file == contextlib.__file__


class Injection:
    """Within it ``error`` is raised at the bytecode of the given number; with None they are counted."""

    def __init__(self, at=None, error=KeyboardInterrupt):
        self.at, self.error, self.count, self.where = at, error, 0, ""
        self.swallowed = False

    def __enter__(self):
        self.hook, sys.unraisablehook = sys.unraisablehook, self.unraisable
        sys.settrace(self.call)
        return self

    def __exit__(self, *error):
        sys.settrace(None)
        sys.unraisablehook = self.hook

    def call(self, frame, event, argument):
        if not traced(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return self.each

    def each(self, frame, event, argument):
        if event != "opcode" or is_lock(frame):
            return self.each
        if self.count == self.at:
            code = frame.f_code
            self.where = f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
            self.count += 1
            raise self.error("injected")
        self.count += 1
        return self.each

    def unraisable(self, told):
        """An error where Python cannot raise: in a finaliser or a callback."""
        self.swallowed = True


def is_lock(frame):
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno or 0)
    return LOCKED.match(line) is not None
