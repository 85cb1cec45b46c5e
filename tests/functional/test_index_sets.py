"""Index sets miss nothing: every op on its samples, beside the dense Jacobian."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape._record.plan import inputs_of, plan_of
from arraytape.functional import index_sets, linearization
from arraytape.functional.inputs import Inputs
from arraytape.functional.sparse import structure_of
from arraytape.testing.samples import materialise
from helpers.namespace_ops import recorded_ops

CASES = [
    pytest.param(op.name, i, id=f"{op.name}-{i}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
]


def as_arrays(value):
    if isinstance(value, list):
        return [as_arrays(part) for part in value]
    return xp.asarray(value) if isinstance(value, np.ndarray) else value


def slots(arguments):
    """The places of floating-point arrays, each as a way to put another there."""
    for i, value in enumerate(arguments):
        parts = value if isinstance(value, list) else [value]
        for j, part in enumerate(parts):
            if isinstance(part, xp.Array) and part.dtype.kind == "f" and part.size:
                yield i, (j if isinstance(value, list) else None), np.asarray(part)


def put(arguments, i, j, x):
    if j is None:
        return [*arguments[:i], x, *arguments[i + 1 :]]
    return [*arguments[:i], [*arguments[i][:j], x, *arguments[i][j + 1 :]], *arguments[i + 1 :]]


def real_parts(y):
    leaves = y if isinstance(y, list | tuple) else [y]
    found = [leaf for leaf in leaves if isinstance(leaf, xp.Array) and leaf.dtype.kind in "fc"]
    return [xp.real(leaf) if leaf.dtype.kind == "c" else leaf for leaf in found]


@pytest.fixture
def unknown(monkeypatch):
    """The ops whose index sets were given up, where those of their inputs were known."""
    found, sets_of_results = [], index_sets.IndexSets.sets_of_results

    def looked_up(self, record):
        try:
            return sets_of_results(self, record)
        except index_sets.Unknown:
            known = [self.held[value_id] for value_id in inputs_of(record) if value_id in self.held]
            if not any(isinstance(sets, index_sets.Spread) for sets in known):
                found.append(getattr(getattr(plan_of(record), "op", None), "name", record[0]))
            raise

    monkeypatch.setattr(index_sets.IndexSets, "sets_of_results", looked_up)
    return found


@pytest.mark.parametrize(("name", "i"), CASES)
@pytest.mark.every(2)
def test_no_op_is_unknown_nor_what_its_rules_call(name, i, unknown):
    op = REGISTRY[name]
    sample = op.samples[i]
    arguments = [as_arrays(x) for x in materialise(op, sample)]
    for at, j, x in slots(arguments):

        def f(x, at=at, j=j):
            first, *rest = put(arguments, at, j, x)
            first = sample.prepare(first) if sample.prepare else first
            return real_parts(op.public(first, *rest, **sample.parameters))

        def slope(x, f=f):
            return xp.grad(lambda x: sum(xp.sum(xp.sin(y) ** 2) for y in f(x)))(x)

        for g in (f, slope) if f(xp.asarray(x)) else (f,):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                structure_of(linearization.Linearization("test", g, Inputs("test", (x,), 0)))
    assert unknown == []


def stacked(x):
    return xp.reshape(x, (-1, 2, 2))


def rows_of(x):
    return xp.reshape(x, (-1, 4))


WEIGHTS = np.arange(1.0, 9.0).reshape(4, 2)
BLOCKWISE = {  # each block of four elements by itself: how many entries a result has there at most
    "sum of rows": (lambda x: xp.sum(rows_of(x), axis=1), 1),
    "matmul": (lambda x: xp.tanh(rows_of(x) @ xp.asarray(WEIGHTS)), 2),
    "product of stacks": (lambda x: stacked(x) @ xp.asarray(WEIGHTS[:2]), 2),
    "inv": (lambda x: xp.linalg.inv(stacked(x)), 4),
    "det": (lambda x: xp.linalg.det(stacked(x)), 1),
    "slogdet": (lambda x: xp.linalg.slogdet(stacked(x))[1], 1),
    "solve": (lambda x: xp.linalg.solve(stacked(x), xp.asarray(WEIGHTS[:2])), 4),
    "solve by its second": (lambda x: xp.linalg.solve(xp.asarray(WEIGHTS[:2]), stacked(x)), 4),
    "eigvalsh": (lambda x: xp.linalg.eigvalsh(stacked(x)), 2),
    "eigh": (lambda x: xp.linalg.eigh(stacked(x))[1] ** 2, 4),
    "svd": (lambda x: xp.linalg.svd(stacked(x))[1], 2),
    "qr": (lambda x: xp.linalg.qr(stacked(x))[1], 4),
    "pinv": (lambda x: xp.linalg.pinv(stacked(x)), 4),
    "cholesky": (lambda x: xp.linalg.cholesky(stacked(x) + 99.0 * xp.eye(2)), 4),
    "matrix_power": (lambda x: xp.linalg.matrix_power(stacked(x), 3), 4),
    "fft": (lambda x: xp.abs(xp.fft.fft(rows_of(x))), 4),
    "rfft": (lambda x: xp.real(xp.fft.rfft(rows_of(x), axis=1)), 3),
    "irfft": (lambda x: xp.fft.irfft(rows_of(x), axis=-1), 6),
    "softmax": (lambda x: xp.special.softmax(rows_of(x), axis=1), 4),
    "logsumexp": (lambda x: xp.special.logsumexp(rows_of(x), axis=1), 1),
    "vector_norm": (lambda x: xp.linalg.vector_norm(rows_of(x), axis=1), 1),
    "cumulative_sum": (lambda x: xp.cumulative_sum(rows_of(x), axis=1), 4),
    "cumulative_prod": (lambda x: xp.cumulative_prod(rows_of(x), axis=1), 4),
    "diagonal": (lambda x: xp.linalg.diagonal(stacked(x)) ** 2, 2),
    "imaginary part": (lambda x: xp.imag(rows_of(x) * (1.0 + 2.0j)), 4),
}


@pytest.mark.parametrize("name", BLOCKWISE)
def test_what_stays_in_a_block_is_sparse_to_second_order(name, unknown):
    f, most = BLOCKWISE[name]
    n = 24
    x = np.random.default_rng(0).normal(size=n) + 3.0
    jacobian = xp.sparse_jacobian(f)(x)
    hessian = xp.sparse_hessian(lambda x: xp.sum(f(x) ** 2))(x)
    assert jacobian.nnz <= most * n
    assert hessian.nnz <= 4 * n
    assert unknown == []
    dense = np.asarray(xp.jacobian(f)(xp.asarray(x))).reshape(-1, n)
    np.testing.assert_allclose(jacobian.toarray(), dense, rtol=1e-9, atol=1e-12)
    dense = np.asarray(xp.hessian(lambda x: xp.sum(f(x) ** 2))(xp.asarray(x)))
    np.testing.assert_allclose(hessian.toarray(), dense, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "i"), CASES)
@pytest.mark.every(2)
def test_a_structure_covers_the_jacobian(name, i):
    op = REGISTRY[name]
    sample = op.samples[i]
    arguments = materialise(op, sample)
    arguments = [as_arrays(x) for x in arguments]
    for at, j, x in slots(arguments):
        wide = x * (1.0 + 1e-3 * np.arange(x.size).reshape(x.shape))

        def f(x, at=at, j=j):
            first, *rest = put(arguments, at, j, x)
            first = sample.prepare(first) if sample.prepare else first
            return real_parts(op.public(first, *rest, **sample.parameters))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = linearization.Linearization("test", f, Inputs("test", (wide,), 0))
            pattern = structure_of(run).toarray() != 0
            rows = run.by_rows(None)
        dense = np.concatenate([np.asarray(row).reshape(-1, x.size) for row in rows])
        missed = (dense != 0) & ~pattern
        assert not missed.any(), f"{name}: {np.argwhere(missed)[:3]}"
