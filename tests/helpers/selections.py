"""Checks that elements which a selection leaves out contribute exactly 0 to gradients.

Each program runs twice: on an input with dead elements or rows, and on its live part alone.  A dead
element has an infinite or NaN slope or value, and a selection leaves it out.  Gradients and
Hessian-vector products must agree on the live part and be exactly 0 on the dead part.
"""

import numpy as np
import pytest

import arraytape as xp

inf, nan = np.inf, np.nan


def gradients(f, *values):
    """Return the gradients of sum(f(*values)), one for each value."""
    arrays = [xp.asarray(v) for v in values]
    with np.errstate(all="ignore"), xp.GradientTape() as tape:
        tape.watch(arrays)
        y = xp.sum(f(*arrays))
    return [np.asarray(g) for g in tape.gradient(y, arrays, unconnected_gradients="zero")]


def products(f, along, *values):
    """Return the Hessian-vector products of sum(f(*values)) by nested tapes, one for each value."""
    arrays = [xp.asarray(v) for v in values]
    with np.errstate(all="ignore"), xp.GradientTape() as outer:
        outer.watch(arrays)
        with xp.GradientTape() as inner:
            inner.watch(arrays)
            y = xp.sum(f(*arrays))
        first = inner.gradient(y, arrays, unconnected_gradients="zero")
        slope = xp.asarray(0.0)
        for g, v in zip(first, along, strict=True):
            slope = slope + xp.sum(g * xp.asarray(v))
    return [np.asarray(g) for g in outer.gradient(slope, arrays, unconnected_gradients="zero")]


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def uneven(shape, turn=0.0):
    count = int(np.prod(shape))
    return (np.cos(1.0 + turn + 0.7 * np.arange(count)) + 0.3).reshape(shape)


def first_order(whole, alone, live, x, *others):
    """Check gradients where a program selects the "live" elements of x and ignores the "dead" others.

    whole, alone : functions that run the program on x and on x[live]; both must have the same gradients.
    others : further inputs of both.
    """
    found, *found_others = gradients(whole, x, *others)
    expected, *expected_others = gradients(alone, x[live], *others)
    assert np.isfinite(expected).all()
    assert np.isfinite(found).all(), found
    np.testing.assert_array_equal(found[~live], 0.0)
    near(found[live], expected)
    for f, e in zip(found_others, expected_others, strict=True):
        near(f, e)


def second_order(whole, alone, live, x, *others):
    """Check Hessian-vector products as ``first_order`` checks gradients; dead elements move, too."""
    along = [uneven(v.shape, 3.0 + i) for i, v in enumerate((x, *others))]
    found, *found_others = products(whole, along, x, *others)
    expected, *expected_others = products(alone, [along[0][live], *along[1:]], x[live], *others)
    assert np.isfinite(expected).all()
    assert np.isfinite(found).all(), found
    np.testing.assert_array_equal(found[~live], 0.0)
    near(found[live], expected)
    for f, e in zip(found_others, expected_others, strict=True):
        near(f, e)


orders = pytest.mark.parametrize("agree", [first_order, second_order], ids=["first", "second"])
SHAPE = (4, 3)
LIVE = np.asarray([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
INSIDE = 0.2 + 0.6 * np.random.default_rng(0).random(SHAPE)


def with_dead(dead, live=LIVE, inside=INSIDE):
    x = inside.copy()
    x[~live] = dead
    return x


# --- selections: functions of y and the mask of live elements, with 0 for dead elements -------
def by_where(y, live):
    return xp.where(xp.asarray(live), y, 0.0)


def by_inverse_where(y, live):
    return xp.where(xp.asarray(~live), 0.0, y)


def by_overwriting(y, live):
    y[xp.asarray(~live)] = 0.0
    return y


def by_mask_into_zeros(y, live):
    z = xp.zeros(y.shape)
    z[xp.asarray(live)] = y[xp.asarray(live)]
    return z


def by_flat_gather(y, live):
    at = xp.asarray(np.flatnonzero(live))
    z = xp.zeros(live.size)
    z[at] = xp.take(xp.reshape(y, (-1,)), at)
    return xp.reshape(z, y.shape)


def by_rows_overwritten(y, live):
    for i in np.flatnonzero(~live):
        y[int(i), :] = 0.0
    return y


def by_rows_of_views(y, live):
    for i in np.flatnonzero(~live):
        row = y[int(i)]
        row[...] = 0.0
    return y


def by_rows_gathered(y, live):
    at = xp.asarray(np.flatnonzero(live))
    z = xp.zeros(y.shape)
    z[at] = y[at, ...]
    return z


def by_rows_concatenated(y, live):
    zero = xp.zeros((1, *y.shape[1:]))
    return xp.concat([y[int(i) : int(i) + 1, ...] if kept else zero for i, kept in enumerate(live)])


def by_where_on_rows(y, live):
    return xp.where(xp.asarray(live)[:, None], y, 0.0)


ELEMENTS = [by_where, by_inverse_where, by_overwriting, by_mask_into_zeros, by_flat_gather]
ROWS = [
    by_where_on_rows,
    by_overwriting,
    by_rows_overwritten,
    by_rows_of_views,
    by_rows_gathered,
    by_rows_concatenated,
]


def spread(values, live, shape):
    """Return zeros of a shape, with ``values`` at the live elements."""
    z = xp.zeros(shape)
    z[xp.asarray(live)] = values
    return z
