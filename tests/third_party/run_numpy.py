#!/usr/bin/env python3
"""Run NumPy's own tests, as installed, with its functions called on Arrays.

    python tests/third_party/run_numpy.py                         # all of MODULES
    python tests/third_party/run_numpy.py fft lib.tests.test_arraypad
    python tests/third_party/run_numpy.py --taped linalg          # on open tapes
    python tests/third_party/run_numpy.py lib -- -x -k median     # what comes after -- goes to pytest

The last lines are the counts by folder and the reasons of what was refused.  The exit code is 0 only
when nothing failed but what ``numpy_expected.toml`` lists, and all of that did.  Nothing is written
into NumPy's folder.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The numeric functions; not files, text, dates, bits, structured dtypes and scalars.
MODULES = {
    "lib": (
        "array_utils", "arraypad", "arraysetops", "function_base", "histograms", "index_tricks",
        "nanfunctions", "polynomial", "regression", "shape_base", "stride_tricks", "twodim_base",
        "type_check", "ufunclike",
    ),
    "linalg": ("deprecations", "linalg", "regression"),
    "fft": ("helper", "pocketfft"),
    "_core": (
        "einsum", "function_base", "indexerrors", "indexing", "item_selection", "mem_overlap",
        "nep50_promotions", "numeric", "shape_base", "ufunc", "umath", "umath_complex",
    ),
}  # fmt: skip
# NumPy's own settings, which are not installed with its tests, and what is new in pytest.
WARNINGS = (
    "error", "ignore:the matrix subclass", "ignore:Passing a non-Collection iterable",
)  # fmt: skip


def files(root, names):
    """The files of ``lib`` or ``lib.arraypad``."""
    for name in names:
        folder, _, module = name.partition(".")
        for stem in [module] if module else MODULES[folder]:
            yield str(root / "numpy" / folder / "tests" / f"test_{stem}.py")


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description="Run NumPy's own tests on arraytape.")
    parser.add_argument("modules", nargs="*", help=f"default: {', '.join(MODULES)}")
    parser.add_argument("--taped", action="store_true", help="watch every Array, one tape per test")
    given = parser.parse_args(sys.argv[1:at])
    os.environ |= {"OPENBLAS_NUM_THREADS": "1"}  # before NumPy is imported
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE))
    installed = importlib.util.find_spec("numpy")
    root = Path(installed.origin).parents[1]

    import pytest

    return pytest.main([
        "-c", os.devnull, "--rootdir", str(root), "--assert=plain",
        "-p", "no:cacheprovider", "-p", "numpy_plugin", "-q", "-r", "fE",
        *[part for filtered in WARNINGS for part in ("-W", filtered)],
        *["--taped"] * given.taped, *sys.argv[at + 1 :],
        *files(root, given.modules or MODULES),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
