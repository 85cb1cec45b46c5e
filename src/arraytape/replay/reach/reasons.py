"""Exceptions and texts for the reasons why a call is not replayed."""

from __future__ import annotations


class Apart(Exception):
    """The error for a call that cannot be replayed, although other calls of the function may be.

    Its text is the reason.
    """


class Changed(Exception):
    """The error if a Python value has changed since the traced call; its text is the value's path."""


def unreadable(error: Exception) -> str:
    """Return the reason, as text, why a call is not replayed: the read of its state raised ``error``."""
    if isinstance(error, Apart):
        return str(error)
    return f"its arguments or state raise when they are compared ({type(error).__name__}: {error})"


def changed(path: str) -> None:
    raise Changed(path)
