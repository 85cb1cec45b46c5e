"""Exceptions and texts for the reasons why a call is not replayed."""

from __future__ import annotations


class Apart(Exception):
    """The error whose text is the reason why one call runs the function itself.

    Other calls of the same function may still be replayed.
    """


class Changed(Exception):
    """The error if state differs from that of the traced call; its text is the path of the value."""


def unreadable(error: Exception) -> str:
    """Return the reason for a call whose arguments or state raise the exception when they are read."""
    if isinstance(error, Apart):
        return str(error)
    return f"its arguments or state raise when they are compared ({type(error).__name__}: {error})"


def changed(path: str) -> None:
    raise Changed(path)
