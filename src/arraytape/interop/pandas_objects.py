"""Make pandas store Arrays as columns of numbers, in place of columns of objects of unknown type.

pandas tests for NumPy's classes where it makes a column of a list or scalar, looks values up, or tests
for a mask.  With the rules, a list of losses becomes a column of numbers.  Arrays that a tape follows
become a column that holds an Array, so that the gradient passes through the table.

The rules act without a context, and do nothing if no Array is met.  ``convert_column`` runs in the last
step of pandas' constructors.  That step neither warns nor raises errors, so pandas' own warnings name
the same lines as without arraytape.
"""

from __future__ import annotations

import contextlib
import functools
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

import arraytape as xp

from .._array.array import Array
from .._array.views import current
from .._dataframes import holds_arrays
from .._record.stack import recorders
from ._context import is_active
from ._statements import hooks, original

pandas_original = functools.cache(original)
COLUMNS, ALGORITHMS = "pandas.core.construction", "pandas.core.algorithms"
SCALARS, KEYS = "pandas.core.dtypes.cast", "pandas.core.common"
LARGEST = "pandas.core.methods.selectn"
ROWS = "FrameColumnApply._make_ea_row_builder"
INDEX, TARGET = "pandas.core.indexes.base", "Index._get_engine_target"
MERGE = "pandas.core.reshape.merge"
ESTIMATORS = "sklearn.utils._array_api"
BLOCKS, MANAGERS = "pandas.core.internals.blocks", "pandas.core.internals.managers"


@hooks(COLUMNS, "_sanitize_str_dtypes", always=True, dispatched=True)
def convert_column(result: Any, data: Any, dtype: Any, copy: bool) -> Any:
    if dtype is None and type(result) is np.ndarray and result.dtype == object and result.ndim == 1:
        result = with_numbers(result)
        if type(result) is not np.ndarray:
            return result
    return pandas_original(COLUMNS, "_sanitize_str_dtypes")(result, data, dtype, copy)


@hooks(COLUMNS, "extract_array", dispatched=True)
def keep_column(obj: Any, *options: Any, **keywords: Any) -> Any:
    """Replace pandas' ``extract_array``: return a column that holds an Array, if a tape follows it.

    Other objects are passed to pandas' function.
    """
    if isinstance(obj, Array) and obj.ndim == 1 and is_followed(obj):
        return array_column(obj)
    return original(COLUMNS, "extract_array")(obj, *options, **keywords)


@hooks(SCALARS, "construct_1d_arraylike_from_scalar", dispatched=True)
def repeat_scalar(value: Any, length: int, dtype: Any) -> Any:
    if dtype is None and isinstance(value, Array) and not value.ndim:
        if is_followed(value):
            return array_column(xp.broadcast_to(value, (length,)))
        value = value.item()
    return original(SCALARS, "construct_1d_arraylike_from_scalar")(value, length, dtype)


@hooks(ALGORITHMS, "isin", always=True, dispatched=True)
def find_values(comps: Any, values: Any) -> Any:
    if isinstance(values, Array) or (
        isinstance(values, list) and values and isinstance(values[0], Array)
    ):
        values = np.asarray(xp.stop_gradient(xp.asarray(values)))
    return pandas_original(ALGORITHMS, "isin")(comps, values)


@hooks(ALGORITHMS, "_ensure_data", always=True, dispatched=True)
def values_to_compare(values: Any) -> Any:
    """Replace pandas' ``_ensure_data``: return the values of a column of Arrays as NumPy data.

    pandas uses them only for comparisons within the column, so no derivative is lost.
    """
    if is_array_column(values):
        return column_values(values)
    return pandas_original(ALGORITHMS, "_ensure_data")(values)


@hooks(INDEX, TARGET, always=True, dispatched=True)
def values_to_look_up(index: Any) -> Any:
    """Return an index's values for pandas' hash table: Python numbers for Arrays, which have no hash."""
    if is_array_column(index):
        return column_values(index).astype(object)
    return pandas_original(INDEX, TARGET)(index)


@hooks(MERGE, "_factorize_keys", always=True, dispatched=True)
def factorize_keys(left: Any, right: Any, *options: Any, **keywords: Any) -> Any:
    """Run pandas' ``_factorize_keys``, which numbers the keys of a merge, on the values of Arrays.

    left, right : the columns of keys, each of which may hold an Array.
    """
    keys = [column_values(x) if is_array_column(x) else x for x in (left, right)]
    return pandas_original(MERGE, "_factorize_keys")(*keys, *options, **keywords)


@hooks(LARGEST, "SelectNSeries.compute", always=True, dispatched=True)
def largest_elements(select: Any, method: str) -> Any:
    """Return the largest or smallest elements of a column of Arrays, for ``nlargest`` of pandas.

    select : the pandas object for this selection.  The elements are found by their values, and taken
    from the column, so that a tape records the selection.
    """
    compute, column = pandas_original(LARGEST, "SelectNSeries.compute"), select.obj
    if not is_array_column(column):
        return compute(select, method)
    places = type(select)(pd.Series(column_values(column)), select.n, select.keep)
    return column.iloc[compute(places, method).index]


@hooks(BLOCKS, "Block._split_op_result", dispatched=True)
def split_columns(block: Any, result: Any) -> Any:
    """Return pandas blocks for ``result``, which an operator computed from the columns of ``block``.

    If it is an Array that a tape follows, each of its rows becomes a block, since a column of Arrays has
    one dimension.
    """
    if not isinstance(result, Array):
        return original(BLOCKS, "Block._split_op_result")(block, result)
    if not is_followed(result):
        return original(BLOCKS, "Block._split_op_result")(block, np.asarray(result))
    if result.ndim == 1:
        return [block.make_block(array_column(result))]
    places = [block.mgr_locs[i : i + 1] for i in range(len(result))]
    return [
        block.make_block(array_column(x), placement=i) for x, i in zip(result, places, strict=True)
    ]


@hooks("pandas.core.apply", ROWS, always=True, dispatched=True)
def build_rows(columns: Any, dtype: Any, cls: Any) -> Any:
    """Return a function from a position to that row of a table, for ``DataFrame.apply(axis=1)``.

    For columns of Arrays it joins the row's elements to one Array; pandas would make objects of them.
    """
    if not hasattr(dtype, "holds_array"):
        return pandas_original("pandas.core.apply", ROWS)(columns, dtype, cls)
    return lambda place: cls._from_sequence([column[place] for column in columns], dtype=dtype)


@hooks(MANAGERS, "BlockManager.as_array", always=True, dispatched=True)
def values_of_frame(manager: Any, dtype: Any = None, *options: Any, **keywords: Any) -> Any:
    """Return the values of a table as pandas does, but as objects if the table is one column of Arrays.

    Then ``DataFrame.values`` is an ndarray of objects, as it is for several columns of Arrays.
    """
    if dtype is None and len(manager.blocks) == 1 and is_array_column(manager.blocks[0]):
        dtype = np.dtype(object)
    return pandas_original(MANAGERS, "BlockManager.as_array")(manager, dtype, *options, **keywords)


@hooks(KEYS, "is_bool_indexer", always=True, dispatched=True)
def is_mask(key: Any) -> Any:
    """Return True for a mask, an Array of booleans.

    Without this rule, ``iloc`` would take False and True for the positions 0 and 1.
    """
    if isinstance(key, Array):
        return key.dtype.kind == "b"
    return pandas_original(KEYS, "is_bool_indexer")(key)


@hooks(ESTIMATORS, "_asarray_with_order", dispatched=True)
def values_without_derivative(array: Any, *options: Any, **keywords: Any) -> Any:
    """Convert a table of Arrays to numbers for scikit-learn, outside of ``interop.sklearn()``.

    Otherwise scikit-learn would get a table of objects, and raise errors that do not mention the table.
    """
    if not is_active("sklearn") and holds_arrays(array):
        with contextlib.suppress(TypeError):  # a column of text: scikit-learn takes objects
            array = np.asarray(xp.asarray(array))
    return original(ESTIMATORS, "_asarray_with_order")(array, *options, **keywords)


def with_numbers(column: np.ndarray[Any, Any]) -> Any:
    """Return a column of Arrays and numbers as a column of numbers.

    Return an ArrayColumn if a tape follows an Array in it.  Return the column unchanged if it holds no
    Array, or other objects.
    """
    for x in column:  # a column that begins with other objects, such as texts, is not searched
        if isinstance(x, Array):
            break
        if not is_number(x):
            return column
    else:
        return column
    if not all(not x.ndim if isinstance(x, Array) else is_number(x) for x in column):
        return column
    if any(isinstance(x, Array) and is_followed(x) for x in column):
        return array_column([np.nan if x is None else x for x in column])
    return pd.Series([x.item() if isinstance(x, Array) else x for x in column]).to_numpy()


def is_number(x: object) -> bool:
    return x is None or isinstance(x, Number)


def is_followed(x: Array) -> bool:
    """Return True if a tape follows x, and x holds real or complex floating-point numbers."""
    value_id, _ = current(x)
    return x.dtype.kind in "fc" and any(value_id in tape.followed for tape in recorders())


def is_array_column(x: Any) -> bool:
    return hasattr(getattr(x, "dtype", None), "holds_array")


def column_values(x: Any) -> np.ndarray[Any, Any]:
    from .._dataframes.pandas_columns import untracked_values

    return untracked_values(getattr(x, "array", x))


def array_column(values: Any) -> Any:
    from .._dataframes.pandas_columns import ArrayColumn

    return ArrayColumn(xp.asarray(values, copy=True))
