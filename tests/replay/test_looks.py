"""Looks for NaN are taken where there may be some, and where nothing else says that there are none."""

import numpy as np
import pytest

from arraytape.replay.passes.nan_checks import SKIPPABLE_CHECK, with_bounds, without_implied_checks
from arraytape.replay.passes.rounding import rounded
from arraytape.replay.passes.simplify import simplified
from arraytape.replay.program import INPUT, GuardFailed
from arraytape.replay.text.program_source import Source
from arraytape.replay.tracing.traced_storage import TRACED
from helpers.raw_programs import same, traced

xp = TRACED.xp
SHAPE = (4, 3)


def data(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE) for _ in range(2)]


def holds(run, *given):
    """Whether a program's guards hold."""
    try:
        with np.errstate(all="ignore"):
            run(*given)
    except GuardFailed:
        return False
    return True


def test_a_product_that_is_only_looked_at_is_computed_where_it_may_have_nan():
    def calls(x, y):
        z = xp.matmul(xp.exp(x), xp.matrix_transpose(y))
        assert not TRACED.has_nan(z)
        assert not TRACED.has_nan(xp.sum(y, axis=0))
        return [x + y]

    source = Source(with_bounds(simplified(traced(calls, data(1)))), "program")
    assert "matrix_transpose" not in source.text
    assert source.text.count("has_nan") == 2
    x, y = data(2)
    cases = [(x, y, True), (x * np.nan, y, False), (x, y * np.nan, False)]
    overflows, infinite = np.full(SHAPE, 1e200), np.full(SHAPE, np.inf)
    cases += [(x, overflows, True), (x, infinite, True)]
    mixed = infinite.copy()
    mixed[0] = -np.inf
    cases += [(x, mixed, False), (x, np.where(mixed < 0, 1e308, -1e308), True)]
    zeros = np.full(SHAPE, -np.inf)  # exp gives 0, and 0 * inf is NaN
    cases += [(zeros, infinite, False)]
    for a, b, holds in cases:
        with np.errstate(all="ignore"):
            plain = [np.exp(a) @ b.mT, b.sum(axis=0)]
            assert holds == (not any(np.isnan(z).any() for z in plain))
        with np.errstate(over="raise" if b is y else "ignore", invalid="ignore"):
            if holds:
                source.function(a, b)
            else:
                with pytest.raises(GuardFailed):
                    source.function(a, b)


@pytest.mark.parametrize(
    "last",
    [
        lambda x: x[1:],
        lambda x: xp.where(x > 0, x, 0.0),
        lambda x: x**0.0,
        lambda x: xp.astype(x, np.int64),
        lambda x: TRACED.put(x, slice(None), 1.0),
    ],
)
def test_a_look_stays_where_nan_may_get_lost(last):
    def calls(x):
        assert not xp.any(xp.not_equal(x, x))
        y = last(x * 2.0)
        TRACED.has_nan(y)
        return [y]

    program = simplified(traced(calls, [np.ones(4)]))
    assert without_implied_checks(program) is program


# --- what nothing else reads --------------------------------------------------------------------------
STEPS = [
    lambda rng, a, b: xp.matmul(a, xp.matrix_transpose(b)),
    lambda rng, a, b: xp.matmul(xp.matrix_transpose(a), b),
    lambda rng, a, b: a * b if a.shape == b.shape else a - 1.0,
    lambda rng, a, b: a + b if a.shape == b.shape else a * 2.0,
    lambda rng, a, b: -a,
    lambda rng, a, b: xp.sum(a, axis=int(rng.integers(2)), keepdims=True),
    lambda rng, a, b: xp.where(a > 0.5, a, 0.0),
    lambda rng, a, b: xp.maximum(a, 0.0),
    lambda rng, a, b: xp.tanh(a),
    lambda rng, a, b: xp.square(a),
    lambda rng, a, b: a[:2],
]
BAD = [np.nan, np.inf, -np.inf, 1e60, -1e120, 1e200, 1e308, -1e308]


def of_random_steps(seed, dtype):
    """A function that looks at random values of its own, some of which it gives."""

    def calls(*inputs):
        rng, values = np.random.default_rng(seed), [*inputs]
        for _ in range(9):
            a, b = (values[i] for i in rng.integers(len(values), size=2))
            call = STEPS[rng.integers(len(STEPS))]
            try:
                values.append(call(rng, a, b))
            except ValueError:  # shapes that do not fit
                continue
        for value in values[2:]:
            if rng.random() < 0.6:
                TRACED.has_nan(value)
        return [value for value in values if rng.random() < 0.3] or [values[0] + values[1]]

    rng = np.random.default_rng(seed)
    return calls, [rng.standard_normal(SHAPE).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("block", range(4))
@pytest.mark.every(3)
def test_lazy_looks_find_what_looks_find(block, dtype):
    """Exactly: a program that runs on has no NaN, and none is held up for nothing."""
    lazy = failed = 0
    for seed in range(block, 400, 4):
        calls, given = of_random_steps(seed, dtype)
        program = simplified(traced(calls, given))
        short = with_bounds(program)
        lazy += sum(node.op == SKIPPABLE_CHECK for node in short.nodes)
        run = Source(short, "program").function
        assert holds(run, *given)
        rng = np.random.default_rng(seed)
        for _ in range(6):
            inputs = [x.copy() for x in given]
            for x in inputs[: rng.integers(1, 3)]:
                with np.errstate(all="ignore"):
                    x[tuple(rng.integers(SHAPE))] = rng.choice(BAD)
            wanted = holds(program.run, inputs)
            assert holds(short.run, inputs) is wanted
            assert holds(run, *inputs) is wanted
            failed += not wanted
    assert lazy > 10
    assert failed > 50


def test_a_product_of_products_is_not_computed_to_be_looked_at():
    """As the first gradient of a Hessian-vector product, of which the rest needs but a part."""

    def calls(x, y):
        slope = xp.matmul(y, xp.matrix_transpose(x))
        masked = xp.where(slope > 0.0, slope, 0.0)
        for product in (xp.matmul(xp.matrix_transpose(x), masked), xp.sum(masked, axis=0)):
            TRACED.has_nan(product)
        return [x + y, slope]

    short = with_bounds(simplified(traced(calls, data(1))))
    ops = [node.op for node in short.nodes if node.op != INPUT]
    assert ops == ["matrix_transpose", "matmul", "dot", "dot", SKIPPABLE_CHECK, "add"]


def test_a_sum_of_squares_that_is_known_later_is_not_waited_for():
    def calls(x, y):
        z = xp.exp(x)
        TRACED.has_nan(xp.matmul(xp.matrix_transpose(z), z))
        later = xp.tanh(z) * y
        return [later, xp.sum(z * z), z]

    program = rounded(simplified(traced(calls, data(0))))
    short = with_bounds(program)
    assert SKIPPABLE_CHECK in [node.op for node in short.nodes]
    run = Source(short, "program").function
    same(run(*data(1))[0], program.run(data(1))[0], exact=True)
    assert not holds(run, np.full(SHAPE, np.nan), data(1)[1])
