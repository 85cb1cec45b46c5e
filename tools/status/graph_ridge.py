"""The picture of the ops that a tape records in scikit-learn's StandardScaler and Ridge."""

from __future__ import annotations

import sys

import numpy as np

import arraytape as xp
import pages
from arraytape import diagnose


def page(_: str) -> str:
    """Draw the records of one gradient of examples/differentiate_sklearn.py, a box for each function."""
    sys.path.insert(0, str(pages.ROOT / "examples"))
    import differentiate_sklearn as example

    data, features = example.load(seed=0)
    parameters = xp.asarray(np.zeros(2 * len(features) + 1))
    with xp.GradientTape(profile=True) as tape:
        tape.watch(parameters)
        [error] = example.errors(parameters, example.to_arraytape(data), "validation")
    picture = diagnose.graph(
        tape, {"error": error}, {"parameters": parameters}, "svg", fold="scope",
        title="Ridge after StandardScaler",
    )  # fmt: skip
    first, _, rest = picture.partition("\n")
    return f"{first}\n  {pages.mark('graph_ridge')}\n{rest}\n"
