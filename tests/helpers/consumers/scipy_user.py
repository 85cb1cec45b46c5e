"""A program of someone who fits models with NumPy and SciPy."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize  # type: ignore[import-untyped, unused-ignore]

import arraytape as xp

Vector = npt.NDArray[np.float64]


def model(p: xp.Array, t: Vector) -> xp.Array:
    decay: xp.Array = np.exp(-p[1] * t)
    return p[0] * decay


def cost(p: xp.Array, t: Vector, y: Vector) -> xp.Array:
    return xp.sum((model(p, t) - y) ** 2)


def gradient_on_numpy(p: Vector, t: Vector, y: Vector) -> Vector:
    found: Vector = np.asarray(xp.grad(cost)(xp.asarray(p), t, y))
    return found


def main() -> None:
    t: Vector = np.linspace(0.0, 2.0, 9)
    y: Vector = 2.0 * np.exp(-0.5 * t)
    start: Vector = np.array([1.0, 1.0])
    by_scipy: Any = minimize(
        lambda p: float(cost(xp.asarray(p), t, y)), start, jac=lambda p: gradient_on_numpy(p, t, y)
    )
    steps: list[float] = []
    ours = xp.optimizers.minimize_scipy(
        lambda p: cost(p, t, y), start, callback=lambda p: steps.append(float(cost(p, t, y)))
    )
    waves: xp.Array = np.sin(xp.asarray(t))
    assert_type(waves + 1.0, xp.Array)
    times: list[float] = []

    def note(t: float, y: xp.Array) -> None:
        times.append(t)

    path = xp.implicit.odeint(lambda t, y: -y, (0.0, 1.0), [1.0], callback=note)
    print("done", bool(by_scipy.success), bool(ours.success), len(steps) > 0, path.y.shape)


if __name__ == "__main__":
    main()
