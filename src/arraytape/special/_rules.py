"""Helpers of derivative rules, and ``kernel_by_order``, a decorator for kernels of n-th derivatives.

    @kernel_by_order
    def exprel_derivative(n, x, *, xp): ...      # n is a Python int

The rule of such a kernel calls the kernel at the next order, so there are derivatives of all orders:

    special(
        "exprel_derivative", "n x", None,
        lambda t, n, x, xp: t * xp.special.exprel_derivative(n + 1, x), integers="n", public=False,
    )

Where the recurrence from lower orders would lose digits by cancellation, a kernel uses a series instead.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .._array.array import Array
from .._storage.batched.batched_data import Batched
from .._storage.special import KERNELS, of_one_dtype
from .._storage.storage import is_complex, storage_of

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray, RawOperand

    Real: TypeAlias = RawArray | float  # an operand of a real function: data, or a Python number


def as_floats(x: RawOperand, t: RawArray, xp: Namespace) -> Any:
    """Return the operand x as floating-point data.

    An integer array is converted to the real dtype of the tangent t, because NumPy would compute
    functions of int8 data in half precision.  A Python number becomes an array of the shape and dtype
    of t.
    """
    if not hasattr(x, "dtype"):
        return xp.zeros_like(t) + x
    return x if x.dtype.kind in "fc" else xp.astype(x, xp.real(t).dtype)


def where_defined(slope: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the slope, a function's derivative, where its result y is not NaN, else NaN.

    The formula of a slope may be finite outside of the function's domain, as 1 / x is for log at
    negative x.
    """
    return xp.where(y == y, slope, y)


def largest_order(n: Array | Batched | RawArray | float) -> int:
    """Return the largest of the derivative orders n as an int, over all examples of vmap.

    Return 0 if n is empty.
    """
    if isinstance(n, Array):
        n = (n + 0)._data  # a sum is no view, so _data holds its value
    while isinstance(n, Batched):
        n = n.data
    return int(storage_of(n).host(n).max(initial=0)) if hasattr(n, "dtype") else int(n)


def kernel_by_order(
    function: Callable[..., Any], kernels: dict[str, Callable[..., Any]] = KERNELS
) -> Callable[..., Any]:
    """Register a kernel (a function of raw data) for derivatives of an order n; return ``function``.

    function : computes the derivative; its first parameter n is a Python int.
    The registered kernel accepts an array of orders, too: it calls ``function`` once for each distinct
    order in the array.

    kernels : the dict in which the kernel is registered under its name.
    """

    @functools.wraps(function)
    def call_by_order(n: RawArray | int, *operands: RawArray, xp: Namespace) -> Any:
        if not hasattr(n, "dtype"):
            return of_one_dtype(functools.partial(compute_in_double, function, int(n)))(
                *operands, xp=xp
            )
        found: Any = math.nan
        for order in sorted({int(v.real) for v in storage_of(n).host(n).ravel()} or {0}):
            found = xp.where(n == order, call_by_order(order, *operands, xp=xp), found)
        return found

    kernels[function.__name__] = call_by_order
    return function


def compute_in_double(
    function: Callable[..., Any], n: int, *operands: RawArray, xp: Namespace
) -> Any:
    """Call a kernel in double precision and cast the result to the dtype of the operands.

    Recurrences lose digits, so single precision would not suffice; SciPy does the same.
    """
    dtype = operands[0].dtype
    double = xp.complex128 if is_complex(operands[0]) else xp.float64
    return xp.astype(function(n, *[xp.astype(x, double) for x in operands], xp=xp), dtype)


def horner(ratios: list[float], x: RawArray, xp: Namespace) -> Any:
    """Return the value of the power series ``1 + r[0] x (1 + r[1] x (...))``, by Horner's rule.

    ratios : r, the quotients of neighbouring coefficients.  They do not overflow where the coefficients
    themselves do.
    """
    total = xp.ones_like(x)
    for ratio in reversed(ratios):
        total = 1.0 + (ratio * x) * total
    return total


def near_and_far(
    near: RawArray, close: Callable[..., Any], beyond: Callable[..., Any], x: RawArray,
    xp: Namespace, at: float = 1.0,
) -> Any:  # fmt: skip
    """Return ``close(x)`` where the mask ``near`` is True, else ``beyond(x)``.

    Both branches compute all elements.  So ``close`` gets 0, and ``beyond`` gets ``at``, in place of the
    elements of the other branch, where a formula may overflow or divide by 0.
    """
    return xp.where(near, close(xp.where(near, x, 0.0)), beyond(xp.where(near, at, x)))
