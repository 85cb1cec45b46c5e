"""Passes keep what a program computes: random programs of raw calls, before and after each."""

import gc
import linecache
import math
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import chain as chain_of

import numpy as np
import pytest

import arraytape
from arraytape._storage.factors import LEAST
from arraytape.replay.passes import block_by_block as blocks_module
from arraytape.replay.passes import simplify as simplify_module
from arraytape.replay.passes.block_by_block import ADDED, BLOCKED, blocked
from arraytape.replay.passes.factored_once import factored
from arraytape.replay.passes.rounding import deciding, rounded
from arraytape.replay.passes.simplify import simplified
from arraytape.replay.passes.sums_by_blas import with_dots, with_products
from arraytape.replay.passes.ufunc_calls import same_beside_numbers
from arraytape.replay.program import CONSTANT, INPUT, GuardFailed, Node, Program, operands
from arraytape.replay.text import program_source as source_module
from arraytape.replay.text.program_source import Source
from arraytape.replay.tracing.trace import Trace
from arraytape.replay.tracing.traced import ACTIVE
from arraytape.replay.tracing.traced_storage import TRACED
from helpers.raw_programs import same, traced

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
    kind = rng.integers(33)
    if kind == 32:  # sums of numbers, beside arrays that depend on these
        number = xp.sum(xp.tanh(x) * y)
        return xp.tanh(z / (2.0 + xp.abs(number))) + xp.tanh(0.1 * xp.sum(number))
    if kind == 28:
        return slope_of_softmax(x, 0.1 * y, int(rng.integers(2)))[0]
    if kind == 29:
        slope, total = slope_of_softmax(x, xp.tanh(y))
        return xp.where(y > z, slope, x + total)
    if kind == 30:
        return xp.tanh(x / rows(y) - xp.sum(-(z / 3.0), axis=0) * 0.1 + 2.0 * x * 0.3)
    if kind == 31:
        e, t = softmax_of(xp.tanh(x), 0)
        return e / t * y + xp.sum(y[:1] / t * e, axis=0, keepdims=True)
    if kind == 23:
        return xp.sign(x * y) * z
    if kind == 24:
        return xp.where(x > y, z, 0.0) + xp.where(x > y, 0.0, y)
    if kind == 25:
        return xp.tril(x * 2.0, k=int(rng.integers(-1, 2))) - xp.triu(y)
    if kind == 26:
        return (
            TRACED.put(TRACED.put(z, (1, 2), y[0, 0]), (int(rng.integers(4)), 1), x[1, 1] * x[1, 1])
            * x
            * x
        )
    if kind == 27:
        return TRACED.put(TRACED.put(z, key, y[key]), (2, 0), 0.5)[2, 1] + y
    if kind == 19:
        return xp.where(x > y, z, 0.0) - z
    if kind == 20:
        return xp.where(x[0] > y, 0, z)
    if kind == 21:
        return -x * y + (-(3 * x)) * z
    if kind == 22:
        return x + xp.sum(2.0 * xp.square(y) + xp.exp(z * 0.1)) * 0.01 - xp.sum(x * z)
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


@pytest.fixture
def small_choices(monkeypatch):
    """Choices by bits for SHAPE."""
    monkeypatch.setattr(simplify_module, "WORTH_BITS", 4)
    monkeypatch.setattr(simplify_module, "WORTH_TWO", 4)


def data(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
@pytest.mark.every(4)
def test_simplified_programs_and_their_source_compute_the_same_on_other_inputs(
    small_choices, block
):
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
            source.function(*data(2000 + other))  # the memory that stays is written to again
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
        ([lambda x: xp.sin(x) / xp.sin(x)], ["sin", "divide"]),
        ([lambda x: x + x], ["multiply"]),
        ([lambda x: 3.0 * (x + x)], ["multiply", "multiply"]),
        ([lambda x: -(x + x)], ["multiply"]),
        ([lambda x: -(2.0 * x)], ["multiply"]),
        ([lambda x: 2.0 * x, lambda x: xp.sin(-x) / x], ["multiply", "negative", "sin", "divide"]),
        ([lambda x: x + xp.broadcast_view(x[0], SHAPE)], ["getitem", "add"]),
        ([lambda x: xp.reshape(x[0], (1, 3)) - x], ["getitem", "subtract"]),
        ([lambda x: x * xp.expand_dims(x[0], axis=0)], ["getitem", "multiply"]),
        ([lambda x: x - xp.reshape(x[:, 0], (4, 1))], ["getitem", "reshape", "subtract"]),
        ([lambda x: TRACED.put(x, 0, 2.0), lambda x: TRACED.put(x, 0, 3.0)], ["put"]),
        ([lambda x: TRACED.put(x, 1, x[1])], []),
        ([lambda x: TRACED.put(x, ..., xp.sin(x))], ["sin"]),
        ([lambda x: TRACED.put(x, 0, xp.sin(x[1])), lambda x: x[0]], ["getitem", "sin"]),
        ([lambda x: TRACED.put(x, 0, 2.0), lambda x: x[1]], ["getitem"]),
        ([lambda x: xp.sum(xp.ones(SHAPE, dtype=np.float64)) * x], ["multiply"]),
        ([lambda x: TRACED.put(x, (1, 1), 2.0), lambda x: x[1, 0]], ["getitem"]),
        ([lambda x: TRACED.put(x, (slice(1, 3), 1), 2.0), lambda x: x[1:3, 0]], ["getitem"]),
        ([lambda x: TRACED.put(x, (slice(1, 3), 1), 2.0), lambda x: x[2, 1]], ["put", "getitem"]),
        ([lambda x: TRACED.put(x, (..., 1), 2.0), lambda x: x[1, 0]], ["put", "getitem"]),
        ([lambda x: TRACED.put(np.zeros(SHAPE), (1, 1), x[0, 0])[1, 0] + x], []),
        ([lambda x: x * x], ["square"]),
        ([lambda x: xp.mean(x, axis=0)], ["sum", "divide"]),
        ([lambda x: -(2 * x)], ["multiply"]),
        ([lambda x: 3.0 * (4 * x)], ["multiply", "multiply"]),
        ([lambda x: 0.5 * (4 * x)], ["multiply", "multiply"]),
        ([lambda x: 4 * (3.0 * x)], ["multiply", "multiply"]),
        ([lambda x: x + -xp.sin(x)], ["sin", "subtract"]),
        ([lambda x: -xp.sin(x) + x], ["sin", "subtract"]),
        ([lambda x: x - -xp.sin(x)], ["sin", "add"]),
        ([lambda x: x + -xp.sin(x) * x], ["sin", "multiply", "subtract"]),
        ([lambda x: 3.0 * x + (-3.0 * x) * xp.sin(x)], ["multiply", "sin", "multiply", "subtract"]),
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [0.1, -2, 1e-7, 3, float("inf"), 1e300, 2**53 + 1])
def test_numbers_become_what_numpy_makes_of_them(dtype, number):
    def calls(x):
        z = x.astype(dtype)
        return [z * number, number - z, xp.maximum(z, number), z < number, number / z]

    x = np.linspace(-2.0, 3.0, 12, dtype=dtype)
    with np.errstate(over="ignore"):
        program = traced(calls, [x])
        found = Source(simplified(program), "program").function(x)[0]
        same(found, program.run([x])[0], exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_added_to_zeros_of_any_dtype(dtype, sign):
    zeros = np.zeros(SHAPE, dtype) if dtype == "bool" else sign * np.zeros(SHAPE, dtype)
    value = (np.arange(6) % 2).reshape(2, 3).astype(dtype)

    def calls(x):
        return [TRACED.add_at(zeros, np.asarray([3, 1]), x)]

    program = traced(calls, [value])
    same(simplified(program).run([value])[0], program.run([value])[0], exact=True)


# --- memory -------------------------------------------------------------------------------------------
def test_results_do_not_lie_in_the_memory_that_stays():
    def calls(x, y):
        z = xp.tanh(x) * y
        total = TRACED.put(xp.zeros(SHAPE, dtype=np.float64), slice(1, 3), z[1:3] + 1.0)
        row = xp.sum(xp.exp(x) * y, axis=0)
        return [z, z + y, total, xp.matrix_transpose(z), row]

    program = traced(calls, data(1))
    source = Source(simplified(program), "program")
    assert "def memory()" in source.text
    first = source.function(*data(2))[0]
    expected = [x.copy() for x in first]
    second = source.function(*data(3))[0]
    same(first, expected, exact=True)
    assert not any(np.shares_memory(x, y) for x in first for y in second)


def test_calls_at_once_have_memory_of_their_own():
    def calls(x, y):
        for _ in range(20):
            x = xp.tanh(x * y) + 0.5 * y
        return [x]

    program = traced(calls, [np.ones((200, 50)), np.ones((200, 50))])
    source = Source(simplified(program), "program")
    inputs = [(np.full((200, 50), i / 8), np.full((200, 50), 0.5)) for i in range(8)]
    expected = [program.run(given)[0] for given in inputs]
    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(
            pool.map(lambda i: source.function(*inputs[i % 8])[0], range(64)),
            expected * 8,
            strict=True,
        ):
            same(found, wanted, exact=True)


def test_memory_of_a_call_that_failed_is_not_used_again():
    def calls(x, y):
        z = x * y
        assert not TRACED.has_nan(z)
        return [xp.sum(xp.exp(z), axis=1)]

    program = traced(calls, data(1))
    source = Source(simplified(program), "program")
    source.function(*data(1))
    assert len(source.scope["idle"]) == 1
    x, y = data(2)
    with pytest.raises(GuardFailed):
        source.function(x * np.nan, y)
    assert source.scope["idle"] == []
    same(source.function(x, y)[0], program.run([x, y])[0], exact=True)


def test_what_a_users_function_gives_is_not_written_to():
    cache = np.ones(SHAPE)
    x = Node(INPUT, like=cache)
    given = Node("foreign.lookup.1", lambda x: cache, (x,), like=cache)
    total = Node("add", np.add, (given, x), like=cache)
    put = Node("put", TRACED.put, (given, 0, 5.0), like=cache)
    for result in (total, put):
        program = Program([x], [x, given, result], outputs=[result])
        Source(program, "program").function(np.full(SHAPE, 2.0))
        assert (cache == 1.0).all()


def test_what_a_users_function_is_given_stays_as_it_was():
    kept = []
    x = Node(INPUT, like=np.ones(SHAPE))
    y = Node("add", np.add, (x, x), like=x)
    given = Node("foreign.keep.1", lambda y: kept.append(y) or y + 1.0, (y,), like=x)
    z = Node("multiply", np.multiply, (y, given), like=x)
    total = Node("sum", np.sum, (z,), {"axis": 0}, like=np.ones(3))
    program = Program([x], [x, y, given, z, total], outputs=[total])
    source = Source(program, "program")
    for value in (1.0, 2.0):
        source.function(np.full(SHAPE, value))
    assert [float(y[0, 0]) for y in kept] == [2.0, 4.0]


def test_the_text_that_tracebacks_show_goes_with_its_function():
    source = Source(simplified(traced(lambda x: [xp.tanh(x)], data(1)[:1])), "program")
    file = source.function.__code__.co_filename
    assert linecache.getline(file, 1).startswith("def program(")
    del source
    gc.collect()
    assert file not in linecache.cache


def test_views_of_memory_that_stays_are_made_once():
    def calls(x, y):
        z = x * y
        return [xp.sin(xp.matrix_transpose(z)) + z[0, 0], z[1:] + 1.0]

    text = Source(simplified(traced(calls, data(1))), "program").text
    before, after = text.split("def memory()")
    assert "matrix_transpose(" in after
    assert "matrix_transpose(" not in before


def test_large_memory_does_not_stay(monkeypatch):
    monkeypatch.setattr(source_module, "MOST", 100)
    program = traced(lambda x, y: [xp.sum(xp.exp(x * y) + xp.sin(y), axis=0)], data(1))
    source = Source(simplified(program), "program")
    assert source.kept.bytes == 96
    for seed in range(3):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


def test_memory_is_used_again_in_another_shape():
    def calls(x, y):
        first = xp.sum(xp.exp(x) * y, axis=0)
        return [first, xp.sum(xp.sin(xp.reshape(y, (2, 6))) + first[0], axis=1)]

    program = traced(calls, data(1))
    source = Source(simplified(program), "program")
    assert source.kept.bytes == 96
    for seed in range(3):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


# --- numbers beside maxima ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [300, 5_000, 140_000])
def test_maxima_beside_numbers_keep_all_bits(dtype, size):
    def calls(x):
        return [xp.maximum(x * 1.0, 0.0), xp.minimum(-0.0, xp.exp(x)), xp.maximum(x, 2) + x]

    special = np.asarray([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 3.0, -2.0, 1e-40], dtype)
    rng = np.random.default_rng(0)
    program = traced(calls, [np.zeros(size, dtype)])
    source = Source(blocked(simplified(program)), "program")
    assert ("s_ = _" in source.text) == (size > 32_000 and same_beside_numbers())
    for _ in range(3):
        x = rng.choice(special, size)
        with np.errstate(all="ignore"):
            same(source.function(x)[0], program.run([x])[0], exact=True)


def test_views_of_constants_are_made_once():
    def calls(x):
        row = xp.broadcast_view(np.full(3, 0.1), (2, 3))
        return [xp.broadcast_view(row, (4, 2, 3)) * x[:, None]]

    program = traced(calls, data(1)[:1])
    source = Source(program, "program")
    assert "broadcast" not in source.text
    same(source.function(data(2)[0])[0], program.run(data(2)[:1])[0], exact=True)


# --- choices by bits ----------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_by_bits_keep_all_values(small_choices, dtype):
    def calls(x, y):
        return [xp.where(y > 0, x, 0.0), xp.where(y > 0, 0, x), xp.where(y > 0, x[0], 0.0)]

    x = np.array([[np.nan, np.inf, -np.inf, -0.0], [0.0, -1.5, 1e-40, 3.0]], dtype)
    y = np.array([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, 1.0]], dtype)
    program = simplified(traced(calls, [x, y]))
    assert [node.op for node in program.nodes].count("masked") == 3
    for other in (y, -y):
        found = Source(program, "program").function(x, other)[0]
        same(found, traced(calls, [x, other]).run([x, other])[0], exact=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("blocks", [False, True])
def test_choices_between_two_keep_all_bits(small_choices, dtype, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr("arraytape.replay.passes.block_by_block.LEAST", 2)

    def calls(x, y, z):
        new, other = (
            -x,
            y * 2.0,
        )  # memory that a choice may take: of the first, of the second, of none
        one, two = xp.where(z > 0, -x, y), xp.where(z > 0, x, -y)
        three, four = xp.where(z > 0, new, other), xp.where(z < 0, new, other)
        return [one, two, three, four, xp.where(z > 0, x, y), xp.where(z > 0, x, x), new[0, 0]]

    special = [0.0, np.inf, np.nan, 1.5, 1e-40, 7.0, 1e30, 2.0]
    values = np.array([*special, *np.negative(special)], dtype)  # NaN of both signs, too
    rng = np.random.default_rng(0)
    arrays = [rng.choice(values, (8, 50)) for _ in range(6)]
    program = traced(calls, arrays[:3])
    short = simplified(program)
    assert "where" not in [node.op for node in short.nodes]
    short = blocked(short) if blocks else short
    source = Source(short, "program")
    assert ("for i in" in source.text) == blocks
    for inputs in (arrays[:3], arrays[3:], [arrays[1], arrays[1], arrays[4]]):
        found, wanted = source.function(*inputs)[0], program.run(inputs)[0]
        assert [x.tobytes() for x in found] == [x.tobytes() for x in wanted]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_replayed_choices_keep_the_sign_of_zero(dtype):
    @arraytape.function
    def step(x, y):
        return [
            arraytape.where(x > y, x, y),
            arraytape.where(x > 0, x, 0.0),
            arraytape.where(x > 0, 0.0, x),
        ]

    rng = np.random.default_rng(1)
    for size in (300, 5_000, 40_000):
        for _ in range(4):
            pair = [
                arraytape.asarray(rng.choice(np.asarray([0.0, -0.0, 1, -1], dtype), size))
                for _ in "12"
            ]
            for ours, wanted in zip(step(*pair), step.eager(*pair), strict=True):
                assert np.asarray(ours).tobytes() == np.asarray(wanted).tobytes()
    assert step.counts["replayed"] == 6


@pytest.mark.parametrize("blocks", [False, True])
def test_a_mask_becomes_integers_once(small_choices, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr(blocks_module, "LEAST", 4)
        monkeypatch.setattr(blocks_module, "BLOCK", 7)

    def calls(x, y):
        mask, other = x > y, x < 0.5
        first = xp.where(mask, xp.exp(x), y * 2.0) - xp.where(other, x, 0.0)
        return [first * xp.where(mask, 0.0, y), xp.where(mask, 0.0, x) * xp.where(other, 0.0, y)]

    program = traced(calls, data(1))
    short = simplified(program)
    source = Source(blocked(short) if blocks else short, "program")
    assert ("for i in" in source.text) == blocks
    assert source.text.count("copyto(") == 2
    assert source.text.count("invert(") >= 1
    for seed in range(5):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_triangles_and_masks_that_are_constants_take_one_call(small_choices, dtype):
    eye = np.eye(4, dtype=np.bool_)

    def calls(x):
        return [xp.tril(x), xp.triu(x, k=1), xp.where(eye, x, 0.0), xp.where(eye, x, x * 2.0)]

    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5, 1e-40, 3.0] * 2, dtype)
    program = traced(calls, [special.reshape(4, 4)])
    source = Source(simplified(program), "program")
    assert "copyto" not in source.text
    assert "tril" not in source.text
    for turn in range(5):
        x = np.roll(special, turn).reshape(4, 4)
        same(source.function(x)[0], program.run([x])[0], exact=True)


@pytest.mark.parametrize("zero", [-0.0, 1.0])
def test_choices_between_floats_and_other_numbers_stay(small_choices, zero):
    program = simplified(traced(lambda x, y: [xp.where(y > 0, x, zero)], data(1)))
    assert "masked" not in [node.op for node in program.nodes]


@pytest.mark.parametrize(
    ("call", "ops"),
    [
        (lambda x, y: xp.sum(x * y), ["dot"]),
        (lambda x, y: xp.sum(x**2), ["dot"]),
        (lambda x, y: xp.sum(3.0 * x**2 + xp.exp(y)), ["dot", "multiply", "exp", "sum", "add"]),
        (lambda x, y: xp.sum(2.0 * xp.ones(SHAPE) * x**2), ["dot", "multiply"]),
        (lambda x, y: xp.sum(x - y), ["subtract", "sum"]),  # terms may cancel
        (lambda x, y: xp.sum(x**2 - y**2), ["square", "square", "subtract", "sum"]),
        (lambda x, y: xp.sum(0.1 * x**2), ["square", "multiply", "sum"]),  # the sum may overflow
        (lambda x, y: xp.sum(x * y[0]), ["getitem", "multiply", "sum"]),
        (lambda x, y: xp.sum(x * y, axis=0), ["multiply", "sum"]),
    ],
)
def test_sums_of_products_are_dot_products(call, ops):
    program = traced(lambda x, y: [call(x, y)], data(1))
    short = with_dots(simplified(program))
    assert sorted(n.op for n in short.nodes if n.op not in (INPUT, CONSTANT)) == sorted(ops)
    for seed in range(3):
        found, expected = short.run(data(seed))[0], program.run(data(seed))[0]
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)


def test_sums_of_float32_over_the_first_axes_are_products_with_smaller_errors():
    def calls(x, y):
        z = xp.exp(x)
        return [xp.sum(z, axis=0), xp.sum(z, axis=1), xp.sum(z)]

    x = np.random.default_rng(0).random((4096, 16), np.float32)
    program = traced(calls, [x, x])
    short = with_products(simplified(program))
    assert [n.op for n in short.nodes].count("matmul") == 1
    found, before = short.run([x, x])[0], program.run([x, x])[0]
    exact = np.sum(np.exp(x).astype(np.float64), axis=0)
    assert np.max(np.abs(found[0] - exact)) <= np.max(np.abs(before[0] - exact))
    for i in (1, 2):
        same(found[i : i + 1], before[i : i + 1], exact=True)


def test_concatenations_and_reshapes_lie_in_memory_that_the_program_keeps():
    def calls(x, y):
        z = xp.concat([x, y, x * y], axis=1)
        row = xp.reshape(xp.matrix_transpose(z), (-1,))
        copies = [xp.concat([x, y], axis=0), xp.reshape(xp.matrix_transpose(x), (-1,))]
        return [xp.tanh(z) @ xp.matrix_transpose(z), xp.tanh(row) * row[0], *copies]

    program = traced(calls, data(1))
    source = Source(simplified(program), "program")
    assert "concatenate(" in source.text
    assert "copyto(" in source.text
    assert "= concat(" in source.text  # what the caller gets is new memory
    assert "= reshape(" in source.text
    for seed in range(3):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


def test_a_term_that_is_read_again_stays_whole():
    def calls(x, y):
        z = xp.square(x) + xp.square(y)
        return [xp.sum(z), xp.sin(z)]

    short = with_dots(simplified(traced(calls, data(1))))
    assert "sum" in [node.op for node in short.nodes]


# --- what changes last bits alone ---------------------------------------------------------------------
def softmax_of(z, axis=1):
    e = xp.exp(z - xp.max(z, axis=axis, keepdims=True))
    return e, xp.sum(e, axis=axis, keepdims=True)


def slope_of_softmax(a, z, axis=1):
    """The gradient of a softmax as rules write it, and the sum of it."""
    e, t = softmax_of(z, axis)
    s = e / t
    slope = (a / t + xp.sum(-(a * (s / t)), axis=axis, keepdims=True)) * e
    return slope, xp.sum(-slope, axis=axis, keepdims=True)


def after(function):
    """The ops of a function of two inputs, once rounded, which keeps its values."""
    program = traced(lambda x, y: [*function(x, y)], data(1))
    short = rounded(simplified(program))
    source = Source(short, "program")
    for seed in range(4):
        expected = program.run(data(seed))[0]
        for found in (short.run(data(seed))[0], source.function(*data(seed))[0]):
            for ours, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-14)
    return sorted(node.op for node in short.nodes if node.op not in (INPUT, CONSTANT))


def rows(x):
    return xp.sqrt(xp.mean(xp.square(x), axis=0, keepdims=True) + 1e-5)


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        (lambda x, y: [xp.sum(x * y)], ["dot"]),
        (lambda x, y: [xp.sum(-xp.exp(x), axis=0)], ["exp", "matmul", "negative"]),
        (lambda x, y: [xp.reshape(x, (12, 1)) @ xp.reshape(y, (1, 12))],
         ["multiply", "reshape", "reshape"]),
        (lambda x, y: [2.0 * x - y * (4.0 * xp.sin(x))], ["multiply"] * 3 + ["sin", "subtract"]),
        (lambda x, y: slope_of_softmax(x, y)[1:], []),
        (lambda x, y: slope_of_softmax(x, y)[:1],
         ["divide", "exp", "matmul", "matmul", "max", "multiply", "multiply", "subtract", "subtract"]),
    ],
)  # fmt: skip
def test_what_changes_last_bits_alone_makes_a_program_shorter(function, ops):
    assert after(function) == ops


@pytest.mark.parametrize(
    "decide",
    [
        lambda z: z > 0.5,
        lambda z: xp.astype(z, np.int64),
        lambda z: xp.floor(z),
        lambda z: xp.argsort(z, axis=1),
        lambda z: xp.where(z == z[0, 0], z, 0.0),
        lambda z: xp.sign(z),
    ],
)
def test_what_decides_keeps_its_bits(decide):
    """A tie that is one in eager calls must be one in a replay."""

    def calls(x, y):
        z = x / 3.0 + xp.sum(x * y) + xp.exp(y) / rows(y)
        return [decide(z)]

    program = traced(calls, data(1))
    short = rounded(simplified(program))
    for seed in range(4):
        same(short.run(data(seed))[0], program.run(data(seed))[0], exact=True)
    assert "dot" not in [node.op for node in short.nodes]


def test_what_a_guard_looks_at_keeps_its_bits():
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        x = trace.input(data(1)[0])
        y = xp.sum(x * x)
        assert float(y) > 0.0
        trace.program.outputs = [(y * 2.0).node]
    finally:
        ACTIVE.reset(token)
    assert "dot" not in [node.op for node in rounded(simplified(trace.program)).nodes]


def test_a_row_of_nan_stays_nan():
    def calls(a, z):
        slope, total = slope_of_softmax(a, z)
        return [slope + xp.where(z == xp.max(z, axis=1, keepdims=True), total, 0.0)]

    program = traced(calls, data(1))
    short = rounded(simplified(program))
    assert len(short.nodes) < len(simplified(program).nodes) - 4
    for place, bad in [(0, np.nan), (0, np.inf), (1, np.nan), (1, np.inf)]:
        inputs = data(2)
        inputs[place][1, 1] = bad
        with np.errstate(all="ignore"):
            found, expected = short.run(inputs)[0][0], program.run(inputs)[0][0]
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
@pytest.mark.every(3)
def test_rounded_programs_compute_the_same(small_choices, part):
    shorter = 0
    for seed in range(part, 120, 3):
        program = grown(seed, data(seed))
        simple = simplified(program)
        short = rounded(simple)
        shorter += len(short.nodes) < len(simple.nodes)
        source = Source(short, "program")
        for other in (seed, 1000 + seed):
            inputs = data(other)
            expected = [*chain_of(*program.run(inputs))]
            for found in (short.run(inputs), source.function(*inputs)):
                for ours, wanted in zip(chain_of(*found), expected, strict=True):
                    assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
                    scale = max(1.0, np.abs(wanted).max())
                    np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12 * scale)
    assert shorter > 5


# --- factors ------------------------------------------------------------------------------------------
def systems(a, b):
    """Four systems with one matrix, two with a Cholesky factor."""
    solve, turn = xp.linalg.solve, xp.matrix_transpose
    y = solve(a, b)
    z = solve(turn(a), y)
    factor = xp.linalg.cholesky(xp.matmul(a, turn(a)))
    vector = solve(turn(turn(a)), b[:, 0]) + solve(a, z[:, 1])
    return [y, z, vector, solve(turn(factor), y), solve(factor, turn(turn(b)))]


def matrices(seed, size=80):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, size)) + 9 * np.eye(size), rng.standard_normal((size, 3))]


def test_a_matrix_is_factored_once():
    pytest.importorskip("scipy")
    program = traced(systems, matrices(1))
    short = factored(simplified(program))
    ops = [node.op for node in short.nodes]
    assert (ops.count("factors_of"), ops.count("linalg.solve")) == (1, 0)
    source = Source(short, "program")
    for seed in range(3):
        for found in (short.run(matrices(seed))[0], source.function(*matrices(seed))[0]):
            for x, y in zip(found, program.run(matrices(seed))[0], strict=True):
                assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)
                np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-11)


def test_small_matrices_and_those_of_one_system_stay():
    small = simplified(traced(systems, matrices(1, LEAST - 1)))
    assert factored(small) is small
    one = simplified(traced(lambda a, b: [xp.linalg.solve(a, b)], matrices(1)))
    assert [node.op for node in factored(one).nodes if node.op != INPUT] == ["linalg.solve"]


def test_a_singular_matrix_raises_what_numpy_raises():
    pytest.importorskip("scipy")
    source = Source(factored(simplified(traced(systems, matrices(1)))), "program")
    with pytest.raises(np.linalg.LinAlgError):
        source.function(np.zeros((80, 80)), matrices(1)[1])


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
@pytest.mark.every(3)
def test_programs_in_blocks_compute_the_same(small_blocks, small_choices, part):
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
                    scale = max(1.0, np.abs(wanted).max())
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


def test_blocks_are_written_straight_into_their_part_of_zeros(small_blocks):
    def calls(x, y):
        parts = xp.scatter_add(xp.exp(x[1:]) * 2.0, SHAPE, slice(1, None))
        return [parts + xp.scatter_add(xp.tanh(y[:-1]) - 1.0, SHAPE, slice(None, -1))]

    program = traced(calls, data(1))
    source = Source(blocked(simplified(program)), "program")
    assert "for i in" in source.text
    for seed in range(3):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


@pytest.mark.parametrize("blocks", [False, True])
def test_signs_are_computed_beside_their_operand(small_blocks, blocks):
    """NumPy takes eight times as long in its place, as its branches are guessed wrongly."""

    def calls(x, y):
        return [xp.sign(x * y) + y, xp.sign(xp.exp(x) - y)]

    program = traced(calls, data(1))
    short = simplified(program)
    source = Source(blocked(short) if blocks else short, "program")
    calls_of_sign = re.findall(r"sign\((\w+)(?:, (\w+))?\)", source.text)
    assert len(calls_of_sign) == 2
    assert all(operand != result for operand, result in calls_of_sign)
    for seed in range(3):
        same(source.function(*data(seed))[0], program.run(data(seed))[0], exact=True)


def test_elements_of_arguments_are_copied_where_they_leave():
    program = simplified(traced(lambda x: [x[1, 2], x[0, 0] * x], data(1)[:1]))
    source = Source(program, "program")
    assert "[0, 0, ...]" in source.text
    assert "[1, 2, ...]" not in source.text
    x = data(2)[0]
    found, _ = source.function(x)
    assert not np.shares_memory(found[0], x)
    same(found, program.run([x])[0], exact=True)


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


@pytest.mark.parametrize("size", [130_000, 200_000])
def test_only_large_programs_run_in_blocks(size):
    def calls(x):
        return [xp.sum(xp.tanh(x * 2.0) * xp.exp(x))]

    text = Source(blocked(simplified(traced(calls, [np.ones(size)]))), "program").text
    assert ("for i in" in text) == (size > 1 << 17)


@pytest.mark.parametrize(
    ("size", "rows"), [(160_000, 16_000), (199_999, 16_704), (140_001, 15_616)]
)
def test_blocks_are_about_equal(size, rows):
    """The last one is not a small rest, and each begins with a line of the cache."""
    program = simplified(traced(lambda x: [xp.tanh(x * 2.0) * xp.exp(x)], [np.ones(size)]))
    assert f"range(0, {size}, {rows})" in Source(blocked(program), "program").text


OF_NUMBERS = {
    "sum": lambda s, a: xp.sum(s),
    "mean": lambda s, a: xp.mean(s),
    "product": lambda s, a: xp.sum(s * a),
    "sum of a sum": lambda s, a: xp.sum(xp.sum(s) * 3.0),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_sum_of_a_number_is_no_sum_of_blocks(small_blocks, name):
    """Though arrays that depend on the number are computed in blocks."""

    def calls(x, a):
        s = xp.sum(xp.exp(x) * xp.tanh(x))
        z = xp.exp(x) / s
        return [OF_NUMBERS[name](s, a), xp.sum(z * z), xp.tanh(z) * x]

    given = data(0)[0], np.asarray(0.5)
    program = traced(calls, [*given])
    short = blocked(rounded(simplified(program)))
    assert any(node.op == BLOCKED for node in short.nodes)
    found, expected = Source(short, "program").function(*given)[0], program.run([*given])[0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_sums_in_blocks_are_as_exact_as_sums_of_numpy():
    x = np.random.default_rng(0).random(1_000_000, dtype=np.float32)

    def calls(x):
        return [xp.sum(xp.square(x) * x)]

    source = Source(blocked(simplified(traced(calls, [x]))), "program")
    (found,), _ = source.function(x)
    exact = np.sum(x.astype(np.float64) ** 3)
    assert found.dtype == np.float32
    assert abs(found - exact) < 1e-6 * exact


# --- sums as products ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "ops"),
    [
        (lambda x: xp.sum(x), ["dot", "reshape"]),
        (lambda x: xp.sum(x, axis=0), ["matmul"]),
        (lambda x: xp.sum(x, axis=-1), ["matmul"]),
        (lambda x: xp.sum(x, axis=1, keepdims=True), ["matmul"]),
        (lambda x: xp.sum(x, axis=0, keepdims=True), ["matmul"]),
        (lambda x: xp.sum(xp.matrix_transpose(x), axis=0), ["matmul", "matrix_transpose"]),
        (lambda x: xp.sum(xp.reshape(x, (2, 2, 3)), axis=(0, 1)), ["matmul", "reshape", "reshape"]),
        (lambda x: xp.sum(xp.reshape(x, (2, 2, 3)), axis=(1, 2)), ["matmul", "reshape", "reshape"]),
        (lambda x: xp.sum(xp.reshape(x, (2, 2, 3)), axis=2, keepdims=True),
         ["matmul", "reshape", "reshape", "reshape"]),
        (lambda x: xp.sum(xp.reshape(x, (2, 2, 3)), axis=1), ["reshape", "sum"]),
        (lambda x: xp.sum(xp.reshape(x, (2, 2, 3)), axis=(0, 2)), ["reshape", "sum"]),
        (lambda x: xp.sum(x[:, ::2], axis=0), ["getitem", "sum"]),
        (lambda x: xp.sum(xp.astype(x, np.float32), axis=0), ["astype", "sum"]),
        (lambda x: xp.sum(xp.astype(x > 0, np.float64), axis=0), ["astype", "greater", "sum"]),
        (lambda x: xp.sum(x, axis=0) > 0, ["greater", "sum"]),  # it decides
    ],
)  # fmt: skip
def test_sums_are_products_with_ones(call, ops):
    program = simplified(traced(lambda x: [call(x)], data(1)[:1]))
    short = with_products(program, deciding(program))
    assert sorted(node.op for node in short.nodes if node.op not in (INPUT, CONSTANT)) == ops
    source = Source(short, "program")
    for seed in range(3):
        x = data(seed)[0]
        wanted = program.run([x])[0][0]
        for found in (short.run([x])[0][0], source.function(x)[0][0]):
            assert (found.shape, found.dtype, found.strides) == (
                wanted.shape,
                wanted.dtype,
                wanted.strides,
            )
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "shape", [(3, 2), (32, 10), (1000, 10), (10, 1000), (2, 20_000), (20_000, 2)]
)
def test_products_with_ones_are_as_exact_as_sums(shape):
    x = np.random.default_rng(0).standard_normal(shape)
    for axis in (0, 1):
        program = simplified(traced(lambda x, axis=axis: [xp.sum(x, axis=axis)], [x]))
        found = Source(with_products(program), "program").function(x)[0][0]
        exact = np.asarray([math.fsum(row) for row in np.moveaxis(x, axis, -1)])
        error = np.abs(found - exact) / (2.0**-53 * np.sum(np.abs(x), axis=axis))
        assert error.max() < 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_products_of_matrices_have_the_bits_of_matmul(dtype):
    rng = np.random.default_rng(0)
    by_dot = 0
    for _ in range(150):
        n, k, m = rng.choice([1, 2, 3, 8, 33], 3)
        x, y = rng.standard_normal((n, k)).astype(dtype), rng.standard_normal((k, m)).astype(dtype)
        x, y = (np.asfortranarray(one) if rng.random() < 0.5 else one for one in (x, y))
        x, y = [(x, y), (x[0], y), (x, y[:, 0]), (x[:, ::-1], y)][rng.integers(4)]
        given = [x, y]
        program = simplified(
            traced(lambda x, y: [xp.matmul(x, y), xp.exp(-abs(xp.matmul(x, y)))], given)
        )
        source = Source(program, "program")
        by_dot += ".dot(" in source.text
        with np.errstate(all="ignore"):
            same(source.function(*given)[0], program.run(given)[0], exact=True)
    assert (by_dot > 50) == (dtype is not np.complex128)


# --- the shift before exp ----------------------------------------------------------------------------
def cross_entropy(z, labels):
    """The loss, and its gradient as a tape has it."""
    with arraytape.GradientTape() as tape:
        tape.watch(z)
        top = arraytape.max(z, axis=1, keepdims=True)
        shifted = z - top
        loss = arraytape.mean(
            arraytape.log(arraytape.sum(arraytape.exp(shifted), axis=1))
            - arraytape.sum(shifted * labels, axis=1)
        )
    return loss, tape.gradient(loss, z)


ONE_HOT = np.eye(3)[[0, 2, 1, 1]]
LOGITS = np.asarray([[1.0, 2.0, 2.0], [0.0, 1.0, -1.0], [3.0, 3.0, 3.0], [-5.0, 0.5, 40.0]])


@pytest.mark.parametrize("labels", [ONE_HOT, ONE_HOT * 0.5, ONE_HOT + 0.25, 0.0 * ONE_HOT])
def test_the_shift_before_exp_has_the_slope_that_the_labels_give_it(labels):
    """0 where they add up to 1, and then nothing is done about it."""
    f = arraytape.function(cross_entropy)
    for turn in range(5):
        z, y = arraytape.asarray(LOGITS + turn), arraytape.asarray(labels)
        for found, wanted in zip(f(z, y), cross_entropy(z, y), strict=True):
            np.testing.assert_allclose(
                np.asarray(found), np.asarray(wanted), rtol=1e-14, atol=1e-15
            )
    assert f.counts["replayed"] == 3


# --- looks that are not taken -------------------------------------------------------------------------
def test_a_look_for_nan_that_a_gradient_implies_is_not_taken():
    f = arraytape.function(cross_entropy)
    for turn in range(3):
        f(arraytape.asarray(LOGITS + turn), arraytape.asarray(ONE_HOT))
    assert len(f.traces[0].guards) == 2
    assert "not_equal" not in f.source
    for bad in (np.nan, np.inf):
        z = LOGITS.copy()
        z[1, 1] = bad
        with np.errstate(all="ignore"):
            pair = [f(arraytape.asarray(z), arraytape.asarray(ONE_HOT)),
                    cross_entropy(arraytape.asarray(z), arraytape.asarray(ONE_HOT))]  # fmt: skip
        for found, wanted in zip(*pair, strict=True):
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    assert f.counts["replayed"] == 1


# --- parts that overlap, in blocks --------------------------------------------------------------------
def total_of(parts):
    def calls(x, y):
        z = {"a": xp.exp(x[:3]) * 2.0, "b": xp.tanh(y[:3]) - 1.0, "c": x[:3] * y[:3]}
        z["d"] = xp.sin(z["a"])
        whole = xp.zeros((5, SHAPE[1]), dtype=np.float64)
        for start, name, plus in parts:
            key = slice(start, start + 3)
            whole = TRACED.put(whole, key, whole[key] + z[name] if plus else whole[key] - z[name])
        return [whole, xp.sum(z["a"] * z["b"])]

    return calls


@pytest.mark.parametrize("parts", [
    [(0, "a", True), (1, "b", True)], [(1, "a", True), (0, "b", True)],
    [(1, "a", True), (0, "a", False)], [(0, "b", True), (2, "b", True)],
    [(2, "a", True), (1, "b", False), (0, "c", True)], [(1, "a", True), (2, "b", True), (0, "c", False)],
    [(2, "d", True), (0, "a", True)], [(1, "a", True), (0, "a", True)],
    [(2, "a", True), (1, "b", True), (0, "a", False)],
])  # fmt: skip
def test_parts_that_overlap_are_added_in_blocks(small_blocks, parts):
    program = traced(total_of(parts), data(1))
    short = blocked(simplified(program))
    assert ADDED in [node.op for node in short.nodes]
    source = Source(short, "program")
    assert source.text.count("\n    ") > 3
    for seed in range(3):
        wanted = program.run(data(seed))[0]
        for found in (short.run(data(seed))[0], source.function(*data(seed))[0]):
            same(found[:1], wanted[:1], exact=True)
            np.testing.assert_allclose(found[1], wanted[1], rtol=1e-14)


@pytest.mark.parametrize("parts", [
    [(0, "a", True), (1, "b", False)],  # the one that begins last is subtracted
    [(0, "a", True), (1, "b", True), (2, "c", True)],
    [(0, "a", True), (2, "b", True), (1, "c", False)],
])  # fmt: skip
def test_sums_of_parts_keep_their_order(small_blocks, parts):
    program = simplified(traced(total_of(parts), data(1)))
    short = blocked(program)
    assert len([node for node in short.nodes if node.op == "put"]) in (1, 2)
    for found in (short.run(data(2)), Source(short, "program").function(*data(2))):
        same(found[0][:1], program.run(data(2))[0][:1], exact=True)


def test_parts_that_are_read_elsewhere_or_spread_stay(small_blocks):
    def calls(x, y):
        a, b = xp.exp(x[:3]), xp.exp(y[:3])
        whole = TRACED.put(xp.zeros((5, SHAPE[1]), dtype=np.float64), slice(1, 4), a)
        whole = TRACED.put(whole, slice(0, 3), whole[0:3] + b)
        return [whole, a]

    def spread(x, y):
        a, b = xp.exp(x[:1]) * 2.0, xp.exp(y[:1]) * 2.0
        whole = TRACED.put(xp.zeros((5, SHAPE[1]), dtype=np.float64), slice(1, 4), a)
        return [TRACED.put(whole, slice(0, 3), whole[0:3] + b)]

    for function in (calls, spread):
        program = simplified(traced(function, data(1)))
        short = blocked(program)
        assert ADDED not in [node.op for node in short.nodes]
        same(Source(short, "program").function(*data(2))[0], program.run(data(2))[0], exact=True)
