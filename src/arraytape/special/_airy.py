"""Airy functions, their integrals, and the exponentially scaled Airy functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._array.array import Array
from .._storage.special import kernel
from .._storage.storage import is_complex
from ..ops import elementwise_functions as elements
from ._bessel_scaled import real_data
from ._several import special_tuple
from ._statement import STATEMENTS, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray

ARGUMENTS = (-4.0, 4.0)

airy = special_tuple(
    "airy", "z",
    {
        "ai": [lambda t, z, xp: t * xp.special.airy_aip(z)],
        "aip": [lambda t, z, xp: t * z * xp.special.airy_ai(z)],
        "bi": [lambda t, z, xp: t * xp.special.airy_bip(z)],
        "bip": [lambda t, z, xp: t * z * xp.special.airy_bi(z)],
    },
    summary="Airy functions Ai and Bi, and their derivatives", domains=[ARGUMENTS], complex=True,
    source="DLMF 9.2.1",
)  # fmt: skip
itairy = special_tuple(
    "itairy", "x",
    {
        "apt": [lambda t, x, xp: t * xp.special.airy_ai(x)],
        "bpt": [lambda t, x, xp: t * xp.special.airy_bi(x)],
        "ant": [lambda t, x, xp: t * xp.special.airy_ai(-x)],
        "bnt": [lambda t, x, xp: t * xp.special.airy_bi(-x)],
    },
    summary="Integrals of Ai(t), Bi(t), Ai(-t), Bi(-t) from 0 to x", domains=[ARGUMENTS],
    source="DLMF 9.10",
)  # fmt: skip


FUNCTIONS: dict[str, Callable[..., Any]] = {"airy": airy, "itairy": itairy}

# --- exponentially scaled Airy functions ------------------------------------------------------------
# airye returns Ai and Ai' times exp(s), Bi and Bi' times exp(-abs(real(s))), with s = 2 / 3 z ** 1.5.
# Where z is large these are Bessel functions of s (DLMF 9.6.2 to 9.6.9), whose derivatives do not
# cancel.
THIRD, TWO_THIRDS = 1 / 3, 2 / 3


def slope_of_ai(z: RawArray, xp: Namespace) -> Any:
    """Return the derivative of eai, the first result of airye: Ai(z) scaled by an exponential.

    Where z is large eai is ``sqrt(z / 3) / pi kve(1 / 3, s)``, with s = 2 / 3 z ** 1.5.
    """
    large, far, s = split_large(z, xp)
    bessel = xp.special.kve(THIRD, s) / (2 * xp.sqrt(far))
    bessel = (bessel + far * xp.special.kve_derivative(1, THIRD, s)) / (math.pi * math.sqrt(3))
    near = xp.special.airye_eaip(z) + xp.sqrt(z) * xp.special.airye_eai(z)
    return xp.where(large, bessel, near)


def slope_of_aip(z: RawArray, xp: Namespace) -> Any:
    """Return the derivative of eaip, the second result of airye: Ai'(z) scaled by an exponential.

    Where z is large eaip is ``-z / (sqrt(3) pi) kve(2 / 3, s)``, with s = 2 / 3 z ** 1.5.
    """
    large, far, s = split_large(z, xp)
    bessel = xp.special.kve(TWO_THIRDS, s)
    bessel = bessel + far * xp.sqrt(far) * xp.special.kve_derivative(1, TWO_THIRDS, s)
    near = z * xp.special.airye_eai(z) + xp.sqrt(z) * xp.special.airye_eaip(z)
    return xp.where(large, -bessel / (math.pi * math.sqrt(3)), near)


def slope_of_bi(z: RawArray, xp: Namespace) -> Any:
    """Return the derivative of ebi, the third result of airye: Bi(z), scaled, for real z.

    Where z is large, ebi is ``sqrt(z / 3) (ive(-1 / 3, s) + ive(1 / 3, s))``, s = 2 / 3 z ** 1.5.
    """
    large, far, s = split_large(z, xp)
    bessel = ive_of_both_orders(0, THIRD, s, xp) / (2 * xp.sqrt(far))
    bessel = (bessel + far * ive_of_both_orders(1, THIRD, s, xp)) / math.sqrt(3)
    near = xp.special.airye_ebip(z) - airy_rate(z, xp) * xp.special.airye_ebi(z)
    return xp.where(large, bessel, near)


def slope_of_bip(z: RawArray, xp: Namespace) -> Any:
    """Return the derivative of ebip, the last result of airye: Bi'(z), scaled, for real z.

    Where z is large, ebip is ``z / sqrt(3) (ive(-2 / 3, s) + ive(2 / 3, s))``, s = 2 / 3 z ** 1.5.
    """
    large, far, s = split_large(z, xp)
    bessel = ive_of_both_orders(0, TWO_THIRDS, s, xp)
    bessel = bessel + far * xp.sqrt(far) * ive_of_both_orders(1, TWO_THIRDS, s, xp)
    near = z * xp.special.airye_ebi(z) - airy_rate(z, xp) * xp.special.airye_ebip(z)
    return xp.where(large, bessel / math.sqrt(3), near)


def airy_rate(z: RawArray, xp: Namespace) -> Any:
    """Return ds/dz for real z, with s = 2 / 3 z ** 1.5; airye scales the Airy function Bi by exp(-s).

    Return 0 for z < 0, where airye does not scale Bi.
    """
    positive = z > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, z, 1 + 0 * z)), 0.0)


def split_large(z: RawArray, xp: Namespace) -> tuple[Any, Any, Any]:
    """Return the arguments of the formulas with Bessel functions, which are used where real(z) > 1.

    The first is the mask ``real(z) > 1``.  The second is z, with 1 in place of elements where the mask
    is False.  The third is s = ``2 / 3 z ** 1.5`` for this z.
    """
    large = real_data(z, xp) > 1
    far = xp.where(large, z, 1 + 0 * z)
    return large, far, TWO_THIRDS * far * xp.sqrt(far)


def ive_of_both_orders(n: int, v: float, s: RawArray, xp: Namespace) -> Any:
    """Return the n-th derivative of ``ive(-v, s) + ive(v, s)`` with respect to s."""
    return xp.special.ive_derivative(n, -v, s) + xp.special.ive_derivative(n, v, s)


airye = special_tuple(
    "airye", "z",
    {
        "eai": [lambda t, z, xp: t * slope_of_ai(z, xp)],
        "eaip": [lambda t, z, xp: t * slope_of_aip(z, xp)],
        "ebi": [lambda t, z, xp: t * slope_of_bi(z, xp)],
        "ebip": [lambda t, z, xp: t * slope_of_bip(z, xp)],
    },
    summary="Exponentially scaled Airy functions and their derivatives", domains=[(0.1, 4.0)],
)  # fmt: skip


# The scale of Bi and Bi' is not analytic in complex z.  So for complex z the exponent s of the scale is
# a second, real operand of the ops.
@kernel
def bi_scaled(z: RawArray, s: RawArray, *, xp: Namespace) -> Any:
    """Return Bi(z) exp(-s), the Airy function Bi scaled by a factor that the caller chooses."""
    return xp.special.airye(z)[2] * xp.exp(real_exponent(z, xp) - real_data(s, xp))


@kernel
def bip_scaled(z: RawArray, s: RawArray, *, xp: Namespace) -> Any:
    """Return Bi'(z) exp(-s), the derivative of the Airy function Bi scaled by a chosen factor."""
    return xp.special.airye(z)[3] * xp.exp(real_exponent(z, xp) - real_data(s, xp))


def real_exponent(z: RawArray, xp: Namespace) -> Any:
    """Return ``abs(real(2 / 3 z ** 1.5))``, the exponent by which airye scales Bi; 0 for real z < 0."""
    if not is_complex(z):
        z = xp.where(z > 0, z, 0 * z)
    return xp.abs(real_data(TWO_THIRDS * z * xp.sqrt(z), xp))


OF_COMPLEX = (
    special(
        "bi_scaled", "z s", lambda t, z, s, xp: t * xp.special.bip_scaled(z, s),
        lambda t, y: -t * y, domains=[ARGUMENTS, ARGUMENTS], public=False,
    ),
    special(
        "bip_scaled", "z s", lambda t, z, s, xp: t * z * xp.special.bi_scaled(z, s),
        lambda t, y: -t * y, domains=[ARGUMENTS, ARGUMENTS], public=False,
    ),
)  # fmt: skip


def airye_of_any(z: Array | complex, /) -> tuple[Array, ...]:
    if not is_complex(z):
        return airye(z)
    s = elements.abs(elements.real(TWO_THIRDS * z * elements.sqrt(z)))
    ai, aip = (STATEMENTS[f"airye_{part}"].function(z) for part in ("eai", "eaip"))
    return ai, aip, *[part(z, s) for part in OF_COMPLEX]


airye_of_any.__name__ = airye_of_any.__qualname__ = "airye"
airye_of_any.__module__, airye_of_any.__doc__ = airye.__module__, airye.__doc__
FUNCTIONS["airye"] = airye_of_any
