"""The fifteen lines of docs/dev/architecture.md and the engine agree on random programs of plain ops."""

import re

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.plan import PLANS, STEPS
from arraytape.ops.elementwise_functions import real_part
from helpers.repository import ROOT

PAGE = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")
(SOURCE,) = re.findall(r"```python\n(from [^`]*?def reference[^`]*?return cotangents\n)", PAGE)


def matrix(rows, columns):
    return xp.asarray(np.linspace(-0.3, 0.5, rows * columns).reshape(rows, columns))


# Each takes values of shape (3, 4), (1, 4) or (3, 1) and gives one of these.
UNARY = (
    lambda a: xp.tanh(a),
    lambda a: xp.sin(a) * 0.5,
    lambda a: xp.exp(real_part(a) * 0.1),
    lambda a: -a,
    lambda a: xp.sum(a, axis=0, keepdims=True),
    lambda a: xp.mean(a, axis=1, keepdims=True),
    lambda a: xp.cumulative_sum(a, axis=1),
    lambda a: xp.take(a, xp.asarray([*range(1, a.shape[0]), 0]), axis=0),
    lambda a: xp.abs(a) + 0.5,
    lambda a: xp.conj(a),
    lambda a: xp.astype(a, xp.complex128),
    lambda a: xp.matmul(a, xp.matmul(matrix(a.shape[1], a.shape[0]), a)),
    lambda a: xp.clip(real_part(a), -0.4, 0.6),
)
BINARY = (
    lambda a, b: a + b,
    lambda a, b: a - 2.0 * b,
    lambda a, b: a * b,
    lambda a, b: a / (3.0 + xp.abs(b)),
    lambda a, b: xp.maximum(real_part(a), real_part(b)),
    lambda a, b: xp.where(real_part(a) > 0.0, a, b),
    lambda a, b: xp.hypot(real_part(a), real_part(b)),
    lambda a, b: a**2 * b,
)


@pytest.fixture(scope="module")
def reference():
    scope = {}
    exec(compile(SOURCE, "docs/dev/architecture.md", "exec"), scope)
    return scope["reference"]


def sources(rng):
    """Arrays to start from: three shapes, three dtypes."""
    parts = [
        rng.normal(size=(3, 4)),
        rng.normal(size=(1, 4)).astype("float32"),
        rng.normal(size=(3, 1)) + 1j * rng.normal(size=(3, 1)),
    ]
    return [xp.asarray(part) for part in parts]


def drawn(rng, values, length):
    """The values of a random program, each made of one or two earlier ones."""
    values = list(values)
    for _ in range(length):
        a, b = (values[i] for i in rng.integers(len(values), size=2))
        if rng.random() < 0.5:
            values.append(UNARY[rng.integers(len(UNARY))](a))
        else:
            values.append(BINARY[rng.integers(len(BINARY))](a, b))
    return values


@pytest.mark.parametrize("seed", range(60))
def test_the_reference_pass_gives_what_the_engine_gives(reference, seed):
    rng = np.random.default_rng(seed)
    inputs = sources(rng)
    with xp.GradientTape() as tape:
        tape.watch(inputs)
        target = drawn(rng, inputs, length=12)[-1]
    records = list(tape._recording.records)
    # Of plain ops, all of them; the engine's loop takes them in its own steps, or adds a part in place.
    plans = [PLANS[record[0]] for record in records]
    assert all(STEPS[plan.number] is not None or plan.reading is not None for plan in plans)
    found = reference(records, {target._value_id: np.ones(target.shape, target.dtype)})
    gradients = tape.gradient(target, inputs, nan="keep")
    for x, g in zip(inputs, gradients, strict=True):
        expected = found.get(x._value_id)
        assert (g is None) == (expected is None)
        if g is not None:
            assert g.dtype == expected.dtype
            close = 1e-5 if g.dtype == xp.float32 else 1e-12
            np.testing.assert_allclose(g._data, expected, rtol=close, atol=close)


def test_the_programs_reach_their_sources(reference):
    reached = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        inputs = sources(rng)
        with xp.GradientTape() as tape:
            tape.watch(inputs)
            target = drawn(rng, inputs, length=12)[-1]
        reached += sum(g is not None for g in tape.gradient(target, inputs))
    assert reached > 60
