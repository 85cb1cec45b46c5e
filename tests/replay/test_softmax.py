"""Second derivatives of the logarithm of a sum of exponentials are written as people do."""

import itertools

import numpy as np
import pytest

import arraytape
from arraytape.replay.passes.rounding import rounded
from arraytape.replay.passes.simplify import simplified
from arraytape.replay.text.program_source import Source
from arraytape.replay.tracing.traced_storage import TRACED
from helpers.raw_programs import same, traced

xp = TRACED.xp
SQUARE = (4, 4)  # where rows and columns could be taken for each other


def data(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SQUARE) for _ in range(3)]


def in_place(rows, axis, keep):
    """Numbers for rows in their shape beside a matrix."""
    return rows if keep else xp.reshape(rows, tuple(1 if i == axis else 4 for i in range(2)))


def second_slope(x, z, c, form, axis, keep, other):
    """The second derivative of ``log(sum(exp(z)))`` with c for each row; other : how it is spoilt."""
    top = xp.max(z, axis=axis, keepdims=True)
    e = xp.exp(z - top)
    t = xp.sum(e, axis=axis, keepdims=keep)
    c = xp.sum(c, axis=axis, keepdims=keep)
    g = c / t
    weights = xp.exp(x) if other == "another e" else e
    total = xp.sum(x * weights, axis=1 - axis if other == "another axis" else axis, keepdims=keep)
    divisor = xp.sum(xp.exp(x), axis=axis, keepdims=keep) if other == "another t" else t
    quotient = (c + 1.0 if other == "another g" else g) / divisor
    rest = total * quotient
    rest = rest if other == "another sign" else -rest
    place = 1 - axis if other == "across" else axis
    rest, rows = in_place(rest, place, keep), in_place(g, axis, keep)
    rows = in_place(g, place, keep) if other == "across" else rows
    if form == "reverse":
        return (x * rows + rest) * e
    return rest * e + rows * (x * e)


SPOILT = [None, "another e", "another axis", "another t", "another g", "another sign", "across"]


@pytest.mark.parametrize("form", ["reverse", "forward"])
@pytest.mark.parametrize(("axis", "keep"), [*itertools.product((0, 1), (False, True))])
@pytest.mark.parametrize("other", SPOILT)
def test_the_second_derivative_of_a_log_of_a_sum(form, axis, keep, other):
    if other in ("another axis", "across") and keep:
        keep = False  # a row cannot be in another place than its own

    def calls(x, z, c):
        return [second_slope(x, z, c, form, axis, keep, other)]

    program = traced(calls, data(0))
    short = rounded(simplified(program))
    run = Source(short, "program").function
    for seed in range(4):
        expected = program.run(data(seed))[0][0]
        for found in (short.run(data(seed))[0][0], run(*data(seed))[0][0]):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    rest = short.outputs[0].args[0]
    is_short = rest.op == "subtract" and rest.args[1].op == "divide"
    assert is_short is (other is None)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shifted", [True, False])
def test_its_sum_is_known_and_what_is_subtracted_from_rows_goes(axis, shifted):
    def calls(x, z, c):
        top = xp.max(z, axis=axis, keepdims=True)
        assert not xp.any(xp.not_equal(top, top))
        e = xp.exp(z - top)
        t = xp.sum(e, axis=axis, keepdims=True)
        taken = xp.equal(z, top)
        count = xp.sum(xp.astype(taken, np.float64), axis=axis, keepdims=True)
        if shifted:
            x = x - xp.sum(xp.where(taken, x, 0.0), axis=axis, keepdims=True) / count
        else:
            x = x - xp.sum(xp.where(taken, c, 0.0), axis=axis, keepdims=True) / count
        g = 0.25 / t
        slope = (x * g - xp.sum(x * e, axis=axis, keepdims=True) * (g / t)) * e
        share = xp.sum(-slope, axis=axis, keepdims=True) / count
        return [slope + xp.where(taken, share, 0.0)]

    program = traced(calls, data(0))
    short = rounded(simplified(program))
    ops = [node.op for node in short.nodes]
    assert ops.count("where") == (not shifted)
    for seed in range(4):
        expected = program.run(data(seed))[0][0]
        found = short.run(data(seed))[0][0]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    for bad in (np.nan, np.inf, -np.inf):
        for i in (0, 2) if not shifted else (0,):
            for at in np.ndindex(SQUARE):
                inputs = data(1)
                inputs[i][at] = bad
                with np.errstate(all="ignore"):
                    wanted, found = program.run(inputs)[0][0], short.run(inputs)[0][0]
                assert np.isnan(wanted).any() == np.isnan(found).any()


def cross_entropy(z, labels, weights):
    z = z - arraytape.max(z, axis=-1, keepdims=True)
    logs = arraytape.log(arraytape.sum(arraytape.exp(z), axis=-1))
    return arraytape.sum(weights * (logs - arraytape.sum(z * labels, axis=-1)))


def over_reverse(z, v, labels, weights):
    with arraytape.GradientTape() as outer:
        outer.watch(z)
        with arraytape.GradientTape() as inner:
            inner.watch(z)
            loss = cross_entropy(z, labels, weights)
        first = inner.gradient(loss, z)
        product = arraytape.sum(first * v)
    return loss, first, outer.gradient(product, z)


def over_forward(z, v, labels, weights):
    slope = arraytape.grad(lambda z: cross_entropy(z, labels, weights))
    return arraytape.jvp(slope, (z,), (v,))


@pytest.mark.parametrize("order", [over_reverse, over_forward])
@pytest.mark.parametrize("shape", [(6, 5), (5, 5), (2, 4, 3), (40, 30)])
@pytest.mark.parametrize("ties", [False, True])
def test_hessian_vector_products_of_a_cross_entropy(order, shape, ties):
    f = arraytape.function(order)
    for turn in range(5):
        rng = np.random.default_rng(turn)
        z, v = rng.standard_normal(shape), rng.standard_normal(shape)
        z = np.round(z) if ties and turn > 2 else z
        labels = rng.integers(0, 2, shape).astype(float) if turn != 3 else rng.random(shape)
        weights = rng.random(shape[:-1])
        inputs = [*map(arraytape.asarray, (z, v, labels, weights))]
        pairs = zip(f(*inputs), order(*inputs), strict=True)
        for found, wanted in pairs:
            np.testing.assert_allclose(
                np.asarray(found), np.asarray(wanted), rtol=1e-11, atol=1e-13
            )
    assert f.counts["replayed"] == 3


def test_long_products_are_not_taken_apart_without_end():
    def calls(x, z, c):
        y, total = x, z
        for _ in range(1200):
            y = y * c
            total = total + y
        return [total]

    inputs = [np.full(SQUARE, 0.99)] * 3
    program = traced(calls, inputs)
    same(rounded(simplified(program)).run(inputs)[0], program.run(inputs)[0], exact=True)
