"""The storage of CuPy's arrays; CuPy is imported when a CUDA device or CuPy's data is first used.

Devices are called "cuda:0", "cuda:1"...; "cuda" and CuPy's own Device objects are accepted too.
In two respects CuPy differs from NumPy: an index out of range wraps around, and a singular matrix gives
undefined values.  ``diagnose.check_indices()`` finds the former.  ``cupyx.errstate(linalg="raise")``
makes CuPy raise LinAlgError for the latter.
"""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.array_types import Index, RawArray, RawOperand
from .._util.blocks import Quiet
from . import standard
from .captured_products import CapturedProducts
from .correlations import Geometry, Sizes
from .cupy_correlations import correlate_windows
from .cupy_kernels import MOST_COUNTED, MOST_TIES, CuPyKernels
from .special import CuPySpecial, Special
from .standard import Axis, Standard, normalize_axis_tuple
from .storage import CHECKED_INDICES, HERE, MAKING, ON_DEMAND, Storage

if TYPE_CHECKING:
    import numpy.typing as npt

EigResult = namedtuple("EigResult", ["eigenvalues", "eigenvectors"])


SINCE_14 = ("linalg.eig", "linalg.eigvals")  # not in CuPy 13


def is_real_operand(x: RawArray) -> bool:
    """Return True if data or a Python scalar is real floating point."""
    return x.dtype.kind == "f" if hasattr(x, "dtype") else isinstance(x, float)


def check_key(cupy: ModuleType, key: Index, shape: Sequence[int]) -> None:
    """Raise IndexError if an index array in a key is out of range, for which CuPy has no error.

    Copy the least and the greatest index to the host, and so wait for the device.
    """
    parts = key if type(key) is tuple else (key,)
    axis, left = 0, len(shape) - sum(map(axes_of_part, parts))
    for part in parts:
        if getattr(part, "size", 0) and part.dtype.kind in "iu":
            least, greatest = (int(end(part)) for end in (cupy.min, cupy.max))
            if least < -shape[axis] or greatest >= shape[axis]:
                wrong = greatest if greatest >= shape[axis] else least
                raise IndexError(
                    f"index {wrong} is out of bounds for axis {axis} with size {shape[axis]}"
                )
        axis += left if part is Ellipsis else axes_of_part(part)


def axes_of_part(part: Any) -> int:
    """Return the number of axes that a part of a key selects from; 0 for an Ellipsis."""
    if part is None or part is Ellipsis:
        return 0
    mask = getattr(part, "dtype", None) == np.bool_
    return int(part.ndim) if mask else 1


def with_namespace(function: Callable[..., Any], xp: ModuleType) -> Callable[..., Any]:
    """Return ``function`` without its last parameter, which is always ``xp``."""

    @functools.wraps(function)
    def call_within(*operands: Any) -> Any:
        return function(*operands, xp)

    return call_within


def tied_terms(x: Any, top: Any) -> Any:
    """Return 1 in x's dtype where x equals ``top``, and 0 elsewhere, for a fused kernel."""
    return (x == top).astype(x.dtype)


class CuPyNamespace(Standard):
    """The raw namespace of CuPy's arrays: array-api-compat's, with corrections for CuPy 13 and 14.

    CuPy ignores ``device=``; ``CuPyStorage.create`` makes the device the current one, which CuPy uses.
    """

    def __init__(self, base: ModuleType, cupy: ModuleType) -> None:
        super().__init__(base)
        self.cupy, self.kernels = cupy, CuPyKernels(cupy)
        self.linalg = CuPyLinalg(base.linalg, cupy, self.kernels)
        self.captured_products = CapturedProducts(cupy)
        self.fft = CuPyFFT(base.fft)
        self.floor_quotient = self.kernels.fused(self.plain_floor_quotient)
        self.other_terms = with_namespace(standard.other_terms, cupy)
        self.log_of_terms = with_namespace(standard.log_of_terms, cupy)

    def of_special(self) -> CuPySpecial:
        return CuPySpecial(self)

    def add_at(self, x: Any, key: Index, value: Any) -> Any:
        value = self.base.astype(value, x.dtype, copy=False)
        if x.dtype.kind == "c":  # atomicAdd has no complex type: add real and imaginary parts
            self.cupy.add.at(x.real, key, value.real)
            self.cupy.add.at(x.imag, key, value.imag)
        elif x.dtype == np.int64:  # CuPy 13's add.at lacks int64; uint64 sums have the same bits
            self.cupy.add.at(x.view(np.uint64), key, value.view(np.uint64))
        else:
            self.cupy.add.at(x, key, value)
        return x

    # Functions that call cuBLAS.
    def matmul(self, x1: RawArray, x2: RawArray, /) -> Any:
        return self.of_cublas(self.base.matmul, x1, x2)

    def matmul_adjoint(self, x1: RawArray, x2: RawArray, /, first: bool, second: bool) -> Any:
        return self.of_cublas(super().matmul_adjoint, x1, x2, first, second)

    def tensordot(self, x1: RawArray, x2: RawArray, /, *, axes: Any = 2) -> Any:
        return self.of_cublas(self.base.tensordot, x1, x2, axes=axes)

    def vecdot(self, x1: RawArray, x2: RawArray, /, *, axis: int = -1) -> Any:
        return self.of_cublas(self.base.vecdot, x1, x2, axis=axis)

    def of_cublas(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the result of a function that calls cuBLAS, also while the current stream captures.

        CuPy refuses such a call in a capture with NotImplementedError.
        """
        try:
            return function(*arguments, **options)
        except NotImplementedError:
            if not self.cupy.cuda.get_current_stream().is_capturing():
                raise
            with self.captured_products:
                return function(*arguments, **options)

    def take(self, x: RawArray, indices: Any, /, *, axis: int | None = None) -> Any:
        self.check_taken(x, indices, axis)
        return super().take(x, indices, axis=axis)

    def take_along_axis(self, x: RawArray, indices: Any, /, *, axis: int = -1) -> Any:
        self.check_taken(x, indices, axis)
        return self.kernels.take_along(x, indices, axis)

    def check_taken(self, x: RawArray, indices: Any, axis: int | None) -> None:
        if CHECKED_INDICES.get() and x.shape:
            before = (slice(None),) * ((axis or 0) % x.ndim)
            check_key(self.cupy, (*before, indices), x.shape)

    def clip(
        self, x: RawArray, /, min: RawOperand | None = None, max: RawOperand | None = None
    ) -> Any:
        # Unlike array-api-compat, no mask is used as index, because CuPy would wait until the GPU has
        # counted its elements.  Where a bound is NaN, the result is NaN.
        low, high = self.bound(min, x, upper=False), self.bound(max, x, upper=True)
        if low is None and high is None:
            return self.fresh(x)
        clipped = x if low is None else self.cupy.maximum(x, low)
        return clipped if high is None else self.cupy.minimum(clipped, high)

    def real_view(self, x: Any, _: None = None, /) -> Any:
        return x.real

    def imag_view(self, x: Any, _: None = None, /) -> Any:
        return x.imag

    def diagonal_view(self, x: RawArray, offset: int, /) -> Any:
        return self.cupy.diagonal(x, offset, -2, -1)

    def windows_view(self, x: RawArray, argument: tuple[int, int], /) -> Any:
        axis, length = argument
        return self.cupy.lib.stride_tricks.sliding_window_view(x, length, axis)

    def bound(self, value: Any, x: RawArray, *, upper: bool) -> Any:
        """Return a bound of clip in x's dtype; None if there is no bound, or x's dtype implies it."""
        if value is None or hasattr(value, "dtype"):
            return None if value is None else self.base.astype(value, x.dtype, copy=False)
        if x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            if value >= info.max if upper else value <= info.min:
                return None
        with Quiet(over="ignore"):  # beyond float32: infinite
            return x.dtype.type(value)

    def count_nonzero(self, x: RawArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.cupy.sum(x != 0, axis=axis, dtype=np.int64, keepdims=keepdims)

    def isin(self, x1: RawArray, x2: RawArray, /, *, invert: bool = False) -> Any:
        x1, x2 = (x if hasattr(x, "dtype") else self.cupy.asarray(x) for x in (x1, x2))
        return self.cupy.isin(x1, x2, invert=invert)

    def remainder(self, x1: RawArray, x2: RawArray, /) -> Any:
        if not (is_real_operand(x1) or is_real_operand(x2)):
            return self.cupy.remainder(x1, x2)
        # CuPy's x1 - floor(x1 / x2) * x2 rounds twice and is NaN at infinities; fmod is exact.
        rest = self.cupy.fmod(x1, x2)
        turned = (rest != 0) & ((rest < 0) != (x2 < 0))
        rest = self.cupy.where(turned, rest + x2, rest)
        return self.cupy.where(rest == 0, self.cupy.copysign(rest, x2), rest)

    def floor_divide(self, x1: RawArray, x2: RawArray, /) -> Any:
        if not (is_real_operand(x1) or is_real_operand(x2)):
            return self.cupy.floor_divide(x1, x2)
        return self.floor_quotient(x1, x2)

    def plain_floor_quotient(self, x1: Any, x2: Any) -> Any:
        """Return the standard's floor division of floats, with NumPy's formula.

        CuPy's floor(x1 / x2) is 10 for 1.0 and 0.1, where the remainder is 0.1: the quotient is 9.
        """
        ratio, rest = x1 / x2, self.cupy.fmod(x1, x2)
        found = (x1 - rest) / x2
        found = self.cupy.where((rest != 0) & ((rest < 0) != (x2 < 0)), found - 1, found)
        floored = self.cupy.floor(found)
        found = self.cupy.where(found - floored > 0.5, floored + 1, floored)
        found = self.cupy.copysign(found, ratio)
        outside = (x2 == 0) | ((abs(x1) == math.inf) != (abs(x2) == math.inf))
        return self.cupy.where(outside, ratio, found)

    def expm1(self, x: Any, /) -> Any:
        if x.dtype.kind != "c":
            return self.cupy.expm1(x)
        # CuPy's exp(x) - 1 loses the digits of a small result, but has the standard's special values.
        near, found = (self.cupy.abs(x.real) < 1) & self.cupy.isfinite(x.imag), self.cupy.exp(x) - 1
        half = self.cupy.sin(x.imag / 2)
        part = self.cupy.expm1(x.real) * self.cupy.cos(x.imag) - 2 * half * half
        found.real[...] = self.cupy.where(near & (x != 0), part, found.real)
        return found

    def infinities(self, x: Any) -> tuple[Any, Any]:
        """Return two masks for complex x: real or imaginary part infinite, and both parts infinite."""
        first, second = self.cupy.isinf(x.real), self.cupy.isinf(x.imag)
        return first | second, first & second

    def infinite_sign(self, x: RawArray) -> Any:
        """Return 1 or -1, the sign of real x, where x is infinite, and 0 elsewhere."""
        return self.cupy.where(self.cupy.isinf(x), self.cupy.copysign(1.0, x), 0.0)

    def cofactors(self, x: Any, /) -> Any:
        # As ``standard.cofactors``, with one determinant: that of U @ Vh.
        U, S, Vh = self.linalg.svd(x)
        phase = self.linalg.det(U @ Vh)
        scaled = U * self.kernels.products_of_others(S, self.conj(phase))[..., None, :]
        return self.conj(scaled @ Vh) if x.dtype.kind == "c" else scaled @ Vh

    def log_sum_exp(self, x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
        # The steps of ``standard.log_sum_exp`` in four kernels.
        axes, top = normalize_axis_tuple(axis, x.ndim), self.max(x, axis=axis, keepdims=True)
        if not axes:
            return self.fresh(x)
        ties = self.kernels.fused(tied_terms, axes)(x, top)
        rest = self.kernels.fused(self.other_terms, axes)(x, top)
        found = self.kernels.fused(self.log_of_terms)(self.reshape(top, ties.shape), ties, rest)
        return self.reshape(found, top.shape) if keepdims else found

    def window_correlation(
        self, x1: Any, x2: Any, /, part: str, lengths: Sizes, geometry: Geometry
    ) -> Any:
        found = correlate_windows(x1, x2, part, lengths, geometry, self)
        if found is not None:
            return found
        return self.of_cublas(super().window_correlation, x1, x2, part, lengths, geometry)

    def reciprocal(self, x: Any, /) -> Any:
        found = self.cupy.reciprocal(x)
        if x.dtype.kind == "c":  # CuPy returns NaN at infinities
            far, both = self.infinities(x)
            for part, zero in ((found.real, x.real), (found.imag, -x.imag)):
                part[...] = self.cupy.where(far & ~both, self.cupy.copysign(0.0, zero), part)
        return found

    def log2(self, x: RawArray, /) -> Any:
        if x.dtype.kind != "c":
            return self.cupy.log2(x)
        found = self.cupy.log(x)
        for part in (found.real, found.imag):  # a complex product would be NaN at infinities
            part *= 1.0 / math.log(2.0)
        return found

    def searchsorted(
        self, x1: RawArray, x2: RawArray, /, *, side: str = "left", sorter: RawArray | None = None
    ) -> Any:
        x2 = x2 if hasattr(x2, "dtype") else self.cupy.asarray(x2)
        return self.cupy.searchsorted(x1, x2, side=side, sorter=sorter)

    def sign(self, x: Any, /) -> Any:
        if x.dtype.kind == "c":
            size, far, both = self.cupy.abs(x), *self.infinities(x)
            found = x / self.cupy.where(size == 0, size.dtype.type(1), size)
            limit = self.infinite_sign(x.real) + 1j * self.infinite_sign(x.imag)
            limit = self.cupy.where(both, complex(math.nan, math.nan), limit)
            return self.cupy.where(far, self.base.astype(limit, x.dtype), found)
        signs = self.cupy.sign(x)  # CuPy 13 returns 0 for NaN
        return self.cupy.where(x == x, signs, x) if x.dtype.kind == "f" else signs


LONGEST_DIAGONAL = 512  # for matrices of more rows, det and slogdet are array-api-compat's
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])


class CuPyLinalg:
    """The linalg extension for CuPy's data: array-api-compat's, with some functions replaced.

    CuPy's solve, eig and eigvals are not the standard's, and its det and slogdet launch 18 kernels.
    """

    def __init__(self, base: ModuleType, cupy: ModuleType, kernels: CuPyKernels) -> None:
        self.base, self.cupy, self.kernels = base, cupy, kernels

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def solve(self, x1: RawArray, x2: RawArray, /) -> Any:
        # CuPy does not broadcast stacks, and CuPy 13 treats every x2 of a lower rank as vectors.
        columns = x2[:, None] if x2.ndim == 1 else x2
        stack = np.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
        x1 = self.cupy.broadcast_to(x1, stack + x1.shape[-2:])
        columns = self.cupy.broadcast_to(columns, stack + columns.shape[-2:])
        y = self.cupy.linalg.solve(x1, columns)
        return y[..., 0] if x2.ndim == 1 else y

    def det(self, x: RawArray, /) -> Any:
        if not x.size or x.shape[-1] > LONGEST_DIAGONAL:
            return self.base.det(x)
        return self.kernels.determinants(x)[2]

    def slogdet(self, x: RawArray, /) -> Any:
        if not x.size or x.shape[-1] > LONGEST_DIAGONAL:
            return self.base.slogdet(x)
        sign, logabsdet, _ = self.kernels.determinants(x)
        return SlogdetResult(sign, logabsdet)

    def eig(self, x: RawArray, /) -> Any:
        values, vectors = self.general("eig", x)
        return EigResult(self.as_complex(values), self.as_complex(vectors))

    def eigvals(self, x: RawArray, /) -> Any:
        return self.as_complex(self.general("eigvals", x))

    def general(self, name: str, x: RawArray) -> Any:
        """Return the result of CuPy's eig or eigvals; raise NotImplementedError in CuPy 13.

        CuPy 13 lacks them.  name : "eig" or "eigvals".
        """
        found = getattr(self.cupy.linalg, name, None)
        if found is None:
            raise NotImplementedError(
                f"CuPy {self.cupy.__version__} has no linalg.{name}: CuPy 14 has it; or move the "
                "matrix to 'cpu' with to_device"
            )
        return found(x)

    def as_complex(self, x: RawArray) -> Any:
        """Cast the real data that CuPy's eig and eigvals return for stacks without elements."""
        return self.cupy.asarray(x, dtype=np.result_type(x.dtype, np.complex64))


class CuPyFFT:
    """The fft extension for CuPy's data: array-api-compat's, but ``rfft`` refuses complex data.

    CuPy's rfft drops the imaginary part.
    """

    def __init__(self, base: ModuleType) -> None:
        self.base = base

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def rfft(self, x: RawArray, /, **keywords: Any) -> Any:
        if x.dtype.kind == "c":
            raise TypeError(f"use fft for complex data: rfft takes real data, not {x.dtype}")
        return self.base.rfft(x, **keywords)


class Placed:
    """A wrapper of a raw namespace whose functions run on the device of their data, for several GPUs.

    CuPy alone computes on the current device, whatever device the data lies on.
    """

    def __init__(self, within: Any, storage: CuPyStorage) -> None:
        self._within, self._storage = within, storage

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._within, name)
        if isinstance(found, ModuleType | CuPyLinalg | CuPyFFT | Special):
            found = Placed(found, self._storage)
        elif callable(found) and not isinstance(found, type):
            found = placed(found, self._storage)
        setattr(self, name, found)
        return found


def placed(function: Callable[..., Any], storage: CuPyStorage) -> Callable[..., Any]:
    """Return a wrapper of a CuPy function that runs it on ``device=``, or on its arguments' device.

    CuPy alone runs it on the current device.
    """

    def call_placed(*arguments: Any, device: Any = None, **keywords: Any) -> Any:
        with storage.at(arguments, *keywords.values()) if device is None else device:
            return function(*arguments, **keywords)

    return call_placed


class CuPyStorage(Storage):
    """The storage of CuPy's arrays, on all GPUs of the machine."""

    name = "cupy"
    ordered_writes = False  # threads write in any order
    fusing = True
    dlpack_types = (2, 10, 13)  # memory of CUDA, of ROCm, and managed memory of CUDA

    def __init__(self) -> None:
        import array_api_compat.cupy as compat
        import cupy

        self.cupy = cupy
        self.kind = cupy.ndarray
        self.xp: Any = CuPyNamespace(compat, cupy)
        self.kernels = self.xp.kernels
        self.captured_products = self.xp.captured_products
        self.of_cublas = self.xp.of_cublas
        if len(self.devices()) > 1:
            self.xp = Placed(self.xp, self)
        self.ones: dict[tuple[Any, int], Any] = {}  # (dtype, number of the device) -> 0-d data of 1

    def fuses(self, x: Any) -> bool:
        return type(x) is self.kind or isinstance(x, int | float | complex | np.generic)

    def capturable(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.partial(self.of_cublas, function)

    def fused(
        self, function: Callable[..., Any], summed: tuple[int, ...] = ()
    ) -> Callable[..., Any]:
        return self.kernels.fused(function, summed)

    def counts_ties(self, x: RawArray, axes: tuple[int, ...]) -> bool:
        count = math.prod([x.shape[axis] for axis in axes])
        return count <= MOST_TIES and 0 < x.size <= MOST_COUNTED

    def tie_counts(self, x: RawArray, y: RawArray, axes: tuple[int, ...]) -> Any:
        return self.kernels.tie_counts(x, y, axes)

    def devices(self) -> tuple[Any, ...]:
        try:
            count = self.cupy.cuda.runtime.getDeviceCount()
        except self.cupy.cuda.runtime.CUDARuntimeError:  # no driver, or no GPU
            count = 0
        return tuple(f"cuda:{i}" for i in range(count))

    def device(self, data: RawArray) -> Any:
        return f"cuda:{data.device.id}"

    def on(self, device: Hashable) -> Any:
        if device is None or isinstance(device, self.cupy.cuda.Device):
            return device
        return self.cupy.cuda.Device(int(str(device).partition(":")[2] or 0))

    def takes(self, device: Hashable) -> bool:
        if isinstance(device, self.cupy.cuda.Device):
            device = f"cuda:{device.id}"
        return ("cuda:0" if device == "cuda" else device) in self.devices()

    def at(self, *data: Any) -> Any:
        home = self.home(data)
        return HERE if home is None else home  # CuPy's devices are context managers

    def home(self, data: Iterable[Any]) -> Any:
        """Return the device of the CuPy data in a list or tuple, at any depth; None if there is none.

        Raises ValueError for data on several devices.
        """
        home = None
        for part in data:
            if isinstance(part, self.kind):
                device = part.device
            elif type(part) is list or type(part) is tuple:
                device = self.home(part)
            else:
                continue
            if home is None:
                home = device
            elif device is not None and device.id != home.id:
                raise ValueError(
                    f"data on cuda:{home.id} does not mix with data on cuda:{device.id}: move one "
                    "of them with to_device or asarray(..., device=...)"
                )
        return home

    def moved(self, data: RawArray, device: Hashable) -> Any:
        with self.on(device):
            return self.cupy.array(
                data, order="C"
            )  # copies between devices fail for some other orders

    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        making = MAKING.get()
        traced = None if making is None else making.traced_over(self)
        if traced is not None:
            return traced.create(name, device, *arguments, **keywords)
        with HERE if device is None else self.on(device):
            return self.function(name)(*arguments, **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        making = MAKING.get()
        traced = None if making is None else making.traced_over(self)
        if traced is not None:
            return traced.asarray(value, dtype, device, copy)
        ours = isinstance(value, self.kind)
        if copy is False and not ours:
            raise ValueError("data on a GPU cannot share host memory")
        with self.at(value) if device is None else self.on(device):
            try:
                return self.cupy.array(value, dtype=dtype, copy=bool(copy) or not ours)
            except ValueError as error:
                if "nsupported dtype" in str(error):  # text, objects
                    raise TypeError(str(error)) from error
                raise

    def from_dlpack(self, x: Any, copy: bool | None) -> Any:
        data = self.cupy.from_dlpack(x)
        return self.copy(data) if copy else data

    def to_dlpack(self, data: Any, *, copy: bool | None, dl_device: Any, **options: Any) -> Any:
        if copy and dl_device in (None, data.__dlpack_device__()):  # CuPy can copy only to the host
            data, copy = self.copy(data), None
        with data.device:
            return data.__dlpack__(copy=copy, dl_device=dl_device, **options)

    def copy(self, data: Any) -> Any:
        with data.device:
            return self.kernels.copy(data) if data.flags.c_contiguous else data.copy(order="K")

    def contiguous(self, data: Any) -> Any:
        with data.device:
            return self.kernels.copy(data) if data.flags.c_contiguous else data.copy(order="C")

    def order(self, data: Any) -> str:
        flags = data.flags
        return ("C" if flags.c_contiguous else "") + ("F" if flags.f_contiguous else "")

    def laid_out(self, data: Any, like: Any) -> Any:
        if data.strides == like.strides:
            return data
        with data.device:
            copy = self.cupy.empty_like(like, dtype=data.dtype)
            copy[...] = data
        return copy

    def constant_ones(self, shape: tuple[int, ...], dtype: npt.DTypeLike, device: Hashable) -> Any:
        with HERE if device is None else self.on(device):
            number = self.cupy.cuda.Device().id
            one = self.ones.get((dtype, number))
            if one is None:
                one = self.cupy.ones((), dtype)
                stream = self.cupy.cuda.get_current_stream()
                if not stream.is_capturing():  # the memory of a captured graph has no value yet
                    stream.synchronize()  # other streams will read it
                    self.ones[dtype, number] = one
            return self.cupy.broadcast_to(one, shape) if shape else one

    def any_nan(self, parts: Sequence[Any]) -> bool:
        by_device: dict[int, list[Any]] = {}
        for data in parts:
            by_device.setdefault(data.device.id, []).append(data)
        for group in by_device.values():
            with group[0].device:
                if self.kernels.any_nan(group):
                    return True
        return False

    def extent(self, integers: Any) -> tuple[int, int]:
        if not integers.size:
            return 0, -1
        with integers.device:
            ends = self.cupy.stack([self.cupy.min(integers), self.cupy.max(integers)])
        least, greatest = self.host(ends).tolist()
        return least, greatest

    def bincount(self, integers: Any, size: int) -> Any:
        with integers.device:
            ones = self.cupy.broadcast_to(self.constant_ones((), np.int64, None), integers.shape)
            return self.xp.add_at(self.cupy.zeros(size, np.int64), integers, ones)

    def repeated(self, count: int, times: Any, like: Any) -> Any:
        with like.device:
            if isinstance(times, int) and times > 0:
                return self.cupy.arange(count * times) // times
            if (
                type(times) is not self.kind
                or times.shape != (count,)
                or times.dtype.kind not in "iu"
            ):
                return super().repeated(count, times, like)
            ends = self.cupy.cumsum(times)
            found = (
                self.cupy.stack([self.cupy.min(times), ends[-1]]) if count else self.cupy.zeros(2)
            )
            least, total = self.host(found).tolist()
            if least < 0:
                raise ValueError("repeats may not contain negative values.")
            return self.cupy.searchsorted(ends, self.cupy.arange(int(total)), side="right")

    def uniforms(self, key: tuple[int, int], shape: tuple[int, ...], device: Hashable) -> Any:
        with self.on(device):
            return self.kernels.uniforms(key, shape)

    def count_true(
        self, mask: Any, dtype: npt.DTypeLike, axis: int | tuple[int, ...] | None
    ) -> Any:
        with mask.device:
            return self.cupy.sum(mask, axis=axis, dtype=dtype, keepdims=True)

    def has_nan(self, data: Any) -> bool:
        return self.any_nan([data])

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self.cupy.asnumpy(data)
        return found

    def first_numbers(self, data: Any, count: int) -> np.ndarray[Any, Any]:
        if self.cupy.cuda.get_current_stream().is_capturing():  # the memory has no values yet
            return np.empty(0, data.dtype)
        return super().first_numbers(data, count)

    def shares(self, part: Any, whole: RawArray) -> bool:
        return bool(self.cupy.may_share_memory(part, whole))

    def owns(self, data: Any) -> bool:
        return type(data) is self.cupy.ndarray and data.base is None

    def write_last(self, data: Any, key: Any, value: RawOperand) -> Any:
        if self.is_index(key) and type(value) is self.kind:
            return self.kernels.write_last(data, key, value)
        return None

    def take_written(self, data: Any, key: Any, lost: Any) -> Any:
        return self.kernels.take_written(data, key, lost) if self.is_index(key) else None

    def key(self, key: Index, data: Any) -> Any:
        key = super().key(key, data)
        if CHECKED_INDICES.get():
            self.check_indices(key, data.shape)
        return key

    def check_indices(self, key: Index, shape: tuple[int, ...]) -> None:
        with self.at(key):
            check_key(self.cupy, key, shape)

    def is_index(self, key: Any) -> bool:
        """Return True if a key is one CuPy array of integers, so that it selects rows."""
        return type(key) is self.kind and key.dtype.kind in "iu"

    def writeable(self, data: Any) -> bool:
        # CuPy has no writeable flag.  Broadcast arrays, read-only in NumPy, have an axis of stride 0.
        return all(
            stride or length < 2 for stride, length in zip(data.strides, data.shape, strict=True)
        )


@functools.cache
def storage() -> CuPyStorage:
    """Return the one CuPyStorage; without CuPy, raise an ImportError that says what to install."""
    try:
        return CuPyStorage()
    except ImportError as error:
        raise ImportError(
            f"CuPy cannot be imported ({error}); pip install 'arraytape[cupy12]' for CUDA 12, "
            "'arraytape[cupy13]' for CUDA 13"
        ) from error


ON_DEMAND.update(cupy=storage, cuda=storage)
