"""A writer of Python source text, which indents lines according to the blocks around them."""

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
        """Add a line such as ``if x:``; lines that are added in the context get one more indentation."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
