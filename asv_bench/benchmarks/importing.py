"""What ``import arraytape`` takes, beside the ``import numpy`` that is a part of it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from functools import cache

from . import measure
from .measure import benchmark

# run.py sets the latter; with one thread NumPy's own import is quicker than a user's.
NOT_A_USERS = (
    "PYTHONDONTWRITEBYTECODE",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)
TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module: str, variables: dict[str, str]) -> float:
    """How long the import of a module takes in a process of its own."""
    arguments = [sys.executable, "-c", TIMED.format(module)]
    done = subprocess.run(arguments, env=variables, capture_output=True, text=True, check=True)
    return float(done.stdout)


@cache
def imports() -> dict[str, list[float]]:
    """Seconds of each import, in turn, with byte code that is written first, as pip does."""
    found: dict[str, list[float]] = {"arraytape": [], "numpy": []}
    with tempfile.TemporaryDirectory() as place:
        variables = {k: v for k, v in os.environ.items() if k not in NOT_A_USERS}
        variables |= {"PYTHONPYCACHEPREFIX": place, "PYTHONPATH": os.pathsep.join(sys.path)}
        for module in found:
            seconds(module, variables)
        for _ in range(max(3, round(50 * measure.SECONDS))):
            for module, taken in found.items():
                taken.append(seconds(module, variables))
    return found


@benchmark(
    "x NumPy",
    budget=2.0,
    aim=1.3,
    headline="import beside NumPy's",
    rank=6,
    of=["minimum", "median"],
)
def track_import(of: str) -> float:
    """The import of arraytape, NumPy's included, over that of NumPy."""
    pick = min if of == "minimum" else statistics.median
    found = imports()
    return pick(found["arraytape"]) / pick(found["numpy"])
