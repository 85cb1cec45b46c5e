"""Derivatives of the incomplete gamma and beta functions with respect to their parameters.

Both functions are integrals of a density over t.  A derivative of any order with respect to a parameter
is the integral of the density times a polynomial in centred logarithms, such as log(t) minus its mean.
The integration variable is v = log(t / x) for the gamma function, and v = logit(t) - logit(x) for the
beta function.  In v the density relative to that at x is exp(h(v)) with a concave h.  So Gauss-Legendre
quadrature on a few panels is as accurate as the arithmetic, in the tails, too.  The integral is taken
over t < x or over t > x, whichever has no cancellation.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.special import kernel

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray, RawOperand

NODES = 28  # nodes of the quadrature rule in a panel
BLOCK = 4096  # elements that a kernel gets at a time, which limits the memory
DEPTH = 45.0  # the integral ends where the density has fallen by exp(-DEPTH)
NEWTON_STEPS = 14
# The logarithm of the density contains exp(v).  Panels of the integral over v have edges at these
# distances from the v at which that exponential is 1, because the density bends there.
BENDING = (3.0, 12.0, 28.0)


def double_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a kernel (a function of raw data) that gets its operands as 1-d float64 blocks.

    The blocks keep arrays small that have many quadrature nodes for each element.
    The result is cast to the dtype that the operands had.
    """

    @functools.wraps(function)
    def call_in_blocks(*operands: RawArray, xp: Namespace) -> Any:
        operands = xp.broadcast_arrays(*operands)
        shape, dtype = operands[0].shape, operands[0].dtype
        flat = [xp.reshape(xp.astype(x, xp.float64), (-1,)) for x in operands]
        parts = [
            function(*[x[start : start + BLOCK] for x in flat], xp=xp)
            for start in range(0, max(flat[0].shape[0], 1), BLOCK)
        ]
        return xp.astype(xp.reshape(xp.concat(parts), shape), dtype)

    return kernel(call_in_blocks)


def compute_each_order(orders: Sequence[Any], compute: Callable[..., Any], xp: Namespace) -> Any:
    """Return derivatives whose orders may differ from element to element.

    orders : one 1-d array for each operand of the derivative, such as (n, m) for orders in a and x.
    compute : a function of as many Python ints, which returns the derivative of these orders for all
    elements.  It is called once for each combination of orders that occurs.
    """
    found = xp.zeros_like(orders[0])
    highest = [int(xp.max(n)) if n.shape[0] else -1 for n in orders]
    for combination in itertools.product(*[range(n + 1) for n in highest]):
        here = orders[0] == combination[0]
        for n, k in zip(orders[1:], combination[1:], strict=True):
            here = here & (n == k)
        if xp.any(here):
            found = xp.where(here, compute(*combination), found)
    return found


def zero_times(coefficient: RawOperand, x: RawArray, xp: Namespace) -> Any:
    """Return coefficient * x, and 0 where the coefficient is 0, even if x is infinite there."""
    return xp.where(coefficient == 0, 0.0, coefficient * x)


def both_nonzero(x1: RawArray, x2: RawOperand, xp: Namespace) -> Any:
    """Return x1 * x2, and 0 (not NaN) where either factor is 0 and the other one infinite."""
    return xp.where((x1 == 0) | (x2 == 0), 0.0, x1 * x2)


# --- quadrature ---------------------------------------------------------------------------------------
@functools.cache
def legendre_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of a Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def panel_nodes(edges: Sequence[Any], xp: Namespace) -> Iterator[tuple[Any, Any]]:
    """Yield the nodes and weights of each panel between two neighbouring edges.

    Both have the shape (elements, NODES).  A panel that has the width 0 for all elements is left out.

    edges : 1-d arrays, with an edge for each element.
    """
    nodes, weights = [xp.asarray(x, device=edges[0].device) for x in legendre_rule(NODES)]
    for start, end in itertools.pairwise(edges):
        width = (end - start)[:, None]
        if xp.any(width != 0):
            yield start[:, None] + width * nodes, xp.abs(width) * weights


def find_cutoff(
    start: RawArray,
    height: Callable[[RawArray], Any],
    slope: Callable[[RawArray], Any],
    xp: Namespace,
) -> Any:
    """Return the v at which the integrand exp(height(v)) has fallen to exp(-DEPTH), by Newton's method.

    height, slope : a concave function and its derivative.  start : a v beyond the root, from where
    Newton's method approaches the root monotonically.
    """
    v = start
    for _ in range(NEWTON_STEPS):
        v = v - (height(v) + DEPTH) / slope(v)
    return v


def clip_edge(x: RawArray, low: RawArray, high: RawArray, xp: Namespace) -> Any:
    """Return x, an edge of a quadrature panel, moved into the interval from ``low`` to ``high``."""
    return xp.minimum(xp.maximum(x, low), high)


def exp_derivatives(derivatives: Sequence[Any], order: int) -> list[Any]:
    """Return a list of the derivatives of exp(f), divided by exp(f), of orders 0 to ``order``.

    derivatives : the derivatives f', f'' and so on.
    """
    found: list[Any] = [1.0]
    for n in range(1, order + 1):
        terms = [math.comb(n - 1, j) * derivatives[j] * found[n - 1 - j] for j in range(n)]
        found.append(sum(terms))
    return found


# --- the gamma function -------------------------------------------------------------------------------
def gamma_constants(n: int, a: RawArray, xp: Namespace) -> list[Any]:
    """Return the n + 1 constants c in the derivatives of the gamma density with respect to its shape a.

    With u = log(t) - digamma(a), the n-th derivative at t is the density times the sum of
    comb(n, p) c[n - p] u ** p over p.  So c[k] is the k-th derivative, at e = 0, of
    gamma(a) exp(digamma(a) e) / gamma(a + e) in e.
    """
    return exp_derivatives([0.0 * a, *[-xp.special.polygamma(j, a) for j in range(1, n)]], n)


@double_kernel
def gamma_density(n: RawArray, m: RawArray, a: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the derivative of x ** (a - 1) exp(-x) / gamma(a) of order n in a and m in x."""
    center = xp.log(x) - xp.special.digamma(a)

    def gamma_density_of_orders(n: int, m: int) -> Any:
        powers = [1.0]
        for _ in range(n):
            powers.append(powers[-1] * center)
        constants = gamma_constants(n, a, xp)
        moments = [
            sum(math.comb(i, p) * constants[i - p] * powers[p] for p in range(i + 1))
            for i in range(n + 1)
        ]
        total = 0.0
        # Leibniz's rule: x ** (a - 1) is differentiated k times, and exp(-x) m - k times.
        for k in range(m + 1):
            falling = falling_factorial(a, k, n)
            factor = sum(
                [
                    math.comb(n, i) * zero_times(falling[i], moments[n - i], xp)
                    for i in range(min(n, k) + 1)
                ]
            )
            power = gamma_power(a, x, k, xp)
            total = total + math.comb(m, k) * (-1) ** (m - k) * both_nonzero(power, factor, xp)
        return total

    return compute_each_order((n, m), gamma_density_of_orders, xp)


def falling_factorial(a: RawArray, k: int, n: int) -> list[Any]:
    """Return a list of the derivatives of (a - 1) (a - 2) ... (a - k) in a, of orders 0 to n."""
    found = [1.0 + 0.0 * a, *[0.0 * a] * n]
    for j in range(1, k + 1):
        found = [
            (a - j) * one + i * found[i - 1] if i else (a - j) * one for i, one in enumerate(found)
        ]
    return found


def gamma_power(a: RawArray, x: RawArray, k: int, xp: Namespace) -> Any:
    """Return x ** (a - 1 - k) exp(-x) / gamma(a), of which derivatives of the gamma density consist."""
    at_zero = xp.exp(xp.special.xlogy(a - 1 - k, x) - xp.special.gammaln(a))
    found = xp.where(x == 0, at_zero, xp.special._igam_fac(a, x) / x ** (k + 1))
    found = xp.where((x == math.inf) | (a == 0), 0.0, found)
    return xp.where((x >= 0) & (a >= 0), found, math.nan)


@double_kernel
def gammainc_by(n: RawArray, a: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of gammainc(a, x) with respect to a."""
    upper = x > xp.exp(xp.special.digamma(a))
    inside = (x > 0) & (x < math.inf) & (a > 0)
    a1, x1 = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    edges = gamma_edges(a1, x1, upper, xp)
    center = (xp.log(x1) - xp.special.digamma(a1))[:, None]
    scale = xp.where(upper, -1.0, 1.0) * xp.special._igam_fac(a1, x1)
    limit = xp.where((x >= 0) & (a >= 0), 0.0, math.nan)

    def gammainc_of_orders(n: int) -> Any:
        constants = gamma_constants(n, a1, xp)
        total = 0.0
        for v, weights in panel_nodes(edges, xp):
            weights = weights * xp.exp(a1[:, None] * v - x1[:, None] * xp.expm1(v))
            for p in range(n, -1, -1):
                power = (v + center) ** p
                total = total + math.comb(n, p) * constants[n - p] * xp.sum(
                    weights * power, axis=-1
                )
        return xp.where(inside, scale * total, limit)

    return compute_each_order((n,), gammainc_of_orders, xp)


def gamma_edges(a: RawArray, x: RawArray, upper: RawArray, xp: Namespace) -> list[Any]:
    """Return the edges of quadrature panels in v = log(t / x), to integrate the gamma density over t.

    a : the shape.  x : the end of the integral.  The panels go from v = 0 to the v at which the density
    has fallen by exp(-DEPTH).  For t > x that v is positive, and the mask ``upper`` is True.  Inner
    edges lie around the v at which x exp(v) is 1.
    """
    far = xp.log1p((a + 50.0) / x)
    start = xp.where(upper, xp.minimum(2.0 * far, far + math.log(4.0)), -(DEPTH + x) / a)
    end = find_cutoff(start, lambda v: a * v - x * xp.expm1(v), lambda v: a - x * xp.exp(v), xp)
    bend, zero = -xp.log(x), 0.0 * x
    below = zip(reversed(BENDING), BENDING, strict=True)
    inner = [xp.where(upper, bend - far, bend - near) for far, near in below]
    low, high = xp.minimum(end, zero), xp.maximum(end, zero)
    return [zero, *[clip_edge(edge, low, high, xp) for edge in inner], end]


# --- the beta function --------------------------------------------------------------------------------
def beta_constants(i: int, j: int, a: RawArray, b: RawArray, xp: Namespace) -> list[list[Any]]:
    """Return the constants in the derivatives of the beta density with respect to a and b.

    They are the factors of powers of centred logarithms, such as log(t) minus its mean.  The constant
    ``result[p][q]`` is the derivative, of order p in d and q in e and at d = e = 0, of
    beta(a, b) / beta(a + d, b + e).  The linear terms of its logarithm are left out, because the centred
    logarithms contain them.  The rest is exp(f(d + e) - g(d) - h(e)), where f, g and h are the Taylor
    series of loggamma at a + b, a and b from the second order on.

    i, j : the highest orders p and q.
    """

    def curved(x: RawArray, sign: float, n: int) -> list[Any]:
        return [0.0 * x, *[sign * xp.special.polygamma(k, x) for k in range(1, n)]]

    both = exp_derivatives(curved(a + b, 1.0, i + j), i + j)
    first, second = exp_derivatives(curved(a, -1.0, i), i), exp_derivatives(curved(b, -1.0, j), j)
    return [
        [
            sum(
                math.comb(p, k) * math.comb(q, r) * both[k + r] * first[p - k] * second[q - r]
                for k in range(p + 1)
                for r in range(q + 1)
            )
            for q in range(j + 1)
        ]
        for p in range(i + 1)
    ]


@double_kernel
def beta_density(
    i: RawArray, j: RawArray, m: RawArray, a: RawArray, b: RawArray, x: RawArray, y: RawArray, *,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the derivative of x ** (a - 1) y ** (b - 1) / beta(a, b), where y is 1 - x.

    The orders of the derivative are i in a, j in b and m in x.
    """
    log_x = xp.log(x) + digamma_difference(a, b, xp)
    log_y = xp.log(y) + digamma_difference(b, a, xp)

    def beta_density_of_orders(i: int, j: int, m: int) -> Any:
        constants = beta_constants(i, j, a, b, xp)

        # Return the quotient: derivative of the density of order p in a and q in b / the density.
        def moment(p: int, q: int) -> Any:
            total = 0.0
            for r, s in itertools.product(range(p + 1), range(q + 1)):
                power = (log_x**r if r else 1.0) * (log_y**s if s else 1.0)
                total = total + math.comb(p, r) * math.comb(q, s) * constants[p - r][q - s] * power
            return total

        total = 0.0
        # Leibniz's rule: the power of x is differentiated k times, and the power of y m - k times.
        for k in range(m + 1):
            of_x, of_y = falling_factorial(a, k, i), falling_factorial(b, m - k, j)
            factor = 0.0
            for p, q in itertools.product(range(min(i, k) + 1), range(min(j, m - k) + 1)):
                weight = math.comb(i, p) * math.comb(j, q) * of_x[p] * of_y[q]
                factor = factor + zero_times(weight, moment(i - p, j - q), xp)
            power = beta_power(a, b, x, y, k, m - k, xp)
            total = total + math.comb(m, k) * (-1) ** (m - k) * both_nonzero(power, factor, xp)
        return total

    return compute_each_order((i, j, m), beta_density_of_orders, xp)


def beta_power(
    a: RawArray, b: RawArray, x: RawArray, y: RawArray, k: int, r: int, xp: Namespace
) -> Any:
    """Return x ** (a - 1 - k) y ** (b - 1 - r) / beta(a, b), where y is 1 - x.

    Derivatives of the beta density consist of such terms.
    """
    at_end = (
        xp.special.xlogy(a - 1 - k, x) + xp.special.xlogy(b - 1 - r, y) - xp.special.betaln(a, b)
    )
    inside = (x > 0) & (y > 0)
    found = xp.where(inside, beta_pdf(a, b, x, y, xp) / (x**k * y**r), xp.exp(at_end))
    found = xp.where((a == 0) | (b == 0), 0.0, found)
    return xp.where((x >= 0) & (y >= 0) & (a >= 0) & (b >= 0), found, math.nan)


def beta_pdf(a: RawArray, b: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return x ** (a - 1) y ** (b - 1) / beta(a, b), computed from the smaller of x and y = 1 - x."""
    swap = x > y
    first, second = xp.where(swap, b, a), xp.where(swap, a, b)
    return xp.special._beta_pdf(xp.minimum(x, y), first, second)


def digamma_difference(x: RawArray, step: RawArray, xp: Namespace) -> Any:
    """Return digamma(x + step) - digamma(x).

    For a small step the difference would cancel, so the integral of trigamma is computed instead.
    """
    nodes, weights = [xp.asarray(z, device=x.device) for z in legendre_rule(10)]
    small = step < 0.5 * x
    step1 = xp.where(small, step, 0.0)[:, None]
    slopes = xp.special.polygamma(1, x[:, None] + step1 * nodes)
    integral = xp.sum(step1 * weights * slopes, axis=-1)
    return xp.where(small, integral, xp.special.digamma(x + step) - xp.special.digamma(x))


@double_kernel
def betainc_by(
    i: RawArray, j: RawArray, a: RawArray, b: RawArray, x: RawArray, y: RawArray, *, xp: Namespace
) -> Any:
    """Return the derivative of betainc(a, b, x) of order i in a and j in b; y is 1 - x."""
    inside = (x > 0) & (y > 0) & (a > 0) & (b > 0) & (a < math.inf) & (b < math.inf)
    limit = xp.where((x >= 0) & (y >= 0) & (a >= 0) & (b >= 0), 0.0, math.nan)
    a, b = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0)
    x1, y1 = xp.where(inside, x, 0.5), xp.where(inside, y, 0.5)
    center_a = xp.log(x1) + digamma_difference(a, b, xp)
    center_b = xp.log(y1) + digamma_difference(b, a, xp)
    upper = center_a * (i + 1) > center_b * (j + 1)

    # The integral over t > x is the integral over 1 - t < 1 - x, with a and b exchanged.
    a1, b1 = xp.where(upper, b, a), xp.where(upper, a, b)
    x2, y2 = xp.where(upper, y1, x1), xp.where(upper, x1, y1)
    scale = xp.where(upper, -1.0, 1.0) * x1 * y1 * beta_pdf(a, b, x1, y1, xp)
    edges = beta_edges(a1, b1, x2, y2, xp)
    a1, b1, x2, y2, upper, center_a, center_b = [
        z[:, None] for z in (a1, b1, x2, y2, upper, center_a, center_b)
    ]

    def betainc_of_orders(i: int, j: int) -> Any:
        constants = beta_constants(i, j, a, b, xp)
        total = 0.0
        for v, weights in panel_nodes(edges, xp):
            down = log_complement(v, x2, y2, xp)  # minus log((1 - t) / (1 - x))
            weights = weights * xp.exp(a1 * v - (a1 + b1) * down)
            log_t, log_1t = v - down, -down
            first = center_a + xp.where(upper, log_1t, log_t)
            second = center_b + xp.where(upper, log_t, log_1t)
            for p in range(i + 1):
                for q in range(j + 1):
                    moment = xp.sum(weights * first**p * second**q, axis=-1)
                    factor = math.comb(i, p) * math.comb(j, q)
                    total = total + factor * constants[i - p][j - q] * moment
        return xp.where(inside, scale * total, limit)

    return compute_each_order((i, j), betainc_of_orders, xp)


def log_complement(v: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return log(y + x exp(v)) for v < 0, where y is 1 - x: a term of the beta density's logarithm."""
    near = (v > -1.0) | (x < 0.5)
    return xp.where(near, xp.log1p(xp.where(near, x * xp.expm1(v), 0.0)), xp.log(y + x * xp.exp(v)))


def beta_edges(a: RawArray, b: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> list[Any]:
    """Return the edges of the quadrature panels to integrate the beta density over t from 0 to x.

    The panels lie in v = logit(t) - logit(x) < 0; y is 1 - x.  The density depends on log(y + x exp(v)).
    Inner edges lie at the v where x exp(v) is y, and around the two points beyond which the smaller of y
    and x exp(v) has no influence on the density.
    """
    total, bend = a + b, xp.log(y) - xp.log(x)
    start = (total * xp.log(y) - DEPTH) / a

    def beta_height_slope(v: RawArray) -> Any:
        rising = x * xp.exp(v)
        return a - total * rising / (y + rising)

    end = find_cutoff(
        start, lambda v: a * v - total * log_complement(v, x, y, xp), beta_height_slope, xp
    )
    end = xp.minimum(end, 0.0 * end)
    size = xp.log(xp.maximum(total, 0.0 * total + 1.0))
    above = [bend + size + d for d in reversed(BENDING)]
    inner = [*above, bend, *[bend - size - d for d in BENDING]]
    return [0.0 * x, *[clip_edge(edge, end, 0.0 * end, xp) for edge in inner], end]
