"""The HTML of the dashboard: an overview page, and one page with a graph for each benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from pathlib import Path

from .graphs import COLOURS, draw_graph, number_with_unit, sparkline
from .judgement import (
    BETTER,
    COUNT,
    GONE,
    NEW,
    QUICKER,
    RATIO,
    SAME,
    SLOWER,
    TIME,
    WORSE,
    Change,
    Tile,
    base_of,
    change_of,
    tiles_of,
)
from .results import Commit, Results, Series

# The colours of the pages, in a browser's light mode and in its dark mode.
THEME = {
    "page": ("#ffffff", "#16181c"),
    "text": ("#1c1c1c", "#e6e6e6"),
    "small": ("#666666", "#a8a8a8"),
    "link": ("#0b57a4", "#8ab8f5"),
    "worse": ("#c62828", "#ff8a80"),
    "better": ("#2e7d32", "#81c784"),
    "slower": ("#9a5b00", "#ffb74d"),
    "worse-fill": ("#fdecea", "#3a2020"),
    "better-fill": ("#eef6ee", "#1d2b1f"),
    "rule": ("#d5d5d5", "#44484e"),
    "base": ("#767676", "#9a9a9a"),
    **{f"c{i}": pair for i, pair in enumerate(COLOURS)},
}
LIGHT, DARK = (
    ":root { " + " ".join(f"--{name}: {pair[mode]};" for name, pair in THEME.items()) + " }"
    for mode in (0, 1)
)
STYLE = (
    f"""
{LIGHT}
@media (prefers-color-scheme: dark) {{ {DARK} }}
:root {{ color-scheme: light dark; background: var(--page); color: var(--text); }}
{" ".join(f".c{i} {{ color: var(--c{i}); }}" for i in range(len(COLOURS)))}
"""
    + """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 20px; }
h1 { margin: 0; font-size: 26px; }
h2 { margin: 28px 0 8px; font-size: 19px; }
p { margin: 4px 0; }
a { color: var(--link); }
.small { color: var(--small); font-size: 13px; }
.worse, .failed { color: var(--worse); }
.better { color: var(--better); }
.slower { color: var(--slower); }
.tile, .verdict, tr { color: var(--text); }
.verdict { border-left: 8px solid var(--better); background: var(--better-fill); }
.verdict { padding: 10px 16px; margin: 14px 0; font-size: 19px; }
.verdict.worse { border-color: var(--worse); background: var(--worse-fill); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(245px, 1fr)); gap: 12px; }
.tile { border: 1px solid var(--rule); border-top: 5px solid var(--base); padding: 10px 12px; }
.tile.worse, .tile.failed { border-top-color: var(--worse); }
.tile.better { border-top-color: var(--better); }
.number { font-size: 25px; font-weight: 600; }
.spark { color: var(--c0); display: block; margin-top: 4px; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: 3px 8px; text-align: left; border-bottom: 1px solid var(--rule); }
td.n, th.n { text-align: right; }
td.n { white-space: nowrap; }
tr.worse td, tr.failed td { background: var(--worse-fill); }
.wide { overflow-x: auto; }
h1 { overflow-wrap: anywhere; }
.graph { width: 100%; max-width: 760px; height: auto; }
.legend { list-style: none; padding: 0; columns: 260px; }
@media (max-width: 600px) { body { padding: 12px; } td, th { padding: 3px 5px; } }
.graph .grid { stroke: var(--rule); }
.graph .base { stroke: var(--base); stroke-dasharray: 4 4; }
.graph text { font: 11px system-ui, sans-serif; fill: var(--text); }
"""
)
WORDS = {
    WORSE: "worse",
    SLOWER: "slower",
    QUICKER: "quicker",
    BETTER: "better",
    SAME: "",
    NEW: "new",
    GONE: "failed",
}
ORDER = (GONE, WORSE, SLOWER, QUICKER, BETTER, NEW, SAME)


def write_site(
    results: Results, out: Path, *, title: str = "Benchmarks", base: str | None = None
) -> Path:
    """Write the pages of the site.

    The pages load no other files, so that a browser can open them from a folder.

    Parameters
    ----------
    results : Results
        The results that ``read_results`` returned.
    out : pathlib.Path
        The folder of the site, which is created if it does not exist.
    title : str, default: "Benchmarks"
        The heading of the first page.
    base : str or None, default: None
        The commit to compare with, by a tag or the start of its hash.  None selects the last tagged
        commit before the newest, or else the first measured commit.

    Returns
    -------
    pathlib.Path
        The first page.

    Raises
    ------
    ResultsError
        When the base was not measured.
    """
    at = base_of(results, base)
    changes = [change_of(series, at) for series in results.series]
    (out / "benchmarks").mkdir(parents=True, exist_ok=True)
    index = out / "index.html"
    index.write_text(page(title, first_page(results, changes, at, title)), encoding="utf-8")
    for name, group in groupby(changes, key=lambda change: change.series.benchmark):
        text = benchmark_page(results, list(group), at)
        (out / "benchmarks" / f"{name}.html").write_text(page(name, text), encoding="utf-8")
    return index


def page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


# --- the first page -------------------------------------------------------------------------------
def first_page(results: Results, changes: Sequence[Change], base: int, title: str) -> str:
    commits = results.commits
    tiles = "".join(tile(one, commits[base]) for one in tiles_of(changes, base))
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{commit_heading(commits[-1])} compared with {commit_heading(commits[base])}</p>",
        verdict(changes, len(commits)),
        f'<div class="tiles">{tiles}</div>',
        change_table("Worse", [c for c in changes if c.kind in (WORSE, GONE)], commits, base),
        change_table("Better", [c for c in changes if c.kind == BETTER], commits, base),
        change_table(
            "In seconds", [c for c in changes if c.kind in (SLOWER, QUICKER)], commits, base
        ),
        change_table("All", changes, commits, base),
        f'<p class="small">{escape(about(results))}</p>',
    ]
    return "\n".join(parts)


def commit_heading(commit: Commit) -> str:
    day = datetime.fromtimestamp(commit.date / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    return f"<b>{escape(commit.name)}</b> ({day})"


def verdict(changes: Sequence[Change], commits: int) -> str:
    """Return one sentence with the number of figures that are worse, better or unchanged."""
    counts = {kind: sum(change.kind == kind for change in changes) for kind in ORDER}
    if commits == 1:
        return '<p class="verdict">One commit was measured: there is none to compare it with.</p>'
    bad = counts[WORSE] + counts[GONE]
    words = [f"{counts[GONE]} failed"] * bool(counts[GONE])
    words += [
        f"{counts[WORSE] or 'none'} worse",
        f"{counts[BETTER]} better",
        f"{counts[SAME]} as before",
    ]
    words += [f"{counts[kind]} {kind} in seconds" for kind in (SLOWER, QUICKER) if counts[kind]]
    words += [f"{counts[NEW]} new"] * bool(counts[NEW])
    figures = "1 figure" if len(changes) == 1 else f"{len(changes)} figures"
    said = f"Of {figures}: {', '.join(words)}."
    return f'<p class="verdict {WORSE if bad else SAME}">{said}</p>'


def tile(one: Tile, base: Commit) -> str:
    """Return the HTML of one headline benchmark: its value now and at the commit ``base``."""
    factor = None if not one.base else one.now / one.base
    compared = [change for change in one.changes if change.factor is not None]
    worse = sum(change.kind in (WORSE, GONE) for change in one.changes)
    note = f"{worse} of {len(one.changes)} worse" if worse and len(one.changes) > 1 else ""
    how = f", {escape(one.how)}" if one.how else ""
    before = (
        f"{escape(base.name)}: {escape(number_with_unit(one.base, one.unit))}"
        if compared
        else "no value before"
    )
    return (
        f'<div class="tile {one.kind}"><div>{escape(one.headline)}</div>'
        f'<div class="number">{escape(number_with_unit(one.now, one.unit))}</div>'
        f'<div class="small">{before}{percent(factor)}{how}</div>'
        f'<div class="{WORSE}">{note}</div>{sparkline(one.values)}</div>'
    )


def percent(factor: float | None) -> str:
    if factor is None or not math.isfinite(factor):
        return ""
    if abs(factor - 1.0) < 0.005:
        return " (the same)"
    return f" ({100 * (factor - 1):+.0f}%)" if factor < 2 else f" ({factor:.3g} x)"


def change_table(
    heading: str, changes: Sequence[Change], commits: Sequence[Commit], base: int
) -> str:
    if not changes:
        return ""
    head = (
        f'<tr><th>benchmark</th><th>parameters</th><th class="n">{escape(commits[base].name)}</th>'
        f'<th class="n">{escape(commits[-1].name)}</th><th class="n">change</th><th></th></tr>'
    )
    ordered = changes if heading == "All" else sorted(changes, key=lambda c: -(c.factor or 0))
    return f'<h2>{heading}</h2><div class="wide"><table>{head}{"".join(map(row, ordered))}</table></div>'


def row(change: Change) -> str:
    series = change.series
    return (
        f'<tr class="{change.kind}"><td><a href="benchmarks/{escape(series.benchmark)}.html">'
        f"{escape(series.title)}</a></td><td>{escape(series.parameters)}</td>"
        f'<td class="n">{escape(number_with_unit(change.base, series.unit))}</td>'
        f'<td class="n">{escape(number_with_unit(change.now, series.unit))}</td>'
        f'<td class="n">{percent(change.factor).strip(" ()")}</td>'
        f'<td class="{change.kind}">{WORDS[change.kind]}</td></tr>'
    )


def about(results: Results) -> str:
    """Return sentences on the machine, and on how large a change counts as worse."""
    machine = results.machine
    known = [
        str(machine[name]) for name in ("machine", "cpu", "os", "environment") if machine.get(name)
    ]
    left_out = f"  Not shown: {', '.join(results.others)}." if results.others else ""
    count, ratio, time = (f"{100 * room:.0f}%" for room in (COUNT, RATIO, TIME))
    return (
        f"Measured on {', '.join(known)}.  Less is better.  Worse is a count that is more by {count}, "
        f"or a ratio that is more by {ratio}.  A time in seconds that is more by {time} is slower, but "
        f"not worse: it depends on the load of the machine.{left_out}"
    )


# --- the pages of benchmarks ----------------------------------------------------------------------
def benchmark_page(results: Results, changes: Sequence[Change], base: int) -> str:
    commits, series = results.commits, [change.series for change in changes]
    return "\n".join(
        [
            f'<p><a href="../index.html">all benchmarks</a></p><h1>{escape(series[0].title)}</h1>',
            f'<p class="small">{escape(series[0].benchmark)}; the dashed line is '
            f"{escape(commits[base].name)}</p>",
            draw_graph(commits, series, base),
            f'<div class="wide"><table>{"".join(value_rows(commits, series))}</table></div>',
        ]
    )


def value_rows(commits: Sequence[Commit], series: Sequence[Series]) -> Iterator[str]:
    """Yield a row of the table for each choice of parameters, with the newest commit first."""
    heads = "".join(f'<th class="n">{commit_heading(commit)}</th>' for commit in reversed(commits))
    yield f"<tr><th>parameters</th>{heads}</tr>"
    for one in series:
        cells = "".join(
            f'<td class="n">{escape(number_with_unit(value, one.unit))}</td>'
            for value in reversed(one.values)
        )
        yield f"<tr><td>{escape(one.parameters or 'none')}</td>{cells}</tr>"
