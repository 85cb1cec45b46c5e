"""The picture of the ops that a tape records in scikit-learn's StandardScaler and Ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import arraytape as xp
import pages
from arraytape import diagnose


def error_of_fit(features: Any, target: Any, penalty: Any) -> Any:
    scaler = StandardScaler()
    scaled = scaler.fit_transform(features)
    model = Ridge(alpha=penalty, solver="svd").fit(scaled, target)

    def error(features: Any, target: Any) -> Any:
        return xp.mean((model.predict(scaler.transform(features)) - target) ** 2)

    return error(features, target)


def page(_: str) -> str:
    """Draw the records of one gradient through a pipeline, a box for each function."""
    features, target = map(xp.asarray, load_diabetes(return_X_y=True))
    penalty = xp.asarray(1.0)
    with (
        sklearn.config_context(array_api_dispatch=True),
        np.errstate(invalid="ignore"),
        xp.GradientTape(profile=True) as tape,
    ):
        tape.watch([features, penalty])
        error = error_of_fit(features, target, penalty)
    picture = diagnose.graph(
        tape, {"error": error}, {"features": features, "penalty": penalty}, "svg", fold="scope",
        title="Ridge after StandardScaler",
    )  # fmt: skip
    first, _, rest = picture.partition("\n")
    return f"{first}\n  {pages.mark('graph_ridge')}\n{rest}\n"
