"""Graphs of values over commits, as SVG without a library."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from .results import Commit, Series

WIDTH, PLOT = 480, 220  # of the graph, and the height of its area without labels
RIGHT, TOP = 24, 12
LETTER = 6.5  # the width of a letter of the labels, at most
NAME = 16  # letters of a commit's name in a label
SPACING = 26.0  # the least distance of two labels of commits
SLANT = math.radians(30)
# The colours of lines on a light and on a dark page: the hues of Okabe and Ito 2008, which colour-blind
# readers can distinguish, with a contrast to the page of at least 3.
COLOURS = (
    ("#0072b2", "#4aa8e8"),
    ("#d55e00", "#ff8a3d"),
    ("#009068", "#2fc79a"),
    ("#b8558c", "#e39ac4"),
    ("#b97a00", "#f2b53a"),
    ("#2b8ecb", "#9ad4f7"),
    ("#555555", "#b5b5b5"),
    ("#7d6400", "#d0c070"),
)
DASHES = ("", "6 3", "2 3")
PLURAL = re.compile(r"([a-z]+ss)es|([a-z]{3,}[^s])s")  # units such as losses, records; not ms
LOG_FROM = 20.0  # the axis is logarithmic if the greatest value is more than 20 times the least


def number_with_unit(value: float | None, unit: str) -> str:
    """Format a number with its unit, to three digits."""
    if value is None:
        return "-"
    if unit == "seconds":
        for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * factor >= 1.0:
                return f"{value * factor:.3g} {name}"
        return f"{value * 1e9:.3g} ns"
    if unit == "bytes" and value >= 10_240:
        factor, name = next(
            p for p in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")) if value >= p[0]
        )
        return f"{value / factor:.3g} {name}"
    number = f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
    plural = PLURAL.fullmatch(unit) if number == "1" else None
    return f"{number} {plural[1] or plural[2] if plural else unit}"


def sparkline(values: Sequence[float | None], *, width: int = 150, height: int = 36) -> str:
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    step = (width - 8) / max(1, len(values) - 1)
    points = [
        (4 + i * step, height - 4 - (height - 8) * value / most)
        for i, value in enumerate(values)
        if value is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<svg class="spark" width="{width}" height="{height}" role="img">'
        f"<title>over the commits, from zero</title>"
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="currentColor"/></svg>'
    )


class Frame(NamedTuple):
    """The positions of the graph's area, with room for its labels to the left and below."""

    left: float
    bottom: float  # the vertical position of the axis of commits
    height: float  # of the whole graph
    commits: int

    @classmethod
    def around(cls, ticks: Sequence[str], names: Sequence[str]) -> Frame:
        """Return the frame with room for the axis's texts and the slanted names of commits."""
        longest = LETTER * max(map(len, names))
        left = max(LETTER * max(map(len, ticks)) + 12, longest * math.cos(SLANT) - 12)
        bottom = TOP + PLOT
        return cls(left, bottom, bottom + 22 + longest * math.sin(SLANT), len(names))

    def across(self, i: int) -> float:
        """Return the horizontal position of commit ``i``."""
        width = WIDTH - self.left - RIGHT - 20
        return self.left + 20 + (width / 2 if self.commits == 1 else width * i / (self.commits - 1))

    def labelled(self, base: int) -> list[int]:
        """Return the commits that get a label: the newest, the base, and others with enough room."""
        chosen: list[int] = []
        for i in (self.commits - 1, base, *range(self.commits)):
            if all(abs(self.across(i) - self.across(k)) >= SPACING for k in chosen):
                chosen.append(i)
        return chosen


def draw_graph(commits: Sequence[Commit], series: Sequence[Series], base: int) -> str:
    """Return the graph of several series as SVG, and its legend as a list below."""
    values = [value for one in series for value in one.values if value is not None]
    unit = series[0].unit
    names = [short_name(commit.name) for commit in commits]
    height_of, ticks = axis(values)
    texts = [number_with_unit(tick, unit) for tick in ticks]
    frame = Frame.around(texts, names)
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH} {frame.height:.0f}" role="img">'
        f"<title>{escape(series[0].title)}</title>"
    ]
    for tick, text in zip(ticks, texts, strict=True):
        y = height_of(tick)
        parts.append(
            f'<line x1="{frame.left:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{frame.left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    if len(commits) > 1:
        x = frame.across(base)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{frame.bottom}" class="base"/>'
        )
    parts += [
        f'<text transform="translate({frame.across(i):.1f} {frame.bottom + 14:.1f}) rotate(-30)" '
        f'text-anchor="end">{escape(names[i])}<title>{escape(commits[i].name)}</title></text>'
        for i in frame.labelled(base)
    ]
    parts += [drawn(one, i, commits, frame, height_of) for i, one in enumerate(series)]
    legend = "".join(legend_entry(one, i) for i, one in enumerate(series))
    return f'<div class="wide">{"".join(parts)}</svg></div><ul class="legend">{legend}</ul>'


def short_name(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def axis(values: Sequence[float]) -> tuple[Callable[[float], float], list[float]]:
    """Return the function from values to vertical positions, and the ticks of the axis."""
    low, high = min(values), max(values)
    if low > 0 and high / low > LOG_FROM:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        decades = max(1, last - first)

        def log_height(value: float) -> float:
            return TOP + PLOT - PLOT * (math.log10(value) - first) / decades

        return log_height, [10.0**power for power in range(first, last + 1)]
    step = round_tick_step((high or 1.0) / 4)
    count = max(1, math.ceil((high or 1.0) / step - 1e-9))
    return (lambda value: TOP + PLOT - PLOT * value / (step * count)), [
        step * i for i in range(count + 1)
    ]


def round_tick_step(step: float) -> float:
    """Round the distance between two ticks of an axis up to 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(
        factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step - 1e-12 * power
    )


def line_style(number: int) -> str:
    """Return the attributes of the line of series ``number``; colours repeat with other dashes."""
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    colour = f'class="c{number % len(COLOURS)}" stroke="currentColor"'
    return f'{colour} stroke-width="2" stroke-dasharray="{dash}"'


def drawn(
    one: Series, number: int, commits: Sequence[Commit], frame: Frame,
    height_of: Callable[[float], float],
) -> str:  # fmt: skip
    points = [
        (frame.across(i), height_of(value), commits[i], value)
        for i, value in enumerate(one.values)
        if value is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in points)
    parts = [f'<polyline points="{line}" fill="none" {line_style(number)}/>']
    fill = f'class="c{number % len(COLOURS)}" fill="currentColor"'
    for x, y, commit, value in points:
        tooltip = escape(
            f"{commit.name}: {number_with_unit(value, one.unit)}, {one.parameters}".rstrip(", ")
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" {fill}><title>{tooltip}</title></circle>'
        )
    return "".join(parts)


def legend_entry(one: Series, number: int) -> str:
    return (
        f'<li><svg class="key" width="26" height="10"><line x1="1" x2="25" y1="5" y2="5" '
        f"{line_style(number)}/></svg> {escape(one.parameters or 'all')}: "
        f"{escape(number_with_unit(one.values[-1], one.unit))}</li>"
    )
