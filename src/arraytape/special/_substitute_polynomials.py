"""Orthogonal polynomials and hypergeometric functions on CUDA devices.

Whole degrees are computed by recurrence, other degrees by a hypergeometric function as in SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.special import SUBSTITUTES, not_in_cupy, of_one_dtype, substitute
from .._storage.storage import storage_of
from ._rules import kernel_by_order

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray


def substitute_polynomial(
    name: str, of_real: Callable[..., Any], first: Callable[..., Any], coefficients: Callable[..., Any],
    reflect: Callable[[int], tuple[int, int]] = lambda n: (0, 0),
) -> None:  # fmt: skip
    """Register a polynomial of SciPy as a kernel (a function of raw data) for CuPy's data.

    Its operands are the degree n, parameters, and the argument x.

    name : SciPy's name.  of_real : a function of the operands and xp, for a real degree.
    first : a function of the parameters and x that returns the polynomial of degree 1.
    coefficients : a function of k and the parameters that returns a, b, c of the recurrence
    p(k + 1) = (a x + b) p(k) - c p(k - 1).
    reflect : a function that maps a negative degree to a sign and a degree of 0 or more, so that the
    polynomial of negative degree is the sign times that of the other degree.
    """

    def by_recurrence(n: int, *operands: RawArray, xp: Namespace) -> Any:
        sign, n = reflect(n) if n < 0 else (1, n)
        zero = 0.0 * sum(operands)
        low, high = zero + sign, sign * (first(*operands) + zero)
        for k in range(1, n):
            a, b, c = coefficients(k, *operands[:-1])
            low, high = high, (a * operands[-1] + b) * high - c * low
        return high if n else low

    by_recurrence.__name__ = name
    kernel_by_order(by_recurrence, SUBSTITUTES)
    of_whole, of_degree = SUBSTITUTES[name], of_one_dtype(of_real)

    def polynomial(n: RawArray | float, *operands: RawArray, xp: Namespace) -> Any:
        degrees = storage_of(n).host(n) if hasattr(n, "dtype") else np.asarray(n)
        return (of_degree if np.any(degrees % 1 != 0) else of_whole)(n, *operands, xp=xp)

    SUBSTITUTES[name] = polynomial


def half_of_rest(x: RawArray) -> Any:
    """Return (1 - x) / 2, where a hypergeometric function takes the value of a polynomial at x."""
    return 0.5 * (1.0 - x)


def refuse_degree(n: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Raise TypeError: CuPy's data has no Hermite polynomials of a degree that is not whole."""
    raise TypeError(not_in_cupy("a Hermite polynomial of a degree that is no whole number", xp))


def jacobi_coefficients(k: int, alpha: RawArray, beta: RawArray) -> tuple[Any, Any, Any]:
    """Return the coefficients of the recurrence of Jacobi's polynomials.  Source: DLMF 18.9.2."""
    both = 2.0 * k + alpha + beta
    share = (both + 1.0) / (2.0 * (k + 1.0) * (k + alpha + beta + 1.0))
    last = (k + alpha) * (k + beta) * (both + 2.0) / ((k + 1.0) * (k + alpha + beta + 1.0) * both)
    return share * (both + 2.0), share * (alpha - beta) * (alpha + beta) / both, last


# Sources: DLMF 18.5.7 to 18.5.12 for the functions of a real degree, table 18.9.1 for the recurrences.
substitute_polynomial(
    "eval_legendre",
    lambda n, x, xp: xp.special.hyp2f1(-n, n + 1.0, 1.0, half_of_rest(x)),
    lambda x: x, lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1)), lambda n: (1, -1 - n),
)  # fmt: skip
substitute_polynomial(
    "eval_jacobi",
    lambda n, alpha, beta, x, xp: (
        xp.special.binom(n + alpha, n)
        * xp.special.hyp2f1(-n, n + alpha + beta + 1.0, alpha + 1.0, half_of_rest(x))
    ),
    lambda alpha, beta, x: alpha + 1.0 - (alpha + beta + 2.0) * half_of_rest(x),
    jacobi_coefficients,
)  # fmt: skip
substitute_polynomial(
    "eval_chebyt",
    lambda n, x, xp: xp.special.hyp2f1(-n, n, 0.5, half_of_rest(x)),
    lambda x: x, lambda k: (2.0, 0.0, 1.0), lambda n: (1, -n),
)  # fmt: skip
substitute_polynomial(
    "eval_chebyu",
    lambda n, x, xp: (n + 1.0) * xp.special.hyp2f1(-n, n + 2.0, 1.5, half_of_rest(x)),
    lambda x: 2.0 * x, lambda k: (2.0, 0.0, 1.0), lambda n: (-(n < -1), -2 - n if n < -1 else 0),
)  # fmt: skip
substitute_polynomial(
    "eval_gegenbauer",
    lambda n, alpha, x, xp: (
        xp.special.hyp2f1(-n, n + 2.0 * alpha, alpha + 0.5, half_of_rest(x))
        * xp.special.poch(2.0 * alpha, n) * xp.special.rgamma(n + 1.0)
    ),
    lambda alpha, x: 2.0 * alpha * x,
    lambda k, alpha: (2.0 * (k + alpha) / (k + 1), 0.0, (k + 2.0 * alpha - 1.0) / (k + 1)),
)  # fmt: skip
substitute_polynomial(
    "eval_genlaguerre",
    lambda n, alpha, x, xp: xp.special.binom(n + alpha, n) * xp.special.hyp1f1(-n, alpha + 1.0, x),
    lambda alpha, x: 1.0 + alpha - x,
    lambda k, alpha: (-1 / (k + 1), (2 * k + alpha + 1.0) / (k + 1), (k + alpha) / (k + 1)),
)  # fmt: skip
substitute_polynomial(
    "eval_hermite",
    refuse_degree,
    lambda x: 2.0 * x, lambda k: (2.0, 0.0, 2.0 * k),
)  # fmt: skip
substitute_polynomial(
    "eval_hermitenorm",
    refuse_degree,
    lambda x: x, lambda k: (1.0, 0.0, float(k)),
)  # fmt: skip


def substitute_formula(name: str, formula: Callable[..., Any]) -> None:
    """Register a polynomial of SciPy for CuPy's data, as a formula with other polynomials.

    formula : a function of raw data, the kernel.

    The operands are not cast to one dtype, since the other polynomials need the degree as it is.
    """
    SUBSTITUTES[name] = lambda n, *operands, xp: formula(n, *operands, xp)


FORMULAS: dict[str, Callable[..., Any]] = {
    "eval_laguerre": lambda n, x, xp: xp.special.eval_genlaguerre(n, 0.0, x),
    "eval_sh_legendre": lambda n, x, xp: xp.special.eval_legendre(n, 2.0 * x - 1.0),
    "eval_sh_chebyt": lambda n, x, xp: xp.special.eval_chebyt(n, 2.0 * x - 1.0),
    "eval_sh_chebyu": lambda n, x, xp: xp.special.eval_chebyu(n, 2.0 * x - 1.0),
    "eval_chebyc": lambda n, x, xp: 2.0 * xp.special.eval_chebyt(n, 0.5 * x),
    "eval_chebys": lambda n, x, xp: xp.special.eval_chebyu(n, 0.5 * x),
    "eval_sh_jacobi": lambda n, p, q, x, xp: (
        xp.special.eval_jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0)
        / xp.special.binom(2.0 * n + p - 1.0, n)
    ),
}
for _name, _formula in FORMULAS.items():
    substitute_formula(_name, _formula)


@substitute
def hyp0f1(v: RawArray, z: RawArray, *, xp: Namespace) -> Any:
    """Return 0F1 through Bessel functions of order v - 1.  Source: DLMF 10.39.9, 10.16.9."""
    root = 2.0 * xp.sqrt(xp.abs(z))
    near = root < 1e-3
    far = xp.where(near, 1.0, root)
    scale = (0.5 * far) ** (1.0 - v) * xp.special.gamma(v)
    bessel = xp.where(z > 0, xp.special.iv(v - 1.0, far), xp.special.jv(v - 1.0, far))
    return xp.where(near, 1.0 + z / v * (1.0 + z / (2.0 * (v + 1.0))), scale * bessel)
