"""The figures of docs/howto/benchmarks.md: a picture of README's ratios, and a table of counts.

``make ratios`` measures the ratios and writes them into README; ``asv_bench/run.py`` measures counts.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pages

# The name of a benchmark, a parameter that it must have, and the text of its row.
SHOWN = (
    ("counts.track_frames", "no tape", "Python frames of an op without a tape, most of six ops"),
    ("counts.track_frames", "recorded", "Python frames of an op that a tape records"),
    ("counts.track_records", "mlp", "records of a step of a multilayer perceptron"),
    ("counts.track_records", "logistic regression", "records of a step of a logistic regression"),
    ("memory.track_bytes_per_record", "", "bytes of a record, most of four ops"),
    ("memory.track_kept_ratio", "", "data that a chain of relu, exp and tanh keeps"),
    ("memory.track_peak_ratio", "", "peak of its gradient"),
    ("memory.track_peak_of_large_elementwise_ops", "", "peak of large elementwise ops"),
    ("memory.track_peak_of_a_deep_net", "", "peak of a deep net"),
)


# --- counts ---------------------------------------------------------------------------------------
def measured(only: str) -> dict[str, Any]:
    """Run the benchmarks of asv_bench/run.py whose names contain ``only``; return its JSON output."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = [
            sys.executable,
            str(pages.ROOT / "asv_bench" / "run.py"),
            "--only",
            only,
            "--json",
            str(found),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        text: dict[str, Any] = json.loads(found.read_text())
    return text


def table() -> str:
    """Return a table with a row for each of ``SHOWN``, and the versions it was measured with."""
    runs = [measured(only) for only in ("counts", "memory")]
    results = [result for run in runs for result in run["results"]]
    rows = ["| what | value | budget |", "| --- | --- | --- |"]
    for name, parameter, words in SHOWN:
        chosen = [
            result
            for result in results
            if result["benchmark"] == name
            and (not parameter or parameter in result["parameters"].values())
        ]
        most = max(chosen, key=lambda result: float(result["value"]))
        budget = "" if most["budget"] is None else f"{most['budget']:g}"
        rows.append(f"| {words} | {most['value']:.4g} {most['unit']} | {budget} |")
    versions = runs[0]["versions"]
    with_what = f"Python {versions['python']}, NumPy {versions['numpy']}"
    return "\n".join([*rows, "", f"Counted with {with_what}."])


# --- the picture ----------------------------------------------------------------------------------
WIDTH, LEFT, RIGHT, TOP, BAND = 860, 330, 30, 64, 34
LOWEST, HIGHEST = 0.05, 50.0
TICKS = (0.1, 0.3, 1, 3, 10, 30)
STYLE = """\
    .ground { fill: #ffffff }
    text { font: 13px sans-serif; fill: #1f2328; dominant-baseline: central }
    .tick { fill: #656d76; font-size: 11px; text-anchor: middle }
    .line { stroke: #8c959f; stroke-width: 0.6 }
    .one { stroke: #57606a; stroke-width: 1.4 }
    .a { fill: #0969da } .b { fill: #54aeff } .c { fill: #bc4c00 } .d { fill: #1a7f37 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117 }
      text { fill: #e6edf3 }
      .tick { fill: #8d96a0 }
      .line { stroke: #6e7681 }
      .one { stroke: #8d96a0 }
    }"""
Table = list[list[str]]


def ratios() -> Table:
    """Return the header and the rows of README's table of ratios."""
    begin, end = pages.ends_of("ratios")
    written = pages.PAGES["ratios"].text().partition(begin)[2].partition(end)[0]
    lines = [line for line in written.splitlines() if line.startswith("|")]
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def across(ratio: float) -> float:
    """Return the x coordinate of a ratio on the logarithmic axis."""
    share = math.log(ratio / LOWEST) / math.log(HIGHEST / LOWEST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def mark(kind: str, x: float, y: float) -> str:
    """Return a disc, square, diamond or triangle, so that marks also differ without colours."""
    if kind == "a":
        return f'  <circle class="a" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    shapes = {"b": "M-5 -5H5V5H-5Z", "c": "M0 -7 7 0 0 7 -7 0Z", "d": "M0 -7 6.5 5H-6.5Z"}
    return f'  <path class="{kind}" transform="translate({x:.1f} {y:.1f})" d="{shapes[kind]}"/>'


def picture(found: Table) -> str:
    """Return an SVG with a line for each step, on which marks show the ratios."""
    header, *rows = found
    height = TOP + BAND * len(rows) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Steps as multiples of a gradient written by hand in NumPy">',
        f"  {pages.mark('benchmarks_picture')}",
        f"  <style>\n{STYLE}\n  </style>",
        '  <rect class="ground" width="100%" height="100%"/>',
    ]
    for i, (kind, name) in enumerate(zip("abcd", header[1:], strict=True)):
        parts += [mark(kind, 20 + 150 * i, 16), f'  <text x="{32 + 150 * i}" y="16">{name}</text>']
    for tick in TICKS:
        x = across(tick)
        kind = "one" if tick == 1 else "line"
        parts.append(f'  <path class="{kind}" d="M{x:.1f} {TOP - 8}V{height - 6}"/>')
        parts.append(f'  <text class="tick" x="{x:.1f}" y="{TOP - 18}">{tick:g}</text>')
    for i, (name, *values) in enumerate(rows):
        y = TOP + BAND * (i + 0.5)
        parts.append(f'  <text x="4" y="{y:.1f}">{name}</text>')
        given = zip("abcd", values, strict=True)
        parts += [mark(kind, across(float(value)), y) for kind, value in given if value]
    return "\n".join([*parts, "</svg>", ""])


def page(old: str) -> str:
    return pages.between(old, pages.ends_of("benchmarks"), table())


def picture_page(_: str) -> str:
    return picture(ratios())
