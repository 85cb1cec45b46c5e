"""What is watched, or a primal, amid a program: what it influences afterwards counts, all else does not.

The reference is NumPy: the program runs on complex arrays, and where a value is watched a small
imaginary step is added to its memory.  What was computed before stays; what reads that memory later,
through whatever alias, moves.
"""

import contextlib
import copy
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.array import IS_VIEW

pytestmark = pytest.mark.filterwarnings("ignore:gradient is None")

STEP = 1e-200

VIEWS = [
    lambda x: x[1:],
    lambda x: x[::-1],
    lambda x: x[..., :1],
    lambda x: x[-1:],
    lambda x: x.T,
    lambda x: x[None],
    lambda x: x.reshape(-1),
    lambda x: x[::2],
    lambda x: x[...],
]


class Step(NamedTuple):
    """One statement on numbered arrays: what to do, to which ones, and numbers to do it with."""

    what: str
    one: int
    other: int
    choice: int


def drawn(seed: int, length: int) -> list[Step]:
    """A program: watching is as frequent as the rest."""
    rng = random.Random(seed)
    kinds = ["new", "view", "view", "write", "in place", "sum", "sum", "watch"]
    steps = [Step("sum", 0, 0, 1)]
    for _ in range(length):
        one, other = rng.randrange(100), rng.randrange(100)
        steps.append(Step(rng.choice(kinds), one, other, rng.randrange(1000)))
    return [*steps, *(Step("sum", i, 0, i + 1) for i in range(8))]


class Run:
    """A program on the arrays of a namespace; ``watch(time, array)`` is called where it says so."""

    def __init__(self, steps: list[Step], start: Any, sin: Any, watch: Any) -> None:
        self.sin, self.watch = sin, watch
        self.arrays, self.sums = [start], []
        self.times: list[int] = []  # of each sum: how many steps came before
        self.seen: set[int] = set()
        for time, step in enumerate(steps):
            self.take(step, time)

    def take(self, step: Step, time: int) -> None:
        place = step.one % len(self.arrays)
        x, y = self.arrays[place], self.arrays[step.other % len(self.arrays)]
        if step.what == "new":
            self.arrays.append(self.sin(x) * 0.8 + (x * 0.3 if step.choice % 2 else 0.1))
        elif step.what == "view":
            view = VIEWS[step.choice % len(VIEWS)](x)
            if view.size and view.ndim < 4:
                self.arrays.append(view)
        elif step.what == "write":
            key = (slice(None), slice(0, 1), ..., slice(None, None, -2))[step.choice % 4]
            x[key] = y if y.shape == x[key].shape else self.sin(y).sum()
        elif step.what == "in place":
            self.in_place(x, y if y.shape == x.shape else y.sum(), step.choice)
        elif step.what == "sum":
            self.sums.append((x * x * (step.choice % 5 + 0.5)).sum())
            self.times.append(time)
        elif place not in self.seen:
            self.seen.add(place)
            self.watch(time, x)

    def in_place(self, x: Any, y: Any, choice: int) -> None:
        if choice % 3 == 0:
            x += y * 0.2
        elif choice % 3 == 1:
            x -= self.sin(y)
        else:
            x *= self.sin(y)


def start() -> np.ndarray:
    return np.linspace(0.2, 1.1, 6).reshape(2, 3)


def direction(x: Any) -> np.ndarray:
    return np.cos(np.arange(float(np.prod(x.shape)))).reshape(x.shape)


START = -1  # the time at which the first array is watched, if it is


def expected(steps: list[Step], which: int) -> np.ndarray:
    """The sums' derivatives when the value that is watched at a time moves."""

    def watch(time: int, x: Any) -> None:
        if time == which:
            x += 1j * STEP * direction(x)

    x = start() + 0j
    watch(START, x)
    return np.asarray([s.imag for s in Run(steps, x, np.sin, watch).sums]) / STEP


def along(g: Any, x: Any) -> float:
    return 0.0 if g is None else float(np.sum(np.asarray(g) * direction(x)))


def is_intermediate(tape: Any, x: Any) -> bool:
    """Whether a tape has the whole value already: watching it changes nothing, as in TensorFlow."""
    known, implied = tape._recording.known, tape._recording.implied
    return not x._state & IS_VIEW and x._value_id in known - implied


def recorded(seed: int, tape: Any) -> tuple[Run, dict[int, Any], list[Step]]:
    """A program on a tape, and what was watched when."""
    steps, x = drawn(seed, 16), xp.asarray(start())
    watched: dict[int, Any] = {}

    def watch(time: int, y: Any) -> None:
        if not is_intermediate(tape, y):
            watched[time] = y
            tape.watch(y)

    if seed % 3:
        watch(START, x)
    return Run(steps, x, xp.sin, watch), watched, steps


def assert_near(found: Any, wanted: Any, seed: int) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=f"seed {seed}")


SEEDS = [range(first, first + 25) for first in range(0, 300, 25)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_tape_counts_what_comes_after_the_watch(seeds):
    late = 0
    for seed in seeds:
        with xp.GradientTape(persistent=True) as tape:
            run, watched, steps = recorded(seed, tape)
        for time, y in watched.items():
            wanted = expected(steps, time)
            assert_near([along(tape.gradient(s, y), y) for s in run.sums], wanted, seed)
            late += time != START and bool(wanted.any())
    assert late > 10


@pytest.mark.parametrize("seeds", SEEDS)
def test_all_sums_at_once_in_a_guarded_pass(seeds):
    """The NaN of a root that is not taken makes the pass a guarded one."""
    for seed in seeds:
        with xp.GradientTape() as tape:
            run, watched, steps = recorded(seed, tape)
            total = xp.sum(xp.stack(run.sums))
            total = xp.where(total == total, total, xp.sqrt(total * 0.0))
        found = tape.gradient(total, watched)
        for time, y in watched.items():
            assert_near(along(found[time], y), expected(steps, time).sum(), seed)


@pytest.mark.parametrize("seeds", SEEDS)
def test_an_accumulator_counts_what_comes_after_it_is_entered(seeds):
    for seed in seeds:
        steps, x = drawn(seed, 16), xp.asarray(start())
        entered: dict[int, Any] = {}
        with contextlib.ExitStack() as blocks, xp.GradientTape() as tape:
            tape.watch(x)

            def enter(time, y, entered=entered, blocks=blocks):
                accumulator = xp.ForwardAccumulator(y, xp.asarray(direction(y)))
                entered[time] = blocks.enter_context(accumulator)

            run = Run(steps, x, xp.sin, enter)
        for time, accumulator in entered.items():
            found = [float(t) for t in accumulator.jvp(run.sums, "zero")]
            assert_near(found, expected(steps, time), seed)
            assert not any(t for t, when in zip(found, run.times, strict=True) if when < time)


@pytest.mark.parametrize("seed", range(40))
def test_a_jacobian_of_what_is_watched_late(seed):
    with xp.GradientTape(persistent=True) as tape:
        run, watched, steps = recorded(seed, tape)
        sums = xp.stack(run.sums)
    for time, y in watched.items():
        rows = tape.jacobian(sums, y, unconnected_gradients="zero")
        assert_near([along(row, y) for row in rows], expected(steps, time), seed)


# --- by hand ------------------------------------------------------------------------------------------
@pytest.fixture
def a():
    return xp.asarray([0.3, 0.5, 0.7])


def test_what_the_root_did_before_does_not_count_for_a_view(a):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(a)
        g = xp.cos(a)
        before = 2.0 * g
        k = g[1:2]
        tape.watch(k)
        after = 3.0 * g
    assert tape.gradient(before, k) is None
    assert tape.gradient(after, k).tolist() == [3.0]
    assert tape.gradient([before, after], k).tolist() == [3.0]
    assert tape.gradient(before, g).tolist() == [2.0, 2.0, 2.0]
    assert tape.gradient(after, g).tolist() == [3.0, 3.0, 3.0]
    assert_near(tape.gradient([before, after], a).tolist(), -5.0 * np.sin([0.3, 0.5, 0.7]), 0)


def test_views_that_were_read_before_count_when_they_are_read_after(a):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(a)
        g = xp.cos(a)
        other = g[::-1]
        before = 2.0 * other
        k = g[1:]
        tape.watch(k)
        after = other * xp.asarray([5.0, 7.0, 11.0])
    assert tape.gradient(before, k) is None
    assert tape.gradient(after, k).tolist() == [7.0, 5.0]
    assert tape.gradient([before, after], other).tolist() == [7.0, 9.0, 13.0]


def test_a_root_that_is_watched_after_its_view_counts_from_there_on(a):
    with xp.GradientTape(persistent=True) as tape:
        k = a[1:]
        tape.watch(k)
        before = 2.0 * a
        tape.watch(a)
        after = 3.0 * a
    assert tape.gradient(before, a) is None
    assert tape.gradient(after, a).tolist() == [3.0, 3.0, 3.0]
    assert tape.gradient([before, after], k).tolist() == [5.0, 5.0]


def test_a_copy_made_before_does_not_count(a):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(a)
        twin = copy.copy(a)
        k = a[1:]
        tape.watch(k)
        y = 2.0 * twin
    assert tape.gradient(y, k) is None
    assert tape.gradient(y, a).tolist() == [2.0, 2.0, 2.0]


def test_other_tapes_keep_the_root(a):
    with xp.GradientTape() as paused, xp.GradientTape() as tape:
        paused.watch(a)
        tape.watch(a)
        g = xp.cos(a)
        with paused.stop_recording():
            tape.watch(g[1:])
        y = 2.0 * g
    assert_near(paused.gradient(y, a).tolist(), -2.0 * np.sin([0.3, 0.5, 0.7]), 0)
