"""Record the transforms of scipy.fft: SciPy computes the values, and a rule computes the adjoint.

SciPy's compiled transforms cannot run on Arrays.  The adjoint of each transform is another transform.
SciPy passes a call to the function of the same name in ``_basic_backend`` or
``_realtransforms_backend``, unless the user chose a backend.  The hooks are on these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft

from .._array.array import Array
from .._storage.storage import conjugate
from .._util.array_types import Namespace, RawArray
from ..ops.fft import SWAPPED, crop_or_pad
from ._borders import with_length
from ._ops import LibraryOp, library_op
from ._plain import Shape
from ._statements import hooks

try:
    from scipy.fft._duccfft.helper import _init_nd_shape_and_axes as lengths_and_axes
except ImportError:  # before SciPy 1.18
    from scipy.fft._pocketfft.helper import _init_nd_shape_and_axes as lengths_and_axes

Axes = tuple[int, ...]
Function = Callable[..., Any]


# --- discrete Fourier transforms ---------------------------------------------------------------------
def fourier_adjoint(
    g: RawArray, function: str, lengths: Axes, axes: Axes, norm: str, shape: Shape,
    dtype: np.dtype[Any], xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of a Fourier transform's input: g, transformed in the opposite direction.

    function : the name of the transform, such as "fftn".  lengths, axes, norm : its options.  shape,
    dtype : those of the input.
    """
    back = ADJOINTS[function](g, lengths, axes, SWAPPED[norm], xp)
    back = fit_all_axes(back, shape, axes, xp)
    return back if xp.isdtype(dtype, "complex floating") else xp.real(back)


def pull_rfftn(g: RawArray, lengths: Axes, axes: Axes, norm: str, xp: Namespace) -> Any:
    """Return the cotangent of the input of ``rfftn``, given that of its result, g.

    It is ifftn of g, with 0 for the frequencies that rfftn leaves out.  lengths, axes, norm : options of
    rfftn.
    """
    g = crop_or_pad(g, with_length(g.shape, axes[-1], lengths[-1]), axes[-1], xp)
    return xp.real(fourier(g, function="ifftn", lengths=lengths, axes=axes, norm=norm))


def pull_irfftn(g: RawArray, lengths: Axes, axes: Axes, norm: str, xp: Namespace) -> Any:
    """Return the cotangent of the input of ``irfftn``, given that of its result, g.

    It is rfftn of g, with most frequencies multiplied by 2.  lengths, axes, norm : options of irfftn.

    The factor is 1 at frequency 0 and, if the length is even, at the last frequency.
    """
    back = fourier(g, function="rfftn", lengths=lengths, axes=axes, norm=norm)
    ends = (0, -1) if lengths[-1] % 2 == 0 else (0,)
    return back * axis_factor(2.0, dict.fromkeys(ends, 1.0), axes[-1], back, xp)


ADJOINTS: dict[str, Any] = {
    "fftn": lambda g, *how: fourier(g, "ifftn", *how[:-1]),
    "ifftn": lambda g, *how: fourier(g, "fftn", *how[:-1]),
    "rfftn": pull_rfftn,
    "irfftn": pull_irfftn,
    # hfftn is irfftn of the conjugate, and ihfftn is the conjugate of rfftn, each with the
    # normalisation of the opposite direction.
    "hfftn": lambda g, n, axes, norm, xp: conjugate(pull_irfftn(g, n, axes, SWAPPED[norm], xp), xp),
    "ihfftn": lambda g, n, axes, norm, xp: pull_rfftn(conjugate(g, xp), n, axes, SWAPPED[norm], xp),
}


fourier: LibraryOp = library_op(
    "scipy.fft.fftn",
    lambda x, function="fftn", lengths=(), axes=(-1,), norm="backward", workers=None: (
        getattr(scipy.fft, function)(x, s=lengths, axes=axes, norm=norm, workers=workers)
    ),
    fourier_adjoint, word="linear", cores=(0,),
)  # fmt: skip


def fit_all_axes(y: RawArray, shape: Shape, axes: Axes, xp: Namespace) -> Any:
    """Cut y, or pad y with zeros, along each of the axes to the lengths in ``shape``."""
    for axis in axes:
        y = crop_or_pad(y, with_length(y.shape, axis, shape[axis]), axis, xp)
    return y


def axis_factor(
    value: float, others: dict[int, float], axis: int, y: RawArray, xp: Namespace
) -> Any:
    """Return a factor that varies along one axis of y: ``value``, but ``others[i]`` at index i."""
    values = np.full(y.shape[axis], value)
    for place, other in others.items():
        values[place] = other
    made = xp.asarray(values, dtype=xp.real(y).dtype, device=y.device)
    return xp.reshape(made, with_length((1,) * len(y.shape), axis, len(values)))


def resolve_lengths(
    x: Array, s: int | Sequence[int] | None, axes: int | Sequence[int] | None
) -> tuple[Axes, Axes]:
    """Return the lengths of a transform, and its axes as negative numbers, from SciPy's arguments."""
    lengths, at = lengths_and_axes(x, s, axes)
    return tuple(lengths), tuple([axis - x.ndim for axis in at])


def as_tuple_of_one(n: int | None) -> tuple[int] | None:
    return None if n is None else (n,)


def transform_fourier(
    function: str, x: Array, s: int | Sequence[int] | None, axes: int | Sequence[int] | None,
    norm: str | None, workers: int | None, plan: object | None,
) -> Any:  # fmt: skip
    if plan is not None:
        raise NotImplementedError(
            "Passing a precomputed plan is not yet supported by scipy.fft functions"
        )
    lengths, at = resolve_lengths(x, s, axes)
    if s is None and function in ("irfftn", "hfftn"):
        lengths = (*lengths[:-1], 2 * (lengths[-1] - 1))
    return fourier(x, function, lengths, at, norm or "backward", workers)


def state_transform(name: str) -> None:
    """Make a Fourier transform of scipy.fft run on Arrays, for one axis and for several.

    name : the function for one axis, such as "fft"; that for several is "fftn".
    """

    @hooks("scipy.fft._basic_backend", name)
    def transform_one_axis(
        x: Array, n: int | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, plan: object | None = None,
    ) -> Any:  # fmt: skip
        return transform_fourier(f"{name}n", x, as_tuple_of_one(n), axis, norm, workers, plan)

    @hooks("scipy.fft._basic_backend", f"{name}n")
    def transform_axes(
        x: Array, s: int | Sequence[int] | None = None, axes: int | Sequence[int] | None = None,
        norm: str | None = None, overwrite_x: bool = False, workers: int | None = None, *,
        plan: object | None = None,
    ) -> Any:  # fmt: skip
        return transform_fourier(f"{name}n", x, s, axes, norm, workers, plan)


for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    state_transform(name)  # SciPy's fft2 and the like call these


# --- cosine and sine transforms ----------------------------------------------------------------------
# As matrices, types 2 and 3 are transposes of each other, and types 1 and 4 are symmetric, except for
# factors of 2 at the indices in ENDS.  Orthogonalised transforms have no such factors.  ENDS has the key
# ("c" for cosine or "s" for sine, type).  Source: the definitions in scipy.fft.dct and scipy.fft.dst.
TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}
ENDS: dict[tuple[str, int], tuple[int, ...]] = {
    ("c", 1): (0, -1), ("c", 2): (0,), ("c", 3): (0,), ("s", 2): (-1,), ("s", 3): (-1,),
}  # fmt: skip


def real_adjoint(
    g: RawArray, function: str, variant: int, lengths: Axes, axes: Axes, norm: str | None,
    orthogonalize: bool | None, shape: Shape, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the input of a cosine or sine transform, given that of its result, g.

    It is the transposed matrix of the transform times g.  That is again a transform, with factors 2 or
    1/2 at a few indices.

    function : "dct" or a similar name.
    lengths, axes, norm, orthogonalize : its options.  variant : the type of the transform, 1 to 4.
    shape : that of the input.
    """
    forward = TRANSPOSED[variant] if function.startswith("i") else variant
    # SciPy ignores orthogonalize for complex data.
    if orthogonalize is None or xp.isdtype(g.dtype, "complex floating"):
        orthogonalize = norm == "ortho"
    ends = () if orthogonalize else ENDS.get((function[-3], forward), ())
    if forward in (1, 2):
        g = scale_ends(g, 2.0, ends, axes, xp)
    back = real(g, function, TRANSPOSED[variant], lengths, axes, norm, orthogonalize)
    if forward in (1, 3):
        back = scale_ends(back, 0.5, ends, axes, xp)
    return fit_all_axes(back, shape, axes, xp)


def scale_ends(y: RawArray, factor: float, ends: Sequence[int], axes: Axes, xp: Namespace) -> Any:
    for axis in axes if ends else ():
        y = y * axis_factor(1.0, dict.fromkeys(ends, factor), axis, y, xp)
    return y


real = library_op(
    "scipy.fft.dctn",
    lambda x, function="dctn", variant=2, lengths=(), axes=(-1,), norm=None, orthogonalize=None,
    workers=None: getattr(scipy.fft, function)(
        x, variant, lengths, axes, norm, workers=workers, orthogonalize=orthogonalize
    ),
    real_adjoint, word="linear", cores=(0,),
)  # fmt: skip


def state_real_transform(name: str) -> None:
    """Make a cosine or sine transform of scipy.fft run on Arrays, for one axis and for several.

    name : the function for one axis, such as "dct"; that for several is "dctn".
    """

    @hooks("scipy.fft._realtransforms_backend", name)
    def real_one_axis(
        x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
    ) -> Any:  # fmt: skip
        return real_axes(
            x, type, as_tuple_of_one(n), axis, norm, overwrite_x, workers, orthogonalize
        )

    @hooks("scipy.fft._realtransforms_backend", f"{name}n")
    def real_axes(
        x: Array, type: int = 2, s: int | Sequence[int] | None = None,
        axes: int | Sequence[int] | None = None, norm: str | None = None, overwrite_x: bool = False,
        workers: int | None = None, orthogonalize: bool | None = None,
    ) -> Any:  # fmt: skip
        lengths, at = resolve_lengths(x, s, axes)
        return real(x, f"{name}n", type, lengths, at, norm, orthogonalize, workers)


for name in ("dct", "idct", "dst", "idst"):
    state_real_transform(name)
