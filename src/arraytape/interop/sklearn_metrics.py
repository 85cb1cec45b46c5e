"""Let scikit-learn's metrics return Arrays, so that they can be differentiated.

With ``array_api_dispatch=True`` scikit-learn computes metrics on Arrays, but ends with ``float(...)``,
which would lose the derivative.

Metrics that depend on the order of scores or on class labels are step functions.  Their derivative is 0
almost everywhere, so that an optimizer would stop at once.  A gradient through them raises an error.
"""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import sklearn.metrics
from sklearn.metrics import _classification, _ranking, _regression
from sklearn.metrics.cluster import _supervised

import arraytape

from .._array.array import Array
from ._facades import SoftFloat
from ._slopes import refuse_slope
from ._statements import hooks, original, prepares, replaces
from ._wanted import is_wanted, nested_leaves

for module in (
    "_base", "_classification", "_ranking", "_regression", "cluster._supervised",
    "cluster._unsupervised",
):  # fmt: skip
    replaces(f"sklearn.metrics.{module}", "float", SoftFloat)


def with_arrays(arguments: dict[str, Any]) -> None:
    """Convert y_true, y_pred and y_score in the arguments of a metric to Arrays if they are NumPy data.

    Otherwise scikit-learn would convert an Array y_true to NumPy data if y_pred is NumPy data.
    """
    for name in ("y_true", "y_pred", "y_score"):
        if isinstance(arguments.get(name), np.ndarray) and arguments[name].dtype.kind in "fiu":
            arguments[name] = arraytape.asarray(arguments[name])


for metric in _regression.__ALL__:
    if {"y_true", "y_pred"} <= {*inspect.signature(getattr(_regression, metric)).parameters}:
        prepares("sklearn.metrics._regression", metric)(with_arrays)


@prepares(
    "sklearn.metrics._classification",
    "log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score", "hinge_loss",
)  # fmt: skip
def scores_as_array(arguments: dict[str, Any]) -> None:
    """Convert the probabilities in the arguments of a loss to an Array, for weights that are Arrays."""
    for name in ("y_pred", "y_proba", "pred_decision"):
        if isinstance(arguments.get(name), np.ndarray) and arguments[name].dtype.kind == "f":
            arguments[name] = arraytape.asarray(arguments[name])


# --- step functions -------------------------------------------------------------------------------
ORDER = "it changes in steps, with the order of scores. Compute a smooth loss, such as log_loss"
LABELS = (
    "class labels are constant in steps. Compute a smooth loss of predict_proba or decision_function, "
    "such as log_loss"
)


def raising_gradient(module: ModuleType, name: str, argument: str, why: str) -> Callable[..., Any]:
    """Return the rule of a metric whose gradient with respect to ``argument`` raises an error.

    module, name : the metric.  why : the reason, for the error.
    """

    def call_metric(*args: Any, **keywords: Any) -> Any:
        function = original(module.__name__, name)
        bound = inspect.signature(function).bind(*args, **keywords)
        given = bound.arguments
        if why is ORDER:
            with_arrays(given)
        result = function(*bound.args, **bound.kwargs)
        if not is_wanted([given.get(argument)]):
            return result

        def mark(value: Any) -> Any:
            kept = isinstance(value, Array)  # with its derivative with respect to sample_weight
            found = [given[argument]] if kept else nested_leaves(given)
            arrays = [arraytape.asarray(x) for x in found if kept or isinstance(x, Array)]
            return refuse_slope(name, value, arrays, (argument, why))

        if not isinstance(result, tuple):
            return mark(result)
        is_curve = why is ORDER  # the last result is the thresholds, which are scores
        kept = result[-1:] if is_curve else ()
        return (*map(mark, result[:-1] if is_curve else result), *kept)

    return call_metric


for _module, _argument, _why in (
    (_ranking, "y_score", ORDER), (_classification, "y_pred", LABELS),
    (_classification, "y2", LABELS), (_supervised, "labels_pred", LABELS),
):  # fmt: skip
    for _name in {*vars(_module)} & {*sklearn.metrics.__all__}:
        if _argument in [*inspect.signature(getattr(_module, _name)).parameters][:2]:
            hooks(_module.__name__, _name)(raising_gradient(_module, _name, _argument, _why))
