"""Run the benchmarks in this process and print one table.

    python asv_bench/run.py            # all ratios and counts
    python asv_bench/run.py --smoke    # run each benchmark once, and let asv run them, as a test

The exit code is 1 if a value is over its budget or a benchmark fails.  A time is over its budget if it
is so in `TRIES` measurements; with --smoke, times are not judged.  An aim is for information only.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import pkgutil
import platform
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from smoke import run_asv

# One thread.  Freed memory stays in the process, because otherwise page faults on new memory dominate
# the times of large arrays.
SETTINGS = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
    "MALLOC_TOP_PAD_": str(1 << 26),
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
TRIES = 4
HEADER = ("benchmark", "parameters", "value", "unit", "aim", "budget", "")


class Result(NamedTuple):
    """The result of a benchmark at one choice of its parameters; value is None if it failed."""

    benchmark: str
    parameters: dict[str, Any]
    value: float | None
    unit: str
    budget: float | None
    aim: float | None
    exact: bool

    @property
    def mark(self) -> str:
        if self.value is None:
            return "FAILED"
        if self.budget is None:
            return ""
        return "ok" if self.value <= self.budget else "OVER"

    @property
    def row(self) -> tuple[str, ...]:
        values = ", ".join(str(value) for value in self.parameters.values())
        aim = "" if self.aim is None else f"{self.aim:g}"
        budget = "" if self.budget is None else f"<= {self.budget:g}"
        return self.benchmark, values, number(self.value), self.unit, aim, budget, self.mark


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def with_settings() -> None:
    """Restart this program with SETTINGS in its environment, which the C library reads at the start."""
    if all(os.environ.get(name) == value for name, value in SETTINGS.items()):
        return
    os.environ.update(SETTINGS)
    if os.name == "posix":
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def benchmarks() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every ``track_`` function of the package with its name in asv."""
    package = importlib.import_module("benchmarks")
    for module in pkgutil.iter_modules(package.__path__):
        for name, value in vars(importlib.import_module(f"benchmarks.{module.name}")).items():
            if name.startswith("track_"):
                yield f"{module.name}.{name}", value


def chosen(figure: Any, values: tuple[Any, ...]) -> float | None:
    """Return a benchmark's budget or aim for these parameters.

    figure : the budget or aim, or a dict from values of the first parameter to budgets or aims.
    """
    found: float | None = figure.get(values[0]) if isinstance(figure, dict) else figure
    return found


def measure(only: str, *, smoke: bool) -> Iterator[Result]:
    for name, function in benchmarks():
        if only not in name:
            continue
        for values in itertools.product(*function.params):
            parameters = dict(zip(function.param_names, values, strict=True))
            budget, aim = chosen(function.budget, values), chosen(function.aim, values)
            if smoke and not function.exact:
                budget = None
            value = value_of(function, values, budget)
            yield Result(name, parameters, value, function.unit, budget, aim, function.exact)


def value_of(
    function: Callable[..., Any], values: tuple[Any, ...], budget: float | None
) -> float | None:
    """Return the measured value, or None if the benchmark raised.

    A time above its budget is measured again, up to TRIES times, and the least time is returned.
    """
    try:
        value: float = function(*values)
        for _ in range(TRIES - 1):
            if function.exact or budget is None or value <= budget:
                break
            value = min(value, function(*values))
    except Exception:
        traceback.print_exc()
        return None
    return value


def print_table(results: list[Result]) -> None:
    # Counts come first, because they have no noise.
    rows = [result.row for result in sorted(results, key=lambda result: not result.exact)]
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    rule = tuple("-" * width for width in widths)
    for row in (HEADER, rule, *rows):
        cells = [
            cell.rjust(width) if i in (2, 4) else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def write_json(path: Path, results: list[Result]) -> None:
    numpy, arraytape = (importlib.import_module(name) for name in ("numpy", "arraytape"))
    versions = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "arraytape": arraytape.__version__,
    }
    rows = [{**result._asdict(), "mark": result.mark} for result in results]
    path.write_text(json.dumps({"versions": versions, "results": rows}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="fewer repeats, then a run by asv")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only benchmarks named like that"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there too")
    options = parser.parse_args()
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.parent}")

    if options.smoke:
        os.environ["ARRAYTAPE_BENCH_QUICK"] = "1"
    with_settings()
    warnings.simplefilter("error")

    results = list(measure(options.only, smoke=options.smoke))
    print_table(results)
    if options.json:
        write_json(options.json, results)
    problems = [f"{r.benchmark} {r.row[1]}: {r.mark}" for r in results if r.mark.isupper()]
    ran = sum(result.value is not None for result in results)
    if not ran:
        problems.append("no benchmark ran")
    if options.smoke:
        ran_by_asv, more = run_asv(options.only)
        ran += ran_by_asv
        problems += more

    sys.stdout.flush()
    for problem in problems:
        print(f"bench: {problem}", file=sys.stderr)
    print(f"bench: {ran} benchmarks ran")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
