"""Graphs of values over commits, as SVG without a library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from .results import Commit, Series

WIDTH, HEIGHT = 900, 380
LEFT, RIGHT, TOP, BOTTOM = 80, 250, 20, 70
# Okabe and Ito 2008: colours that colour-blind readers can distinguish, too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#a08000")
DASHES = ("", "6 3", "2 3")
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
    return f"{number} {unit}"


def sparkline(values: Sequence[float | None], *, width: int = 150, height: int = 36) -> str:
    """Return a small line of values as SVG, without axes; None in ``values`` is left out."""
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


def draw_graph(commits: Sequence[Commit], series: Sequence[Series], base: int) -> str:
    """Return a graph of one benchmark as SVG: a line for each choice of its parameters.

    base : the index of the commit that is compared with, at which a dashed line is drawn.
    """
    values = [value for one in series for value in one.values if value is not None]
    unit = series[0].unit
    height_of, ticks = vertical_axis(values)
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(series[0].title)}</title>"
    ]
    for tick in ticks:
        y = height_of(tick)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(number_with_unit(tick, unit))}</text>"
        )
    for i, commit in enumerate(commits):
        x, y = horizontal_position(i, len(commits)), HEIGHT - BOTTOM
        if i == base and len(commits) > 1:
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y}" class="base"/>')
        parts.append(
            f'<text transform="translate({x:.1f} {y + 14}) rotate(-30)" text-anchor="end">'
            f"{escape(commit.name)}</text>"
        )
    for i, one in enumerate(series):
        parts.append(draw_series(one, i, commits, height_of))
    return "".join(parts) + "</svg>"


def vertical_axis(values: Sequence[float]) -> tuple[Callable[[float], float], list[float]]:
    """Return the function from values to vertical positions, and the ticks of the axis."""
    low, high = min(values), max(values)
    span = HEIGHT - TOP - BOTTOM
    if low > 0 and high / low > LOG_FROM:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        decades = max(1, last - first)

        def log_height(value: float) -> float:
            return HEIGHT - BOTTOM - span * (math.log10(value) - first) / decades

        return log_height, [10.0**power for power in range(first, last + 1)]
    step = round_tick((high or 1.0) / 4)
    count = max(1, math.ceil((high or 1.0) / step - 1e-9))
    return (lambda value: HEIGHT - BOTTOM - span * value / (step * count)), [
        step * i for i in range(count + 1)
    ]


def round_tick(step: float) -> float:
    """Return the next greater number that is 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(
        factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step - 1e-12 * power
    )


def horizontal_position(i: int, count: int) -> float:
    """Return the horizontal position of commit i of ``count`` commits."""
    width = WIDTH - LEFT - RIGHT - 40
    return LEFT + 20 + (width / 2 if count == 1 else width * i / (count - 1))


def draw_series(
    one: Series, number: int, commits: Sequence[Commit], height_of: Callable[[float], float]
) -> str:
    """Return one series as SVG: a line, a point with a tooltip for each commit, and a legend."""
    colour = COLOURS[number % len(COLOURS)]
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    points = [
        (horizontal_position(i, len(commits)), height_of(value), commits[i], value)
        for i, value in enumerate(one.values)
        if value is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in points)
    parts = [
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/>'
    ]
    for x, y, commit, value in points:
        tooltip = escape(
            f"{commit.name}: {number_with_unit(value, one.unit)}, {one.parameters}".rstrip(", ")
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
            f"<title>{tooltip}</title></circle>"
        )
    y = TOP + 8 + 18 * number
    x = WIDTH - RIGHT + 10
    parts.append(
        f'<line x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/>'
        f'<text x="{x + 30}" y="{y + 4}">{escape(one.parameters or "all")}: '
        f"{escape(number_with_unit(one.values[-1], one.unit))}</text>"
    )
    return "".join(parts)
