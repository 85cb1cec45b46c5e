"""NumPy's error state in programs whose function set ``np.errstate`` for a part of its body."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

from .._util.blocks import error_state, set_error_state
from .reach.reasons import Apart

# The error states around the last program and within it: np.seterr takes microseconds.
LAST: tuple[Any, Any] = (None, None)


def silently(run: Callable[..., Any], *data: Any) -> Any:
    """Run a program without NumPy's warnings; raise Apart if NumPy must raise errors."""
    return copy_context().run(in_silence, run, data)


def in_silence(run: Callable[..., Any], data: Any) -> Any:
    silence()
    return run(*data)


def silence() -> None:
    """Turn off warnings in the current context, which must be a copy that is discarded."""
    global LAST
    around, within = LAST
    if error_state() is around:
        set_error_state(within)
    else:
        around = error_state()
        if "raise" in np.seterr(all="ignore").values():
            raise Apart("np.errstate says that errors are raised")
        LAST = around, error_state()
