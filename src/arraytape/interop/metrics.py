"""scikit-learn's metrics end in ``float(...)``, which would take the value out of the tape.

With ``array_api_dispatch=True`` scikit-learn computes them on Arrays up to there.
"""

from ._facades import SoftFloat
from ._statements import replaces

for module in (
    "_base", "_classification", "_ranking", "_regression", "cluster._supervised",
    "cluster._unsupervised",
):  # fmt: skip
    replaces(f"sklearn.metrics.{module}", "float", SoftFloat)
