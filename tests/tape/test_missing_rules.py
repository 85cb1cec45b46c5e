"""Ops without a rule, and rules that are given later."""

import inspect
import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._array.array import Array
from arraytape._define.define_op import REGISTERED
from arraytape._define.words import primitive
from arraytape._record.op import REGISTRY
from arraytape._record.op_facts import FACTS


@pytest.fixture
def fmod():
    """An op of two inputs without a rule."""

    @primitive(signature="(),()->()")
    def fmod(x1: Array, x2: Array, /) -> Array:
        """Remainder with the sign of x1."""

    yield fmod
    del REGISTRY["fmod"]
    FACTS.pop("fmod")
    REGISTERED.pop("fmod", None)


@pytest.fixture
def x():
    return xp.asarray([8.0, 27.0])


def test_an_op_without_a_rule_on_the_path_raises_and_says_what_to_do(cbrt, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x) * 2
    with pytest.raises(LookupError, match="gradient registry has no entry for: cbrt") as caught:
        tape.gradient(y, x)
    assert not isinstance(caught.value, KeyError | IndexError)
    for advice in ("register_gradient", "no_gradient", "stop_gradient"):
        assert advice in str(caught.value)


def test_an_op_without_a_rule_does_not_use_the_tape_up(cbrt, x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x)
        z = x * x
    with pytest.raises(LookupError):
        tape.gradient([y, z], x)
    near(tape.gradient(z, x), [16.0, 54.0])


def test_an_op_without_a_rule_inside_the_block_does_not_stop_the_tape(cbrt, x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x)
        with pytest.raises(LookupError):
            tape.gradient(y, x)
        z = x * x
    near(tape.gradient(z, x), [16.0, 54.0])


def test_an_op_without_a_rule_off_the_path_is_silent(cbrt, x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        cbrt(y)
    near(tape.gradient(y, x), [16.0, 54.0])


def test_an_op_without_a_rule_behind_stop_gradient_is_silent(cbrt, x, near, gradient):
    near(gradient(lambda x: x * xp.stop_gradient(cbrt(x)), x), [2.0, 3.0])


def test_an_op_without_a_rule_on_a_constant_is_silent(cbrt, x, near, gradient):
    near(gradient(lambda x: x * cbrt(xp.asarray([8.0, 27.0])), x), [2.0, 3.0])


def test_an_op_without_a_rule_on_the_path_to_another_source_is_silent(cbrt, x, near):
    other = xp.asarray([1.0, 8.0])
    with GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        y = x * x + cbrt(other)
    near(tape.gradient(y, x), [16.0, 54.0])
    with pytest.raises(LookupError):
        tape.gradient(y, other)


def test_an_op_without_a_rule_beyond_an_intermediate_source_is_silent(cbrt, x, near):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cbrt(x)
        z = y * y
    near(tape.gradient(z, y), [4.0, 6.0])
    with pytest.raises(LookupError):
        tape.gradient(z, x)


def test_a_registered_rule_is_used(cbrt, x, near, gradient):
    @xp.register_gradient("cbrt")
    def rule(g, y):
        return g / (3 * y * y)

    near(gradient(cbrt, x), [1 / 12, 1 / 27])


def test_a_rule_can_be_registered_after_recording(cbrt, x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x)
    with pytest.raises(LookupError):
        tape.gradient(y, x)
    xp.register_gradient("cbrt")(lambda g, y: g / (3 * y * y))
    with tape:
        z = cbrt(x)
    near(tape.gradient(z, x), [1 / 12, 1 / 27])


def test_a_registered_rule_works_to_second_order(cbrt, x, near):
    xp.register_gradient("cbrt")(lambda g, y: g / (3 * y * y))
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = cbrt(x)
        g = inner.gradient(y, x)
    near(outer.gradient(g, x), -2 / 9 * np.asarray([8.0, 27.0]) ** (-5 / 3))


def remainder_rule(g, x1, x2, xp):
    return g, -g * xp.trunc(x1 / x2)


def test_a_registered_rule_of_two_inputs_gives_one_contribution_for_each(fmod, near):
    a, b = xp.asarray([5.0, 7.0]), xp.asarray([3.0, 3.0])
    xp.register_gradient("fmod")(remainder_rule)
    with GradientTape() as tape:
        tape.watch([a, b])
        y = fmod(a, b)
    da, db = tape.gradient(y, [a, b])
    near(da, [1.0, 1.0])
    near(db, [-1.0, -2.0])


def test_the_engine_sums_over_broadcast_axes_for_a_registered_rule(fmod, near):
    a, b = xp.asarray([5.0, 7.0]), xp.asarray(3.0)
    xp.register_gradient("fmod")(remainder_rule)
    with GradientTape() as tape:
        tape.watch([a, b])
        y = fmod(a, b)
    da, db = tape.gradient(y, [a, b])
    near(da, [1.0, 1.0])
    assert db.shape == ()
    near(db, -3.0)


def test_registering_twice_names_the_place_of_the_first(cbrt):
    xp.register_gradient("cbrt")(lambda g: g)
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(KeyError, match=rf"cbrt.*test_missing_rules\.py:{line}"):
        xp.register_gradient("cbrt")(lambda g: g)
    with pytest.raises(KeyError, match=rf"cbrt.*test_missing_rules\.py:{line}"):
        xp.no_gradient("cbrt")


def test_no_gradient_gives_none(cbrt, x, near, gradient):
    xp.no_gradient("cbrt")
    assert gradient(cbrt, x) is None
    near(gradient(lambda x: x * cbrt(x), x), [2.0, 3.0])


def test_a_refused_rule_leaves_the_op_as_it_was(cbrt, x, near, gradient):
    with pytest.raises(TypeError, match=r"asks for.*spam"):
        xp.register_gradient("cbrt")(lambda g, spam: g)
    with pytest.raises(LookupError, match="gradient registry has no entry for: cbrt"):
        gradient(cbrt, x)
    xp.register_gradient("cbrt")(lambda g, y: g / (3 * y * y))
    near(gradient(cbrt, x), [1 / 12, 1 / 27])


def test_a_rule_that_gives_too_few_contributions_is_named(fmod, x, gradient):
    xp.register_gradient("fmod")(lambda g: (g,))
    with pytest.raises(ValueError, match=r"fmod.*1.*2|fmod.*2.*1"):
        gradient(lambda x: fmod(x, xp.asarray(3.0)), x)


def test_a_rule_that_gives_the_wrong_shape_is_named(cbrt, x, gradient):
    xp.register_gradient("cbrt")(lambda g, xp: xp.ones((5,)))
    with pytest.raises(ValueError, match=r"cbrt.*\(5,\)"):
        gradient(cbrt, x)


def test_the_exception_can_be_pickled_and_says_the_same(cbrt, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x)
    with pytest.raises(LookupError) as caught:
        tape.gradient(y, x)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.name) == (str(caught.value), "cbrt")
