"""Measurements of the benchmarks: bursts in turn, Python frames, bytes.

Nothing here may begin with ``time_``, ``track_``, ``mem_`` or ``peakmem_``: asv takes a function
of such a name for a benchmark wherever it is imported.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from time import process_time
from timeit import Timer
from types import CodeType
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

import arraytape as xp

F = TypeVar("F", bound=Callable[..., Any])
Burst = Callable[[], float]  # runs something some times; CPU seconds per run

QUICK = os.environ.get("ARRAYTAPE_BENCH_QUICK") == "1"
SECONDS = 0.03 if QUICK else 0.2  # of the processor, for one ratio
BURSTS = 3  # at least
BURST = 1e-3 if QUICK else 2e-3  # seconds, about
LONG = 0.1  # seconds


def benchmark(
    unit: str,
    *,
    budget: float | Mapping[Any, float] | None = None,
    aim: float | Mapping[Any, float] | None = None,
    exact: bool = False,
    headline: str = "",
    rank: int = 100,
    **parameters: list[Any],
) -> Callable[[F], F]:
    """Declare a ``track_`` function: its unit, its parameters and the budget, where there is one.

    budget : the most it may be; a mapping goes by the first parameter.  A time's has room for noise.
    aim : what it should come to, for the reader.
    exact : a count, the same on every run.
    headline, rank : the title under which the dashboard's first page has it, and at which place.
    """

    def declare(function: F) -> F:
        names, values = list(parameters), list(parameters.values())
        vars(function).update(unit=unit, budget=budget, aim=aim, exact=exact)
        vars(function).update(headline=headline, rank=rank)
        vars(function).update(param_names=names, params=values)
        return function

    return declare


# --- times ----------------------------------------------------------------------------------------
def ratio(ours: Burst, theirs: Burst) -> float:
    """CPU time of one burst over that of the other: in turn, and the quickest of each counts."""
    end = process_time() + SECONDS
    least_ours = least_theirs = inf
    done = 0
    while done < BURSTS or process_time() < end:
        least_ours = min(least_ours, ours())
        least_theirs = min(least_theirs, theirs())
        done += 1
    return least_ours / least_theirs


def statement(text: str, names: dict[str, Any], number: int) -> Burst:
    """Return a burst of ``number`` runs of a statement; the garbage collector runs as in real life."""
    timer = Timer(text, "gc.enable()", timer=process_time, globals={**names, "gc": gc})
    return lambda: timer.timeit(number) / number


def repeated(call: Callable[[], Any]) -> Burst:
    """Bursts of a call that takes from microseconds to milliseconds."""
    call()
    start = process_time()
    call()
    taken = process_time() - start
    number = max(1, round(BURST / max(taken, 1e-6)))
    # The setup also brings the caches back after the other's turn; a long call does not mind.
    names = {"gc": gc, "call": call}
    setup = "gc.enable()" if taken > LONG else "gc.enable(); call()"
    timer = Timer("call()", setup, timer=process_time, globals=names)
    return lambda: timer.timeit(number) / number


# --- counts ---------------------------------------------------------------------------------------
@cache
def raw_files() -> tuple[str, ...]:
    """Return where frames of a raw call come from: NumPy, and the namespace that ops get as ``xp``."""
    files = [os.path.dirname(np.__file__) + os.sep]

    def forward(x: Any, xp: Any) -> Any:
        files.append(xp.__file__)
        return x + 0.0

    name = f"namespace_{uuid4().hex}"  # there may be a module like this one in the process already
    xp.define_op(name, forward, "nondifferentiable")(xp.asarray(1.0))
    return tuple(files)


def codes(call: Callable[[], Any]) -> list[CodeType]:
    """Return the code of each Python function that a call enters, the call's own included."""
    found: list[CodeType] = []

    def look(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append(frame.f_code)

    call()  # what is looked up once
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def frames(call: Callable[[], Any]) -> int:
    """Return how many Python frames a call enters: without its own and those inside the raw calls."""
    raw = raw_files()
    return sum(not code.co_filename.startswith(raw) for code in codes(call)) - 1


def traced(make: Callable[[], Any]) -> tuple[int, int, Any]:
    """Bytes that a call's result holds, bytes in use at the peak of the call, and the result."""
    gc.collect()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = make()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return held - before, peak - before, result


def records(tape: xp.GradientTape) -> list[tuple[Any, ...]]:
    """Return the records of a tape: the only access past the public functions."""
    return tape._recording.records


def kept_arrays(tape: xp.GradientTape) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that a tape's records keep, each once; of a view, the owner of its memory."""
    found: dict[int, np.ndarray[Any, Any]] = {}
    waiting: list[Any] = list(records(tape))
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple | list):
            waiting.extend(item)
        elif isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            found[id(item)] = item
    return list(found.values())
