"""Ensembles of fits: they have derivatives where their members have.

Which samples and features a member of a bag gets is drawn, by weights if there are some: constant in
steps.  Trees, the usual members, refuse for themselves.
"""

import inspect
import sys
from typing import Any

from .._hooks import original_of
from .._statements import hooks, keeps_arrays
from ._fits import detached

for module in ("_bagging", "_stacking", "_voting"):
    keeps_arrays(f"sklearn.ensemble.{module}")


def of_values(module: str, name: str) -> None:
    """A function that gives whole numbers takes the values of its weights, whose slope is 0 in it."""

    @hooks(module, name)
    def call(*args: Any, **keywords: Any) -> Any:
        original = original_of(getattr(sys.modules[module], name))
        bound = inspect.signature(original).bind(*args, **keywords)
        bound.arguments["sample_weight"] = detached(bound.arguments["sample_weight"])
        return original(*bound.args, **bound.kwargs)


of_values("sklearn.ensemble._bagging", "_generate_bagging_indices")
of_values("sklearn.ensemble._bootstrap", "_get_n_samples_bootstrap")
