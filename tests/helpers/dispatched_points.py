"""Random data at points where library code branches: ties, zeros, ones, equal rows and more."""

from __future__ import annotations

import numpy as np

POINTS = (
    "ordinary", "equal", "ties", "whole", "zeros", "ones", "sorted", "reversed", "a zero", "equal rows",
    "symmetric", "mirrored", "one element", "same operands", "numbers",
)  # fmt: skip


def drawn(rng, call, how):
    """Return a dict from the names of a Call's operands to arrays of the kind ``how`` (in POINTS)."""
    n, m = (1, 1) if how == "one element" else (int(rng.integers(4, 8)), int(rng.integers(1, 4)))
    common = (n, n) if how == "symmetric" else (n, m)[: 1 + int(rng.integers(2))]
    if how == "numbers" and call.by_position and "*" not in call.operands:
        common = ()
    kinds = call.operands
    if "*" in kinds:
        kinds = {f"*{i}": kinds["*"] for i in range(3)}
    found, before = {}, None
    for name, kind in kinds.items():
        shape = common
        if kind.ndim is not None:
            shape = (common + (m,) * 2)[: kind.ndim]
        value = point(rng, shape, *kind.interval, how)
        if how == "same operands" and before is not None and before.shape == value.shape:
            value = np.clip(before, *kind.interval)
        found[name] = before = np.floor(np.clip(value, *kind.interval)) if kind.whole else value
    return found


def point(rng, shape, low, high, how):
    """Draw an array of the kind ``how`` (one of POINTS, such as "ties") with values in [low, high]."""
    x = rng.uniform(low, high, shape)
    ones = np.ones(shape)
    some = np.round(rng.uniform(low, high, 2), 2)
    if how == "equal":
        return some[0] * ones
    if how == "ties":
        return rng.choice(some, shape)
    if how == "whole":
        whole = np.arange(np.ceil(low), np.floor(high) + 1)
        return rng.choice(whole, shape) if whole.size else x
    if how == "zeros":
        return 0.0 * ones if low <= 0.2 and high > 0 else low * ones
    if how == "ones":
        return ones if low <= 1 and high >= 0.95 else high * ones
    if how in ("sorted", "reversed") and x.ndim:
        x = np.sort(x, axis=0)
        return x if how == "sorted" else x[::-1].copy()
    if how == "a zero" and x.size:
        x.flat[rng.integers(x.size)] = 0.0 if low <= 0.2 else 1.0
    if how == "equal rows" and x.ndim > 1:
        return x[:1] * ones
    if how == "symmetric" and x.ndim == 2 and shape[0] == shape[1]:
        return (x + x.T) / 2
    if how == "mirrored" and x.ndim and low < 0:
        return (x - x[::-1]) / 2
    return x
