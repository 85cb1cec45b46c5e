"""Bad input: what was wrong is said, and tape and arrays stay as they were."""

import re
import warnings
from contextlib import nullcontext
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


# --- the names of Variables -------------------------------------------------------------------------
REFUSED_WITH_A_VARIABLE = {
    "an index": lambda v: v[7],
    "a key of two axes": lambda v: v[0, 0],
    "a method": lambda v: v.reshape(3),
    "a reduction": lambda v: xp.sum(v, axis=3),
    "a reduction as a method": lambda v: v.max(axis=3),
    "an operator": lambda v: v + xp.ones(3),
    "an operator from the right": lambda v: xp.ones(3) * v,
    "a product": lambda v: v @ xp.ones(3),
    "a list of Arrays": lambda v: xp.concat([xp.ones((2, 2)), v]),
    "a Variable among two": lambda v: xp.linalg.solve(xp.eye(2), xp.take(v, xp.asarray([9]))),
    "linalg": lambda v: xp.linalg.inv(v),
    "fft": lambda v: xp.fft.fft(v, axis=4),
    "an assignment": lambda v: v.assign([1.0]),
    "an addition in place": lambda v: v.assign_add(xp.ones(3)),
    "einsum": lambda v: xp.einsum("ij->i", v),
    "a tangent": lambda v: xp.ForwardAccumulator(v, xp.ones(3)),
    "a gradient": lambda v: xp.optimizers.SGD(0.1).apply_gradients([(xp.ones(3), v)]),
}


@pytest.mark.parametrize("case", REFUSED_WITH_A_VARIABLE)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_refusal_names_the_variable(case, recorded):
    v = xp.Variable([1.0, 2.0], name="weight of cats")
    recorder = GradientTape() if recorded else nullcontext()
    refusal = pytest.raises((TypeError, ValueError, IndexError), match="'weight of cats'")
    with recorder, refusal:
        REFUSED_WITH_A_VARIABLE[case](v)


def test_an_array_beside_a_variable_has_no_name():
    v = xp.Variable([1.0, 2.0], name="v")
    with pytest.raises(
        ValueError, match=r"add\(x1: Array float64\(3,\), x2: Array 'v' float64\(2,\)\)"
    ):
        xp.add(xp.ones(3), v)


@pytest.mark.parametrize(
    ("shape", "advice"),
    [((1,), "x.item()"), ((1, 1), "x.item()"), ((2,), "x[0]"), ((2, 2), "x[0, 0]")],
)
def test_the_advice_for_a_number_format_can_be_followed(shape, advice):
    x = xp.full(shape, 1.5)
    with pytest.raises(TypeError) as caught:
        f"{x:.3f}"
    text = re.search(r"as in f'\{(.*):\.3f\}'", str(caught.value))[1]
    assert text == advice
    assert f"{eval(text, {'x': x}):.3f}" == "1.500"
