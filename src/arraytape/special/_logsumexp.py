"""``logsumexp``: the logarithm of a sum of exponentials, with SciPy's values and all derivatives.

SciPy takes the largest terms out of the sum with a mask, which has no derivative.  So here the value is
computed by SciPy's steps on untracked data, and the derivatives come from a sum without a mask.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._array.views import peek
from .._define.define_op import stop_gradient
from .._storage.dispatch import NUMBERS
from .._storage.special import kernel
from .._storage.storage import storage_of
from .._util.blocks import Quiet
from ..ops.creation_functions import arange, asarray
from ..ops.data_type_functions import astype, result_type
from ..ops.elementwise_functions import abs as absolute
from ..ops.elementwise_functions import (
    exp,
    imag,
    isfinite,
    isnan,
    log,
    log1p,
    real,
    remainder,
    sign,
    sqrt,
)
from ..ops.manipulation_functions import broadcast_to, reshape, squeeze
from ..ops.searching_functions import where
from ..ops.statistical_functions import log_sum_exp
from ..ops.statistical_functions import max as greatest
from ..ops.statistical_functions import sum as sum_of
from ._statement import REAL, special

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import Namespace, RawArray


@kernel
def weighted_exp(b: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return ``b * exp(x)``, and 0 where b is 0, even if exp(x) is infinite or NaN."""
    return xp.where(b == 0, b, b * xp.exp(x))


_weighted_exp = special(
    "weighted_exp", "b x", lambda t, x, xp: t * xp.exp(x),
    lambda t, b, x, xp: t * xp.special.weighted_exp(b, x), domains=[REAL, REAL], complex=True,
    public=False,
)  # fmt: skip


def logsumexp(
    a: Array | npt.ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    b: Array | npt.ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Return the logarithm of the sum of exponentials, with SciPy's values.

    A call of SciPy's own ``logsumexp`` on Arrays under a tape runs this function.

    Parameters
    ----------
    a : Array
        Of real or complex dtype; integers are computed as float64.
    axis : int or tuple of int, optional
        The axes to sum over; all by default.
    b : Array, optional
        Factors of the exponentials.  A term with the factor 0 adds nothing, even if its exponential is
        infinite.
    keepdims : bool
        If True, the summed axes stay in the result, with length 1.
    return_sign : bool
        If True, the sum may be negative: its sign is returned, too, or for complex data its phase.

    Returns
    -------
    Array or tuple of Array
        The logarithm.  If ``return_sign`` is True, also the sign or phase of the sum.
    """
    a, b = _common_operands(a, b)
    axes = tuple(range(a.ndim)) if axis is None else axis
    if b is None and not return_sign and a.size and a.dtype.kind == "f" and not on_host(a):
        return log_sum_exp(a, axis=axes, keepdims=keepdims)
    with Quiet():
        y, phase = _log_and_phase(a, b, axes, return_sign)
    if not keepdims:
        y, phase = squeeze(y, axes), phase if phase is None else squeeze(phase, axes)
    return (y, phase) if return_sign else y


def on_host(a: Array) -> bool:
    """Return True for NumPy's data, also under vmap, whose bits are to be SciPy's."""
    return storage_of(peek(a)).beneath(peek(a)).kind is np.ndarray


def _log_and_phase(
    a: Array, b: Array | None, axes: int | tuple[int, ...], with_phase: bool
) -> tuple[Array, Any]:
    """Return (logarithm, phase) of ``sum(b * exp(a))`` over axes; tapes can differentiate the logarithm.

    If ``with_phase`` is True, the logarithm is that of the sum's absolute value, and the phase is sum /
    abs(sum): the sign of a real sum.  Else the phase is None.  The summed axes stay, with length 1.
    """
    fixed = None if b is None else stop_gradient(b)
    value, phase = _scipys_values(stop_gradient(a), fixed, axes, with_phase)
    finite = isfinite(value)
    terms = a - where(finite, value, 0.0)
    terms = exp(terms) if b is None else _weighted_exp(b, terms)
    terms = terms / where(finite, phase, 1.0) if with_phase else terms
    total = sum_of(terms, axis=axes, keepdims=True)
    fixed = stop_gradient(total)
    # Where the sum overflows or the value is undefined, nan_slope is sqrt(0) or sqrt(NaN), whose slope
    # is NaN.  Elsewhere it is sqrt(1): a NaN there would make a second backward pass compute each
    # gradient.  If the value is NaN, the slope is NaN with respect to all elements of a and b.
    undefined = isnan(value)
    nothing = 0.0 * sum_of(real(where(isfinite(a) | undefined, a, 0.0)), axis=axes, keepdims=True)
    if b is not None:
        nothing = nothing + 0.0 * sum_of(real(where(undefined, b, 0.0)), axis=axes, keepdims=True)
    nan_slope = sqrt(where(finite & isfinite(fixed), 1.0, nothing))
    # ``total`` is the sum of exp(a - value), which is 1 up to rounding of the sum and of ``value``.  It
    # is far from 1 only where terms of opposite signs cancel.
    rounded = absolute(value) * float(np.finfo(value.dtype).eps) > 0.01
    one = where((absolute(fixed - 1.0) < 0.5) | rounded & (fixed != 0), fixed, 1.0)
    moved = log1p(where(isfinite(fixed), (total - fixed) / one, nan_slope))
    rest = log(total)  # used where ``value`` is infinite or NaN
    if a.dtype.kind == "c" and phase is not None:
        phase = where(finite, phase * exp(1j * imag(moved)), phase + nan_slope)
        rest, moved = real(rest), real(moved)
    plain = where(stop_gradient(rest) == value, rest, value + nan_slope)
    return where(finite, value + moved, plain), phase


def _common_operands(
    a: Array | npt.ArrayLike, b: Array | npt.ArrayLike | None
) -> tuple[Array, Array | None]:
    """Return both operands in one floating-point dtype and shape, with at least one axis."""
    # As in SciPy, Python numbers do not determine the dtype.
    given = [x if type(x) in NUMBERS else asarray(x) for x in (a, b) if x is not None]
    dtype = result_type(*given)
    if dtype.kind not in "fc":
        dtype = np.dtype(np.float64)
    x, factors = asarray(a), None if b is None else asarray(b)
    shape = x.shape if factors is None else np.broadcast_shapes(x.shape, factors.shape)

    def in_common(x: Array) -> Array:
        same = shape and x.shape == shape and x.dtype == dtype
        return x if same else broadcast_to(astype(x, dtype, copy=False), shape or (1,))

    return in_common(x), None if factors is None else in_common(factors)


def _scipys_values(
    a: Array, b: Array | None, axes: int | tuple[int, ...], with_phase: bool
) -> tuple[Array, Array | None]:
    """Return (logarithm, sign or phase) of ``sum(b * exp(a))`` by SciPy's steps, so that all bits agree.

    The sign or phase is None unless ``with_phase``; then the logarithm is that of the absolute value.
    Derivatives through these steps would be wrong, so the caller passes operands that no tape follows.
    """
    total = sum_of(exp(a) if b is None else b * exp(a), axis=axes, keepdims=True)
    of_total = sign(total) if with_phase else None
    infinite = log(absolute(total) if with_phase else total)
    if not a.size:
        nothing = astype(where(isnan(infinite), infinite, -math.inf), a.dtype)
        return nothing, sign(nothing) if with_phase else None
    masked = a if b is None else where(b == 0, -math.inf, a)
    top, at_top = _largest_element(masked, axes)
    factors = astype(at_top, a.dtype)
    m = sum_of(factors if b is None else b * factors, axis=axes, keepdims=True)
    others = exp(where(at_top, -math.inf, masked) - top)
    s = sum_of(others if b is None else b * others, axis=axes, keepdims=True)
    s = where(s == 0, s, s / m)
    if b is None and a.dtype.kind != "c" and not with_phase:  # no term is negative
        y = log1p(s) + log(m) + top
        return where(isfinite(y), y, infinite), None
    phase = sign(s + 1) * sign(m)
    if a.dtype.kind == "c":
        phase = phase * exp(imag(top) * 1j)
        y = log1p(s) + log(m) + top
        y = real(y) if with_phase else y
    else:
        y = log1p(where(s < -1, -s - 2, s)) + log(absolute(m)) + top
        y = y if with_phase else where(phase < 0, math.nan, y)
    finite = isfinite(y)
    y = where(finite, y, infinite)
    if with_phase:
        phase = where(finite, phase, of_total)
        return y, real(phase) + _reduced_angle(imag(phase)) * 1j if a.dtype.kind == "c" else phase
    return (real(y) + _reduced_angle(imag(y)) * 1j if a.dtype.kind == "c" else y), None


def _largest_element(a: Array, axes: int | tuple[int, ...]) -> tuple[Array, Array]:
    """Return (largest element, mask of its positions) of ``a`` along axes, by the real part.

    If several complex elements have the largest real part, the last of these elements is chosen.
    """
    largest = greatest(real(a), axis=axes, keepdims=True)
    found = real(a) == largest
    if a.dtype.kind != "c":
        return largest, found
    places = where(found, reshape(arange(a.size), a.shape), -1)  # the last of equal ones
    found = places == greatest(places, axis=axes, keepdims=True)
    return sum_of(where(found, a, 0.0), axis=axes, keepdims=True), found


def _reduced_angle(angle: Array) -> Array:
    """Return an angle, in radians, reduced to the interval (-pi, pi]."""
    wrapped = -(remainder(-angle + math.pi, 2 * math.pi) - math.pi)
    return where(absolute(angle) < math.pi, angle, wrapped)


FUNCTIONS = {"logsumexp": logsumexp}
