"""NumPy's ufuncs that the standard lacks, such as ``np.fmod``, as ops or compositions of ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._define.define_op import stop_gradient
from .._util.errors import describe, failure, user_line
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype, result_type
from ..ops.linear_algebra_functions import matmul
from ..ops.searching_functions import where
from ..ops.utility_functions import any as any_of
from .numpy_arguments import ArrayLike, arrays_like_first, mark_as_scalar

if TYPE_CHECKING:
    pass

LOG2 = math.log(2.0)


def multiply_by(factor: float) -> Callable[[Any], Array]:
    return lambda x: x * factor


def ufunc_result(y: Any) -> Any:
    """Make a ufunc's results of shape () immutable, as NumPy's scalars are; y may be a tuple."""
    if isinstance(y, tuple):
        return tuple([ufunc_result(part) for part in y])
    return mark_as_scalar(y) if isinstance(y, Array) and not y._data.shape else y


def pick_known_elements(pick: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Array]:
    """Return ``numpy.fmax`` or ``numpy.fmin``, which ignore NaN if the other operand is a number.

    pick : the op ``maximum`` or ``minimum``.
    """

    def pick_known(x1: ArrayLike, x2: ArrayLike) -> Array:
        x1, x2 = arrays_like_first(x1, x2)
        picked = where(elementwise.isnan(x2), x1, pick(x1, x2))
        return where(elementwise.isnan(x1), x2, picked)

    return pick_known


def fmod(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute ``numpy.fmod``: the remainder has the sign of x1."""
    return elementwise.truncated_remainder(*arrays_like_first(x1, x2))


def float_power(x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = arrays_like_first(x1, x2)
    dtype = result_type(x1.dtype, x2.dtype, np.float64)
    return astype(x1, dtype, copy=False) ** astype(x2, dtype, copy=False)


def heaviside(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute ``numpy.heaviside``: x2 where x1 is 0, else 0 or 1."""
    x1, x2 = arrays_like_first(x1, x2)
    step = where(x1 < 0.0, 0.0, where(x1 == 0.0, x2, 1.0))
    return where(elementwise.isnan(x1), x1, step)


def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    return elementwise.floor_divide(x1, x2), elementwise.remainder(x1, x2)


def modf(x: Array) -> tuple[Array, Array]:
    """Compute ``numpy.modf``: the fractional part, whose derivative is 1, and the integral part."""
    far = elementwise.isinf(x)
    part = elementwise.truncated_remainder(where(far, 0.0, x), 1.0)
    return where(far, elementwise.copysign(0.0 * part, x), part), elementwise.trunc(x)


def frexp(x: Array) -> tuple[Array, Array]:
    """Compute ``numpy.frexp``: m and integers n such that x = m * 2**n and 0.5 <= abs(m) < 1."""
    plain = elementwise.isfinite(x) & (x != 0.0)
    exponent = elementwise.floor(elementwise.log2(where(plain, elementwise.abs(x), 0.5))) + 1.0
    m = x / 2.0 ** stop_gradient(exponent)
    size = elementwise.abs(m)  # outside [0.5, 1) if log2 was rounded to another integer
    step = astype(plain & (size >= 1.0), x.dtype) - astype(plain & (size < 0.5), x.dtype)
    return where(plain, m / 2.0**step, x), astype(where(plain, exponent + step, 0.0), np.int32)


def ldexp(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute ``numpy.ldexp``: x1 * 2**x2."""
    x1, x2 = arrays_like_first(x1, x2)
    return x1 * astype(2.0 ** astype(x2, np.float64), x1.dtype, copy=False)


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute ``numpy.gcd`` of integers by Euclid's algorithm."""
    x1, x2 = arrays_like_first(x1, x2)
    if x1.dtype.kind not in "iu" or x2.dtype.kind not in "iu":
        raise TypeError(
            f"np.gcd: convert the arguments to integers: got {describe(x1)} and {describe(x2)} "
            f"[at {user_line()}]"
        )
    x, y = elementwise.abs(x1), elementwise.abs(x2)
    while bool(any_of(y != 0)):
        ends = y == 0
        x, y = where(ends, x, y), where(ends, 0, x % where(ends, 1, y))
    return x


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute ``numpy.lcm`` of integers, which is 0 if one of them is 0."""
    x1, x2 = arrays_like_first(x1, x2)
    divisor = gcd(x1, x2)
    return elementwise.abs(x1 // where(divisor == 0, 1, divisor) * x2)


def matvec(x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = arrays_like_first(x1, x2)
    return matmul(x1, x2[..., None])[..., 0]


def vecmat(x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = arrays_like_first(x1, x2)
    x1 = elementwise.conj(x1) if x1.dtype.kind == "c" else x1
    return matmul(x1[..., None, :], x2)[..., 0, :]


def with_ufunc_dtypes(ufunc: np.ufunc, ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``ours``, a composition of ops for a NumPy ufunc, with casts of Arrays as the ufunc has.

    Arrays are cast to the floating-point dtype in which NumPy computes, unless NumPy computes with
    integers.  Dtypes that NumPy does not support raise TypeError.
    """

    def call_for_numpys_types(*inputs: Any) -> Any:
        dtypes = [x.dtype for x in inputs if isinstance(x, Array)]
        if all(dtype.kind == "f" for dtype in dtypes):
            return ours(*inputs)
        given = [
            np.dtype(bool) if type(x) is bool else getattr(x, "dtype", type(x)) for x in inputs
        ]
        try:
            found = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
        except TypeError as error:
            raise failure(f"np.{ufunc.__name__}", error) from error
        return ours(*[
            astype(x, dtype, copy=False) if isinstance(x, Array) and dtype.kind in "fc" else x
            for x, dtype in zip(inputs, found, strict=False)
        ])  # fmt: skip

    return call_for_numpys_types


# From ufuncs to ops or compositions of ops.
MADE_OF_OPS: dict[np.ufunc, Callable[..., Any]] = {
    np.cbrt: elementwise.cube_root,
    np.deg2rad: multiply_by(np.pi / 180.0),
    np.degrees: multiply_by(180.0 / np.pi),
    np.divmod: divmod,
    np.exp2: lambda x: 2.0**x,
    np.expm1: elementwise.expm1,
    np.fabs: elementwise.abs,
    np.float_power: float_power,
    np.floor_divide: elementwise.floor_divide,
    np.fmax: pick_known_elements(elementwise.maximum),
    np.fmin: pick_known_elements(elementwise.minimum),
    np.fmod: fmod,
    np.frexp: frexp,
    np.gcd: gcd,
    np.heaviside: heaviside,
    np.lcm: lcm,
    np.ldexp: ldexp,
    np.logaddexp2: elementwise.logaddexp2,
    np.matvec: matvec,
    np.modf: modf,
    np.rad2deg: multiply_by(180.0 / np.pi),
    np.radians: multiply_by(np.pi / 180.0),
    np.rint: elementwise.round,
    np.vecmat: vecmat,
}
UFUNCS = {ufunc: with_ufunc_dtypes(ufunc, ours) for ufunc, ours in MADE_OF_OPS.items()}


# Ufuncs whose values differ from those of the ops in rounding, or at infinities and NaN.  NumPy computes
# their values: see ``exact``.
COMPOSED = frozenset((
    np.deg2rad, np.degrees, np.divmod, np.exp2, np.expm1, np.float_power, np.floor_divide, np.fmax,
    np.fmin, np.fmod, np.frexp, np.gcd, np.heaviside, np.lcm, np.ldexp, np.matvec, np.rad2deg,
    np.radians, np.vecmat,
))  # fmt: skip
