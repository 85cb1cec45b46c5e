"""Derivatives of scipy.stats' distributions, compared with central differences of SciPy's values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.stats._distr_params import distcont

import arraytape as xp
from arraytape import interop

METHODS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
QUANTILES = (1e-6, 0.3, 0.8)
TAILS = (1e-10, 1.0 - 1e-9)
LOC, SCALE = 0.3, 1.7
RIGHT, LOUD, WRONG = "right", "loud", "wrong"
# The indices of shape parameters that are whole numbers, and therefore have no derivative.
COUNTS = {"irwinhall": (0,), "ksone": (0,), "kstwo": (0,)}


class Point(NamedTuple):
    """The verdicts on one value of a method of a distribution.

    shapes, place : the shape parameters, and the x or the quantile.
    by : for each argument RIGHT, or a text that begins with LOUD (an error or warning) or WRONG.
    """

    name: str
    method: str
    shapes: tuple[float, ...]
    place: float
    by: dict[str, str]  # keys: "x", the shapes' names, "loc", "scale"


def distributions() -> dict[str, tuple[float, ...]]:
    """Return a dict from each continuous distribution to the shape parameters of SciPy's own tests."""
    found: dict[str, tuple[float, ...]] = {}
    for name, shapes in distcont:
        if isinstance(name, str):
            found.setdefault(name, tuple(float(x) for x in shapes))
    return found


def parameter_points(name: str) -> list[tuple[float, ...]]:
    """Return SciPy's example of shape parameters, and up to two valid points near it."""
    distribution, shapes = getattr(stats, name), distributions()[name]
    points = [shapes]
    for factor in (0.9, 1.15):
        near = tuple(
            x if i in COUNTS.get(name, ()) else x * factor + (0.0 if x else 0.05)
            for i, x in enumerate(shapes)
        )
        if bool(distribution._argcheck(*near)):
            points.append(near)
    return points


def difference(
    f: Callable[..., float], values: Sequence[float], i: int, rounding: float
) -> tuple[float, float]:
    """Return a derivative by central differences and a bound of its error.

    i : the index of the argument to differentiate.  rounding : an absolute error of f's values, which is
    added to a rounding error of about 16 eps.
    """
    best, middle = (math.nan, math.inf), float(f(*values))
    for size in (1e-3, 1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9):
        h = size * max(abs(values[i]), 0.1)
        if (
            not 0.0 < values[i] - 3 * h < values[i] + 3 * h < 1.0
            and i == 0
            and 0.0 < values[0] < 1.0
        ):
            h = min(h, min(values[0], 1.0 - values[0]) / 8)

        def at(steps: int, h: float = h) -> float:
            moved = [*values]
            moved[i] += steps * h
            return float(f(*moved))

        near = [at(k) for k in (-3, -2, -1, 1, 2, 3)]
        with np.errstate(all="ignore"):
            sixth = (45 * (near[3] - near[2]) - 9 * (near[4] - near[1]) + near[5] - near[0]) / (
                60 * h
            )
            fourth = (8 * (near[3] - near[2]) - (near[4] - near[1])) / (12 * h)
            # At a kink, or across the end of the support, a difference is the mean of two slopes.
            outside = middle != 0.0 and 0.0 in near
            bent = outside or abs(near[3] + near[2] - 2.0 * middle) > 0.3 * abs(near[3] - near[2])
        noise = (4e-15 * max(map(abs, near)) + rounding) / h
        error = abs(sixth - fourth) + noise
        if (
            math.isfinite(error)
            and error < best[1]
            and not (bent and (outside or abs(sixth) > 1e3 * noise))
        ):
            best = (sixth, error)
        if best[1] < 1e-8 * abs(best[0]):
            break
    return best


def check(name: str, method: str, shapes: tuple[float, ...], quantile: float) -> Point:
    """Return a Point: the verdicts on a method's derivatives with respect to x, shapes, loc, scale."""
    distribution = getattr(stats, name)
    place = (
        quantile
        if method in ("ppf", "isf")
        else float(distribution.ppf(quantile, *shapes, LOC, SCALE))
    )
    function, values = getattr(distribution, method), (place, *shapes, LOC, SCALE)
    named = ["x", *(distribution.shapes or "").replace(" ", "").split(",")][: len(shapes) + 1]
    names = [*named, "loc", "scale"]
    by: dict[str, str] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = float(function(*values))
        for i, parameter in enumerate(names):
            if i - 1 in COUNTS.get(name, ()) and parameter not in ("loc", "scale"):
                continue
            by[parameter] = one(function, values, i, expected)
    return Point(name, method, shapes, place, by)


def one(function: Callable[..., Any], values: Sequence[float], i: int, expected: float) -> str:
    """Return a verdict (RIGHT, LOUD, ...) on the derivative with respect to ``values[i]``."""
    arrays = [xp.asarray(v) for v in values]
    try:
        with interop.scipy(), warnings.catch_warnings():
            warnings.simplefilter("error", xp.TapeWarning)
            with xp.GradientTape() as tape:
                tape.watch(arrays[i])
                y = function(*arrays)
            g = tape.gradient(y, arrays[i])
    except (LookupError, TypeError, xp.TapeWarning) as error:
        return f"{LOUD}: {error}"
    if not (float(y) == expected or (math.isnan(float(y)) and math.isnan(expected))):
        return f"{WRONG}: value {float(y)!r}, SciPy's is {expected!r}"
    slope, error = difference(function, values, i, rounding(function, values, expected))
    found = 0.0 if g is None else float(g)
    if not math.isfinite(error):
        return RIGHT  # no difference is usable, at a jump or at the end of the domain
    if abs(found - slope) <= 2e-6 * abs(slope) + 30 * error:
        return RIGHT
    return f"{WRONG}: {found!r}, differences {slope!r} +- {error:.1e}"


def rounding(function: Callable[..., Any], values: Sequence[float], expected: float) -> float:
    """Return an absolute rounding error of SciPy's value, or 0.0 if only its last bits are wrong.

    Many probabilities are computed as 1 minus another probability, and logarithms and quantiles from
    such values.  The error is then that of a number near 1, however small the result is.
    """
    name, last = function.__name__, 2.2e-16
    if name in ("cdf", "sf"):
        return last
    if name in ("logcdf", "logsf"):
        return last * (1.0 + math.exp(min(-expected, 600.0)))
    if name in ("ppf", "isf"):
        step = 1e-3 * min(values[0], 1.0 - values[0])
        around = [float(function(values[0] + s, *values[1:])) for s in (-step, step)]
        return last * abs(around[1] - around[0]) / (2.0 * step)
    return 0.0


def curvature(name: str, shapes: tuple[float, ...], quantile: float) -> str:
    """Return a verdict (RIGHT, LOUD, ...) on logpdf's Hessian, by differences of gradients."""
    distribution = getattr(stats, name)
    place = float(distribution.ppf(quantile, *shapes, LOC, SCALE))
    values = np.array([place, *shapes, LOC, SCALE])
    free = [i for i in range(len(values)) if i - 1 not in COUNTS.get(name, ()) or i > len(shapes)]

    def gradient(values: Any) -> Any:
        with xp.GradientTape() as tape:
            tape.watch(values)
            y = distribution.logpdf(
                *[
                    values[i] if i in free else xp.stop_gradient(values[i])
                    for i in range(len(values))
                ]
            )
        return tape.gradient(y, values, unconnected_gradients="zero")

    try:
        with interop.scipy(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", xp.TapeWarning)
            x = xp.asarray(values)
            found = np.asarray(xp.jacobian(gradient)(x))
            expected = np.empty_like(found)
            for j in range(len(values)):
                h = 1e-4 * max(abs(values[j]), 0.1)
                steps = [
                    np.asarray(gradient(xp.asarray(values + k * h * np.eye(len(values))[j])))
                    for k in (-2, -1, 1, 2)
                ]
                expected[:, j] = (8 * (steps[2] - steps[1]) - (steps[3] - steps[0])) / (12 * h)
    except (LookupError, TypeError, xp.TapeWarning) as error:
        return f"{LOUD}: {error}"
    at = np.ix_(free, free)
    scale = np.abs(expected[at]).max() + 1.0
    off = np.abs(found[at] - expected[at]).max()
    return RIGHT if off <= 1e-5 * scale else f"{WRONG}: off by {off:.1e} of {scale:.1e}"


def points(name: str, method: str, shapes: tuple[float, ...], tails: bool) -> Iterator[Point]:
    """Yield a method's Point at each quantile of QUANTILES and, if ``tails`` is set, of TAILS."""
    for quantile in (*QUANTILES, *(TAILS if tails else ())):
        yield check(name, method, shapes, quantile)
