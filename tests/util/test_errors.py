"""Bad input: what was wrong is said, and tape and arrays stay as they were."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._array.array import Array
from arraytape._record.stack import recorders
from helpers.bad_calls import CALLS
from helpers.bad_ops import OPS, enter_twice


@pytest.fixture
def environment():
    locked = np.ones(3)
    locked.flags.writeable = False
    e = SimpleNamespace(
        x=xp.asarray([1.0, 2.0, 3.0]),
        two=xp.asarray([4.0, 5.0]),
        w=xp.ones((2, 3)),
        m=xp.ones((2, 3)),
        n=xp.asarray([1, 2, 3]),
        s=xp.asarray(2.0),
        ones=xp.ones((3,)),
        locked=xp.asarray(locked, copy=False),
        tape=GradientTape(persistent=True),
    )
    e.wide = xp.broadcast_to(e.x, (2, 3))
    return e


def values(e):
    """A copy of every array of the environment."""
    return {name: xp.asarray(v, copy=True) for name, v in vars(e).items() if isinstance(v, Array)}


def must_raise(call, e, error, words):
    with pytest.raises(error) as caught:
        call(e)
    assert type(caught.value) is error
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"


def must_be_unharmed(e, before):
    """Arrays, stack and gradients are what they would be without the failed call."""
    after = values(e)
    for name, value in before.items():
        assert after[name].dtype == value.dtype
        np.testing.assert_array_equal(np.asarray(after[name]), np.asarray(value))
    assert recorders() == ()
    np.testing.assert_array_equal(np.asarray(e.tape.gradient(e.z, e.x)), [3.0, 12.0, 27.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # in particular: no exit that did not happen is blamed
        assert e.tape.gradient(e.two * 1.0, e.x) is None


@pytest.mark.parametrize(("call", "error", "words"), OPS.values(), ids=OPS)
def test_a_bad_op_says_what_is_wrong_and_changes_nothing(call, error, words, environment):
    e = environment
    before = values(e)
    with e.tape:
        e.tape.watch([e.x, e.m])
        e.y = e.x * e.x
        must_raise(call, e, error, words)
        assert recorders() == (e.tape._recording,)
        e.z = e.y * e.x
    must_be_unharmed(e, before)


@pytest.mark.parametrize(("call", "error", "words"), OPS.values(), ids=OPS)
def test_a_bad_op_outside_of_any_tape_says_the_same(call, error, words, environment):
    e = environment
    with e.tape:
        e.tape.watch(e.x)
        e.y = e.x * e.x
        e.z = e.y * e.x
    before = values(e)
    if error is RuntimeError or call is enter_twice or "watch" in words:
        with e.tape:
            must_raise(call, e, error, words)
    else:
        must_raise(call, e, error, words)
    must_be_unharmed(e, before)


@pytest.mark.parametrize(("call", "error", "words"), CALLS.values(), ids=CALLS)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(call, error, words, environment):
    e = environment
    before = values(e)
    with e.tape:
        e.tape.watch(e.x)
        e.y = e.x * e.x
        e.z = e.y * e.x
    must_raise(call, e, error, words)
    must_be_unharmed(e, before)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [row for name, row in CALLS.items() if not name.startswith(("released", "never"))],
    ids=[name for name in CALLS if not name.startswith(("released", "never"))],
)
def test_a_bad_call_does_not_use_a_one_shot_tape_up(call, error, words, environment):
    e = environment
    e.tape = GradientTape()
    with e.tape:
        e.tape.watch(e.x)
        e.y = e.x * e.x
    must_raise(call, e, error, words)
    np.testing.assert_array_equal(np.asarray(e.tape.gradient(e.y, e.x)), [2.0, 4.0, 6.0])
