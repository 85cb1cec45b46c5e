"""Run many programs: ``python -m random_numpy_programs FIRST LAST``."""

import sys
import time

from .replay import replay


def main(first, last):
    """Check the programs of these seeds; print those that fail, and how many there were."""
    start, failed, skipped = time.time(), 0, 0
    for seed in range(first, last):
        try:
            skipped += not replay(seed)
        except AssertionError as error:
            failed += 1
            print(f"{error}\n", flush=True)
    rate = (last - first) / (time.time() - start)
    print(f"{last - first} programs: {failed} failed, {skipped} skipped; {rate:.0f} per second")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
