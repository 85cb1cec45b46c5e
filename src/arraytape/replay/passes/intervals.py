"""Intervals that contain the elements of a node, and their arithmetic, for ops' ``Facts.range``."""

from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """A closed range that contains all elements of a value that are not NaN.

    Passes use it to prove that a value is nonnegative or finite.
    undefined : True if an element may be NaN although no operand has a NaN.
    """

    low: float = -math.inf
    high: float = math.inf
    undefined: bool = False

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def maximum(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), max(self.high, other.high))

    def minimum(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), min(self.high, other.high))

    def with_zero(self) -> Interval:
        return self.hull(Interval(0.0, 0.0))

    def negative(self) -> Interval:
        return Interval(-self.high, -self.low)

    def plus(self, other: Interval) -> Interval:
        low, high = self.low + other.low, self.high + other.high
        return Interval(
            -math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high
        )

    def times(self, other: Interval) -> Interval:
        ends = [times_or_zero(x, y) for x in self[:2] for y in other[:2]]
        return Interval(min(ends), max(ends))

    def over(self, other: Interval) -> Interval:
        """Return the interval of ``self / other``; EVERYWHERE unless all divisors are positive."""
        if not other.low > 0.0:
            return EVERYWHERE
        return self.times(Interval(1.0 / other.high, 1.0 / other.low))

    def magnitude(self) -> Interval:
        high = max(abs(self.low), abs(self.high))
        return Interval(self.low if self.low > 0.0 else max(-self.high, 0.0), high)

    def to_root(self) -> Interval:
        low, high = [math.sqrt(max(end, 0.0)) for end in self[:2]]
        return Interval(low, high, not self.low >= 0.0)

    def sum_of(self, count: int) -> Interval:
        """Return the interval of sums of 1 to ``count`` elements of this interval."""
        low, high = times_or_zero(self.low, count), times_or_zero(self.high, count)
        return Interval(min(low, self.low), max(high, self.high))


EVERYWHERE = Interval()


def times_or_zero(x: float, y: float) -> float:
    """Return x * y, but 0 if x or y is 0, where 0 * inf would be NaN."""
    return x * y if x and y else 0.0
