"""Calls with any subset of optional arguments, options and operands of every kind, beside NumPy.

Of each call: NumPy's value in every bit, dtype and shape; the gradient beside differences of NumPy's
function; forward mode beside reverse mode; the second order, reverse over reverse and forward over
reverse, beside differences of the gradient.
"""

import contextlib
import random
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from arraytape.testing import total
from helpers.call_tables import ACCEPTED
from helpers.call_variants import draw
from helpers.operand_kinds import laid_out
from helpers.same_values import assert_same, quiet
from helpers.second_order import total_of_numpy

from .attack import Attack

COUNTS = Counter()
STEP = 1e-4
HALVES = ("float32", "complex64", "float16")


REFUSALS = {  # words of a refusal -> the names of functions that may say so, () for all
    "must be an Array, got": (),  # lists, where the standard wants arrays
    "takes Arrays, got": ("special.",),
    "give axis": ("take",),
    "has no axis": ("take",),  # a number, which the standard does not take from
    "is out of range": ("repeat",),  # an axis of a number, which NumPy allows to some functions
    "cannot write a recorded result into a NumPy array": ("np.",),
    "has no recorded counterpart": ("np.nan",),
    "no Array can have dtype": ("logspace", "linspace"),  # lists of ends
    "list assignment index out of range": ("cumulative_",),  # of a number, which has no axis
    "zero-dimensional arrays cannot be concatenated": ("diff",),
    "not supported between instances of 'list'": ("special.",),
}
NO_DERIVATIVES = {
    "has no derivative with respect to": ("special.",),
    "columns alone": ("linalg.svd", "linalg.qr"),
}


class Refused(Exception):
    """arraytape refuses the call in words of its own."""


def run(seed):
    """One call in all eager modes."""
    rng = random.Random(seed)
    variant = draw(rng)
    try:
        COUNTS[check(variant, rng)] += 1
    except Exception as error:
        raise AssertionError(
            f"seed {seed}: {variant}\n    {type(error).__name__}: {str(error)[:600]}"
        ) from error
    return 1


def check(variant, rng):
    """Check one call: how it fared."""
    try:
        expected = variant.expected()
    except Exception:
        return refused_by_numpy(variant)
    try:
        found = ours(variant, variant.made())
    except Refused as error:
        return refused_as_spelled(variant) or expected_reason(variant, error, REFUSALS)
    try:
        same_as_numpy(found, expected, variant)
    except AssertionError:
        if not is_numpys_as_spelled(found, variant):
            raise
    watched = [x.is_array and x.smooth for x in variant.operands]
    if not any(watched) or not floats(found):
        return "right: value"
    return Derivatives(variant, watched, rng).check()


def refused_as_spelled(variant):
    """Return how a refusal fared that is NumPy's own for this spelling: ``cond(x, p=array(2))``."""
    try:
        variant.expected_as_spelled()
    except Exception:
        return "refused by both as spelled"
    return None


def is_numpys_as_spelled(found, variant):
    """Return True if NumPy gives the same for this spelling.

    The type of an option may count: ``clip(x, array(0.2))`` has another dtype than ``clip(x, 0.2)``,
    and NumPy computes with a bound of float32 as it is rounded.
    """
    try:
        same_as_numpy(found, variant.expected_as_spelled(), variant)
    except Exception:
        return False
    return True


def expected_reason(variant, error, reasons):
    """The reason of a refusal that is meant; any other is a finding."""
    for words, names in reasons.items():
        if words in str(error) and (not names or variant.name.startswith(names)):
            return f"refused: {words}"
    raise error


def refused_by_numpy(variant):
    try:
        ours(variant, variant.made())
    except Refused:
        return "refused by both"
    assert variant.name in ACCEPTED, "NumPy refuses the call"
    return f"accepted, refused by NumPy: {variant.name}"


def ours(variant, values):
    with plainly():
        try:
            return variant.call(*values)
        except Exception as error:
            if "[at " not in str(error) and "(see http" not in str(error):
                raise
            raise Refused(f"{type(error).__name__}: {error}") from error


@contextlib.contextmanager
def plainly():
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same_as_numpy(found, expected, variant):
    if isinstance(expected, np.ndarray | np.generic | list | tuple):
        assert_same(found, expected, variant.close)
    elif isinstance(expected, bool | int | float | complex):
        assert_same(found, np.asarray(expected) if isinstance(found, xp.Array) else expected)


def floats(found):
    """The Arrays of floats or complex numbers among results."""
    return [x for x in flat(found) if isinstance(x, xp.Array) and x.dtype.kind in "fc"]


def flat(found):
    """The results in nested lists and tuples, in order."""
    return [x for part in found for x in flat(part)] if isinstance(found, list | tuple) else [found]


class Derivatives:
    """The derivatives of a call at its operands, in double precision, along drawn directions."""

    def __init__(self, variant, watched, rng):
        self.variant, self.watched = variant, watched
        numbers = np.random.default_rng(rng.randrange(2**32))
        self.points = [
            doubled(x.data) if w else x.data for x, w in zip(variant.operands, watched, strict=True)
        ]
        self.direction, self.other = (
            [tangent(x, numbers) for x, w in zip(self.points, watched, strict=True) if w]
            for _ in range(2)
        )

    def function(self, arrays):
        rest = iter(arrays)
        values = [
            next(rest) if w else x.made()
            for x, w in zip(self.variant.operands, self.watched, strict=True)
        ]
        return total(floats(self.variant.call(*values)))

    def arrays(self, step=0.0):
        """The watched operands after a step along ``other``, each in its memory layout."""
        pairs = zip(self.points, self.variant.operands, self.watched, strict=True)
        watched = [(x, operand.kind) for x, operand, w in pairs if w]
        return [
            laid_out(x + step * e, kind, xp.asarray)
            for (x, kind), e in zip(watched, self.other, strict=True)
        ]

    def numpys(self, step):
        """The total of NumPy's results after a step along the direction."""
        rest = iter(self.direction)
        values = [
            x + step * next(rest) if w else x
            for x, w in zip(self.points, self.watched, strict=True)
        ]
        found = self.variant.expected(*values)
        kept = [np.asarray(x) for x in flat(found) if np.asarray(x).dtype.kind in "fc"]
        halves = str(self.variant.keywords.get("dtype")) in HALVES  # in which NumPy computes
        return float(total_of_numpy(kept)), halves or any(x.dtype.name in HALVES for x in kept)

    def check(self):
        with plainly():
            total, halves = self.numpys(0.0)
            if not np.isfinite(total):
                return "right: value, which is not finite"
            try:
                first, slope, second, mixed = self.by_modes()
            except Exception as error:
                return expected_reason(self.variant, error, NO_DERIVATIVES)
            if np.isnan(second) and self.is_of_nothing():
                return "right: first order; of no elements, beside an operand that may be no place"
            close(slope, first, 1e-4 if halves else 1e-9, "forward mode", "reverse mode")
            close(
                second,
                mixed,
                1e-3 if halves else 1e-8,
                "reverse over reverse",
                "forward over reverse",
            )
            if self.variant.rough or halves:
                return "right: modes agree"
            return self.by_differences(first, second)

    def by_differences(self, first, second):
        slopes = [difference(lambda t: self.numpys(t)[0], h) for h in (STEP, STEP / 3)]
        if not alike(*slopes, 1e-6):
            return "not smooth"
        close(first, slopes[0], 1e-6, "gradient", "difference")
        if np.isnan(second) and self.deviates_nowhere():
            return "right: first order; second is NaN at a deviation of 0"
        curvatures = [difference(self.slope_at, h) for h in (STEP, STEP / 3)]
        if not alike(*curvatures, 1e-5):
            return "right: first order; second not smooth"
        close(second, curvatures[0], 1e-5, "second order", "difference of the gradient")
        return "right: all"

    def is_of_nothing(self):
        """Return True for a special function without elements: whether its domain has the operands, no
        value shows, such as df = -0.3 beside an empty array; rules are NaN there."""
        found = flat(self.variant.expected())
        return self.variant.name.startswith("special.") and not any(map(np.size, found))

    def deviates_nowhere(self):
        """Return True for a standard deviation of 0: of one element it is constant, of several a tip."""
        found = flat(self.variant.expected())
        return self.variant.name.endswith("std") and any(np.any(np.equal(y, 0)) for y in found)

    def slope_at(self, step):
        """The gradient at a step along ``other``, in the direction."""
        arrays = self.arrays(step)
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            y = self.function(arrays)
        return inner(tape.gradient(y, arrays), self.direction)

    def by_modes(self):
        """<gradient, d>, J d, and the second order along d and e in two nestings."""
        arrays = self.arrays()
        with xp.GradientTape() as outer:
            outer.watch(arrays)
            with xp.GradientTape() as tape:
                tape.watch(arrays)
                y = self.function(arrays)
            gradient = tape.gradient(y, arrays)
            check_layout(gradient, arrays)
            along = along_direction(gradient, self.direction)
        first = inner(gradient, self.direction)
        second = 0.0 if along is None else inner(outer.gradient(along, arrays), self.other)
        arrays = self.arrays()
        tangents = [xp.asarray(d) for d in self.direction]
        with xp.ForwardAccumulator(arrays, tangents) as accumulator:
            y = self.function(arrays)
        slope = real_of(accumulator.jvp(y))
        arrays = self.arrays()
        with xp.ForwardAccumulator(arrays, [xp.asarray(e) for e in self.other]) as accumulator:
            with xp.GradientTape() as tape:
                tape.watch(arrays)
                y = self.function(arrays)
            along = along_direction(tape.gradient(y, arrays), self.direction)
        mixed = 0.0 if along is None else real_of(accumulator.jvp(along))
        return first, slope, second, mixed


def check_layout(gradient, arrays):
    for g, x in zip(gradient, arrays, strict=True):
        if g is not None:
            assert (g.dtype, g.shape) == (x.dtype, x.shape), "the gradient has another layout"


def along_direction(gradient, direction):
    parts = [
        xp.sum(xp.real(xp.conj(g) * xp.asarray(d)))
        for g, d in zip(gradient, direction, strict=True)
        if g is not None
    ]
    return sum(parts[1:], parts[0]) if parts else None


def inner(gradient, direction):
    return sum(
        float(np.sum(np.real(np.conj(np.asarray(g)) * d)))
        for g, d in zip(gradient, direction, strict=True)
        if g is not None
    )


def real_of(x):
    return 0.0 if x is None else float(x)


def doubled(data):
    return data.astype({"f": "float64", "c": "complex128"}[data.dtype.kind])


def tangent(x, numbers):
    d = numbers.uniform(-1.0, 1.0, x.shape)
    return d + 1j * numbers.uniform(-1.0, 1.0, x.shape) if x.dtype.kind == "c" else d


def difference(function, step):
    """The slope at 0, by central differences with an error of the fourth order."""
    one, two = (function(k * step) - function(-k * step) for k in (1.0, 2.0))
    return (8.0 * one - two) / (12.0 * step)


def alike(a, b, rtol):
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= rtol * max(1.0, abs(a), abs(b)))


def close(found, expected, rtol, name, other):
    if not alike(found, expected, rtol) and not (
        found == expected or (found != found and expected != expected)
    ):
        raise AssertionError(f"{name}: {found!r}, {other}: {expected!r}")


ATTACK = Attack(run, "calls", COUNTS)
