"""NumPy's error state during the run of a program whose function used ``np.errstate`` in its body.

The whole program runs without NumPy's warnings, although the function silenced only a part of its body.
It runs in a copy of the current context, so that the caller's error state stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

from .._util.blocks import error_state, set_error_state
from .reach.reasons import Apart

# The error state of the last caller, and the silent state that was made for it.  They are a cache,
# because np.seterr takes microseconds.
LAST: tuple[Any, Any] = (None, None)


def silently(run: Callable[..., Any], *data: Any) -> Any:
    """Return ``run(*data)``, computed without NumPy's warnings.

    Raise Apart (the caller then runs the user's function) if np.errstate makes NumPy raise errors.
    """
    return copy_context().run(in_silence, run, data)


def in_silence(run: Callable[..., Any], data: Any) -> Any:
    silence()
    return run(*data)


def silence() -> None:
    """Turn off NumPy's warnings in the current context, which must be a copy of the caller's context.

    Raise Apart (the user's function has to run) if ``np.errstate`` turns warnings into errors.
    """
    global LAST
    around, within = LAST
    if error_state() is around:
        set_error_state(within)
    else:
        around = error_state()
        if "raise" in np.seterr(all="ignore").values():
            raise Apart("np.errstate around it makes NumPy raise errors")
        LAST = around, error_state()
