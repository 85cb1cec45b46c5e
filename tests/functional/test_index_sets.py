"""Index sets miss nothing: every op on its samples, beside the dense Jacobian."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape.functional import linearization
from arraytape.functional.arguments import Inputs
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


@pytest.mark.parametrize(("name", "i"), CASES)
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
