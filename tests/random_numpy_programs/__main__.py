"""Run many programs: ``python -m random_numpy_programs FIRST LAST``."""

import sys
import time
from collections import Counter

from .replay import replay


def main(first, last):
    """Check the programs of these seeds; print those that fail, and how many there were."""
    start, failed, skipped = time.time(), 0, Counter()
    for seed in range(first, last):
        try:
            skipped[replay(seed)] += 1
        except AssertionError as error:
            failed += 1
            print(f"{error}\n", flush=True)
    rate = (last - first) / (time.time() - start)
    del skipped[""]
    count = sum(skipped.values())
    print(f"{last - first} programs: {failed} failed, {count} skipped; {rate:.0f} per second")
    for why, times in skipped.most_common():
        print(f"  {times} {why}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
