"""Elliptic integrals and functions.

The derivative of an elliptic integral is again an integral of a product of powers, with one exponent
raised by one (DLMF 19.18).  Some of these integrals are Carlson's RD.  The kernel ``carlson_integral``
computes the others by quadrature, a sum of positive terms.  So no digits are lost by cancellation, and
equal arguments need no special case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._storage.special import kernel
from ._bessel_scaled import real_data
from ._several import special_tuple
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray, RawOperand

# Intervals from which tests draw operands.
PARAMETERS, LENGTHS, ANGLES, POWERS = (-2.0, 0.95), (0.1, 3.0), (-4.0, 4.0), (0.5, 1.5)


# --- integrals of products of powers ----------------------------------------------------------------
DECAY = 39.0  # the error and the left-out terms are about exp(-39), which is 1e-17
SHORTEST_STEP = 0.04  # where an argument's phase is above pi - 0.28, the step is below this: NaN
BLOCK = 1 << 16  # maximum number of elements of a temporary array


@kernel
def carlson_integral(
    e: RawArray, a: RawArray, b: RawArray, c: RawArray, d: RawArray, x: RawArray, y: RawArray,
    z: RawArray, p: RawArray, *, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the integral over t > 0 of t ** e (t + x) ** -a (t + y) ** -b (t + z) ** -c (t + p) ** -d.

    The result is NaN where an argument is next to the negative real axis.  The integral is computed by
    the trapezoidal rule in u = log(t).  The integrand is analytic for abs(imag(u)) < pi - phase, where
    phase is the largest phase of an argument, so the error is about exp(-2 pi (pi - phase) / step).
    """
    unit = 0 * (a + b + c + d + x + y + z + p) + 1
    e, *powers = [real_data(k, xp) for k in (e, a, b, c, d)]
    factors = list(zip(powers, [v * unit for v in (x, y, z, p)], strict=True))
    # If a factor has the power 0, its argument is replaced by 1, so that it does not matter below.
    factors = [(k, xp.where(k == 0, unit, v)) for k, v in factors]
    sizes = [xp.abs(v) for _, v in factors]
    largest = elementwise_maximum(sizes, xp)
    smallest = -elementwise_maximum([-xp.where(size == 0, largest, size) for size in sizes], xp)
    # In u the integrand rises as exp(low u) at the left end and falls as exp(-high u) at the right end.
    low = (
        e
        + 1
        - sum([xp.where(size == 0, k, 0.0) for (k, _), size in zip(factors, sizes, strict=True)])
    )
    high = sum(powers) - 1 - e
    phase = elementwise_maximum([xp.abs(phase_of(v, xp)) for _, v in factors], xp)
    step = 0.9 * 2 * math.pi * (math.pi - phase) / DECAY
    good = (step > SHORTEST_STEP) & (low > 0) & (high > 0) & (largest > 0) & (largest < math.inf)
    # Divide the arguments by the largest one.  The integral is homogeneous, so ``found`` corrects this.
    factors = [(k, xp.where(good, v / xp.where(good, largest, 1.0), unit)) for k, v in factors]
    step = xp.where(good, step, 1.0)
    start = xp.where(good, xp.log(smallest / largest) - DECAY / low, 0.0)
    count = xp.where(good, (DECAY / high + 1.0 - start) / step, 1.0)
    total = carlson_trapezoid(e, factors, start, step, count, xp)
    found = total * step * xp.where(good, largest, 1.0) ** -high
    diverges = (low <= 0) & (largest > 0) & (phase < 3)
    return xp.where(good, found, xp.where(diverges, math.inf + 0 * unit, math.nan * unit))


def elementwise_maximum(values: list[Any], xp: Namespace) -> Any:
    """Return the elementwise maximum of several arrays."""
    found = values[0]
    for value in values[1:]:
        found = xp.where(value > found, value, found)
    return found


def phase_of(z: RawArray, xp: Namespace) -> Any:
    """Return the phase (the angle in radians) of each element of real or complex data."""
    if xp.isdtype(z.dtype, "complex floating"):
        return xp.atan2(xp.imag(z), xp.real(z))
    return xp.where(z < 0, math.pi, 0.0)


def largest_count(count: RawArray, xp: Namespace) -> int:
    """Return the largest number of quadrature nodes that an element needs; 0 without elements.

    count : the number of nodes for each element.
    """
    return 1 + int(xp.max(count)) if math.prod(count.shape) else 0


def carlson_trapezoid(
    e: RawArray, factors: list[tuple[Any, Any]], start: RawArray, step: RawArray, count: RawArray,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the sum of exp(u) ** (e + 1) times the factors over the nodes u = start + k step.

    A factor is a pair (power, v), which stands for (exp(u) + v) ** -power.  ``count`` is the largest k
    of each element; terms of an element at further nodes are masked, since they may overflow.
    """
    total, block = 0 * factors[0][1], max(1, BLOCK // max(1, math.prod(start.shape)))
    most, last = largest_count(count, xp), count[..., None]
    for first in range(0, most, block):
        nodes = xp.astype(xp.arange(first, min(first + block, most)), start.dtype)
        beyond = nodes > last
        u = start[..., None] + step[..., None] * xp.where(beyond, 0.0, nodes)
        t = xp.exp(u)
        term = t ** (e[..., None] + 1)
        for power, v in factors:
            term = term * (t + v[..., None]) ** -power[..., None]
        total = total + xp.sum(xp.where(beyond, 0.0, term), axis=-1)
    return total


def carlson_slope(
    t: RawArray, at: int, powers: tuple[Any, ...], places: tuple[Any, ...], xp: Namespace
) -> Any:
    """Return the tangent of the op carlson_integral, given the tangent t of x, v, w or p.

    ``powers`` are the op's operands (e, a, b, c, d), and ``places`` are (x, v, w, p).  ``at`` is the
    index in ``powers`` of the exponent that belongs to the operand with the tangent: 1 for x.
    """
    raised = tuple([k + 1 if i == at else k for i, k in enumerate(powers)])
    return -t * powers[at] * xp.special.carlson_integral(*raised, *places)


special(
    "carlson_integral", "e a b c d x v w p", None, None, None, None, None,
    lambda t, e, a, b, c, d, x, v, w, p, xp: carlson_slope(t, 1, (e, a, b, c, d), (x, v, w, p), xp),
    lambda t, e, a, b, c, d, x, v, w, p, xp: carlson_slope(t, 2, (e, a, b, c, d), (x, v, w, p), xp),
    lambda t, e, a, b, c, d, x, v, w, p, xp: carlson_slope(t, 3, (e, a, b, c, d), (x, v, w, p), xp),
    lambda t, e, a, b, c, d, x, v, w, p, xp: carlson_slope(t, 4, (e, a, b, c, d), (x, v, w, p), xp),
    domains=[(0, 1), *[POWERS] * 4, *[LENGTHS] * 4], integers="e", public=False,
)  # fmt: skip


# --- Carlson's symmetric integrals ------------------------------------------------------------------
special(
    "elliprf", "x v w",
    lambda t, x, v, w, xp: -t / 6 * xp.special.elliprd(v, w, x),
    lambda t, x, v, w, xp: -t / 6 * xp.special.elliprd(w, x, v),
    lambda t, x, v, w, xp: -t / 6 * xp.special.elliprd(x, v, w),
    domains=[LENGTHS] * 3, complex=True,
    summary="Completely symmetric elliptic integral of the first kind", source="DLMF 19.18.1",
)  # fmt: skip
special(
    "elliprd", "x v w",
    lambda t, x, v, w, xp: -0.75 * t * carlson_of_three(0, (1.5, 0.5, 1.5), x, v, w, xp),
    lambda t, x, v, w, xp: -0.75 * t * carlson_of_three(0, (0.5, 1.5, 1.5), x, v, w, xp),
    lambda t, x, v, w, xp: -2.25 * t * carlson_of_three(0, (0.5, 0.5, 2.5), x, v, w, xp),
    domains=[LENGTHS] * 3, complex=True,
    summary="Symmetric elliptic integral of the second kind", source="DLMF 19.16.5",
)  # fmt: skip
special(
    "elliprg", "x v w",
    lambda t, x, v, w, xp: 0.125 * t * carlson_of_three(1, (1.5, 0.5, 0.5), x, v, w, xp),
    lambda t, x, v, w, xp: 0.125 * t * carlson_of_three(1, (0.5, 1.5, 0.5), x, v, w, xp),
    lambda t, x, v, w, xp: 0.125 * t * carlson_of_three(1, (0.5, 0.5, 1.5), x, v, w, xp),
    domains=[LENGTHS] * 3, complex=True,
    summary="Completely symmetric elliptic integral of the second kind", source="DLMF 19.18.4",
)  # fmt: skip
special(
    "elliprc", "x v",
    lambda t, x, v, xp: -t * rc_by_x(x, v, xp),
    lambda t, x, v, xp: -t * rc_by_y(x, v, xp),
    domains=[LENGTHS] * 2, complex=True,
    summary="Degenerate symmetric elliptic integral", source="DLMF 19.16.6",
)  # fmt: skip
special(
    "elliprj", "x v w p",
    lambda t, x, v, w, p, xp: -t * rj_by_first(x, v, w, p, xp),
    lambda t, x, v, w, p, xp: -t * rj_by_first(v, w, x, p, xp),
    lambda t, x, v, w, p, xp: -t * rj_by_first(w, x, v, p, xp),
    lambda t, x, v, w, p, xp: -t * rj_by_last(x, v, w, p, xp),
    domains=[LENGTHS] * 4, complex=True,
    summary="Symmetric elliptic integral of the third kind", source="DLMF 19.16.2",
)  # fmt: skip


def carlson_of_three(
    e: float, powers: tuple[RawOperand, RawOperand, RawOperand], x: RawOperand, y: RawOperand,
    z: RawOperand, xp: Namespace,
) -> Any:  # fmt: skip
    """Return carlson_integral with three factors: the fourth has the power 0."""
    return xp.special.carlson_integral(e, *powers, 0.0, x, y, z, 1.0)


# If the last argument is negative, elliprc and elliprj are Cauchy principal values.  There the last
# argument differs from the others, so that partial fractions express the derivative.  Elsewhere the
# derivative is computed as an integral of positive terms.
def split_principal_value(last: RawOperand, xp: Namespace) -> tuple[Any, Any, Any]:
    """Split ``last``, the last operand of RC or RJ, for the formulas of negative and of other operands.

    Return the mask of negative elements, a copy for the principal value's formula with -1 in place of
    the others, and a copy for the integral with 1 in place of negative elements.
    """
    negative = real_data(last, xp) < 0
    return negative, xp.where(negative, last, -1 + 0 * last), xp.where(negative, 1 + 0 * last, last)


def rc_by_x(x: RawOperand, y: RawOperand, xp: Namespace) -> Any:
    """Return minus the derivative of Carlson's integral elliprc with respect to x."""
    negative, below, above = split_principal_value(y, xp)
    fraction = (xp.special.elliprc(x, below) - 1 / xp.sqrt(x + 0 * y)) / (2 * (x - below))
    return xp.where(negative, fraction, xp.special.elliprd(above, above, x) / 6)


def rc_by_y(x: RawOperand, y: RawOperand, xp: Namespace) -> Any:
    """Return minus the derivative of Carlson's integral elliprc with respect to y."""
    negative, below, above = split_principal_value(y, xp)
    fraction = (xp.sqrt(x + 0 * y) / below - xp.special.elliprc(x, below)) / (2 * (x - below))
    return xp.where(negative, fraction, xp.special.elliprd(x, above, above) / 3)


def rj_by_first(x: RawOperand, y: RawOperand, z: RawOperand, p: RawOperand, xp: Namespace) -> Any:
    """Return minus the derivative of Carlson's integral elliprj with respect to x."""
    negative, below, above = split_principal_value(p + 0 * x, xp)
    fraction = xp.special.elliprj(x, y, z, below) - xp.special.elliprd(y, z, x)
    integral = xp.special.carlson_integral(0, 1.5, 0.5, 0.5, 1.0, x, y, z, above)
    return xp.where(negative, fraction / (2 * (x - below)), 0.75 * integral)


def rj_by_last(x: RawOperand, y: RawOperand, z: RawOperand, p: RawOperand, xp: Namespace) -> Any:
    """Return minus the derivative of elliprj with respect to p.

    For negative p the derivative follows from those with respect to x, y and z by Euler's relation,
    because RJ is homogeneous.
    """
    negative, below, above = split_principal_value(p + 0 * x, xp)
    by_others = [rj_by_first(*turn, below, xp) for turn in ((x, y, z), (y, z, x), (z, x, y))]
    euler = 1.5 * xp.special.elliprj(x, y, z, below)
    euler = euler - sum([v * slope for v, slope in zip((x, y, z), by_others, strict=True)])
    integral = xp.special.carlson_integral(0, 0.5, 0.5, 0.5, 2.0, x, y, z, above)
    return xp.where(negative, euler / below, 1.5 * integral)


# --- Legendre's integrals ---------------------------------------------------------------------------
special(
    "ellipk", "m", lambda t, m, xp: t / 6 * xp.special.elliprd(0.0, 1.0, 1 - m),
    domains=[PARAMETERS], summary="Complete elliptic integral of the first kind",
    source="DLMF 19.25.1",
)  # fmt: skip
special(
    "ellipkm1", "p", lambda t, p, xp: -t / 6 * xp.special.elliprd(0.0, 1.0, p),
    domains=[(0.05, 2.0)], summary="Complete elliptic integral of the first kind, of 1 - p",
    source="DLMF 19.25.1",
)  # fmt: skip
special(
    "ellipe", "m", lambda t, m, xp: -t / 6 * xp.special.elliprd(0.0, 1 - m, 1.0),
    domains=[PARAMETERS], summary="Complete elliptic integral of the second kind",
    source="DLMF 19.25.1",
)  # fmt: skip
special(
    "ellipkinc", "phi m",
    lambda t, phi, m, xp: t * powers_of_sine(0.5, 0, phi, m, xp),
    lambda t, phi, m, xp: t * 0.5 * xp.special.ellip_power(1.5, 1, phi, m),
    domains=[ANGLES, PARAMETERS], summary="Incomplete elliptic integral of the first kind",
    source="DLMF 19.2.4",
)  # fmt: skip
special(
    "ellipeinc", "phi m",
    lambda t, phi, m, xp: t * powers_of_sine(-0.5, 0, phi, m, xp),
    lambda t, phi, m, xp: -t * 0.5 * xp.special.ellip_power(0.5, 1, phi, m),
    domains=[ANGLES, PARAMETERS], summary="Incomplete elliptic integral of the second kind",
    source="DLMF 19.2.5",
)  # fmt: skip


def powers_of_sine(
    k: RawOperand, q: RawOperand, phi: RawOperand, m: RawOperand, xp: Namespace
) -> Any:
    """Return ``sin(phi) ** (2 q) (1 - m sin(phi) ** 2) ** -k``."""
    sine, cosine = xp.sin(phi + 0 * m), xp.cos(phi + 0 * m)
    return (sine * sine) ** q * base_of_sine(sine, cosine * cosine, m, xp) ** -k


def base_of_sine(sine: RawArray, cosine2: RawArray, m: RawOperand, xp: Namespace) -> Any:
    """Return ``1 - m sin ** 2`` without cancellation where m is near 1; ``cosine2`` is 1 - sin ** 2."""
    square = sine * sine
    return xp.where(m + 0 * sine < 0.5, 1 - m * square, cosine2 + (1 - m) * square)


@kernel
def ellip_power(k: RawArray, q: RawArray, phi: RawArray, m: RawArray, *, xp: Namespace) -> Any:
    """Return the integral of sin(t) ** (2 q) (1 - m sin(t) ** 2) ** -k over t from 0 to phi.

    Elliptic integrals and their derivatives consist of such integrals.
    """
    turns = xp.round(phi / math.pi)  # half turns, over each of which the integral is 2 * whole
    part = integral_of_sines(k, q, xp.sin(phi - turns * math.pi), xp.cos(phi) ** 2, m, xp)
    whole = integral_of_sines(k, q, 1 + 0 * phi, 0 * phi, m, xp)
    return part + xp.where(turns == 0, 0.0, 2 * turns * whole)


def integral_of_sines(
    k: RawArray, q: RawArray, sine: RawArray, cosine2: RawArray, m: RawArray, xp: Namespace
) -> Any:
    """Return the integral of sin(t) ** (2 q) (1 - m sin(t) ** 2) ** -k over t from 0 to an angle.

    The angle, at most pi / 2, is given by its sine and by the square of its cosine.  For q = 1 and k =
    0.5 or 1.5 the integral is Carlson's RD, else ``carlson_integral``.
    """
    base = base_of_sine(sine, cosine2, m, xp)
    if k.shape == q.shape == () and float(q) == 1.0 and float(k) in (0.5, 1.5):
        first, last = (1.0, base) if float(k) == 1.5 else (base, 1.0)
        return sine**3 / 3 * xp.special.elliprd(cosine2, first, last)
    integral = carlson_of_three(0.0, (0.5, k, q + 1 - k), cosine2, base, 1.0, xp)
    return 0.5 * sine * (sine * sine) ** q * integral


special(
    "ellip_power", "k q phi m", None, None,
    lambda t, k, q, phi, m, xp: t * powers_of_sine(k, q, phi, m, xp),
    lambda t, k, q, phi, m, xp: t * k * xp.special.ellip_power(k + 1, q + 1, phi, m),
    domains=[POWERS, (0, 2), ANGLES, PARAMETERS], integers="q", public=False,
)  # fmt: skip


# --- Jacobi's functions -----------------------------------------------------------------------------
def amplitude_by_m(u: RawOperand, m: RawOperand, xp: Namespace) -> Any:
    """Return the derivative of Jacobi's amplitude am(u, m) with respect to m.

    The derivative follows from u = ellipkinc(am, m), differentiated at fixed u.
    """
    phi = xp.special.ellipj_ph(u, m)
    return -0.5 * xp.special.ellipj_dn(u, m) * xp.special.ellip_power(1.5, 1, phi, m)


def dn_by_m(u: RawOperand, m: RawOperand, xp: Namespace) -> Any:
    """Return the derivative of Jacobi's dn = sqrt(1 - m sn ** 2) with respect to m."""
    sn, cn, dn = [getattr(xp.special, f"ellipj_{part}")(u, m) for part in ("sn", "cn", "dn")]
    return -sn * (0.5 * sn + m * cn * amplitude_by_m(u, m, xp)) / dn


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ellipj": special_tuple(
        "ellipj", "u m",
        {
            "sn": [
                lambda t, u, m, xp: t * xp.special.ellipj_cn(u, m) * xp.special.ellipj_dn(u, m),
                lambda t, u, m, xp: t * xp.special.ellipj_cn(u, m) * amplitude_by_m(u, m, xp),
            ],
            "cn": [
                lambda t, u, m, xp: -t * xp.special.ellipj_sn(u, m) * xp.special.ellipj_dn(u, m),
                lambda t, u, m, xp: -t * xp.special.ellipj_sn(u, m) * amplitude_by_m(u, m, xp),
            ],
            "dn": [
                lambda t, u, m, xp: -t * m * xp.special.ellipj_sn(u, m) * xp.special.ellipj_cn(u, m),
                lambda t, u, m, xp: t * dn_by_m(u, m, xp),
            ],
            "ph": [
                lambda t, u, m, xp: t * xp.special.ellipj_dn(u, m),
                lambda t, u, m, xp: t * amplitude_by_m(u, m, xp),
            ],
        },
        summary="Jacobi's elliptic functions sn, cn, dn, and the amplitude",
        domains=[(-3.0, 3.0), (0.05, 0.95)], source="DLMF 22.13.1",
    ),
}  # fmt: skip
