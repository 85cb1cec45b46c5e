"""What rules of several chapters use; and families of derivatives, kernels whose first operand is the
order of the derivative.

    @by_order
    def exprel_derivative(n, x, *, xp): ...      # n is a Python int

Their statements are ``special("exprel_derivative", "n x", None, next_order(...), public=False)``.  A
derivative of a higher order is computed from its own series where a formula in terms of the lower
orders would cancel.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .._storage.special import kernel
from .._storage.storage import is_complex


def as_data(x: Any, t: Any, xp: Any) -> Any:
    """An operand, as data beside the tangent t where it is a Python number."""
    return x if hasattr(x, "dtype") else xp.zeros_like(t) + x


def where_defined(slope: Any, y: Any, xp: Any) -> Any:
    """A slope, and NaN where the result is: its formula may have values outside the domain."""
    return xp.where(y == y, slope, y)


def by_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a kernel of one order at a time; the public one takes orders as data.

    It computes in double precision, as SciPy does for single precision: recurrences lose digits.
    """

    @functools.wraps(function)
    def call(n: Any, *operands: Any, xp: Any) -> Any:
        dtype = n.dtype
        double = xp.complex128 if is_complex(n) else xp.float64
        operands = tuple([xp.astype(x, double) for x in operands])
        n = xp.real(n) if is_complex(n) else n
        orders = range(int(xp.min(n)), int(xp.max(n)) + 1) if math.prod(n.shape) else range(1)
        found: Any = math.nan
        for order in orders:
            found = xp.where(n == order, function(order, *operands, xp=xp), found)
        return xp.astype(found, dtype)

    return kernel(call)


def horner(ratios: list[float], x: Any, xp: Any) -> Any:
    """``1 + r[0] x (1 + r[1] x (...))``: a series by the ratios of its coefficients, none of which
    overflows."""
    total = xp.ones_like(x)
    for ratio in reversed(ratios):
        total = 1.0 + (ratio * x) * total
    return total


def near_and_far(
    near: Any,
    close: Callable[..., Any],
    beyond: Callable[..., Any],
    x: Any,
    xp: Any,
    at: float = 1.0,
) -> Any:
    """``close(x)`` where near, else ``beyond(x)``: each sees 0 and ``at`` in place of the other's x."""
    return xp.where(near, close(xp.where(near, x, 0.0)), beyond(xp.where(near, at, x)))
