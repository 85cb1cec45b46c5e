"""Modes for exits: ``exits=`` of a tape, and the default of the process."""

from __future__ import annotations

from .._util.errors import describe, user_line

MODES = ("warn", "raise", "ignore")
DEFAULT = ["warn"]


def mode_of(exits: str | None) -> str:
    """Return a mode, None for the default; raise ValueError for another word."""
    if exits is None:
        return DEFAULT[0]
    if not isinstance(exits, str) or exits not in MODES:
        raise ValueError(
            f"exits must be 'warn', 'raise' or 'ignore', got {describe(exits)} [at {user_line()}]"
        )
    return exits


def set_exits(exits: str) -> str:
    """Say what every tape does, unless it says so itself, when a value left that its gradient needs.

    Parameters
    ----------
    exits : str
        "warn": a TapeWarning at the gradient, which is where it begins.  "raise": a LostGradientError
        at the gradient.  "ignore": nothing.

    Returns
    -------
    str
        What was set before.

    Raises
    ------
    ValueError
        When it is another word.

    Examples
    --------
    >>> import arraytape as xp
    >>> before = xp.set_exits("raise")  # all tapes raise where a gradient is lost
    >>> before
    'warn'
    >>> xp.set_exits(before)
    'raise'
    """
    before, DEFAULT[0] = DEFAULT[0], mode_of(exits)
    return before
