"""Rows that are not selected contribute zero, to what they were computed from and to what they met."""

import numpy as np
import pytest

import arraytape as xp
from helpers.selections import ROWS, by_where_on_rows, orders, spread, uneven, with_dead

pytestmark = pytest.mark.any_storage

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
def test_rows_that_are_left_out_in_any_way_contribute_zero(name, select, agree):
    f, dead = ROW_FUNCTIONS[name]
    rows_agree(agree, f, dead, select)


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
