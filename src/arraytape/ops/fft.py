"""The fft extension: discrete Fourier transforms and their gradients.

The adjoint of a transform is the inverse transform with the normalisation that SWAPPED gives: 'forward'
in place of 'backward', and the reverse.  If the argument n cropped x, the elements that were cut off get
the gradient 0.  If n padded x with zeros, the gradient of the zeros is cut off.

>>> import arraytape as xp
>>> print(xp.fft.rfft(xp.asarray([1.0, 0.0, -1.0, 0.0])))
[0.+0.j 2.+0.j 0.+0.j]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._array.array import Array
from .._define.words import composite, linear, sample
from .._util.array_types import Namespace, RawArray
from .._util.errors import missing_from, short_repr, user_line
from .creation_functions import create_array
from .data_type_functions import astype
from .elementwise_functions import conj
from .manipulation_functions import normalize_axis_index, roll

if TYPE_CHECKING:
    import numpy.typing as npt

    from .data_type_functions import Device, DType


Norm = Literal["backward", "ortho", "forward"]
SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def check_norm(op: str, norm: str) -> None:
    """Raise ValueError for a normalisation that the standard does not define."""
    if norm not in SWAPPED:
        raise ValueError(
            f"fft.{op}: norm must be 'backward', 'ortho' or 'forward', got {short_repr(norm)} "
            f"[at {user_line()}]"
        )


def crop_or_pad(g: RawArray, shape: tuple[int, ...], axis: int, xp: Namespace) -> Any:
    """Return g, cropped or padded with zeros along an axis to the length in ``shape``.

    So the cotangent of a transform gets the length of the transform's input, whose shape is ``shape``.
    """
    at = axis % len(shape)
    length, missing = g.shape[at], shape[at] - g.shape[at]
    if missing > 0:
        shape = (*g.shape[:at], missing, *g.shape[at + 1 :])
        zeros = xp.zeros(shape, dtype=g.dtype, device=g.device)
        return xp.concat([g, zeros], axis=at)
    return g if not missing else g[(*(slice(None),) * at, slice(0, length + missing))]


def _fft_vjp(g: RawArray, shape: tuple[int, ...], axis: int, norm: str, xp: Namespace) -> Any:
    """Return the inverse transform of g with the opposite ``norm`` ('forward' for 'backward'),
    cropped or padded to the length of x.

    It is the cotangent of x for the cotangent g of fft(x).  shape : the shape of x.
    """
    return crop_or_pad(xp.fft.ifft(g, axis=axis, norm=SWAPPED[norm]), shape, axis, xp)


def _ifft_vjp(g: RawArray, shape: tuple[int, ...], axis: int, norm: str, xp: Namespace) -> Any:
    """Return the transform of g with the opposite ``norm`` ('forward' for 'backward'), cropped or
    padded to the length of x.

    It is the cotangent of x for the cotangent g of ifft(x).  shape : the shape of x.
    """
    return crop_or_pad(xp.fft.fft(g, axis=axis, norm=SWAPPED[norm]), shape, axis, xp)


def _rfft_vjp(
    g: RawArray, shape: tuple[int, ...], n: int | None, axis: int, norm: str, xp: Namespace
) -> Any:
    """Return the real part of the inverse transform of g with the opposite ``norm`` ('forward' for
    'backward'), cropped or padded to the length of x.

    It is the cotangent of x for the cotangent g of rfft(x).  shape : the shape of x.
    """
    length = shape[axis] if n is None else n
    at = axis % len(shape)
    whole = (*g.shape[:at], length, *g.shape[at + 1 :])
    back = xp.fft.ifft(crop_or_pad(g, whole, axis, xp), axis=axis, norm=SWAPPED[norm])
    return crop_or_pad(xp.real(back), shape, axis, xp)


def _irfft_vjp(
    g: RawArray, shape: tuple[int, ...], dtype: npt.DTypeLike, axis: int, norm: str, xp: Namespace
) -> Any:
    """Return the transform of g with the opposite ``norm`` ('forward' for 'backward'), cropped or padded
    to the length of x.  Coefficients that stand for a frequency and its negative count twice.

    It is the cotangent of x for the cotangent g of irfft(x).  shape : the shape of x.  dtype : its
    dtype.
    """
    # All frequencies count twice but 0 and, for an even length, the last one.
    back = xp.fft.rfft(g, axis=axis, norm=SWAPPED[norm])
    bins, length = back.shape[axis], g.shape[axis]
    twice = np.full(bins, 2.0)
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    spread = [1] * len(shape)
    spread[axis] = bins
    scale = xp.astype(xp.asarray(twice.reshape(spread), device=g.device), xp.real(back).dtype)
    back = crop_or_pad(back * scale, shape, axis, xp)
    return back if xp.isdtype(dtype, "complex floating") else xp.real(back)


ALONG_AXIS: Any = {
    "selects": False,
    "samples": (
        sample((5,)),
        sample((2, 6), norm="ortho"),
        sample((4, 3), axis=0, n=6, norm="forward"),
        sample((5,), n=3),
    ),
    "signature": "(AXIS)->(AXIS)",
}


@linear(transpose=_fft_vjp, **ALONG_AXIS, takes="floating")
def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform along an axis.

    Returns
    -------
    Array
        Of the shape of x, or of length n along the axis, and of complex dtype.
    """


@linear(transpose=_ifft_vjp, **ALONG_AXIS, takes="floating")
def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse discrete Fourier transform along an axis.

    Returns
    -------
    Array
        Of the shape of x, or of length n along the axis, and of complex dtype.
    """


@linear(transpose=_rfft_vjp, **ALONG_AXIS, takes="real floating")
def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of real data along an axis, without negative frequencies.

    Returns
    -------
    Array
        Of the shape of x, but of length n // 2 + 1 along the axis, and of complex dtype.
    """


@linear(transpose=_irfft_vjp, **ALONG_AXIS, takes="floating")
def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of rfft: real data from its non-negative frequencies.

    Parameters
    ----------
    n
        The length of the result along the axis; None: 2 * (m - 1), where x has length m.

    Returns
    -------
    Array
        Of the shape of x, but of length n along the axis, and of real dtype.
    """


@composite(takes="floating")
def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the real discrete Fourier transform of Hermitian data, given its non-negative half.

    Parameters
    ----------
    n
        The length of the result along the axis; None: 2 * (m - 1), where x has length m.

    Returns
    -------
    Array
        Of the shape of x, but of length n along the axis, and of real dtype.
    """
    check_norm("hfft", norm)
    return irfft(conj(x), n=n, axis=axis, norm=SWAPPED[norm])  # type: ignore[arg-type]


@composite(takes="real floating")
def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of hfft: the non-negative half of Hermitian data from its real transform.

    Returns
    -------
    Array
        Of the shape of x, but of length n // 2 + 1 along the axis, and of complex dtype.
    """
    check_norm("ihfft", norm)
    return conj(rfft(x, n=n, axis=axis, norm=SWAPPED[norm]))  # type: ignore[arg-type]


def lengths_and_axes(
    op: str, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None
) -> list[tuple[int | None, int]]:
    """Return a pair (length, axis) for each of the transforms that an op such as ``fftn`` consists of.

    A length of None leaves the length of x.  s, axes : the arguments of the op named ``op``.
    """
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes):
        raise ValueError(f"fft.{op}: s {s} and axes {axes} differ in length [at {user_line()}]")
    for axis in axes:  # before the transforms, which may raise other errors
        normalize_axis_index(f"fft.{op}", x, axis)
    return list(zip(lengths, axes, strict=True))


@composite(takes="floating")
def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Compute the discrete Fourier transform along several axes (all by default).

    Returns
    -------
    Array
        Of the shape of x, or of the lengths s along the axes, and of complex dtype.
    """
    for n, axis in reversed(lengths_and_axes("fftn", x, s, axes)):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


@composite(takes="floating")
def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Compute the inverse discrete Fourier transform along several axes (all by default).

    Returns
    -------
    Array
        Of the shape of x, or of the lengths s along the axes, and of complex dtype.
    """
    for n, axis in reversed(lengths_and_axes("ifftn", x, s, axes)):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return x


@composite(takes="real floating")
def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Compute the discrete Fourier transform of real data along several axes (all by default).

    Along the last of these axes the result has only the non-negative frequencies.

    Returns
    -------
    Array
        Of the lengths s along the axes, but s // 2 + 1 along the last one; of complex dtype.
    """
    *others, (n, axis) = lengths_and_axes("rfftn", x, s, axes)
    lengths = x.shape  # as in NumPy, the lengths before rfft, also for an axis that is repeated
    x = rfft(x, n=n, axis=axis, norm=norm)
    for n, axis in reversed(others):
        x = fft(x, n=lengths[axis] if n is None else n, axis=axis, norm=norm)
    return x


@composite(takes="floating")
def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Compute the inverse of rfftn: real data from its non-negative frequencies along several axes.

    Parameters
    ----------
    s
        The lengths of the result along the axes; None: the lengths of x, but 2 * (m - 1) along the
        last axis, where x has length m.

    Returns
    -------
    Array
        Of the lengths s along the axes, and of real dtype.
    """
    *others, (last, last_axis) = lengths_and_axes("irfftn", x, s, axes)
    for n, axis in others:
        x = ifft(x, n=n, axis=axis, norm=norm)
    return irfft(x, n=last, axis=last_axis, norm=norm)


def _roll_by_half(op: str, x: Array, axes: int | Sequence[int] | None, forward: bool) -> Array:
    """Roll x along each axis by half of its length: up if ``forward``, else down."""
    if axes is None:
        axes = range(x.ndim)
    given = axes if isinstance(axes, Sequence) else (axes,)
    at = [normalize_axis_index(op, x, axis) for axis in given]
    half = [x.shape[a] // 2 for a in at]
    return roll(x, tuple(half if forward else [-n for n in half]), axis=tuple(at))


@composite(takes="any", gives=("x", "x"))
def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency from the start of each axis to the middle.

    Parameters
    ----------
    axes
        The axis or axes to shift; None: all axes.
    """
    return _roll_by_half("fftshift", x, axes, True)


@composite(takes="any", gives=("x", "x"))
def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency from the middle of each axis to the start: the inverse of fftshift.

    Parameters
    ----------
    axes
        The axis or axes to shift; None: all axes.
    """
    return _roll_by_half("ifftshift", x, axes, False)


@composite(creates=True)
def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType = None, device: Device = None) -> Array:
    """Return the frequencies of fft in its order: 0, positive and negative frequencies.

    Parameters
    ----------
    n
        The length of the transform.
    d
        The distance between samples.

    Returns
    -------
    Array
        With n elements, in cycles per unit of d.  Its dtype is ``dtype`` if given, else float64.

    Raises
    ------
    ValueError
        When n is not an integer, or negative.
    ZeroDivisionError
        When n or d is 0.
    """
    return frequencies_of("fftfreq", n, d, dtype, device)


@composite(creates=True)
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType = None, device: Device = None) -> Array:
    """Return the frequencies of rfft: 0 and the positive frequencies.

    Parameters
    ----------
    n
        The length of the transform.
    d
        The distance between samples.

    Returns
    -------
    Array
        With n // 2 + 1 elements, in cycles per unit of d.  Its dtype is ``dtype`` if given, else
        float64.

    Raises
    ------
    ValueError
        When n is not an integer.
    ZeroDivisionError
        When n or d is 0.
    """
    return frequencies_of("rfftfreq", n, d, dtype, device)


def frequencies_of(name: str, n: int, d: float, dtype: DType, device: Device) -> Array:
    """Return the result of the function ``name``, "fftfreq" or "rfftfreq"."""
    frequencies = create_array(f"fft.{name}", n, d=d, device=device)
    return frequencies if dtype is None else astype(frequencies, dtype, copy=False)


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the names of ``__all__``, without further names of ``numpy.fft``."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would accept any name of the module
    __getattr__ = missing_from(__name__, "fft", "fft")
