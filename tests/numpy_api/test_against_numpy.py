"""NumPy's functions on Arrays against NumPy's own: values, dtypes, shapes and warnings.

Of all dtypes and special values, by calls that are made from one table.  A function with a recorded
counterpart that has no row fails a test.
"""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arraytape as xp
from arraytape._numpy_api import protocols
from helpers.same_values import bits, quiet

DTYPES = "bool", "int8", "uint8", "int64", "float32", "float64", "complex64", "complex128"
nan, inf = np.nan, np.inf
VALUES = {
    "plain": [[3.0, 1.0, 2.0], [0.0, 5.0, 2.0]],
    "special": [[nan, 1.0, -0.0], [inf, nan, 2.0]],
    "infinite": [[-inf, 1.0, inf], [0.0, -0.0, 3.0]],
    "all NaN": [[nan, nan, nan], [1.0, nan, -2.0]],
    "vector": [2.0, -1.0, 2.0, 4.0],
    "vector, special": [1.0, nan, -inf, -0.0],
    "number": 3.0,
    "NaN": nan,
    "one": [7.0],
    "empty": [],
    "no rows": np.zeros((0, 3)),
    "square": [[2.0, 1.0], [1.0, 3.0]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "square, NaN": [[1.0, nan], [0.0, 1.0]],
    "square, inf": [[1.0, inf], [0.0, 1.0]],
    "stack": [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]]],
}


def of_dtype(values, dtype):
    """The values in a dtype; None where it cannot hold them."""
    x = np.asarray(values, np.float64)
    if np.dtype(dtype).kind in "biu":
        return x.astype(dtype) if np.isfinite(x).all() and (x >= 0).all() else (
            x.astype(dtype) if dtype in ("int8", "int64") and np.isfinite(x).all() else None
        )
    with quiet():
        y = x.astype(dtype)
    return np.asarray(y * (1 + 0.5j), y.dtype) if y.dtype.kind == "c" and np.isfinite(x).all() else y


REDUCED = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})
Q = (0.5, [0.1, 1.0], np.float32(0.25))


def options(*of_each, **varied):
    """The calls ``f(x, **o)`` for the options o."""
    made = [*of_each]
    return [lambda f, x, o=o: f(x, **o) for o in made]


def plain(f, x):
    return f(x)
