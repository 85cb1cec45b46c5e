"""Let scikit-learn's estimators accept and return DataFrames whose columns hold Arrays."""

from __future__ import annotations

from typing import Any

import arraytape

from ..._array.array import Array
from ..._dataframes import holds_arrays
from .._statements import hooks, original, prepares
from ._fits import nested_arrays

ADAPTER = "PandasAdapter.create_container"


@prepares("sklearn.utils.validation", "check_array")
@prepares("sklearn.utils._indexing", "_array_indexing")
def table_as_array(arguments: dict[str, Any]) -> None:
    """Convert a table of Arrays, or the values of one, to an Array, before scikit-learn's function runs.

    scikit-learn has read the column names of the table already.

    arguments : the function's arguments by name, which are changed.
    """
    if holds_arrays(arguments["array"]):
        arguments["array"] = arraytape.asarray(arguments["array"])


@hooks("sklearn.utils._array_api", "_remove_non_arrays")
def arrays_in_tables(*arrays: Any, **options: Any) -> Any:
    """Return the arguments that are arrays, with an Array for each table.

    This replaces scikit-learn's ``_remove_non_arrays``.

    scikit-learn chooses the namespace by the arrays that this function returns, and would ignore a
    table.
    """
    arrays = tuple([nested_arrays([x])[0] if holds_arrays(x) else x for x in arrays])
    return original("sklearn.utils._array_api", "_remove_non_arrays")(*arrays, **options)


@hooks("sklearn.utils._set_output", ADAPTER)
def table_of_arrays(
    adapter: Any, X_output: Any, X_original: Any, columns: Any, inplace: bool = True
) -> Any:
    """Return a DataFrame whose columns hold those of an Array, for ``set_output("pandas")``.

    X_output : the result of an estimator.  X_original : its input, whose index the table gets.
    """
    from ..._dataframes.pandas_tables import frame_of_columns

    if isinstance(X_output, Array) and X_output.ndim == 2:
        index = X_original.index if hasattr(X_original, "iloc") else None
        X_output = frame_of_columns(X_output, index)
    return original("sklearn.utils._set_output", ADAPTER)(
        adapter, X_output, X_original, columns, inplace
    )
