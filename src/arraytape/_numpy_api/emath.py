"""Functions of ``np.emath`` on Arrays: ``np.emath.sqrt`` of a negative number is complex, not NaN."""

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

SINGLE = frozenset(np.dtype(code) for code in "fbhBHF")  # dtypes that NumPy casts to complex64


def as_complex(x: Array) -> Array:
    return astype(x, np.complex64 if x.dtype in SINGLE else np.complex128, copy=False)


def complex_if_negative(x: Array) -> Array:
    """Cast x to a complex dtype if an element is real and negative, so that its root is not NaN.

    Else return x unchanged.
    """
    if x.dtype.kind == "c":
        found = any((elementwise.imag(x) == 0) & (elementwise.real(x) < 0))
    else:
        found = any(x < 0)
    return as_complex(x) if bool(found) else x


def complex_if_beyond_one(x: Array) -> Array:
    """Cast x to a complex dtype if an element is real and lies outside [-1, 1].

    Then arccos of the element is not NaN.  Else return x unchanged.
    """
    outside = abs(x) > 1
    if x.dtype.kind == "c":
        outside = outside & (elementwise.imag(x) == 0)
    return as_complex(x) if bool(any(outside)) else x


def in_floating_dtype(x: Array) -> Array:
    """Cast integers and booleans to the floating-point dtype that ``np.sqrt`` returns for them."""
    if x.dtype.kind in "fc":
        return x
    return astype(x, np.sqrt(np.ones((), x.dtype)).dtype)


def complex_outside_domain(
    function: Callable[[Array], Array], outside: Callable[[Array], Array]
) -> Callable[[Any], Array]:
    """Return a function such as ``np.emath.log``, which is complex where the op ``log`` would be NaN.

    function : the op.  outside : casts x to a complex dtype if an element is outside the op's domain.
    """
    return lambda x: function(in_floating_dtype(outside(array_of(x))))


def complex_beyond_one(function: Callable[[Array], Array]) -> Callable[[Any], Array]:
    """Return ``np.emath.arccos`` or ``arcsin``, computed by the op ``function``, acos or asin.

    A real x > 1 lies on the branch cut of the complex op, where the sign of a zero imaginary part
    selects the side.  So the op gets z = conj(x), and the result is conjugated back.  Then the imaginary
    part of ``1 - z * z``, in the derivative, is a zero with the right sign.
    """

    def compute_on_branch_cut(x: ArrayLike) -> Array:
        x = array_of(x)
        z = complex_if_beyond_one(x)
        if z.dtype.kind != "c" or x.dtype.kind == "c":
            return function(in_floating_dtype(z))
        beyond = x > 1
        y = function(where(beyond, elementwise.conj(z), z))
        return where(beyond, elementwise.conj(y), y)

    return compute_on_branch_cut


log = complex_outside_domain(elementwise.log, complex_if_negative)


def logn(n: ArrayLike, x: ArrayLike) -> Array:
    n, x = arrays_like_first(n, x)
    return log(x) / log(n)


def power(x: ArrayLike, p: ArrayLike) -> Array:
    """Compute ``numpy.emath.power``; with negative integer exponents the result is floating-point."""
    x, p = arrays_like_first(x, p)
    if p.dtype.kind in "iu" and bool(any(p < 0)):
        p = astype(p, np.float64)
    return elementwise.pow(complex_if_negative(x), p)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.emath.arccos: complex_beyond_one(elementwise.acos),
    np.emath.arcsin: complex_beyond_one(elementwise.asin),
    np.emath.arctanh: complex_outside_domain(elementwise.atanh, complex_if_beyond_one),
    np.emath.log: log,
    np.emath.log10: complex_outside_domain(elementwise.log10, complex_if_negative),
    np.emath.log2: complex_outside_domain(elementwise.log2, complex_if_negative),
    np.emath.logn: logn,
    np.emath.power: power,
    np.emath.sqrt: complex_outside_domain(elementwise.sqrt, complex_if_negative),
}
