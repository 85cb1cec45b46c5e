"""Threads that start together at a tiny switch interval, and what each of them may rely on.

A scenario makes what the threads share and gives what each of them does; ``check`` looks at what came
of it.  Each is played many times: what goes wrong in a window of one instruction shows in one round of
some hundred.
"""

import functools
import inspect
import random
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp
from arraytape import GradientTape, LostGradientError, Variable
from arraytape._record.op import REGISTRY

from .attack import Attack

CREW = 4  # threads
ROUNDS = 20  # of a seed
PATIENCE = 60.0  # seconds until a round counts as hung


class Round(NamedTuple):
    """What the threads do, each one of ``works``, and what must hold of their answers."""

    works: list[Callable[[], Any]]
    check: Callable[[list[Any]], None]


SCENARIOS: dict[str, Callable[[random.Random], Round]] = {}


def scenario(make):
    """Decorator: a function that makes a round of a scenario."""
    SCENARIOS[make.__name__] = make
    return make


# --- playing -----------------------------------------------------------------------------------------
@contextmanager
def tiny_switch_interval():
    """Within it threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def play(name, seed, rounds=ROUNDS):
    """Some rounds of a scenario; AssertionError says what went wrong in which."""
    rng = random.Random(f"{name} {seed}")
    with ThreadPoolExecutor(CREW) as crew, tiny_switch_interval(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(rounds):
            try:
                play_round(crew, SCENARIOS[name](rng))
            except Exception as error:
                raise AssertionError(
                    f"threads, scenario {name}, seed {seed}, round {number}: "
                    f"{''.join(traceback.format_exception(error))}\n"
                    f"{inspect.getsource(SCENARIOS[name])}"
                ) from error
    return rounds


def play_round(crew, round_):
    """Have the threads work, starting together; then check."""
    begin = threading.Barrier(len(round_.works))

    def go(work):
        begin.wait(PATIENCE)
        return work()

    waiting = [crew.submit(go, work) for work in round_.works]
    round_.check([one.result(PATIENCE) for one in waiting])


def same(found, expected, what="values"):
    """The numbers are exactly, or nearly, what they must be."""
    assert found is not None, f"{what}: None for {expected}"
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, err_msg=what)


def each(work):
    """``work(i)`` for each thread."""
    return [functools.partial(work, i) for i in range(CREW)]


def gradient_of(function, *sources):
    """A gradient on a tape of the thread's own."""
    with GradientTape() as tape:
        tape.watch(sources)
        y = function()
    return tape.gradient(y, sources if len(sources) > 1 else sources[0])


# --- writes ------------------------------------------------------------------------------------------
def kept_array(rng, length):
    """An array of ones whose memory a record shares, the tape, and what it recorded."""
    x = xp.asarray(np.ones(length))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        if rng.random() < 0.5:
            y = y * x
    return x, tape, y, 2.0 if y._value_id and len(tape._recording.records) == 1 else 3.0


def fill(x, part, value, how):
    """Write a value to a part of an array, in one of NumPy's ways."""
    if how == "slice":
        x[part] = value
    elif how == "view":
        view = x[part]
        view[...] = value
    elif how == "add":
        view = x[part]
        view += value - 1.0
    elif how == "item add":
        x[part] += value - 1.0
    elif how == "elements":
        for i in range(part.start, part.stop, max(1, (part.stop - part.start) // 16)):
            x[i : min(part.stop, i + max(1, (part.stop - part.start) // 16))] = value
    elif how == "mask":
        x[np.arange(part.start, part.stop)] = value
    elif how == "multiply":
        view = x[part]
        view *= value
    else:
        np.add(x[part], value - 1.0, out=x[part])


WAYS = ("slice", "view", "add", "item add", "elements", "mask", "multiply", "out")


@scenario
def disjoint_writes(rng):
    """Each thread writes to its own slice of an array that a record keeps."""
    n = rng.choice([2, 50, 3000, 30000])
    x, tape, y, slope = kept_array(rng, CREW * n)
    how = rng.choice(WAYS)
    parts = [slice(i * n, (i + 1) * n) for i in range(CREW)]

    def check(_):
        same(x, np.repeat(np.arange(2.0, 2 + CREW), n), f"written by {how}")
        same(tape.gradient(y, x), np.full(CREW * n, slope), "gradient of what was kept")

    return Round(each(lambda i: fill(x, parts[i], 2.0 + i, how)), check)


@scenario
def writes_beside_records(rng):
    """Each thread records with its own slice and writes to it, in turns."""
    n = rng.choice([3, 200, 3000])
    x = xp.asarray(np.ones(CREW * n))
    parts = [slice(i * n, (i + 1) * n) for i in range(CREW)]
    views = [x[part] for part in parts]
    weights = [xp.asarray(np.ones(n)) for _ in parts]
    how = [rng.choice(WAYS[:-1]) for _ in parts]

    def work(i):
        with GradientTape() as tape:
            tape.watch(weights[i])
            y = views[i] * weights[i]
            fill(x, parts[i], 2.0 + i, how[i])
            z = views[i] * weights[i]
            y = y + z
        return tape.gradient(y, weights[i])

    def check(found):
        same(x, np.repeat(np.arange(2.0, 2 + CREW), n), f"written by {how}")
        for i, g in enumerate(found):
            same(g, np.full(n, 3.0 + i), f"gradient in thread {i}, {how[i]}")

    return Round(each(work), check)


@scenario
def writes_on_one_tape(rng):
    """Workers of one tape write what it follows to their own slices of one array."""
    n = rng.choice([1, 5, 300])
    x = xp.asarray(np.ones(CREW * n))
    values = [xp.asarray(np.full(n, 2.0 + i)) for i in range(CREW)]
    add, followed = rng.random() < 0.5, rng.random() < 0.5
    tape = opened()
    tape.watch([*values, x] if followed else values)

    def work(i):
        with tape.in_this_thread():
            view = x[i * n : (i + 1) * n]
            if add:
                view += values[i] * 3.0
            else:
                view[...] = values[i] * 3.0

    def check(_):
        y = xp.sum(x * x)
        tape.__exit__(None, None, None)
        total = np.repeat(3.0 * np.arange(2.0, 2 + CREW) + add, n)
        same(x, total, "written")
        for i, g in enumerate(tape.gradient(y, values)):
            same(g, 6.0 * total[i * n : (i + 1) * n], f"gradient of value {i}, add={add}")

    return Round(each(work), check)


# --- reads -------------------------------------------------------------------------------------------
CUTS = {
    "slice": lambda x: x[2:],
    "step": lambda x: x[::-2],
    "transposed": lambda x: xp.reshape(x, (2, -1)).T,
    "row": lambda x: xp.reshape(x, (2, -1))[1],
    "two steps": lambda x: x[1:][1:],
}


def moved(x, how):
    """Have an array move to other memory, or to another value, after a view of it was made."""
    if how == "kept":
        with GradientTape() as tape:
            tape.watch(x)
            x * x
        x[0] = 7.0
    elif how == "followed":
        with GradientTape() as tape:
            tape.watch(x)
            x * x
    elif how == "written":
        x[0] = 7.0


@scenario
def one_view_read(rng):
    """All threads read one view of an array that has moved since the view was made."""
    n = rng.choice([8, 600, 40000])
    x = xp.asarray(np.arange(1.0, n + 1))
    name = rng.choice([*CUTS])
    view = CUTS[name](x)
    how = rng.choice(["kept", "followed", "written", "new"])
    moved(x, how)
    now = np.array(np.asarray(xp.asarray(x, copy=True)))
    marks = xp.zeros(n)
    expected = CUTS[name](marks)
    expected[...] = 1.0
    slope = 2.0 * now * np.asarray(marks)
    seen = np.array(np.asarray(CUTS[name](xp.asarray(now))))
    watched = rng.random() < 0.7

    def work(_):
        with GradientTape() as tape:
            if watched:
                tape.watch(x)
            else:
                tape.watch(view)
            y = view * view
        return np.array(np.asarray(y)), tape.gradient(y, x if watched else view)

    def check(found):
        for y, g in found:
            same(y, seen * seen, f"{name}, {how}")
            same(g, slope if watched else 2.0 * seen, f"gradient, {name}, {how}")

    return Round(each(work), check)


@scenario
def one_view_on_one_tape(rng):
    """Workers of one tape read one view, which is a source as well."""
    n = rng.choice([4, 300])
    x = xp.asarray(np.arange(1.0, n + 1))
    view = x[1:]
    tape = opened()
    tape.watch(x)

    def work(i):
        with tape.in_this_thread():
            return xp.sum(view * view) * float(i + 1)

    def check(found):
        tape.__exit__(None, None, None)
        whole, part = tape.gradient(found, [x, view])
        slope = 20.0 * np.arange(2.0, n + 1)
        same(whole, np.concatenate([[0.0], slope]), "gradient of the root")
        same(part, slope, "gradient of the view")

    return Round(each(work), check)


@scenario
def one_array_closed_over(rng):
    """Each thread differentiates a function that closes over one Array, or a view of it."""
    n = rng.choice([3, 400])
    w = xp.asarray(np.arange(1.0, 2 * n + 1))
    moved(w, rng.choice(["kept", "followed", "new"]))
    part = w[:n] if rng.random() < 0.6 else xp.asarray(np.arange(1.0, n + 1))
    weights = np.array(np.asarray(xp.asarray(part, copy=True)))
    transform = rng.choice(["gradient", "grad", "vmap", "jacobian", "hessian", "jvp"])
    points = [np.linspace(0.5, 1.5 + i, 3) for i in range(CREW)]

    def function(x):
        return xp.sum(part * part * xp.sin(part)) * xp.sum(x**3)

    factor = np.sum(weights * weights * np.sin(weights))

    def work(i):
        x = xp.asarray(points[i])
        if transform == "gradient":
            return gradient_of(lambda: function(x), x)
        if transform == "grad":
            return xp.grad(function)(x)
        if transform == "vmap":
            return xp.vmap(lambda u: xp.sum(part * part * xp.sin(part)) * 3.0 * u * u)(x)
        if transform == "jacobian":
            return xp.jacobian(lambda u: function(u) + 0.0 * u)(x)[0]
        if transform == "hessian":
            return xp.sum(xp.hessian(function)(x), axis=0)
        return xp.jvp(function, (x,), (xp.ones(3),))[1]

    def check(found):
        for g, x in zip(found, points, strict=True):
            slope = 3.0 * x**2 * factor
            slope = 6.0 * x * factor if transform == "hessian" else slope
            expected = np.sum(slope) if transform == "jvp" else slope
            np.testing.assert_allclose(np.asarray(g), expected, rtol=1e-9, err_msg=transform)

    return Round(each(work), check)


# --- one tape ----------------------------------------------------------------------------------------
def opened(**options):
    """A persistent tape whose block is open in the thread that makes the round."""
    tape = GradientTape(persistent=True, **options)
    tape.__enter__()
    return tape


@scenario
def workers_of_one_tape(rng):
    """Workers record on one tape, and some take its gradients while the others record."""
    n = rng.choice([3, 500])
    x = xp.asarray(np.arange(1.0, n + 1))
    v = Variable(np.arange(1.0, n + 1))
    options = rng.choice([{}, {"profile": True}, {"memory_limit": 1 << 40}, {"exits": "raise"}])
    tape = opened(**options)
    tape.watch(x)
    shared = x * 2.0
    view = shared[1:]
    asks = [rng.random() < 0.5 for _ in range(CREW)]

    def work(i):
        with tape.in_this_thread():
            y = xp.sum(view * view) + xp.sum(x * x) + xp.sum(v * v)
            for _ in range(3):
                y = y * 1.0
        return (y, tape.gradient(y, [x, v])) if asks[i] else (y, None)

    slope = np.arange(1.0, n + 1) * 10.0
    slope[0] = 2.0

    def check(found):
        tape.__exit__(None, None, None)
        for y, early in found:
            for gradients in (early, tape.gradient(y, [x, v])):
                if gradients is not None:
                    same(gradients[0], slope, "gradient of the Array")
                    same(gradients[1], 2.0 * np.arange(1.0, n + 1), "gradient of the Variable")
        if "profile" in options:
            rows = {row.name: row.records for row in tape.summary().rows}
            assert rows["sum"] == 3 * CREW, rows

    return Round(each(work), check)


@scenario
def one_array_watched(rng):
    """Workers of one tape watch one Array, its root or its views, and use them."""
    n = rng.choice([4, 300])
    x = xp.asarray(np.arange(1.0, n + 1))
    tape = opened()
    handles = [x[1:] if rng.random() < 0.4 else x for _ in range(CREW)]
    together = [rng.choice(handles) for _ in range(CREW)]

    def work(i):
        with tape.in_this_thread():
            tape.watch(together[i])
            return xp.sum(together[i] ** 3)

    def check(found):
        tape.__exit__(None, None, None)
        for handle, y in zip(together, found, strict=True):
            now = np.array(np.asarray(handle))
            same(tape.gradient(y, handle), 3.0 * now**2, f"shape {handle.shape}")

    return Round(each(work), check)


@scenario
def derivatives_of_one_tape(rng):
    """All threads ask one persistent tape for gradients and Jacobians."""
    x = xp.asarray(np.arange(1.0, 5.0))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        part = x[1:]
        y = part * part * xp.sum(x)
        x[0] = 9.0
        z = xp.sum(y * part)
    now = np.arange(1.0, 5.0)
    rows = np.outer(now[1:] ** 2, np.ones(4))
    rows[:, 1:] += np.diag(2.0 * now[1:] * 10.0)
    slope = np.full(4, np.sum(now[1:] ** 3))
    slope[1:] += 3.0 * now[1:] ** 2 * 10.0
    jacobians = [rng.random() < 0.5 for _ in range(CREW)]

    def work(i):
        return tape.jacobian(y, x) if jacobians[i] else tape.gradient(z, x)

    def check(found):
        for g, is_jacobian in zip(found, jacobians, strict=True):
            same(g, rows if is_jacobian else slope, "Jacobian" if is_jacobian else "gradient")

    return Round(each(work), check)


# --- memory that leaves ------------------------------------------------------------------------------
@scenario
def exports_beside_watching(rng):
    """Some threads take NumPy's memory of an array, while others watch it and record with it."""
    n = rng.choice([3, 200, 5000])
    x = xp.asarray(np.arange(1.0, n + 1))
    view = x[1:]
    moved(x, rng.choice(["kept", "new", "followed"]))
    now = np.array(np.asarray(xp.asarray(x, copy=True)))
    roles = [rng.choice(["export", "watch", "view", "hold", "buffer"]) for _ in range(CREW)]
    held = []

    def work(i):
        role = roles[i]
        if role == "watch":
            return gradient_of(lambda: x * x, x)
        if role == "view":
            return gradient_of(lambda: view * view, view)
        if role == "hold":
            held.append(np.asarray(view))
            return np.array(held[-1])
        if role == "buffer":
            return np.array(memoryview(np.asarray(x)))
        return np.array(np.asarray(x))

    def check(found):
        expected = {"watch": 2.0 * now, "view": 2.0 * now[1:], "hold": now[1:]}
        for role, answer in zip(roles, found, strict=True):
            same(answer, expected.get(role, now), f"{role} of {roles}")
        g, written = kept_then_written(x)
        same(g, 2.0 * now, f"gradient after a write, {roles}")
        same(x, written, f"after a write, {roles}")

    return Round(each(work), check)


def kept_then_written(x):
    """A gradient of what a record kept before a write, and what stands there then."""
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    source = tape._recording.watched[id(x)].handle
    x[...] = 5.0
    return tape.gradient(y, source), np.full(x.shape, 5.0)


@scenario
def exits_of_threads(rng):
    """Each thread has a tape and a value that leaves it: the error names each thread's own line."""
    x = xp.asarray(2.0 + rng.random())
    lines = [f"<thread {rng.random()}>" for _ in range(CREW)]
    source = "def leave(x):\n    number = float(x * 1.0)\n    return x * number\n"

    def work(i):
        scope = {}
        exec(compile(source, lines[i], "exec"), scope)
        with GradientTape(exits="raise") as tape:
            tape.watch(x)
            y = scope["leave"](x)
        try:
            return f"no error, but {tape.gradient(y, x)}"
        except LostGradientError as error:
            return str(error)

    def check(found):
        for line, message in zip(lines, found, strict=True):
            assert line in message, (line, message)
            assert not any(other in message for other in lines if other != line), message

    return Round(each(work), check)


@scenario
def exits_of_one_tape(rng):
    """Values leave in workers of one tape: each gradient that lacks a part is refused."""
    x = xp.asarray(2.0 + rng.random())
    tape = opened(exits="raise")
    tape.watch(x)
    leaves = [rng.random() < 0.6 for _ in range(CREW)]
    y = x * 3.0

    def leaving(i):
        number = float(y * (i + 1.37))
        return xp.exp(xp.sin(x)) * number

    def staying():
        return xp.exp(xp.sin(x)) * y

    def work(i):
        with tape.in_this_thread():
            return leaving(i) if leaves[i] else staying()

    def check(found):
        tape.__exit__(None, None, None)
        for z in (z for z, left in zip(found, leaves, strict=True) if left):
            try:
                g = tape.gradient(z, x)
            except LostGradientError:
                continue
            raise AssertionError(f"{g} for what left, {leaves}")

    return Round(each(work), check)


@scenario
def writes_beside_other_tapes(rng):
    """Threads with a tape of their own write to what another's follows: its gradient is refused."""
    n = rng.choice([3, 500])
    ways = [rng.choice(("slice", "view", "add", "item add", "mask", "multiply")) for _ in range(2)]
    follows = [rng.random() < 0.5 for _ in range(2)]
    made, written = ([threading.Event() for _ in range(2)] for _ in "12")
    arrays = [None, None]

    def record(i):
        v = xp.asarray(np.arange(1.0, n + 1))
        with GradientTape(exits="raise") as tape:
            tape.watch(v)
            arrays[i] = v * 2.0
            first = xp.sum(arrays[i])
            made[i].set()
            assert written[i].wait(PATIENCE)
            y = first + xp.sum(arrays[i] ** 2)
        try:
            return f"no error, but {tape.gradient(y, v)}, {ways[i]}"
        except LostGradientError:
            return ""

    def write(i):
        assert made[i].wait(PATIENCE)
        with GradientTape() as tape:
            if follows[i]:
                tape.watch(arrays[i])
            if ways[i] == "multiply":
                arrays[i] *= 3.0
            else:
                fill(arrays[i], slice(1, 2), 7.0, ways[i])
        written[i].set()
        return ""

    def check(found):
        assert not any(found), found

    return Round([functools.partial(f, i) for i in range(2) for f in (record, write)], check)


# --- state -------------------------------------------------------------------------------------------
@scenario
def one_variable(rng):
    """Threads add to a Variable, assign to another and differentiate with both."""
    n = rng.choice([3, 500, 5000])
    total, replaced = Variable(np.zeros(n)), Variable(np.ones(n))
    how = rng.choice(["assign_add", "+=", "item", "assign_sub"])
    times = 3

    def add():
        if how == "assign_add":
            total.assign_add(np.ones(n))
        elif how == "assign_sub":
            total.assign_sub(-1.0)
        elif how == "item":
            total[...] = total.value() * 0.0 + 1.0
        else:
            other = total
            other += 1.0

    def work(i):
        found = []
        for k in range(times):
            add()
            replaced.assign(np.full(n, 2.0 + i + k))
            with GradientTape() as tape:
                value = replaced.value()
                y = value * value
            found.append((np.array(np.asarray(value)), tape.gradient(y, replaced)))
        return found

    def check(found):
        expected = 1.0 if how == "item" else float(times * CREW)
        same(total, np.full(n, expected), f"Variable after {how}")
        for value, g in (one for answers in found for one in answers):
            assert np.all(value == value[0]), value
            same(g, 2.0 * value, "gradient of a Variable")

    return Round(each(work), check)


@scenario
def variable_items(rng):
    """Each thread writes to its own slice of one Variable."""
    n = rng.choice([2, 400])
    v = Variable(np.zeros(CREW * n))

    def work(i):
        v[i * n : (i + 1) * n] = 1.0 + i

    def check(_):
        same(v, np.repeat(np.arange(1.0, 1 + CREW), n), "Variable")

    return Round(each(work), check)


# --- what is made when it is first needed ------------------------------------------------------------
@scenario
def first_calls(rng):
    """All threads call an op that nobody has called yet, or plans that nobody has made."""
    name = f"attacked_{rng.getrandbits(60)}"
    word, rules = rng.choice(
        [
            ("elementwise", [lambda t, x2: t * x2, lambda t, x1: t * x1]),
            ("primitive", [lambda g, x2, xp: g * x2, lambda g, x1, xp: g * x1]),
        ]
    )
    op = xp.define_op(name, lambda x1, x2, *, scale=1.0: scale * x1 * x2, word, *rules)
    x1, x2 = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([4.0, 5.0, 6.0])
    wide = [rng.random() < 0.5 for _ in range(CREW)]

    def work(i):
        other = xp.asarray([[4.0, 5.0, 6.0]] * 2) if wide[i] else x2
        return gradient_of(lambda: xp.sum(op(x1, other)), x1)

    def check(found):
        del REGISTRY[name]
        for i, g in enumerate(found):
            same(g, np.array([4.0, 5.0, 6.0]) * (2.0 if wide[i] else 1.0), f"gradient of {word}")

    return Round(each(work), check)


FIRST_USES = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import arraytape as xp

x, w = xp.asarray([[0.3, 0.7], [0.2, 0.6]]), xp.asarray([[1.0, 2.0], [3.0, 5.0]])
USES = [
    lambda x: xp.exp(x), lambda x: xp.sin(x) * w, lambda x: x @ w, lambda x: xp.sum(x, axis=0),
    lambda x: xp.where(x > 0.5, x, w), lambda x: xp.concat([x, w]), lambda x: x.sum() * w,
    lambda x: xp.cumulative_sum(x, axis=0), lambda x: np.tanh(x), lambda x: np.mean(x, axis=1),
    lambda x: x.real * w,
    lambda x: np.sort(x, axis=0), lambda x: xp.special.erf(x), lambda x: xp.special.gammaln(x + 1.0),
    lambda x: xp.linalg.solve(x, w), lambda x: xp.fft.fft(x).real, lambda x: xp.nn.relu(x) * w,
    lambda x: xp.vmap(lambda u: xp.sum(u * u))(x), lambda x: xp.stack([x, w, x]), lambda x: x**w,
    lambda x: xp.maximum(x, w), lambda x: xp.linalg.svd(x)[1], lambda x: x.reshape(-1) * 2.0,
    lambda x: xp.take(x, xp.asarray([0, 0]), axis=0), lambda x: np.einsum("ij,jk->ik", x, w),
    lambda x: divmod(x, w)[1], lambda x: xp.recompute_grad(lambda u: u * u)(x), lambda x: -x / w,
    lambda x: xp.custom_gradient(lambda u: (u * 2.0, lambda g: g * 2.0))(x),
]

def gradients(order):
    found = {}
    for i in order:
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = USES[i](x)
        found[i] = np.array(tape.gradient(y, x))
    return found

def start(i):
    order = [int(k) for k in np.random.default_rng(SEED).permutation(len(USES))]
    begin.wait()
    return gradients(order)

sys.setswitchinterval(1e-6)
begin = threading.Barrier(4)
with ThreadPoolExecutor(4) as crew:
    found = list(crew.map(start, range(4)))
expected = gradients(range(len(USES)))
for answers in found:
    for i, g in expected.items():
        np.testing.assert_allclose(answers[i], g, err_msg=str(i))
print(len(USES))
"""


def first_uses(seed):
    """All threads use for the first time what a new process loads, compiles and plans; how many uses."""
    script = f"SEED = {seed}{FIRST_USES}"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stderr}\n{script}"
    return int(ran.stdout)


def run(seed):
    """Some rounds of one scenario."""
    names = [*SCENARIOS, "first uses"]
    name = names[seed % len(names)]
    return first_uses(seed) if name == "first uses" else play(name, seed)


ATTACK = Attack(run, "rounds")
