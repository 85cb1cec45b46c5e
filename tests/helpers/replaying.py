"""Comparison of functions under ``xp.function`` with eager calls on the same inputs."""

import contextlib
import re
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import arraytape as xp
from arraytape._array.array import SCALAR
from arraytape._array.views import current
from arraytape._util import nest

TRACED = 2  # the first calls, which are traced and not replayed
SINGLE = 1e-6  # the tolerance in single precision


class Outcome(NamedTuple):
    """The outcome of a function's calls.

    replayed, traced, eager : numbers of calls.
    exact : True if all values equal those of eager calls bit for bit; False if rounding differs.
    reasons : a Counter of the reasons for which calls were not replayed.
    """

    replayed: int
    traced: int
    eager: int
    exact: bool
    reasons: Counter

    @classmethod
    def of(cls, function, exact):
        """Return the Outcome of a function that ``xp.function`` made, from its counts and reasons."""
        counts = [function.counts[what] for what in ("replayed", "traced", "eager")]
        return cls(*counts, exact, Counter(function.reasons))


def fared(outcome):
    """Return a Counter of texts that describe an Outcome; reasons are shortened by ``general``."""
    how = "as eagerly, bit for bit" if outcome.exact else "as eagerly, but for rounding"
    reasons = {"not replayed: " + general(why) for why in outcome.reasons if not outcome.replayed}
    other = {"not replayed: another value in each call"} if not outcome.replayed else set()
    replays = {
        "programs that were replayed": int(outcome.replayed > 0),
        "replays": outcome.replayed,
    }
    return Counter({how: 1} | replays) + Counter(reasons or other)


def general(why):
    """Return a reason without numbers, file names and shapes, so that equal reasons can be counted."""
    return re.sub(r" at \S+| of shape \([^)]*\)|-?\d+(\.\d+)?", "", why)[:100]


def bits(x):
    """Return shape, dtype and bytes of an Array, which can be compared."""
    data = np.asarray(current(x)[1])
    return data.shape, data.dtype.str, data.tobytes()


def leaves(result):
    return [leaf for leaf in nest.leaves(result) if leaf is not None]


def compare(found, expected, what, near=0.0):
    """Return True if two results are equal bit for bit, False if they differ by at most ``near``.

    Raise AssertionError if they differ by more.
    """
    ours, eager = nest.leaves(found), nest.leaves(expected)
    assert len(ours) == len(eager), f"{what}: {len(ours)} results, eager {len(eager)}"
    exact = True
    for i, (x, y) in enumerate(zip(ours, eager, strict=True)):
        assert type(x) is type(y), f"{what}, result {i}: {type(x)}, eager {type(y)}"
        if not isinstance(x, xp.Array):
            a, b = (text_of(x), text_of(y)) if isinstance(x, BaseException) else (x, y)
            assert a == b or repr(a) == repr(b), f"{what}, result {i}: {a}, eager {b}"
            continue
        scalars = [one._state & SCALAR for one in (x, y)]
        assert scalars[0] == scalars[1], f"{what}, result {i}: immutable {scalars}"
        if bits(x) == bits(y):
            continue
        exact = False
        a, b = np.asarray(x), np.asarray(y)
        layout = (a.shape, a.dtype) == (b.shape, b.dtype)
        assert layout, f"{what}, result {i}: {a.shape} {a.dtype}, eager {b.shape} {b.dtype}"
        close = max(near, SINGLE) if near and a.dtype in (np.float32, np.complex64) else near
        np.testing.assert_allclose(a, b, close, close, err_msg=f"{what}, result {i}")
    return exact


def text_of(error):
    """Return the text of an error without function names and source locations."""
    said = re.sub(r"^np\.[\w.]+: | \[at [^]]*\]", "", str(error))
    return said.replace("into Traced", "into ndarray")


def eagerly(f, given):
    """Return the results of f, or the exception that it raises."""
    try:
        return f(*given)
    except Exception as error:
        return error


def under_function(function, given):
    """Return the results or the exception of a replayed function, without its TapeWarning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "function .*not replayed", xp.TapeWarning)
        return eagerly(function, given)


def replayed(f, calls, near=0.0, compared=0):
    """Compare ``xp.function(f)`` with f call by call; return the Outcome.

    calls : for each call, a function that makes new arguments.
    near : the tolerance where only rounding differs.
    compared : the index of the first call that is also run eagerly.
    """
    function, exact = xp.function(f), True
    for number, make in enumerate(calls):
        given, beside = make(), make()
        if number < compared:
            under_function(function, given)
            continue
        expected = eagerly(f, beside)
        found = under_function(function, given)
        what = f"call {number}"
        exact &= compare(found, expected, what, near)
        exact &= compare(given, beside, f"{what}, the arguments afterwards", near)
        check_memory((found, given), (expected, beside), what, near)
    return Outcome.of(function, exact)


def check_memory(found, expected, what, near):
    """Assert that a write to each Array changes the same other Arrays as in eager code."""
    for parts in (found, expected):
        for i, x in enumerate(leaves(parts)):
            if type(x) is xp.Array and x.ndim:
                with contextlib.suppress(ValueError):  # raised for a read-only view
                    x[...] = i % 2
                    x[:1] = i % 100
    compare(found, expected, f"{what}, after writes", near)


# --- derivatives by a tape around the calls -----------------------------------------------------------
def first_order(tape, y, x):
    return tape.gradient(y, x)


def all_rows(tape, y, x):
    return tape.jacobian(y, x)


def recorded_later(tape, y, x):
    """Return first and second derivatives of y; a tape records the first after y was computed."""
    with xp.GradientTape() as later:
        later.watch(x)
        first = tape.gradient(y, x)
        total = weighted([g for g in first if g is not None])
    return first, later.gradient(total, x)


def twice(tape, y, x):
    """Return two gradients of a persistent tape, the second with ``nan="keep"``."""
    return tape.gradient(y, x), tape.gradient(y, x, nan="keep")


USES = first_order, all_rows, recorded_later, twice


def weighted(found):
    """Return a real sum of all floating-point Arrays, in which each element has another weight."""
    answer = xp.zeros(())
    for turn, x in enumerate(leaves(found)):
        if not isinstance(x, xp.Array) or x.dtype.kind not in "fc":
            continue
        weight = np.cos(np.arange(x.size) + turn).reshape(x.shape).astype(x.dtype)
        part = xp.sum(x * xp.asarray(weight))
        answer = answer + (xp.real(part) if x.dtype.kind == "c" else part)
    return answer


def on_a_tape(f, use, given, followed):
    """Return the results of f on a tape, and a derivative of a sum of them.

    use : the function that computes the derivative, such as ``first_order``.
    followed : a pattern of booleans, repeated over the float Arrays; those with True are watched.
    """
    floats = [x for x in leaves(given) if isinstance(x, xp.Array) and x.dtype.kind in "fc"]
    watched = [x for i, x in enumerate(floats) if followed[i % len(followed)]]
    with xp.GradientTape(persistent=use is twice) as tape:
        tape.watch(watched)
        y = f(*given)
        changed = [x for x in leaves(given) if isinstance(x, xp.Array)]
        seen = weighted(y) * 2.0 + weighted(changed)
    return y, seen, use(tape, seen, watched)


def recorded(f, calls, use, followed=(True,), near=1e-12):
    """Compare ``xp.function(f)`` with f, each call under a tape; return the Outcome."""
    function, exact = xp.function(f), True
    for number, make in enumerate(calls):
        given, beside = make(), make()
        expected = on_a_tape(f, use, beside, followed)
        found = on_a_tape(function, use, given, followed)
        what = f"{use.__name__}, call {number}"
        exact &= compare(found, expected, what, near)
        exact &= compare(given, beside, f"{what}, the arguments afterwards", near)
        check_memory((found, given), (expected, beside), what, near)
    return Outcome.of(function, exact)
