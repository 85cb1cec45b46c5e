"""A program of a scikit-learn user: the gradient through a pipeline with respect to its data."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from sklearn.linear_model import Ridge  # type: ignore[import-untyped, unused-ignore]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped, unused-ignore]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped, unused-ignore]

import arraytape as xp


def held_out_error(weights: xp.Array, x: Any, y: Any) -> xp.Array:
    pipeline = make_pipeline(StandardScaler(), Ridge())
    pipeline.fit(x[:6], y[:6], ridge__sample_weight=weights)
    error: xp.Array = xp.mean((pipeline.predict(x[6:]) - y[6:]) ** 2)
    return error


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = xp.asarray(rng.normal(size=(9, 3))), xp.asarray(rng.normal(size=9))
    weights = xp.ones(6)
    with xp.interop.sklearn():
        value, slope = xp.value_and_grad(held_out_error)(weights, x, y)
    assert_type(value, xp.Array)
    assert_type(slope, xp.Array)
    worst = int(xp.argmax(xp.abs(slope)))
    print("done", worst < 6, slope.shape)


if __name__ == "__main__":
    main()
