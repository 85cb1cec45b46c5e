"""Ensembles of fits: they have derivatives where their members have.

The samples and features of each member of a bag are drawn, by weights if there are some: constant in
steps.  Trees, the usual members, refuse for themselves.
"""

from typing import Any

from .._statements import keeps_arrays, prepares
from ._fits import detached

for module in ("_bagging", "_stacking", "_voting"):
    keeps_arrays(f"sklearn.ensemble.{module}")


@prepares("sklearn.ensemble._bagging", "_generate_bagging_indices")
@prepares("sklearn.ensemble._bootstrap", "_get_n_samples_bootstrap")
def plain_weights(given: dict[str, Any]) -> None:
    """Give the function the values of weights: its whole numbers have the derivative 0."""
    given["sample_weight"] = detached(given["sample_weight"])
