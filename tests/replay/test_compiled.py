"""Replays as machine code: what runs, and that the bits, warnings and errors are NumPy's."""

import functools
import gc
import os
import pickle
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import numpy_namespace
from arraytape.replay.compiled import driver, executable, machine, segments
from arraytape.replay.compiled.inner_loops import inner_loop
from arraytape.replay.compiled.lowering import Lowered, Lowering
from arraytape.replay.compiled.machine import Unsupported
from arraytape.replay.passes.simplify import simplified
from arraytape.replay.program import Node, Program, mapped_leaves, put
from arraytape.replay.tracing.traced_storage import TRACED, added_at
from helpers import replayed_programs
from helpers.raw_programs import traced

pytest.importorskip("llvmlite", reason="pip install arraytape[compiled]")

X = [1.0, 2.0, 3.0]


def compiled(f):
    return xp.function(f, compile=True)


def warmed(step, *args, calls=5):
    """Call a step until machine code runs, and return it."""
    for _ in range(calls):
        step(*args)
    assert step.compiled, step.explain()
    return step


# --- right ----------------------------------------------------------------------------------------
def chain(x):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(40):
            y = xp.sin(y) * 0.9 + y / 3.0
        loss = xp.sum(y * y)
    return loss, tape.gradient(loss, x)


def layers(x):
    w = xp.reshape(xp.arange(12.0) / 7.0, (3, 4))
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = xp.tanh(x @ w + xp.asarray([0.5, -0.5, 1.0, 0.0]))
        z = h - xp.max(h, axis=1, keepdims=True)
        p = xp.exp(z) / xp.sum(xp.exp(z), axis=1, keepdims=True)
        loss = -xp.mean(xp.log(p[:, 1]))
    return loss, tape.gradient(loss, x), p.T


def parts(x):
    y = xp.concat([x[1:], x[:-1]])
    old = y + 0.0
    y[1:3] = y[2:4] * 2.0
    y[::2] += 1.0
    rows = xp.take(xp.stack([y, old]), xp.asarray([1, 0, 1]), axis=0)
    return rows, y, xp.where(y > 2.0, y, -y), xp.any(y > 100.0), xp.astype(y > 1.0, xp.int64)


def stacks(x):
    a = xp.reshape(x, (2, 1, 2, 3))
    b = xp.reshape(x, (2, 3, 2))
    c = a @ b
    return c, xp.sum(c, axis=(0, 2)), xp.max(c, axis=1), xp.matrix_transpose(c) * 2.0


def indexed(x):
    i, j = xp.asarray([2, 0, -1, 2]), xp.asarray([1, 1, 0, 1])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        y[i, j] = x[j, i] + 1.0
        y[i] = y[j] * 3.0
        loss = xp.sum(y[i, ...] ** 2) + xp.sum(y[j, i])
    return y, loss, tape.gradient(loss, x)


STEPS = {
    "indexed": (indexed, (3, 3)),
    "chain": (chain, (7,)),
    "chain in blocks": (chain, (5001,)),
    "layers": (layers, (5, 3)),
    "parts": (parts, (6,)),
    "stacks": (stacks, (12,)),
}


@pytest.mark.parametrize("dtype", [xp.float64, xp.float32])
@pytest.mark.parametrize("name", STEPS)
def test_machine_code_has_numpys_bits(name, dtype):
    f, shape = STEPS[name]
    rng = np.random.default_rng(3)
    step = compiled(f)
    for call in range(6):
        x = xp.asarray(rng.normal(size=shape), dtype=dtype)
        found, expected = step(x), f(x)
        if call >= 3:
            assert step.compiled, step.explain()
        for y, z in zip(found, expected, strict=True):
            y, z = np.asarray(y), np.asarray(z)
            assert (y.shape, y.dtype, y.strides) == (z.shape, z.dtype, z.strides)
            # Rewrites of last bits are those of any replay.
            np.testing.assert_allclose(y, z, rtol=1e-5 if dtype == xp.float32 else 1e-13)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.every(2)
def test_random_programs_run_as_machine_code(seed, monkeypatch):
    monkeypatch.setattr(executable, "ALWAYS", True)
    replayed_programs.replay("array" if seed % 2 else "numpy", 7000 + seed)


def test_a_program_differs_from_itself_nowhere(monkeypatch):
    """The first call compares each result with NumPy's."""
    differing = []
    monkeypatch.setattr(executable, "ALWAYS", True)
    monkeypatch.setattr(
        executable.CheckedSegment, "leave_segment", lambda watched, why: differing.append(why)
    )
    for f, shape in STEPS.values():
        step = compiled(f)
        for _ in range(4):
            step(xp.asarray(np.random.default_rng(5).normal(size=shape)))
    assert differing == []


def next_to_a_call(x):
    y = x * 1.5
    part = y[1:-1]
    sines = xp.sin(part)  # by a call of NumPy's, after the instructions of its group
    y[1:-1] = part * 2.0
    return y * y, sines


def next_to_many(x):
    y = x * 1.5
    part = y[1:-1]
    new = part - 1.0
    total = part * 2.0
    for k in range(60):  # more than one kernel
        total = total * 0.5 + part / (k + 1.5)
    y[1:-1] = new
    return y * y, total


def in_steps(x):
    y = x * 1.0
    for shift in (1, 2):
        y[shift:] = y[shift:] + y[:-shift] * 0.5
        y[shift] = y[shift] - y[0]
    return y


def among_themselves(x):
    i = xp.astype(x > 1.5, xp.int64) * 4 + 1
    i[i] = xp.asarray([1, 0, 3, 1, 2, 0])
    return i * 2, xp.take(x, i, axis=0)


@pytest.mark.parametrize("f", [next_to_a_call, next_to_many, in_steps, among_themselves])
def test_writes_come_after_the_reads_of_the_old_values(f, monkeypatch):
    given_up = []
    monkeypatch.setattr(
        executable.CheckedSegment, "leave_segment", lambda watched, why: given_up.append(why)
    )
    step = compiled(f)
    for call in range(6):
        x = xp.asarray([1.0, 2.0, 3.0, 4.0, 0.5, 6.0]) + call / 8
        results = [y if isinstance(y, tuple) else (y,) for y in (step(x), f(x))]
        for found, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert given_up == []


# --- memory of large programs ---------------------------------------------------------------------
LARGE = 30_000


def rectified(x):
    """Return a loss and its gradient; the gradient of each maximum reads a guard on ties."""
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(6):
            y = xp.tanh(xp.exp(xp.maximum(y, 0.0))) * x
        loss = xp.sum(y)
    return loss, tape.gradient(loss, x)


def summed_on_the_way(x):
    """Return sums of values that later values do not depend on, and values that do depend on sums."""
    totals, y = [], x
    for k in range(7):
        y = xp.sin(xp.tanh(y) * x)
        z = xp.cos(y) + k
        totals += [xp.sum(z), xp.max(y * z, keepdims=True)]
    y = xp.exp(y) * x
    return *totals, y, y + totals[3] + totals[5], xp.sum(y - totals[1] * z), z[::2] * totals[0]


def summed_before_a_write(x):
    y = xp.cos(x)
    z = xp.sin(y)
    total = xp.sum(z)
    w = y * 2.0
    z[1:] = w[1:] - z[:-1]
    return z, w, total + 1.0


def summed_before_a_write_in_place(x):
    y = xp.cos(x)
    z = xp.exp(xp.stack([x, y]))
    u, v = y * 2.0, y + 1.0
    total = xp.sum(u * z[0])
    w = u * v
    z[0] = xp.sin(v)
    return z, total, w


MEMORY = {  # the limit, in arrays of LARGE elements
    rectified: 3,
    summed_on_the_way: 5,
    summed_before_a_write: 1.1,
    summed_before_a_write_in_place: 4.5,
}


@pytest.mark.parametrize("f", MEMORY)
def test_large_programs_need_little_memory_and_have_numpys_bits(f):
    """Only values that something else than elementwise calls reads are kept as a whole."""
    rng = np.random.default_rng(2)
    step = compiled(f)
    for _ in range(5):
        step(xp.asarray(rng.normal(size=LARGE)))
    made = step.last_plan().executable
    assert made.compiled, step.explain()
    assert made.reasons == []
    assert sum(part.lowered.bytes for part in made.segments) < MEMORY[f] * 8 * LARGE
    for part in made.segments:
        assert compare_segment(part, lambda shape: rng.normal(size=shape))


def test_a_tie_that_appears_in_a_large_program_is_seen():
    x = np.random.default_rng(0).normal(size=LARGE)
    step = warmed(compiled(rectified), xp.asarray(x))
    replayed = step.counts["replayed"]
    for place in (0, 5, LARGE // 2, LARGE - 1):
        y = x.copy()
        y[place] = 0.0
        found, expected = step(xp.asarray(y)), rectified(xp.asarray(y))
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    assert step.counts["replayed"] < replayed + 4


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_values_that_are_only_checked_for_nan_are_not_computed(dtype):
    def calls(x, y):
        z = TRACED.xp.matmul(x + y, TRACED.xp.matrix_transpose(y))
        assert not TRACED.has_nan(TRACED.xp.matmul(z, x) * 2)
        assert not TRACED.has_nan(TRACED.xp.sum(y, axis=0))
        return [x + y]

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 5, 3)).astype(dtype)
    lowering = Lowering(simplified(traced(calls, [x, y])))
    assert [node.op for node in lowering.program.nodes if node.is_call] == ["add"]
    run, result = Lowered(lowering).run, np.empty_like(x)
    for given in (x, y):
        assert run(x, y, result) is None
        for unusual in (np.nan, np.inf, -np.inf, np.finfo(dtype).max / 8, 1e30):
            given[2, 1], old = unusual, given[2, 1]
            with np.errstate(all="ignore"):
                z = (x + y) @ y.T @ x
            moderate = dtype == "f8" and unusual == 1e30
            assert moderate or np.isnan(z).any() or np.isinf(z).any()
            assert run(x, y, result) is (None if moderate else driver.FALLBACK)
            given[2, 1] = old


# What is drawn: the layout of an operand.
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: xp.matrix_transpose(xp.matrix_transpose(x) + 0),
    "every other": lambda x: xp.concat([x, x], axis=1)[:, ::2],
    "reversed": lambda x: xp.flip(x, axis=0),
    "broadcast": lambda x: xp.broadcast_to(x[:1], x.shape),
    "of one row": lambda x: x[:1],
}
CALLS = {
    "arithmetic": lambda x, y: (x * y - x, x + y * y),
    "loops": lambda x, y: (xp.sin(x) * y, xp.hypot(xp.real(x), xp.real(y)) * 2),
    "sums": lambda x, y: (xp.sum(x * y), xp.sum(x - y, axis=0), xp.sum(x + y, axis=1)),
    "products": lambda x, y: (x @ xp.matrix_transpose(y), xp.prod(x + y, axis=0) * 1),
    "extremes": lambda x, y: (xp.max(xp.real(x - y), axis=1), xp.min(xp.abs(x * y), axis=0)),
    "choices": lambda x, y: (xp.where(xp.real(x) > 0.2, x * 2, y), xp.abs(x) + xp.abs(y)),
    "parts": lambda x, y: (x[1:] + y[-1:], xp.concat([x, y])[::2] * 2, xp.stack([x[0], y[0]]) + 1),
    "powers": lambda x, y: (xp.abs(x) ** 1.5 + 1, xp.abs(x) ** xp.real(y), (x + y) ** 3),
    "results into parts": lambda x, y: (with_put(x, xp.cosh(x)), with_put(y, xp.exp(y))),
    "real and imaginary parts": lambda x, y: (xp.real(x * y) * 2, xp.imag(x * y), xp.real(x) + y),
    "running": lambda x, y: (
        xp.cumulative_sum(x * y, axis=0), xp.cumulative_prod(x + y, axis=1)[:, ::2] * 2,
        xp.cumulative_sum(x[1:2], axis=0),
    ),
    "bounds": lambda x, y: (
        xp.clip(xp.real(x), -0.5, 0.5) + 1, xp.clip(xp.real(x - y), xp.real(y), 0.7) * 2,
    ),
    "no elements": lambda x, y: (
        xp.sum(x[:0] * 2, axis=0) + y, xp.concat([x[:0], y, x]) * 2, (x * 2)[:, :0], x[:, :0] @ y[:0],
        xp.prod(x[:0] + y[:0]) * x,
    ),
    "any and all": lambda x, y: (
        xp.any(xp.real(x) > xp.real(y), axis=0), xp.all(xp.abs(x) < 2.5, axis=1, keepdims=True),
    ),
}  # fmt: skip


def with_put(x, y):
    z = xp.stack([x, x])
    z[1, :, ::-1] = y
    return z


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_each_segment_has_numpys_bits_on_all_layouts(name, dtype):
    """Machine code is compared with NumPy's calls on data that the first call did not see."""
    rng = np.random.default_rng(7)

    def drawn(shape):
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if dtype == "complex128" else x).astype(dtype)

    compared = 0
    for first in LAYOUTS.values():
        for second in LAYOUTS.values():
            step = compiled(lambda x, y, a=first, b=second: CALLS[name](a(x), b(y)))
            for _ in range(3):
                step(xp.asarray(drawn((7, 6))), xp.asarray(drawn((7, 6))))
            made = step.last_plan().executable
            assert not any("differ" in why for why in made.reasons), made.reasons
            for part in made.segments if made.compiled else ():
                if part.lowered is not None:
                    compared += compare_segment(part, drawn)
    assert compared > 50


def drawn_layout(rng, dtypes=("f8", "f4", "i8", "c16")):
    """Return an array of a drawn shape, dtype, order of axes, steps and directions."""
    shape = [int(n) for n in rng.choice([1, 2, 3, 5, 8, 17, 40], rng.integers(1, 5))]
    factors = rng.integers(1, 3, len(shape))
    order = rng.permutation(len(shape))
    whole = np.zeros((np.asarray(shape) * factors)[order], rng.choice(dtypes))
    turned = whole.transpose(np.argsort(order))
    steps = [slice(None, None, int(k)) for k in factors]
    return np.flip(turned[tuple(steps)], [k for k in range(len(shape)) if rng.random() < 0.3])


def compare_call(raw, args, options, fill):
    """Return how often machine code served three calls, with NumPy's bits; -1 if it cannot be made."""
    given = [Node("input", like=x) for x in args]
    call = Node(raw.__name__, raw, tuple(given), options, like=np.asarray(raw(*args, **options)))
    try:
        lowered = Lowered(Lowering(Program(given, [*given, call], [], [call])))
    except Unsupported:
        return -1
    result = np.ndarray(call.shape, call.dtype, strides=call.strides)
    scratch = [np.empty(lowered.bytes, np.uint8)] if lowered.own_scratch else []
    served = 0
    for _ in range(3):
        for x in args:
            fill(x)
        expected = np.asarray(raw(*args, **options))
        if lowered.run(*args, result, *scratch) is not True:
            layouts = [(x.dtype.str, x.shape, x.strides) for x in args]
            assert executable.has_same_bits(result, expected), (call.op, layouts, options)
            served += 1
    return served


def drawn_numbers(rng):
    def fill(x):
        numbers = rng.normal(size=x.shape) * 1.5
        numbers[rng.random(x.shape) < rng.choice([0.0, 0.2, 1.0])] *= 0.0  # of both signs
        if x.dtype.kind == "c":
            numbers = numbers + 1j * rng.normal(size=x.shape)
        x[...] = np.asarray(numbers).astype(x.dtype)

    return fill


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.every(2)
@np.errstate(all="ignore")
def test_reductions_have_numpys_bits_on_drawn_layouts(seed):
    rng = np.random.default_rng(seed)
    served = 0
    for _ in range(40):
        x = drawn_layout(rng, ["f8", "f4", "i8", "i4", "c16"])
        names = ["sum", "prod"] if x.dtype.kind == "c" else ["sum", "prod", "max", "min"]
        raw = getattr(numpy_namespace, str(rng.choice(names)))
        count = int(rng.integers(1, x.ndim + 1))
        axis = None if rng.random() < 0.3 else tuple(map(int, rng.permutation(x.ndim)[:count]))
        options = {"axis": axis, "keepdims": bool(rng.random() < 0.3)}
        served += max(compare_call(raw, [x], options, drawn_numbers(rng)), 0)
    assert served > 40


def drawn_key(rng, shape):
    """Return a key of slices, numbers, new axes and arrays of integers, with at least one array."""
    common = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))]
    parts = []
    for n in shape[: int(rng.integers(1, len(shape) + 1))]:
        start = int(rng.integers(0, n))
        parts.append([
            slice(start, None, int(rng.integers(1, 3))), start - n * int(rng.integers(0, 2)),
            rng.integers(-n, n, [m if rng.random() < 0.8 else 1 for m in common]).astype(
                rng.choice(["i8", "i8", "i4", "u1"])
            ) % n,
        ][rng.choice(3, p=[0.25, 0.15, 0.6])])  # fmt: skip
    if not any(isinstance(part, np.ndarray) for part in parts):
        parts[0] = rng.integers(0, shape[0], common)
    parts = [x.T.copy().T if isinstance(x, np.ndarray) and rng.random() < 0.2 else x for x in parts]
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if rng.random() < 0.3:
        parts.append(...)
    return tuple(parts)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.every(2)
def test_keys_with_index_arrays_have_numpys_bits(seed):
    rng = np.random.default_rng(seed)
    served = 0
    for _ in range(80):
        x = drawn_layout(rng)
        fill = drawn_numbers(rng)
        fill(x)
        key = drawn_key(rng, x.shape)
        values = np.asarray(rng.normal(size=x[key].shape) * 3).astype(x.dtype)
        if values.ndim and rng.random() < 0.4:
            values = values[:1]
        value = values if rng.random() < 0.7 else 2
        raw, args = [
            (numpy_namespace.getitem, (x, key)), (put, (x, key, value)),
            (added_at, (x, key, values)),
            (numpy_namespace.scatter_add, (np.zeros_like(x[key]) + values, x.shape, key)),
        ][rng.integers(4)]  # fmt: skip
        given = [*{id(y): y for y in arrays_in(args)}.values()]
        inputs = [Node("input", like=y) for y in given]
        nodes = dict(zip(map(id, given), inputs, strict=True))
        expected = np.asarray(raw(*args))
        own = mapped_leaves(args, lambda y, nodes=nodes: nodes.get(id(y), y))
        name = {"added_at": "add_at"}.get(raw.__name__, raw.__name__)
        call = Node(name, raw, own, like=expected)
        try:
            lowered = Lowered(Lowering(Program(inputs, [*inputs, call], [], [call])))
        except Unsupported:
            continue
        result = np.ndarray(call.shape, call.dtype, strides=call.strides)
        scratch = [np.empty(lowered.bytes, np.uint8)] if lowered.own_scratch else []
        assert lowered.run(*given, result, *scratch) is None
        assert executable.has_same_bits(result, expected), (name, x.shape, x.strides, key)
        served += 1
    assert served > 50


def arrays_in(value):
    """Return the arrays in a nesting of arguments."""
    found = []
    mapped_leaves(value, lambda x: found.append(x) if isinstance(x, np.ndarray) else None)
    return found


UNARY = ("sin", "exp", "tanh", "log1p", "cbrt", "sqrt", "square", "negative", "absolute", "rint",
         "sign", "isfinite", "arctan")  # fmt: skip
BINARY = ("multiply", "add", "subtract", "divide", "maximum", "minimum", "less", "hypot", "arctan2",
          "power", "copysign", "fmod", "logaddexp", "equal", "floor_divide")  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.every(2)
@np.errstate(all="ignore")
def test_ufuncs_have_numpys_bits_on_drawn_layouts(seed):
    """Draw operands with gaps, turned and reversed axes, and with one element of several ranks."""
    rng = np.random.default_rng(seed)
    served = 0
    for _ in range(60):
        x = drawn_layout(rng)
        if rng.random() < 0.5:
            x = x[(slice(0, 1),) * x.ndim].reshape((1,) * int(rng.integers(0, 4)))
        steps = [slice(0, 2 * n, 2) if rng.random() < 0.5 else slice(0, n) for n in x.shape]
        y = np.zeros([2 * n for n in x.shape], x.dtype, order=str(rng.choice(["C", "F"])))
        y = y[(*steps, ...)]
        if rng.random() < 0.5:
            y = y[(..., slice(0, 1)) if y.ndim and rng.random() < 0.6 else (..., *(0,) * y.ndim)]
            y = y[(None,) * int(rng.integers(0, 3 if x.size == 1 else 1))]
        args = [x] if rng.random() < 0.4 else [x, np.asarray(y)][:: int(rng.choice([1, -1]))]
        raw = getattr(np, str(rng.choice(UNARY if len(args) == 1 else BINARY)))
        draw = drawn_numbers(rng)
        try:
            served += max(compare_call(raw, args, {}, draw), 0)
        except (TypeError, ValueError):  # no complex cbrt; an integer to a negative power
            continue
    assert served > 60


def compare_segment(part, drawn):
    """Run a segment by both ways on drawn inputs; return how often machine code served."""
    numpys = executable.lazy_source(part.program, "f")
    served = 0
    for _ in range(4):
        inputs = []
        for node in part.program.inputs:
            x = np.lib.stride_tricks.as_strided(
                np.empty(1, node.dtype), node.shape, (0,) * len(node.shape)
            ).copy()
            memory = np.empty_like(x)
            numbers = drawn(node.shape)
            memory[...] = (numbers if node.dtype.kind == "c" else np.real(numbers)).astype(
                node.dtype
            )
            inputs.append(memory if memory.strides == node.strides else laid_out_as(node, memory))
        results = [
            np.ndarray(shape, dtype, strides=strides)
            for dtype, shape, strides in part.lowered.results
        ]
        scratch = [np.empty(part.lowered.bytes, np.uint8)] if part.lowered.own_scratch else []
        if part.lowered.run(*inputs, *results, *scratch) is None:
            served += 1
            for x, y in zip(results, numpys(*inputs)[0], strict=True):
                assert executable.has_same_bits(x, y), part.program.nodes
    return served


def laid_out_as(node, x):
    """Return data in the strides of a node."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(node.shape, node.strides, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(node.shape, node.strides, strict=True))
    memory = np.zeros(high - low + node.dtype.itemsize, np.uint8)
    found = np.ndarray(node.shape, node.dtype, memory, -low, node.strides)
    found[...] = x
    return found


# --- segments -------------------------------------------------------------------------------------
def test_a_call_without_machine_code_does_not_cost_the_rest():
    def f(a, b):
        c = xp.tanh(a) * 2.0 + xp.eye(3)
        s = xp.linalg.solve(c, b)
        return xp.sum(s * s) + xp.sum(xp.exp(-s))

    rng = np.random.default_rng(0)
    a, b = xp.asarray(rng.normal(size=(3, 3))), xp.asarray(rng.normal(size=(3, 2)))
    step = warmed(compiled(f), a, b)
    assert "linalg.solve" in step.explain()
    np.testing.assert_allclose(step(a, b), f(a, b), rtol=1e-13)


def test_numpy_computes_only_the_segment_that_is_unusual():
    def f(a, b):
        s = xp.linalg.solve(xp.tanh(a) * 2.0 + xp.eye(3), b)
        return s, xp.sqrt(s) + s * 2.0

    a, b = xp.zeros((3, 3)), xp.asarray(X)
    step = warmed(compiled(f), a, b)
    with pytest.warns(RuntimeWarning, match="invalid value") as found:
        first, second = step(a, xp.asarray([-1.0, 2.0, 3.0]))
    assert len(found) == 1
    np.testing.assert_array_equal(first, [-1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second, [np.nan, np.sqrt(2.0) + 4.0, np.sqrt(3.0) + 6.0])


def test_both_passes_under_an_outer_tape_are_machine_code():
    @compiled
    def layer(w, x):
        return xp.tanh(x @ w + 0.5) * xp.sin(w[0, 0])

    rng = np.random.default_rng(0)
    x, plain = xp.asarray(rng.normal(size=(4, 3))), layer.eager
    for call in range(6):
        w = xp.asarray(rng.normal(size=(3, 3)))
        found = []
        for f in (layer, plain):
            with xp.GradientTape() as tape:
                tape.watch(w)
                loss = xp.mean(f(w, x) ** 2)
            found.append((loss, tape.gradient(loss, w)))
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-14)
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-13)
        if call > 3:
            assert layer.explain().count("machine code") == 2, layer.explain()


def test_data_that_a_tape_keeps_in_another_layout_is_numpys():
    """A tape keeps a part of an Array as it is, or a dense copy if the Array is written often."""

    @compiled
    def layer(w):
        return xp.tanh(w * 0.5 + 1.0) * xp.sin(w)

    rng = np.random.default_rng(0)
    whole = xp.asarray(rng.normal(size=(40, 30)))
    for call in range(12):
        found = []
        for f in (layer, layer.eager):
            with xp.GradientTape() as tape:
                tape.watch(whole)
                loss = xp.sum(f(whole[:, ::2]) ** 2)
            found.append((loss, tape.gradient(loss, whole)))
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-13)
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-13)
        if call >= 6:
            with xp.GradientTape() as tape:
                tape.watch(whole)
                part = whole[:, ::2]
                kept = xp.sin(part)  # a record keeps the part
                whole[0, 0] = float(call)  # so that the write must copy
                tape.gradient(xp.sum(kept), whole)


# --- warnings and errors --------------------------------------------------------------------------
def quotient(x, y):
    return xp.tanh(xp.maximum(x / y, 0.5)) + 1.0


def test_numpys_warnings_come_as_without_machine_code():
    """Some loops of NumPy clear the floating-point flags, so they are read before each call."""
    step = warmed(compiled(quotient), xp.asarray(X), xp.asarray(X))
    for bad in ([1.0, 0.0, 2.0], [0.0, 1.0, 2.0]):
        with pytest.warns(RuntimeWarning, match="divide by zero") as found:
            result = step(xp.asarray(X), xp.asarray(bad))
        assert len(found) == 1
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(result, quotient(xp.asarray(X), xp.asarray(bad)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(xp.asarray(X), xp.asarray(X))


def test_error_states_of_numpy_hold():
    step = warmed(compiled(quotient), xp.asarray(X), xp.asarray(X))
    zero = xp.asarray([1.0, 0.0, 2.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        step(xp.asarray(X), zero)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        step(xp.asarray(X), zero)


def test_underflow_is_seen_where_numpy_is_asked_to():
    step = warmed(compiled(lambda x: xp.exp(x) * 0.5 + 1.0), xp.asarray(X))
    low = xp.asarray([-745.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(low)
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        step(low)


def test_a_gradient_with_nan_is_computed_again_with_guards():
    def f(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.where(x > 0.0, xp.sqrt(x), 0.0))
        return tape.gradient(y, x)

    step = warmed(compiled(f), xp.asarray(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = xp.asarray([1.0, -2.0, 4.0])
        np.testing.assert_array_equal(step(x), f(x))


def test_a_value_that_was_read_is_checked():
    def f(x):
        return x * 2.0 + 1.0 if xp.sum(x) > 0.0 else -x / 3.0

    step = warmed(compiled(f), xp.asarray(X))
    np.testing.assert_array_equal(step(-xp.asarray(X)), xp.asarray(X) / 3.0)


def test_an_index_out_of_range_raises_as_before():
    def f(x, i):
        return xp.take(x * 2.0, i, axis=0) + 1.0

    x = xp.asarray(X)
    step = warmed(compiled(f), x, xp.asarray([0, -1]))
    np.testing.assert_array_equal(step(x, xp.asarray([-3, 2])), [3.0, 7.0])
    with pytest.raises(IndexError, match="out of bounds"):
        step(x, xp.asarray([0, 3]))


def test_unaligned_data_is_numpys():
    memory = np.zeros(8 * 4 + 1, np.uint8)
    odd = memory[1 : 1 + 24].view(np.float64)
    odd[...] = X
    step = warmed(compiled(lambda x: xp.tanh(x) * 2.0 + 1.0), xp.asarray(X))
    np.testing.assert_array_equal(step(xp.asarray(odd, copy=False)), step(xp.asarray(X)))


def test_data_that_is_unusual_in_most_calls_stays_with_numpy():
    step = warmed(compiled(quotient), xp.asarray(X), xp.asarray(X))
    zero = xp.asarray([1.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        for _ in range(2 * executable.COUNTED):
            step(xp.asarray(X), zero)
    assert "unusual in most calls" in step.explain()
    np.testing.assert_array_equal(
        step(xp.asarray(X), xp.asarray(X)), quotient(xp.asarray(X), xp.asarray(X))
    )


# --- which runs -----------------------------------------------------------------------------------
def test_a_program_that_runs_long_is_compiled_in_another_thread(monkeypatch):
    monkeypatch.setattr(executable, "ALWAYS", False)
    monkeypatch.setattr(executable, "PATIENCE", 0.0)
    monkeypatch.setattr(executable, "PER_CALL", 0.0)
    monkeypatch.setattr(executable, "GAIN", 1e9)
    step = xp.function(chain)
    x = xp.asarray(np.linspace(0.1, 1.0, 7))
    expected = chain(x)
    deadline = time.monotonic() + 60
    while not step.compiled and time.monotonic() < deadline:
        found = step(x)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    for _ in range(3 * executable.TIMED):
        step(x)
    assert "machine code for" in step.explain()


def test_machine_code_that_is_not_faster_is_not_used(monkeypatch):
    monkeypatch.setattr(executable, "ALWAYS", False)
    monkeypatch.setattr(executable, "GAIN", 0.0)
    step = xp.function(chain)
    x = xp.asarray(X)
    for _ in range(3):
        step(x)
    made = step.last_plan().executable
    made.compile()
    for _ in range(2 * executable.TIMED + 1):
        step(x)
    assert not step.compiled
    assert "machine code takes as long" in step.explain()


def test_no_machine_code_if_it_is_not_wanted():
    step = xp.function(chain, compile=False)
    for _ in range(4):
        step(xp.asarray(X))
    assert not step.compiled
    assert "NumPy's calls" in step.explain()


def test_without_llvmlite_everything_is_as_before(monkeypatch):
    monkeypatch.setattr(executable, "why_not", lambda: "pip install arraytape[compiled]")
    step = compiled(chain)
    x = xp.asarray(X)
    for _ in range(4):
        step(x)
    assert not step.compiled
    assert "pip install arraytape[compiled]" in step.explain()


def test_explain_before_there_is_a_program():
    step = compiled(lambda x: x + 1.0)
    assert "the function itself runs" in step.explain()


def test_compile_must_be_a_bool_or_none():
    with pytest.raises(TypeError, match="compile must be True, False or None"):
        xp.function(chain, compile="yes")


# --- memory, threads, processes -------------------------------------------------------------------
def test_machine_code_is_freed_with_its_step():
    step = warmed(compiled(lambda x: xp.tanh(x * 2.0) + x), xp.asarray(X))
    code = weakref.ref(step.last_plan().executable.segments[0].lowered.code)
    assert code() is not None
    del step
    gc.collect()
    assert code() is None


def test_threads_call_one_step_at_once():
    step = warmed(compiled(layers), xp.asarray(np.ones((5, 3))))
    inputs = [xp.asarray(np.random.default_rng(i).normal(size=(5, 3))) for i in range(4)]
    expected = [np.asarray(step(x)[1]) for x in inputs]
    wrong = []

    def run(i):
        found = [np.asarray(step(inputs[i])[1]).tobytes() for _ in range(200)]
        wrong.extend({*found} - {expected[i].tobytes()})

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of threads that other tests left
def test_a_forked_process_runs_and_compiles_steps():
    x = xp.asarray(X)
    step = warmed(compiled(chain), x)
    expected = np.asarray(step(x)[1]).tobytes()
    child = os.fork()
    if not child:
        try:
            same = np.asarray(step(x)[1]).tobytes() == expected
            other = warmed(compiled(lambda x: xp.cos(x) * 3.0 + x), x)
            os._exit(0 if same and other.compiled else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_other_threads_run_next_to_large_programs():
    def f(x):
        for _ in range(40):
            x = xp.sin(x) * 0.5 + 1.0
        return x

    x = xp.asarray(np.linspace(0.0, 1.0, 500_000))
    step = warmed(compiled(f), x)
    expected, ticks, found = np.asarray(step(x)), [], []
    thread = threading.Thread(target=lambda: found.append(step(x)))
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    np.testing.assert_array_equal(found[0], expected)
    assert len(ticks) > 10  # of some hundred, while machine code ran


def test_threads_call_one_large_step_at_once():
    f = chain
    inputs = [xp.asarray(np.random.default_rng(i).normal(size=3000)) for i in range(3)]
    step = warmed(compiled(f), inputs[0])
    expected = [np.asarray(step(x)[1]).tobytes() for x in inputs]
    wrong = []

    def run(i):
        found = [np.asarray(step(inputs[i])[1]).tobytes() for _ in range(30)]
        wrong.extend({*found} - {expected[i]})

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_large_scratch_memory_is_not_kept(monkeypatch):
    from arraytape.replay.compiled import lowering

    monkeypatch.setattr(lowering, "MOST", 100)
    monkeypatch.setattr(executable, "MOST", 100)
    x = xp.asarray(np.linspace(0.1, 1.0, 50))
    step = warmed(compiled(chain), x)
    assert step.traces[0].memory == 0
    np.testing.assert_allclose(step(x)[1], chain(x)[1], rtol=1e-13)


# --- the cache of object code ---------------------------------------------------------------------
TEXT = """
define void @nothing(ptr %bases, ptr %record, ptr %bad, i64 %block) {{
  store i64 {}, ptr %bad
  ret void
}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine.cache_folder.cache_clear()
    yield tmp_path / "arraytape" / "compiled"
    machine.cache_folder.cache_clear()


def test_object_code_is_read_from_the_cache(folder):
    assert not machine.Code(TEXT.format(1)).cached
    assert machine.Code(TEXT.format(1)).cached
    assert not machine.Code(TEXT.format(2)).cached
    assert len([*folder.iterdir()]) == 2


@pytest.mark.parametrize("damage", [b"", b"x" * 500, None])
def test_a_damaged_file_in_the_cache_is_ignored(folder, damage):
    machine.Code(TEXT.format(3))
    (file,) = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-9] if damage is None else damage)
    assert not machine.Code(TEXT.format(3)).cached
    assert machine.Code(TEXT.format(3)).cached  # written again


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no owners of files")
def test_a_folder_that_others_can_write_to_is_not_used(folder):
    machine.Code(TEXT.format(4))
    folder.chmod(0o777)
    machine.cache_folder.cache_clear()
    assert not machine.Code(TEXT.format(4)).cached
    folder.chmod(0o700)
    (file,) = folder.iterdir()
    file.chmod(0o666)
    machine.cache_folder.cache_clear()
    assert not machine.Code(TEXT.format(4)).cached


def test_the_cache_does_not_grow_without_end(folder, monkeypatch):
    for number in range(10, 14):
        machine.Code(TEXT.format(number))
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    for age, file in enumerate(reversed(files)):
        os.utime(file, (1e9 - age, 1e9 - age))
    size = sum(file.stat().st_size for file in files)
    monkeypatch.setattr(machine, "MOST", size)
    machine.remove_oldest_files.cache_clear()
    machine.Code(TEXT.format(14))
    left = {*folder.iterdir()}
    assert 0 < sum(file.stat().st_size for file in left) <= size // 2
    assert files[0] not in left
    assert machine.Code(TEXT.format(14)).cached  # the newest


# --- the machine ----------------------------------------------------------------------------------
def test_a_table_refuses_what_is_no_array_or_another_count():
    f8 = np.dtype(np.float64)
    x, y = np.linspace(0.0, 1.0, 20).reshape(4, 5), np.empty((4, 5))
    record = driver.loop_record(
        inner_loop(np.tanh, (f8, f8)), [2, 0, 0, 3, 0, 0], [5], [8, 8], [(4, (40, 40))]
    )
    layouts = [driver.layout_words(x.dtype, x.shape, x.strides)] * 2
    run = driver.python_function(driver.table_of(0, layouts, [record]))
    assert run(x, y) is None
    np.testing.assert_array_equal(y, np.tanh(x))
    unpickled = pickle.loads(pickle.dumps(x))  # whose dtype is another object
    assert run(unpickled, y) is None
    frame = np.zeros((8, 10))
    unfit = [
        3.0, [x], np.float64(3.0), x.T, x[:, :4], x[None], x.ravel(), frame[::2, ::2], x[::-1],
        x.astype(np.float32), x.astype(np.int64), x.astype(">f8"), np.zeros((4, 5), "c16"),
    ]  # fmt: skip
    for given in unfit:
        assert run(given, y) is True
        assert run(x, given) is True
    assert run(x) is True
    assert run(x, y, y) is True


def test_a_table_without_arguments_runs():
    assert driver.python_function(driver.table_of(0, [], []))() is None


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_the_driver_compiles_for_each_machine(triple):
    """Compile the driver for both machines, because this one can run only its own."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = driver.driver_text("arm" if "aarch64" in triple else "x86")
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(triple).create_target_machine(cpu="generic")
    assembly = target.emit_assembly(module)
    flags = "fpsr" if "aarch64" in triple else "stmxcsr"
    assert flags in assembly.lower()


def test_every_segment_of_a_program_has_its_own_values():
    step = warmed(compiled(layers), xp.asarray(np.ones((5, 3))))
    program = step.last_plan().executable.program
    cut = segments.Segments(program)
    calls = [node for node in program.nodes if node.is_call and node not in cut.views]
    covered = [
        part.origin[x] for part in cut.segments for x in part.program.nodes
        if x.is_call and part.origin[x] not in cut.views
    ]  # fmt: skip
    assert sorted(map(id, covered)) == sorted(map(id, calls))


@pytest.mark.parametrize("compile", [False, True])
def test_complex_products_have_the_bits_of_eager_calls(compile):
    """NumPy rounds products of complex numbers in another way if they are written to an operand."""

    def f(x, y):
        z = x * y + 1.0
        return xp.square(z * y) * y, xp.square(z + y), z[0] * y[0]

    step = xp.function(f, compile=compile)
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 5, 8, 17, 40, 40_001):  # the last in blocks
        for _ in range(12 if size < 100 else 4):
            x, y = [xp.asarray(rng.normal(size=size) + 1j * rng.normal(size=size)) for _ in "xy"]
            for found, expected in zip(step(x, y), f(x, y), strict=True):
                assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def test_threads_that_compile_their_first_programs_at_once_share_one_driver(monkeypatch):
    """A second driver would be freed while compiled programs call it."""

    class SlowCode:
        def __init__(self, *_, **__):
            time.sleep(0.02)

    monkeypatch.setattr(driver, "Code", SlowCode)
    fresh = functools.cache(driver.compiled_driver.__wrapped__)
    monkeypatch.setattr(driver, "compiled_driver", fresh)
    found = []
    threads = [threading.Thread(target=lambda: found.append(driver.driver())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(map(id, found))) == 1
