"""The raw namespace of NumPy data: the array API standard's functions, in NumPy's fastest way.

Ufuncs and the names in ``DIRECT`` are NumPy's own.  This module defines the functions that are slow in
NumPy or differ from the standard.  ``__getattr__`` gets all others from array-api-compat on first use.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np

from .._record.op_facts import VIEW, hull, state_facts
from .._util.array_types import Index, RawArray, RawOperand
from .._util.blocks import Quiet
from . import correlations, factors, standard
from .correlations import Geometry, Sizes
from .scattering import add_at
from .special import HostSpecial
from .standard import Axis, Size

if TYPE_CHECKING:
    import numpy.typing as npt


# Any: NumPy's type stubs have no overload of reduce for a keepdims that is a variable.
add: Any = np.add
multiply: Any = np.multiply
DOUBLE = np.dtype("float64")
maximum: Any = np.maximum
minimum: Any = np.minimum
logical_or: Any = np.logical_or
logical_and: Any = np.logical_and

DIRECT = frozenset(
    ("arange", "broadcast_to", "broadcast_arrays", "broadcast_shapes", "concat", "empty", "expand_dims",
     "eye", "flip", "full", "linspace", "matrix_transpose", "moveaxis", "ones", "repeat", "roll",
     "squeeze", "stack", "take_along_axis", "tensordot", "tile", "tril", "triu", "zeros")
)  # fmt: skip


def getitem(x: RawArray, /, key: Index) -> Any:
    return x[key]


def stop_gradient(x: np.ndarray[Any, Any], /) -> Any:
    return x.copy(order="K")


# Unlike np.power, the operator replaces some scalar exponents by faster, exact calls (x ** 2 is x * x).
power_operator = operator.pow
state_facts("power_operator", continuous=True, promotes="all")(power_operator)


def sum(
    x: RawArray, /, *, axis: Axis = None, dtype: npt.DTypeLike | None = None, keepdims: bool = False
) -> Any:
    return add.reduce(x, axis, dtype, None, keepdims)


def prod(
    x: RawArray, /, *, axis: Axis = None, dtype: npt.DTypeLike | None = None, keepdims: bool = False
) -> Any:
    return multiply.reduce(x, axis, dtype, None, keepdims)


def max(x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    return maximum.reduce(x, axis, None, None, keepdims)


def min(x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    return minimum.reduce(x, axis, None, None, keepdims)


def any(x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    return logical_or.reduce(x, axis, None, None, keepdims)


def all(x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    return logical_and.reduce(x, axis, None, None, keepdims)


SMALL = 4096  # filling a result of at most so many elements takes less time than making a view


def broadcast_to(x: np.ndarray[Any, Any], /, shape: Any) -> Any:
    """Return x broadcast to ``shape``: a view if it has more than SMALL elements, else a copy.

    For a few elements the copy is faster than NumPy's view.
    """
    count = 1
    for n in shape:
        count *= n
    if count > SMALL:
        return np.broadcast_to(x, shape)
    spread = np.empty(shape, x.dtype)
    spread[...] = x
    return spread


BITS = {np.dtype("float32"): np.dtype("int32"), np.dtype("float64"): np.dtype("int64")}
ZERO = np.int8(0)
FEW = 512  # up to so many elements np.where is faster than arithmetic on the bits
MANY = 16384  # up to so many elements a product with the mask is faster than a bitwise and


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Compute np.where with the same bits, but faster for ``where(mask, x, 0.0)`` and for one condition.

    np.where branches for each element, and the CPU mispredicts the branches of an irregular mask.  So
    ``where(mask, x, 0.0)`` of many elements is computed by arithmetic on the bits of x, in a twentieth
    of the time.  If the mask has one element, the chosen operand is copied.
    """
    if type(condition) is np.ndarray and condition.size == 1:
        chosen, other = (x1, x2) if condition.item() else (x2, x1)
        if is_where_of_one(chosen, other, condition):
            return chosen.copy()
    if type(condition) is np.ndarray and condition.size > FEW:
        if is_zero_operand(x1, x2):
            if can_mask_bits(condition, x2):
                return keep_where_true(np.logical_not(condition), x2)
        elif is_zero_operand(x2, x1) and can_mask_bits(condition, x1):
            return keep_where_true(
                as_zero_or_one(condition) if condition.size > MANY else condition, x1
            )
    return np.where(condition, x1, x2)


def is_where_of_one(x: RawArray, other: RawOperand, condition: np.ndarray[Any, Any]) -> bool:
    """Return True if x, the operand that a single condition chooses, is ``np.where``'s result as it is.

    Then ``other``, the operand that is not chosen, changes neither shape nor dtype.
    """
    if type(x) is not np.ndarray or not x.flags.c_contiguous or x.dtype.kind not in "fc":
        return False
    if type(other) is float:
        return bool(x.ndim >= condition.ndim)
    return bool(
        type(other) is np.ndarray
        and other.size == 1
        and other.dtype is x.dtype
        and x.ndim >= builtins.max(condition.ndim, other.ndim)
    )


def is_zero_operand(x: RawOperand, other: RawOperand) -> bool:
    """Return True if x is a zero for which ``np.where(mask, x, other)`` can clear bits of ``other``.

    The bits of -0.0 are not all 0.  A zero that changes the dtype of ``other`` does not count, either.
    """
    if type(x) is float or type(x) is int:
        return not x and math.copysign(1.0, x) > 0.0
    if type(x) is not np.ndarray or x.shape or x.dtype not in BITS:
        return False
    return x.dtype is getattr(other, "dtype", None) and not x and not np.signbit(x)


def can_mask_bits(condition: np.ndarray[Any, Any], x: RawArray) -> bool:
    """Return True if ``keep_where_true(condition, x)`` can work on the bits of x.

    So x has a dtype in BITS, condition is a mask of the same shape, and both are C-contiguous.
    """
    return bool(
        type(x) is np.ndarray
        and x.dtype in BITS
        and condition.dtype.kind == "b"
        and condition.shape == x.shape
        and condition.flags.c_contiguous
        and x.flags.c_contiguous
    )


def as_zero_or_one(condition: np.ndarray[Any, Any]) -> Any:
    """Return a copy of the mask in which True is the byte 1.

    In ``bytes.view(bool)``, any byte but 0 is True, and multiplying bits by such a byte would be wrong.
    """
    return np.not_equal(condition.view(np.int8), ZERO)


def keep_where_true(mask: Any, x: Any) -> Any:
    """Return x where the mask is True, else 0."""
    found = np.empty_like(x)
    bits = found.view(BITS[x.dtype])
    if x.size <= MANY:
        np.multiply(x.view(bits.dtype), mask, bits)  # casts any nonzero byte of the mask to 1
    else:
        bits[...] = np.negative(
            mask.view(np.int8)
        )  # -1, which has all bits, where the mask is True
        bits &= x.view(bits.dtype)
    return found


broadcast_view = np.broadcast_to
state_facts("broadcast_view", **VIEW, in_order=True)(broadcast_view)
cube_root = np.cbrt
truncated_remainder = np.fmod


# --- views: each function is one step of a view's path, see ``_array.paths`` ------------------------
@state_facts(signature="()->()", continuous=True)
def real_view(x: np.ndarray[Any, Any], _: None = None, /) -> Any:
    return x.real


@state_facts(signature="()->()", continuous=True)
def imag_view(x: np.ndarray[Any, Any], _: None = None, /) -> Any:
    return x.imag


@state_facts(signature="(M,N)->(K)", continuous=True, rearranges=True, range=hull)
def diagonal_view(x: np.ndarray[Any, Any], offset: int, /) -> Any:
    rows, columns = x.shape[-2:]
    if rows == columns and x.ndim == 2 and not offset and x.flags.c_contiguous:
        return x.reshape(-1)[:: rows + 1]
    top, left = -builtins.min(offset, 0), builtins.max(offset, 0)
    n = builtins.max(builtins.min(rows - top, columns - left), 0)
    # The view that np.diagonal returns cannot be written to.
    return np.einsum("...ii->...i", x[..., top : top + n, left : left + n])


@state_facts(signature="(N)->(N,M)", continuous=True, rearranges=True, range=hull)
def windows_view(x: np.ndarray[Any, Any], argument: tuple[int, int], /) -> Any:
    axis, length = argument
    return np.lib.stride_tricks.sliding_window_view(x, length, axis)


@state_facts(signature="()->()", **VIEW)
def read_only_view(x: np.ndarray[Any, Any], _: None = None, /) -> Any:
    view = x.view()
    view.flags.writeable = False
    return view


def count_nonzero(x: np.ndarray[Any, Any], /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    # np.count_nonzero returns an int if ``axis`` is None, and otherwise an array or a NumPy scalar.
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims))


def matrix_transpose(x: np.ndarray[Any, Any], /) -> Any:
    return x.mT


def permute_dims(x: np.ndarray[Any, Any], /, axes: Any) -> Any:
    return x.transpose(axes)


def real(x: np.ndarray[Any, Any], /) -> Any:
    return x.real.copy(order="K")


def imag(x: np.ndarray[Any, Any], /) -> Any:
    return x.imag.copy(order="K")


real_part, imag_part = real, imag


def round(x: np.ndarray[Any, Any], /) -> Any:
    y = np.round(x)
    return (
        y.copy(order="K") if y is x else y
    )  # NumPy before 2.4 returns an array of integers itself


def scatter_add(x: RawArray, /, shape: Any, key: Index) -> Any:
    return add_at(np.zeros(shape, dtype=x.dtype), key, x)


scattered = scatter_add


def take(x: np.ndarray[Any, Any], indices: Any, /, *, axis: Any = None) -> Any:
    if axis is None or not x.ndim or indices.dtype.kind == "b":
        standard.check_take(x, indices, axis)
    return x.take(indices, axis)


def cast(x: np.ndarray[Any, Any], /, dtype: npt.DTypeLike) -> Any:
    return x.astype(dtype)


discretized = cast


def reshaped(x: np.ndarray[Any, Any], /, shape: Size) -> Any:
    return x.reshape(shape, copy=True)


def reinterpreted(x: np.ndarray[Any, Any], /, into: str) -> Any:
    dtype = np.result_type(x.dtype, np.complex64) if into == "c" else x.real.dtype
    return np.array(x, order="C").view(dtype)


def clip(x: np.ndarray[Any, Any], /, min: Any = None, max: Any = None) -> Any:
    """Return x clipped to bounds.

    np.clip agrees with the standard for real floating-point data whose bounds are Python numbers or
    data of the same dtype.  In all other cases array-api-compat's slower function is called.
    """
    if x.dtype.kind == "f" and are_plain_bounds(x.dtype, min, max):
        return np.positive(x) if min is None and max is None else np.clip(x, min, max)
    import array_api_compat.numpy as compat

    return vars(compat)["clip"](x, widen_bound(min, x.dtype), widen_bound(max, x.dtype))


def widen_bound(bound: Any, dtype: Any) -> Any:
    """Return a bound of clip, cast from a narrower integer dtype to ``dtype``, the dtype of x.

    array-api-compat's clip does not accept bounds of another integer dtype.
    """
    given = getattr(bound, "dtype", dtype)
    narrow = given != dtype and given.kind in "iu" and np.can_cast(given, dtype)
    return bound.astype(dtype) if narrow and dtype.kind in "iu" else bound


PLAIN_BOUNDS = frozenset((float, int, type(None)))


def are_plain_bounds(dtype: npt.DTypeLike, *bounds: Any) -> bool:
    """Return True if np.clip treats the bounds as the standard does: numbers, or data of ``dtype``."""
    return builtins.all(type(x) in PLAIN_BOUNDS or x.dtype is dtype for x in bounds)


def cofactors(x: RawArray, /) -> Any:
    found = factors.cofactors_by_factors(x)
    return standard.cofactors(x, np) if found is None else found


def solve_again(x1: RawArray, x2: RawArray, /, *, adjoint: bool = False) -> Any:
    found = factors.solve_by_factors(x1, x2, adjoint)
    if found is None:
        return standard.solve_again(x1, x2, adjoint, sys.modules[__name__])
    return found


def matmul_adjoint(
    x1: np.ndarray[Any, Any], x2: np.ndarray[Any, Any], /, first: bool, second: bool
) -> Any:
    if first:
        x1 = (x1.conj() if x1.dtype.kind == "c" else x1).mT
    if second:
        x2 = (x2.conj() if x2.dtype.kind == "c" else x2).mT
    return np.matmul(x1, x2)


def window_correlation(
    x1: RawArray, x2: RawArray, /, part: str, lengths: Sizes, geometry: Geometry
) -> Any:
    return correlations.window_correlation(x1, x2, part, lengths, geometry, np)


def sum_adjoint(x: RawArray, /, into: tuple[int, ...], along: Axis, keepdims: bool) -> Any:
    if along is not None and not keepdims:
        x = standard.restore_axes(x, into, along, keepdims, np)
    spread = np.empty(into, x.dtype)
    spread[...] = x
    return spread


def inverse_again(x: RawArray, singular: Any, /) -> Any:
    found = None if singular.any() else factors.inverse_by_factors(x)
    return standard.inverse_again(x, singular, sys.modules[__name__]) if found is None else found


def power_derivative(x1: RawArray, x2: RawArray, /, order1: int, order2: int) -> Any:
    found = standard.power_derivative(x1, x2, order1, order2, np)
    if order1 < 2 or np.isfinite(found).all():
        return found
    return standard.late_power_derivative(found, x1, x2, order1, order2, np)


def root_of_variance(x: np.ndarray[Any, Any], /) -> Any:
    return np.sqrt(x)


def sinc_derivative(x: np.ndarray[Any, Any], /, order: int) -> Any:
    return standard.sinc_derivative(x, order, np) if order else np.sinc(x)


def log_sum_exp(x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    with Quiet():
        return scalar_if_0d(standard.log_sum_exp(x, axis, keepdims, sys.modules[__name__]))


def mean(x: np.ndarray[Any, Any], /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    if x.dtype is not DOUBLE or not x.shape or not x.size:
        return np.mean(x, axis=axis, keepdims=keepdims)
    # The same result as np.mean's, without the Python code that np.mean runs before it sums.
    total = add.reduce(x, axis, None, None, keepdims)
    return total / (x.size // builtins.max(total.size, 1))


def astype(x: np.ndarray[Any, Any], dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


def reshape(x: np.ndarray[Any, Any], /, shape: Size, *, copy: bool | None = None) -> Any:
    return x.reshape(shape, copy=copy)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """Return the standard's floor division; NumPy's differs only where an operand is infinite."""
    quiet = copy_context()  # np.seterr changes this context alone, even if the code is interrupted
    quiet.run(np.seterr, invalid="ignore")
    floored = quiet.run(np.floor_divide, x1, x2)
    if floored.dtype.kind != "f" or (np.isfinite(floored).all() and np.isfinite(x2).all()):
        return floored
    with Quiet():
        return scalar_if_0d(standard.floor_divide(x1, x2, floored, np))


def expm1(x: np.ndarray[Any, Any], /) -> Any:
    if x.dtype.kind != "c":
        return np.expm1(x)
    with Quiet():
        return scalar_if_0d(standard.expm1(x, np))


def tanh(x: np.ndarray[Any, Any], /) -> Any:
    return scalar_if_0d(standard.tanh(x, np)) if x.dtype.kind == "c" else np.tanh(x)


def scalar_if_0d(x: RawArray) -> Any:
    """Return x, or a NumPy scalar if its shape is (), because NumPy's ufuncs return scalars, too."""
    return x if x.shape else x[()]


# For float64 data, ``expm1`` and ``tanh`` above only call a ufunc: compiled ops call it directly.
FLOAT64 = {"expm1": np.expm1, "tanh": np.tanh}


class finfo:
    """Limits of a floating-point dtype, as Python numbers."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        info = np.finfo(dtype)
        self.bits, self.dtype = int(info.bits), info.dtype
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.smallest_normal = float(info.smallest_normal)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"finfo({fields})"


def __getattr__(name: str) -> Any:
    if name == "special":
        globals()[name] = HostSpecial(sys.modules[__name__])
        return globals()[name]
    found = getattr(np, name, None)
    if not (name in DIRECT or isinstance(found, np.ufunc)):
        import array_api_compat.numpy as compat

        found = getattr(compat, name)
    globals()[name] = found
    return found
