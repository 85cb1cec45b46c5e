"""Errors and warnings that a replayed function catches: whether they come is decided by values."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from helpers.replaying import bits

BAD, GOOD = [[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]


def jittered(a):
    try:
        return xp.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return xp.linalg.cholesky(a + 10 * xp.eye(2))


def taken(x, i):
    try:
        return xp.take(x, i)
    except IndexError:
        return x * 0 - 1


def indexed(x, i):
    try:
        return x[i]
    except IndexError as error:
        return x * len(str(error))


def written(x, i):
    x = +x
    try:
        x[i] = 7.0
    except IndexError:
        return x - 1
    return x * 2


def power(x, y):
    try:
        return x**y
    except ValueError:
        return x * 0


def raising(x):
    try:
        with np.errstate(all="raise"):
            return 1 / x
    except FloatingPointError:
        return x * 0 - 1


def noted(x):
    found = []
    with np.errstate(divide="call", call=lambda *_: found.append(1)):
        y = 1 / x
    return y * (2 if found else 3)


def made_errors(x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return 1 / x
    except RuntimeWarning:
        return x * 0 - 1


def recorded(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = 1 / x
    return y * (2 if seen else 3)


CAUGHT = {  # a function, and arguments for two of its ways
    "a factorisation": (jittered, [BAD], [GOOD]),
    "take": (taken, [[1.0, 2.0], [7]], [[1.0, 2.0], [1]]),
    "an index": (indexed, [[1.0, 2.0], [7]], [[1.0, 2.0], [1]]),
    "an index in a longer message": (indexed, [[1.0, 2.0], [7]], [[1.0, 2.0], [700]]),
    "a write": (written, [[1.0, 2.0], [7]], [[1.0, 2.0], [1]]),
    "an integer's power": (power, [[1, 2], [-1, 1]], [[1, 2], [1, 1]]),
    "np.errstate": (raising, [[1.0, 2.0]], [[0.0, 2.0]]),
    "a function of np.errstate's": (noted, [[1.0, 2.0]], [[0.0, 2.0]]),
    "warnings as errors": (made_errors, [[1.0, 2.0]], [[0.0, 2.0]]),
    "warnings that are recorded": (recorded, [[1.0, 2.0]], [[0.0, 2.0]]),
}
EAGER = (
    "np.errstate",
    "a function of np.errstate's",
    "warnings as errors",
    "warnings that are recorded",
)


@pytest.mark.filterwarnings("ignore:function .*not replayed:arraytape.TapeWarning")
@pytest.mark.parametrize("turn", [False, True], ids=["", "the other way round"])
@pytest.mark.parametrize("name", CAUGHT)
def test_errors_that_are_caught_are_decisions(name, turn):
    f, one, two = CAUGHT[name]
    one, two = (two, one) if turn else (one, two)
    g = xp.function(f)
    for given in [one] * 4 + [two] * 4 + [one] * 3:
        args = [xp.asarray(np.array(x)) for x in given]
        assert bits(g(*args)) == bits(f(*args))
    assert (g.counts["replayed"] == 0) == (name in EAGER), (g.counts, g.reasons)


def test_a_program_that_raises_leaves_the_call_to_others():
    @xp.function
    def inverted(x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            return x * 0.0

    for scale in [0.0] * 3 + [1.0] * 3 + [0.0] * 3:
        assert inverted(xp.eye(2) * scale).tolist() == (np.eye(2) * scale).tolist()
    assert inverted.counts == {"traced": 4, "replayed": 5, "eager": 0}


def test_warnings_that_are_silenced_inside_are_silent_in_replays():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return 1 / x

    g = xp.function(f)
    for _ in range(4):
        assert g(xp.asarray([0.0, 1.0])).tolist() == [np.inf, 1.0]
    assert g.counts["replayed"] == 2


REFUSED = {
    "the mean of an integer along an axis": (lambda x: np.mean(x, axis=-1), 2),
    "a clip without bounds": (lambda x: np.clip(x, "a", "b"), [1.0, 2.0]),
    "an interpolation between nothing": (lambda x: np.interp(x, [], []), [1.0, 2.0]),
    "a convolution with nothing": (lambda x: np.convolve(x, []), [1.0, 2.0]),
    "a norm of an unknown kind": (lambda x: np.linalg.norm(x, "other"), [[1.0, 2.0]]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_a_traced_call_refuses(name):
    f, value = REFUSED[name]

    def caught(x):
        try:
            return f(x)
        except Exception as error:
            return type(error).__name__, str(error).partition(" [at")[0], x * 2

    g = xp.function(caught)
    expected = caught(xp.asarray(value))
    assert isinstance(expected, tuple)
    for _ in range(3):
        assert g(xp.asarray(value))[:2] == expected[:2]
    assert g.counts["replayed"] == 1


def test_within_vmap_numpy_is_not_asked():
    g = xp.function(lambda x, y: xp.vmap(lambda row: np.convolve(y, row))(x))
    for number in range(3):
        x, y = xp.asarray([[1.0, 2.0], [3.0, number]]), xp.asarray([1.0, 2.0, 3.0])
        assert bits(g(x, y)) == bits(g.eager(x, y))
    assert g.counts["replayed"] == 1


class Refused(Exception):
    """Has an Array."""


def test_what_a_function_keeps_before_it_raises_is_an_array_like_any():
    kept = []

    def f(x):
        y = x * 2
        kept.append(y)
        raise Refused(y[:1])

    g = xp.function(f)
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            g(xp.asarray([1.0, 2.0]))
        for x in (kept[-1], refused.value.args[0]):
            np.asarray(x)[0] += 1.0  # one memory
        assert kept[-1].tolist() == [4.0, 4.0]


def test_a_failed_trace_leaves_its_tapes_values():
    def f(x):
        tape = xp.GradientTape(persistent=True)
        with tape:
            tape.watch(x)
            y = xp.sum(x * x)
        raise Refused(tape, x, y)

    g = xp.function(f)
    with pytest.raises(Refused) as refused:
        g(xp.asarray([1.0, 2.0]))
    tape, x, y = refused.value.args
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]
