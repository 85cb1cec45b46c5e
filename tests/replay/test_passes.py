"""Passes keep what a program computes: random programs of raw calls, before and after each."""

from itertools import chain as chain_of

import numpy as np
import pytest

from arraytape.replay import blocks as blocks_module
from arraytape.replay.blocks import BLOCKED, blocked
from arraytape.replay.program import CONSTANT, INPUT, GuardFailed, Node, Program, operands
from arraytape.replay.simplify import simplified
from arraytape.replay.source import Source
from arraytape.replay.storage import TRACED
from arraytape.replay.trace import Trace
from arraytape.replay.traced import ACTIVE

xp = TRACED.xp
SHAPE = (4, 3)


def keys(rng):
    row = int(rng.integers(-4, 4))
    return [
        row,
        slice(1, 3),
        (slice(None), int(rng.integers(3))),
        ...,
        (row, slice(None, 2)),
        (row, 1),
    ]


def grown(seed, inputs, steps=30):
    """A trace of random calls on inputs of SHAPE; the same calls for the same seed."""
    rng, trace = np.random.default_rng(seed), Trace()
    token = ACTIVE.set(trace)
    try:
        values = [trace.input(x) for x in inputs]
        values += [xp.zeros(SHAPE, dtype=np.float64), xp.ones(SHAPE, dtype=np.float64)]
        for _ in range(steps):
            values.append(step(rng, values))
        picked = rng.choice(len(values), 3, replace=False)
        trace.program.outputs = [values[i].node for i in picked]
        trace.program.writes = [values[-1].node]
    finally:
        ACTIVE.reset(token)
    return trace.program


def step(rng, values):
    """One more value of SHAPE."""
    x, y, z = (values[i] for i in rng.integers(len(values), size=3))
    key = keys(rng)[rng.integers(6)]
    kind = rng.integers(19)
    if kind == 16:
        return x + -y
    if kind == 17:
        return -(2 * (x * 3.0)) + 4 * (0.5 * y) - -z
    if kind == 18:
        return TRACED.put(x, key, x[key] + y[key])
    if kind == 0:
        return xp.where(x > y, z, y)
    if kind == 1:
        return TRACED.put(x, key, y[key])
    if kind == 2:
        return TRACED.put(x, key, float(rng.integers(3)))
    if kind == 3:
        return x + xp.scatter_add(y[key] * 0.5, SHAPE, key)
    if kind == 4:
        return x * xp.sum(y, axis=0, keepdims=True) * 0.1
    if kind == 5:
        return x - xp.mean(y)
    if kind == 6:
        return xp.matmul(x, xp.matrix_transpose(y)) @ z * 0.05
    if kind == 7:
        return xp.broadcast_to(xp.reshape(xp.max(x, axis=1), (4, 1)), SHAPE) * y
    if kind == 8:
        return xp.zeros(SHAPE, dtype=np.float64) + x
    if kind == 9:
        return x**2 * 0.1
    if kind == 10:
        return xp.permute_dims(xp.reshape(x, (3, 4)), (1, 0)) * 1.0
    if kind == 11:
        return xp.astype(x > 0, np.float64) * y
    if kind == 12:
        return x + xp.sum(x * y) * 0.01 / (1.0 + y[0, 0] ** 2)
    if kind == 13:
        return -x * xp.tanh(y)
    if kind == 14:
        return xp.positive(x)
    return xp.maximum(x, y) + 1.0 * z


def data(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE) for _ in range(2)]


def same(found, expected, exact):
    for ours, wanted in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
        if exact:
            assert ours.tobytes() == wanted.tobytes()
        else:
            np.testing.assert_array_equal(ours, wanted)  # 0.0 and -0.0 are equal


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_simplified_programs_and_their_source_compute_the_same_on_other_inputs(block):
    for seed in range(block, 120, 4):
        program = grown(seed, data(seed))
        short = simplified(program)
        source = Source(short, "program")
        for other in (seed, 1000 + seed):
            inputs = data(other)
            before = [x.copy() for x in inputs]
            outputs, writes = program.run(inputs)
            same([*chain_of(*short.run(inputs))], [*outputs, *writes], exact=False)
            found = [*chain_of(*source.function(*inputs))]
            same(found, [*chain_of(*short.run(inputs))], exact=True)
            same(inputs, before, exact=True)
            assert not any(
                np.shares_memory(x, y) for x in source.function(*inputs)[0] for y in inputs
            )


def test_outputs_share_no_memory_with_each_other_or_with_constants():
    for seed in range(60):
        source = Source(simplified(grown(seed, data(seed))), "program")
        outputs, _ = source.function(*data(seed))
        constants = [node.value for node in source.program.nodes if node.op == CONSTANT]
        for i, x in enumerate(outputs):
            assert not any(np.shares_memory(x, y) for y in (*outputs[:i], *constants))


def chain(*calls):
    """The simplified nodes, by op, of calls on one input."""
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        x = trace.input(np.ones(SHAPE))
        for call in calls:
            x = call(x)
    finally:
        ACTIVE.reset(token)
    trace.program.outputs = [x.node]
    return [node.op for node in simplified(trace.program).nodes if node.op not in (INPUT, CONSTANT)]


@pytest.mark.parametrize(
    ("calls", "ops"),
    [
        ([lambda x: x * 1.0], []),
        ([lambda x: xp.ones(SHAPE, dtype=np.float64) * x], []),
        ([lambda x: x * 1], []),
        ([lambda x: xp.astype(x, np.float64)], []),
        ([lambda x: xp.reshape(x, SHAPE)], []),
        ([lambda x: x**2], ["square"]),
        ([lambda x: xp.sin(x) + xp.sin(x)], ["sin", "add"]),
        ([lambda x: x + xp.broadcast_view(x[0], SHAPE)], ["getitem", "add"]),
        ([lambda x: TRACED.put(x, 0, 2.0), lambda x: TRACED.put(x, 0, 3.0)], ["put"]),
        ([lambda x: TRACED.put(x, 1, x[1])], []),
        ([lambda x: TRACED.put(x, ..., xp.sin(x))], ["sin"]),
        ([lambda x: TRACED.put(x, 0, xp.sin(x[1])), lambda x: x[0]], ["getitem", "sin"]),
        ([lambda x: TRACED.put(x, 0, 2.0), lambda x: x[1]], ["getitem"]),
        ([lambda x: xp.sum(xp.ones(SHAPE, dtype=np.float64)) * x], ["multiply"]),
        ([lambda x: x + xp.scatter_add(x[1, 1], SHAPE, (1, 1))], ["getitem", "add", "put"]),
        ([lambda x: (x < 0) | False], ["less"]),
        ([lambda x: xp.mean(x, axis=0)], ["sum", "divide"]),
        ([lambda x: -(2 * x)], ["multiply"]),
        ([lambda x: 3.0 * (4 * x)], ["multiply"]),
        ([lambda x: 0.5 * (4 * x)], ["multiply", "multiply"]),
        ([lambda x: 4 * (3.0 * x)], ["multiply", "multiply"]),
        ([lambda x: x + -xp.sin(x)], ["sin", "subtract"]),
        ([lambda x: -xp.sin(x) + x], ["sin", "subtract"]),
        ([lambda x: x - -xp.sin(x)], ["sin", "add"]),
        ([lambda x: x * (xp.broadcast_to(xp.sum(x), SHAPE) * 3.0)], ["sum", "multiply", "multiply"]),
    ],
)  # fmt: skip
def test_each_rule_makes_a_program_shorter(calls, ops):
    assert chain(*calls) == ops


@pytest.mark.parametrize(
    "call",
    [lambda x: x + 0.0, lambda x: x * 2.0, lambda x: x / 1.0, lambda x: TRACED.put(x, 0, x[1])],
)
def test_what_changes_values_stays(call):
    assert chain(call)


def test_a_failed_guard_stops_the_program():
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        x = trace.input(np.ones(3))
        y = x * 2.0
        assert float(TRACED.host(xp.sum(y))) == 6.0
        trace.program.outputs = [y.node]
    finally:
        ACTIVE.reset(token)
    program = simplified(trace.program)
    source = Source(program, "program")
    assert source.function(np.ones(3))[0][0].tolist() == [2.0, 2.0, 2.0]
    for run in (program.run, lambda inputs: source.function(*inputs)):
        with pytest.raises(GuardFailed):
            run([np.zeros(3)])


def test_a_program_in_place_allocates_as_little_as_code_by_hand():
    """Of a chain of elementwise calls one array is new; inputs are not written to."""
    program = Program()
    x = Node(INPUT, like=np.ones(10_000))
    program.inputs, program.nodes, y = [x], [x], x
    for _ in range(20):
        y = Node("sin", np.sin, (y,), like=np.ones(10_000))
        program.nodes.append(y)
        assert [*operands(y)]
    program.outputs = [y]
    text = Source(program, "program").text
    assert text.count(" = ") == 1


# --- blocks -------------------------------------------------------------------------------------------
@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of two rows of SHAPE."""
    monkeypatch.setattr(blocks_module, "LEAST", 4)
    monkeypatch.setattr(blocks_module, "BLOCK", 7)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_programs_in_blocks_compute_the_same(small_blocks, part):
    loops = 0
    for seed in range(part, 150, 3):
        program = grown(seed, data(seed))
        short = blocked(simplified(program))
        loops += sum(node.op == BLOCKED for node in short.nodes)
        source = Source(short, "program")
        for other in (seed, 1000 + seed):
            inputs = data(other)
            before = [x.copy() for x in inputs]
            expected = [*chain_of(*program.run(inputs))]
            for found in (short.run(inputs), source.function(*inputs)):
                for ours, wanted in zip(chain_of(*found), expected, strict=True):
                    assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
                    scale = np.abs(wanted).max()
                    np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12 * scale)
            same(inputs, before, exact=True)
    assert loops > 50


def test_without_sums_blocks_have_the_same_bits(small_blocks):
    def calls(x, y):
        z = xp.where(x > y, xp.tanh(x) * y, -x)
        return [z, xp.astype(z > 0, np.float64) * y[0], z / xp.sqrt(xp.square(x) + 1.0)]

    program = traced(calls, data(1))
    source = Source(blocked(simplified(program)), "program")
    assert "for i in range(0, 4, 2)" in source.text
    for seed in range(5):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


def traced(calls, inputs):
    """The program of a function."""
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        trace.program.outputs = [y.node for y in calls(*map(trace.input, inputs))]
    finally:
        ACTIVE.reset(token)
    return trace.program


def test_shifted_views_of_memory_that_is_reused_are_read_before_it_is_written(small_blocks):
    def calls(x, y):
        z = x * y + 1.0
        z = TRACED.put(z, (0, 0), 3.0)  # new memory, which nothing else reads
        a, b = z[1:], z[:-1]
        return [xp.tanh(a) * b + b, xp.exp(b) - a]

    program = traced(calls, data(1))
    source = Source(blocked(simplified(program)), "program")
    assert "for i in" in source.text
    same(source.function(*data(2))[0], program.run(data(2))[0], exact=True)


def test_guards_within_a_group_stay(small_blocks):
    def calls(x, y):
        z = xp.tanh(x) + y
        assert not TRACED.has_nan(z)
        return [xp.exp(z) * y]

    source = Source(blocked(simplified(traced(calls, data(1)))), "program")
    assert "for i in" in source.text
    x, y = data(2)
    source.function(x, y)
    y[1, 1] = np.nan
    with pytest.raises(GuardFailed):
        source.function(x, y)


def test_a_group_reads_nothing_that_depends_on_it(small_blocks):
    """A sum, a matrix product or another shape between two calls parts them."""

    def calls(x, y):
        z = xp.exp(x) * y
        z = z / xp.sum(z) + z
        row = xp.sum(z, axis=0)
        z = xp.matmul(z, xp.matmul(xp.matrix_transpose(z), y)) + z
        return [z * row + 1.0, xp.sum(xp.square(z))]

    program = traced(calls, data(1))
    short = blocked(simplified(program))
    assert sum(node.op == BLOCKED for node in short.nodes) >= 3
    for found, wanted in zip(
        Source(short, "program").function(*data(2))[0], program.run(data(2))[0], strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("size", [31_000, 100_000])
def test_only_large_programs_run_in_blocks(size):
    def calls(x):
        return [xp.sum(xp.tanh(x * 2.0) * xp.exp(x))]

    text = Source(blocked(simplified(traced(calls, [np.ones(size)]))), "program").text
    assert ("for i in" in text) == (size > 32_000)


def test_sums_in_blocks_are_as_exact_as_sums_of_numpy():
    x = np.random.default_rng(0).random(1_000_000, dtype=np.float32)

    def calls(x):
        return [xp.sum(xp.square(x) * x)]

    source = Source(blocked(simplified(traced(calls, [x]))), "program")
    (found,), _ = source.function(x)
    exact = np.sum(x.astype(np.float64) ** 3)
    assert found.dtype == np.float32
    assert abs(found - exact) < 1e-6 * exact
