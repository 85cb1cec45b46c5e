"""Two traced calls that differ by what no trace sees: what is said of it.  Rarer ways to call."""

import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from arraytape._array.array import Array

X = [3.0, 5.0]
FIRST, SECOND = xp.Variable(X), xp.Variable(X)


@pytest.fixture
def hidden():
    """Sets a number of the interpreter's, which a function may read unseen."""
    before = sys.get_int_max_str_digits()
    yield sys.set_int_max_str_digits
    sys.set_int_max_str_digits(before)


def is_odd():
    return sys.get_int_max_str_digits() % 2


def of_other_structure(x, w):
    return {"y": x * 2.0} if is_odd() else [x * 2.0]


def of_other_number(x, w):
    return x * 2.0, is_odd()


def of_other_order(x, w):
    y, z = x * 2.0, x + 1.0
    return (y, z) if is_odd() else (z, y)


def of_other_length(x, w):
    y = x * 2.0
    return x * 2.0 if is_odd() else y + 1.0


def of_other_arguments(x, w):
    return xp.sum(xp.reshape(x, (2, 1)), axis=-1 if is_odd() else 1)


def of_other_place(x, w):
    y = x * 2.0 + FIRST + SECOND
    (FIRST if is_odd() else SECOND).assign(y)


def of_other_writes(x, w):
    y, z = x * 2.0, FIRST + SECOND
    FIRST.assign(y if is_odd() else z)


def of_a_guard_more(x, w):
    y = x * 2.0 if x[0] > 0 else x
    return y + 1.0 if is_odd() and x[1] > 0 else y


REASONS = {
    of_other_structure: "its result has another structure",
    of_other_number: "a part of its result differs",
    of_other_order: "other outputs",
    of_other_length: "in the next",
    of_other_arguments: "has other arguments",
    of_other_place: "it writes to another Array",
    of_other_writes: "other writes",
    of_a_guard_more: "gave another value",
}


def arguments():
    return xp.asarray(X), xp.asarray([1.0, 2.0])


@pytest.mark.parametrize("f", REASONS, ids=lambda f: f.__name__)
def test_calls_that_differ_are_not_replayed_and_the_difference_is_said(f, hidden):
    g = xp.function(f, limit=2)
    hidden(5000)
    g(*arguments())
    hidden(5001)
    with pytest.warns(TapeWarning, match=REASONS[f]):
        g(*arguments())
    assert g.counts["replayed"] == 0


def test_a_guard_that_one_call_alone_has_is_named_by_its_own_line(hidden):
    g = xp.function(of_a_guard_more, limit=2)
    hidden(5000)
    g(*arguments())
    hidden(5001)
    with pytest.warns(TapeWarning) as said:
        g(*arguments())
    line = of_a_guard_more.__code__.co_firstlineno + 2
    assert f"{__file__}:{line} gave" in str(said[0].message)


def test_a_function_without_a_signature():
    g = xp.function(max)
    small, large = xp.asarray(1.0), xp.asarray(2.0)
    for _ in range(4):
        assert g(small, large) is large
    assert g.counts["replayed"] == 2


def test_an_object_that_is_given_back_is_that_of_the_call():
    class Label:
        pass

    def f(x, label):
        return x * 2.0, label

    g, label = xp.function(f), Label()
    for _ in range(4):
        y, given = g(xp.asarray(X), label)
        assert y.tolist() == [6.0, 10.0]
        assert given is label
    assert g.counts["replayed"] == 2


def test_a_function_of_no_arrays():
    g = xp.function(lambda: xp.arange(3.0) * 2.0)
    for _ in range(4):
        assert g().tolist() == [0.0, 2.0, 4.0]
    assert g.counts["replayed"] == 2


def test_a_program_that_is_silent_runs_as_it_is_where_errors_raise():
    def f(x):
        with np.errstate(all="ignore"):
            return 1.0 / x

    g = xp.function(f)
    for _ in range(4):
        assert g(xp.asarray([0.0])).tolist() == [np.inf]
    assert g.counts["replayed"] == 2
    with np.errstate(all="raise"):
        assert g(xp.asarray([0.0])).tolist() == [np.inf]
    assert g.counts == {"traced": 3, "replayed": 2, "eager": 0}  # NumPy's settings are compared


def test_state_that_is_too_large_is_not_compared():
    many = [[object()] for _ in range(3000)]

    def f(x):
        return x * float(len(many))

    g = xp.function(f, limit=2)
    assert g(xp.asarray(X)).tolist() == [9000.0, 15000.0]
    with pytest.warns(TapeWarning, match="too much Python state"):
        assert g(xp.asarray(X)).tolist() == [9000.0, 15000.0]


def test_a_call_that_always_raises_is_traced_no_more_than_the_limit():
    @xp.function(limit=2)
    def f(x):
        raise KeyError("always")

    for _ in range(4):
        with pytest.raises(KeyError):
            f(xp.asarray(X))
    assert f.counts["traced"] == 2
    assert f.counts["eager"] == 2


def test_a_callback_that_fails_in_a_program_that_was_not_the_last_one_used():
    def told(loss):
        if float(loss) > 5.0:
            raise OverflowError("large")

    tell = xp.replay.callback(told)

    def f(x):
        y = x * 2.0
        tell(xp.sum(y))
        return y

    g = xp.function(f)
    for _ in range(3):
        g(xp.asarray([1.0]))
    for _ in range(3):
        g(xp.asarray([1.0, 1.0]))
    with pytest.raises(OverflowError, match="large"):
        g(xp.asarray([4.0]))
    assert g.counts["traced"] == 4


def test_what_the_wrapper_of_a_method_has():
    class Model:
        @xp.function
        def scaled(self, x):
            return x * 2.0

    model = Model()
    bound = model.scaled
    for _ in range(3):
        bound(xp.asarray(X))
    assert bound.counts["replayed"] == 1
    assert type(bound.eager(xp.asarray(X))) is Array
    assert {bound: 1}[model.scaled] == 1
    with pytest.raises(AttributeError):
        _ = bound.other


def test_strict_must_be_a_bool():
    with pytest.raises(TypeError, match="strict must be a bool"):
        xp.function(lambda x: x, strict=1)


USED = ["failed", "guards", "memory", "idle", *[f"c{i}" for i in range(4, 10)]]


@pytest.mark.parametrize("name", USED)
def test_a_function_whose_name_the_text_of_a_program_uses(name):
    def f(x):
        if xp.sum(x) > 0.0:
            x = x * xp.asarray([1.5, 2.5]) + 0.75
        return x / xp.asarray([7.5, 0.5])

    f.__name__ = f.__qualname__ = name
    g = xp.function(f)
    for _ in range(4):
        assert g(xp.asarray(X)).tolist() == f(xp.asarray(X)).tolist()
    assert g.counts["replayed"] == 2, g.reasons
    g(xp.asarray([-1.0, -1.0]))
    assert [*g.reasons] == [reason for reason in g.reasons if "another value" in reason]
