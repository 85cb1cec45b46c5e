"""Let scikit-learn's ensembles keep Arrays, so that they have derivatives if their members have.

The random choice of each member's samples and features counts as a constant, although it may depend on
the sample weights.  Trees, the usual members, raise an error for Arrays.
"""

from typing import Any

from ..._util.errors import user_line
from .._context import has_array
from .._statements import keeps_arrays, prepares
from ._fits import INSTEAD, detached

for module in ("_bagging", "_stacking", "_voting"):
    keeps_arrays(f"sklearn.ensemble.{module}")


@prepares("sklearn.ensemble._bagging", "_generate_bagging_indices")
@prepares("sklearn.ensemble._bootstrap", "_get_n_samples_bootstrap")
def plain_weights(arguments: dict[str, Any]) -> None:
    """Convert sample weights to NumPy data: scikit-learn's function computes integers from them.

    Integers have no derivative.  arguments : the function's arguments by name, which are changed.
    """
    arguments["sample_weight"] = detached(arguments["sample_weight"])


@prepares("sklearn.ensemble._bagging", "BaseBagging._fit")
def refuse_array_counts(arguments: dict[str, Any]) -> None:
    """Raise TypeError if a number of samples or features is an Array: counts have no derivative.

    arguments : the method's arguments by name.
    """
    model = arguments["self"]
    for name in ("max_samples", "max_features"):
        if has_array([getattr(model, name)]):
            raise TypeError(
                f"{type(model).__name__}.fit: an Array as {name}, which counts, has no derivative here. "
                f"{INSTEAD} [at {user_line()}]"
            )
