"""The error function and its relatives: normal probabilities, Dawson's and Fresnel's integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._storage.special import kernel
from .._storage.storage import is_complex
from ._rules import as_floats, horner, kernel_by_order
from ._several import tuple_result
from ._statement import POSITIVE, REAL, UNIT, special

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import Namespace, RawArray, RawOperand
    from ._rules import Real

ROOT_PI, ROOT_2PI = math.sqrt(math.pi), math.sqrt(2.0 * math.pi)
FAR = 7.0  # from here on the asymptotic series have the precision of float64


# --- families of derivatives ----------------------------------------------------------------------
# A recurrence gives each derivative from those before it, but cancels where the argument is large: there
# the asymptotic series is differentiated term by term.
def _asymptotic(n: int, z: RawArray, sign: float, xp: Namespace) -> Any:
    """Return ``n! / z ** (n + 1)`` times an asymptotic series in ``1 / z ** 2``.

    Up to a constant factor the result is the n-th derivative of erfcx (sign -1) or Dawson's integral
    (sign 1) at large z.
    """
    reciprocal = 1.0 / z
    ratios = [sign * (2 * k + n - 1) * (2 * k + n) / (4.0 * k) for k in range(1, 31)]
    return math.factorial(n) * reciprocal ** (n + 1) * horner(ratios, reciprocal * reciprocal, xp)


def _gaussian(n: int, z: RawArray, sign: float, xp: Namespace) -> Any:
    """Return the n-th derivative of exp(sign * z ** 2)."""
    before, found = 0.0, xp.exp(sign * (z * z))
    for k in range(n):
        before, found = found, 2.0 * sign * (z * found + k * before)
    return found


def _by_recurrence(
    n: int, z: RawArray, value: RawArray, first: Callable[[Any], Any], sign: float
) -> Any:
    """Return the n-th derivative at z of a function y that solves ``y'' = 2 sign (z y' + y)``.

    Each derivative follows from the two before it.  value : y at z.  first : maps ``value`` to y' at z.
    """
    if n == 0:
        return value
    before, found = value, first(value)
    for k in range(1, n):
        before, found = found, 2.0 * sign * (z * found + k * before)
    return found


@kernel_by_order
def erfcx_derivative(n: int, z: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of exp(z ** 2) erfc(z).  Source: DLMF 7.18(iv), 7.12.1."""
    near = xp.abs(z) < FAR
    close = xp.where(near, z, 0.0)
    forwards = _by_recurrence(
        n, close, xp.special.erfcx(close), lambda y: 2.0 * (close * y) - 2.0 / ROOT_PI, 1.0
    )
    beyond = xp.where(near, FAR, z)
    # Where real(z) < 0, erfcx(z) is computed as 2 exp(z ** 2) - erfcx(-z).
    left = (xp.real(beyond) if is_complex(z) else beyond) < 0
    mirrored = _asymptotic(n, xp.where(left, -beyond, beyond), -1.0, xp) * ((-1.0) ** n / ROOT_PI)
    reflected = 2.0 * _gaussian(n, xp.where(left, beyond, 0.0), 1.0, xp) - (-1.0) ** n * mirrored
    return xp.where(near, forwards, xp.where(left, reflected, mirrored))


@kernel_by_order
def dawsn_derivative(n: int, z: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of Dawson's integral.  Source: DLMF 7.10.4, 7.12."""
    near = xp.abs(z) < FAR
    close = xp.where(near, z, 0.0)
    forwards = _by_recurrence(
        n, close, xp.special.dawsn(close), lambda y: 1.0 - 2.0 * (close * y), -1.0
    )
    beyond = xp.where(near, FAR, z)
    far = _asymptotic(n, beyond, 1.0, xp) * ((-1.0) ** n / 2.0)
    if is_complex(z):
        # Off the real axis there is an exponential term next to the asymptotic series.
        side = xp.sign(xp.imag(beyond)) * (0.5j * ROOT_PI)
        far = far + xp.where(side == 0, 0.0, side * _gaussian(n, beyond, -1.0, xp))
    return xp.where(near, forwards, far)


special(
    "erfcx_derivative", "n x", None, lambda t, n, x, xp: t * xp.special.erfcx_derivative(n + 1, x),
    domains=[(0, 3), (-3.0, 9.0)], integers="n", complex=True, public=False,
)  # fmt: skip
special(
    "dawsn_derivative", "n x", None, lambda t, n, x, xp: t * xp.special.dawsn_derivative(n + 1, x),
    domains=[(0, 3), (-9.0, 9.0)], integers="n", complex=True, public=False,
)  # fmt: skip

# --- the error function ---------------------------------------------------------------------------
erf = special(
    "erf", "x", lambda t, x, xp: t * ((2.0 / ROOT_PI) * xp.exp(-x * x)), domains=[REAL],
    complex=True, summary="The error function", source="DLMF 7.2.1",
)  # fmt: skip
erfc = special(
    "erfc", "x", lambda t, x, xp: t * ((-2.0 / ROOT_PI) * xp.exp(-x * x)), domains=[REAL],
    complex=True, summary="1 - erf(x), accurate where x is large", source="DLMF 7.2.2",
)  # fmt: skip
erfi = special(
    "erfi", "x", lambda t, x, xp: t * ((2.0 / ROOT_PI) * xp.exp(x * x)), domains=[REAL],
    complex=True, summary="The imaginary error function -1j erf(1j x)",
)  # fmt: skip
erfcx = special(
    "erfcx", "x", lambda t, x, xp: t * xp.special.erfcx_derivative(1, x), domains=[REAL],
    complex=True, summary="exp(x ** 2) erfc(x)", source="DLMF 7.18(iv)",
)  # fmt: skip
dawsn = special(
    "dawsn", "x", lambda t, x, xp: t * xp.special.dawsn_derivative(1, x), domains=[REAL],
    complex=True, summary="Dawson's integral", source="DLMF 7.10.4",
)  # fmt: skip
wofz = special(
    "wofz", "x", lambda t, x, xp: t * (-1j * xp.special.erfcx_derivative(1, -1j * x)),
    domains=[REAL], complex=True, summary="The Faddeeva function exp(-x ** 2) erfc(-1j x)",
    source="DLMF 7.10.2",
)  # fmt: skip
# The slope of an inverse is 1 over the slope of the function at the result (inverse function theorem).
erfinv = special(
    "erfinv", "x", lambda t, y, xp: t * ((0.5 * ROOT_PI) * xp.exp(y * y)), domains=[(-0.95, 0.95)],
    summary="The inverse of the error function", source="DLMF 7.17",
)  # fmt: skip
erfcinv = special(
    "erfcinv", "x", lambda t, y, xp: t * ((-0.5 * ROOT_PI) * xp.exp(y * y)), domains=[(0.05, 1.95)],
    summary="The inverse of erfc", source="DLMF 7.17",
)  # fmt: skip

# --- normal probabilities -------------------------------------------------------------------------
ndtr = special(
    "ndtr", "x", lambda t, x, xp: t * (xp.exp(-0.5 * (x * x)) / ROOT_2PI), domains=[REAL],
    complex=True, summary="The cumulative distribution function of the normal distribution",
)  # fmt: skip


# One kernel computes the quotient of density and probability, because each of them may underflow.
@kernel
def log_ndtr_derivative(x: RawArray, *, xp: Namespace) -> Any:
    """Return the derivative of log_ndtr, exp(-x ** 2 / 2) / (sqrt(2 pi) ndtr(x))."""
    return math.sqrt(2.0 / math.pi) / xp.special.erfcx(x * -math.sqrt(0.5))


def _log_ndtr_curvature(t: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of log_ndtr_derivative, ``-y * (x + y)``, with y the result."""
    # The formula -y (x + y) cancels where x is negative.  The formula with erfcx is not used where x is
    # positive, because there erfcx overflows before y is 0.
    positive = xp.real(x) > 0
    u = xp.where(positive, 0.0, x) * -math.sqrt(0.5)
    growth = math.sqrt(0.5) * (xp.special.erfcx_derivative(1, u) / xp.special.erfcx(u))
    return t * xp.where(y == 0, 0.0, y * xp.where(positive, -(x + y), growth))


special("log_ndtr_derivative", "x", _log_ndtr_curvature, domains=[REAL], complex=True, public=False)
log_ndtr = special(
    "log_ndtr", "x", lambda t, x, xp: t * xp.special.log_ndtr_derivative(x), domains=[REAL],
    complex=True, summary="The logarithm of ndtr, accurate where x is far below 0",
)  # fmt: skip
ndtri = special(
    "ndtri", "x", lambda t, y, xp: t * (ROOT_2PI * xp.exp(0.5 * (y * y))), domains=[UNIT],
    summary="The inverse of ndtr",
)  # fmt: skip
ndtri_exp = special(
    "ndtri_exp", "x",
    lambda t, y, xp: t * (math.sqrt(math.pi / 2.0) * xp.special.erfcx(y * -math.sqrt(0.5))),
    domains=[(-5.0, -0.05)], summary="The inverse of log_ndtr",
)  # fmt: skip


def _owen_by_height(t: RawArray, h: Real, a: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of owens_t with respect to h,
    ``-exp(-h**2 / 2) * erf(a * h / sqrt(2)) / sqrt(8 * pi)``.
    """
    return (
        t
        * (xp.exp(-0.5 * (as_floats(h, t, xp) * h)) * xp.special.erf(h * a * math.sqrt(0.5)))
        * (-0.5 / ROOT_2PI)
    )


def _owen_by_slope(t: RawArray, h: Real, a: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of owens_t with respect to a,
    ``exp(-h**2 * (1 + a**2) / 2) / (2 * pi * (1 + a**2))``.
    """
    h, a = as_floats(h, t, xp), as_floats(a, t, xp)
    product = h * a
    return t * (xp.exp(-0.5 * (h * h + product * product)) / (1.0 + a * a)) / (2.0 * math.pi)


owens_t = special(
    "owens_t", "h a", _owen_by_height, _owen_by_slope, domains=[REAL, REAL],
    summary="Owen's T function", source="Owen 1956",
)  # fmt: skip


# --- Voigt's profile ------------------------------------------------------------------------------
def _voigt(n: int, x: RawArray, sigma: RawArray, gamma: RawArray, xp: Namespace) -> Any:
    """Return the n-th derivative of wofz(z) / (sigma sqrt(2 pi)) with respect to x.

    z is (x + 1j gamma) / (sigma sqrt(2)).  The real part of the function is Voigt's profile.
    """
    scale = sigma * math.sqrt(2.0)
    narrow = scale == 0
    scale = xp.where(narrow, 1.0, scale)
    turned = gamma - 1j * x
    found = (-1j / scale) ** n * xp.special.erfcx_derivative(n, turned / scale) / (scale * ROOT_PI)
    # For sigma = 0 there is no Gaussian part, and the function is 1 / (pi (gamma - 1j x)).
    lorentz = math.factorial(n) * 1j**n / math.pi / turned ** (n + 1)
    return xp.where(narrow, lorentz, found)


@kernel_by_order
def voigt_real(n: int, x: RawArray, sigma: RawArray, gamma: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of Voigt's profile with respect to x."""
    return xp.real(_voigt(n, x, sigma, gamma, xp))


@kernel_by_order
def voigt_imag(n: int, x: RawArray, sigma: RawArray, gamma: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative in x of imag(wofz(z)) / (sigma sqrt(2 pi)).

    z is (x + 1j gamma) / (sigma sqrt(2)).  Derivatives of Voigt's profile need this function.
    """
    return xp.imag(_voigt(n, x, sigma, gamma, xp))


# The profile is the real part of an analytic function of x + 1j gamma, and solves a heat equation in
# sigma ** 2.  So derivatives with respect to gamma and sigma follow from derivatives with respect to x.
PROFILE = [REAL, (0.3, 2.0), (0.2, 2.0)]
special(
    "voigt_real", "n x sigma gamma", None,
    lambda t, n, x, sigma, gamma, xp: t * xp.special.voigt_real(n + 1, x, sigma, gamma),
    lambda t, n, x, sigma, gamma, xp: t * (sigma * xp.special.voigt_real(n + 2, x, sigma, gamma)),
    lambda t, n, x, sigma, gamma, xp: -t * xp.special.voigt_imag(n + 1, x, sigma, gamma),
    domains=[(0, 3), *PROFILE], integers="n", public=False,
)  # fmt: skip
special(
    "voigt_imag", "n x sigma gamma", None,
    lambda t, n, x, sigma, gamma, xp: t * xp.special.voigt_imag(n + 1, x, sigma, gamma),
    lambda t, n, x, sigma, gamma, xp: t * (sigma * xp.special.voigt_imag(n + 2, x, sigma, gamma)),
    lambda t, n, x, sigma, gamma, xp: t * xp.special.voigt_real(n + 1, x, sigma, gamma),
    domains=[(0, 3), *PROFILE], integers="n", public=False,
)  # fmt: skip
voigt_profile = special(
    "voigt_profile", "x sigma gamma",
    lambda t, x, sigma, gamma, xp: t * xp.special.voigt_real(1, x, sigma, gamma),
    lambda t, x, sigma, gamma, xp: t * (sigma * xp.special.voigt_real(2, x, sigma, gamma)),
    lambda t, x, sigma, gamma, xp: -t * xp.special.voigt_imag(1, x, sigma, gamma), domains=PROFILE,
    summary="Voigt's profile", source="DLMF 7.19",
)  # fmt: skip


# --- Fresnel's integrals --------------------------------------------------------------------------
for _place, _name in enumerate(("fresnel_s", "fresnel_c")):
    kernel(tuple_result(_name, "fresnel", _place))


@kernel
def modfresnel_f(z: RawArray, sign: RawArray, *, xp: Namespace) -> Any:
    """Return F+(z) (sign 1) or F-(z) (sign -1), the integral of exp(1j sign t ** 2) over t > z."""
    plus, minus = xp.special.modfresnelp(z)[0], xp.special.modfresnelm(z)[0]
    return xp.where(sign > 0, plus, minus)


@kernel
def modfresnel_k(z: RawArray, sign: RawArray, *, xp: Namespace) -> Any:
    """Return K+(z) (sign 1) or K-(z) (sign -1), which is erfcx(exp(-1j sign pi / 4) z) / 2."""
    plus, minus = xp.special.modfresnelp(z)[1], xp.special.modfresnelm(z)[1]
    return xp.where(sign > 0, plus, minus)


def _eighth_turn(sign: RawOperand) -> Any:
    """Return exp(-1j sign pi / 4)."""
    return math.sqrt(0.5) * (1.0 - 1j * sign)


_fresnel_s = special(
    "fresnel_s", "x", lambda t, x, xp: t * xp.special._sinpi(0.5 * (x * x)), domains=[REAL],
    complex=True, source="DLMF 7.2.8", public=False,
)  # fmt: skip
_fresnel_c = special(
    "fresnel_c", "x", lambda t, x, xp: t * xp.special._cospi(0.5 * (x * x)), domains=[REAL],
    complex=True, source="DLMF 7.2.7", public=False,
)  # fmt: skip
_modfresnel_f = special(
    "modfresnel_f", "x sign", lambda t, x, sign, xp: -t * xp.exp(1j * (sign * (x * x))), None,
    domains=[POSITIVE, (1, 1.5)], integers="sign", public=False,
)  # fmt: skip
_modfresnel_k = special(
    "modfresnel_k", "x sign",
    lambda t, x, sign, xp: (
        t * (0.5 * _eighth_turn(sign) * xp.special.erfcx_derivative(1, _eighth_turn(sign) * x))
    ),
    None, domains=[POSITIVE, (1, 1.5)], integers="sign", public=False,
)  # fmt: skip


def fresnel(z: Array | complex) -> tuple[Any, Any]:
    """Return Fresnel's integrals S(z) and C(z).

    Parameters
    ----------
    z : Array
        Of real or complex dtype.

    Returns
    -------
    tuple of Array
        S and C, of the shape of z.
    """
    return _fresnel_s(z), _fresnel_c(z)


def modfresnelp(x: Array | float) -> tuple[Any, Any]:
    """Return the modified Fresnel integrals F+(x) and K+(x).

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    tuple of Array
        Of complex dtype and the shape of x.
    """
    return _modfresnel_f(x, 1), _modfresnel_k(x, 1)


def modfresnelm(x: Array | float) -> tuple[Any, Any]:
    """Return the modified Fresnel integrals F-(x) and K-(x).

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    tuple of Array
        Of complex dtype and the shape of x.
    """
    return _modfresnel_f(x, -1), _modfresnel_k(x, -1)


FUNCTIONS = {"fresnel": fresnel, "modfresnelm": modfresnelm, "modfresnelp": modfresnelp}
