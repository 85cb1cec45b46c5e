"""How time and memory of a program grow with its size: the exponent, measured at n, 2n and 4n.

Calls and bytes are the same on every run; seconds are CPU time, the least of a few runs, so that only
what they alone can show, work inside NumPy's own loops, rests on them.
"""

import gc
import math
import sys
import time
import tracemalloc
from functools import partial
from typing import NamedTuple

FACTORS = (1, 2, 4)


class Growth(NamedTuple):
    """Exponents: 1 is linear, 2 quadratic, 0 constant."""

    calls: float
    seconds: float
    bytes: float


def exponent(counts):
    """Return the slope, in logarithms, of counts at n, 2n and 4n."""
    return math.log(max(counts[-1], 1e-9) / max(counts[0], 1e-9)) / math.log(FACTORS[-1])


def calls_of(run, n):
    """Count the functions that are called, Python's and C's."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run(n)
    finally:
        sys.setprofile(before)
    return count


def seconds_of(run, n, times=2):
    """Return the CPU time of a run, the least of a few."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run(n)
        found.append(time.process_time() - start)
    return min(found)


def bytes_of(run, n):
    """Return the most memory that a run holds at once."""
    tracemalloc.start()
    try:
        run(n)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def growth(run, n, attempts=6, limit=1.5, timed=True):
    """Return the exponents of ``run(n)``; seconds, 0 unless timed, are measured again above a limit."""
    run(max(2, n // 10))  # what is made once
    sizes = [n * factor for factor in FACTORS]
    collects = gc.isenabled()
    gc.disable()  # collections look at all objects of the process
    try:
        calls = exponent([calls_of(run, size) for size in sizes])
        held = exponent([bytes_of(run, size) for size in sizes])
        seconds = [seconds_of(run, size) for size in sizes] if timed else [1.0, 1.0, 1.0]
        for _ in range(attempts):
            if exponent(seconds) < limit:
                break
            seconds = [
                min(pair)
                for pair in zip(seconds, map(partial(seconds_of, run), sizes), strict=True)
            ]
    finally:
        if collects:
            gc.enable()
    return Growth(calls, exponent(seconds), held)
