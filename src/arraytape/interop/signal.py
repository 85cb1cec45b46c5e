"""The functions of scipy.signal: recursive filters, convolutions, and what is made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
from scipy.signal import _signaltools

import arraytape

from .._array.array import Array
from .._record.plan import Later
from .._storage.storage import conjugate
from .._util.errors import short_repr
from ..ops.fft import fitted
from ._borders import extended, folded, resized, window
from ._facades import asarray, no_rule
from ._hooks import original_of
from ._ops import library_op
from ._plain import plain
from ._statements import hooks, keeps_arrays, stands_in

Function = Callable[..., Any]

for module in (
    "_arraytools", "_czt", "_filter_design", "_ltisys", "_savitzky_golay", "_short_time_fft",
    "_signaltools", "_spectral_py", "_spline_filters", "_waveforms",
):  # fmt: skip
    keeps_arrays(f"scipy.signal.{module}")


# --- recursive filters -------------------------------------------------------------------------------
# With a[0] = 1, and z for the initial state, w = conv(b, x) + z and y[n] = w[n] - sum of a[k] y[n - k].
# The final state is what w and the sum would add after the end.  The adjoint of w, v, obeys the same
# recursion backwards in time, v[n] = g[n] - sum of conj(a[k]) v[n + k], and starts from that of the
# final state.
def lfilter_forward(b: Array, a: Array, x: Array, zi: Array, axis: Any = -1) -> Any:
    return scipy.signal.lfilter(b, a, x, axis, zi)


def lfilter_joint(
    g: Any, b: Any, a: Any, x: Any, zi: Any, y: Any, axis: int, xp: Any
) -> tuple[Any, ...]:
    g_y, g_z = (whole_part(part, like, axis, xp) for part, like in zip(g, (y, zi), strict=True))
    x, y = xp.moveaxis(x, axis, -1), xp.moveaxis(y, axis, -1)
    to_b, to_a, by_x, by_z = filter_adjoint(g_y, g_z, b, a, x, y, xp)
    return (
        Later(to_b),
        Later(to_a),
        Later(lambda: xp.moveaxis(by_x(), -1, axis)),
        xp.moveaxis(by_z, -1, axis),
    )


def filter_adjoint(g_y: Any, g_z: Any, b: Any, a: Any, x: Any, y: Any, xp: Any) -> tuple[Any, ...]:
    """Return what gives the cotangents of b, a and x, and that of the state, for any a[0]."""
    one, others, lead = b / a[0], a / a[0], conjugate(a[0], xp)
    by_b, by_a, by_x, by_z = recursion_adjoint(g_y, g_z, one, others, x, y, xp)

    @functools.cache
    def to_b() -> Any:
        return by_b() / lead

    def to_a() -> Any:
        rest = by_a() / lead
        to_lead = -xp.sum(conjugate(one, xp) * to_b()) - xp.sum(conjugate(others, xp) * rest)
        return xp.concat([xp.reshape(to_lead, (1,)), rest[1:]])

    return to_b, to_a, by_x, by_z


def whole_part(g: Any, like: Any, axis: int, xp: Any) -> Any:
    """The cotangent of a result, zeros if nothing reads it, with an axis last."""
    if g is None or tuple(g.shape) != tuple(like.shape):
        g = xp.zeros(like.shape, dtype=like.dtype, device=like.device)
    return xp.moveaxis(g, axis, -1)


def recursion_adjoint(
    g_y: Any, g_z: Any, b: Any, a: Any, x: Any, y: Any, xp: Any
) -> tuple[Any, ...]:
    """By the initial state, and what gives it by b, a and x, along the last axis."""
    length, order = x.shape[-1], g_z.shape[-1]
    whole = xp.concat([g_y, g_z], axis=-1)
    if a.shape[0] > 1:
        back = xp.flip(whole, axis=-1)
        whole = xp.flip(poles(conjugate(a, xp), back, order, xp), axis=-1)
    shifted = [whole[..., k : k + length] for k in range(max(len(b), len(a)))]

    def by_b() -> Any:
        return xp.stack([xp.sum(conjugate(x, xp) * shifted[k]) for k in range(len(b))])

    def by_a() -> Any:
        parts = [-xp.sum(conjugate(y, xp) * shifted[k]) for k in range(len(a))]
        return xp.stack([0.0 * parts[0], *parts[1:]])  # the first is 1

    def by_x() -> Any:
        return sum(conjugate(b[k], xp) * shifted[k] for k in range(len(b)))

    return by_b, by_a, by_x, whole[..., :order]


def poles(a: Any, x: Any, given: int, xp: Any) -> Any:
    """The recursion alone, from values that are given at the start."""
    one = xp.ones((1,), dtype=x.dtype, device=x.device)
    start, rest = x[..., :given], x[..., given:]
    # What the given values leave behind is the state from which the rest starts.
    state = [
        -sum(
            (a[k] * start[..., given + i - k] for k in range(i + 1, min(len(a), given + i + 1))),
            0.0 * x[..., 0],
        )
        for i in range(len(a) - 1)
    ]
    y, _ = lfilter_op(one, a, rest, xp.stack(state, axis=-1))
    return xp.concat([start, y], axis=-1)


lfilter_op = library_op(
    "scipy.signal.lfilter", lfilter_forward, joint=lfilter_joint, outputs=("y", "zf")
)


@hooks("scipy.signal._signaltools", "lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    b, a, x = np.atleast_1d(asarray(b)), np.atleast_1d(asarray(a)), asarray(x)
    if b.ndim != 1 or a.ndim != 1 or not b.shape[0] * a.shape[0] * x.ndim:
        raise ValueError(
            f"lfilter takes non-empty 1d arrays b and a, and x of 1 dimension or more, got shapes "
            f"{b.shape}, {a.shape} and {x.shape}"
        )
    order = max(b.shape[0], a.shape[0]) - 1
    shape = resized(x.shape, axis, order)
    if zi is None:
        dtype = arraytape.result_type(b, a, x)
        start = arraytape.zeros(shape, dtype=dtype, device=x.device)
    else:
        start = asarray(zi)
        if start.ndim != x.ndim or start.shape[axis] != order:
            raise ValueError(
                f"lfilter takes a zi that broadcasts to the shape {shape} in the axes of the other "
                f"signals alone, got {start.shape}"
            )
        start = arraytape.broadcast_to(start, shape)
    y, state = lfilter_op(b, a, x, start, axis)
    return y if zi is None else (y, state)


# SciPy divides by a[0] where it is not 1; where it is, the filter moves with it all the same.
@hooks("scipy.signal._signaltools", "lfilter_zi")
def lfilter_zi(b: Any, a: Any) -> Any:
    b, a = np.atleast_1d(asarray(b)), np.atleast_1d(asarray(a))
    if b.ndim == a.ndim == 1:
        first = int(np.argmax(plain(a) != 0)) if a.shape[0] else 0
        a = a[first:]
        if a.dtype.kind in "fc" and a.shape[0] and plain(a[0]) == 1:
            b, a = b / a[0], a / a[0]
    return original_of(_signaltools.lfilter_zi)(b, a)


@hooks("scipy.signal._signaltools", "lfiltic")
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    found = original_of(_signaltools.lfiltic)(b, a, y, x)
    lead = np.ravel(asarray(a))[0]
    return found / lead if plain(lead) == 1 else found


# --- sections of second order ------------------------------------------------------------------------
def sosfilt_forward(sos: Array, x: Array, zi: Array, axis: Any = -1) -> Any:
    return scipy.signal.sosfilt(sos.copy(), x, axis, zi)  # it takes no read-only memory


def sosfilt_joint(g: Any, sos: Any, x: Any, zi: Any, axis: int, xp: Any) -> tuple[Any, ...]:
    """Section by section, from the last to the first; SciPy takes an a[0] of 1 alone, but the
    mathematical function goes on beside it, as that of lfilter does.
    """
    of_state = axis % len(x.shape) + 1
    g_y, g_z = whole_part(g[0], x, axis, xp), whole_part(g[1], zi, of_state, xp)
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
    return Later(to_sos), xp.moveaxis(g_y, -1, axis), by_zi


sosfilt_op = library_op(
    "scipy.signal.sosfilt", sosfilt_forward, joint=sosfilt_joint, outputs=("y", "zf")
)


@hooks("scipy.signal._signaltools", "sosfilt")
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    sos, x = asarray(sos), asarray(x)
    if zi is None:
        shape = (sos.shape[0], *resized(x.shape, axis, 2))
        start = arraytape.zeros(shape, dtype=arraytape.result_type(sos, x), device=x.device)
    else:
        start = asarray(zi)
    y, state = sosfilt_op(sos, x, start, axis)
    return y if zi is None else (y, state)


# --- correlations ------------------------------------------------------------------------------------
# c[j] = sum of x1[j - (m - 1) + k] * conj(x2[k]), from where they first meet to where they last do;
# SciPy's C functions give a part of c.
VALID, SAME, FULL = range(3)


def whole(g: Any, sizes1: Any, sizes2: Any, part: int, half: Function, xp: Any) -> Any:
    """A cotangent of a part as one of all of c."""
    pairs = [*zip(sizes1, sizes2, strict=True)]
    first = [{FULL: 0, SAME: half(m), VALID: m - 1}[part] for _, m in pairs]
    return xp.scatter_add(g, tuple([n + m - 1 for n, m in pairs]), window(first, g.shape))


def correlate_forward(x1: Array, x2: Array, part: Any = VALID, sizes: Any = None) -> Any:
    if sizes is None:
        sizes = [n - m + 1 for n, m in zip(x1.shape, x2.shape, strict=True)]
    return real_sigtools()._correlateND(x1, x2, np.empty(sizes, x1.dtype), part)


def correlate_whole(g: Any, sizes1: Any, sizes2: Any, part: int, xp: Any) -> Any:
    return whole(g, sizes1, sizes2, part, lambda m: (m - 1) // 2, xp)


def reverse(x: Any, xp: Any) -> Any:
    """Reversed along all axes, and conjugated."""
    return conjugate(xp.flip(x), xp)


def correlated(x1: Any, x2: Any, xp: Any) -> Any:
    """Where x2 lies within x1, of one dtype."""
    dtype = xp.result_type(x1, x2)
    return correlate_op(xp.astype(x1, dtype, copy=False), xp.astype(x2, dtype, copy=False))


correlate_op = library_op(
    "scipy.signal.correlate", correlate_forward,
    lambda g, x2, shape, part, xp: correlated(
        correlate_whole(g, shape, x2.shape, part, xp), reverse(x2, xp), xp
    ),
    lambda g, x1, shape, part, xp: reverse(
        correlated(correlate_whole(g, x1.shape, shape, part, xp), x1, xp), xp
    ),
)  # fmt: skip


def real_sigtools() -> Any:
    """SciPy's extension, whatever stands in for it in a module."""
    from scipy.signal import _sigtools

    return _sigtools


# In a plane, also with lines that are continued, and without the conjugate.
BOUNDARIES = {0: "constant", 4: "reflect", 8: "wrap"}  # SciPy's codes


def plane_forward(
    x1: Array, x2: Array, flips: Any = 1, part: Any = FULL, boundary: Any = 0, fill: Any = 0
) -> Any:
    return real_sigtools()._convolve2d(x1, x2, flips, part, boundary, fill)


def plane_whole(g: Any, sizes1: Any, sizes2: Any, flips: int, part: int, xp: Any) -> Any:
    return whole(g, sizes1, sizes2, part, lambda m: (m - flips) // 2, xp)


def plane_first(g: Any, x2: Any, shape: Any, flips: int, part: int, boundary: int, xp: Any) -> Any:
    sizes, mode = x2.shape, BOUNDARIES[boundary]
    if not math.prod(shape) * math.prod(sizes):
        return xp.zeros(shape, dtype=g.dtype)
    wide = plane_whole(g, shape, sizes, flips, part, xp)
    full = [n + 2 * (m - 1) for n, m in zip(wide.shape, sizes, strict=True)]
    wide = xp.scatter_add(wide, tuple(full), window([m - 1 for m in sizes], wide.shape))
    back = correlated(wide, x2 if flips else xp.flip(x2), xp)
    for axis, (n, m) in enumerate(zip(shape, sizes, strict=True)):
        back = folded(back, axis, n, mode, m - 1, xp)
    return back


def plane_second(
    g: Any, x1: Any, shape: Any, flips: int, part: int, boundary: int, fill: Any, xp: Any
) -> Any:
    if not math.prod(x1.shape) * math.prod(shape):
        return xp.zeros(shape, dtype=g.dtype)
    wide = plane_whole(g, x1.shape, shape, flips, part, xp)
    for axis, m in enumerate(shape):
        x1 = extended(x1, axis, BOUNDARIES[boundary], m - 1, m - 1, fill, xp)
    back = conjugate(correlated(x1, wide, xp), xp)
    return xp.flip(back) if flips else back


plane_op = library_op("scipy.signal.convolve2d", plane_forward, plane_first, plane_second)


def of_one_dtype(*arrays: Any) -> list[Any]:
    """Return Arrays in the dtype that SciPy computes with: what fills up integers may be no integer."""
    given = [asarray(x) for x in arrays]
    dtype = arraytape.result_type(*given)
    return [arraytape.astype(x, dtype, copy=False) for x in given]


def median2d(image: Any, kernel_size: Any) -> Any:
    """As SciPy itself computes it of other dtypes."""
    return _signaltools.medfilt(image, kernel_size)


stands_in(
    "scipy.signal._signaltools", "_sigtools",
    _correlateND=lambda x1, x2, out, part: correlate_op(asarray(x1), asarray(x2), part, out.shape),
    _convolve2d=lambda x1, x2, *how: plane_op(*of_one_dtype(x1, x2), *how),
    _medfilt2d=median2d,
)  # fmt: skip


@hooks("scipy.signal._signaltools", "choose_conv_method")
def choose_conv_method(in1: Any, in2: Any, mode: Any = "full", measure: Any = False) -> Any:
    """By what values do not tell, but for integers, which have no slope."""
    return original_of(scipy.signal._signaltools.choose_conv_method)(
        *[without_values(x) for x in (in1, in2)], mode, measure
    )


def without_values(x: Any) -> Any:
    """NumPy data in the place of an Array: zeros for floats, integers as they are."""
    x = asarray(x)
    return np.zeros(x.shape, x.dtype) if x.dtype.kind in "fc" else plain(x)


# --- what SciPy's Python code does otherwise with other namespaces -----------------------------------
@hooks("scipy.signal._polyutils", "_lstsq")
def lstsq(a: Any, b: Any, xp: Any = None, rcond: Any = None) -> Any:
    a, b = asarray(a), asarray(b)
    cond = np.finfo(a.dtype).eps * max(a.shape) if rcond is None else rcond
    return scipy.linalg.lstsq(a, b, cond=cond)


@hooks("scipy.signal._spectral_py", "_fft_helper")
def fft_helper(
    x: Any, win: Any, detrend_func: Any, nperseg: Any, noverlap: Any, nfft: Any, sides: Any
) -> Any:
    """Transforms of windows, as SciPy's own, which asks for a view that can be written to."""
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
def upfirdn_forward(
    h: Array, x: Array, up: Any = 1, down: Any = 1, axis: Any = -1, mode: Any = "constant",
    cval: Any = 0,
) -> Any:  # fmt: skip
    return scipy.signal.upfirdn(h, x, up, down, axis, mode, cval)


def upfirdn_filter(
    g: Any, h: Any, x: Any, shape: Any, up: int, down: int, axis: int, mode: str, cval: Any, xp: Any
) -> Any:
    """y[i] = sum of h[i * down - n * up] x[n], where x goes on as one value."""
    if mode != "constant" or np.any(cval != 0):
        raise no_rule(
            "scipy.signal.upfirdn", f"mode={short_repr(mode)} by the filter h as an Array"
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
    g: Any, h: Any, shape: Any, up: int, down: int, axis: int, mode: str, xp: Any
) -> Any:
    axis, length = axis % len(shape), shape[axis]
    if mode != "constant":  # the transposed matrix
        lines = xp.eye(length, dtype=g.dtype, device=g.device)
        whole = conjugate(upfirdn_op(h, lines, up, down, 0, mode), xp)
        return xp.moveaxis(xp.tensordot(g, whole, axes=((axis,), (0,))), -1, axis)
    # x[n] meets g[i] by h[i * down - n * up]: the reversed filter has that at len(h) - 1 + n * up.
    back = upfirdn_op(reverse(h, xp), g, down, 1, axis)
    lines = (slice(None),) * axis
    back = back[(*lines, slice(h.shape[0] - 1, None, up))][(*lines, slice(0, length))]
    return fitted(back, resized(back.shape, axis, length), axis, xp)


upfirdn_op = library_op("scipy.signal.upfirdn", upfirdn_forward, upfirdn_filter, upfirdn_signal)


@hooks("scipy.signal._upfirdn", "upfirdn")
def upfirdn(
    h: Any,
    x: Any,
    up: Any = 1,
    down: Any = 1,
    axis: Any = -1,
    mode: Any = "constant",
    cval: Any = 0,
) -> Any:
    return upfirdn_op(asarray(h), asarray(x), up, down, axis, mode, cval)
