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
    """Convert ``arguments["array"]``, a table of Arrays or the ndarray of its values, to an Array.

    scikit-learn's function then runs with the changed arguments.  It has read the table's column names.
    """
    if holds_arrays(arguments["array"]):
        arguments["array"] = arraytape.asarray(arguments["array"])


@hooks("sklearn.utils._array_api", "_remove_non_arrays")
def arrays_in_tables(*arrays: Any, **options: Any) -> Any:
    """Return scikit-learn's choice of the arrays among the arguments, with an Array for each table.

    This runs in place of ``_remove_non_arrays``, whose result decides in which namespace scikit-learn
    computes, and which would leave tables out.
    """
    arrays = tuple([nested_arrays([x])[0] if holds_arrays(x) else x for x in arrays])
    return original("sklearn.utils._array_api", "_remove_non_arrays")(*arrays, **options)


@hooks("sklearn.utils._set_output", ADAPTER)
def table_of_arrays(
    adapter: Any, X_output: Any, X_original: Any, columns: Any, inplace: bool = True
) -> Any:
    """Return the columns of an Array as a DataFrame, for ``set_output(transform="pandas")``.

    X_output : the result of an estimator.  X_original : its input, whose index the table gets.
    """
    from ..._dataframes.pandas_tables import frame_of_columns

    if isinstance(X_output, Array) and X_output.ndim == 2:
        index = X_original.index if hasattr(X_original, "iloc") else None
        X_output = frame_of_columns(X_output, index)
    return original("sklearn.utils._set_output", ADAPTER)(
        adapter, X_output, X_original, columns, inplace
    )
