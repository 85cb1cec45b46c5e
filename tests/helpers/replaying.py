"""Functions under ``xp.function``, compared with the same functions run eagerly on the same inputs."""

import contextlib
import re
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import arraytape as xp
from arraytape._array.views import current
from arraytape._util import nest

TRACED = 2  # calls before the first replay
SINGLE = 1e-6  # of values in single precision, where any rounding is allowed for


class Outcome(NamedTuple):
    """Outcome of a function's calls.

    exact : whether all values were eager's bit for bit; else only rounding differs.  reasons : why calls
    were not replayed.
    """

    replayed: int
    traced: int
    eager: int
    exact: bool
    reasons: Counter

    @classmethod
    def of(cls, function, exact):
        """Return the outcome of a function under ``xp.function``."""
        counts = [function.counts[what] for what in ("replayed", "traced", "eager")]
        return cls(*counts, exact, Counter(function.reasons))


def fared(outcome):
    """Count the outcomes of a function's calls; reasons lose numbers and lines."""
    how = "as eagerly, bit for bit" if outcome.exact else "as eagerly, but for rounding"
    reasons = {"not replayed: " + general(why) for why in outcome.reasons if not outcome.replayed}
    other = {"not replayed: another value in each call"} if not outcome.replayed else set()
    replays = {
        "programs that were replayed": int(outcome.replayed > 0),
        "replays": outcome.replayed,
    }
    return Counter({how: 1} | replays) + Counter(reasons or other)


def general(why):
    """Return a reason without numbers, names of files and shapes."""
    return re.sub(r" at \S+| of shape \([^)]*\)|-?\d+(\.\d+)?", "", why)[:100]


def bits(x):
    """Return the values, layout and dtype of an Array."""
    data = np.asarray(current(x)[1])
    return data.shape, data.dtype.str, data.tobytes()


def leaves(result):
    return [leaf for leaf in nest.leaves(result) if leaf is not None]


def compare(found, expected, what, near=0.0):
    """Return True if two results are equal bit for bit; AssertionError where they are not even near."""
    ours, eager = nest.leaves(found), nest.leaves(expected)
    assert len(ours) == len(eager), f"{what}: {len(ours)} results, eager {len(eager)}"
    exact = True
    for i, (x, y) in enumerate(zip(ours, eager, strict=True)):
        assert type(x) is type(y), f"{what}, result {i}: {type(x)}, eager {type(y)}"
        if not isinstance(x, xp.Array):
            a, b = (text_of(x), text_of(y)) if isinstance(x, BaseException) else (x, y)
            assert a == b or repr(a) == repr(b), f"{what}, result {i}: {a}, eager {b}"
            continue
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
    """Return the text of an error, without the function that raised it, and its words for data."""
    said = re.sub(r"^np\.[\w.]+: | \[at [^]]*\]", "", str(error))
    return said.replace("into Traced", "into ndarray")


def eagerly(f, given):
    """Return the results of f, or the error that it raises."""
    try:
        return f(*given)
    except Exception as error:
        return error


def under_function(function, given):
    """Return the results of a function under ``xp.function``, which need not be replayed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "function .*not replayed", xp.TapeWarning)
        return eagerly(function, given)


def replayed(f, calls, near=0.0, compared=0):
    """Compare a function under ``xp.function`` with itself, call by call.

    calls : functions that make the arguments of a call, each time anew.  near : by how much values may
    differ, where only rounding does.  compared : the first call that is run eagerly, too.
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
    """AssertionError unless a write to each Array is seen through the same others as in eager code."""
    for parts in (found, expected):
        for i, x in enumerate(leaves(parts)):
            if type(x) is xp.Array and x.ndim:
                with contextlib.suppress(ValueError):  # a read-only view
                    x[...] = i % 2
                    x[:1] = i % 100
    compare(found, expected, f"{what}, after writes", near)


# --- under a tape around the calls --------------------------------------------------------------------
def first_order(tape, y, x):
    return tape.gradient(y, x)


def all_rows(tape, y, x):
    return tape.jacobian(y, x)


def recorded_later(tape, y, x):
    """Return the first derivative, recorded by a tape that was made after the function ran."""
    with xp.GradientTape() as later:
        later.watch(x)
        first = tape.gradient(y, x)
        total = weighted([g for g in first if g is not None])
    return first, later.gradient(total, x)


def twice(tape, y, x):
    """Return two gradients of a persistent tape: the second pass may meet a NaN, too."""
    return tape.gradient(y, x), tape.gradient(y, x, nan="keep")


USES = first_order, all_rows, recorded_later, twice


def weighted(found):
    """Return a real sum in which each element of floating-point Arrays has another weight."""
    answer = xp.zeros(())
    for turn, x in enumerate(leaves(found)):
        if not isinstance(x, xp.Array) or x.dtype.kind not in "fc":
            continue
        weight = np.cos(np.arange(x.size) + turn).reshape(x.shape).astype(x.dtype)
        part = xp.sum(x * xp.asarray(weight))
        answer = answer + (xp.real(part) if x.dtype.kind == "c" else part)
    return answer


def on_a_tape(f, use, given, followed):
    """Return the results of f on a tape, and a derivative of what is computed from them.

    followed : which Arrays are watched; they pass an op before f takes them.
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
    """Compare a function under ``xp.function``, each call on a tape, with itself."""
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
