"""Measurement of the exponents with which a program's time and memory grow with its size.

The program runs at sizes n, 2n and 4n.  Counts of calls and bytes are the same in every run.  Seconds
are the least CPU time of a few runs; only they show work inside NumPy's loops.
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
    """The exponents of calls, seconds and bytes: 0 is constant, 1 linear, 2 quadratic."""

    calls: float
    seconds: float
    bytes: float


def exponent(counts):
    """Return the exponent of growth from the counts at n, 2n and 4n."""
    return math.log(max(counts[-1], 1e-9) / max(counts[0], 1e-9)) / math.log(FACTORS[-1])


def calls_of(run, n):
    """Return the number of calls of Python and C functions in ``run(n)``."""
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
    """Return the least CPU time of ``times`` runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run(n)
        found.append(time.process_time() - start)
    return min(found)


def bytes_of(run, n):
    tracemalloc.start()
    try:
        run(n)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def growth(run, n, attempts=6, limit=1.5, timed=True):
    """Return the Growth of ``run(n)``: the exponents with which its calls, time and memory grow with n.

    Seconds are measured again, up to ``attempts`` times, while their exponent exceeds ``limit``.
    With ``timed=False``, seconds are not measured, and their exponent is 0.
    """
    run(max(2, n // 10))  # fills caches
    sizes = [n * factor for factor in FACTORS]
    collects = gc.isenabled()
    gc.disable()  # a collection takes time that depends on all objects of the process
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
