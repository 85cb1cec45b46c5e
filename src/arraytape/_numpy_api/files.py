"""NumPy's functions that write arrays to files or print them, such as ``np.save(file, x)``, on Arrays.

``np.save`` converts x to data that no tape follows, as ``np.asarray(x)`` does.  Tapes note the
conversion, so that the message about a gradient of None can name the line.  A conversion to text for
printing is not noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.exits import leave_tapes
from .numpy_arguments import host_values


def on_host_data(function: Callable[..., Any], leaves: bool) -> Callable[..., Any]:
    """Return ``function``, such as ``np.save``, wrapped so that it gets NumPy arrays in place of Arrays.

    leaves : True if tapes note each conversion of an Array to a NumPy array, for messages.
    """
    how = f"np.{function.__name__}()"

    def host_data_of_array(x: Any) -> Any:
        if not isinstance(x, Array):
            return x
        if leaves:
            leave_tapes(x, how)
        return host_values(x)

    def call_on_host_data(*args: Any, **options: Any) -> Any:
        return function(
            *map(host_data_of_array, args),
            **{name: host_data_of_array(x) for name, x in options.items()},
        )

    return call_on_host_data


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{f: on_host_data(f, True) for f in (np.save, np.savetxt, np.savez, np.savez_compressed)},
    **{f: on_host_data(f, False) for f in (np.array2string, np.array_repr, np.array_str)},
}
