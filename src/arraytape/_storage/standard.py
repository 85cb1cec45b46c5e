"""``Standard``, a raw namespace made from a library's array API namespace, with further functions.

Ops and derivative rules call the array API standard's functions, and the functions that ``Standard``
adds, such as ``power_derivative``.  The functions of this module get the raw namespace as parameter
``xp``, because the namespaces of NumPy's data and of batched data call them, too.  Some of them correct
results in which libraries differ from the standard.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.array_types import Index, Namespace, RawArray, RawOperand
from .correlations import Geometry, Sizes, window_correlation
from .special import BorrowedSpecial, Special

if TYPE_CHECKING:
    import numpy.typing as npt


Axis = int | tuple[int, ...] | None
Size = int | tuple[int, ...]


def floor_divide(x1: RawArray, x2: RawArray, floored: RawArray, xp: Namespace) -> Any:
    """Return x1 // x2, as the array API standard defines it, for x1 or x2 with infinite elements.

    It is x1 / x2 where exactly one of x1 and x2 is infinite.

    floored : the library's floor_divide(x1, x2), which is right elsewhere.
    """
    numerator = xp.isinf(x1) & xp.isfinite(x2) & (x2 != 0)
    one_infinite = numerator | (xp.isfinite(x1) & xp.isinf(x2))
    return xp.where(one_infinite, xp.astype(xp.divide(x1, x2), floored.dtype), floored)


def expm1(x: RawArray, xp: Namespace) -> Any:
    """Return expm1 of complex x, as the array API standard defines it.

    At 0, infinity and NaN, where libraries differ from the standard, it is computed as exp(x) - 1.
    """
    special = ~xp.isfinite(x) | (x == 0)
    return xp.where(special, xp.exp(x) - 1.0, xp.expm1(x))


def tanh(x: RawArray, xp: Namespace) -> Any:
    """Return tanh of complex x, as the array API standard defines it.

    Libraries differ where Re x is infinite.  There the result is 1 or -1, and its imaginary part is a
    zero with the sign of Im x.
    """
    re, im = xp.real(x), xp.imag(x)
    far = xp.isinf(re) & xp.isfinite(im)
    one = xp.ones_like(re)
    limit = xp.copysign(one, re) + 1j * xp.copysign(0.0 * one, im)
    return xp.where(far, xp.astype(limit, x.dtype), xp.tanh(x))


def cofactors(x: RawArray, xp: Namespace) -> Any:
    """Return the cofactors of x, the derivative of its determinant, which is exact for singular x, too.

    With the SVD x = U S Vh, the result is conj(U diag(p) Vh) det(U) det(Vh).  Here p[i] is the product
    of all singular values except the i-th.
    """
    U, S, Vh = xp.linalg.svd(x)
    itself = xp.eye(S.shape[-1], dtype=xp.bool, device=x.device)
    others = xp.prod(xp.where(itself, 1.0, S[..., None, :]), axis=-1)
    phase = xp.linalg.det(U) * xp.linalg.det(Vh)
    return phase[..., None, None] * xp.conj((U * others[..., None, :]) @ Vh)


def normalize_axis_tuple(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return ``axis`` as a tuple of non-negative integers: all axes for None, () for a 0-d array."""
    if axis is None or not ndim:
        return tuple(range(ndim))
    return tuple(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))


def check_take(x: RawArray, indices: RawArray, axis: int | None) -> None:
    """Raise an error if the arguments of ``take`` are not allowed by the standard.

    That is a ValueError if x has no axis, or if it has several and ``axis`` is None.  It is a TypeError
    if the indices are booleans.
    """
    if not len(x.shape):
        raise ValueError("x has no axis: give an Array of one dimension at least")
    if axis is None and len(x.shape) != 1:
        raise ValueError(f"give axis: x has {len(x.shape)} dimensions")
    if str(indices.dtype).endswith("bool"):
        raise TypeError("use x[mask] for a mask: the indices are booleans")


def restore_axes(
    g: RawArray, shape: tuple[int, ...], axis: Axis, keepdims: bool, xp: Namespace
) -> Any:
    """Insert axes of length 1 for the axes that a reduction such as ``sum`` has removed.

    So g broadcasts against the reduction's input.

    g : the result of the reduction, or its cotangent.  shape : the shape of the reduction's input.
    axis, keepdims : the arguments of the reduction.
    """
    if keepdims or not shape:
        return g
    if type(axis) is int:
        at = axis % len(shape)
        return xp.reshape(g, (*shape[:at], 1, *shape[at + 1 :]))
    reduced = normalize_axis_tuple(axis, len(shape))
    return xp.reshape(g, tuple(1 if i in reduced else n for i, n in enumerate(shape)))


def sum_adjoint(
    x: RawArray, into: tuple[int, ...], along: Axis, keepdims: bool, xp: Namespace
) -> Any:
    """Repeat x along the axes of a sum: the adjoint of ``sum(..., axis=along, keepdims=keepdims)``.

    into : the shape of the sum's input.
    """
    if along is not None:
        x = restore_axes(x, into, along, keepdims, xp)
    return xp.broadcast_to(x, into)


def log_sum_exp(x: RawArray, axis: Axis, keepdims: bool, xp: Namespace) -> Any:
    """Return the logarithm of the sum of exp(x) over axes, by the steps of SciPy's ``logsumexp``."""
    top = xp.max(x, axis=axis, keepdims=True)
    ties = xp.sum(xp.astype(x == top, x.dtype), axis=axis, keepdims=True)
    rest = xp.sum(other_terms(x, top, xp), axis=axis, keepdims=True)
    found = log_of_terms(top, ties, rest, xp)
    return found if keepdims else xp.squeeze(found, normalize_axis_tuple(axis, len(x.shape)))


def other_terms(x: RawArray, top: RawArray, xp: Namespace) -> Any:
    """Return 0 where x is its maximum, and exp(x - top) elsewhere."""
    return xp.exp(xp.where(x == top, -math.inf, x) - top)


def log_of_terms(top: RawArray, ties: RawArray, rest: RawArray, xp: Namespace) -> Any:
    """Return the logarithm of exp(top) * (ties + rest); top itself if it is not finite."""
    found = xp.log1p(xp.where(rest == 0, rest, rest / ties)) + xp.log(ties) + top
    return xp.where(xp.isfinite(top), found, top)


def solve_again(x1: RawArray, x2: RawArray, adjoint: bool, xp: Namespace) -> Any:
    """Return the solution x of x1 @ x = x2, or of x1^H @ x = x2 if ``adjoint``, for rules of ``solve``.

    "Again" means that the namespace of NumPy data uses factors of x1 cached by an earlier solution.
    This function, for other data, factorizes x1.
    """
    return xp.linalg.solve(conjugate_transpose(x1, xp) if adjoint else x1, x2)


def conjugate_transpose(x: RawArray, xp: Namespace) -> Any:
    return xp.matrix_transpose(xp.conj(x) if x.dtype.kind == "c" else x)


def matmul_adjoint(x1: RawArray, x2: RawArray, first: bool, second: bool, xp: Namespace) -> Any:
    """Return x1 @ x2, with the adjoint of x1 if ``first``, and that of x2 if ``second``."""
    if first:
        x1 = conjugate_transpose(x1, xp)
    return x1 @ (conjugate_transpose(x2, xp) if second else x2)


def inverse_again(x: RawArray, singular: RawArray, xp: Namespace) -> Any:
    """Return the inverses of matrices x, but unit matrices in place of singular ones, for ``slogdet``.

    "Again" means that the namespace of NumPy data uses factors of x cached by ``slogdet``.  This
    function, for other data, factorizes x.

    singular : booleans of shape (..., 1, 1), True for a singular matrix.
    """
    eye = xp.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    return xp.linalg.inv(xp.where(singular, eye, x))


def power_derivative(
    x1: RawArray, x2: RawArray, order1: int, order2: int, xp: Namespace, divisions: int = 0
) -> Any:
    """Return the derivative of x1 ** x2, of order ``order1`` in x1 and of order ``order2`` in x2.

    The derivative is x1 ** (x2 - order1) times a polynomial of log(x1); at x1 = 0 its limit is taken.
    Where the power is 0, the product is 0 even if the logarithm is infinite.  Where a coefficient of the
    polynomial is 0, its term is 0 even if the logarithm is infinite or NaN.

    divisions : how often the product is divided by x1.  The power is then x1 ** (x2 - order1 +
    divisions), which overflows at smaller x1 only.
    """
    power = x1 ** (x2 - (order1 - divisions))
    factor, known = polynomial(falling_factorial(order1), x2, xp), power == power
    if order2:
        logarithm = xp.log(x1)
        known = logarithm == logarithm
        factor = logarithm_polynomial(factor, logarithm, x2, order1, order2, xp)
    vanishes = (factor == 0) | ((power == 0) & known)
    if order2 and not order1:  # 0 ** 0 is 1, with a slope of 0 by convention
        vanishes = vanishes | ((x1 == 0) & (x2 == 0))
    found = power * factor
    for _ in range(divisions):
        found = found / x1
    return xp.where(vanishes, 0.0, found)


def late_power_derivative(
    found: RawArray, x1: RawArray, x2: RawArray, order1: int, order2: int, xp: Namespace
) -> Any:
    """Recompute the elements of ``found``, a derivative of x1 ** x2, that are infinite or NaN.

    order1, order2 : the orders of the derivative in x1 and in x2.

    The power may overflow although its product with a small coefficient is finite.  An example is the
    second derivative of x1 ** 1e-8 with respect to x1, about -1e-8 / x1 ** 2.  Here a power with a
    greater exponent is multiplied by the coefficient, and then divided by x1 ``order1 - 1`` times.
    """
    recomputed = power_derivative(x1, x2, order1, order2, xp, divisions=order1 - 1)
    return xp.where(xp.isfinite(found) | ~xp.isfinite(recomputed) | (x1 == 0), found, recomputed)


def logarithm_polynomial(
    factor: RawArray, logarithm: RawArray, x2: RawArray, order1: int, order2: int, xp: Namespace
) -> Any:
    """Return the factor of x1 ** (x2 - order1) in a derivative of x1 ** x2: a polynomial in log(x1).

    order1, order2 : the orders of the derivative in x1 and in x2.
    factor : the leading coefficient x2 (x2 - 1) ... (x2 - order1 + 1).  logarithm : log(x1).
    """
    coefficients = falling_factorial(order1)
    for k in range(1, order2 + 1):
        degree = len(coefficients) - 1
        coefficients = [c * (degree - i) for i, c in enumerate(coefficients[:-1])]
        factor = xp.where(factor == 0, 0.0, factor * logarithm)
        if coefficients:
            factor = factor + polynomial([math.comb(order2, k) * c for c in coefficients], x2, xp)
    return factor


def falling_factorial(order: int) -> list[int]:
    """Return the coefficients of x (x - 1) ... (x - order + 1), the highest power first."""
    coefficients = [1]
    for root in range(order):
        pairs = zip([*coefficients, 0], [0, *coefficients], strict=True)
        coefficients = [c - root * before for c, before in pairs]
    return coefficients


def polynomial(coefficients: list[int], x: RawArray, xp: Namespace) -> Any:
    """Return the value of a polynomial at x; the coefficient of the highest power comes first.

    A constant polynomial is finite even where x is infinite, since it is not multiplied by x.
    """
    value = xp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value = value * x + c
    return value


def sinc_derivative(x: RawArray, order: int, xp: Namespace) -> Any:
    """Return the derivative of sin(pi x) / (pi x) of the given order.

    Near 0 it is computed by the Taylor series, elsewhere by a recurrence: the n-th derivative s_n of
    s(a) = sin(a) / a satisfies a s_n + n s_(n-1) = sin(a + n pi / 2).
    """
    angle = math.pi * x
    near = xp.abs(angle) < 2.0 + order
    far = xp.where(near, 1.0, angle)
    found = xp.sin(far) / far
    for n in range(1, order + 1):
        turned = (xp.sin, xp.cos)[n % 2](far) * (-1.0 if n // 2 % 2 else 1.0)
        found = (turned - n * found) / far
    small = xp.where(near, angle, 0.0)
    square, series = small * small, 0.0 * small
    for k in range(12 + 3 * order, (order + 1) // 2 - 1, -1):
        weight = math.perm(2 * k, order) / math.factorial(2 * k + 1)
        series = series * square + (-weight if k % 2 else weight)
    series = series * small if order % 2 else series
    return math.pi**order * xp.where(near, series, found)


class Compositions:
    """Functions of a raw namespace that are compositions of its other functions."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def solve_again(self, x1: RawArray, x2: RawArray, /, *, adjoint: bool = False) -> Any:
        return solve_again(x1, x2, adjoint, self)

    def matmul_adjoint(self, x1: RawArray, x2: RawArray, /, first: bool, second: bool) -> Any:
        return matmul_adjoint(x1, x2, first, second, self)

    def window_correlation(
        self, x1: RawArray, x2: RawArray, /, part: str, lengths: Sizes, geometry: Geometry
    ) -> Any:
        return window_correlation(x1, x2, part, lengths, geometry, self)

    def log_sum_exp(self, x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
        return log_sum_exp(x, axis, keepdims, self)

    def sum_adjoint(
        self, x: RawArray, /, into: tuple[int, ...], along: Axis, keepdims: bool
    ) -> Any:
        return sum_adjoint(x, into, along, keepdims, self)


class Standard(Compositions):
    """A raw namespace: the functions on a library's arrays that ops and derivative rules call.

    base : the library's array API namespace, which has NumPy's dtypes.
    Functions that this class does not define are those of ``base``.
    """

    power_operator = staticmethod(operator.pow)

    def __init__(self, base: Namespace) -> None:
        self.base = base

    def __getattr__(self, name: str) -> Any:
        found = self.of_special() if name == "special" else getattr(self.base, name)
        setattr(self, name, found)  # the next access does not call __getattr__
        return found

    def of_special(self) -> Special:
        return BorrowedSpecial(self)

    # --- corrections of functions in which libraries differ from the standard -----------------------
    def real(self, x: RawArray, /) -> Any:
        return self.fresh(self.base.real(x) if x.dtype.kind == "c" else x)

    def imag(self, x: RawArray, /) -> Any:
        return self.fresh(self.base.imag(x)) if x.dtype.kind == "c" else self.zeros_like(x)

    real_part, imag_part = real, imag

    def conj(self, x: RawArray, /) -> Any:
        return self.base.conj(x) if x.dtype.kind == "c" else self.fresh(x)

    def sign(self, x: RawArray, /) -> Any:
        signs = self.base.sign(x)  # may be a negative zero for a complex zero
        return self.where(x == 0, self.zeros_like(x), signs) if x.dtype.kind == "c" else signs

    def floor_divide(self, x1: RawArray, x2: RawArray, /) -> Any:
        floored = self.base.floor_divide(x1, x2)
        if floored.dtype.kind != "f":
            return floored
        first, second = (self.like(x, floored) for x in (x1, x2))
        return floor_divide(first, second, floored, self)

    def expm1(self, x: RawArray, /) -> Any:
        return expm1(x, self.base) if x.dtype.kind == "c" else self.base.expm1(x)

    def tanh(self, x: RawArray, /) -> Any:
        return tanh(x, self.base) if x.dtype.kind == "c" else self.base.tanh(x)

    # --- beyond the standard ------------------------------------------------------------------------
    def like(self, x: RawOperand, other: RawArray) -> Any:
        """Convert a Python scalar x to 0-d data like ``other``; return data unchanged."""
        if hasattr(x, "dtype"):
            return x
        return self.full((), x, dtype=other.dtype, device=other.device)

    def fresh(self, x: RawArray) -> Any:
        return self.asarray(x, copy=True)

    stop_gradient = fresh

    def getitem(self, x: RawArray, /, key: Index) -> Any:
        part = x[self.key(key, x)]
        return (
            self.fresh(part) if part.shape == () else part
        )  # a single element is copied, because NumPy's scalar is no view either

    def key(self, key: Index, x: RawArray) -> Any:
        if type(key) is tuple:
            return tuple([self.key(part, x) for part in key])
        return self.asarray(key, device=x.device) if type(key) is np.ndarray else key

    def take(self, x: RawArray, indices: RawArray, /, *, axis: int | None = None) -> Any:
        check_take(x, indices, axis)
        return self.base.take(x, indices, axis=axis)

    def cast(self, x: RawArray, /, dtype: npt.DTypeLike) -> Any:
        return self.astype(x, dtype, copy=True)

    discretized = cast

    def reshaped(self, x: RawArray, /, shape: Size) -> Any:
        return self.reshape(x, shape, copy=True)

    def reinterpreted(self, x: RawArray, /, into: str) -> Any:
        if (x.dtype.kind == "c") == (into == "c"):
            return self.fresh(x)
        if into == "c":
            return x[..., ::2] + 1j * x[..., 1::2]
        pairs = self.stack([self.base.real(x), self.base.imag(x)], axis=-1)
        return self.reshape(pairs, (*x.shape[:-1], 2 * x.shape[-1]))

    def cofactors(self, x: RawArray, /) -> Any:
        return cofactors(x, self)

    def inverse_again(self, x: RawArray, singular: RawArray, /) -> Any:
        return inverse_again(x, singular, self)

    def power_derivative(self, x1: RawArray, x2: RawArray, /, order1: int, order2: int) -> Any:
        found = power_derivative(x1, x2, order1, order2, self)
        if order1 < 2:
            return found
        return late_power_derivative(found, x1, x2, order1, order2, self)

    def sinc_derivative(self, x: RawArray, /, order: int) -> Any:
        return sinc_derivative(x, order, self)

    def root_of_variance(self, x: RawArray, /) -> Any:
        return self.sqrt(x)

    def cube_root(self, x: RawArray, /) -> Any:
        return self.sign(x) * self.abs(x) ** (1.0 / 3.0)

    def truncated_remainder(self, x1: RawArray, x2: RawArray, /) -> Any:
        return self.sign(x1) * self.remainder(self.abs(x1), self.abs(x2))

    def logaddexp2(self, x1: RawArray, x2: RawArray, /) -> Any:
        # Scale x - top, not x: for large x the product with log(2) would round differences away.
        top = self.maximum(x1, x2)
        top = self.where(self.isfinite(top), top, 0.0)
        log2 = math.log(2.0)
        return top + self.logaddexp((x1 - top) * log2, (x2 - top) * log2) / log2

    def broadcast_view(self, x: RawArray, /, shape: Size) -> Any:
        broadcast = getattr(self.base, "broadcast_view", self.base.broadcast_to)
        return broadcast(x, shape)

    # --- views, or copies if ``base`` has none: each is a step of a view's path, see ``_array.paths`` --
    def real_view(self, x: RawArray, _: None = None, /) -> Any:
        return getattr(self.base, "real_view", self.base.real)(x)

    def imag_view(self, x: RawArray, _: None = None, /) -> Any:
        return getattr(self.base, "imag_view", self.base.imag)(x)

    def diagonal_view(self, x: RawArray, offset: int, /) -> Any:
        view = getattr(self.base, "diagonal_view", None)
        if view:
            return view(x, offset)
        # A copy, because the standard's function may return a read-only view, as NumPy's does.
        return self.asarray(self.linalg.diagonal(x, offset=offset), copy=True)

    def windows_view(self, x: RawArray, argument: tuple[int, int], /) -> Any:
        view = getattr(self.base, "windows_view", None)
        if view:
            return view(x, argument)
        axis, length = argument
        rest, count = (slice(None),) * (-axis - 1), x.shape[axis] - length + 1
        return self.stack(
            [x[(..., slice(start, start + count), *rest)] for start in range(length)], axis=-1
        )

    def read_only_view(self, x: RawArray, _: None = None, /) -> Any:
        return getattr(self.base, "read_only_view", lambda x: x)(x)

    def add_at(self, x: RawArray, key: Index, value: RawArray) -> Any:
        """Do ``x[key] += value``, where an element selected twice gets both values, and return x."""
        raise NotImplementedError

    def scatter_add(self, x: RawArray, /, shape: Size, key: Index) -> Any:
        full = self.zeros(shape, dtype=x.dtype, device=x.device)
        return self.add_at(full, self.key(key, x), x)

    scattered = scatter_add
