"""Let scikit-learn's metrics return Arrays, so that they can be differentiated.

With ``array_api_dispatch=True`` scikit-learn computes metrics on Arrays, but ends with ``float(...)``,
which would lose the derivative.
"""

import inspect
from typing import Any

import numpy as np
from sklearn.metrics import _regression

import arraytape

from ._facades import SoftFloat
from ._statements import prepares, replaces

for module in (
    "_base", "_classification", "_ranking", "_regression", "cluster._supervised",
    "cluster._unsupervised",
):  # fmt: skip
    replaces(f"sklearn.metrics.{module}", "float", SoftFloat)


def with_arrays(arguments: dict[str, Any]) -> None:
    """Convert y_true and y_pred in the arguments of a metric to Arrays if they are NumPy data.

    Otherwise scikit-learn would convert an Array y_true to NumPy data if y_pred is NumPy data.
    """
    for name in ("y_true", "y_pred"):
        if isinstance(arguments.get(name), np.ndarray) and arguments[name].dtype.kind in "fiu":
            arguments[name] = arraytape.asarray(arguments[name])


for metric in _regression.__ALL__:
    if {"y_true", "y_pred"} <= {*inspect.signature(getattr(_regression, metric)).parameters}:
        prepares("sklearn.metrics._regression", metric)(with_arrays)
