"""The progress of a build in a few lines: Sphinx prints a line for each of a thousand pages."""

from __future__ import annotations

import io
import re
from typing import TextIO


class Tenths(io.StringIO):
    """A stream that passes on the lines of Sphinx's progress, one for each tenth of its pages."""

    PERCENT = re.compile(r"(.*)\[ *(\d+)%\]")
    COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
    WIDTH = 100

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self.out, self.rest, self.last = out, "", ""

    def write(self, text: str) -> int:
        *lines, self.rest = re.split("[\r\n]+", self.rest + self.COLOUR.sub("", text))
        for line in map(self.brief, lines):
            if line.strip() and line != self.last:
                print(line, file=self.out, flush=True)
            self.last = line
        return len(text)

    def brief(self, line: str) -> str:
        """Return a line with its percentage rounded down to tens, or the beginning of a long line."""
        if progress := self.PERCENT.match(line):
            return f"{progress[1]}{int(progress[2]) // 10 * 10} %"
        return line if len(line) <= self.WIDTH else f"{line[: self.WIDTH]}..."
