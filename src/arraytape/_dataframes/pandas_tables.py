"""Register DataFrame and Series of pandas as containers whose leaves are their columns of numbers.

They can be converted to arrays, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from .._array.array import Array, namespace
from .._util.container_kinds import TABLES, Kind
from . import holds_arrays
from .messages import no_numbers
from .pandas_columns import ArrayColumn


def numbers_of(series: pd.Series) -> Any:
    """Return the Array that a Series of numbers holds, or a NumPy array with NaN for missing numbers."""
    if isinstance(series.array, ArrayColumn):
        return series.array._array
    values = series.to_numpy()
    return series.to_numpy(np.float64, na_value=np.nan) if values.dtype == object else values


def column_of(part: Any, series: pd.Series) -> Any:
    """Return the data of a column that replaces ``series``, for example by its gradient.

    part : the new numbers.  Return None if the shapes differ.
    """
    if isinstance(part, Array | np.ndarray) and part.shape == series.shape:
        return ArrayColumn(part) if isinstance(part, Array) else part
    return None


# --- nestings -------------------------------------------------------------------------------------
def columns_by_key(table: pd.DataFrame) -> dict[Any, pd.Series]:
    """Return a dict of the columns of a table by name, or by position if two have the same name."""
    names = table.columns if table.columns.is_unique else range(table.shape[1])
    return {name: table.iloc[:, i] for i, name in enumerate(names)}


def flatten_frame(table: pd.DataFrame) -> tuple[dict[Any, Any], pd.DataFrame]:
    columns = columns_by_key(table)
    return {name: numbers_of(x) for name, x in columns.items() if is_numeric_dtype(x)}, table


def unflatten_frame(table: pd.DataFrame, parts: Mapping[Any, Any]) -> Any:
    """Return ``table`` with new numbers in its columns, for example gradients in place of values.

    parts : the new columns by name.  Return ``dict(parts)`` if one differs in shape from its column.
    """
    columns = columns_by_key(table)
    found = {name: column_of(part, columns[name]) for name, part in parts.items()}
    if any(column is None for column in found.values()):
        return dict(parts)
    # By this constructor pandas does not copy the Arrays, which a tape may watch.
    taken = [
        pd.Series(found[name], table.index, copy=False) if name in found else column
        for name, column in columns.items()
    ]
    made = table._constructor(dict(enumerate(taken)), table.index, copy=False)  # a subclass, too
    made.columns, made.attrs = table.columns, table.attrs
    return made


def flatten_series(series: pd.Series) -> tuple[Sequence[Any], pd.Series]:
    return ([numbers_of(series)] if is_numeric_dtype(series) else []), series


def unflatten_series(series: pd.Series, parts: Sequence[Any]) -> Any:
    """Return a Series like ``series`` with other numbers, for example with its gradient.

    parts : [numbers], or [] if ``series`` has no numbers and is returned unchanged.  Numbers whose shape
    differs from that of ``series`` are returned as they are.
    """
    if not parts:
        return series
    column = column_of(parts[0], series)
    return (
        parts[0]
        if column is None
        else pd.Series(column, series.index, name=series.name, copy=False)
    )


# --- arrays ---------------------------------------------------------------------------------------
def series_as_array(series: pd.Series) -> Any:
    """Return a Series of numbers as an array, or a list of its objects if one of them is an Array.

    Raise TypeError for any other Series.
    """
    if is_numeric_dtype(series.dtype):
        return numbers_of(series)
    objects = series.tolist()
    if any(isinstance(x, Array) for x in objects):
        return objects
    raise no_numbers("Series", {series.name: series.dtype}, [])


def frame_as_array(table: pd.DataFrame) -> Any:
    """Return a table of numbers as one array, shaped (rows, columns).

    Raise TypeError for tables with other columns.
    """
    others = {name: x for name, x in table.dtypes.items() if not is_numeric_dtype(x)}
    if others:
        raise no_numbers("DataFrame", others, [name for name in table if name not in others])
    if holds_arrays(table):
        parts = columns_by_key(table).values()
        return namespace().stack([namespace().asarray(numbers_of(x)) for x in parts], axis=1)
    values = table.to_numpy()
    if values.dtype != object:
        return values
    return np.stack([numbers_of(x) for x in columns_by_key(table).values()], axis=1)


def frame_of_columns(x: Array, index: pd.Index | None) -> pd.DataFrame:
    """Return a table whose columns hold the columns of x, an Array of two dimensions.

    index : the table's row labels; None numbers them.
    """
    return pd.DataFrame({i: ArrayColumn(x[:, i]) for i in range(x.shape[1])}, index=index)


TABLES.append((pd.DataFrame, Kind(flatten_frame, unflatten_frame, False, as_array=frame_as_array)))
TABLES.append((pd.Series, Kind(flatten_series, unflatten_series, False, as_array=series_as_array)))
