"""Rows 48-62 of docs/reference/generated/features.md: diagnostics and memory."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose, testing
from helpers.features import feature


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def recorded(f, x, **options):
    with xp.GradientTape(**options) as tape:
        tape.watch(x)
        y = f(x)
    return tape, y


@feature(48, "why a gradient is None", "`diagnose.explain(tape, y, x)`")
def test_none_is_explained(x):
    with diagnose.lines() as seen:
        tape, y = recorded(lambda x: xp.sum(xp.floor(x)), x)
    said = str(diagnose.explain(tape, y, x, seen))
    assert "floor at" in said
    assert "no derivative" in said


@feature(
    49, "the op and line of a NaN, forward or backward", "`check_numerics=True`, `diagnose.nans`"
)
def test_a_nan_is_named_with_its_line(x):
    with (
        pytest.raises(FloatingPointError, match=r"sqrt made .*test_diagnostics"),
        np.errstate(invalid="ignore"),
    ):
        recorded(lambda x: xp.sum(xp.sqrt(x - 2.0)), x, check_numerics=True)
    tape, y = recorded(lambda x: xp.sum(xp.sqrt(x - 1.0)), x)
    assert "the rule of sqrt made an infinity" in diagnose.nans(tape, y, x)


@feature(51, "a picture and a table of what a tape holds", "`diagnose.graph`, `tape.summary()`")
def test_a_tape_is_drawn_and_listed(x):
    tape, y = recorded(lambda x: xp.sum(xp.exp(x) * x), x)
    assert diagnose.graph(tape, y, x).startswith("<svg")
    assert "exp" in str(tape.summary())


@feature(52, "a function that sees or replaces a gradient", "`diagnose.on_gradient(y, f)`")
def test_a_hook_replaces_a_gradient(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        diagnose.on_gradient(y, lambda g: 10.0 * g)
        z = xp.sum(y)
    near(tape.gradient(z, x), [20.0, 40.0, 60.0])


@feature(
    53,
    "time and memory by op, forward and backward",
    "`GradientTape(profile=True)`, `tape.summary()`, `tape.memory()`",
    partly="times in both passes, and kept bytes; no peak for each op of the backward pass",
)
def test_a_profile_by_op(x):
    tape, y = recorded(lambda x: xp.sum(xp.exp(x)), x, profile=True)
    tape.gradient(y, x)
    said = str(tape.summary())
    assert "exp" in said
    assert "backward" in said


@feature(54, "a warning for integers and booleans that are watched or are targets", "a TapeWarning")
def test_integers_are_told():
    n = xp.asarray([1, 2])
    with xp.GradientTape() as tape, pytest.warns(xp.TapeWarning, match="int64"):
        tape.watch(n)


@feature(
    55, "a warning for a value that leaves the tape", "a TapeWarning with the line; `xp.set_exits`"
)
def test_a_value_that_leaves_is_told(x):
    tape, y = recorded(lambda x: xp.sum(xp.asarray(np.asarray(x) * 2.0)), x)
    with pytest.warns(xp.TapeWarning, match="test_diagnostics"):
        assert tape.gradient(y, x) is None


# --- memory ----------------------------------------------------------------------------------------
def kept(f, x):
    return sum(row.kept for row in recorded(f, x)[0].memory().rows)


@feature(56, "a record keeps only what its rule needs", "the rule's parameters")
def test_a_rule_says_what_is_kept():
    x = xp.ones(1000)
    assert kept(lambda x: x + x, x) == 0
    assert kept(lambda x: xp.exp(x), x) == 8000


def chain(x):
    for _ in range(20):
        x = xp.sin(x)
    return x


@feature(57, "recompute in place of keeping", "`xp.recompute_grad(f)`")
def test_recomputing_keeps_the_inputs_only(near):
    x = xp.linspace(0.1, 1.0, 1000)
    assert kept(xp.recompute_grad(chain), x) <= kept(chain, x) / 10
    near(
        xp.grad(lambda x: xp.sum(xp.recompute_grad(chain)(x)))(x),
        xp.grad(lambda x: xp.sum(chain(x)))(x),
    )


@feature(58, "policies: which results are kept", "`xp.recompute_grad(f, policy=[xp.matmul])`")
def test_a_policy_keeps_what_it_names():
    x = xp.linspace(0.1, 1.0, 10_000)

    def f(x):
        return xp.exp(chain(x)) * x

    assert kept(xp.recompute_grad(f), x) < kept(xp.recompute_grad(f, policy=[xp.exp]), x)


@feature(
    59,
    "kept data on disk, or passed through functions that the user writes",
    "`diagnose.saved_data`",
)
def test_what_is_kept_goes_to_disk(tmp_path, near):
    x = xp.linspace(0.1, 1.0, 1000)
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)):
        tape, y = recorded(lambda x: xp.sum(chain(x)), x)
    assert list(tmp_path.iterdir())
    near(tape.gradient(y, x), xp.grad(lambda x: xp.sum(chain(x)))(x))


@feature(60, "memory is freed during the backward pass", "a one-shot tape")
def test_the_pass_lets_go():
    def f(x):
        for _ in range(8):
            x = xp.exp(-x)
        return x

    x = xp.linspace(0.1, 1.0, 100_000)
    tape, y = recorded(f, x)
    tracemalloc.start()
    tape.gradient(y, x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3.5 * x.nbytes


@feature(
    61, "a tape reports its bytes, and raises above a limit", "`tape.memory()`, `memory_limit=`"
)
def test_a_limit_raises(x):
    with pytest.raises(MemoryError, match="memory_limit"):
        recorded(chain, xp.ones(1000), memory_limit=20_000)


@feature(62, "no reference cycles: memory is free without the garbage collector", "")
def test_a_tape_is_free_at_once(x):
    gc.disable()
    try:
        tape, y = recorded(lambda x: xp.sum(xp.exp(x)), x)
        watched = weakref.ref(tape)
        del tape, y
        assert watched() is None
    finally:
        gc.enable()


@feature(
    50, "a checker of gradients, first and second order, both modes", "`testing.check_gradients`"
)
def test_a_checker_of_gradients():
    testing.check_gradients(lambda x: xp.sum(xp.sin(x)), [np.asarray([0.3, 0.4])])
    wrong = xp.define_op("wrong_of_features", lambda x: x * x, "elementwise", lambda t, x: t * x)
    with pytest.raises(AssertionError):
        testing.check_gradients(wrong, [np.asarray([0.3, 0.4])])
