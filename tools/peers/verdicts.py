"""Comparison of two libraries' results, and checks by finite differences of which one is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arraytape import testing

from .cases import Case
from .known import Known
from .libraries import Data, Library

RTOL, ATOL = 1e-10, 1e-12
DIFFERENCES = 1e-5  # the tolerance of a slope compared with finite differences

Array = np.ndarray[Any, Any]


def agree(x: Array, y: Array) -> bool:
    """Return True if shapes, kinds, NaN and infinities are the same, and finite values are close."""
    if x.shape != y.shape or (x.dtype.kind == "c") != (y.dtype.kind == "c"):
        return False
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)):
        return False
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return False
    scale = np.abs(y[finite]).max(initial=0.0)
    return bool(np.all(np.abs(x - y)[finite] <= ATOL + RTOL * scale))


def direction(x: Array, seed: int) -> Array:
    """Return a random direction with the shape of x, complex if x is."""
    rng = np.random.default_rng([seed, x.size])
    found = rng.uniform(0.2, 1.0, x.shape) * rng.choice([-1.0, 1.0], x.shape)
    return np.asarray(found + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else found)


def weights_for(library: Library, case: Case, inputs: Data, seed: int) -> Data:
    """Return random cotangents for the results of a case."""
    ys = library.outputs(case.function, [library.asarray(x) for x in inputs])
    rng = np.random.default_rng(seed + 1000)
    found = []
    for y in ys:
        w = rng.uniform(0.2, 1.0, y.shape) * rng.choice([-1.0, 1.0], y.shape)
        found.append(np.asarray(w + 1j * rng.uniform(-1, 1, y.shape) if y.dtype.kind == "c" else w))
    return found


def checked(
    known: Known, library: Library, case: Case, inputs: Data, weights: Data, along: Data | None,
    part: str, i: int, ours: Array, theirs: Array,
) -> str:  # fmt: skip
    """Return the reason for which the verdict of a known disagreement is wrong, or "".

    Parameters
    ----------
    known : Known
        The entry, with its verdict.
    library : Library
        The library whose values (for a gradient) or gradients (for a curvature) are differenced.
    part : str
        A field of ``Derivatives``.
    i : int
        The index of the result or input in that field.
    ours, theirs : ndarray
        The two results.
    """
    if known.verdict == "value":
        return "" if part == "value" else "more than the value differs"
    if known.verdict == "loud":
        return "" if not np.isfinite(ours).all() else "arraytape's answer is finite"
    if part == "value":
        return "the values differ"
    probe = direction(inputs[i], 7)
    left, right, slope = sides(library, case, inputs, weights, along, part, i, probe)
    exists = smooth(left, right, slope)
    if known.verdict == "convention" and np.isnan(ours).any():
        return "arraytape gives NaN"
    if known.verdict == "convention":
        return f"the derivative exists: differences give {slope:.6g}" if exists else ""
    found = [testing.inner([g], [probe]) for g in (ours, theirs)]
    near = [bool(abs(x - slope) <= DIFFERENCES * max(1.0, abs(slope))) for x in found]
    if exists and near == [True, False]:
        return ""
    differences = f"{left:.6g} from the left, {right:.6g} from the right, {slope:.6g} between"
    return f"differences: {differences}; ours {found[0]:.6g}, theirs {found[1]:.6g}"


def missed(
    library: Library, case: Case, inputs: Data, weights: Data, along: Data | None,
    part: str, i: int, ours: Array,
) -> bool:  # fmt: skip
    """Return True if arraytape's result is not finite although differences show a derivative."""
    if part == "value" or np.isfinite(ours).all():
        return False
    probe = direction(inputs[i], 7)
    return smooth(*sides(library, case, inputs, weights, along, part, i, probe))


def smooth(left: float, right: float, slope: float) -> bool:
    return bool(max(abs(left - right), abs(left - slope)) <= 1e-3 * max(1.0, abs(slope)))


def sides(
    library: Library, case: Case, inputs: Data, weights: Data, along: Data | None,
    part: str, i: int, probe: Array,
) -> tuple[float, float, float]:  # fmt: skip
    """Return slopes from the left, from the right, and central, with which ``part`` is compared.

    part : "gradient" for the slopes of the value, "curvature" for those of the gradient of input i.
    """
    if part == "gradient":
        return of_value(library, case, inputs, weights, i, probe)
    return of_gradient(library, case, inputs, weights, along or [], i, probe)


def of_value(
    library: Library, case: Case, inputs: Data, weights: Data, i: int, probe: Array
) -> tuple[float, float, float]:
    """Return the slopes of the weighted sum of the results, along ``probe`` for input i alone."""
    # The step is relative to the input's size, so that it is not lost in rounding at 1e200.
    unit = max(1.0, np.abs(inputs[i][np.isfinite(inputs[i])]).max(initial=0.0))

    def value(t: Any) -> float:
        moved = [x + t * unit * probe if j == i else x for j, x in enumerate(inputs)]
        ys = library.outputs(case.function, [library.asarray(x) for x in moved])
        values = [library.numpy(y) for y in ys]
        if any(y.shape != w.shape for y, w in zip(values, weights, strict=True)):
            return float("nan")  # the shape depends on the input, as for unique_values
        return testing.inner(weights, values) / unit

    return slopes(value)


def of_gradient(
    library: Library, case: Case, inputs: Data, weights: Data, along: Data, i: int, probe: Array
) -> tuple[float, float, float]:
    """Return slopes of <probe, gradient of ``bowl`` for input i>; the inputs move along ``along``."""

    def bowl(library: Library, *arrays: Any) -> Any:
        return library.bowl(library.outputs(case.function, arrays), weights)

    def value(t: Any) -> float:
        moved = [x + t * v for x, v in zip(inputs, along, strict=True)]
        found = library.derivatives(bowl, moved, [np.asarray(1.0)], None)
        return testing.inner([found.gradient[i]], [probe])

    return slopes(value)


def slopes(value: Callable[[Any], float], h: float = 1e-7) -> tuple[float, float, float]:
    """Return the slopes at 0 from the left, from the right, and by central differences."""
    here = value(0.0)
    central = testing.differences(value, [np.asarray(0.0)], [np.asarray(1.0)])
    return (here - value(-h)) / h, (value(h) - here) / h, float(central)
