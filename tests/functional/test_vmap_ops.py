"""vmap of every op, with gradients inside and outside, against a Python loop."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, testing, vmap
from helpers.batches import close, loop
from helpers.samples import CASES, REAL_ONLY

SIZE = 3


def examples(op, sample, dtype, which=lambda i: True):
    """Stacked floating-point arguments of a sample, and f of one example's."""
    several = [testing.materialise(op, sample, dtype, seed) for seed in range(SIZE)]
    function = [testing.as_function(op, sample, arguments) for arguments in several]
    f, first = function[0]
    stacked = [
        xp.asarray(np.stack([floats[i] for _, floats in function])) if which(i)
        else xp.asarray(first[i])
        for i in range(len(first))
    ]  # fmt: skip
    return f, stacked, [0 if which(i) else None for i in range(len(first))]


def gradients(f):
    def g(*arrays):
        with GradientTape() as tape:
            tape.watch(arrays)
            y = f(*arrays)
        return tape.gradient(y, list(arrays), unconnected_gradients="zero")

    return g


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("mapped", ["all", "first", "last"])
@pytest.mark.every(4)
def test_every_op_and_its_gradient_equal_a_loop(op, sample, dtype, mapped):
    if dtype is np.complex128 and op.name in REAL_ONLY:
        return
    count = len(examples(op, sample, dtype)[1])
    if mapped != "all" and count < 2:
        return  # the same as all
    which = {"all": lambda i: True, "first": lambda i: i == 0, "last": lambda i: i == count - 1}
    f, arguments, axes = examples(op, sample, dtype, which[mapped])
    if not arguments:
        return
    close(vmap(f, axes)(*arguments), loop(f, arguments, axes))
    per_example = vmap(gradients(f), axes)(*arguments)
    for found, expected in zip(per_example, loop(gradients(f), arguments, axes), strict=True):
        close(found, expected)
    # The gradient outside sums over the examples what is shared among them.
    summed = gradients(lambda *xs: xp.sum(vmap(f, axes)(*xs)))(*arguments)
    for found, rows, axis in zip(summed, per_example, axes, strict=True):
        close(found, np.asarray(rows) if axis == 0 else np.asarray(rows).sum(axis=0), 1e-11)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(3)
def test_curvature_inside_equals_a_loop(op, sample):
    f, arguments, axes = examples(op, sample, np.float64)
    if not arguments or any(x.size == 0 for x in arguments):
        return

    def curvature(*arrays):
        with GradientTape() as outer:
            outer.watch(arrays)
            first = gradients(f)(*arrays)
            slope = testing.total(first)
        return outer.gradient(slope, list(arrays), unconnected_gradients="zero")

    for found, expected in zip(
        vmap(curvature, axes)(*arguments), loop(curvature, arguments, axes), strict=True
    ):
        close(found, expected, 1e-10)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(3)
def test_forward_mode_inside_and_outside_equals_a_loop(op, sample):
    f, arguments, axes = examples(op, sample, np.float64)
    if not arguments:
        return
    tangents = [xp.asarray(v) for v in testing.directions(arguments)]

    def slope(*both):
        primals, along = both[: len(arguments)], both[len(arguments) :]
        with ForwardAccumulator(list(primals), list(along)) as accumulator:
            y = f(*primals)
        return accumulator.jvp(y, unconnected_gradients="zero")

    expected = loop(slope, [*arguments, *tangents], [*axes, *axes])
    close(vmap(slope)(*arguments, *tangents), expected)
    with ForwardAccumulator(arguments, tangents) as accumulator:
        y = vmap(f)(*arguments)
    close(accumulator.jvp(y, unconnected_gradients="zero"), expected)
