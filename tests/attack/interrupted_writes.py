"""Interrupts in writes, caught inside a recorder's block: data and derivative are old or new.

Of each Array of a scenario the data and the derivative must be those before the write or those after
it; where NumPy may have written a part, the derivative is an error that says so.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape

from .injection import Injection
from .left_behind import left_behind, tidy_up

TABLE = {}
ERRORS = (KeyboardInterrupt, MemoryError)
SAMPLE = 40
REFUSED = "refused"


VIEWS = {
    "a root": lambda x: x,
    "a view": lambda x: x[...],
    "a part": lambda x: xp.reshape(x, (-1,))[::-1],
    "a kept root": lambda x: (x * x, x)[1],
}


def put(x, v):
    x[1:] = v[1:]


def put_by_integers(x, v):
    x[xp.asarray([0, 2, 0])] = v * 2.0


def put_by_mask(x, v):
    x[xp.asarray([True, False, True])] = v[0]


def put_a_number(x, v):
    x[0] = 7.0


def put_single(x, v):
    x[:2] = xp.astype(v, xp.float32)[:2]


def add(x, v):
    x += v


def subtract_a_number(x, v):
    x -= 1.0


def add_single(x, v):
    x += xp.astype(v, xp.float32)


def multiply(x, v):
    x *= v


def multiply_by_itself(x, v):
    x *= x


def power(x, v):
    x **= 2.0


def numpys_out(x, v):
    np.add(x, v, out=x)


def numpys_where(x, v):
    np.exp(v, out=x, where=np.asarray([True, False, True]))


def add_at(x, v):
    np.add.at(x, [0, 0, 1], v)


def put_method(x, v):
    np.put(x, [0, 2], v[:2])


def putmask(x, v):
    np.putmask(x, np.asarray([True, False, True]), v)


def place(x, v):
    np.place(x, np.asarray([True, False, True]), v[:2])


def copyto(x, v):
    np.copyto(x, v * 3.0)


def fill(x, v):
    x.fill(v[0])


def sort(x, v):
    x.sort()


def partition(x, v):
    x.partition(1)


def flat(x, v):
    x.flat = v * 2.0


def flat_item(x, v):
    x.flat[1] = v[0]


def real(x, v):
    x.real = v * 2.0


def fill_diagonal(x, v):
    np.put_along_axis(x, np.asarray([0, 1]), v[:2], 0)


for _act in (
    put, put_by_integers, put_by_mask, put_a_number, put_single, add, subtract_a_number, add_single,
    multiply, multiply_by_itself, power, numpys_out, numpys_where, add_at, put_method, putmask, place,
    copyto, fill, sort, partition, flat, flat_item, real, fill_diagonal,
):  # fmt: skip
    for _kind, _view in VIEWS.items():
        TABLE[f"{_act.__name__.replace('_', ' ')} of {_kind}"] = _act, _view


class Reverse:
    """The gradient of a sum of each Array, by a tape."""

    def __init__(self, v):
        self.v, self.tape = v, GradientTape(persistent=True)

    def __enter__(self):
        self.tape.__enter__()
        self.tape.watch(self.v)
        return self

    def __exit__(self, *error):
        self.tape.__exit__(*error)

    def of(self, y):
        return self.tape.gradient(y, self.v, unconnected_gradients="zero")


class Forward:
    """The derivative of a sum of each Array, by an accumulator."""

    def __init__(self, v):
        self.accumulator = ForwardAccumulator(v, xp.asarray([1.0, 10.0, 100.0]))

    def __enter__(self):
        self.accumulator.__enter__()
        return self

    def __exit__(self, *error):
        self.accumulator.__exit__(*error)

    def of(self, y):
        return self.accumulator.jvp(y, unconnected_gradients="zero")


RECORDERS = {"tape": Reverse, "accumulator": Forward}


def observed(name, recorder, at, error):
    """Data and derivative of each Array after a write that ``error`` interrupts at a bytecode."""
    act, view = TABLE[name]
    v = xp.asarray([0.5, 1.5, 2.5])
    weights = xp.asarray([1.0, 2.0, 4.0])
    with RECORDERS[recorder](v) as rec:
        root = xp.asarray([12.0, 1.0, 4.0]) * v
        x = view(root)
        beside = root[1:]
        beside.sum()
        with Injection(at, error) as injection:
            try:
                if at != -1:
                    act(x, v)
            except BaseException:
                pass
        handles = {"root": root, "x": x, "beside": beside}
        sums = {key: xp.sum(h * weights[: h.shape[0]]) for key, h in handles.items()}
    found = {}
    for key, h in handles.items():
        try:
            derivative = np.asarray(rec.of(sums[key])).tolist()
        except LookupError as told:
            derivative = REFUSED if "did not finish" in str(told) else str(told)
        except Exception as told:
            derivative = f"{type(told).__name__}: {told}"
        found[key] = np.asarray(h).tolist(), derivative
    return found, injection


@functools.cache
def expected_of(name, recorder):
    observed(name, recorder, None, None)
    old, _ = observed(name, recorder, -1, None)
    new, injection = observed(name, recorder, None, None)
    assert old != new, name
    return old, new, injection.count


def sweep(name, rng=None, recorder=None):
    """Interrupts of one write: at some places of a generator's choice, or at every one."""
    recorder = recorder or (rng.choice(sorted(RECORDERS)) if rng else "tape")
    findings, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old, new, places = expected_of(name, recorder)
        chosen = range(places) if rng is None else rng.sample(range(places), min(SAMPLE, places))
        for at in chosen:
            error = ERRORS[at % 2]
            found, injection = observed(name, recorder, at, error)
            count += 1
            left = left_behind()
            wrong = judged(found, old, new) or "; ".join(left)
            if left:
                tidy_up()
            if wrong:
                where = f"{error.__name__} at bytecode {at}, {injection.where}"
                findings.append(f"{name} on a {recorder}, {where}: {wrong}")
    return count, findings


def judged(found, old, new):
    """What is wrong: Arrays whose data and derivative are neither both old nor both new."""
    for key, (data, derivative) in found.items():
        if derivative == REFUSED:
            continue
        if (data, derivative) not in (old[key], new[key]):
            return f"{key} is {data} with {derivative}; old {old[key]}, new {new[key]}"
    seen = {
        "old" if found[key] == old[key] else "new"
        for key in found
        if old[key] != new[key] and found[key][1] != REFUSED
    }
    return f"some Arrays are old and some new: {found}" if len(seen) > 1 else None
