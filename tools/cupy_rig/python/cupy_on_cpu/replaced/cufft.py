"""A replacement of CuPy's cuFFT: plans that NumPy executes."""

import math

import cupy
import numpy as np
from cupy_on_cpu.memory import at, outside_captures

CUFFT_FORWARD, CUFFT_INVERSE = -1, 1
CUFFT_C2C, CUFFT_R2C, CUFFT_C2R = 0x29, 0x2A, 0x2C
CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D = 0x69, 0x6A, 0x6C
_COMPLEX, _FROM_REAL, _TO_REAL = (
    (CUFFT_C2C, CUFFT_Z2Z),
    (CUFFT_R2C, CUFFT_D2Z),
    (CUFFT_C2R, CUFFT_Z2D),
)
_DTYPES = {  # of the input, of the output
    CUFFT_C2C: "FF",
    CUFFT_R2C: "fF",
    CUFFT_C2R: "Ff",
    CUFFT_Z2Z: "DD",
    CUFFT_D2Z: "dD",
    CUFFT_Z2D: "Dd",
}


class CuFFTError(RuntimeError):
    pass


def get_current_plan():
    return None


def getVersion():
    return 11400


def _transform(x, axes, kind, direction, length):
    """Return the transform; ``length`` is the length of the last axis of the real data."""
    if kind in _FROM_REAL:
        return np.fft.rfftn(x, axes=axes)
    if kind in _TO_REAL:
        sizes = [x.shape[axis] for axis in axes[:-1]] + [length]
        return np.fft.irfftn(x, s=sizes, axes=axes, norm="forward")
    return (
        np.fft.fftn(x, axes=axes)
        if direction == CUFFT_FORWARD
        else np.fft.ifftn(x, axes=axes, norm="forward")
    )


def _no_memory():
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(0, 0, None, 0), 0)


def _view(x, shape, strides):
    """Return the memory of the CuPy array ``x`` with a shape and strides in bytes."""
    last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    data = at(x.data.ptr, last // x.dtype.itemsize + 1, x.dtype)
    return np.lib.stride_tricks.as_strided(data, shape, strides)


class Plan1d:
    gpus = None

    def __init__(self, nx, fft_type, batch, *, devices=None, out=None):
        self.nx, self.fft_type, self.batch = nx, fft_type, batch
        self.work_area = _no_memory()

    def get_output_array(self, a):
        shape = list(a.shape)
        if self.fft_type in _FROM_REAL:
            shape[-1] = shape[-1] // 2 + 1
        if self.fft_type in _TO_REAL:
            shape[-1] = self.nx
        return cupy.empty(shape, _DTYPES[self.fft_type][1])

    def fft(self, a, out, direction):
        assert a.dtype.char == _DTYPES[self.fft_type][0], (a.dtype, self.fft_type)
        assert a.flags.c_contiguous
        result = _transform(_view(a, a.shape, a.strides), (-1,), self.fft_type, direction, self.nx)
        _view(out, out.shape, out.strides)[...] = result

    fft = outside_captures("cuFFT", fft)


class PlanNd:
    gpus = None

    def __init__(
        self,
        shape,
        inembed,
        istride,
        idist,
        onembed,
        ostride,
        odist,
        fft_type,
        batch,
        order,
        last_axis,
        last_size,
    ):
        self.shape, self.fft_type, self.batch, self.order = tuple(shape), fft_type, batch, order
        self.last_axis, self.last_size = last_axis, last_size
        self.simple = inembed is None
        self.input, self.output = (inembed, istride, idist), (onembed, ostride, odist)
        self.work_area = _no_memory()

    def get_output_array(self, a, order="C"):
        shape = list(a.shape)
        if self.fft_type not in _COMPLEX:
            shape[self.last_axis] = self.last_size
        return cupy.empty(shape, _DTYPES[self.fft_type][1], order)

    def _batched(self, x, sizes, layout):
        """Return the batch of inputs or outputs in ``x`` in cuFFT's advanced layout."""
        embedding, stride, distance = layout
        embedding = sizes if embedding is None else list(embedding)
        if self.simple:
            distance = math.prod(sizes)
        item = x.dtype.itemsize
        strides = [stride * math.prod(embedding[i + 1 :]) * item for i in range(len(sizes))]
        return _view(x, (self.batch, *sizes), (distance * item, *strides))

    def fft(self, a, out, direction):
        kind, sizes = self.fft_type, list(self.shape)
        assert a.dtype.char == _DTYPES[kind][0], (a.dtype, kind)
        half = [*sizes[:-1], sizes[-1] // 2 + 1]
        source = self._batched(a, half if kind in _TO_REAL else sizes, self.input)
        target = self._batched(out, half if kind in _FROM_REAL else sizes, self.output)
        target[...] = _transform(
            source, tuple(range(1, len(sizes) + 1)), kind, direction, sizes[-1]
        )

    fft = outside_captures("cuFFT", fft)


class XtPlanNd:
    pass
