"""The parameter ``exits=`` of a tape ("warn", "raise" or "ignore"), and its default in this process."""

from __future__ import annotations

from .._util.errors import describe, user_line

MODES = ("warn", "raise", "ignore")
DEFAULT = ["warn"]


def mode_of(exits: str | None) -> str:
    """Return the checked argument ``exits=`` of a tape; if it is None, the default of the process."""
    if exits is None:
        return DEFAULT[0]
    if not isinstance(exits, str) or exits not in MODES:
        raise ValueError(
            f"exits must be 'warn', 'raise' or 'ignore', got {describe(exits)} [at {user_line()}]"
        )
    return exits


def set_exits(exits: str) -> str:
    """Set what tapes without ``exits=`` do when a value that the gradient needs has left the tape.

    Parameters
    ----------
    exits : str
        "warn", the default of a new process: a TapeWarning at the gradient.  "raise": a
        LostGradientError at the gradient.  "ignore": nothing.

    Returns
    -------
    str
        The mode before.

    Raises
    ------
    ValueError
        When ``exits`` is another word.

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
