"""Second derivatives in all four nestings of the modes, and by differences in extended precision.

A Hessian is that of the total of a function's results, with respect to all elements of its inputs,
as one matrix.  The nestings: "rr" is a tape within a tape, "fr" a tape within an accumulator, "rf" an
accumulator within a tape, "ff" an accumulator within an accumulator.
"""

import numpy as np

import arraytape as xp
from arraytape.testing import total, weights

NESTINGS = "rr", "fr", "rf", "ff"


# --- by the modes -----------------------------------------------------------------------------------
def hessian(function, values, nesting):
    """The Hessian of the total of ``function(*arrays)`` as a matrix, by one nesting."""
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
    """A Hessian of columns, each from the index of an input and a unit tangent of it."""
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
    """The unit arrays in the shape of a value."""
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


# --- by differences ---------------------------------------------------------------------------------
# One-sided weights for the second derivative at 0 from the values at 0, 1, ... 8 steps, and for the
# first one.  Source: Fornberg 1988, "Generation of finite difference formulas on arbitrarily spaced
# grids".
def stencil(order, points):
    """The weights of values at 0, 1, ..., points - 1 in the derivative of an order at 0."""
    places = np.arange(points, dtype=np.longdouble)
    c = np.zeros((points, order + 1), np.longdouble)
    c[0, 0], c1 = 1, np.longdouble(1)
    for i in range(1, points):
        c2 = np.longdouble(1)
        for j in range(i):
            gap = places[i] - places[j]
            c2 *= gap
            if j == i - 1:
                for k in range(min(i, order), -1, -1):
                    before = k * c[i - 1, k - 1] if k else 0
                    c[i, k] = c1 * (before - places[i - 1] * c[i - 1, k]) / c2
            for k in range(min(i, order), -1, -1):
                c[j, k] = (places[i] * c[j, k] - (k * c[j, k - 1] if k else 0)) / gap
        c1 = c2
    return c[:, order]


ONE_SIDED = stencil(2, 9)


def total_of_numpy(outputs):
    """``testing.total`` of NumPy arrays."""
    answer = np.longdouble(0)
    for i, y in enumerate(outputs if isinstance(outputs, tuple | list) else (outputs,)):
        y = np.asarray(y)
        if y.dtype.kind == "c":
            answer = answer + (i + 1) * total_of_numpy((y.real, 2 * y.imag))
        elif y.dtype.kind == "f":
            answer = answer + (i + 1) * np.sum(y * weights(y.shape))
    return answer


def along(function, values, direction, step):
    """The second derivative along a direction: one-sided, by a step; NaN where there is none."""
    line = [
        total_of_numpy(
            function(*[v + k * step * d for v, d in zip(values, direction, strict=True)])
        )
        for k in range(len(ONE_SIDED))
    ]
    return np.dot(ONE_SIDED, np.asarray(line, np.longdouble)) / step**2


def second_difference(function, values, direction, step, rtol):
    """The second derivative along a direction; None where there is none, or none that is finite.

    It must be the same on both sides, where the function is defined on both, and for two steps.
    """
    found = []
    for side in (1, -1):
        turned = [side * d for d in direction]
        rough, fine = (along(function, values, turned, h) for h in (step, step / 4))
        if np.isnan(rough) and np.isnan(fine):
            continue
        if not abs(rough - fine) <= rtol * max(1.0, abs(fine)):
            return None
        found.append(fine)
    if not found or abs(found[0] - found[-1]) > rtol * max(1.0, abs(found[0])):
        return None
    if len(found) == 2 and not is_smooth(function, values, direction, step, rtol):
        return None
    return sum(found) / len(found)


def is_smooth(function, values, direction, step, rtol):
    """Whether value and slope on one side go on on the other."""
    ends = []
    for side in (1, -1):
        turned = [side * d for d in direction]
        line = [
            total_of_numpy(
                function(*[v + k * step * d for v, d in zip(values, turned, strict=True)])
            )
            for k in range(1, 10)
        ]
        ahead = [np.dot(at_zero(order), line) for order in (0, 1)]
        ends.append((ahead[0], side * ahead[1] / step))
    return all(abs(a - b) <= 100 * rtol * max(1.0, abs(a)) for a, b in zip(*ends, strict=True))


def at_zero(order):
    """Weights of the values at 1, ..., 9 in the derivative of an order at 0."""
    places = np.arange(1, 10, dtype=np.longdouble)
    matrix = np.vander(places, increasing=True).T
    right = np.zeros(9)
    right[order] = 1.0
    return np.linalg.solve(matrix.astype(float), right)


def differences(function, values, step=2e-3, rtol=1e-6):
    """The Hessian by differences in extended precision, with None where it has no finite element."""
    scale = max(
        [1.0 if not np.isfinite(v).all() else float(np.max(np.abs(v), initial=0.0)) for v in values]
    )
    step = np.longdouble(step) * (scale if scale > 1.0 else 1.0)
    values = [np.asarray(v, np.longdouble) for v in values]
    tangents = [
        [unit if i == j else np.zeros_like(v) for j, v in enumerate(values)]
        for i, value in enumerate(values)
        for unit in units(value)
    ]
    n = len(tangents)
    found = np.full((n, n), None)
    with np.errstate(all="ignore"):
        for i in range(n):
            found[i, i] = second_difference(function, values, tangents[i], step, rtol)
        for i in range(n):
            for j in range(i):
                ahead = [a + b for a, b in zip(tangents[i], tangents[j], strict=True)]
                across = [a - b for a, b in zip(tangents[i], tangents[j], strict=True)]
                pair = [second_difference(function, values, d, step, rtol) for d in (ahead, across)]
                if None not in pair:
                    found[i, j] = found[j, i] = (pair[0] - pair[1]) / 4
    return found
