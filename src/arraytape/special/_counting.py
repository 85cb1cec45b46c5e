"""Combinations, permutations and factorials of real numbers, with SciPy's values.

SciPy's functions of these names convert Arrays to NumPy arrays, which no tape follows.  So call the
functions as ``xp.special.comb``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array
from .._storage.special import of_scipy
from .._util.errors import short_repr, user_line
from ..ops.creation_functions import asarray
from ..ops.searching_functions import where
from ._gamma import binom, gamma, poch, rgamma


def comb(
    N: Array | float, k: Array | float, *, exact: bool = False, repetition: bool = False
) -> Array:
    """Return the number of combinations of N things taken k at a time, differentiable in N and k.

    Parameters
    ----------
    N, k : Array or number
        Of real dtype.  Where k is negative or above N, the result is 0.
    exact : bool
        Not supported: exact results are Python's integers.
    repetition : bool
        If True, a thing may be taken repeatedly.

    Returns
    -------
    Array
        Of the shape to which N and k broadcast.
    """
    refuse_exact("comb", exact)
    if repetition:
        none: Any = (k == 0) & (N == 0)  # 1 combination, although SciPy's binom(-1, 0) is not 1
        found: Array = where(none, 1.0, binom(N + k - 1, k))
        return found
    return where_countable(binom(N, k), N, k)


def perm(N: Array | float, k: Array | float, exact: bool = False) -> Array:
    """Return the number of ordered choices of k out of N things, differentiable in N and k.

    Parameters
    ----------
    N, k : Array or number
        Of real dtype.  Where k is negative or above N, the result is 0.
    exact : bool
        Not supported: exact results are Python's integers.

    Returns
    -------
    Array
        Of the shape to which N and k broadcast.
    """
    refuse_exact("perm", exact)
    return where_countable(poch(N - k + 1, k), N, k)


def factorial(n: Array | complex, exact: bool = False, extend: str = "zero") -> Array:
    """Return the factorial of n, which is gamma(n + 1), for real numbers, too.

    Parameters
    ----------
    n : Array
        Of real dtype, with ``extend="complex"`` of complex dtype, too.
    exact : bool
        Not supported: exact results are integers.
    extend : str
        ``"zero"``: the result is 0 where n is negative.  ``"complex"``: it is gamma(n + 1) there, too.

    Returns
    -------
    Array
        Of the shape of n.
    """
    refuse_exact("factorial", exact)
    if extend not in ("zero", "complex"):
        raise ValueError(
            f"special.factorial: extend is 'zero' or 'complex', got {short_repr(extend)} [at "
            f"{user_line()}]"
        )
    number = asarray(n)
    found: Array = gamma_of_next(number)
    return found if extend == "complex" else where(number < 0, 0.0, found)


def factorial2(n: Array | complex, exact: bool = False, extend: str = "zero") -> Array:
    """Return the double factorial n (n - 2) (n - 4) ..., which is ``factorialk`` with k = 2.

    Parameters
    ----------
    n : Array
        Of integer dtype, with ``extend="complex"`` of real or complex dtype.
    exact : bool
        Not supported: exact results are integers.
    extend : str
        ``"zero"`` or ``"complex"``, as for ``factorialk``.

    Returns
    -------
    Array
        Of the shape of n.
    """
    return multifactorial("factorial2", n, 2, exact, extend)


def factorialk(n: Array | complex, k: int, exact: bool = False, extend: str = "zero") -> Array:
    """Return the multifactorial n (n - k) (n - 2 k) ...

    With ``extend="complex"`` the multifactorial is differentiable with respect to n.

    Parameters
    ----------
    n : Array
        Of integer dtype, with ``extend="complex"`` of real or complex dtype.
    k : int
        The step.
    exact : bool
        Not supported: exact results are integers.
    extend : str
        ``"zero"``: n has to be an integer, and the result is 0 where n is negative.  ``"complex"``: a
        formula with the gamma function extends the multifactorial.  At integers the
        formula and ``"zero"`` mostly have different values.

    Returns
    -------
    Array
        Of the shape of n.
    """
    return multifactorial("factorialk", n, k, exact, extend)


def multifactorial(name: str, n: Array | complex, k: int, exact: bool, extend: str) -> Array:
    """Return the multifactorial n (n - k) (n - 2 k) ... for the public function ``name``.

    For ``extend="complex"`` the result consists of gamma functions and has a derivative.  For ``"zero"``
    the result is SciPy's and has no derivative.
    """
    refuse_exact(name, exact)
    if not isinstance(extend, str):
        raise TypeError(
            f"special.{name}: extend is 'zero' or 'complex', got {short_repr(extend)} [at {user_line()}]"
        )
    if extend != "complex":
        factorials = of_scipy("factorialk")
        found: Array = asarray(factorials(np.asarray(n), k, extend=extend))
        return found
    if isinstance(k, Array | complex) or k <= 0:
        raise TypeError(
            f"special.{name} takes k as a positive number, got {short_repr(k)} [at {user_line()}]"
        )
    ratio = asarray(n) / k
    scaled: Array = k**ratio * gamma_of_next(ratio)
    found = scaled * (rgamma(1 / k + 1) / k ** (1 / k))
    return found


def gamma_of_next(n: Array) -> Any:
    """Return ``gamma(n + 1)``; for real n NaN at the pole n = -1."""
    found = gamma(n + 1)
    return found if found.dtype.kind == "c" else where(n == -1, math.nan, found)


def where_countable(value: Array, N: Array | float, k: Array | float) -> Array:
    """Return ``value`` where 0 <= k <= N, the domain of combinations and permutations, else 0."""
    countable: Any = (k <= N) & (N >= 0) & (k >= 0)
    return where(countable, value, 0.0)


def refuse_exact(name: str, exact: bool) -> None:
    """Raise TypeError if exact results are requested."""
    if exact:
        raise TypeError(
            f"special.{name} has no exact=True, whose results are integers without a derivative: "
            f"call scipy.special.{name} on NumPy data [at {user_line()}]"
        )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "comb": comb,
    "factorial": factorial,
    "factorial2": factorial2,
    "factorialk": factorialk,
    "perm": perm,
}
