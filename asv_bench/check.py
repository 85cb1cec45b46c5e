"""Compare the benchmarks of this tree with those of another commit, for CI.

    python asv_bench/check.py v0.4.0                       # or: make bench-check BASE=v0.4.0
    python asv_bench/check.py main --only memory           # only benchmarks with this text in the name
    python asv_bench/check.py main --accept track_records  # allow this benchmark to cost more

The benchmarks of this tree measure both source trees, in processes that run in turn.

- A count (frames, records, bytes) fails if it is larger than in BASE, or larger than its budget.  Bytes
  may grow by `TOLERANCE` of the budget (or of the count without a budget), because tracemalloc's counts
  vary a little.  Frames and records must not grow.
- A time is a ratio to NumPy in the same process.  A time that is `SUSPECT` times that of BASE is
  measured again in new processes, up to `ROUNDS` times.  It fails if both the medians and the least
  times are `SLOWER` times those of BASE.

The exit code is 1 if a benchmark costs more or failed, 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import json
import os
import pkgutil
import subprocess
import sys
import tarfile
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from run import SETTINGS, chosen

HERE = Path(__file__).resolve().parent
TOLERANCE = 0.02
WHOLE = ("frames", "records")  # units of counts that must not grow at all
SUSPECT = 1.12
SLOWER = 1.2
ROUNDS = 5
CLEAR = 1.35
ENOUGH = 3  # rounds after which a suspect with a clear result is not measured again
MOST = 12  # the largest number of suspects that are measured again, the worst first
SECONDS, LONGER = 0.06, 0.2  # seconds for one ratio, at the first and at further measurements


class Case(NamedTuple):
    """One benchmark at one choice of its parameters."""

    name: str
    index: int  # index in the product of the parameters' values
    label: str
    exact: bool
    budget: float | None
    unit: str = ""


class Verdict(NamedTuple):
    """The comparison of one case: values in BASE and in this tree, and the judgement ``said``."""

    case: Case
    base: float | None
    head: float | None
    said: str
    fails: bool

    @property
    def change(self) -> float | None:
        if self.base is None or self.head is None or not self.base:
            return None
        return self.head / self.base


# --- functions that run in the measuring processes ------------------------------------------------
def listed(only: str) -> tuple[dict[str, Callable[..., Any]], list[Case], dict[str, str]]:
    """Return the benchmarks by name, their cases, and the modules that could not be imported."""
    functions, cases, missing = {}, [], {}
    package = importlib.import_module("benchmarks")
    wanted, dot, _ = only.partition(".")
    for module in pkgutil.iter_modules(package.__path__):
        if dot and not module.name.endswith(wanted):
            continue
        try:
            found = vars(importlib.import_module(f"benchmarks.{module.name}"))
        except Exception as error:  # an older tree may lack a function that a newer benchmark uses
            missing[module.name] = f"{type(error).__name__}: {error}"
            continue
        for name, function in found.items():
            full = f"{module.name}.{name}"
            if not name.startswith("track_") or only not in full:
                continue
            functions[full] = function
            for index, values in enumerate(itertools.product(*function.params)):
                label = ", ".join([full, *map(str, values)])
                budget = chosen(function.budget, values)
                cases.append(Case(full, index, label, function.exact, budget, function.unit))
    return functions, cases, missing


def work(only: str) -> None:
    """Print the list of benchmarks as JSON, then a value for each request on standard input."""
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)  # the output of benchmarks goes to standard error
        functions, cases, missing = listed(only)
        where = importlib.import_module("arraytape").__file__
        print(json.dumps({"cases": cases, "missing": missing, "where": where}), file=answers)
        for line in sys.stdin:
            name, index, seconds = json.loads(line)
            try:
                answer: dict[str, Any] = {"value": value_of(functions[name], index, seconds)}
            except Exception:
                answer = {"error": traceback.format_exc()}
            print(json.dumps(answer), file=answers)


def value_of(function: Callable[..., Any], index: int, seconds: float) -> float:
    """Run one case of a benchmark and return its value.

    index : the number of the case among all combinations of the benchmark's parameters.
    seconds : if the value is a ratio of two times, the CPU seconds for which both sides are run in turn.
    """
    measure, importing = (
        importlib.import_module(f"benchmarks.{name}") for name in ("measure", "importing")
    )
    measure.SECONDS = seconds
    importing.imports.cache_clear()
    values = next(itertools.islice(itertools.product(*function.params), index, None))
    value: float = function(*values)
    return value


class Worker:
    """A process that measures one source tree."""

    def __init__(self, source: Path, only: str) -> None:
        environment = {**os.environ, **SETTINGS, "PYTHONHASHSEED": "0"}
        environment["PYTHONPATH"] = os.pathsep.join([str(source), str(HERE)])
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(HERE / "check.py"), "--work", only],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        said = self.read()
        if not Path(said["where"]).resolve().is_relative_to(source.resolve()):
            raise SystemExit(f"check: measured {said['where']}, which is not in {source}")
        self.cases = {case.label: case for case in (Case(*fields) for fields in said["cases"])}
        self.missing: dict[str, str] = said["missing"]

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"check: a measuring process ended: {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def measure(self, case: Case, seconds: float) -> float | None:
        """Return the value of a case, or None if the benchmark failed; ``error`` then has the reason."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([case.name, case.index, seconds]) + "\n")
        self.process.stdin.flush()
        answer = self.read()
        if "error" in answer:
            self.error = answer["error"]
            return None
        value: float = answer["value"]
        return value

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Trees:
    """The two source trees with the processes that measure them in turn."""

    def __init__(self, base: Path, head: Path, only: str) -> None:
        self.sources, self.only = (base, head), only
        self.workers: list[Worker] = []

    def start_again(self) -> None:
        """Start new processes, because times depend on memory addresses, which differ by process."""
        self.close()
        for source in self.sources:
            self.workers.append(Worker(source, self.only))

    def measure(self, case: Case, seconds: float) -> tuple[float | None, float | None]:
        base, head = self.workers
        old = base.measure(case, seconds) if case.label in base.cases else None
        return old, head.measure(case, seconds)

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self.workers = []


# --- the judgement --------------------------------------------------------------------------------
Pair = tuple[float | None, float | None]
Measure = Callable[[Case, float], Pair]


def allowed(case: Case, base: float) -> float:
    """Return the largest allowed value of a count."""
    if case.unit in WHOLE:
        return base
    return base + TOLERANCE * abs(base if case.budget is None else case.budget)


def judge_count(case: Case, measure: Measure) -> Verdict:
    """Return the Verdict on a count, from the least of up to three measurements.

    tracemalloc also counts memory that is freed a little later.
    """
    base, head = measure(case, SECONDS)
    for _ in range(2):
        if base is None or head is None or head <= allowed(case, base):
            break
        again_base, again_head = measure(case, SECONDS)
        base = min(base, again_base) if again_base is not None else base
        head = min(head, again_head) if again_head is not None else head
    if head is None:
        return Verdict(case, base, head, "failed", True)
    if case.budget is not None and head > case.budget:
        return Verdict(case, base, head, f"over its budget of {case.budget:g}", True)
    if base is None:
        return Verdict(case, base, head, "new", False)
    if head > allowed(case, base):
        return Verdict(case, base, head, "more than before", True)
    less = base > head + allowed(case, base) - base
    return Verdict(case, base, head, "less than before" if less else "", False)


def first_look(case: Case, measure: Measure) -> Verdict:
    """Return the Verdict on a time from one measurement; a ``suspect`` is measured again later."""
    base, head = measure(case, SECONDS)
    if head is None:
        return Verdict(case, base, head, "failed", True)
    if base is None:
        return Verdict(case, base, head, "new", False)
    said = "suspect" if head > SUSPECT * base else "faster" if base > SLOWER * head else ""
    return Verdict(case, base, head, said, False)


def ratios(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the ratio of the medians and the ratio of the least times."""
    base, head = zip(*pairs, strict=True)
    return median(head) / median(base), min(head) / min(base)


def judge_suspects(
    suspects: Sequence[Verdict], measure: Measure, start_again: Callable[[], None]
) -> list[Verdict]:
    """Measure suspects in new processes until it is clear whether they are slower."""
    pairs: dict[str, list[tuple[float, float]]] = {one.case.label: [] for one in suspects}
    open_ones, failed = list(suspects), []
    for turn in range(ROUNDS):
        if not open_ones:
            break
        start_again()
        for one in list(open_ones):
            base, head = measure(one.case, LONGER)
            if base is None or head is None:
                failed.append(
                    one._replace(head=None, said="failed when measured again", fails=True)
                )
                open_ones.remove(one)
                continue
            pairs[one.case.label].append((base, head))
            by_least = min(ratios(pairs[one.case.label]))
            if turn + 1 >= ENOUGH and not SUSPECT <= by_least <= CLEAR:
                open_ones.remove(one)
    gone = {one.case.label for one in failed}
    found = [judged(one, pairs[one.case.label]) for one in suspects if one.case.label not in gone]
    return found + failed


def judged(one: Verdict, pairs: Sequence[tuple[float, float]]) -> Verdict:
    slower = min(ratios(pairs)) > SLOWER
    base, head = (median(values) for values in zip(*pairs, strict=True))
    return Verdict(one.case, base, head, "slower" if slower else "", slower)


def compare(trees: Trees) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts on all cases, and the texts of other errors."""
    trees.start_again()
    base, head = trees.workers
    problems = [f"benchmarks.{name}: {error}" for name, error in head.missing.items()]
    for name, error in base.missing.items():
        if name not in head.missing:
            print(f"check: BASE cannot run benchmarks.{name}: {error}", file=sys.stderr)
    cases = head.cases.values()
    verdicts = [judge_count(case, trees.measure) for case in cases if case.exact]
    verdicts += [first_look(case, trees.measure) for case in cases if not case.exact]
    for one in verdicts:
        if one.said == "failed":
            print(head.error, file=sys.stderr)

    suspects = [one for one in verdicts if one.said == "suspect"]
    suspects.sort(key=lambda one: one.change or 0.0, reverse=True)
    by_label: dict[str, Verdict] = {}
    while suspects and not any(one.fails for one in by_label.values()):
        sure = judge_suspects(suspects[:MOST], trees.measure, trees.start_again)
        by_label |= {one.case.label: one for one in sure}
        del suspects[:MOST]
    return [by_label.get(one.case.label, one) for one in verdicts], problems


# --- source trees, output and exit code -----------------------------------------------------------
@contextlib.contextmanager
def source_of(revision: str) -> Iterator[Path]:
    """Unpack the folder `src` of a commit into a temporary folder and yield its path."""
    command = ["git", "-C", str(HERE.parent), "archive", revision, "src"]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        print(
            f"check: no commit {revision!r} here ({said}); a clone with its history has it",
            file=sys.stderr,
        )
        raise SystemExit(2)
    with tempfile.TemporaryDirectory(prefix="bench_check_") as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder) / "src"


def shown(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each case that changed, failed or is new."""
    for one in sorted(verdicts, key=lambda one: not one.fails):
        if not one.said:
            continue
        old, new = ("-" if value is None else f"{value:.4g}" for value in (one.base, one.head))
        change = "" if one.change is None else f" ({one.change:.2f} x)"
        mark = "FAILS" if one.fails else "     "
        yield f"{mark} {one.case.label}: {old} -> {new}{change} {one.said}"


def accepted(verdicts: Sequence[Verdict], patterns: Sequence[str]) -> list[Verdict]:
    return [
        one._replace(fails=False, said=f"{one.said}, accepted")
        if one.fails and one.head is not None and any(text in one.case.label for text in patterns)
        else one
        for one in verdicts
    ]


def conclude(verdicts: Sequence[Verdict], problems: Sequence[str]) -> int:
    """Print the verdicts and return the exit code."""
    for line in shown(verdicts):
        print(line)
    compared = sum(one.change is not None for one in verdicts)
    failing = sum(one.fails for one in verdicts)
    waiting = sum(one.said == "suspect" for one in verdicts)
    for problem in problems:
        print(f"check: {problem}", file=sys.stderr)
    print(f"check: {compared} compared, {failing} dearer or failed", end="")
    print(f", {waiting} more look slower" if waiting else "")
    if failing or problems:
        return 1
    if not compared:
        print("check: nothing was compared", file=sys.stderr)
        return 2
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("base", help="a commit, tag or branch")
    parser.add_argument("--head", type=Path, default=HERE.parent / "src", help="the folder of ours")
    parser.add_argument("--only", default="", metavar="TEXT", help="benchmarks named like that")
    parser.add_argument("--accept", action="append", default=[], metavar="TEXT")
    options = parser.parse_args(arguments)
    with (
        source_of(options.base) as base,
        contextlib.closing(Trees(base, options.head, options.only)) as trees,
    ):
        verdicts, problems = compare(trees)
    return conclude(accepted(verdicts, options.accept), problems)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        sys.exit(main())
