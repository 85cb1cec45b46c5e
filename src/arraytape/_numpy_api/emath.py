"""NumPy's functions that leave the real numbers where they must (``np.emath``), on Arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype
from ..ops.searching_functions import where
from ..ops.utility_functions import any
from .numpy_arguments import ArrayLike, array_of, arrays_like_first

SINGLE = frozenset(np.dtype(code) for code in "fbhBHF")  # what NumPy makes complex64


def as_complex(x: Array) -> Array:
    return astype(x, np.complex64 if x.dtype in SINGLE else np.complex128, copy=False)


def below_zero(x: Array) -> Array:
    """Return x, as complex numbers if an element is real and negative."""
    if x.dtype.kind == "c":
        found = any((elementwise.imag(x) == 0) & (elementwise.real(x) < 0))
    else:
        found = any(x < 0)
    return as_complex(x) if bool(found) else x


def beyond_one(x: Array) -> Array:
    """Return x, as complex numbers if an element is real and its absolute value exceeds 1."""
    outside = abs(x) > 1
    if x.dtype.kind == "c":
        outside = outside & (elementwise.imag(x) == 0)
    return as_complex(x) if bool(any(outside)) else x


def floating(x: Array) -> Array:
    """Cast integers and booleans to the floating-point dtype in which NumPy computes with them."""
    if x.dtype.kind in "fc":
        return x
    return astype(x, np.sqrt(np.ones((), x.dtype)).dtype)


def extended(
    function: Callable[[Array], Array], outside: Callable[[Array], Array]
) -> Callable[[Any], Array]:
    """Return ``function`` preceded by ``outside``, which makes x complex outside the real domain."""
    return lambda x: function(floating(outside(array_of(x))))


def mirrored(function: Callable[[Array], Array]) -> Callable[[Any], Array]:
    """Return ``arccos`` or ``arcsin`` that computes real x > 1 on the other side of the branch cut.

    On that side the derivative is right too: the zero imaginary part of ``1 - z * z`` has its sign.
    """

    def compute_on_branch_cut(x: ArrayLike) -> Array:
        x = array_of(x)
        z = beyond_one(x)
        if z.dtype.kind != "c" or x.dtype.kind == "c":
            return function(floating(z))
        beyond = x > 1
        y = function(where(beyond, elementwise.conj(z), z))
        return where(beyond, elementwise.conj(y), y)

    return compute_on_branch_cut


log = extended(elementwise.log, below_zero)


def logn(n: ArrayLike, x: ArrayLike) -> Array:
    n, x = arrays_like_first(n, x)
    return log(x) / log(n)


def power(x: ArrayLike, p: ArrayLike) -> Array:
    """Return ``numpy.emath.power``; negative integer exponents give floats."""
    x, p = arrays_like_first(x, p)
    if p.dtype.kind in "iu" and bool(any(p < 0)):
        p = astype(p, np.float64)
    return elementwise.pow(below_zero(x), p)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.emath.arccos: mirrored(elementwise.acos),
    np.emath.arcsin: mirrored(elementwise.asin),
    np.emath.arctanh: extended(elementwise.atanh, beyond_one),
    np.emath.log: log,
    np.emath.log10: extended(elementwise.log10, below_zero),
    np.emath.log2: extended(elementwise.log2, below_zero),
    np.emath.logn: logn,
    np.emath.power: power,
    np.emath.sqrt: extended(elementwise.sqrt, below_zero),
}
