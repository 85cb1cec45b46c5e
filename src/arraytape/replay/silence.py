"""NumPy's error state while a program runs whose function set ``np.errstate`` for a part of it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

from .._util.blocks import error_state, set_error_state
from .reach.reasons import Apart

LAST: tuple[Any, Any] = (None, None)  # the error state around the last program, and that within it


def silently(run: Callable[..., Any], *data: Any) -> Any:
    """Run a program without NumPy's warnings; raise Apart where errors are to be raised."""
    return copy_context().run(in_silence, run, data)


def in_silence(run: Callable[..., Any], data: Any) -> Any:
    silence()
    return run(*data)


def silence() -> None:
    """Have NumPy say nothing: for a copy of the context, with which that goes in any case."""
    global LAST
    around, within = LAST
    if error_state() is around:
        set_error_state(within)
    else:
        around = error_state()
        if "raise" in np.seterr(all="ignore").values():
            raise Apart("np.errstate says that errors are raised")
        LAST = around, error_state()
