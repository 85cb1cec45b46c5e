"""Tables of pandas and polars, as containers of columns of numbers and as arrays.  See README.md."""

from .._util.container_kinds import KINDS


def holds_arrays(value: object) -> bool:
    """Return True for a table of pandas that has a column of Arrays."""
    kind = KINDS[type(value)]
    if kind is None or kind.as_array is None:
        return False
    dtypes = getattr(value, "dtypes", ())  # a Series has one dtype under this name
    return any(
        hasattr(x, "holds_array") for x in (dtypes if hasattr(dtypes, "__iter__") else [dtypes])
    )
