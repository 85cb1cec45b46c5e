"""Let scipy.signal work on Arrays: filter design, recursive filters, correlations, resampling.

SciPy's Python code runs on Arrays unchanged.  Its compiled functions (``lfilter``, ``sosfilt``,
``upfirdn``, the correlations) need NumPy data: ops call them, and have rules for the derivatives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
from scipy.signal import _filter_design, _signaltools, _sigtools

import arraytape

from .._array.array import Array
from .._record.plan import Lazy
from .._storage.storage import conjugate
from .._util.array_types import Namespace, RawArray
from .._util.errors import short_repr
from ..ops.fft import crop_or_pad
from ._borders import extend_lines, fold_lines, window, with_length
from ._context import has_array
from ._facades import ScipyFloat, asarray, at_least_1d, no_rule
from ._hooks import original_of
from ._ops import library_op
from ._plain import ArrayInput, Cotangents, NumpyData, Shape, plain_data
from ._slopes import with_slope
from ._statements import facade_of, hooks, keeps_arrays, prepares, replaces, stands_in

Function = Callable[..., Any]

for module in (
    "_arraytools", "_czt", "_filter_design", "_lti_conversion", "_ltisys", "_savitzky_golay",
    "_short_time_fft", "_signaltools", "_spectral_py", "_spline_filters", "_waveforms",
):  # fmt: skip
    keeps_arrays(f"scipy.signal.{module}")


# --- filter design -----------------------------------------------------------------------------------
# SciPy's design functions convert frequencies and ripples to numbers, by float() and the math module.
DESIGN = "scipy.signal._filter_design"


replaces(DESIGN, "float", ScipyFloat)
replaces(DESIGN, "np_compat", facade_of("scipy"))
ANALYTIC = ("acosh", "asinh", "cos", "cosh", "exp", "expm1", "hypot", "log10", "sin", "sqrt", "tan")
stands_in(
    DESIGN, "math", ceil=lambda x: math.ceil(plain_data(x)),  # a filter's order, a whole number
    **{name: getattr(arraytape, name) for name in ANALYTIC},
)  # fmt: skip
stands_in(DESIGN, "cmath", exp=arraytape.exp)


@prepares(DESIGN, "iirfilter")
def frequencies_as_array(arguments: dict[str, Any]) -> None:
    """Convert the frequencies ``Wn`` of ``iirfilter`` to an Array before SciPy's code runs.

    SciPy computes in the namespace of ``Wn``, so that then all its arrays are Arrays.

    arguments : the arguments of the call by name, which are changed.
    """
    arguments["Wn"] = asarray(arguments["Wn"])


@hooks(DESIGN, "bilinear")
def bilinear(b: ArrayInput, a: ArrayInput, fs: float = 1.0) -> Any:
    """Return the coefficients of SciPy's ``bilinear`` transform, with derivatives by a formula.

    SciPy computes with numpy.polynomial, which converts Arrays to NumPy data.
    """
    if has_array((fs,)):
        raise no_rule("scipy.signal.bilinear", "fs as an Array")
    given = [at_least_1d(asarray(x)) for x in (b, a)]
    order = max(len(np.trim_zeros(x, "f")) for x in given) - 1
    # Zeros at the beginning stay within the order, because these coefficients have derivatives, too.
    pair = [x[-1 - order :] for x in given]
    # The coefficient of s**k multiplies (2 fs (z - 1))**k (z + 1)**(order - k).
    root = np.sqrt(2.0 * fs)
    above, below = np.polynomial.Polynomial((-1, 1)) * root, np.polynomial.Polynomial((1, 1)) / root
    powers = np.stack([(below ** (order - k) * above**k).coef[::-1] for k in range(order + 1)])
    values = original_of(_filter_design.bilinear)(plain_data(b), plain_data(a), fs)
    formulas = scipy.signal.normalize(*[arraytape.flip(x) @ powers[: len(x)] for x in pair])
    return tuple(
        [with_slope(arraytape.asarray(v), f) for v, f in zip(values, formulas, strict=True)]
    )


# --- recursive filters -------------------------------------------------------------------------------
# lfilter is compiled.  If a[0] = 1 and z is the initial state, lfilter computes w = conv(b, x) + z and
# y[n] = w[n] - sum over k >= 1 of a[k] y[n - k].  The final state holds what x and y contribute to later
# elements.  The cotangent v of w obeys the same recursion backwards in time,
# v[n] = g[n] - sum of conj(a[k]) v[n + k], starting from the cotangent of the final state.
def lfilter_joint(
    g: Cotangents, b: RawArray, a: RawArray, x: RawArray, zi: RawArray, y: RawArray, axis: int,
    xp: Namespace,
) -> tuple[Any, ...]:  # fmt: skip
    g_y, g_z = (
        cotangent_or_zeros(part, like, axis, xp) for part, like in zip(g, (y, zi), strict=True)
    )
    x, y = xp.moveaxis(x, axis, -1), xp.moveaxis(y, axis, -1)
    to_b, to_a, by_x, by_z = filter_adjoint(g_y, g_z, b, a, x, y, xp)
    return (
        Lazy(to_b), Lazy(to_a), Lazy(lambda: xp.moveaxis(by_x(), -1, axis)),
        xp.moveaxis(by_z, -1, axis),
    )  # fmt: skip


def filter_adjoint(
    g_y: RawArray, g_z: RawArray, b: RawArray, a: RawArray, x: RawArray, y: RawArray, xp: Namespace
) -> tuple[Any, ...]:
    """Return the cotangents of the arguments of ``lfilter``: b, a, x and the initial state.

    The first three are functions that compute the cotangent when it is needed.

    g_y, g_z : the cotangents of the result y and of the final state.  b, a : the coefficients of the
    filter.  x : the signal.  Time is the last axis.
    """
    one, others, lead = b / a[0], a / a[0], conjugate(a[0], xp)
    by_b, by_a, by_x, by_z = recursion_adjoint(g_y, g_z, one, others, x, y, xp)

    @functools.cache
    def to_numerator() -> Any:
        return by_b() / lead

    def to_denominator() -> Any:
        rest = by_a() / lead
        to_lead = -xp.sum(conjugate(one, xp) * to_numerator()) - xp.sum(
            conjugate(others, xp) * rest
        )
        return xp.concat([xp.reshape(to_lead, (1,)), rest[1:]])

    return to_numerator, to_denominator, by_x, by_z


def cotangent_or_zeros(g: RawArray | None, like: RawArray, axis: int, xp: Namespace) -> Any:
    """Return the cotangent g of a result, with ``axis`` moved to the end; zeros if g is None.

    like : the result, whose cotangent is None if no op used it.
    """
    if g is None or tuple(g.shape) != tuple(like.shape):
        g = xp.zeros(like.shape, dtype=like.dtype, device=like.device)
    return xp.moveaxis(g, axis, -1)


def recursion_adjoint(
    g_y: RawArray, g_z: RawArray, b: RawArray, a: RawArray, x: RawArray, y: RawArray, xp: Namespace
) -> tuple[Any, ...]:
    """Return the cotangents of b, a, x and the initial state of ``lfilter``, if a[0] is 1.

    The first three are functions that compute the cotangent when it is needed.

    g_y, g_z : the cotangents of the result y and of the final state.  b, a : the coefficients of the
    filter.  x : the signal.  Time is the last axis.
    """
    length, order = x.shape[-1], g_z.shape[-1]
    whole = xp.concat([g_y, g_z], axis=-1)
    if a.shape[0] > 1:
        back = xp.flip(whole, axis=-1)
        whole = xp.flip(poles(conjugate(a, xp), back, order, xp), axis=-1)
    shifted = [whole[..., k : k + length] for k in range(max(b.shape[0], a.shape[0]))]

    def by_b() -> Any:
        return xp.stack([xp.sum(conjugate(x, xp) * shifted[k]) for k in range(b.shape[0])])

    def by_a() -> Any:
        parts = [-xp.sum(conjugate(y, xp) * shifted[k]) for k in range(a.shape[0])]
        return xp.stack([0.0 * parts[0], *parts[1:]])  # a[0] is 1

    def by_x() -> Any:
        return sum(conjugate(b[k], xp) * shifted[k] for k in range(b.shape[0]))

    return by_b, by_a, by_x, whole[..., :order]


def poles(a: RawArray, x: RawArray, kept: int, xp: Namespace) -> Any:
    """Apply a filter that has only poles: y[n] = x[n] - sum of a[k] y[n - k] over k > 0.

    Time is the last axis.  kept : the number of first elements of y that are those of x, unfiltered.
    """
    one = xp.ones((1,), dtype=x.dtype, device=x.device)
    start, rest = x[..., :kept], x[..., kept:]
    state = [
        -sum(
            (a[k] * start[..., kept + i - k] for k in range(i + 1, min(a.shape[0], kept + i + 1))),
            0.0 * x[..., 0],
        )
        for i in range(a.shape[0] - 1)
    ]
    y, _ = lfilter_op(one, a, rest, xp.stack(state, axis=-1))
    return xp.concat([start, y], axis=-1)


lfilter_op = library_op(
    "scipy.signal.lfilter", lambda b, a, x, zi, axis=-1: scipy.signal.lfilter(b, a, x, axis, zi),
    joint=lfilter_joint, outputs=("y", "zf"),
)  # fmt: skip


@hooks("scipy.signal._signaltools", "lfilter")
def lfilter(
    b: ArrayInput, a: ArrayInput, x: ArrayInput, axis: int = -1, zi: ArrayInput | None = None
) -> Any:
    b, a, x = at_least_1d(asarray(b)), at_least_1d(asarray(a)), asarray(x)
    if b.ndim != 1 or a.ndim != 1 or not b.shape[0] * a.shape[0] * x.ndim:
        raise ValueError(
            f"lfilter takes non-empty 1d arrays b and a, and x of 1 dimension or more, got shapes "
            f"{b.shape}, {a.shape} and {x.shape}"
        )
    order = max(b.shape[0], a.shape[0]) - 1
    shape = with_length(x.shape, axis, order)
    if zi is None:
        dtype = arraytape.result_type(b, a, x)
        start = arraytape.zeros(shape, dtype=dtype, device=x.device)
    else:
        start = asarray(zi)
        if start.ndim != x.ndim or start.shape[axis] != order:
            raise ValueError(
                f"lfilter takes a zi that broadcasts to the shape {shape}, with {order} elements along "
                f"axis {axis}, got {start.shape}"
            )
        start = arraytape.broadcast_to(start, shape)
    y, state = lfilter_op(b, a, x, start, axis)
    return y if zi is None else (y, state)


# SciPy's code divides by a[0] only if a[0] is not 1.  For the derivative with respect to a[0], the
# division is necessary at 1, too.
@hooks("scipy.signal._signaltools", "lfilter_zi")
def lfilter_zi(b: ArrayInput, a: ArrayInput) -> Any:
    b, a = at_least_1d(asarray(b)), at_least_1d(asarray(a))
    if b.ndim == a.ndim == 1:
        first = int(np.argmax(plain_data(a) != 0)) if a.shape[0] else 0
        a = a[first:]
        if a.dtype.kind in "fc" and a.shape[0] and plain_data(a[0]) == 1:
            b, a = b / a[0], a / a[0]
    return original_of(_signaltools.lfilter_zi)(b, a)


@hooks("scipy.signal._signaltools", "lfiltic")
def lfiltic(b: ArrayInput, a: ArrayInput, y: ArrayInput, x: ArrayInput | None = None) -> Any:
    found = original_of(_signaltools.lfiltic)(b, a, y, x)
    lead = arraytape.reshape(asarray(a), (-1,))[0]
    return found / lead if plain_data(lead) == 1 else found


# --- sections of second order ------------------------------------------------------------------------
def sosfilt_joint(
    g: Cotangents, sos: RawArray, x: RawArray, zi: RawArray, axis: int, xp: Namespace
) -> tuple[Any, ...]:
    """Return the cotangents of sos, x and zi for ``sosfilt``, a chain of second-order filters.

    g : the cotangents of the filtered signal and of the final state.  The rule holds for any a[0],
    although SciPy accepts only 1.
    """
    of_state = axis % len(x.shape) + 1
    g_y, g_z = cotangent_or_zeros(g[0], x, axis, xp), cotangent_or_zeros(g[1], zi, of_state, xp)
    given = xp.moveaxis(zi, of_state, -1)
    signals = [xp.moveaxis(x, axis, -1)]
    for s in range(sos.shape[0]):
        signals.append(lfilter_op(sos[s, :3], sos[s, 3:], signals[-1], given[s])[0])
    sections: list[Any] = []
    states: list[Any] = []
    for s in reversed(range(sos.shape[0])):
        to_b, to_a, by_x, by_z = filter_adjoint(
            g_y, g_z[s], sos[s, :3], sos[s, 3:], signals[s], signals[s + 1], xp
        )
        g_y = by_x()
        sections.insert(0, (to_b, to_a))
        states.insert(0, by_z)

    def to_sos() -> Any:
        return xp.stack([xp.concat([to_b(), to_a()]) for to_b, to_a in sections])

    by_zi = xp.moveaxis(xp.stack(states), -1, of_state)
    return Lazy(to_sos), xp.moveaxis(g_y, -1, axis), by_zi


sosfilt_op = library_op(
    "scipy.signal.sosfilt",
    # SciPy's compiled code refuses read-only memory.
    lambda sos, x, zi, axis=-1: scipy.signal.sosfilt(sos.copy(), x, axis, zi),
    joint=sosfilt_joint, outputs=("y", "zf"),
)  # fmt: skip


@hooks("scipy.signal._signaltools", "sosfilt")
def sosfilt(sos: ArrayInput, x: ArrayInput, axis: int = -1, zi: ArrayInput | None = None) -> Any:
    sos, x = asarray(sos), asarray(x)
    if zi is None:
        shape = (sos.shape[0], *with_length(x.shape, axis, 2))
        start = arraytape.zeros(shape, dtype=arraytape.result_type(sos, x), device=x.device)
    else:
        start = asarray(zi)
    y, state = sosfilt_op(sos, x, start, axis)
    return y if zi is None else (y, state)


# --- correlations ------------------------------------------------------------------------------------
# The full correlation is c[j] = sum over k of x1[j - (m - 1) + k] * conj(x2[k]), with m = len(x2), for
# all j at which x1 and x2 overlap.  SciPy's C functions return the part of c that the mode selects.
VALID, SAME, FULL = range(3)


def whole_correlation(
    g: RawArray, sizes1: Shape, sizes2: Shape, part: int, flips: int, xp: Namespace
) -> Any:
    """Return the cotangent of the full correlation of x1 and x2: g, surrounded by zeros.

    g : the cotangent of the part of the full correlation that SciPy returned.
    part : VALID, SAME or FULL, which part that is.  sizes1, sizes2 : the shapes of x1 and x2.
    flips : 0 for correlate2d, 1 for other functions; the middle that SAME means is rounded differently.
    """
    pairs = [*zip(sizes1, sizes2, strict=True)]
    first = [{FULL: 0, SAME: (m - flips) // 2, VALID: m - 1}[part] for _, m in pairs]
    return xp.scatter_add(g, tuple([n + m - 1 for n, m in pairs]), window(first, g.shape))


def correlate_forward(
    x1: Array, x2: Array, part: int = VALID, sizes: Sequence[int] | None = None
) -> Any:
    if sizes is None:
        sizes = [n - m + 1 for n, m in zip(x1.shape, x2.shape, strict=True)]
    return _sigtools._correlateND(x1, x2, np.empty(sizes, x1.dtype), part)


def reverse(x: RawArray, xp: Namespace) -> Any:
    """Return x reversed along all axes, and conjugated."""
    return conjugate(xp.flip(x), xp)


def correlated(x1: RawArray, x2: RawArray, xp: Namespace) -> Any:
    """Return the correlation of x1 and x2 where they overlap fully, in their common dtype."""
    dtype = xp.result_type(x1, x2)
    return correlate_op(xp.astype(x1, dtype, copy=False), xp.astype(x2, dtype, copy=False))


def correlate_first(g: RawArray, x2: RawArray, shape: Shape, part: int, xp: Namespace) -> Any:
    if not math.prod(shape) * math.prod(x2.shape):
        return xp.zeros(shape, dtype=g.dtype)
    return correlated(whole_correlation(g, shape, x2.shape, part, 1, xp), reverse(x2, xp), xp)


def correlate_second(g: RawArray, x1: RawArray, shape: Shape, part: int, xp: Namespace) -> Any:
    if not math.prod(x1.shape) * math.prod(shape):
        return xp.zeros(shape, dtype=g.dtype)
    return reverse(correlated(whole_correlation(g, x1.shape, shape, part, 1, xp), x1, xp), xp)


correlate_op = library_op(
    "scipy.signal.correlate", correlate_forward, correlate_first, correlate_second
)


# Rules of convolve2d and correlate2d.  In contrast to correlate, their C function pads x1 beyond its
# border, and does not conjugate x2.
BOUNDARIES = {0: "constant", 4: "reflect", 8: "wrap"}  # SciPy's codes for the modes of padding


def plane_first(
    g: RawArray, x2: RawArray, shape: Shape, flips: int, part: int, boundary: int, xp: Namespace
) -> Any:
    sizes, mode = x2.shape, BOUNDARIES[boundary]
    if not math.prod(shape) * math.prod(sizes):
        return xp.zeros(shape, dtype=g.dtype)
    wide = whole_correlation(g, shape, sizes, part, flips, xp)
    full = [n + 2 * (m - 1) for n, m in zip(wide.shape, sizes, strict=True)]
    wide = xp.scatter_add(wide, tuple(full), window([m - 1 for m in sizes], wide.shape))
    back = correlated(wide, x2 if flips else xp.flip(x2), xp)
    for axis, (n, m) in enumerate(zip(shape, sizes, strict=True)):
        back = fold_lines(back, axis, n, mode, m - 1, xp)
    return back


def plane_second(
    g: RawArray, x1: RawArray, shape: Shape, flips: int, part: int, boundary: int, fill: complex,
    xp: Namespace,
) -> Any:  # fmt: skip
    if not math.prod(x1.shape) * math.prod(shape):
        return xp.zeros(shape, dtype=g.dtype)
    wide = whole_correlation(g, x1.shape, shape, part, flips, xp)
    for axis, m in enumerate(shape):
        x1 = extend_lines(x1, axis, BOUNDARIES[boundary], m - 1, m - 1, fill, xp)
    back = conjugate(correlated(x1, wide, xp), xp)
    return xp.flip(back) if flips else back


plane_op = library_op(
    "scipy.signal.convolve2d",
    lambda x1, x2, flips=1, part=FULL, boundary=0, fill=0: _sigtools._convolve2d(
        x1, x2, flips, part, boundary, fill
    ),
    plane_first, plane_second,
)  # fmt: skip


def of_one_dtype(*arrays: Any) -> list[Any]:
    """Return the arguments of a filter as Arrays of one dtype, as SciPy's C function requires."""
    given = [asarray(x) for x in arrays]
    dtype = arraytape.result_type(*given)
    return [arraytape.astype(x, dtype, copy=False) for x in given]


stands_in(
    "scipy.signal._signaltools", "_sigtools",
    _correlateND=lambda x1, x2, out, part: correlate_op(asarray(x1), asarray(x2), part, out.shape),
    _convolve2d=lambda x1, x2, *how: plane_op(*of_one_dtype(x1, x2), *how),
    _medfilt2d=_signaltools.medfilt,  # SciPy's function for dtypes that _medfilt2d lacks
)  # fmt: skip


@hooks("scipy.signal._signaltools", "choose_conv_method")
def choose_conv_method(
    in1: ArrayInput, in2: ArrayInput, mode: str = "full", measure: bool = False
) -> Any:
    """Return SciPy's choice between "direct" and "fft", without a conversion of the Arrays' values.

    The choice depends on shapes and dtypes, and on values only for integers.
    """
    return original_of(scipy.signal._signaltools.choose_conv_method)(
        *[without_values(x) for x in (in1, in2)], mode, measure
    )


def without_values(x: ArrayInput) -> Any:
    """Return NumPy data with the shape and dtype of x, from which SciPy chooses its method.

    It holds zeros for floats, and the values for integers.
    """
    x = asarray(x)
    return np.zeros(x.shape, x.dtype) if x.dtype.kind in "fc" else plain_data(x)


# --- replacements of SciPy's Python code --------------------------------------------
@hooks("scipy.signal._polyutils", "_lstsq")
def lstsq(
    a: ArrayInput, b: ArrayInput, xp: Namespace | None = None, rcond: float | None = None
) -> Any:
    a, b = asarray(a), asarray(b)
    cond = np.finfo(a.dtype).eps * max(a.shape) if rcond is None else rcond
    return scipy.linalg.lstsq(a, b, cond=cond)


@hooks("scipy.signal._spectral_py", "_fft_helper")
def fft_helper(
    x: Any, win: Array | NumpyData, detrend_func: Function, nperseg: int, noverlap: int, nfft: int,
    sides: str,
) -> Any:  # fmt: skip
    """Return the Fourier transforms of overlapping segments of the signal x, for ``scipy.signal``.

    This replaces ``_fft_helper``.  SciPy's function makes a writable strided view, which Arrays do not
    have.
    """
    if nperseg > 1 or noverlap:
        windows = np.lib.stride_tricks.sliding_window_view(x, nperseg, axis=-1)
        segments = windows[..., :: nperseg - noverlap, :]
    else:
        segments = x[..., None]
    segments = win * detrend_func(segments)
    if sides == "twosided":
        return scipy.fft.fft(segments, n=nfft)
    return scipy.fft.rfft(segments.real, n=nfft)


# --- resampling --------------------------------------------------------------------------------------
def upfirdn_filter(
    g: RawArray, h: RawArray, x: RawArray, shape: Shape, up: int, down: int, axis: int, mode: str,
    cval: complex, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the filter h of ``upfirdn``, given g, that of the result y.

    mode, cval : SciPy's options of the padding of x.  y[i] is the sum over n of h[i * down - n * up]
    x[n].  shape : that of h.
    """
    if mode != "constant" or np.any(cval != 0):
        raise no_rule(
            "scipy.signal.upfirdn", f"an Array as the filter h and mode={short_repr(mode)}"
        )
    x, g = xp.moveaxis(x, axis, -1), xp.moveaxis(g, axis, -1)
    length, count = x.shape[-1], g.shape[-1]
    spread = xp.scatter_add(g, (*g.shape[:-1], count * down), (..., slice(0, count * down, down)))
    found = []
    for k in range(shape[0]):
        part = spread[..., k::up][..., :length]
        found.append(xp.sum(conjugate(x[..., : part.shape[-1]], xp) * part))
    return xp.stack(found)


def upfirdn_signal(
    g: RawArray, h: RawArray, shape: Shape, up: int, down: int, axis: int, mode: str, xp: Namespace
) -> Any:
    axis, length = axis % len(shape), shape[axis]
    if mode != "constant":  # apply the op to the identity, and multiply g by the conjugate matrix
        lines = xp.eye(length, dtype=g.dtype, device=g.device)
        whole = conjugate(upfirdn_op(h, lines, up, down, 0, mode), xp)
        return xp.moveaxis(xp.tensordot(g, whole, axes=((axis,), (0,))), -1, axis)
    # The cotangent of x[n] is the sum over i of conj(h[i * down - n * up]) g[i].  Filtering g with the
    # reversed h puts that sum at index len(h) - 1 + n * up.
    back = upfirdn_op(reverse(h, xp), g, down, 1, axis)
    lines = (slice(None),) * axis
    back = back[(*lines, slice(h.shape[0] - 1, None, up))][(*lines, slice(0, length))]
    return crop_or_pad(back, with_length(back.shape, axis, length), axis, xp)


upfirdn_op = library_op(
    "scipy.signal.upfirdn",
    lambda h, x, up=1, down=1, axis=-1, mode="constant", cval=0: scipy.signal.upfirdn(
        h, x, up, down, axis, mode, cval
    ),
    upfirdn_filter, upfirdn_signal,
)  # fmt: skip


@hooks("scipy.signal._upfirdn", "upfirdn")
def upfirdn(
    h: ArrayInput, x: ArrayInput, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: complex = 0,
) -> Any:  # fmt: skip
    return upfirdn_op(asarray(h), asarray(x), up, down, axis, mode, cval)
