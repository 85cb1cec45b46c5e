"""Run many programs: ``python -m random_numpy_programs 0 100000``, with tests and src on the path."""

import sys
import time
import traceback

from .shrink import replay

first, last = map(int, sys.argv[1:3])
layout = "layout" in sys.argv
start, bad, skipped = time.time(), 0, 0
for seed in range(first, last):
    try:
        skipped += not replay(seed, layout)
    except AssertionError as error:
        bad += 1
        print(f"--- {error}\n", flush=True)
    except Exception:
        bad += 1
        print(f"--- program {seed}: {traceback.format_exc()}\n", flush=True)
seconds = time.time() - start
print(f"{last - first} programs, {bad} mismatches, {skipped} without a derivative, {(last - first) / seconds:.0f} per second")
