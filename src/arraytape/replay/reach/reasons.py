"""Why a call is not replayed, or a program does not hold for it."""

from __future__ import annotations


class Apart(Exception):
    """Why one call runs as it is, whatever calls like it do."""


class Changed(Exception):
    """Why a program does not hold for a call: the path of what is another value."""


def unreadable(error: Exception) -> str:
    """Why a call runs as it is whose arguments or state cannot be looked at."""
    if isinstance(error, Apart):
        return str(error)
    return f"what it takes or reads cannot be looked at ({type(error).__name__}: {error})"


def changed(path: str) -> None:
    raise Changed(path)
