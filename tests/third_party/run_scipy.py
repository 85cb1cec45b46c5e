#!/usr/bin/env python3
"""Run SciPy's and array-api-extra's own tests, as installed, with arraytape as their one ``xp``.

    python tests/third_party/run_scipy.py                      # all of SUBPACKAGES: some three minutes
    python tests/third_party/run_scipy.py stats signal         # some of them
    python tests/third_party/run_scipy.py --taped stats        # on open tapes; without: all but ndimage
    python tests/third_party/run_scipy.py stats -- -x -k skew  # what comes after -- goes to pytest

The last lines are the counts by subpackage.  The exit code is 0 only when nothing failed but what
``scipy_failures.toml`` lists, and all of that did.  Nothing is written into SciPy's folder.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUBPACKAGES = (
    "cluster", "constants", "differentiate", "fft", "integrate", "interpolate", "linalg", "ndimage",
    "optimize", "signal", "spatial", "special", "stats", "_lib", "array_api_extra",
)  # fmt: skip


def module_of(name: str) -> str:
    return "array_api_extra.tests.main" if name == "array_api_extra" else f"scipy.{name}"


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description="Run SciPy's own tests on arraytape.")
    parser.add_argument("subpackages", nargs="*", help=f"default: {', '.join(SUBPACKAGES)}")
    parser.add_argument("--taped", action="store_true", help="watch every array, one tape per test")
    given = parser.parse_args(sys.argv[1:at])
    # On tapes each ``output=`` is followed, and C code writes into a copy of it: see README.md.
    default = [name for name in SUBPACKAGES if not (given.taped and name == "ndimage")]
    # Before SciPy is imported.
    os.environ |= {"SCIPY_ARRAY_API": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE))
    installed = importlib.util.find_spec("scipy")
    if installed is None or installed.origin is None:
        sys.exit("SciPy is not installed: pip install scipy")

    import pytest

    return pytest.main([
        "-c", os.devnull, "--rootdir", str(Path(installed.origin).parents[1]), "--assert=plain",
        "-p", "no:cacheprovider", "-p", "scipy_plugin", "-q", "-r", "fX", "--disable-warnings",
        *["--taped"] * given.taped, *sys.argv[at + 1 :],
        "--pyargs", *map(module_of, given.subpackages or default),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
