"""What a selection did not take contributes exactly zero, however infinite its slope.

Each program runs twice: on an input of which some elements or rows are dead (their slope or value
is infinite or NaN, and a selection leaves them out), and on its live part alone.  Gradients and
Hessian-vector products must agree on the live part and be exactly zero on the dead one.
"""

import numpy as np
import pytest

import arraytape as xp

inf, nan = np.inf, np.nan


# --- helpers --------------------------------------------------------------------------------
def gradients(f, *values):
    """The gradients of sum(f(*values)), one for each value."""
    arrays = [xp.asarray(v) for v in values]
    with np.errstate(all="ignore"), xp.GradientTape() as tape:
        tape.watch(arrays)
        y = xp.sum(f(*arrays))
    return [np.asarray(g) for g in tape.gradient(y, arrays, unconnected_gradients="zero")]


def products(f, along, *values):
    """Hessian-vector products of sum(f(*values)) by nested tapes, one for each value."""
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
    """Gradients with dead elements against those of the live part alone; the others agree too."""
    found, *found_others = gradients(whole, x, *others)
    expected, *expected_others = gradients(alone, x[live], *others)
    assert np.isfinite(expected).all()
    assert np.isfinite(found).all(), found
    np.testing.assert_array_equal(found[~live], 0.0)
    near(found[live], expected)
    for f, e in zip(found_others, expected_others, strict=True):
        near(f, e)


def second_order(whole, alone, live, x, *others):
    """The same of Hessian-vector products, along a direction that moves dead elements as well."""
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


# --- selections: (y, the mask of what is live) -> y with zeros for what is not ----------------
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
    """Zeros with the values of the live part in their places."""
    z = xp.zeros(shape)
    z[xp.asarray(live)] = values
    return z


# --- elements -------------------------------------------------------------------------------
SHAPE = (4, 3)
LIVE = np.asarray([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
INSIDE = 0.2 + 0.6 * np.random.default_rng(0).random(SHAPE)


FUNCTIONS = {  # name: (function, a dead element)
    "sqrt": (xp.sqrt, 0.0),
    "sqrt of a negative number": (xp.sqrt, -1.0),
    "log": (xp.log, 0.0),
    "log of a negative number": (xp.log, -1.0),
    "log2": (xp.log2, 0.0),
    "log10": (xp.log10, 0.0),
    "log1p": (xp.log1p, -1.0),
    "reciprocal": (xp.reciprocal, 0.0),
    "division": (lambda x: 1.0 / x, 0.0),
    "quotient": (lambda x: x / x**2, 0.0),
    "power 0.5": (lambda x: x**0.5, 0.0),
    "power 0.5 of arrays": (lambda x: xp.pow(x, xp.asarray(0.5)), 0.0),
    "power -1": (lambda x: x**-1.0, 0.0),
    "power 1.5": (lambda x: x**1.5, 0.0),
    "x log x": (lambda x: x * xp.log(x), 0.0),
    "exp of a reciprocal": (lambda x: xp.exp(1.0 / x), 0.0),
    "arccos": (xp.acos, 1.0),
    "arccos out of range": (xp.acos, 2.0),
    "arcsin": (xp.asin, 1.0),
    "arctanh": (xp.atanh, 1.0),
    "abs of a root": (lambda x: xp.abs(xp.sqrt(x)), 0.0),
    "abs of a logarithm": (lambda x: xp.abs(xp.log(x)), 0.0),
    "real part of a complex product": (lambda x: xp.real(xp.log(x) * (1.0 + 2.0j)), 0.0),
    "root of another dtype": (
        lambda x: xp.astype(xp.sqrt(xp.astype(x, xp.float32)), xp.float64),
        0.0,
    ),
    "norm with a constant": (lambda x: xp.hypot(xp.sqrt(x), xp.asarray(1.0)), 0.0),
    "a nan": (lambda x: x * x, nan),
    "an infinity": (lambda x: xp.exp(x) * xp.sin(x), inf),
    "overflow": (lambda x: xp.exp(x * x), 1000.0),
}


def with_dead(dead, live=LIVE, inside=INSIDE):
    x = inside.copy()
    x[~live] = dead
    return x


@orders
@pytest.mark.parametrize("select", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_that_are_not_selected_contribute_zero(name, select, agree):
    f, dead = FUNCTIONS[name]
    weights = xp.asarray(uneven(SHAPE))

    def whole(x):
        return weights * select(f(x), LIVE) ** 2

    def alone(x):
        return weights * spread(f(x), LIVE, SHAPE) ** 2

    agree(whole, alone, LIVE, with_dead(dead))


@pytest.mark.parametrize("f", [xp.sqrt, xp.log, xp.reciprocal, lambda x: x**0.5])
def test_the_whole_hessian_is_zero_in_the_rows_and_columns_of_dead_elements(f):
    x, live = np.asarray([0.0, 2.0, 0.0, 0.75]), np.asarray([False, True, False, True])

    def whole(x):
        return xp.sum(xp.where(x > 0, f(x), 0.0)) ** 3

    def alone(x):
        return xp.sum(f(x)) ** 3

    found = np.stack([products(whole, [row], x)[0] for row in np.eye(4)])
    expected = np.zeros((4, 4))
    part = np.stack([products(alone, [row], x[live])[0] for row in np.eye(2)])
    expected[np.ix_(live, live)] = part
    assert np.abs(part).min() > 0
    near(found, expected)


def test_a_third_derivative_is_zero_at_a_dead_element():
    x = xp.asarray([0.0, 4.0])
    with np.errstate(all="ignore"), xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as middle:
            middle.watch(x)
            with xp.GradientTape() as inner:
                inner.watch(x)
                y = xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0))
            first = inner.gradient(y, x)
        second = middle.gradient(first, x)
    near(np.asarray(outer.gradient(second, x)), [0.0, 3 / 8 * 4.0**-2.5])


# --- what follows the selection -------------------------------------------------------------
A, B = uneven((5, 4), 1.0), uneven((3, 2), 2.0)
STACK = uneven((2, 3, 3), 4.0)

FOLLOWERS = {
    "sum": lambda z: xp.sum(z) ** 2,
    "sum over an axis": lambda z: xp.sum(z, axis=0) ** 2,
    "mean": lambda z: xp.mean(z, axis=1) ** 2,
    "matmul": lambda z: (z @ xp.asarray(B)) ** 2,
    "matmul from the left": lambda z: (xp.asarray(A) @ z) ** 2,
    "matmul with a stack": lambda z: (z @ xp.asarray(STACK)) ** 2,
    "matmul with itself": lambda z: (z @ xp.matrix_transpose(z)) ** 2,
    "matrix times vector": lambda z: (z @ xp.asarray(B[:, 0])) ** 2,
    "tensordot": lambda z: xp.tensordot(z, xp.asarray(B), axes=1) ** 2,
    "vecdot": lambda z: xp.vecdot(z, xp.asarray(B[:, 0])) ** 2,
    "gather": lambda z: z[xp.asarray([0, 2, 2, -1]), ...] ** 2,
    "take": lambda z: xp.take(z, xp.asarray([2, 0, 2]), axis=1) ** 3,
    "slice": lambda z: z[1:, ::2] ** 2,
    "sort": lambda z: xp.sort(z, axis=0) ** 2 * xp.asarray(uneven(SHAPE)),
    "sort of all": lambda z: xp.sort(xp.reshape(z, (-1,))) ** 2 * xp.asarray(uneven((12,))),
    "clip": lambda z: xp.clip(z, 0.1, 0.75) ** 2,
    "maximum": lambda z: xp.maximum(z, 0.5) ** 2,
    "max": lambda z: xp.max(z) ** 2,
    "max over an axis": lambda z: xp.max(z, axis=1) ** 2,
    "min over an axis": lambda z: xp.min(z, axis=0) ** 2,
    "cumulative_sum": lambda z: xp.cumulative_sum(z, axis=0) ** 2,
    "std": lambda z: xp.std(z) ** 3,
    "var": lambda z: xp.var(z, axis=0) ** 2,
    "norm": lambda z: xp.linalg.vector_norm(z) ** 3,
    "prod": lambda z: xp.prod(z + 1.0, axis=0) ** 2,
    "cumulative_prod": lambda z: xp.cumulative_prod(z + 1.0, axis=1) ** 2,
    "exp": lambda z: xp.exp(z) * xp.asarray(uneven(SHAPE)),
    "softmax": lambda z: (
        xp.exp(z) / xp.sum(xp.exp(z), axis=1, keepdims=True) * xp.asarray(uneven(SHAPE))
    ),
    "concat": lambda z: xp.concat([z, z * z], axis=1) ** 2,
    "reshape, flip, roll": lambda z: xp.roll(xp.flip(xp.reshape(z, (6, 2))), 1, axis=0)[1:] ** 2,
    "transpose": lambda z: xp.matrix_transpose(z)[1] ** 2,
    "solve": lambda z: xp.linalg.solve(xp.asarray(np.eye(4) * 3 + A[:4] * 0.1), z) ** 2,
    "fft": lambda z: (
        xp.abs(xp.fft.fft(xp.astype(z, xp.complex128), axis=0)) ** 2 * xp.asarray(uneven(SHAPE))
    ),
    "a second selection": lambda z: xp.where(z > 0.6, z * z, 0.0),
}


@orders
@pytest.mark.parametrize("f", [xp.sqrt, xp.reciprocal], ids=["sqrt", "reciprocal"])
@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_selection_holds_through_what_follows_it(name, f, agree):
    follow = FOLLOWERS[name]
    agree(
        lambda x: follow(by_where(f(x), LIVE)),
        lambda x: follow(spread(f(x), LIVE, SHAPE)),
        LIVE,
        with_dead(0.0),
    )


# --- rows -----------------------------------------------------------------------------------
LIVE_ROWS = np.asarray([True, False, True, False])
W, MATRIX = uneven((3, 2), 2.0), np.eye(3) * 3.0 + uneven((3, 3)) * 0.1

ROW_FUNCTIONS = {  # name: (function of an (n, 3) array to an (n, m) array, the elements of a dead row)
    "matmul": (lambda x: xp.sqrt(x) @ xp.asarray(W), 0.0),
    "matmul of infinities": (lambda x: xp.log(x) @ xp.asarray(W), 0.0),
    "matmul of reciprocals": (lambda x: xp.reciprocal(x) @ xp.asarray(W), 0.0),
    "matmul of nan": (lambda x: xp.log(x) @ xp.asarray(W), -1.0),
    "two matmuls": (lambda x: xp.tanh(xp.sqrt(x) @ xp.asarray(W)) @ xp.asarray(W.T), 0.0),
    "matmul with a partly dead row": (lambda x: xp.sqrt(x) @ xp.asarray(W), [0.0, 0.5, 0.0]),
    "matmul as the second operand": (
        lambda x: xp.matrix_transpose(xp.asarray(W.T) @ xp.matrix_transpose(xp.sqrt(x))),
        0.0,
    ),
    "matmul of stacks": (
        lambda x: (xp.sqrt(x)[:, None, :] @ xp.asarray(W))[:, 0, :],
        0.0,
    ),
    "matmul with itself": (
        lambda x: (xp.sqrt(x)[:, :, None] @ xp.sqrt(x)[:, None, :])[:, :, 0],
        0.0,
    ),
    "matrix times vector": (lambda x: (xp.sqrt(x) @ xp.asarray(W[:, 0]))[:, None], 0.0),
    "vecdot": (lambda x: xp.vecdot(xp.sqrt(x), xp.asarray(W[:, 0]))[:, None], 0.0),
    "vecdot with itself": (lambda x: xp.vecdot(xp.log(x), xp.log(x))[:, None], 0.0),
    "tensordot": (lambda x: xp.tensordot(xp.sqrt(x), xp.asarray(W), axes=1), 0.0),
    "solve": (
        lambda x: xp.linalg.solve(xp.asarray(MATRIX), xp.sqrt(x)[:, :, None])[:, :, 0],
        0.0,
    ),
    "fft": (
        lambda x: xp.real(xp.fft.fft((xp.sqrt(x) + 0.0j) * xp.asarray(uneven((3,))))),
        0.0,
    ),
    "sum": (lambda x: xp.sum(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "mean": (lambda x: xp.mean(xp.log(x), axis=1, keepdims=True), 0.0),
    "norm": (lambda x: xp.linalg.vector_norm(x, axis=1, keepdims=True), 0.0),
    "norm of roots": (lambda x: xp.linalg.vector_norm(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "norm of logarithms": (lambda x: xp.linalg.vector_norm(xp.log(x), axis=1, keepdims=True), 0.0),
    "1-norm of roots": (
        lambda x: xp.linalg.vector_norm(xp.sqrt(x), axis=1, keepdims=True, ord=1),
        0.0,
    ),
    "root of squares": (lambda x: xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), 0.0),
    "rows of length 1": (lambda x: x / xp.linalg.vector_norm(x, axis=1, keepdims=True), 0.0),
    "std": (lambda x: xp.std(x, axis=1, keepdims=True), 0.3),
    "std of roots": (lambda x: xp.std(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "std of logarithms": (lambda x: xp.std(xp.log(x), axis=1, keepdims=True), 0.0),
    "var of roots": (lambda x: xp.var(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "standardised": (
        lambda x: (
            (x - xp.mean(x, axis=1, keepdims=True)) / xp.std(x, axis=1, keepdims=True, correction=1)
        ),
        0.5,
    ),
    "prod of roots": (lambda x: xp.prod(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "cumulative_prod of roots": (lambda x: xp.cumulative_prod(xp.sqrt(x), axis=1), 0.0),
    "cumulative_sum of roots": (lambda x: xp.cumulative_sum(xp.sqrt(x), axis=1), 0.0),
    "max of roots": (lambda x: xp.max(xp.sqrt(x), axis=1, keepdims=True), 0.0),
    "sort of logarithms": (lambda x: xp.sort(xp.log(x), axis=1), 0.0),
    "softmax of logarithms": (
        lambda x: xp.exp(xp.log(x)) / xp.sum(xp.exp(xp.log(x)), axis=1, keepdims=True),
        0.0,
    ),
    "complex": (lambda x: xp.abs(xp.sqrt(x) * (1.0 + 2.0j)) + x, 0.0),
}


def rows_agree(agree, f, dead, select):
    x = with_dead(dead, LIVE_ROWS)
    with np.errstate(all="ignore"):
        shape = f(xp.asarray(x)).shape
    weights = xp.asarray(uneven(shape))

    def whole(x):
        return weights * select(f(x), LIVE_ROWS) ** 3

    def alone(x):
        return weights * spread(f(x), LIVE_ROWS, shape) ** 3

    agree(whole, alone, LIVE_ROWS, x)


@orders
@pytest.mark.parametrize("name", ROW_FUNCTIONS)
def test_rows_that_are_not_selected_contribute_zero(name, agree):
    f, dead = ROW_FUNCTIONS[name]
    rows_agree(agree, f, dead, by_where_on_rows)


@orders
@pytest.mark.parametrize("select", ROWS)
@pytest.mark.parametrize("name", ["sum", "rows of length 1", "matmul", "matmul of infinities"])
def test_every_way_to_leave_rows_out(name, select, agree):
    f, dead = ROW_FUNCTIONS[name]
    rows_agree(agree, f, dead, select)


# --- the other operand of what a dead element met ---------------------------------------------
OTHERS = {  # name: (function of x and the other operand, that operand)
    "a matrix": (lambda x, w: xp.log(x) @ w, W),
    "a matrix, roots": (lambda x, w: xp.sqrt(x) @ w, W),
    "a vector": (lambda x, w: (xp.log(x) @ w)[:, None], W[:, 0]),
    "a matrix on the left": (
        lambda x, w: xp.matrix_transpose(w @ xp.matrix_transpose(xp.log(x))),
        W.T,
    ),
    "a vector of vecdot": (lambda x, w: xp.vecdot(xp.log(x), w)[:, None], W[:, 0]),
    "a factor for every column": (lambda x, w: xp.log(x) * w, W[:, 0]),
    "a single factor": (lambda x, w: xp.log(x) * w, np.asarray(0.7)),
    "a divisor": (lambda x, w: xp.log(x) / w, np.asarray(0.7)),
    "an exponent": (lambda x, w: xp.reciprocal(x) ** w, np.asarray(0.7)),
    "a shift": (lambda x, w: xp.log(x + w - 0.25), np.asarray(0.25)),
    "an angle": (lambda x, w: xp.atan2(xp.log(x), w), np.asarray(0.7)),
}


@orders
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_operand_of_a_dead_row_has_the_gradient_of_the_live_rows(name, agree):
    f, other = OTHERS[name]
    x = with_dead(0.0, LIVE_ROWS)

    def whole(x, w):
        y = f(x, w)
        return xp.asarray(uneven(y.shape)) * by_where_on_rows(y, LIVE_ROWS) ** 2

    def alone(x, w):
        y = f(x, w)
        shape = (4, *y.shape[1:])
        return xp.asarray(uneven(shape)) * spread(y, LIVE_ROWS, shape) ** 2

    agree(whole, alone, LIVE_ROWS, x, other)


@orders
def test_a_single_exponent_of_dead_negative_numbers_has_the_gradient_of_the_live_ones(agree):
    live = np.asarray([True, False, True])
    agree(
        lambda x, p: xp.where(x > 0, x**p, 0.0) ** 2,
        lambda x, p: (x**p) ** 2,
        live,
        np.asarray([0.5, -1.0, 2.0]),
        np.asarray(1.3),
    )


# --- what is taken, decided by the values -------------------------------------------------------
CHOICES = {
    "max": lambda x: xp.max(xp.log(x)) ** 2,
    "min": lambda x: xp.min(xp.reciprocal(x)) ** 2,
    "maximum": lambda x: xp.maximum(xp.log(x), -5.0) ** 2,
    "minimum": lambda x: xp.minimum(xp.reciprocal(x), 50.0) ** 2,
    "clip": lambda x: xp.clip(xp.log(x), -5.0, 5.0) ** 2,
    "clip of roots": lambda x: xp.clip(xp.sqrt(x), 0.1, 5.0) ** 2,
    "sort": lambda x: xp.sort(xp.log(x))[-3:] ** 2 * xp.asarray(uneven((3,))),
    "argsort and take": lambda x: (
        xp.take(xp.log(x), xp.argsort(x)[-3:]) ** 2 * xp.asarray(uneven((3,)))
    ),
    "mask": lambda x: xp.log(x)[x > 0] ** 2,
    "write by a condition": lambda x: overwritten(xp.log(x)) ** 2,
    "where on the result": lambda x: finite(xp.log(x)) ** 2,
    "nested where": lambda x: (
        xp.where(x > 0, xp.where(x > 1, xp.log(x), xp.sqrt(x)), 0.0) ** 2 * x.shape[0] / x.shape[0]
    ),
}


def overwritten(z):
    z[z < -5.0] = 0.0
    return z


def finite(z):
    return xp.where(xp.isfinite(z), z, 0.0)


@orders
@pytest.mark.parametrize("name", CHOICES)
def test_what_the_values_leave_out_contributes_zero(name, agree):
    f = CHOICES[name]
    live = np.asarray([True, False, True, False, True])
    agree(f, f, live, np.asarray([0.5, 0.0, 2.5, 0.0, 1.5]))


def test_a_negative_number_set_to_zero_by_a_mask_contributes_zero():
    def f(x):
        z = xp.sqrt(x)
        z[z < 0.5] = 0.0
        z[xp.isnan(z)] = 0.0
        return z

    np.testing.assert_array_equal(gradients(f, np.asarray([-1.0, 0.0, 4.0]))[0], [0.0, 0.0, 0.25])


def test_an_element_that_one_use_takes_and_another_does_not_is_taken():
    def f(x):
        y = xp.sqrt(x)
        return xp.where(x > 0, y, 0.0) + 3.0 * y

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 4.0]))[0], [inf, 1.0])


def test_an_intermediate_result_as_source_does_not_change_the_gradient():
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
        loss = xp.sum(xp.where(x > 0, y, 0.0) ** 2)
    to_y, to_x = tape.gradient(loss, [y, x])
    np.testing.assert_array_equal(np.asarray(to_y), [0.0, 4.0])
    np.testing.assert_array_equal(np.asarray(to_x), [0.0, 1.0])


def test_a_selection_on_an_inner_tape_alone_holds_for_the_outer_one():
    x, scale = xp.asarray([0.0, 4.0]), xp.asarray(3.0)
    with xp.GradientTape() as outer:
        outer.watch(scale)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(scale**2 * xp.where(x > 0, xp.sqrt(x), 0.0))
        first = inner.gradient(y, x)
    np.testing.assert_array_equal(np.asarray(first), [0.0, 2.25])
    assert float(outer.gradient(first, scale)) == 1.5


def test_single_precision_selects_as_double_precision_does():
    x = np.asarray([0.0, 4.0], dtype=np.float32)
    found = gradients(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), x)[0]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.0, 0.25])


def test_complex_elements_that_are_not_selected_contribute_zero():
    def f(z):
        return xp.real(xp.where(xp.abs(z) > 0, xp.log(z), 0.0))

    found = gradients(f, np.asarray([0.0j, 1.0 + 1.0j]))[0]
    np.testing.assert_array_equal(found, [0.0, 0.5 + 0.5j])


# --- zero by value is not zero by selection -----------------------------------------------------
def test_a_square_root_squared_is_nan_at_zero():
    np.testing.assert_array_equal(gradients(lambda x: xp.sqrt(x) ** 2, np.asarray(0.0))[0], nan)


def test_an_honest_nan_stays_beside_what_was_not_selected():
    def f(x):
        return xp.where(xp.asarray([False, True, True]), xp.sqrt(x) ** 2, 0.0)

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 0.0, 4.0]))[0], [0.0, nan, 1.0])


def test_an_honest_nan_of_one_source_does_not_reach_another():
    def f(x, w):
        return xp.where(x > 0, xp.sqrt(x), 0.0) + xp.sqrt(w) ** 2

    to_x, to_w = gradients(f, np.asarray([0.0, 4.0]), np.asarray([0.0, 4.0]))
    np.testing.assert_array_equal(to_x, [0.0, 0.25])
    np.testing.assert_array_equal(to_w, [nan, 1.0])


def test_multiplying_by_a_mask_is_no_selection():
    def f(x):
        return xp.sqrt(x) * xp.astype(x > 0, xp.float64)

    np.testing.assert_array_equal(gradients(f, np.asarray([0.0, 4.0]))[0], [nan, 0.25])


def test_an_output_gradient_that_is_zero_by_value_is_no_selection():
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
    found = tape.gradient(y, x, output_gradients=xp.asarray([0.0, 2.0]))
    np.testing.assert_array_equal(np.asarray(found), [nan, 0.5])


def test_a_zero_weight_in_a_matrix_product_is_no_selection():
    weights = xp.asarray([[0.0], [2.0]])
    found = gradients(lambda x: xp.sqrt(x) @ weights, np.asarray([[0.0, 4.0]]))[0]
    np.testing.assert_array_equal(found, [[nan, 0.5]])


def test_an_honest_nan_in_a_live_row_of_a_matrix_product_stays():
    weights, live = xp.asarray([[0.0], [2.0]]), np.asarray([True, False])

    def f(x):
        return by_where_on_rows(xp.sqrt(x) @ weights, live)

    found = gradients(f, np.asarray([[0.0, 4.0], [0.0, 0.0]]))[0]
    np.testing.assert_array_equal(found, [[nan, 0.5], [0.0, 0.0]])


def test_an_honest_nan_of_a_matrix_comes_from_the_live_row_alone():
    x, live = np.asarray([[0.0, 1.0], [0.0, 0.0]]), np.asarray([True, False])

    def f(w):
        return by_where_on_rows(xp.log(xp.asarray(x)) @ w, live) * 0.0

    np.testing.assert_array_equal(gradients(f, np.asarray([[2.0], [3.0]]))[0], [[nan], [0.0]])


def test_an_honest_nan_of_a_factor_for_every_column_comes_from_the_live_row_alone():
    x, live = np.asarray([[0.0, 1.0], [0.0, 0.0]]), np.asarray([True, False])

    def f(w):
        return by_where_on_rows(xp.log(xp.asarray(x)) * w, live) * 0.0

    np.testing.assert_array_equal(gradients(f, np.asarray([2.0, 3.0]))[0], [nan, 0.0])


GUARDS = {
    "plain": lambda w: 0.0,
    "beside a dead element": lambda w: xp.sum(xp.where(w > 0, xp.sqrt(w), 0.0)),
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(
    ("of", "to", "expected"),
    [
        (1, 0, np.cos(0.7)),  # the gradient to x1 is x0 cos(x1): 0 at x0 = 0, but its slope is not
        (0, 1, np.cos(0.7)),
        (1, 1, 0.0),
        (0, 0, 0.0),
    ],
)
def test_a_cotangent_that_is_zero_by_value_keeps_its_slope(guard, of, to, expected):
    x = [xp.asarray(0.0), xp.asarray(0.7)]
    w = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as outer:
        outer.watch([x, w])
        with xp.GradientTape() as inner:
            inner.watch([x, w])
            y = x[0] * xp.sin(x[1]) + GUARDS[guard](w)
        first = inner.gradient(y, [*x, w], unconnected_gradients="zero")
    found = outer.gradient([first[of], first[2]], x, unconnected_gradients="zero")[to]
    near(np.asarray(found), expected)


def test_a_dead_element_does_not_cut_the_slope_of_another_that_is_zero_by_value():
    def f(x):
        return xp.where(xp.asarray([True, False]), x * xp.sqrt(xp.asarray([4.0, 0.0]) + x), 0.0)

    found = products(f, [np.asarray([1.0, 1.0])], np.asarray([0.0, 0.0]))[0]
    near(found, [0.5, 0.0])
