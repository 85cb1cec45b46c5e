"""Make scikit-learn compute in the namespace arraytape, if Arrays are among its data.

scikit-learn itself dispatches only with the option array_api_dispatch, and refuses Arrays together with
NumPy data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sklearn

import arraytape

from ..._array.array import Array
from ..._record.stack import recorders
from ..._storage.storage import CARRIED
from ..._util.array_types import Namespace
from .._hooks import original_of
from .._plain import ArrayInput
from .._statements import hooks, original
from ._fits import detached, nested_arrays

if TYPE_CHECKING:  # an import at run time would be circular: importing sklearn.base runs this
    from sklearn.base import BaseEstimator

MODULE = "sklearn.utils._array_api"


def note_configuration() -> Callable[[], AbstractContextManager[Any]]:
    """Return a function that makes a context with scikit-learn's present options.

    Another thread enters it, because a new thread has the default options.
    """
    options = sklearn.get_config()
    return lambda: sklearn.config_context(**options)


CARRIED.append(note_configuration)


@hooks(MODULE, "get_namespace")
def get_namespace(*arrays: Any, **options: Any) -> Any:
    """Return arraytape as the namespace, because this hook runs only if an Array is among ``arrays``."""
    return arraytape, True


@hooks(MODULE, "check_same_namespace")
def check_same_namespace(X: ArrayInput, estimator: BaseEstimator, **options: Any) -> None:
    """Accept Arrays together with NumPy data, which scikit-learn's own check refuses."""


@hooks(MODULE, "device")
def device_of_arrays(*arrays: Any, **options: Any) -> Any:
    """Return the device of the Arrays, to which scikit-learn then moves NumPy data."""
    found = {x.device for x in nested_arrays(arrays)}
    if len(found) > 1:
        return original(MODULE, "device")(*arrays, **options)
    return found.pop()


@hooks(MODULE, "_expit")
def expit(x: Array, out: Array | None = None, xp: Namespace | None = None) -> Any:
    """Return expit(x), as scikit-learn does for NumPy data.

    For other namespaces scikit-learn has 1 / (1 + exp(-x)), which has other rounding errors.
    """
    return arraytape.special.expit(x)


@hooks(MODULE, "_logit")
def logit(x: Array, out: Array | None = None, xp: Namespace | None = None) -> Any:
    return arraytape.special.logit(x)


@hooks("sklearn.utils._param_validation", "Interval.is_satisfied_by")
def is_satisfied_by(constraint: Any, val: object) -> bool:
    """Return True if a parameter lies in an interval; it may be an Array of shape (), too."""
    return bool(original_of(type(constraint).is_satisfied_by)(constraint, detached(val)))


@hooks("sklearn.utils.parallel", "Parallel.__call__", always=True)
def in_this_thread(parallel: Any, iterable: Iterable[Any]) -> Any:
    """Run the tasks of scikit-learn's ``Parallel``; while a tape is open, run them in this thread.

    A tape records the ops of one thread.  parallel : the Parallel object.  iterable : the tasks.
    """
    if recorders() and parallel.n_jobs != 1:
        return_as = "generator" if parallel.return_generator else "list"
        parallel = type(parallel)(n_jobs=1, verbose=parallel.verbose, return_as=return_as)
    return original("sklearn.utils.parallel", "Parallel.__call__")(parallel, iterable)
