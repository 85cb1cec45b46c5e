#!/usr/bin/env python3
"""Run SciPy's and scikit-learn's own tests, on NumPy data, with interop installed in all threads.

    python tests/third_party/run_interop.py                        # all of SUITES
    python tests/third_party/run_interop.py scipy.linalg           # some of them
    python tests/third_party/run_interop.py scipy.linalg -- -k lu  # what comes after -- goes to pytest

Nobody who computes on NumPy data may notice that interop is there.  What fails runs a second time
without it: the exit code is 0 only when it fails then, too.  Nothing is written into the libraries'
folders.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = (
    "scipy.cluster", "scipy.differentiate", "scipy.fft", "scipy.integrate", "scipy.interpolate",
    "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.spatial", "scipy.stats",
    "sklearn.cluster", "sklearn.covariance", "sklearn.cross_decomposition", "sklearn.decomposition",
    "sklearn.feature_selection", "sklearn.gaussian_process", "sklearn.impute", "sklearn.linear_model",
    "sklearn.manifold", "sklearn.metrics", "sklearn.mixture", "sklearn.neighbors",
    "sklearn.preprocessing", "sklearn.svm",
)  # fmt: skip


def run(suite: str, report: Path, *options: str) -> None:
    """Run a suite, or some of its tests, and have the plugin write down how they ended."""
    library = suite.partition(".")[0]
    root = Path(importlib.util.find_spec(library).origin).parents[1]
    where = [] if any("::" in option for option in options) else ["--pyargs", suite]
    command = [
        sys.executable, "-B", "-m", "pytest", "-c", os.devnull, "--rootdir", str(root),
        "-p", "no:cacheprovider", "-p", "interop_plugin", "--report", str(report), "-q", "-r", "N",
        "--disable-warnings", "--tb=short", *options, *where,
    ]  # fmt: skip
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, cwd=root, check=False)


def ended(report: Path) -> dict[str, str]:
    """How each test ended, by its name."""
    lines = report.read_text().splitlines() if report.exists() else []
    return dict(line.rsplit(" ", 1) for line in lines)


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", help=f"default: {', '.join(SUITES)}")
    given = parser.parse_args(sys.argv[1:at])
    os.environ |= {"OPENBLAS_NUM_THREADS": "1"}
    os.environ.pop("SCIPY_ARRAY_API", None)  # the tests are those of NumPy data
    broken = 0
    for suite in given.suites or SUITES:
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder, "with"), Path(folder, "without")
            run(suite, first, "--interop", *sys.argv[at + 1 :])
            found = ended(first)
            failed = [name for name, how in found.items() if how == "failed"]
            if failed:
                run(suite, second, *failed)
            without = ended(second)
            ours = [name for name in failed if without.get(name) != "failed"]
            broken += len(ours) + (not found)
            passed = sum(how == "passed" for how in found.values())
            print(f"{suite}: {passed} passed with interop, {len(failed)} failed, of which "
                  f"{len(failed) - len(ours)} fail without it, too")  # fmt: skip
            for name in ours:
                print(f"  {name}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
