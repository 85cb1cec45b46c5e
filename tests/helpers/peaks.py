"""How much memory a call takes at its peak."""

import gc
import tracemalloc


def peak_of(run, *, warm=False):
    """Bytes at the peak of a call above those before.  warm : call once before, for what is kept."""
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
