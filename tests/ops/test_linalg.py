"""Matrix functions: norms, stacks, powers and tensordot."""

import math

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from helpers.matrices import DTYPES, M, curvature, gradient
from helpers.namespace_ops import recorded_ops

pytestmark = pytest.mark.any_storage


@pytest.mark.parametrize("order", [0.5, -0.5, 1.5, 3])
def test_a_norm_with_zeros_among_its_elements_is_exact_in_the_others(order):
    def f(x):
        return xp.linalg.vector_norm(x, ord=order)

    x = np.asarray([0.0, 2.0, -3.0])
    with np.errstate(divide="ignore"):
        (found,), second = testing.gradients(f, [x]), curvature(f, x)
    assert found[0] == 0.0
    assert np.isfinite(second[1:]).all()
    assert np.isfinite(second[0]) == (order > 2)  # else a zero is the tip of a cusp
    if order > 0:  # of negative order, the norm is 0 wherever an element is
        np.testing.assert_allclose(found[1:], testing.gradients(f, [x[1:]])[0], rtol=1e-14)


STACKS = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
    if op.name.startswith("linalg.") and "axis" not in sample.parameters
    if len(sample.inputs) == 1 and type(sample.inputs[0]) is tuple and len(sample.inputs[0]) == 3
]


def weights(shape):
    """Return different numbers from 1 to 2."""
    return xp.asarray(np.linspace(1.0, 2.0, math.prod(shape)).reshape(shape))


@pytest.mark.parametrize(("op", "sample"), STACKS)
@DTYPES
def test_the_gradient_of_a_stack_is_that_of_each_matrix(op, sample, dtype):
    def f(x):
        found = op.public(sample.prepare(x) if sample.prepare else x, **sample.parameters)
        parts = found if isinstance(found, tuple) else (found,)
        # Of columns of singular vectors the squares: their phases are the library's choice.
        squares = [xp.real(part) ** 2 + xp.imag(part) ** 2 for part in parts]
        return sum(xp.sum(square * weights(square.shape[x.ndim - 2 :])) for square in squares)

    (x,) = testing.materialise(op, sample, dtype)
    (found,) = testing.gradients(f, [x])
    assert found.shape == x.shape
    for part, matrix in zip(found, x, strict=True):
        np.testing.assert_allclose(part, testing.gradients(f, [matrix])[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3, -1, np.int64(2), True])
@pytest.mark.parametrize(
    "x",
    [M, M.astype(int), [[np.inf, 0.0], [0.0, 1.0]], np.stack([M, 2 * M]), np.zeros((0, 0))],
    ids=["floats", "integers", "infinite", "stacked", "empty"],
)
def test_a_matrix_power_is_numpys(x, n):
    x = np.asarray(x)
    with np.errstate(invalid="ignore"):
        found, expected = xp.linalg.matrix_power(xp.asarray(x), n), np.linalg.matrix_power(x, n)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    if n >= 0:
        assert found.dtype == expected.dtype


def test_a_matrix_to_the_power_of_zero_has_a_slope_of_zero():
    x = np.asarray([[np.inf, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(gradient(lambda x: xp.linalg.matrix_power(x, 0), x), 0.0)
    testing.check_gradients(lambda x: xp.sum(xp.linalg.matrix_power(x, 3)), [M])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [0, 1, 2, -1])
def test_a_matrix_power_needs_square_matrices(shape, n):
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix_power: needs square matrices, got"):
        xp.linalg.matrix_power(xp.ones(shape), n)


@pytest.mark.parametrize("axes", [0, 1, ((0,), (1,)), ([1], [0]), (0, 1), (-1, 0)])
def test_tensordot_takes_axes_as_numpy_does(axes):
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 2, 2)
    found = xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes)
    np.testing.assert_allclose(np.asarray(found), np.tensordot(a, b, axes=axes))


@pytest.mark.parametrize(
    ("axes", "error", "says"),
    [
        (3, IndexError, r"float64\(2, 2\) .* do not both have 3 axes"),
        (-1, ValueError, "-1 axes"),
        ("ab", TypeError, "pair of sequences of axes, got str 'ab'"),
        (None, TypeError, "got NoneType"),
        (1.5, TypeError, "got float 1.5"),
        (((0,),), TypeError, "got tuple"),
        (((5,), (0,)), IndexError, r"axis 5 is out of range for Array float64\(2, 2\)"),
        (((0,), (0, 1)), ValueError, "differ"),
    ],
)
def test_axes_that_tensordot_cannot_take_are_said(axes, error, says):
    with pytest.raises(error, match=says):
        xp.tensordot(xp.ones((2, 2)), xp.ones((2, 3)), axes=axes)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_second_derivatives_of_a_pseudoinverse_of_full_rank_lose_few_digits(shape):
    """Compare with the inverse of the square part, which is what a pseudoinverse is there."""
    rng = np.random.default_rng(0)
    rows, columns = shape
    rank = min(shape)
    left, right = (np.linalg.qr(rng.normal(size=(n, rank)))[0] for n in shape)
    x = (left * np.logspace(0, -5, rank)) @ right.T
    g, along = rng.normal(size=(columns, rows)), rng.normal(size=shape)
    if rows > columns:  # what lies in the span of the columns alone stays exact by the other way
        g, along = g @ left @ left.T, left @ left.T @ along
    if rows < columns:
        g, along = right @ right.T @ g, along @ right @ right.T

    g, along, left, right = (xp.asarray(part) for part in (g, along, left, right))

    def second(f):
        first = xp.grad(lambda x: xp.sum(g * f(x)))
        return xp.grad(lambda x: xp.sum(along * first(x)))(xp.asarray(x))

    def small(x):
        inner = xp.linalg.inv(left.T @ x @ right)
        return right @ inner @ left.T

    found, expected = second(xp.linalg.pinv), second(small)
    found, expected = (np.asarray(left.T @ part @ right) for part in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_cross_takes_the_axis_of_each_operand(axis, near):
    x = np.random.default_rng(0).normal(size=(3, 3, 4))
    y = x[0, :, :] if axis < 1 else x[0] + x
    near(xp.linalg.cross(xp.asarray(x), xp.asarray(y), axis=axis), np.linalg.cross(x, y, axis=axis))


def test_cross_does_not_repeat_a_number_to_a_vector():
    with pytest.raises(ValueError, match="axis -1 must have length 3"):
        xp.linalg.cross(xp.ones((2, 3)), xp.ones((2, 1)))


def test_the_examples_of_a_vmapped_solve_are_no_rows_of_a_matrix():
    with pytest.raises(np.linalg.LinAlgError):
        xp.vmap(xp.linalg.solve)(xp.eye(3), xp.ones((3, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        xp.vmap(xp.linalg.solve)(xp.eye(3), xp.ones((3, 3, 2)))
