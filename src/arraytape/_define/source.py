"""Writing Python source: lines, each indented as deep as the blocks around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Source:
    """Python source text under construction.

    >>> s = Source()
    >>> with s.block("if x is None:"):
    ...     s.line("x = 0")
    >>> s.text()
    'if x is None:\\n    x = 0\\n'
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line such as ``if x:``; lines that are added within the context are its block."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
