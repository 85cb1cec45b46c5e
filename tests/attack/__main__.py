"""Run attacks for a time: ``python -m attack [NAME ...] --minutes 60``."""

import gc
import sys

from .attack import ATTACKS, attack
from .soak import main

if __name__ == "__main__":
    for name in {*ATTACKS} & {*sys.argv[1:]}:
        attack(name)
    gc.freeze()  # a traced call may ask for a collection: what was imported need not be gone through
    sys.exit(main())
