"""Comparison of the newest commit with an earlier one, the base: which figures are worse or better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .results import Results, ResultsError, Series

# Relative differences below these limits are noise.  Counts have hardly any, but bytes vary a little.
COUNT, RATIO, TIME = 0.01, 0.15, 0.30

WORSE, BETTER, SAME, NEW, GONE = "worse", "better", "same", "new", "failed"
# A time in seconds depends on the load of the machine, so its change is listed, but is not "worse".
SLOWER, QUICKER = "slower", "quicker"


class Change(NamedTuple):
    """The change of a series from the base (the commit to compare with) to the newest commit."""

    series: Series
    base: float | None
    now: float | None
    kind: str

    @property
    def factor(self) -> float | None:
        """Return the newest value divided by the base's value; None if either is missing.

        The factor is infinite if only the base's value is 0.
        """
        if self.base is None or self.now is None:
            return None
        if self.base == 0:
            return 1.0 if self.now == 0 else math.inf
        return self.now / self.base


class Tile(NamedTuple):
    """A tile on the first page: one value for several series with the same headline."""

    headline: str
    unit: str
    how: str  # how several series are combined: "most of 3" or "mean of 3"
    values: Sequence[float | None]  # by commit
    changes: Sequence[Change]
    base: float | None
    now: float

    @property
    def kind(self) -> str:
        """The tile's kind of change: the worst of the kinds in ``changes``."""
        kinds = {change.kind for change in self.changes}
        return next((kind for kind in (GONE, WORSE, BETTER) if kind in kinds), SAME)


def base_of(results: Results, wanted: str | None) -> int:
    """Return the index of the commit to compare with, the base.

    If ``wanted`` is None, the base is the last tagged commit before the newest, or else the first
    commit.  Raise ResultsError if ``wanted`` was not measured.
    wanted : the name or hash of a commit, or None.
    """
    earlier = results.commits[:-1]
    if wanted is not None:
        for i, commit in enumerate(results.commits):
            if commit.name == wanted or commit.hash.startswith(wanted):
                return i
        known = ", ".join(commit.name for commit in results.commits)
        raise ResultsError(f"{wanted!r} was not measured: {known}")
    tagged = [i for i, commit in enumerate(earlier) if commit.tagged]
    return tagged[-1] if tagged else 0


def noise_limit(series: Series) -> float:
    """Return the relative difference up to which two values of a series count as equal."""
    if series.exact:
        return COUNT
    return TIME if series.unit == "seconds" else RATIO


def change_of(series: Series, base: int) -> Change:
    """Return the change of a series between the commit with the index ``base`` and the newest one."""
    before, now = series.values[base], series.values[-1]
    if now is None:
        return Change(series, before, now, GONE if before is not None else SAME)
    if before is None:
        return Change(series, before, now, NEW)
    room = noise_limit(series) * abs(before)
    worse, better = (SLOWER, QUICKER) if series.unit == "seconds" else (WORSE, BETTER)
    kind = worse if now > before + room else better if now < before - room else SAME
    return Change(series, before, now, kind)


def tiles_of(changes: Sequence[Change], base: int) -> Iterator[Tile]:
    """Yield a tile for each headline of the series, in the order of their ranks."""
    groups: dict[tuple[int, str, str], list[Change]] = {}
    for change in changes:
        series = change.series
        if series.headline:
            groups.setdefault((series.rank, series.headline, series.unit), []).append(change)
    for (_, headline, unit), group in sorted(groups.items(), key=lambda item: item[0]):
        present = [change.series for change in group if change.now is not None]
        if present:
            most = all(series.exact for series in present)
            count = len(present)
            how = "" if count == 1 else f"{'most' if most else 'mean'} of {count}"
            values = [combined_value(present, i, most=most) for i in range(len(present[0].values))]
            now = values[-1]
            assert now is not None
            yield Tile(headline, unit, how, values, group, values[base], now)


def combined_value(series: Sequence[Series], at: int, *, most: bool) -> float | None:
    """Return the greatest value of several series at the commit ``at``, or their geometric mean.

    If some series have no value at ``at``, the mean at the newest commit is scaled by the change of the
    others since then.  Return None if no series has values at both commits.
    most : True for the greatest value, False for the mean.
    """
    pairs = [(one.values[at], one.values[-1]) for one in series]
    known = [(then, now) for then, now in pairs if then is not None and now is not None]
    if not known:
        return None
    if most:
        return max(then for then, _ in known)
    today = geometric_mean([now for _, now in pairs if now is not None])
    return (
        today
        * geometric_mean([then for then, _ in known])
        / geometric_mean([now for _, now in known])
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean, or the arithmetic mean if a value is not positive."""
    if min(values) <= 0:
        return sum(values) / len(values)
    return math.exp(sum(map(math.log, values)) / len(values))
