"""Exponential integrals, sine and cosine integrals, the dilogarithm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._storage.special import kernel
from .._storage.storage import is_complex
from ._rules import horner, kernel_by_order, where_defined
from ._several import tuple_result
from ._statement import POSITIVE, REAL, special

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import Namespace, RawArray

# --- exponential integrals ------------------------------------------------------------------------
exp1 = special(
    "exp1", "x", lambda t, x, y, xp: -t * where_defined(xp.exp(-x) / x, y, xp), complex=True,
    summary="The exponential integral E1", source="DLMF 6.2.1",
)  # fmt: skip
expi = special(
    "expi", "x", lambda t, x, y, xp: t * where_defined(xp.exp(x) / x, y, xp), complex=True,
    summary="The exponential integral Ei", source="DLMF 6.2.5",
)  # fmt: skip


@kernel
def expn_below(n: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the generalised exponential integral of any whole order n.  Source: DLMF 8.19.8, 8.4.8."""
    below = xp.where(n < 0, 1.0 - n, 1.0)
    found = xp.special.gammaincc(below, x) * xp.exp(xp.special.gammaln(below) - below * xp.log(x))
    return xp.where(n < 0, found, xp.special.expn(xp.where(n < 0, 0.0, n), x))


special(
    "expn_below", "n x", None, lambda t, n, x, xp: -t * xp.special.expn_below(n - 1, x),
    domains=[(-2, 4), POSITIVE], integers="n", public=False,
)  # fmt: skip
expn = special(
    "expn", "n x", None,
    lambda t, n, x, y, xp: -t * where_defined(xp.special.expn_below(n - 1, x), y, xp),
    domains=[(0, 4), POSITIVE], integers="n",
    summary="The generalised exponential integral of order n", source="DLMF 8.19.13",
)  # fmt: skip


@kernel_by_order
def scaled_exp1_derivative(n: int, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of x exp(x) E1(x).

    For x from 45 on, the asymptotic series is differentiated term by term.  Source: DLMF 6.12.1.
    """
    near = x < 45.0
    close, beyond = xp.where(near, x, 1.0), xp.where(near, 45.0, x)
    before, forwards = 0.0, xp.special._scaled_exp1(close)
    for k in range(n):
        constant = close if k == 0 else 1.0 if k == 1 else 0.0
        following = ((1.0 - k + close) * forwards + k * before - constant) / close
        before, forwards = forwards, following
    # The series is the sum of k! / (-x) ** k.  Its first term is constant and has the derivative 0.
    reciprocal = 1.0 / beyond
    if n == 0:
        far = horner([-float(k) for k in range(1, 40)], reciprocal, xp)
    else:
        ratios = [-(k + 1.0) * (k + n) / k for k in range(1, 40)]
        leading = -math.factorial(n) * (-1.0) ** n * reciprocal ** (n + 1)
        far = leading * horner(ratios, reciprocal, xp)
    return xp.where(near, forwards, far)


special(
    "scaled_exp1_derivative", "n x", None,
    lambda t, n, x, xp: t * xp.special.scaled_exp1_derivative(n + 1, x),
    domains=[(0, 3), (0.2, 60.0)], integers="n", public=False,
)  # fmt: skip
_scaled_exp1 = special(
    "_scaled_exp1", "x", lambda t, x, xp: t * xp.special.scaled_exp1_derivative(1, x),
    summary="x exp(x) E1(x)",
)  # fmt: skip


# --- sine and cosine integrals --------------------------------------------------------------------
for _name, _function, _place in (
    ("sine_integral", "sici", 0), ("cosine_integral", "sici", 1),
    ("hyperbolic_sine_integral", "shichi", 0), ("hyperbolic_cosine_integral", "shichi", 1),
):  # fmt: skip
    kernel(tuple_result(_name, _function, _place))


def _shi(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of the hyperbolic sine integral, ``xp.sinh(x) / x``."""
    # sinh(x) / x is sin(i x) / (i x), whose derivatives are accurate near 0.
    slope = xp.sinc_derivative(x * (1j / math.pi), order=0)
    return t * (slope if is_complex(x) else xp.real(slope))


_si = special(
    "sine_integral", "x", lambda t, x, xp: t * xp.sinc_derivative(x * (1.0 / math.pi), order=0),
    domains=[REAL], complex=True, source="DLMF 6.2.9", public=False,
)  # fmt: skip
_ci = special(
    "cosine_integral", "x", lambda t, x, xp: t * (xp.cos(x) / x), complex=True,
    source="DLMF 6.2.11", public=False,
)  # fmt: skip
_shi_op = special(
    "hyperbolic_sine_integral", "x", _shi, domains=[REAL], complex=True, source="DLMF 6.2.15",
    public=False,
)  # fmt: skip
_chi = special(
    "hyperbolic_cosine_integral", "x", lambda t, x, xp: t * (xp.cosh(x) / x), complex=True,
    source="DLMF 6.2.16", public=False,
)  # fmt: skip


def sici(x: Array | complex) -> tuple[Any, Any]:
    """Return the sine integral Si(x) and the cosine integral Ci(x).

    Parameters
    ----------
    x : Array
        Of real or complex dtype.

    Returns
    -------
    tuple of Array
        Si and Ci, of the shape of x.
    """
    return _si(x), _ci(x)


def shichi(x: Array | complex) -> tuple[Any, Any]:
    """Return the hyperbolic sine integral Shi(x) and the hyperbolic cosine integral Chi(x).

    Parameters
    ----------
    x : Array
        Of real or complex dtype.

    Returns
    -------
    tuple of Array
        Shi and Chi, of the shape of x.
    """
    return _shi_op(x), _chi(x)


# --- the dilogarithm ------------------------------------------------------------------------------
def _spence(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of spence(x), ``xp.log(x) / (1 - x)``."""
    beside = x - 1.0
    near = xp.abs(beside) < 0.3  # log1prel, which is log(1 + u) / u, has a series in u = x - 1
    return -t * xp.where(near, xp.special.log1prel_derivative(0, beside), xp.log(x) / beside)


spence = special(
    "spence", "x", _spence, complex=True, summary="Spence's function, the dilogarithm of 1 - x",
    source="DLMF 25.12.2",
)  # fmt: skip

FUNCTIONS = {"shichi": shichi, "sici": sici}
