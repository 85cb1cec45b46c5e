"""Programs that hold Python state in some way under ``xp.function``, which must see it change.

A way to carry a number, a place to find it, a route to read it and changes between calls are drawn from
``state_programs``.  After each call the function is run as it is, too.
"""

import builtins
import colorsys
import contextlib
import decimal
import fractions
import logging
import os
import re
import statistics
import sys
import threading
import types
import warnings
from collections import Counter
from random import Random

import numpy as np
import sklearn

import arraytape as xp
from helpers.replaying import bits

from .attack import Attack
from .state_programs import CARRIERS, PLACES, ROUTES

COUNTS = Counter()
HEAD = """\
import collections, dataclasses, functools, itertools, operator, sys, types, weakref
import numpy as np
import arraytape as xp
made = []
class Wrap:
    def __init__(self, c):
        self.c = c
def contextlib_call(f, c):
    return f(c)
def module(name):
    found = sys.modules[__name__ + '_' + name] = types.ModuleType(__name__ + '_' + name)
    found.__file__ = __file__
    return found
"""
VALUES = (5.0, 7.0, 3.0, 9.0)


def program(carrier, place, route):
    """The text of a module with a function f."""
    value = route.value.replace("{read}", carrier.read).replace("{{", "{").replace("}}", "}")
    return (
        f"{HEAD}{carrier.text}\n{place.text}\n{route.text.replace('{read}', carrier.read)}\n"
        f"def f(x):\n    c = {place.get}\n    return x * {value}\n"
    )


def executed(text, name):
    made = sys.modules[name] = types.ModuleType(name)
    made.__file__ = f"/drawn/{name}.py"
    exec(compile(text, made.__file__, "exec"), made.__dict__)
    return made


def outcome(f):
    """The result as bits, or the exception."""
    try:
        found = f(xp.asarray([1.0, -2.0]))
    except Exception as error:
        return type(error).__name__, re.sub(r"0x\w+|drawn_\d+", "", str(error))[:80]
    return bits(found) if isinstance(found, xp.Array) else np.asarray(found).tobytes()


def changes_of(random, *ways):
    """Some statements that change the state, of each way at least one where it has some."""
    found = [random.choice(way.changes) for way in ways if way.changes]
    every = [change for way in ways for change in way.changes]
    found += [random.choice(every) for _ in range(2)] if every else []
    random.shuffle(found)
    return [change.format(v=VALUES[i % 4]) for i, change in enumerate(found)]


@contextlib.contextmanager
def process_put_back():
    """Leave the process as it was: what programs put into Python's own objects, and its settings."""
    owners = builtins, colorsys, statistics, fractions.Fraction
    owners += threading.current_thread(), logging.getLogger("drawn")
    parts = [dict(vars(owner)) for owner in owners]
    environment, errors, printing = dict(os.environ), np.geterr(), np.get_printoptions()
    modules = {*sys.modules}
    try:
        with decimal.localcontext(), sklearn.config_context():
            yield
    finally:
        for owner, before in zip(owners, parts, strict=True):
            for name in vars(owner).keys() - before:
                delattr(owner, name)
            for name, value in before.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
        os.environ.clear()
        os.environ.update(environment)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        for name in {*sys.modules} - modules:
            if name.startswith("drawn_"):
                del sys.modules[name]


def run(seed):
    """One program, its state changed some times, with calls between."""
    random = Random(seed)
    names = [random.choice([*table]) for table in (CARRIERS, PLACES, ROUTES)]
    ways = CARRIERS[names[0]], PLACES[names[1]], ROUTES[names[2]]
    text, changes = program(*ways), changes_of(random, *ways)
    with process_put_back(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fared = checked(seed, names, text, changes)
    COUNTS[fared] += 1
    return 1


def checked(seed, names, text, changes):
    """Compare after each change; return how it fared."""
    module = executed(text, f"drawn_{seed}")
    f = xp.function(module.f)
    done, replays = [], []
    for change in ["", *changes]:
        with contextlib.suppress(
            Exception
        ):  # what an earlier change has made of it takes no such one
            exec(change, module.__dict__)
        done.append(change)
        before = f.counts["replayed"]
        for call in range(4):
            found, expected = outcome(f), outcome(module.f)
            if found != expected:
                raise AssertionError(
                    f"seed {seed}: {', '.join(names)}: call {call} after {done}: {found} instead of "
                    f"{expected}; {f.counts} {dict(f.reasons)}\n{text}"
                )
        replays.append(f.counts["replayed"] > before)
    if all(replays):
        return "right, replayed"
    reason = f.reasons.most_common(1)[0][0] if f.reasons else "it raises"
    return f"right, {'partly replayed' if any(replays) else 'eager'}: {general(reason)}"


def general(reason):
    """A reason without names."""
    reason = re.sub(r"call \d+|\d+ calls", "calls", reason)
    return re.sub(r"\S*(HELD|made|\.|\[|_)\S*", "...", reason)[:70]


ATTACK = Attack(run, "programs", COUNTS)
