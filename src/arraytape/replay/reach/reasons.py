"""Reasons why a call is not replayed, or why a program does not hold for it."""

from __future__ import annotations


class Apart(Exception):
    """The reason why one call runs the function itself, whatever similar calls do."""


class Changed(Exception):
    """The reason why a program does not hold: the path of a value that has changed."""


def unreadable(error: Exception) -> str:
    """Return the reason for a call whose arguments or state raise when they are read."""
    if isinstance(error, Apart):
        return str(error)
    return f"what it takes or reads cannot be looked at ({type(error).__name__}: {error})"


def changed(path: str) -> None:
    raise Changed(path)
