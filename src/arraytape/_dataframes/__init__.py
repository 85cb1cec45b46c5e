"""Let tables of pandas and polars be arguments of ``grad`` and ``asarray``.  See README.md."""

from .._util.container_kinds import KINDS


def holds_arrays(value: object) -> bool:
    """Return True if ``value`` is a table of pandas with a column that holds an Array."""
    kind = KINDS[type(value)]
    if kind is None or kind.as_array is None:
        return False
    dtypes = getattr(value, "dtypes", ())  # a Series has one dtype under this name
    return any(
        hasattr(x, "holds_array") for x in (dtypes if hasattr(dtypes, "__iter__") else [dtypes])
    )
