"""Time of ``import arraytape``, which includes ``import numpy``, divided by that of ``import numpy``.

The package imports most modules at their first use.  Therefore a second benchmark includes a gradient.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from functools import cache

from . import measure
from .measure import benchmark

# Environment variables that users do not set.  run.py sets numbers of threads; with one thread, NumPy's
# import is faster than a user's.
NOT_A_USERS = (
    "PYTHONDONTWRITEBYTECODE",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)
TIMED = "import time; t = time.process_time()\n{}\nprint(time.process_time() - t)"
GRADIENT = """import arraytape as xp
x = xp.asarray([1.0, 2.0])
with xp.GradientTape() as tape:
    tape.watch(x)
    y = xp.sum(x * x)
tape.gradient(y, x)"""
PROGRAMS = {"arraytape": "import arraytape", "numpy": "import numpy", "gradient": GRADIENT}


def seconds(program: str, variables: dict[str, str]) -> float:
    """Run a program in a new process; return its CPU seconds without those of Python's start."""
    arguments = [sys.executable, "-c", TIMED.format(program)]
    done = subprocess.run(arguments, env=variables, capture_output=True, text=True, check=True)
    return float(done.stdout)


@cache
def imports() -> dict[str, list[float]]:
    """Run the programs in turn, many times; return a dict from a program's name to its CPU seconds.

    A first run of each program, which writes the byte code as pip does, is not measured.
    """
    found: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as place:
        variables = {k: v for k, v in os.environ.items() if k not in NOT_A_USERS}
        variables |= {"PYTHONPYCACHEPREFIX": place, "PYTHONPATH": os.pathsep.join(sys.path)}
        for program in PROGRAMS.values():
            seconds(program, variables)
        for _ in range(max(3, round(50 * measure.SECONDS))):
            for name, taken in found.items():
                taken.append(seconds(PROGRAMS[name], variables))
    return found


def ratio(program: str, of: str) -> float:
    """Return the minimum or median of a program's times, divided by that of ``import numpy``.

    of : "minimum" or "median".
    """
    pick = min if of == "minimum" else statistics.median
    found = imports()
    return pick(found[program]) / pick(found["numpy"])


@benchmark("x NumPy", budget=1.3, headline="import over NumPy's", rank=6, of=["minimum", "median"])
def track_import(of: str) -> float:
    """Measure the import of arraytape (with NumPy), divided by the import of NumPy."""
    return ratio("arraytape", of)


@benchmark("x NumPy", budget=2.0, aim=1.5, of=["minimum", "median"])
def track_first_gradient(of: str) -> float:
    """Measure the import of arraytape and a first gradient, divided by the import of NumPy."""
    return ratio("gradient", of)
