"""The exceptions and texts that say why a call is not replayed."""

from __future__ import annotations

NUMPY = ", a NumPy array,"  # follows the path of a NumPy array in messages


class Apart(Exception):
    """The error for a call that cannot be replayed, although other calls of the function may be.

    Its text is the reason.  The caller then runs the user's function.

    For example, an argument is a read-only view.
    """


class Changed(Exception):
    """The error for a Python value that has changed since the traced call.

    Its text is the value's path, such as "model.rate".  The caller then runs the function, and does not
    replay the call.
    """


def unreadable(error: Exception) -> str:
    """Return, as text, why a call is not replayed: the comparison of its state raised ``error``."""
    if isinstance(error, Apart):
        return str(error)
    return f"its arguments or state raise when they are compared ({type(error).__name__}: {error})"


def changed(path: str) -> None:
    """Raise Changed for the value at ``path``, such as "model.rate".

    Generated code calls this within expressions, where no ``raise`` may stand.
    """
    raise Changed(path)
