"""Recorders outside the core: what the Recorder protocol declares is all that they need."""

import threading
import time

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.plan import PLANS
from arraytape._record.stack import OPEN, entered, recorders
from helpers.outside_recorders import Lineage, OpCounts, OpTimes, Strict, follow


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


# --- what they see ----------------------------------------------------------------------------------
def test_a_recorder_counts_the_ops_on_what_it_follows(x):
    counter = OpCounts()
    with entered(counter):
        follow(counter, x)
        y = xp.sin(x) * x
        xp.cos(xp.ones(3))  # not made of x
        xp.sum(y * y)
    xp.exp(y)  # outside the block
    assert counter.counts == {"sin": 1, "multiply": 2, "sum": 1}


def test_a_recorder_times_ops(x):
    begin = time.perf_counter()
    timer = OpTimes()
    with entered(timer):
        follow(timer, x)
        for _ in range(10):
            x = xp.tanh(x) * 0.5
    assert timer.seconds.keys() == {"tanh", "multiply"}
    assert 0 < sum(timer.seconds.values()) <= time.perf_counter() - begin


def test_a_recorder_lists_the_ops_that_made_a_value(x):
    lineage = Lineage()
    with entered(lineage):
        follow(lineage, x)
        y = xp.exp(x[1:])
        z = xp.sum(y) + 1.0
        xp.log(y)
        x[0] = 5.0
        w = xp.sqrt(x)
    assert lineage.ops_to(z) == ["view", "exp", "sum", "add"]
    assert lineage.ops_to(w) == ["setitem", "sqrt"]


def test_recorders_and_tapes_do_not_disturb_each_other(x):
    counter, lineage = OpCounts(), Lineage()
    with entered(counter), xp.GradientTape() as tape, entered(lineage):
        follow(counter, x)
        follow(lineage, x)
        tape.watch(x)
        y = xp.sum(xp.sin(x) ** 2)
    g = tape.gradient(y, x)
    np.testing.assert_allclose(np.asarray(g), np.sin(2 * np.asarray(x)), rtol=1e-14)
    assert lineage.ops_to(y) == ["sin", "pow", "sum"]
    assert counter.counts == {"sin": 1, "pow": 1, "sum": 1}


def test_a_gradient_that_is_taken_inside_is_seen(x):
    lineage = Lineage()
    with entered(lineage):
        follow(lineage, x)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.sin(x))
        g = tape.gradient(y, x)
    assert "cos" in lineage.ops_to(g)


def test_what_stops_following_is_handed_nothing(x):
    counter = OpCounts()
    with entered(counter):
        follow(counter, x)
        xp.exp(x)
        counter.followed.clear()
        xp.exp(x)
    assert counter.counts == {"exp": 1}


def test_calls_of_the_users_own_functions_are_one_op_each(x, log1pexp):
    lineage = Lineage()
    twice = xp.recompute_grad(lambda x: xp.exp(xp.exp(x)))
    cbrt = xp.host_function(np.cbrt, lambda g, y, x: g / (3 * y**2))
    with entered(lineage):
        follow(lineage, x)
        y = cbrt(twice(log1pexp(x)))
    assert lineage.ops_to(y) == ["custom_gradient", "recompute_grad", "custom_gradient"]


# --- what they are told -----------------------------------------------------------------------------
def test_a_recorder_is_told_of_exits_and_of_what_the_plain_loop_cannot_do(x, cbrt):
    lineage = Lineage()
    with entered(lineage):
        follow(lineage, x)
        y = cbrt(x)
        float(y[0])
        xp.astype(x, xp.complex128) * 1j
    assert len(lineage.exits) == 1
    assert lineage.exits[0].startswith(__file__)
    assert lineage.notable == ["cbrt", "cast"]


def test_a_recorder_is_told_before_a_variable_is_read_and_may_follow_it():
    v, lineage = xp.Variable([1.0, 2.0], name="v"), Lineage()
    with entered(lineage):
        y = xp.sum(v * v) + xp.sum(v)
    assert [variable.name for variable in lineage.variables] == ["v"]
    assert lineage.ops_to(y) == ["multiply", "sum", "sum", "add"]


def test_a_recorder_hears_of_what_is_used_in_a_thread_without_one(x):
    lineage = Lineage()
    with entered(lineage):
        follow(lineage, x)
        thread = threading.Thread(target=lambda: xp.exp(x))
        thread.start()
        thread.join()
    assert lineage.lost == {x._current_id()}
    assert id(lineage) not in OPEN


@pytest.mark.parametrize("one_shot", [True, False])
def test_a_custom_gradient_keeps_its_history_where_its_gradient_may_be_recorded(one_shot, x):
    keeper = Lineage()
    keeper.one_shot = one_shot
    square = xp.custom_gradient(lambda x: (x * x, lambda g: 2.0 * g * x))
    with entered(keeper):
        follow(keeper, x)
        square(x)
    (record,) = keeper.records
    names = [PLANS[inner[0]].name for inner, _ in record[-1].history]
    assert names == ["same value"] + ([] if one_shot else ["multiply", "same value"])


# --- that nothing else is asked for -----------------------------------------------------------------
def test_callers_ask_for_nothing_that_the_protocol_does_not_declare(x, cbrt, log1pexp):
    strict, v = Strict(), xp.Variable([1.0, 2.0, 3.0])
    with entered(strict):
        follow(strict, x)
        y = xp.exp(x) + v * x[::-1]
        y[0] = x[1]
        y += x
        y *= 2.0
        cbrt(y)
        xp.concat([xp.astype(y, xp.complex64), xp.asarray([1j])])
        xp.linalg.svd(xp.reshape(y, (3, 1)))
        float(xp.max(y))
        np.asarray(y)
        log1pexp(xp.recompute_grad(lambda x: x * v)(y))
        xp.grad_pass_through(xp.round)(y)
        xp.numpy_function(np.sort, [y])
        xp.vmap(lambda x: x * v[0])(y)
        with xp.GradientTape(persistent=True) as tape:
            tape.watch(x)
            z = xp.sum(log1pexp(x) * xp.where(x > 1, x, v))
            with tape.stop_recording():
                z * 2.0
        tape.gradient(z, [x, v])
        with xp.GradientTape() as tape:
            tape.watch(x)
            z = log1pexp(x) * v
        tape.jacobian(z, x)
        with xp.ForwardAccumulator(x, xp.ones(3)) as accumulator:
            w = log1pexp(x * v)
        accumulator.jvp(w)
        thread = threading.Thread(target=lambda: float(xp.exp(x)[0]))
        thread.start()
        thread.join()
    assert recorders() == ()
    assert strict.counts["custom_gradient"] > 0
    assert strict.counts["recompute_grad"] == 1


def test_an_undeclared_name_is_refused_by_the_strict_recorder():
    with pytest.raises(AssertionError, match="declares no '_persistent'"):
        _ = Strict()._persistent
