"""Sparse Jacobians and Hessians: structures found by index sets, colourings, and what is checked."""

import sys
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.optimize import rosen_hess

import arraytape as xp
from arraytape.functional import linearization
from arraytape.functional.inputs import Inputs
from arraytape.functional.sparse import Colouring, structure_of

N = 12
GRID = (3, 4)


def tridiagonal(x):
    """Written as differences often are: views, and writes to them."""
    y = -2.0 * x
    y[1:] += x[:-1]
    y[:-1] = y[:-1] + x[1:]
    return y * y - xp.sin(x)


def laplacian(x):
    """Bratu's problem on a grid: five points."""
    u = xp.reshape(x, GRID)
    p = xp.pad(u, 1)
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return xp.reshape(around - 4.0 * u + xp.exp(u), (-1,))


def rosenbrock(x):
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


BIDIAGONAL = np.eye(N) + np.diag(np.ones(N - 1), 1)
# name -> (function, how many entries its structure has, with how many colours)
PROGRAMS = {
    "tridiagonal": (tridiagonal, 34, 3),
    "laplacian": (laplacian, 46, 6),
    "constant matrix": (lambda x: xp.tanh(BIDIAGONAL @ x) ** 2, 23, 2),
    "matrix from the right": (lambda x: x @ BIDIAGONAL, 23, 2),
    "roll": (lambda x: xp.roll(x, 1) * x, 24, 2),
    "sort": (lambda x: xp.sort(x) ** 2, 12, 1),
    "both branches": (lambda x: xp.where(x > 0, x, xp.flip(x)), 24, 2),
    "differences": (lambda x: xp.diff(x) ** 3, 22, 2),
    "sums of columns": (lambda x: xp.sum(xp.reshape(x, GRID) ** 2, axis=0), 12, 1),
    "rows by vjp": (lambda x: xp.max(xp.reshape(x, GRID), axis=1, keepdims=True), 12, 1),
    "products": (lambda x: xp.reshape(x, GRID) @ xp.reshape(x, GRID[::-1]), 60, 9),
    "stacks": (lambda x: xp.einsum("ij,ij->i", *[xp.reshape(x, GRID)] * 2), 12, 1),
    "take": (lambda x: xp.take(x, xp.asarray([3, 1, 1])) * x[[0, 1, 5]], 5, 3),
    "mask": (lambda x: x[x > 0] * 2.0, None, 1),
    "outer": (lambda x: xp.linalg.outer(x[:3], x[3:]), 54, 2),
    "stack": (lambda x: xp.stack([x, xp.flip(x) * x, xp.zeros(N)], axis=1), 36, 3),
    "scatter": (lambda x: xp.scatter_add(x, (5,), xp.arange(N) % 5), 12, 1),
    "cumulative": (lambda x: xp.cumulative_sum(xp.reshape(x, GRID), axis=1), 48, 4),
    "cumulative from 0": (
        lambda x: xp.cumulative_sum(xp.reshape(x, GRID), axis=0, include_initial=True), 48, 4
    ),
    "inverses": (lambda x: xp.linalg.inv(xp.reshape(x, (3, 2, 2))), 48, 4),
    "vecdot": (lambda x: xp.vecdot(xp.reshape(x, GRID), xp.ones(4)), 12, 1),
    "mapped": (lambda x: xp.vmap(lambda row: row * row)(xp.reshape(x, GRID)), 144, 12),
    "recomputed": (lambda x: xp.recompute_grad(xp.sin)(x), 144, 12),
    "constant": (lambda x: xp.ones(4), 0, 1),
    "two results": (lambda x: (x[:2], {"rest": xp.sin(x[2:])}), 12, 1),
    "broadcast": (lambda x: x[:4] * xp.reshape(x, GRID), 20, 3),
    "clipped": (lambda x: xp.clip(x, -0.5, xp.flip(x) + 3.0), 24, 2),
    "a scalar by itself": (lambda x: x[3] * x[4], 2, 1),
    "norms": (lambda x: xp.linalg.vector_norm(xp.reshape(x, GRID), axis=0), 12, 1),
    "cast": (lambda x: xp.astype(xp.astype(x, xp.float32), xp.float64) * 2.0, 12, 1),
}  # fmt: skip


def run_of(f, x):
    return linearization.Linearization("test", f, Inputs("test", (x,), 0))


def dense(f, x):
    parts = xp.jacrev(f)(x)
    leaves = [parts] if hasattr(parts, "shape") else [parts[0], parts[1]["rest"]]
    return np.concatenate([np.asarray(part).reshape(-1, x.size) for part in leaves])


@pytest.mark.parametrize("kind", [np.asarray, xp.asarray])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_sparse_jacobian_is_the_dense_one(name, kind):
    f, entries, colours = PROGRAMS[name]
    x = np.random.default_rng(5).normal(size=N)
    expected = dense(f, x)
    J = xp.sparse_jacobian(f)(kind(x))
    assert isinstance(J, scipy.sparse.csr_array)
    np.testing.assert_allclose(J.toarray(), expected, rtol=1e-13, atol=1e-14)
    pattern = structure_of(run_of(f, x))
    found = Colouring.of(pattern)
    assert found.number == colours
    assert pattern.nnz == (np.count_nonzero(expected) if entries is None else entries)


@pytest.mark.parametrize("chunk_size", [1, 2, None])
def test_sparse_hessians_are_the_dense_ones(chunk_size):
    x = np.random.default_rng(2).normal(size=N)
    H = xp.sparse_hessian(rosenbrock, chunk_size=chunk_size)(x)
    np.testing.assert_allclose(H.toarray(), rosen_hess(x), rtol=1e-13)
    assert H.nnz == 3 * N - 2
    for f in (
        lambda x: xp.sum(laplacian(x) ** 2),
        lambda x: xp.sum(tridiagonal(x)) ** 2,
        lambda x: xp.sum(xp.where(x > 0, x**3, x[0] * x)),
        lambda x: xp.linalg.det(xp.reshape(x[:9], (3, 3))) + xp.prod(x[9:]),
    ):
        H = xp.sparse_hessian(f, chunk_size=chunk_size)(x).toarray()
        np.testing.assert_allclose(H, xp.hessian(f)(x), rtol=1e-12, atol=1e-13)


def random_program(rng):
    """A function made of sparse steps drawn at random."""
    steps = []
    for _ in range(int(rng.integers(2, 6))):
        which = int(rng.integers(8))
        index, shift = rng.integers(0, N, size=N), int(rng.integers(1, N))
        matrix = np.where(rng.random((N, N)) < 0.1, rng.normal(size=(N, N)), 0.0)
        start = int(rng.integers(0, N - 3))

        def step(y, which=which, index=index, shift=shift, matrix=matrix, start=start):
            if which == 0:
                return xp.sin(y) + xp.roll(y, shift)
            if which == 1:
                return xp.take(y, xp.asarray(index)) * y
            if which == 2:
                return matrix @ y + y
            if which == 3:
                y = y * 1.0
                y[start : start + 3] = y[start] * 2.0
                return y
            if which == 4:
                return xp.where(y > 0, y, xp.flip(y))
            if which == 5:
                return xp.reshape(xp.permute_dims(xp.reshape(y, GRID), (1, 0)), (-1,)) ** 2
            if which == 6:
                rows = xp.reshape(y, GRID)
                return xp.reshape(rows - xp.mean(rows, axis=1, keepdims=True), (-1,))
            return xp.concat([xp.maximum(y[:5], y[7:]), y[5:]])

        steps.append(step)

    def f(x):
        y = x
        for step in steps:
            y = xp.tanh(step(y))
        return y

    return f


@pytest.mark.parametrize("seed", range(40))
def test_structures_of_random_programs_miss_nothing(seed):
    rng = np.random.default_rng(seed)
    f, x = random_program(rng), rng.normal(size=N)
    J = xp.sparse_jacobian(f)
    for point in (x, rng.normal(size=N), np.zeros(N)):
        np.testing.assert_allclose(J(point).toarray(), xp.jacrev(f)(point), rtol=1e-11, atol=1e-13)


def test_vectors_along_an_axis_that_is_counted_in_each_operand_by_itself():
    rows = xp.asarray(np.arange(1.0, 10.0).reshape(3, 3))
    f = lambda x: xp.vecdot(x * x, rows, axis=0)  # noqa: E731
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(xp.sparse_jacobian(f)(x).toarray(), xp.jacobian(f)(x))


def test_branches_and_orders_that_change_are_noticed():
    J = xp.sparse_jacobian(xp.sort)
    for x in ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]):
        assert J(np.array(x)).toarray().tolist() == xp.jacobian(xp.sort)(np.array(x)).tolist()

    def branching(x):
        return x * x if float(x[0]) > 0 else xp.flip(x) * 3.0

    J = xp.sparse_jacobian(branching)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        np.testing.assert_array_equal(J(x).toarray(), xp.jacobian(branching)(x))


@pytest.mark.parametrize("times", [1, 3])  # by rows, and by columns
def test_where_the_slope_is_infinite_the_rest_is_right(times):
    def f(x):
        return xp.concat([xp.sqrt(x) + xp.flip(x)] * times)

    x = np.array([0.0, 4.0, 1.0])
    assert Colouring.of(structure_of(run_of(f, x))).by_rows == (times == 1)
    expected = [[np.inf, 0.0, 1.0], [0.0, 1.25, 0.0], [1.0, 0.0, 0.5]]
    np.testing.assert_array_equal(xp.sparse_jacobian(f)(x).toarray(), expected * times)


@pytest.mark.parametrize("seed", range(10))
def test_rows_and_columns_give_one_matrix(seed):
    rng = np.random.default_rng(100 + seed)
    f, x = random_program(rng), rng.normal(size=N)
    tall = xp.sparse_jacobian(lambda x: xp.concat([f(x)] * 40))(x).toarray()
    found = [xp.sparse_jacobian(f)(x).toarray()] * 40
    np.testing.assert_allclose(tall, np.concatenate(found), rtol=1e-11, atol=1e-13)


def test_a_structure_may_be_given():
    x = np.random.default_rng(0).normal(size=N)
    band = scipy.sparse.diags([np.ones(N - 1), np.ones(N), np.ones(N - 1)], [-1, 0, 1])
    for structure in (band, band.toarray() != 0, scipy.sparse.csr_array(np.ones((N, N)))):
        J = xp.sparse_jacobian(tridiagonal, structure)(x)
        np.testing.assert_allclose(J.toarray(), xp.jacobian(tridiagonal)(x), rtol=1e-13)
    H = xp.sparse_hessian(rosenbrock, band)(x)
    np.testing.assert_allclose(H.toarray(), rosen_hess(x), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [(0, 1), (5, 5), (11, 10)])
def test_a_wrong_structure_is_an_error_that_names_an_entry(missing, dtype):
    structure = (np.abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 1).astype(int)
    structure[missing] = 0
    x = np.random.default_rng(0).normal(size=N).astype(dtype)
    row, column = missing
    with pytest.raises(ValueError, match=rf"lacks the entry \({row}, {column}\).*test_sparse"):
        xp.sparse_jacobian(tridiagonal, structure)(x)
    with pytest.raises(ValueError, match=rf"lacks the entry \({row}, {column}\)"):
        xp.sparse_hessian(rosenbrock, structure)(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_wrong_structure_of_few_or_many_results_is_an_error(dtype):
    wide = np.zeros((1, N))
    wide[0, :5] = 1
    with pytest.raises(ValueError, match=r"lacks the entry \(0, 5\)"):
        xp.sparse_jacobian(lambda x: xp.sum(x * x, keepdims=True), wide)(np.ones(N, dtype))
    tall = np.tile(np.eye(3), (20, 1))
    assert not Colouring.of(scipy.sparse.csr_array(tall)).by_rows
    with pytest.raises(ValueError, match=r"lacks the entry \(31, 2\)"):
        xp.sparse_jacobian(
            lambda x: xp.concat([x] * 10 + [x + xp.roll(x, -1) * xp.asarray([0, 1, 0])] + [x] * 9),
            tall,
        )(np.ones(3, dtype))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_that_is_not_finite_hides_no_wrong_structure_of_the_others(value):
    def f(x):
        return xp.stack([x[0] * value + 5.0 * x[1], x[1], x[2]])

    with pytest.raises(ValueError, match=r"the structure lacks the entry \(0, 1\)"):
        xp.sparse_jacobian(f, np.eye(3))(np.ones(3))
    J = xp.sparse_jacobian(f)(np.ones(3)).toarray()
    np.testing.assert_array_equal(J[:, 1:], [[5.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("times", [1, 5])  # by rows, and by columns
@pytest.mark.parametrize("structure", [None, np.eye(N)])
def test_much_rounding_is_no_wrong_structure(times, structure):
    def f(x):
        return xp.concat([1e12 * x - (1e12 * x - x) + xp.sqrt(x)] * times)

    x = np.random.default_rng(0).uniform(1.0, 2.0, size=N)
    x[3] = 0.0
    given = None if structure is None else np.tile(structure, (times, 1))
    J = xp.sparse_jacobian(f, given)(x).toarray()
    np.testing.assert_allclose(J, xp.jacrev(f)(x), atol=1e-3)
    assert J[3, 3] == np.inf


BAD = {
    "a nesting": (lambda: xp.sparse_jacobian(lambda p: p[0])([np.ones(2)]), TypeError, "ravel"),
    "a complex argument": (
        lambda: xp.sparse_jacobian(xp.sin)(np.ones(2) * 1j), TypeError, "two columns"
    ),
    "integers": (
        lambda: xp.sparse_jacobian(lambda x: xp.astype(x, xp.int64))(np.ones(2)), TypeError,
        "got Array int64"
    ),
    "complex results": (
        lambda: xp.sparse_jacobian(lambda x: x * 1j)(np.ones(2)), TypeError, "got Array complex128"
    ),
    "a structure of another shape": (
        lambda: xp.sparse_jacobian(xp.sin, np.eye(3))(np.ones(2)), ValueError, r"shape \(3, 3\)"
    ),
    "a structure that is none": (lambda: xp.sparse_jacobian(xp.sin, "band"), TypeError, "sparse matrix"),
    "a structure of one dimension": (
        lambda: xp.sparse_jacobian(xp.sin, np.ones(3)), ValueError, "two dimensions"
    ),
    "several positions": (lambda: xp.sparse_jacobian(xp.sin, None, (0,)), TypeError, "one int"),
    "no function": (lambda: xp.sparse_hessian(None), TypeError, "takes a function"),
    "a vector's hessian": (lambda: xp.sparse_hessian(xp.sin)(np.ones(2)), ValueError, "jacobian"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_say_what_is_wrong(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()


def test_a_sparse_matrix_under_another_derivative_is_an_error():
    w = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(w)
        with pytest.raises(TypeError, match="a sparse matrix has no derivative"):
            xp.sparse_jacobian(lambda x: w * x * x)(np.ones(2))
        assert xp.sparse_jacobian(lambda x: x * x)(np.ones(2)).toarray().tolist() == [
            [2, 0],
            [0, 2],
        ]
    with pytest.raises(TypeError, match="a sparse matrix has no derivative"):
        xp.grad(lambda x: xp.sum(xp.sparse_jacobian(xp.sin)(x) @ np.ones(2)))(np.ones(2))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.every(3)
def test_a_sparse_matrix_in_a_replayed_function_is_that_of_each_call(name):
    f, *_ = PROGRAMS[name]
    asked = xp.function(lambda x: xp.asarray(xp.sparse_jacobian(f)(x).toarray()) @ x)
    for seed in range(4):
        x = xp.asarray(np.random.default_rng(seed).normal(size=N))
        expected = xp.asarray(xp.sparse_jacobian(f)(x).toarray()) @ x
        with pytest.warns(xp.TapeWarning, match="sparse_jacobian") if seed == 1 else nullcontext():
            np.testing.assert_array_equal(asked(x), expected)
    assert asked.counts["replayed"] == 0
    assert asked.counts["eager"] > 0


def test_shapes_of_any_kind_and_other_arguments():
    assert xp.sparse_jacobian(xp.sin)(np.ones((0, 2))).shape == (0, 0)
    assert xp.sparse_jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
    assert xp.sparse_jacobian(xp.sin)(np.ones(2, np.float16)).dtype == np.float32
    assert xp.sparse_jacobian(xp.sin)(0.5).toarray().tolist() == [[np.cos(0.5)]]
    x = np.ones((2, 3), np.float32, order="F")
    J = xp.sparse_jacobian(lambda w, x, scale: scale * w * x * x, argnums=1)(2.0, x, scale=3.0)
    assert (J.dtype, J.toarray().tolist()) == (np.float32, (np.eye(6) * 12.0).tolist())


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_least_squares_takes_sparse_jacobians(method):
    n = 12

    def residuals(u):  # in NumPy's functions, since SciPy writes to what it gives
        p = np.concatenate([np.zeros(1), u, np.zeros(1)])
        return (p[2:] - 2.0 * u + p[:-2]) * (n + 1) ** 2 + np.exp(u)

    found = scipy.optimize.least_squares(
        residuals, np.zeros(n), jac=xp.sparse_jacobian(residuals), method=method, tr_solver="lsmr"
    )
    assert np.max(np.abs(found.fun)) < 1e-5
    assert scipy.sparse.issparse(found.jac)


def test_newtons_method_takes_sparse_hessians():
    found = scipy.optimize.minimize(
        rosenbrock,
        np.full(200, 0.8),
        jac=xp.grad(rosenbrock),
        hess=xp.sparse_hessian(rosenbrock),
        method="trust-constr",
        options={"maxiter": 300},
    )
    assert found.fun < 1e-6


def test_a_large_structure_takes_few_passes():
    n = 3000
    f = xp.sparse_jacobian(tridiagonal)
    x = np.random.default_rng(0).normal(size=n)
    assert f(x).nnz == 3 * n - 2


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        xp.sparse_jacobian(xp.sin)
