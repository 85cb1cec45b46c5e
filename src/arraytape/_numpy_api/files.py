"""NumPy's functions that write arrays to files or as text, on Arrays.

What ``np.save(file, x)`` writes leaves the tape, as with ``np.asarray``: a gradient that is cut by it
names the line.  Text is only looked at, as that of ``print``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.exits import leave_tapes
from .numpy_arguments import on_host


def on_host_data(function: Callable[..., Any], leaves: bool) -> Callable[..., Any]:
    """A NumPy function that takes the host data of each Array; ``leaves``: the tapes remember it."""
    how = f"np.{function.__name__}()"

    def host(x: Any) -> Any:
        if not isinstance(x, Array):
            return x
        if leaves:
            leave_tapes(x, how)
        return on_host(x)

    def call(*args: Any, **options: Any) -> Any:
        return function(*map(host, args), **{name: host(x) for name, x in options.items()})

    return call


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{f: on_host_data(f, True) for f in (np.save, np.savetxt, np.savez, np.savez_compressed)},
    **{f: on_host_data(f, False) for f in (np.array2string, np.array_repr, np.array_str)},
}
