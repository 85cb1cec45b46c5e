"""The page of scikit-learn's estimators and metrics and of their derivatives on Arrays.

Each estimator is fitted to Arrays under a tape, outside and inside ``interop.sklearn()``.  Every method
and fitted attribute is differentiated with respect to the data and a continuous target.  The gradients
are compared with central differences of fits to perturbed NumPy data.  An estimator that takes longer
than a minute and a half is listed as not tried.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import warnings
from collections import Counter

import pages
from helpers import estimator_rows as rows
from helpers import estimators as sweep

SECONDS = 90
HEAD = f"""# scikit-learn's estimators and metrics

{pages.mark("estimators_table")}

This page lists, for each estimator, the methods and fitted attributes that have derivatives. Each
estimator was fitted to small data, with `array_api_dispatch=True`. The derivatives of each method and
of each attribute of floating point, with respect to the data and a continuous target, were compared
with central differences of fits to changed NumPy data. The relative error is at most 1e-5, or the
number in brackets where such differences are less exact. **No gradient was wrong without a warning or
an error.**

- **outside**: what happens without a context. "yes": all derivatives are right. "in part": some are.
  "warns": a gradient lacks a part, and a warning names the line. "leaves": results are NumPy data or
  numbers, and their gradient is an error. "constant": the derivative is zero. "refuses": the call
  raises an error.
- **differentiates**: what has right derivatives inside `with arraytape.interop.sklearn():`.
- **constant**: what has the derivative zero wherever it exists, such as labels and scores that count.
- **not**: what gives a warning or an error inside the context, with the reason.

Methods get other data than the fit, on the same tape. Parameters are such that a fit ends at its
solution. Attributes that are tables of a search (`alphas_`, `best_score_`) stay NumPy data.
"""
TABLE = """
| estimator | outside | differentiates | constant | not |
| --- | --- | --- | --- | --- |
"""
METRICS = """
## Metrics

| metric | outside | inside |
| --- | --- | --- |
"""


class TooSlow(Exception):
    """The signal that an estimator exceeded its time limit."""


def too_slow(*_: object) -> None:
    raise TooSlow


def limited(name: str) -> str:
    """Return the row of an estimator, or a row that says that it exceeded the time limit."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(SECONDS)
    try:
        return rows.estimator_row(name)
    except TooSlow:
        return f"| {name} |  |  |  | not tried: takes longer than {SECONDS} seconds |"
    except Exception as error:  # a failure must not cost the other rows
        return f"| {name} |  |  |  | WRONG: the sweep failed: {rows.reason(sweep.said(error))} |"
    finally:
        signal.alarm(0)


def cells_of(line: str) -> list[str]:
    """Return the cells of a row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def summary(lines: list[str]) -> str:
    """Return a sentence with the numbers of estimators that have derivatives."""
    cells = [cells_of(line) for line in lines]
    whole = sum(bool(right) and not rest for _, _, right, _, rest in cells)
    part = sum(bool(right) and bool(rest) for _, _, right, _, rest in cells)
    constant = sum(not right and bool(flat) for _, _, right, flat, _ in cells)
    outside = Counter(cell[1] for cell in cells)
    return (
        f"\nOf {len(lines)} estimators, {outside['yes']} have derivatives without a context, and "
        f"{outside['in part']} in part. Inside the context, {whole} have derivatives, {part} have them "
        f"in part, {constant} are constant, and {len(lines) - whole - part - constant} give an error or "
        "a warning.\n"
    )


def rows_in_page(heading: str) -> list[str]:
    """Return the rows of one of the page's tables."""
    _, _, table = pages.PAGES["estimators_table"].text().partition(heading)
    lines = table.partition("\n\n")[0].splitlines()
    return [line for line in lines if line.startswith("| ")]


def name_of(line: str) -> str:
    return cells_of(line)[0]


def swept(names: list[str]) -> list[str]:
    """Return the rows of estimators, computed in parallel; print each row when it is done."""
    count, lines = min(4, os.cpu_count() or 1), []
    with multiprocessing.get_context("fork").Pool(count, maxtasksperchild=20) as pool:
        for line in pool.imap_unordered(limited, names):
            print(line, flush=True)
            lines.append(line)
    return lines


def page(_: str, *names: str) -> str:
    """Return the whole page, or the present page with new rows for the named estimators."""
    lines = swept([*names] or [*sweep.kinds()])
    if names:
        lines += [line for line in rows_in_page(TABLE) if name_of(line) not in names]
        metric_lines = rows_in_page(METRICS)
    else:
        metric_lines = [rows.metric_row(name) for name in sweep.metric_names()]
    lines.sort(key=str.casefold)
    text = HEAD + summary(lines) + TABLE + "\n".join(lines) + "\n" + METRICS
    return text + "\n".join(metric_lines) + "\n"
