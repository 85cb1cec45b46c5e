"""Elementary functions and functions composed of them: logistic, entropies, Box-Cox, angles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._array.array import Array
from .._array.exits import followers
from .._define.define_op import stop_gradient
from .._storage.special import kernel
from ..ops.elementwise_functions import exp, flat_at_tip, isfinite, log, logaddexp, sinc_derivative
from ..ops.searching_functions import where
from ..ops.statistical_functions import max as greatest
from ..ops.statistical_functions import sum as sum_of
from ._rules import as_floats, horner, kernel_by_order, near_and_far, where_defined
from ._statement import POSITIVE, REAL, UNIT, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray, RawOperand
    from ._rules import Real

DEGREE = math.pi / 180.0
LN2, LN10 = math.log(2.0), math.log(10.0)

# --- exponentials, logarithms, roots --------------------------------------------------------------
# The rule calls exp(x) instead of adding 1 to the result, which is rounded to -1 where x is far below 0.
expm1 = special(
    "expm1", "x", lambda t, x, xp: t * xp.exp(x), domains=[REAL], complex=True,
    summary="exp(x) - 1, accurate near 0",
)  # fmt: skip
log1p = special(
    "log1p", "x", lambda t, x, y, xp: t * where_defined(1.0 / (1.0 + x), y, xp),
    domains=[(-0.8, 4.0)], complex=True, summary="log(1 + x), accurate near 0",
)  # fmt: skip
exp2 = special("exp2", "x", lambda t, y: t * (LN2 * y), domains=[REAL], summary="2 ** x")
exp10 = special("exp10", "x", lambda t, y: t * (LN10 * y), domains=[REAL], summary="10 ** x")
cbrt = special("cbrt", "x", lambda t, y: t / 3.0 / y / y, summary="The cube root")


def _base_of_powm1(t: RawArray, x1: Real, x2: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of powm1 in x1, ``x2 * x1 ** (x2 - 1)``; 0 where x2 is 0."""
    return t * xp.power_derivative(as_floats(x1, t, xp), as_floats(x2, t, xp), 1, 0)


def _exponent_of_powm1(t: RawArray, x1: Real, x2: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of powm1 in x2, ``x1 ** x2 * xp.log(x1)``; 0 where x1 is 0 and
    x2 is not negative.
    """
    return t * xp.power_derivative(as_floats(x1, t, xp), as_floats(x2, t, xp), 0, 1)


powm1 = special(
    "powm1", "x1 x2", _base_of_powm1, _exponent_of_powm1, domains=[POSITIVE, REAL],
    summary="x1 ** x2 - 1, accurate near 0",
)  # fmt: skip


@kernel_by_order
def exprel_derivative(n: int, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of (exp(x) - 1) / x.

    The derivative is the integral of u ** n exp(x u) over u from 0 to 1.
    """
    count = 30 + 6 * n

    def series(x: RawArray) -> Any:
        # The power series for x > 0, and its Kummer transformation (DLMF 13.2.39) for x < 0: so all
        # terms have one sign.
        above = [(n + k) / k / (n + k + 1.0) for k in range(1, count)]
        below = [-1.0 / (n + 1 + k) for k in range(1, count)]
        high, low = (
            horner(above, xp.where(x > 0, x, 0.0), xp),
            horner(below, xp.where(x > 0, 0.0, x), xp),
        )
        return xp.where(x > 0, high, xp.exp(x) * low) / (n + 1.0)

    def recurrence(x: RawArray) -> Any:
        found = xp.expm1(x) / x
        for k in range(1, n + 1):
            # An infinite value stays, because inf - inf would be NaN.
            found = xp.where(found == math.inf, found, (xp.exp(x) - k * found) / x)
        return found

    found = near_and_far(xp.abs(x) < 2.0 + n, series, recurrence, x, xp, at=3.0 + n)
    return xp.where(xp.isinf(x), xp.exp(x), found)


special(
    "exprel_derivative", "n x", None,
    lambda t, n, x, xp: t * xp.special.exprel_derivative(n + 1, x), domains=[(0, 3), (-6.0, 8.0)],
    integers="n", public=False,
)  # fmt: skip
exprel = special(
    "exprel", "x", lambda t, x, xp: t * xp.special.exprel_derivative(1, x), domains=[REAL],
    summary="(exp(x) - 1) / x, and 1 at 0",
)  # fmt: skip


@kernel_by_order
def log1prel_derivative(n: int, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of log(1 + x) / x, which is 1 at 0."""

    def series(x: RawArray) -> Any:
        ratios = [-(n + k) / k * (n + k) / (n + k + 1.0) for k in range(1, 40 + 6 * n)]
        return (-1.0) ** n * (math.factorial(n) / (n + 1.0)) * horner(ratios, x, xp)

    def recurrence(x: RawArray) -> Any:
        found: Any = xp.log1p(x) / x
        power: Any = 1.0
        for k in range(1, n + 1):
            power = power / (1.0 + x)
            found = ((-1.0) ** (k - 1) * math.factorial(k - 1) * power - k * found) / x
        return found

    return near_and_far(xp.abs(x) < 0.3, series, recurrence, x, xp)


special(
    "log1prel_derivative", "n x", None,
    lambda t, n, x, xp: t * xp.special.log1prel_derivative(n + 1, x), domains=[(0, 3), (-0.9, 4.0)],
    integers="n", public=False,
)  # fmt: skip
_log1pmx = special(
    "_log1pmx", "x", lambda t, x, y, xp: -t * where_defined(x / (1.0 + x), y, xp),
    domains=[(-0.8, 4.0)], summary="log(1 + x) - x",
)  # fmt: skip
_log1mexp = special(
    "_log1mexp", "x", lambda t, x, y, xp: -t * xp.exp(x - y), domains=[(-4.0, -0.1)],
    summary="log(1 - exp(x))",
)  # fmt: skip

# --- logistic function and its inverse ------------------------------------------------------------
# The rule calls expit(-x) in place of 1 - y, which loses digits where y is nearly 1.
expit = special(
    "expit", "x", lambda t, x, y, xp: t * (y * xp.special.expit(-x)), domains=[REAL],
    summary="The logistic function 1 / (1 + exp(-x))",
)  # fmt: skip
logit = special(
    "logit", "x", lambda t, x, y, xp: t * where_defined(1.0 / x + 1.0 / (1.0 - x), y, xp),
    domains=[UNIT], summary="log(x / (1 - x)), the inverse of expit",
)  # fmt: skip
log_expit = special(
    "log_expit", "x", lambda t, x, xp: t * xp.special.expit(-x), domains=[REAL],
    summary="The logarithm of expit",
)  # fmt: skip

# --- functions of angles --------------------------------------------------------------------------
ANGLE = (-170.0, 170.0)
sindg = special(
    "sindg", "x", lambda t, x, xp: t * (DEGREE * xp.special.cosdg(x)), domains=[ANGLE],
    summary="The sine of an angle in degrees",
)  # fmt: skip
cosdg = special(
    "cosdg", "x", lambda t, x, xp: t * (-DEGREE * xp.special.sindg(x)), domains=[ANGLE],
    summary="The cosine of an angle in degrees",
)  # fmt: skip
tandg = special(
    "tandg", "x", lambda t, y: t * (DEGREE * (1.0 + y * y)), domains=[(-80.0, 80.0)],
    summary="The tangent of an angle in degrees",
)  # fmt: skip
cotdg = special(
    "cotdg", "x", lambda t, y: t * (-DEGREE * (1.0 + y * y)), domains=[(10.0, 170.0)],
    summary="The cotangent of an angle in degrees",
)  # fmt: skip
radian = special(
    "radian", "d m s", lambda t: t * DEGREE, lambda t: t * (DEGREE / 60.0),
    lambda t: t * (DEGREE / 3600.0), domains=[(0.0, 90.0), (0.0, 60.0), (0.0, 60.0)],
    summary="An angle of degrees, minutes and seconds, in radians",
)  # fmt: skip
cosm1 = special(
    "cosm1", "x", lambda t, x, xp: -t * xp.sin(x), domains=[REAL],
    summary="cos(x) - 1, accurate near 0",
)  # fmt: skip
_cospi = special(
    "_cospi", "x", lambda t, x, xp: t * (-math.pi * xp.special._sinpi(x)), domains=[REAL],
    complex=True, summary="cos(pi x)",
)  # fmt: skip
_sinpi = special(
    "_sinpi", "x", lambda t, x, xp: t * (math.pi * xp.special._cospi(x)), domains=[REAL],
    complex=True, summary="sin(pi x)",
)  # fmt: skip


# --- entropies ------------------------------------------------------------------------------------
@kernel
def ratio(x1: RawArray, x2: RawArray, *, xp: Namespace) -> Any:
    """Return x1 / x2, and 0 where x1 is 0, even if x2 is 0, too."""
    return xp.where((x1 == 0) & (x2 == x2), 0.0, x1 / x2)


# ratio is an op of its own, so that its derivative with respect to x1 is 1 / x2 where x1 is 0, too.
special(
    "ratio", "x1 x2", lambda t, x2: t / x2, lambda t, x2, y, xp: -t * xp.special.ratio(y, x2),
    complex=True, public=False,
)  # fmt: skip
xlogy = special(
    "xlogy", "x1 x2", lambda t, x2, xp: t * xp.log(as_floats(x2, t, xp)),
    lambda t, x1, x2, y, xp: t * where_defined(xp.special.ratio(x1, x2), y, xp), complex=True,
    summary="x1 log(x2), and 0 where x1 is 0",
)  # fmt: skip
xlog1py = special(
    "xlog1py", "x1 x2", lambda t, x2, xp: t * xp.special.log1p(as_floats(x2, t, xp)),
    lambda t, x1, x2, y, xp: t * where_defined(xp.special.ratio(x1, 1.0 + x2), y, xp), complex=True,
    domains=[POSITIVE, (-0.8, 4.0)], summary="x1 log(1 + x2), and 0 where x1 is 0",
)  # fmt: skip
entr = special(
    "entr", "x", lambda t, x, xp: -t * (xp.log(x) + 1.0), summary="The entropy -x log(x)"
)


def _log_ratio(t: RawArray, x1: Real, x2: Real, xp: Namespace) -> Any:
    """Return log(x1 / x2), accurate where x1 and x2 are nearly equal."""
    x1, x2 = as_floats(x1, t, xp), as_floats(x2, t, xp)
    near = xp.abs(x1 - x2) < 0.5 * x2
    return xp.where(near, xp.log1p((x1 - x2) / x2), xp.log(x1) - xp.log(x2))


def _where_nonnegative(t: RawArray, x1: Real, x2: Real, slope: RawArray, xp: Namespace) -> Any:
    """Return ``slope``, a derivative of kl_div(x1, x2), or NaN where x1 or x2 is negative: kl_div is
    infinite there.
    """
    return xp.where((as_floats(x1, t, xp) >= 0) & (as_floats(x2, t, xp) >= 0), slope, math.nan)


def _divergence_by_second(t: RawArray, x1: Real, x2: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of kl_div with respect to x2, ``1 - x1 / x2``."""
    x1, x2 = as_floats(x1, t, xp), as_floats(x2, t, xp)
    near = xp.abs(x1 - x2) < 0.5 * x2
    return t * _where_nonnegative(
        t, x1, x2, xp.where(near, (x2 - x1) / x2, 1.0 - xp.special.ratio(x1, x2)), xp
    )


rel_entr = special(
    "rel_entr", "x1 x2", lambda t, x1, x2, xp: t * (_log_ratio(t, x1, x2, xp) + 1.0),
    lambda t, x1, x2, xp: -t * _where_nonnegative(t, x1, x2, xp.special.ratio(x1, x2), xp),
    summary="The relative entropy x1 log(x1 / x2)",
)  # fmt: skip
kl_div = special(
    "kl_div", "x1 x2", lambda t, x1, x2, xp: t * _log_ratio(t, x1, x2, xp), _divergence_by_second,
    summary="The Kullback-Leibler divergence x1 log(x1 / x2) - x1 + x2",
)  # fmt: skip


# --- losses ---------------------------------------------------------------------------------------
def _where_width_nonnegative(t: RawArray, width: Real, slope: RawArray, xp: Namespace) -> Any:
    """Return ``slope``, a derivative of Huber's loss, or NaN where the width is negative: the loss is
    infinite there.
    """
    return xp.where(as_floats(width, t, xp) >= 0, slope, math.nan)


def _huber_by_width(t: RawArray, delta: Real, r: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of huber in delta: ``abs(r) - delta`` if positive, else 0."""
    beyond = xp.abs(as_floats(r, t, xp)) - delta
    return t * _where_width_nonnegative(t, delta, xp.where(beyond > 0, beyond, 0.0), xp)


def _huber_by_residual(t: RawArray, delta: Real, r: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of huber with respect to r: ``r`` where abs(r) is at most delta,
    else ``delta * xp.sign(r)``.
    """
    r = as_floats(r, t, xp)
    return t * _where_width_nonnegative(
        t, delta, xp.where(xp.abs(r) <= delta, r, delta * xp.sign(r)), xp
    )


def _pseudo_huber_by_width(t: RawArray, delta: Real, r: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of pseudo_huber with respect to delta,
    ``r**4 / (h * (delta + h)**2)``, with h = hypot(delta, r).
    """
    h = xp.hypot(as_floats(delta, t, xp), as_floats(r, t, xp))
    share = r / (delta + h)
    slope = r * (r / h) * (share * share)
    at_tip = flat_at_tip(h == 0, slope, h, xp)  # type: ignore[no-untyped-call]
    return t * _where_width_nonnegative(t, delta, at_tip, xp)


def _pseudo_huber_by_residual(t: RawArray, delta: Real, r: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of pseudo_huber with respect to r, ``delta * r / h``, with
    h = hypot(delta, r).
    """
    return t * _where_width_nonnegative(t, delta, xp.special.legs_over_hypotenuse(delta, r), xp)


def _cube_of_cosine(t: RawArray, leg: Real, other: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of legs_over_hypotenuse with respect to ``other``,
    ``(leg / hypot(leg, other)) ** 3``.
    """
    cosine = leg / xp.hypot(as_floats(leg, t, xp), as_floats(other, t, xp))
    return t * (cosine * cosine * cosine)


@kernel
def legs_over_hypotenuse(x1: RawArray, x2: RawArray, *, xp: Namespace) -> Any:
    """Return x1 x2 / hypot(x1, x2), and 0 at 0; derivatives of the loss pseudo_huber need it."""
    h = xp.hypot(x1, x2)
    return x1 * (x2 / xp.where(h == 0, 1.0, h))


# legs_over_hypotenuse is an op of its own, so that the formulas of its derivatives do not cancel.
special(
    "legs_over_hypotenuse", "x1 x2", lambda t, x1, x2, xp: _cube_of_cosine(t, x2, x1, xp),
    lambda t, x1, x2, xp: _cube_of_cosine(t, x1, x2, xp), public=False,
)  # fmt: skip


huber = special(
    "huber", "delta r", _huber_by_width, _huber_by_residual, domains=[POSITIVE, (-4.0, 4.0)],
    summary="The Huber loss", source="Huber 1964",
)  # fmt: skip
pseudo_huber = special(
    "pseudo_huber", "delta r", _pseudo_huber_by_width, _pseudo_huber_by_residual,
    domains=[POSITIVE, (-4.0, 4.0)],
    summary="The pseudo-Huber loss delta ** 2 (sqrt(1 + (r / delta) ** 2) - 1)",
)  # fmt: skip


# --- Box-Cox --------------------------------------------------------------------------------------
@kernel_by_order
def power_integral(n: int, logarithm: RawArray, lmbda: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative in lmbda of Box and Cox's (exp(lmbda * logarithm) - 1) / lmbda."""
    found = logarithm ** (n + 1) * xp.special.exprel_derivative(n, lmbda * logarithm)
    end = -((-1.0) ** n) * math.factorial(n) / lmbda ** (n + 1)
    return xp.where((logarithm == -math.inf) & (lmbda > 0), end, found)


special(
    "power_integral", "n logarithm lmbda", None,
    lambda t, n, logarithm, lmbda, xp: (
        t * (logarithm**n * xp.exp(as_floats(lmbda, t, xp) * logarithm))
    ),
    lambda t, n, logarithm, lmbda, xp: t * xp.special.power_integral(n + 1, logarithm, lmbda),
    domains=[(0, 3), REAL, REAL], integers="n", public=False,
)  # fmt: skip


def _boxcox1p_by_value(t: RawArray, x: Real, lmbda: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of boxcox1p with respect to x, ``(1 + x) ** (lmbda - 1)``."""
    return t * xp.exp(xp.special.xlog1py(as_floats(lmbda, t, xp) - 1.0, x))


def _slope_of_inverse(t: RawArray, x: RawOperand, lmbda: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of inv_boxcox in x, ``(1 + lmbda * x) ** (1 / lmbda - 1)``."""
    logarithm = x * xp.special.log1prel_derivative(0, as_floats(lmbda, t, xp) * x)
    return t * xp.exp((1.0 - lmbda) * logarithm)


def _inverse_by_exponent(t: RawArray, x: Real, lmbda: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of inv_boxcox with respect to lmbda,
    ``inv_boxcox(x, lmbda) * x**2 * f'(lmbda * x)``, where f(z) is log(1 + z) / z.
    """
    x, lmbda = as_floats(x, t, xp), as_floats(lmbda, t, xp)
    slope = x * x * xp.special.log1prel_derivative(1, lmbda * x)
    return t * xp.special.inv_boxcox(x, lmbda) * slope


boxcox = special(
    "boxcox", "x lmbda",
    lambda t, x, lmbda, y, xp: t * where_defined(xp.pow(as_floats(x, t, xp), lmbda - 1.0), y, xp),
    lambda t, x, lmbda, xp: t * xp.special.power_integral(1, xp.log(as_floats(x, t, xp)), lmbda),
    domains=[POSITIVE, REAL], summary="The Box-Cox transformation", source="Box and Cox 1964",
)  # fmt: skip
boxcox1p = special(
    "boxcox1p", "x lmbda", _boxcox1p_by_value,
    lambda t, x, lmbda, xp: t * xp.special.power_integral(1, xp.log1p(as_floats(x, t, xp)), lmbda),
    domains=[(-0.8, 4.0), REAL], summary="The Box-Cox transformation of 1 + x",
    source="Box and Cox 1964",
)  # fmt: skip
inv_boxcox = special(
    "inv_boxcox", "x lmbda", _slope_of_inverse, _inverse_by_exponent,
    domains=[(0.1, 2.0), (-0.4, 2.0)], summary="The inverse of the Box-Cox transformation",
)  # fmt: skip
inv_boxcox1p = special(
    "inv_boxcox1p", "x lmbda", _slope_of_inverse, _inverse_by_exponent,
    domains=[(0.1, 2.0), (-0.4, 2.0)], summary="The inverse of boxcox1p",
)  # fmt: skip


def _tukey_by_value(t: RawArray, x: Real, lmbda: Real, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the density, ``1 / (y ** (lmbda - 1) + (1 - y) ** (lmbda - 1))``, with y the
    result; 0 outside the support of the distribution.
    """
    return t * _tukey_density(as_floats(x, t, xp), as_floats(lmbda, t, xp), y, xp)


def _tukey_density(x: Real, lmbda: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the density of the Tukey lambda distribution at x, given y = tklmbda(x, lmbda)."""
    other = xp.special.tklmbda(-x, lmbda)  # 1 - y
    density = 1.0 / (xp.pow(y, lmbda - 1.0) + xp.pow(other, lmbda - 1.0))
    return xp.where((lmbda > 0) & (xp.abs(x) * lmbda > 1.0), 0.0, density)


def _tukey_by_shape(t: RawArray, x: Real, lmbda: Real, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of y = tklmbda(x, lmbda) in lmbda, by the inverse function
    theorem from ``x = boxcox(y, lmbda) - boxcox(1 - y, lmbda)``.
    """
    x, lmbda = as_floats(x, t, xp), as_floats(lmbda, t, xp)
    other = xp.special.tklmbda(-x, lmbda)
    below = xp.special.power_integral(1, xp.log(y), lmbda)
    above = xp.special.power_integral(1, xp.log(other), lmbda)
    density = _tukey_density(x, lmbda, y, xp)
    return -t * xp.where(density == 0, 0.0, density * (below - above))


tklmbda = special(
    "tklmbda", "x lmbda", _tukey_by_value, _tukey_by_shape, domains=[(-1.0, 1.0), (-0.5, 0.7)],
    summary="The cumulative distribution function of the Tukey lambda distribution",
)  # fmt: skip


# --- the arithmetic-geometric mean ----------------------------------------------------------------
@kernel_by_order
def agm_derivative(n: int, a: RawArray, b: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of the arithmetic-geometric mean of a and b with respect to b.

    The iteration of the mean is applied to Taylor coefficients in b.  The iteration converges
    quadratically, and nothing cancels.
    """
    # The mean of negative numbers is minus the mean of -a and -b; different signs have no mean.
    sign = xp.where((a > 0) == (b > 0), xp.sign(a), math.nan)
    first = [sign * a] + [xp.zeros_like(a)] * n
    second = [sign * b, xp.ones_like(b), *[xp.zeros_like(b)] * n][: n + 1]
    for _ in range(24):
        first, second = (
            [0.5 * (p + q) for p, q in zip(first, second, strict=True)],
            _root_of_product(first, second, xp),
        )
    return math.factorial(n) * sign ** (n + 1) * first[n]


def _root_of_product(first: list[Any], second: list[Any], xp: Namespace) -> list[Any]:
    """Return the Taylor coefficients of sqrt(first * second)."""
    root = [xp.sqrt(first[0]) * xp.sqrt(second[0])]
    for k in range(1, len(first)):
        product = sum(first[i] * second[k - i] for i in range(k + 1))
        known = sum(root[i] * root[k - i] for i in range(1, k))
        root.append((product - known) / (2.0 * root[0]))
    return root


def _agm_slope_by_first(t: RawArray, n: Real, a: Real, b: Real, y: RawArray, xp: Namespace) -> Any:
    # By Euler's theorem, because y, the n-th derivative, is homogeneous of degree 1 - n.
    return t * (((1.0 - n) * y - b * xp.special.agm_derivative(n + 1, a, b)) / a)


special(
    "agm_derivative", "n a b", None, _agm_slope_by_first,
    lambda t, n, a, b, xp: t * xp.special.agm_derivative(n + 1, a, b),
    domains=[(0, 3), POSITIVE, POSITIVE], integers="n", public=False,
)  # fmt: skip
agm = special(
    "agm", "a b", lambda t, a, b, xp: t * xp.special.agm_derivative(1, b, a),
    lambda t, a, b, xp: t * xp.special.agm_derivative(1, a, b),
    summary="The arithmetic-geometric mean", source="DLMF 19.8(i)",
)  # fmt: skip

# --- step functions -------------------------------------------------------------------------------
round = special(
    "round", "x", None, domains=[REAL], continuous=False,
    summary="The nearest integer, the even one in a tie",
)  # fmt: skip


# --- functions that consist of other ops ------------------------------------------------------
def sinc(x: Array) -> Array:
    """Return sin(pi x) / (pi x), and 1 at 0; derivatives of all orders are accurate near 0.

    Parameters
    ----------
    x : Array
        Of real or complex dtype.

    Returns
    -------
    Array
        Of the shape of x.
    """
    return sinc_derivative(x, order=0)


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    Array
        Of the shape of x.
    """
    return logaddexp(0.0, x)


def softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the exponentials of x, divided by their sum along ``axis``.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int or tuple of int, optional
        The axes to sum over; all by default.

    Returns
    -------
    Array
        Of the shape of x.
    """
    shifted: Array = exp(x - stop_gradient(greatest(x, axis=axis, keepdims=True)))
    total: Array = sum_of(shifted, axis=axis, keepdims=True)
    shares: Array = shifted / total
    if not followers(shares):
        return shares
    # The factor ``one`` is 1.  In the backward pass it subtracts the mean of the cotangent a second
    # time.  The first mean is rounded, and at a share of nearly 1 the rounding error may exceed the
    # gradient.
    whole: Array = sum_of(shares, axis=axis, keepdims=True)
    one: Array = stop_gradient(whole) / whole
    return shares * one


def log_softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the logarithm of ``softmax``.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int or tuple of int, optional
        The axes to sum over; all by default.

    Returns
    -------
    Array
        Of the shape of x.
    """
    top = stop_gradient(greatest(x, axis=axis, keepdims=True))
    shifted: Array = x - where(isfinite(top), top, 0.0)
    return shifted - log(sum_of(exp(shifted), axis=axis, keepdims=True))


FUNCTIONS = {"log_softmax": log_softmax, "sinc": sinc, "softmax": softmax, "softplus": softplus}
