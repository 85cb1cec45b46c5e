"""Passes keep what a program computes: random programs of raw calls, before and after each."""

from itertools import chain as chain_of

import numpy as np
import pytest

from arraytape.replay.program import CONSTANT, INPUT, GuardFailed, Node, Program, operands
from arraytape.replay.simplify import simplified
from arraytape.replay.source import Source
from arraytape.replay.storage import TRACED
from arraytape.replay.trace import ACTIVE, Trace

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
    kind = rng.integers(16)
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
