"""Register DataFrame and Series of polars as containers whose leaves are their columns of numbers.

A table of polars cannot hold Arrays.  If the numbers of a Series are replaced by an Array, the result is
the Array itself.  For a DataFrame the result is a dict of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from .._util.container_kinds import TABLES, Kind
from .messages import no_numbers


def is_number(dtype: pl.DataType) -> bool:
    return bool(dtype.is_numeric() or dtype == pl.Boolean)


def flatten_series(series: pl.Series) -> tuple[Sequence[Any], pl.Series]:
    return ([series.to_numpy()] if is_number(series.dtype) else []), series


def unflatten_series(series: pl.Series, parts: Sequence[Any]) -> Any:
    if not parts:
        return series
    fits = isinstance(parts[0], np.ndarray) and parts[0].shape == series.shape
    return pl.Series(series.name, parts[0]) if fits else parts[0]


def flatten_frame(table: pl.DataFrame) -> tuple[dict[str, Any], pl.DataFrame]:
    return {x.name: x.to_numpy() for x in table if is_number(x.dtype)}, table


def unflatten_frame(table: pl.DataFrame, parts: Mapping[str, Any]) -> Any:
    found = {x.name: unflatten_series(x, [parts[x.name]]) if x.name in parts else x for x in table}
    return pl.DataFrame(found) if all(isinstance(x, pl.Series) for x in found.values()) else found


def series_as_array(series: pl.Series) -> Any:
    if not is_number(series.dtype):
        raise no_numbers("Series", {series.name: series.dtype}, [])
    return series.to_numpy()


def frame_as_array(table: pl.DataFrame) -> Any:
    others = {name: dtype for name, dtype in table.schema.items() if not is_number(dtype)}
    if others:
        raise no_numbers(
            "DataFrame", others, [name for name in table.columns if name not in others]
        )
    return table.to_numpy()


def stream_of_columns(values: np.ndarray[Any, Any], schema: Any) -> Any:
    """Return an Arrow stream of an Array's values, from which polars makes a column or a table.

    schema : the schema that the consumer requested, or None.
    """
    table = pl.DataFrame(values) if values.ndim == 2 else pl.Series(values)
    return table.__arrow_c_stream__(schema)


TABLES.append((pl.DataFrame, Kind(flatten_frame, unflatten_frame, False, as_array=frame_as_array)))
TABLES.append((pl.Series, Kind(flatten_series, unflatten_series, False, as_array=series_as_array)))
