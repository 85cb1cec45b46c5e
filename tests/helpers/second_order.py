"""Hessians in all four nestings of forward and reverse mode, and by differences.

A Hessian here is one matrix: second derivatives of the total of a function's results with respect to
all elements of its inputs.  The nestings are named outer mode first: "rr" is a tape within a tape, "fr"
a tape within an accumulator, "rf" an accumulator within a tape, "ff" two accumulators.
Differences are computed in extended precision.
"""

import math
from typing import NamedTuple

import numpy as np

import arraytape as xp
from arraytape.testing import total, weights

NESTINGS = "rr", "fr", "rf", "ff"


# --- Hessians by tapes and accumulators ---------------------------------------------------------------
def hessian(function, values, nesting):
    """Return the Hessian of the total of ``function(*values)`` as a matrix; nesting : in NESTINGS."""
    with np.errstate(all="ignore"):
        return WAYS[nesting](function, values)


def reverse_over_reverse(function, values):
    arrays = [xp.asarray(v) for v in values]
    with xp.GradientTape(persistent=True) as outer:
        outer.watch(arrays)
        with xp.GradientTape() as inner:
            inner.watch(arrays)
            y = total(function(*arrays))
        first = inner.gradient(y, arrays, unconnected_gradients="zero")
    return np.block([
        [blocked(outer.jacobian(g, x, unconnected_gradients="zero"), g, x) for x in arrays]
        for g in first
    ])  # fmt: skip


def blocked(jacobian, g, x):
    return np.asarray(jacobian).reshape(g.size, x.size)


def forward_over_reverse(function, values):
    def column(arrays, i, unit):
        with xp.ForwardAccumulator(arrays[i], unit) as accumulator:
            with xp.GradientTape() as tape:
                tape.watch(arrays)
                y = total(function(*arrays))
            first = tape.gradient(y, arrays, unconnected_gradients="zero")
        return accumulator.jvp(first, unconnected_gradients="zero")

    return by_columns(column, values)


def reverse_over_forward(function, values):
    def column(arrays, i, unit):
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            with xp.ForwardAccumulator(arrays[i], unit) as accumulator:
                y = total(function(*arrays))
            slope = accumulator.jvp(y, unconnected_gradients="zero")
        return tape.gradient(slope, arrays, unconnected_gradients="zero")

    return by_columns(column, values)


def by_columns(column, values):
    """Return the Hessian with a column ``column(arrays, i, unit)`` for each unit vector of input i."""
    columns = []
    for i, value in enumerate(values):
        for unit in units(value):
            found = column([xp.asarray(v) for v in values], i, xp.asarray(unit))
            columns.append(np.concatenate([np.asarray(part).reshape(-1) for part in found]))
    return np.stack(columns, axis=1)


def forward_over_forward(function, values):
    tangents = [(i, unit) for i, value in enumerate(values) for unit in units(value)]
    found = np.empty((len(tangents),) * 2)
    for row, (i, outer_unit) in enumerate(tangents):
        for column, (j, inner_unit) in enumerate(tangents):
            arrays = [xp.asarray(v) for v in values]
            with xp.ForwardAccumulator(arrays[i], xp.asarray(outer_unit)) as outer:
                with xp.ForwardAccumulator(arrays[j], xp.asarray(inner_unit)) as inner:
                    y = total(function(*arrays))
                slope = inner.jvp(y, unconnected_gradients="zero")
            found[row, column] = float(outer.jvp(slope, unconnected_gradients="zero"))
    return found


def units(value):
    """Yield the arrays of a value's shape that are 1 at one element and 0 elsewhere."""
    value = np.asarray(value)
    for k in range(value.size):
        unit = np.zeros(value.size, value.dtype)
        unit[k] = 1.0
        yield unit.reshape(value.shape)


WAYS = {
    "rr": reverse_over_reverse,
    "fr": forward_over_reverse,
    "rf": reverse_over_forward,
    "ff": forward_over_forward,
}


# --- Hessians by differences ------------------------------------------------------------------------
def stencil(places, order):
    """Return w so that sum(w * f(places)) approximates the ``order``-th derivative of f at 0."""
    # Gaussian elimination, because LAPACK has no extended precision.
    n = len(places)
    rows = np.asarray([[p**k for p in places] for k in range(n)], np.longdouble)
    right = np.zeros(n, np.longdouble)
    right[order] = math.factorial(order)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, pivot]], right[[k, pivot]] = rows[[pivot, k]], right[[pivot, k]]
        for i in range(k + 1, n):
            factor = rows[i, k] / rows[k, k]
            rows[i] -= factor * rows[k]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        right[k] = (right[k] - rows[k, k + 1 :] @ right[k + 1 :]) / rows[k, k]
    return right


# Points on one side of the point, without the point itself, because functions may jump there.
STEPS = np.arange(1, 10)
ONE_SIDED = [stencil(STEPS, order) for order in (0, 1, 2)]


def total_of_numpy(outputs):
    """Return ``testing.total`` of NumPy arrays in extended precision."""
    answer = np.longdouble(0)
    for i, y in enumerate(outputs if isinstance(outputs, tuple | list) else (outputs,)):
        y = np.asarray(y)
        if y.dtype.kind == "c":
            answer = answer + (i + 1) * total_of_numpy((y.real, 2 * y.imag))
        elif y.dtype.kind == "f":
            answer = answer + (i + 1) * np.sum(y * weights(y.shape))
    return answer


class Side(NamedTuple):
    """The one-sided limits of value, slope and curvature at a point along a direction."""

    value: float
    slope: float
    curvature: float

    def is_like(self, other, rtol):
        pairs = zip(self, other, (10, 10, 1), strict=True)
        return all(abs(a - b) <= k * rtol * max(1.0, abs(a)) for a, b, k in pairs)


def side_of(function, values, direction, step):
    line = [
        total_of_numpy(
            function(*[v + k * step * d for v, d in zip(values, direction, strict=True)])
        )
        for k in STEPS
    ]
    return Side(*[w @ np.asarray(line) / step**k for k, w in enumerate(ONE_SIDED)])


def sides(function, values, direction, step, rtol):
    """Return a list with the Side of a point for both signs of a direction.

    The list has None for a side on which the function is not smooth, and nothing where it is
    undefined.
    """
    found = []
    for sign in (1, -1):
        turned = [sign * d for d in direction]
        rough, fine = (side_of(function, values, turned, h) for h in (step, step / 4))
        if np.isnan(rough.value) and np.isnan(fine.value):
            continue
        smooth = rough.is_like(fine, rtol)
        found.append(fine._replace(slope=sign * fine.slope) if smooth else None)
    return found


def curvatures(found, rtol):
    """Return the common curvature of all sides, or None if they differ, and the list of curvatures."""
    if not found or None in found:
        return None, []
    curvatures = [side.curvature for side in found]
    agree = found[0].is_like(found[-1], rtol)
    return (sum(curvatures) / len(curvatures) if agree else None), curvatures


def steps_for(values, step):
    """Return step sizes in proportion to the magnitudes of the point's numbers, in ascending order."""
    sizes = [float(a) for v in values for a in np.abs(np.ravel(v)) if a]
    most = max(sizes, default=0.0)
    return sorted({step * size for size in (1.0, *sizes) if size > 1e-7 * most})


def differences(function, values, step=2e-3, rtol=1e-6):
    """Return two matrices: the Hessian by one-sided differences, and lists of one-sided values.

    Each list has an element's values by differences on the different sides of the point.  If these
    differ, the element of the Hessian is None.
    """
    steps = [np.longdouble(h) for h in steps_for(values, step)]
    values = [np.asarray(v, np.longdouble) for v in values]
    tangents = [
        [unit if i == j else np.zeros_like(v) for j, v in enumerate(values)]
        for i, value in enumerate(values)
        for unit in units(value)
    ]
    n = len(tangents)
    exact, sided = np.full((n, n), None), np.full((n, n), None)

    def along(direction):
        on_sides = []
        for h in steps:
            agreed, found = curvatures(sides(function, values, direction, h, rtol), rtol)
            if agreed is not None:
                return agreed, found
            on_sides += found
        return None, on_sides

    with np.errstate(all="ignore"):
        for i in range(n):
            exact[i, i], sided[i, i] = along(tangents[i])
            for j in range(i):
                pairs = list(zip(tangents[i], tangents[j], strict=True))
                one, ones = along([a + b for a, b in pairs])
                other, others = along([a - b for a, b in pairs])
                mixed = None if one is None or other is None else (one - other) / 4
                exact[i, j] = exact[j, i] = mixed
                sided[i, j] = sided[j, i] = [(a - b) / 4 for a in ones for b in others]
    return exact, sided
