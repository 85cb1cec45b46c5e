"""SciPy's functions that dispatch, NumPy's and scikit-learn's, on Arrays where library code branches.

Each call is drawn with its options and a kind of point: values, dtypes and shapes as on NumPy's data;
the gradient, and its own derivative, beside differences; asked inside and outside of the block.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from helpers.dispatched_cases import CASES, NAMES
from helpers.dispatched_points import POINTS

from .attack import Attack

COUNTS = Counter()


# --- results and their uneven sum ---------------------------------------------------------------
def leaves(result):
    """Return the results with float or complex data, in lists and tuples and objects that hold them."""
    if isinstance(result, (xp.Array, np.ndarray, np.generic)):
        return [result] if np.dtype(result.dtype).kind in "fc" else []
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "__dict__"):
        return [leaf for part in vars(result).values() for leaf in leaves(part)]
    return []


def weight(shape, i):
    return np.cos(1.3 * np.arange(int(np.prod(shape))) + i + 0.4).reshape(shape)


def total(results):
    """Return the uneven sum of results: of NumPy's data a number, of Arrays an Array."""
    answer = 0.0
    for i, leaf in enumerate(results):
        here = xp if isinstance(leaf, xp.Array) else np
        w = here.asarray(weight(leaf.shape, i))
        if np.dtype(leaf.dtype).kind == "c":
            answer = answer + here.sum(here.real(leaf) * w) + here.sum(here.imag(leaf) * (w + 0.7))
        else:
            answer = answer + here.sum(leaf * w)
    return answer


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        yield caught


# --- differences ------------------------------------------------------------------------------------
def slope(line, step):
    """Return the slope of a function of a number at 0, and its scale; None, and why there is none."""
    with quiet():
        try:
            at = float(line(0.0))
            values = {k: float(line(k * step)) for k in (-4, -2, -1, 1, 2, 4)}
        except Exception:
            return None, "at an edge of what the library takes"
    if not np.isfinite(at) or not all(map(np.isfinite, values.values())):
        return None, "at an edge of where it is defined"
    fine, coarse, wide = ((values[k] - values[-k]) / (2 * k * step) for k in (1, 2, 4))
    found, other = fine + (fine - coarse) / 3, coarse + (coarse - wide) / 3
    scale = max(1.0, abs(found), *map(abs, values.values()))
    # One-sided slopes of the second order, which agree where there is no kink.
    ahead = (4 * values[1] - values[2] - 3 * at) / (2 * step)
    behind = (3 * at + values[-2] - 4 * values[-1]) / (2 * step)
    if abs(ahead - behind) > 2e-3 * scale:
        return None, "at a kink"
    return (found, scale) if abs(found - other) <= 1e-5 * scale else (None, "not smooth nearby")


def linear_slope(function, d, e, step=1e-3):
    """Return the slope along d, where those along d, e and their sum agree on a derivative."""
    found = []
    for direction in (d, e, d + e):
        got, scale = slope(lambda t, direction=direction: function(t * direction), step)
        if got is None:
            return None, scale
        found.append((got, scale))
    (along_d, a), (along_e, b), (both, c) = found
    return found[0] if abs(along_d + along_e - both) <= 1e-4 * (a + b + c) else (None, "at a kink")


def is_linear(function, rng, size, step=1e-3):
    """Return True if slopes along further directions show a derivative, too.

    Two directions and their sum may lie in one linear piece of a function with a kink, as those of a
    median among equal numbers do that move the same two of them to the middle.
    """
    pairs = rng.normal(size=(3, 2, size))
    return all(linear_slope(function, d, e, step)[0] is not None for d, e in pairs)


def ours(error):
    """Return True if an error says what to do, and where: it names the user's line."""
    return "[at " in str(error)


# --- values -----------------------------------------------------------------------------------------
def change_by_last_bits(case, operands, expected):
    """Return for each of NumPy's results how far it moves with the last bits of the operands.

    A mean of numbers that cancel is what rounding leaves of them, in whatever order they are added.
    """
    rng, most = np.random.default_rng(0), [0.0] * len(expected)
    for _ in range(4):
        moved = [
            np.nextafter(v, v.dtype.type(rng.choice([-np.inf, np.inf])) * np.ones_like(v))
            if v.dtype.kind == "f"
            else v.copy()
            for v in operands
        ]
        with quiet():
            found = leaves(case.on([v[()] if v.ndim == 0 else v for v in moved]))
        if [leaf.shape for leaf in found] == [leaf.shape for leaf in expected]:
            changes = [np.abs(f - e) for f, e in zip(found, expected, strict=True)]
            most = [
                max(m, float(np.max(c, initial=0.0))) for m, c in zip(most, changes, strict=True)
            ]
    return most


def results(case, operands):
    """Return NumPy's results, which ours agree with; None, and why there are none to compare."""
    with quiet():
        try:
            expected = leaves(
                case.on(
                    [v.copy(order="K")[()] if v.ndim == 0 else v.copy(order="K") for v in operands]
                )
            )
        except Exception as error:
            return None, f"refused by the library: {type(error).__name__}"
        try:
            found = leaves(case.on([xp.asarray(v) for v in operands]))
        except Exception as error:
            if "array library" in str(error) or ours(error):
                return None, f"refused: {type(error).__name__}"
            raise
    assert len(expected) == len(found), f"{len(found)} results for {len(expected)}"
    for i, (e, f) in enumerate(zip(expected, found, strict=True)):
        assert (f.dtype, f.shape) == (e.dtype, e.shape), (
            f"{f.dtype}{f.shape} for {e.dtype}{e.shape}"
        )
        e, f = np.asarray(e), np.asarray(f)
        if not np.array_equal(e, f, equal_nan=True):
            eps = case.ulps * np.finfo(e.dtype).eps
            size = np.max(np.abs(e), initial=0.0, where=np.isfinite(e))
            if not np.allclose(f, e, rtol=eps, atol=eps * max(size, case.least), equal_nan=True):
                size = max(size, change_by_last_bits(case, operands, expected)[i] / eps)
            np.testing.assert_allclose(f, e, rtol=eps, atol=eps * max(size, case.least))
            COUNTS["values differ in last bits: " + case.name] += 1
    return expected, "right"


# --- derivatives ------------------------------------------------------------------------------------
def gradients(case, operands, along=None, inside=True):
    """Return the gradients of the uneven sum, and with ``along`` those of their product with it."""
    arrays = [xp.asarray(v) for v in operands]
    watched = [arrays[i] for i in case.differentiable]
    with xp.GradientTape() as outer:
        outer.watch(watched)
        with xp.GradientTape() as tape:
            tape.watch(watched)
            y = total(leaves(case.on(arrays)))
            if not isinstance(y, xp.Array):
                return None, None
            first = tape.gradient(y, watched) if inside else None
        first = tape.gradient(y, watched) if first is None else first
        if along is None or all(g is None for g in first):
            return first, None
        product = sum(xp.sum(g * v) for g, v in zip(first, along, strict=True) if g is not None)
        if inside:
            return first, outer.gradient(product, watched, unconnected_gradients="zero")
    return first, outer.gradient(product, watched, unconnected_gradients="zero")


class Point:
    """The differentiable operands of a case as one vector."""

    def __init__(self, case):
        self.case, self.parts = case, [case.operands[i] for i in case.differentiable]
        self.ends = np.cumsum([v.size for v in self.parts])
        self.size = int(self.ends[-1]) if self.parts else 0

    def moved(self, step):
        """Return the operands, those that are differentiable moved by a vector."""
        found = list(self.case.operands)
        for i, v, part in zip(self.case.differentiable, self.parts, self.split(step), strict=True):
            found[i] = np.empty_like(v)  # in its layout, of which order="K" and "A" read
            found[i][...] = v + part
        return found

    def split(self, vector):
        parts = np.split(vector, self.ends[:-1])
        return [p.reshape(v.shape) for p, v in zip(parts, self.parts, strict=True)]

    def joined(self, gradients):
        return np.concatenate([
            np.zeros(v.size) if g is None else np.asarray(g, dtype=float).ravel()
            for g, v in zip(gradients, self.parts, strict=True)
        ])  # fmt: skip


def size(x):
    return float(np.abs(x).sum()) if np.isfinite(x).all() else 0.0


def check_derivatives(case, rng):
    """Compare the gradient and its derivative along a direction with differences; how that went."""
    point = Point(case)
    if not point.size:
        return "nothing to differentiate"
    d, e, u = rng.normal(size=(3, point.size))
    inside = bool(rng.integers(2))
    with quiet() as caught:
        first, second = gradients(
            case, case.operands, [xp.asarray(p) for p in point.split(u)], inside
        )
    said = [str(w.message) for w in caught if issubclass(w.category, xp.TapeWarning)]
    if said:
        return "said: " + said[0].split(":")[0][:60]
    if first is None:
        return "no Array"
    with quiet():
        values = leaves(case.on([v.copy(order="K") for v in case.operands]))
    shapes = [leaf.shape for leaf in values]
    if case.name == "stats.circstd" and all((np.abs(leaf) < 1e-6).all() for leaf in values):
        # Differences see the root of rounding.
        assert all(g is None or (np.abs(np.asarray(g)) < 1e-6).all() for g in first)
        return "right: a slope of 0"

    def value(step):
        found = leaves(case.on(point.moved(step)))
        if [leaf.shape for leaf in found] != shapes:
            raise ValueError("another number of results")
        return total(found)

    want, scale = linear_slope(value, d, e)
    none = all(g is None for g in first)
    first = point.joined(first)
    if want is None:
        return f"right in value, {scale}"
    if case.loud and np.isnan(first).any():
        return f"NaN: {case.loud}"
    off = abs(first @ d - want)
    if not off <= 2e-6 * (scale + size(first)) and not is_linear(value, rng, point.size):
        return "right in value, at a kink"
    assert off <= 2e-6 * (scale + size(first)), (
        f"gradient {first @ d} for {want}, inside={inside}: {first}"
    )
    if none:
        return "None, and constant"

    def line(step):
        with quiet():
            return point.joined(gradients(case, point.moved(step))[0]) @ u

    want, scale = linear_slope(line, d, e)
    if want is None:
        return f"right to first order, {scale}"
    second = point.joined(second)
    if case.loud and np.isnan(second).any():
        return f"NaN: {case.loud}"
    off = abs(second @ d - want)
    if not off <= 1e-5 * (scale + size(second)) and not is_linear(line, rng, point.size):
        return "right to first order, at a kink"
    assert off <= 1e-5 * (scale + size(second)), (
        f"second order {second @ d} for {want}, inside={inside}: {second}"
    )
    return "right"


def check(case, rng):
    """Compare a case's values in each dtype, and its derivatives; how it went."""
    expected, how = results(case, case.operands)
    if expected is None:
        return how
    for dtype in case.dtypes:
        COUNTS[f"values of {dtype}: {results(case, cast(case, dtype))[1]}"] += 1
    check_scalars(case)
    return check_derivatives(case, rng) if expected else "no float result"


def cast(case, dtype):
    """Return the operands, those that are differentiable in another dtype."""
    return [
        v.astype(dtype) if i in case.differentiable and np.isfinite(v).all() else v
        for i, v in enumerate(case.operands)
    ]


def check_scalars(case):
    """Compare a call of an Array beside NumPy's scalars with that of Arrays alone."""
    plain = [v[()] if v.ndim == 0 else xp.asarray(v) for v in case.operands]
    if all(isinstance(v, xp.Array) for v in plain):
        return
    if not any(isinstance(v, xp.Array) for v in plain):
        plain[-1] = xp.asarray(plain[-1])
    with quiet():
        found, expected = case.on(plain), case.on([xp.asarray(v) for v in case.operands])
    for f, e in zip(leaves(found), leaves(expected), strict=True):
        assert f.dtype == e.dtype, f"{f.dtype} beside scalars for {e.dtype}"
        np.testing.assert_array_equal(np.asarray(f), np.asarray(e))


def run(seed):
    """Check one call at one kind of point."""
    name = NAMES[seed % len(NAMES)]
    how = POINTS[seed // len(NAMES) % len(POINTS)]
    rng = np.random.default_rng(seed)
    case = CASES[name](rng, how)
    try:
        COUNTS[check(case, rng)] += 1
    except Exception as error:
        raise AssertionError(
            f"seed {seed}: {case}\n    {type(error).__name__}: {str(error)[:300]}"
        ) from error
    return 1


ATTACK = Attack(run, "calls", COUNTS)
