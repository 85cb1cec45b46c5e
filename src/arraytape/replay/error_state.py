"""NumPy's error state in replays of a function that used ``np.errstate`` in its body.

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


def run_silently(run: Callable[..., Any], *data: Any) -> Any:
    """Return ``run(*data)``, computed without NumPy's warnings.

    Replays of a function that used ``np.errstate`` call it.  Raise Apart, so that the caller runs the
    user's function, if ``np.errstate`` around the call makes NumPy raise errors.
    run : the function that runs the program.
    data : its inputs.
    """
    return copy_context().run(silence_and_run, run, data)


def silence_and_run(run: Callable[..., Any], data: Any) -> Any:
    """Turn off NumPy's warnings and run a program, in a context that is a copy of the caller's."""
    silence_numpy()
    return run(*data)


def silence_numpy() -> None:
    """Turn off NumPy's warnings in the current context, which must be a copy of the caller's context.

    Raise Apart, so that the caller runs the user's function, if ``np.errstate`` makes NumPy raise
    errors.
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
