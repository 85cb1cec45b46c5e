"""Every op's samples, replayed on other inputs than they were traced on: eager's values.

They are the same bit for bit without the pass that changes last bits, and to 12 digits with it.
"""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._storage.factors import LEAST
from helpers.replaying import replayed
from helpers.samples import CASES, REAL_ONLY

FIRST_SAMPLES = [case for case in CASES if case.id.endswith("-0")]
# NumPy rounds what it computes on complex numbers in ways that depend on the memory.
NEAR = 1e-12


def with_second_order(f):
    """Value, gradients, and the gradients of a weighted sum of these."""

    def function(*arrays):
        with xp.GradientTape() as outer:
            outer.watch(arrays)
            with xp.GradientTape() as inner:
                inner.watch(arrays)
                y = f(*arrays)
            first = inner.gradient(y, arrays, unconnected_gradients="zero")
            slope = testing.total(first)
        return y, [+g for g in first], outer.gradient(slope, arrays, unconnected_gradients="zero")

    return function


def with_forward_mode(f):
    def function(*arrays):
        tangents = [xp.asarray(np.ones(x.shape, x.dtype)) for x in arrays]
        with xp.ForwardAccumulator(arrays, tangents) as accumulator:
            y = f(*arrays)
        return y, accumulator.jvp(y, unconnected_gradients="zero")

    return function


def with_jacobian(f):
    def function(*arrays):
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            y = xp.stack([f(*arrays), f(*[2 * x for x in arrays])])
        return tape.jacobian(y, arrays, unconnected_gradients="zero")

    return function


def with_hvp(f):
    def function(*arrays):
        return xp.hvp(f, arrays, [xp.ones_like(x) for x in arrays])

    return function


def with_vmap(f):
    def function(*arrays):
        return xp.vmap(f)(*[xp.stack([x, 1.01 * x]) for x in arrays])

    return function


def check(op, sample, mode, dtype=np.float64, near=0.0):
    """Trace a sample twice on some numbers and replay it on others."""
    function, floats = testing.as_function(op, sample, testing.materialise(op, sample, dtype))
    _, others = testing.as_function(op, sample, testing.materialise(op, sample, dtype, seed=1))
    replay = mode(function)
    calls = [lambda given=given: list(map(xp.asarray, given)) for given in (floats, floats, others)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        try:
            replay.eager(*calls[2]())  # also compiles what the op's first call does
        except Exception:
            return None  # not served in this mode, which other tests say
        outcome = replayed(replay, calls, near)
    assert outcome.replayed == 1, outcome.reasons
    return outcome


@pytest.mark.usefixtures("with_all_bits")
@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_value_first_and_second_gradient(op, sample):
    large = is_of_large_matrices(op, sample)  # replays and eager rules factor different ones
    outcome = check(op, sample, with_second_order, near=NEAR if large else 0.0)
    assert outcome is None or large or outcome.exact


def is_of_large_matrices(op, sample):
    """Whether rules of a sample may solve by factors."""
    _, floats = testing.as_function(op, sample, testing.materialise(op, sample))
    return op.name == "solve_again" and any(x.shape[-2:] == (LEAST, LEAST) for x in floats)


MODES = with_forward_mode, with_jacobian, with_hvp, with_vmap


@pytest.mark.parametrize(("op", "sample"), FIRST_SAMPLES)
def test_value_first_and_second_gradient_but_for_rounding(op, sample):
    check(op, sample, with_second_order, near=NEAR)


@pytest.mark.usefixtures("with_all_bits")
@pytest.mark.parametrize(
    ("op", "sample", "mode"),
    [
        pytest.param(*case.values, MODES[i % len(MODES)], id=f"{case.id}-{MODES[i % 4].__name__}")
        for i, case in enumerate(FIRST_SAMPLES)
    ],
)
def test_other_modes(op, sample, mode):
    outcome = check(op, sample, mode)
    assert outcome is None or outcome.exact


@pytest.mark.parametrize(
    ("op", "sample"), [case for case in FIRST_SAMPLES if case.values[0].name not in REAL_ONLY]
)
def test_complex_samples(op, sample):
    check(op, sample, with_second_order, np.complex128, NEAR)
