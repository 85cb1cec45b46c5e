"""Let tables of pandas and polars be arguments of ``grad`` and ``asarray``.  See README.md."""

from numbers import Number

import numpy as np

from .._array.array import Array
from .._util.container_kinds import KINDS


def holds_arrays(value: object) -> bool:
    """Return True if ``value`` is a pandas table with an Array in a column, or ``to_numpy()`` of one.

    ``to_numpy()`` of such a table is an ndarray of objects: Arrays, and numbers of the other columns.
    """
    if type(value) is np.ndarray:
        return (
            value.dtype == object
            and all(isinstance(x, Array | Number) for x in value.flat)
            and any(isinstance(x, Array) for x in value.flat)
        )
    kind = KINDS[type(value)]
    if kind is None or kind.as_array is None:
        return False
    dtypes = getattr(value, "dtypes", ())  # a Series has one dtype under this name
    return any(
        hasattr(x, "holds_array") for x in (dtypes if hasattr(dtypes, "__iter__") else [dtypes])
    )
