"""Measurement of the peak memory of a call."""

import gc
import tracemalloc


def peak_of(run, *, warm=False):
    """Return the peak of traced memory during ``run()`` minus the memory before, in bytes.

    warm : call once before, so that caches are filled.
    """
    if warm:
        run()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del result
    return peak - before
