"""Rules for functions of pandas that would store Arrays as objects of unknown type.

pandas tests for NumPy's classes where it makes a column of a list or scalar, looks values up, or tests
for a mask.  With the rules, a list of losses becomes a column of numbers.  An Array that a tape follows
stays an object, because a gradient passes through arithmetic on objects, but not through numbers.

The rules act without a context, and do nothing if no Array is met.  ``convert_column`` runs in the last
step of pandas' constructors.  That step neither warns nor raises errors, so pandas' own warnings name
the same lines as without arraytape.
"""

from __future__ import annotations

import functools
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

import arraytape as xp

from .._array.array import Array
from .._array.views import current
from .._record.stack import recorders
from ._statements import hooks, original

pandas_original = functools.cache(original)
COLUMNS, ALGORITHMS = "pandas.core.construction", "pandas.core.algorithms"
SCALARS, KEYS = "pandas.core.dtypes.cast", "pandas.core.common"


@hooks(COLUMNS, "_sanitize_str_dtypes", always=True, dispatched=True)
def convert_column(result: Any, data: Any, dtype: Any, copy: bool) -> Any:
    if dtype is None and type(result) is np.ndarray and result.dtype == object and result.ndim == 1:
        result = with_numbers(result)
    return pandas_original(COLUMNS, "_sanitize_str_dtypes")(result, data, dtype, copy)


@hooks(SCALARS, "construct_1d_arraylike_from_scalar", dispatched=True)
def repeat_scalar(value: Any, length: int, dtype: Any) -> Any:
    if dtype is None and isinstance(value, Array) and is_untracked(value):
        value = value.item()
    return original(SCALARS, "construct_1d_arraylike_from_scalar")(value, length, dtype)


@hooks(ALGORITHMS, "isin", always=True, dispatched=True)
def find_values(comps: Any, values: Any) -> Any:
    if isinstance(values, Array) or (
        isinstance(values, list) and values and isinstance(values[0], Array)
    ):
        values = np.asarray(xp.stop_gradient(xp.asarray(values)))
    return pandas_original(ALGORITHMS, "isin")(comps, values)


@hooks(KEYS, "is_bool_indexer", always=True, dispatched=True)
def is_mask(key: Any) -> Any:
    """Return True for a mask, an Array of booleans.

    Without this rule, ``iloc`` would take False and True for the positions 0 and 1.
    """
    if isinstance(key, Array):
        return key.dtype.kind == "b"
    return pandas_original(KEYS, "is_bool_indexer")(key)


def with_numbers(column: np.ndarray[Any, Any]) -> Any:
    """Return a column of Arrays and numbers as a column of numbers.

    Return the column unchanged if a tape follows an Array in it, or if it holds no Array or other
    objects.
    """
    for x in column:  # a column that begins with other objects, such as texts, is not searched
        if isinstance(x, Array):
            break
        if not is_number(x):
            return column
    else:
        return column
    if not all(is_untracked(x) if isinstance(x, Array) else is_number(x) for x in column):
        return column
    return pd.Series([x.item() if isinstance(x, Array) else x for x in column]).to_numpy()


def is_number(x: object) -> bool:
    return x is None or isinstance(x, Number)


def is_untracked(x: Array) -> bool:
    """Return True for an Array of shape () that no tape follows."""
    value_id, _ = current(x)
    return not x.ndim and not any(value_id in recorder.followed for recorder in recorders())
