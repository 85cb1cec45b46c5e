"""Student's t distribution: derivatives of all orders of its density and cumulative function.

Derivatives with respect to the degrees of freedom are integrals, computed by quadrature as in
``_quadrature``.  Formulas with the incomplete beta function would be small differences of large terms
where the degrees of freedom are many.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._quadrature import (
    BENDING,
    DEPTH,
    clip_edge,
    compute_each_order,
    digamma_difference,
    double_kernel,
    exp_derivatives,
    find_cutoff,
    panel_nodes,
)
from ._statement import REAL, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray

MIDDLE = 1.5  # abs(x) near which the derivative of the density in df changes its sign


def constant_parts(n: int, df: RawArray, xp: Namespace) -> list[Any]:
    """Return the derivatives in df, of orders 1 to n, of the logarithm of Student's density at 0.

    They are the part of the derivatives of the log-density that does not depend on x.
    """
    found = [0.5 * (digamma_difference(0.5 * df, 0.5 + 0.0 * df, xp) - 1 / df)]
    for k in range(2, n + 1):
        gammas = xp.special.polygamma(k - 1, 0.5 * (df + 1)) - xp.special.polygamma(k - 1, 0.5 * df)
        found.append(gammas / 2**k + 0.5 * (-1) ** k * math.factorial(k - 1) / df**k)
    return found[:n]


def variable_parts(n: int, df: RawArray, log_odds: RawArray, xp: Namespace) -> list[Any]:
    """Return the derivatives in df, of orders 1 to n, of the logarithm of density(x) / density(0).

    The logarithm is ``-(df + 1) / 2 log(1 + odds)``, where the odds are x ** 2 / df.

    log_odds : the logarithm of the odds, which does not overflow.
    """
    # odds / (1 + odds) and 1 / (1 + odds), without overflow
    share, rest = 1 / (1 + xp.exp(-log_odds)), 1 / (1 + xp.exp(log_odds))
    found = [0.5 * (share / df - (log1p_exp(log_odds, xp) - share))]
    for k in range(2, n + 1):
        low = (-1) ** k * math.factorial(k - 2) * df ** (1.0 - k) * (rest ** (k - 1) - 1)
        high = (-1) ** (k - 1) * math.factorial(k - 1) * df ** (0.0 - k) * (rest**k - 1)
        found.append(-0.5 * ((df + 1) * high + k * low))
    return found[:n]


def log1p_exp(x: RawArray, xp: Namespace) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return xp.where(x > 0, x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))


def log_density(df: RawArray, log_odds: RawArray, xp: Namespace) -> Any:
    """Return the logarithm of Student's density at the x whose ``log_odds`` are log(x ** 2 / df)."""
    tail = -0.5 * (df + 1) * log1p_exp(log_odds, xp)
    return tail - xp.special.betaln(0.5 * df, 0.5) - 0.5 * xp.log(df)


@double_kernel
def t_density(n: RawArray, m: RawArray, df: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the derivative of the density of Student's t of order n in df and m in x."""
    log_odds = 2 * xp.log(xp.abs(x)) - xp.log(df)
    density = xp.where(df > 0, xp.exp(log_density(df, log_odds, xp)), math.nan)

    def t_density_of_orders(n: int, m: int) -> Any:
        # Derivatives in x follow from (df + x ** 2) p' + (df + 1) x p = 0, differentiated in df and x.
        parts = zip(constant_parts(n, df, xp), variable_parts(n, df, log_odds, xp), strict=True)
        factors = exp_derivatives([one + other for one, other in parts], n)
        table: dict[tuple[int, int], Any] = {(i, 0): density * f for i, f in enumerate(factors)}

        def t_derivative(i: int, j: int) -> Any:
            return table.get((i, j), 0.0)

        for j in range(m):
            for i in range(n + 1):
                right = x * ((df + 1) * t_derivative(i, j) + i * t_derivative(i - 1, j))
                right = right + j * (
                    (df + 1) * t_derivative(i, j - 1) + i * t_derivative(i - 1, j - 1)
                )
                left = (
                    2 * j * x * t_derivative(i, j)
                    + j * (j - 1) * t_derivative(i, j - 1)
                    + i * t_derivative(i - 1, j + 1)
                )
                table[i, j + 1] = -(left + right) / (df + x * x)
        return xp.where(xp.isinf(x), 0.0, table[n, m] + 0.0 * df)

    return compute_each_order((n, m), t_density_of_orders, xp)


@double_kernel
def stdtr_by(n: RawArray, df: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of stdtr(df, x) with respect to df, n > 0, which is odd in x."""
    inside = (x != 0) & xp.isfinite(x) & (df > 0) & xp.isfinite(df)
    limit = xp.where((df > 0) & ~xp.isnan(x), 0.0, math.nan)
    df, size = xp.where(inside, df, 1.0), xp.where(inside, xp.abs(x), 1.0)
    outer = size > MIDDLE
    log_odds = 2 * xp.log(size) - xp.log(df)
    scale = xp.where((x > 0) == outer, -1.0, 1.0) * size * xp.exp(log_density(df, log_odds, xp))
    edges = student_edges(df, log_odds, outer, xp)

    def stdtr_of_orders(n: int) -> Any:
        constants = [z[:, None] for z in constant_parts(n, df, xp)]
        total = 0.0
        for v, weights in panel_nodes(edges, xp):
            weights = weights * xp.exp(student_height(v, df[:, None], log_odds[:, None], xp))
            parts = variable_parts(n, df[:, None], log_odds[:, None] + 2 * v, xp)
            factors = exp_derivatives(
                [c + part for c, part in zip(constants, parts, strict=True)], n
            )
            total = total + xp.sum(weights * factors[n], axis=-1)
        return xp.where(inside, scale * total, limit)

    return compute_each_order((n,), stdtr_of_orders, xp)


def student_height(v: RawArray, df: RawArray, log_odds: RawArray, xp: Namespace) -> Any:
    """Return the logarithm of s density(s) / (x density(x)) for s = x exp(v), the integrand in v.

    log_odds : the logarithm of x ** 2 / df.
    """
    # odds / (1 + odds) and 1 / (1 + odds), without overflow
    share, rest = 1 / (1 + xp.exp(-log_odds)), 1 / (1 + xp.exp(log_odds))
    inner = xp.log1p(share * xp.expm1(xp.minimum(2 * v, 0.0 * v)))
    outer = xp.maximum(2 * v, 0.0 * v) + xp.log1p(rest * xp.expm1(-xp.maximum(2 * v, 0.0 * v)))
    return v - 0.5 * (df + 1) * xp.where(v < 0, inner, outer)


def student_edges(df: RawArray, log_odds: RawArray, outer: RawArray, xp: Namespace) -> list[Any]:
    """Return the edges of quadrature panels in v = log(s / x), to integrate the density over s.

    The integral goes from s = x to infinity where the mask ``outer`` is True, elsewhere from x to 0.
    Edges between the ends lie where a term of the density loses its influence.

    log_odds : the logarithm of x ** 2 / df.
    """
    bend, size = -0.5 * log_odds, 0.5 * xp.log(df + 1)
    start = (0.5 * (df + 1) * log1p_exp(-log_odds, xp) + DEPTH) / df

    def student_height_slope(v: RawArray) -> Any:
        return 1 - (df + 1) / (1 + xp.exp(-log_odds - 2 * v))

    far = find_cutoff(
        start, lambda v: student_height(v, df, log_odds, xp), student_height_slope, xp
    )
    end = xp.where(outer, far, -DEPTH)
    steps = [-size - 0.5 * d for d in reversed(BENDING)]
    steps = [*steps, 0.0 * size, *[size + 0.5 * d for d in BENDING]]
    low, high, sign = (
        xp.minimum(end, 0.0 * end),
        xp.maximum(end, 0.0 * end),
        xp.where(outer, 1.0, -1.0),
    )
    return [0.0 * df, *[clip_edge(bend + sign * step, low, high, xp) for step in steps], end]


special(
    "t_density", "n m df x", None, None,
    lambda t, n, m, df, x, xp: t * xp.special.t_density(n + 1, m, df, x),
    lambda t, n, m, df, x, xp: t * xp.special.t_density(n, m + 1, df, x),
    domains=[(0, 3), (0, 3), (0.5, 6.0), REAL], integers="n m", public=False,
    summary="The derivative of the density of Student's t, of order n in df and m in x",
)  # fmt: skip
special(
    "stdtr_by", "n df x", None,
    lambda t, n, df, x, xp: t * xp.special.stdtr_by(n + 1, df, x),
    lambda t, n, df, x, xp: t * xp.special.t_density(n, 0, df, x),
    domains=[(1, 3), (0.5, 6.0), REAL], integers="n", public=False,
    summary="The n-th derivative of stdtr(df, x) in df, n > 0",
)  # fmt: skip
