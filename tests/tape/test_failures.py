"""A failed call uses no tape up and stops none, whatever it is that fails."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
from arraytape._record.stack import recorders

pytestmark = pytest.mark.any_storage


def ruled(pull):
    """A function whose gradient is what ``pull`` makes of the cotangent."""
    return xp.custom_gradient(lambda x: (x * 1.0, pull))


def raising(error):
    def pull(dy):
        raise error("from the rule")

    return pull


def second_run_fails():
    runs = []

    def f(x):
        runs.append(1)
        if len(runs) == 2:
            raise ZeroDivisionError("from the second run")
        return x * x

    return xp.recompute_grad(f)


def holding_itself(x):
    nesting = [x]
    nesting.append(nesting)
    return nesting


def as_error(call):
    """What the call does where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


# How a target is computed, what is then called with the tape, the target, the good target and the
# source, and the exception.
FAILURES = {
    "a source that is None": (None, lambda t, z, y, x: t.gradient(y, None), TypeError),
    "a source that is a number": (None, lambda t, z, y, x: t.gradient(y, [x, 3.0]), TypeError),
    "a target that is None": (None, lambda t, z, y, x: t.gradient([y, None], x), TypeError),
    "a target that is a NumPy array": (
        None, lambda t, z, y, x: t.jacobian(np.ones(2), x), TypeError),
    "a nesting that holds itself": (
        None, lambda t, z, y, x: t.gradient(y, holding_itself(x)), ValueError),
    "output gradients of another shape": (
        None, lambda t, z, y, x: t.gradient(y, x, xp.ones((7,))), ValueError),
    "output gradients of another number": (
        None, lambda t, z, y, x: t.gradient([y, y], x, [xp.ones((1, 2))]), ValueError),
    "a word for unconnected gradients": (
        None, lambda t, z, y, x: t.batch_jacobian(y, x, "ones"), ValueError),
    "a word for NaN": (None, lambda t, z, y, x: t.gradient(y, x, nan="zero"), ValueError),
    "several targets of a jacobian": (None, lambda t, z, y, x: t.jacobian([y], x), TypeError),
    "a batch of scalars": (
        lambda x: xp.sum(x), lambda t, z, y, x: t.batch_jacobian(z, x), ValueError),
    "an op without a rule": (
        lambda x: cuberoot(x), lambda t, z, y, x: t.gradient([z, y], x), LookupError),
    "a jacobian of an op without a rule": (
        lambda x: cuberoot(x), lambda t, z, y, x: t.jacobian(z, x), LookupError),
    "an op without a rule inside recompute_grad": (
        lambda x: xp.recompute_grad(lambda x: cuberoot(x))(x),
        lambda t, z, y, x: t.gradient(z, x), LookupError),
    "a rule that raises": (
        ruled(raising(ZeroDivisionError)), lambda t, z, y, x: t.gradient(z, x), ZeroDivisionError),
    "a rule that is interrupted": (
        ruled(raising(KeyboardInterrupt)), lambda t, z, y, x: t.jacobian(z, x), KeyboardInterrupt),
    "a rule of too many gradients": (
        ruled(lambda dy: (dy, dy)), lambda t, z, y, x: t.gradient(z, x), ValueError),
    "a rule of another shape": (
        ruled(lambda dy: xp.ones((3,))), lambda t, z, y, x: t.batch_jacobian(z, x), ValueError),
    "a vjp on the host that raises": (
        xp.host_function(np.exp, lambda g, y, x: 1 / 0), lambda t, z, y, x: t.gradient(z, x),
        ZeroDivisionError),
    "a second run that raises": (
        lambda x: second_run_fails()(x), lambda t, z, y, x: t.gradient(z, x), ZeroDivisionError),
    "an exit, where warnings are errors": (
        lambda x: xp.asarray(np.asarray(x), device=x.device),
        lambda t, z, y, x: as_error(lambda: t.gradient(z, x)), TapeWarning),
    "an exit of a jacobian, where warnings are errors": (
        lambda x: xp.asarray(np.asarray(x), device=x.device),
        lambda t, z, y, x: as_error(lambda: t.jacobian(z, x)), TapeWarning),
    "an integer source, where warnings are errors": (
        None, lambda t, z, y, x: as_error(lambda: t.gradient(y, xp.asarray(1))), TapeWarning),
}  # fmt: skip


def cuberoot(x):
    return namespace.cuberoot(x)


namespace = SimpleNamespace()


@pytest.fixture(autouse=True)
def an_op_without_a_rule():
    namespace.cuberoot = xp.define_op("cuberoot", lambda x: x ** (1 / 3))


@pytest.fixture
def x():
    return xp.asarray([[1.0, 2.0]])


@pytest.mark.parametrize("row", FAILURES)
def test_a_failed_call_does_not_use_a_tape_up(row, x, near):
    compute, call, error = FAILURES[row]
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = compute and compute(x)
    with pytest.raises(error):
        call(tape, z, y, x)
    near(tape.gradient(y, x), [[2.0, 4.0]])
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.gradient(y, x)


@pytest.mark.parametrize("row", FAILURES)
def test_a_failed_call_inside_the_block_does_not_stop_the_tape(row, x, near):
    compute, call, error = FAILURES[row]
    with GradientTape() as outer, GradientTape() as tape, GradientTape() as inner:
        for recording in (outer, tape, inner):
            recording.watch(x)
        y = x * x
        z = compute and compute(x)
        with pytest.raises(error):
            call(tape, z, y, x)
        assert recorders() == (outer._recording, tape._recording, inner._recording)
        after = y * x
    for recording in (outer, tape, inner):
        near(recording.gradient(after, x), [[3.0, 12.0]])


@pytest.mark.parametrize("row", FAILURES)
def test_a_failed_call_leaves_a_persistent_tape_as_it_was(row, x, near):
    compute, call, error = FAILURES[row]
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = compute and compute(x)
    with pytest.raises(error):
        call(tape, z, y, x)
    near(tape.gradient(y, x), [[2.0, 4.0]])
    near(tape.batch_jacobian(y, x), [[[2.0, 0.0], [0.0, 4.0]]])
