"""Ensembles of fits: they have derivatives where their members have.

The random draw of each member's samples and features, by weights if given, is piecewise constant.
Trees, the usual members, refuse Arrays themselves.
"""

from typing import Any

from .._statements import keeps_arrays, prepares
from ._fits import detached

for module in ("_bagging", "_stacking", "_voting"):
    keeps_arrays(f"sklearn.ensemble.{module}")


@prepares("sklearn.ensemble._bagging", "_generate_bagging_indices")
@prepares("sklearn.ensemble._bootstrap", "_get_n_samples_bootstrap")
def plain_weights(given: dict[str, Any]) -> None:
    """Pass the values of weights, of which the function computes whole numbers."""
    given["sample_weight"] = detached(given["sample_weight"])
