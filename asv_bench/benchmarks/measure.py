"""Functions that measure CPU times, Python frames and bytes for the benchmarks.

No name here may begin with ``time_``, ``track_``, ``mem_`` or ``peakmem_``, because asv treats a
function with such a name as a benchmark in every module that imports it.
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
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

import arraytape as xp

F = TypeVar("F", bound=Callable[..., Any])
Burst = Callable[[], float]  # runs a step several times and returns CPU seconds per run

QUICK = os.environ.get("ARRAYTAPE_BENCH_QUICK") == "1"
SECONDS = 0.03 if QUICK else 0.2  # CPU seconds for one ratio
BURSTS = 3  # the least number of bursts for each side of a ratio
BURST = 1e-3 if QUICK else 2e-3  # the approximate seconds of one burst
LONG = 0.1  # seconds of a call above which the caches are not warmed up before a burst


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
    """Return a decorator that declares a ``track_`` function as a benchmark.

    unit, parameters : the unit of the value, and the lists of the parameters' values.
    budget : the largest allowed value, or a mapping by the first parameter; times have room for noise.
    aim : the value to reach, for information only.
    exact : True for a count that is the same in every run.
    headline, rank : the title and the position on the first page of the dashboard.
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
    """Run both bursts in turn for SECONDS; return the quotient of their least CPU times."""
    end = process_time() + SECONDS
    least_ours = least_theirs = inf
    done = 0
    while done < BURSTS or process_time() < end:
        least_ours = min(least_ours, ours())
        least_theirs = min(least_theirs, theirs())
        done += 1
    return least_ours / least_theirs


def statement(text: str, names: dict[str, Any], number: int) -> Burst:
    """Return a burst of ``number`` runs of a statement, with the garbage collector on."""
    timer = Timer(text, "gc.enable()", timer=process_time, globals={**names, "gc": gc})
    return lambda: timer.timeit(number) / number


def repeated(call: Callable[[], Any]) -> Burst:
    """Return a burst of a call, with as many runs as fit in BURST seconds."""
    call()
    start = process_time()
    call()
    taken = process_time() - start
    number = max(1, round(BURST / max(taken, 1e-6)))
    # The setup loads the caches again, which the other side's burst emptied; for a long call this has
    # no effect.
    names = {"gc": gc, "call": call}
    setup = "gc.enable()" if taken > LONG else "gc.enable(); call()"
    timer = Timer("call()", setup, timer=process_time, globals=names)
    return lambda: timer.timeit(number) / number


# --- counts ---------------------------------------------------------------------------------------
@cache
def raw_files() -> tuple[str, ...]:
    """Return the files whose frames belong to raw calls: NumPy's, and that of the raw namespace."""
    files = [os.path.dirname(np.__file__) + os.sep]

    def forward(x: Any, xp: Any) -> Any:
        files.append(xp.__file__)
        return x + 0.0

    name = f"namespace_{uuid4().hex}"  # unique, because another copy of this module may be loaded
    xp.define_op(name, forward, "nondifferentiable")(xp.asarray(1.0))
    return tuple(files)


def codes(call: Callable[[], Any]) -> list[CodeType]:
    """Return the code object of each Python function that runs in a call, including the call itself."""
    found: list[CodeType] = []

    def look(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append(frame.f_code)

    call()  # fills caches
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def frames(call: Callable[[], Any]) -> int:
    """Return the number of Python frames of a call, without its own and those in ``raw_files``."""
    raw = raw_files()
    return sum(not code.co_filename.startswith(raw) for code in codes(call)) - 1


def traced(make: Callable[[], Any]) -> tuple[int, int, Any]:
    """Return the bytes that a call's result holds, the peak bytes of the call, and the result."""
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


# Objects through which ``arrays_within`` does not look, because they refer to the whole program.
WHOLE_PROGRAM = (ModuleType, type, FunctionType, BuiltinFunctionType, CodeType, FrameType)


def arrays_within(thing: Any) -> list[np.ndarray[Any, Any]]:
    """Return the NumPy arrays to which an Array or tape refers, each once.

    For a view, the owner of its memory is returned.  The garbage collector knows the references, so that
    no private attribute is named here, and older commits can be measured.
    """
    found: dict[int, np.ndarray[Any, Any]] = {}
    seen: set[int] = set()
    waiting: list[Any] = [thing]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, WHOLE_PROGRAM):
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            found[id(item)] = item
        else:
            waiting += gc.get_referents(item)
    return list(found.values())
