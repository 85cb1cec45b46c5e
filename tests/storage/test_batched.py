"""Every rule on a batched cotangent against the row loop, generated from the registry."""

import math

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, testing
from arraytape._record.op import REGISTRY
from arraytape._storage.batched import batched_data, batched_namespace
from arraytape._tape import differentiation, guard, jacobian
from arraytape.testing.samples import materialise
from helpers.namespace_ops import recorded_ops
from helpers.samples import CASES, REAL_ONLY


def recorded(op, sample, dtype):
    """A persistent tape of one op, its floating-point inputs and its floating-point results."""
    arrays, floats = [], []

    def array(value):
        if isinstance(value, list):
            return [array(part) for part in value]
        if not isinstance(value, np.ndarray):
            return value
        made = xp.asarray(value)
        if value.dtype.kind in "fc":
            floats.append(made)
        return made

    arguments = testing.materialise(op, sample, dtype)
    arrays = [array(value) for value in arguments]
    if sample.prepare:
        floats[0] = arrays[0] = xp.asarray(np.asarray(sample.prepare(arrays[0])))
    with GradientTape(persistent=True) as tape:
        tape.watch(floats)
        results = op.public(*arrays, **sample.parameters)
    results = list(results) if isinstance(results, tuple) else [results]
    return tape, floats, [y for y in results if y.dtype.kind in "fc"]


def both(tape, y, sources):
    """The Jacobian's rows by one batched pass, and row by row."""
    request = differentiation.Differentiation(tape._recording, [y], sources)
    rows = math.prod(y.shape)
    at_once = jacobian.rows_in_batches(request, y, rows, 1, rows)
    by_rows = jacobian.rows_one_by_one(request, rows, lambda i: jacobian.unit_seed(y, i, 1))
    return zip(at_once, by_rows, strict=True)


def check(op, sample, dtype):
    tape, floats, results = recorded(op, sample, dtype)
    for y in results:
        if not y.size:
            continue
        for found, expected in both(tape, y, floats):
            assert (found is None) == (expected is None)
            if found is None:
                continue
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            scale = np.max(np.abs(np.asarray(expected)), initial=1.0)
            np.testing.assert_allclose(
                np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12 * scale
            )


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.every(3)
def test_a_batched_pass_equals_the_row_loop(op, sample, dtype):
    if dtype is np.complex128 and op.name in REAL_ONLY:
        return
    check(op, sample, dtype)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_a_guarded_batched_pass_equals_the_row_loop(op, sample, monkeypatch):
    monkeypatch.setattr(differentiation, "BackwardPass", guard.GuardedPass)
    check(op, sample, np.float64)


@pytest.mark.filterwarnings("ignore:use the values alone:arraytape.TapeWarning")
@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_a_recorded_batched_pass_equals_the_row_loop(op, sample):
    tape, floats, results = recorded(op, sample, np.float64)
    for y in results:
        if not y.size:
            continue
        with GradientTape(persistent=True) as outer:
            outer.watch(floats)
            pairs = [
                (found, expected) for found, expected in both(tape, y, floats) if found is not None
            ]
            totals = [[testing.total(J) for J in pair] for pair in pairs]
        for found, expected in totals:
            np.testing.assert_allclose(float(found), float(expected), rtol=1e-11, atol=1e-11)
            second = outer.gradient(found, floats, unconnected_gradients="zero")
            for g, e in zip(
                second, outer.gradient(expected, floats, unconnected_gradients="zero"), strict=True
            ):
                scale = np.max(np.abs(np.asarray(e)), initial=1.0)
                np.testing.assert_allclose(
                    np.asarray(g), np.asarray(e), rtol=1e-10, atol=1e-10 * scale
                )


# --- programs -----------------------------------------------------------------------------------
def matrix(*shape, seed=0):
    return xp.asarray(np.random.default_rng(seed).normal(size=shape))


W, M, S = matrix(3, 4), matrix(2, 3, 4, seed=1), matrix(3, 3, seed=2) + 4.0 * xp.eye(3)


def written(x):
    y = x * 1.0
    y[1:] *= x[:2]
    y[0] = x[2] ** 2
    z = xp.zeros((2, 3))
    z[0, :] = y
    z[:, ::2] += x[:2][:, None] * x[2]
    z[[0, 1], [2, 0]] = x[:2] * y[1]
    return z


def overwritten(x):
    y = xp.zeros((4,))
    y[[0, 0, 2]] = x
    return y * x[0]


def parted(x):  # NumPy moves indexed axes that a slice parts to the front
    cube = xp.reshape(xp.concat([x, x**2, x**3, x[:1], x[:1] * 2.0, x[1:2]]), (2, 3, 2))
    return (
        cube[[0, 1, 1], :, [0, 1, 0]],
        cube[0, :, [1, 0]],
        cube[:, [2, 0], 1],
        cube[..., [0], None],
    )


PROGRAMS = {
    "writes": written,
    "a write that names an element twice": overwritten,
    "indices that a slice parts": lambda x: parted(x)[0],
    "an integer and indices that a slice parts": lambda x: parted(x)[1],
    "indices side by side": lambda x: parted(x)[2],
    "indices behind an Ellipsis": lambda x: parted(x)[3],
    "a mask": lambda x: (x[:, None] * W)[np.asarray(W) > 0],
    "hidden rank against a larger visible rank": lambda x: M + x[:, None] * M[0, :, :],
    "a vector into a stack of matrices": lambda x: x @ M,
    "a stack of matrices on a vector": lambda x: xp.matrix_transpose(M) @ x,
    "products on both sides": lambda x: W.T @ (x[:, None] * x) @ W,
    "outer product and trace": lambda x: xp.linalg.trace(x[:, None] * x[None, :]) * x,
    "a system with a vector": lambda x: xp.linalg.solve(S + x[:, None] * x, x),
    "a system with the vector alone": lambda x: xp.linalg.solve(S, x * x),
    "a system with a matrix": lambda x: xp.linalg.solve(S, x[:, None] * W),
    "a stack of systems": lambda x: xp.linalg.solve(xp.stack([S, S * 2.0]), x[:, None] * W),
    "views": lambda x: xp.reshape(xp.reshape(x * 2.0, (3, 1)).T[0, ::-1], (1, 3, 1)),
    "broadcast views": lambda x: xp.broadcast_to(x[:, None], (2, 3, 4)) * M,
    "sorting": lambda x: xp.sort(xp.concat([x, -x])) * 2.0,
    "statistics": lambda x: (x - xp.mean(x)) / xp.std(x) * xp.max(x) + xp.prod(x),
    "cumulative": lambda x: xp.cumulative_sum(xp.cumulative_prod(x)),
    "selection": lambda x: xp.where(x > 0, xp.sqrt(x), x**2) * xp.maximum(x, 0.1),
    "a transform": lambda x: xp.real(xp.fft.fft(x * 1j)) + xp.abs(xp.fft.fft(x)),
    "a scalar between": lambda x: xp.sum(x**2) * xp.ones((2, 2)) + x[0],
    "norms and clips": lambda x: xp.clip(x, -0.5, 0.5) / xp.linalg.vector_norm(x),
    "tile, repeat, roll": lambda x: xp.tile(xp.repeat(xp.roll(x, 1), 2), (2,)),
    "powers": lambda x: xp.linalg.matrix_power(x[:, None] * x + S, 3),
    "determinants": lambda x: xp.stack([xp.linalg.det(x[:, None] * x + S), x[0]]),
    "a factorisation": lambda x: xp.linalg.cholesky(x[:, None] * x + S @ S.T),
    "mixed precision": lambda x: xp.astype(xp.astype(x, xp.float32) * 2.0, xp.float64) * x,
    "complex": lambda x: (x + 1j) ** 2 @ xp.astype(W, xp.complex128),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_by_one_pass_and_by_rows(name):
    x = xp.asarray([0.7, 0.3, 1.2])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = PROGRAMS[name](x)
    ((found, expected),) = both(tape, y, [x])
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)
    whole = tape.jacobian(y, x)
    assert whole.shape == (*y.shape, 3)
    np.testing.assert_array_equal(np.asarray(whole).reshape(-1, 3), np.asarray(found))


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians_of_programs_by_one_pass_and_by_rows(name, monkeypatch):
    def f(x):
        return testing.total(PROGRAMS[name](x))

    x = xp.asarray([0.7, 0.3, 1.2])
    found = np.asarray(xp.hessian(f)(x))
    monkeypatch.setattr(jacobian, "largest_kept_size", lambda records: None)
    np.testing.assert_allclose(found, np.asarray(xp.hessian(f)(x)), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found, found.T, rtol=1e-10, atol=1e-6)  # float32 in one of them


def count_passes(monkeypatch):
    passes = []
    run = differentiation.Differentiation.run_pass

    def counted(*arguments, **keywords):
        passes.append(1)
        return run(*arguments, **keywords)

    monkeypatch.setattr(differentiation.Differentiation, "run_pass", counted)
    return passes


def test_a_jacobian_is_one_backward_pass(monkeypatch):
    passes = count_passes(monkeypatch)
    for program in PROGRAMS.values():
        xp.jacobian(program)(xp.asarray([0.7, 0.3, 1.2]))
    assert len(passes) == len(PROGRAMS)


def test_rows_that_take_much_memory_come_in_chunks(monkeypatch):
    x = xp.asarray([0.7, 0.3, 1.2])
    expected = np.asarray(xp.jacobian(written)(x))
    batch = matrix(4, 5)
    rows = np.asarray(batch_of(batch))
    monkeypatch.setattr(jacobian, "MEMORY", 8 * 6 * 4)
    passes = count_passes(monkeypatch)
    np.testing.assert_array_equal(np.asarray(xp.jacobian(written)(x)), expected)
    assert len(passes) == 2  # six rows of six elements, four at a time
    np.testing.assert_array_equal(np.asarray(batch_of(batch)), rows)


def batch_of(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.tanh(x) * xp.sum(x, axis=1, keepdims=True)
    return tape.batch_jacobian(y, x)


def test_batch_jacobians_are_one_pass_for_each_row_of_an_entry(monkeypatch):
    x = matrix(4, 5)
    passes = count_passes(monkeypatch)
    found = np.asarray(batch_of(x))
    assert len(passes) == 1
    for i in range(4):
        entry = xp.jacobian(lambda x: xp.tanh(x) * xp.sum(x))(x[i, :])
        np.testing.assert_allclose(found[i], np.asarray(entry), rtol=1e-12)


def test_elementwise_ops_carry_the_diagonal_alone(monkeypatch):
    made = []
    dense = batched_data.diagonal_rows
    for module in (batched_data, batched_namespace):
        monkeypatch.setattr(module, "diagonal_rows", lambda *a: made.append(1) or dense(*a))
    x = matrix(50)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.where(x > 0, xp.tanh(x * 2.0) / (1.0 + x * x), -xp.exp(x)) - x
    J = np.asarray(tape.jacobian(y, x))
    assert len(made) == 1  # the result
    assert np.count_nonzero(J - np.diag(np.diag(J))) == 0


ELEMENTWISE = [op.name for op in recorded_ops() if op.diagonal]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_elementwise_rule_carries_the_diagonal_alone(name, monkeypatch):
    op, made = REGISTRY[name], []
    dense = batched_data.diagonal_rows
    for module in (batched_data, batched_namespace):
        monkeypatch.setattr(module, "diagonal_rows", lambda *a: made.append(1) or dense(*a))
    for sample in op.samples[:1]:
        arguments = materialise(op, sample)
        for i, x in enumerate(arguments):
            if np.asarray(x).dtype.kind != "f" or np.asarray(x).ndim == 0:
                continue
            x = xp.asarray(x)
            with GradientTape() as tape:
                tape.watch(x)
                y = op.public(*[x if j == i else a for j, a in enumerate(arguments)])
            made.clear()
            try:
                if tape.jacobian(y, x) is None:
                    continue
            except LookupError:  # no derivative is known
                continue
            assert len(made) == 1, f"{name} makes the diagonal dense"


def test_a_rule_of_the_users_own_goes_row_by_row(monkeypatch):
    from arraytape._define.words import UNARY, publish_op
    from arraytape._record.op import REGISTRY, Op

    monkeypatch.setattr(
        "arraytape._storage.numpy_storage.NumPyStorage.function", function_with_doubled()
    )
    op = Op("doubled", "primitive", ("x",))
    public = publish_op(op, UNARY, "Twice x.")
    try:
        shapes = []

        @xp.register_gradient("doubled")
        def _(g):
            assert type(g) is np.ndarray
            shapes.append(g.shape)
            return 2.0 * np.asarray(g)

        x = xp.asarray([1.0, 2.0, 3.0])
        assert np.asarray(xp.jacobian(public)(x)).tolist() == (2.0 * np.eye(3)).tolist()
        assert shapes == [(3,)] * 3
    finally:
        del REGISTRY["doubled"]
        from arraytape._define.define_op import REGISTERED

        REGISTERED.pop("doubled", None)


def function_with_doubled():
    from arraytape._storage.storage import Storage

    def function(self, name):
        return (lambda x: 2.0 * x) if name == "doubled" else Storage.function(self, name)

    return function


def test_guarded_rows_equal_the_gradients_of_elements():
    x = xp.asarray([0.0, 4.0, 1.0])

    def f(x):
        root = xp.where(x > 0, xp.sqrt(x), 0.0)
        return root @ matrix(3, 3) + xp.sqrt(x) * x[::-1]

    found = np.asarray(xp.jacobian(f)(x))
    for i in range(3):
        row = xp.grad(lambda x, i=i: f(x)[i])(x)
        np.testing.assert_allclose(found[i], np.asarray(row), rtol=1e-12)


def test_a_zero_off_the_diagonal_meets_no_infinite_slope():
    J = np.asarray(xp.jacobian(xp.sqrt)(xp.asarray([0.0, 4.0])))
    assert J.tolist() == [[np.inf, 0.0], [0.0, 0.25]]
    J = np.asarray(xp.jacobian(lambda x: xp.reshape(xp.sqrt(x), (2, 1)).T)(xp.asarray([0.0, 4.0])))
    assert J.tolist() == [[[np.inf, 0.0], [0.0, 0.25]]]


@pytest.mark.parametrize(
    "name", ["writes", "views", "sorting", "statistics", "cumulative", "selection"]
)
@pytest.mark.parametrize("made", ["hostile", "strict"])
def test_jacobians_on_data_that_refuses_looks(name, made):
    from arraytape.testing import storages

    x = np.asarray([0.7, 0.3, 1.2])
    expected = np.asarray(xp.jacobian(PROGRAMS[name])(xp.asarray(x)))
    storage = getattr(storages, made)()
    with storages.on(storage):
        found = xp.jacobian(PROGRAMS[name])(xp.asarray(x))
    assert found.device == storage.devices()[0]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
